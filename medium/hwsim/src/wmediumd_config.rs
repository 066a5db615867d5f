//! wmediumd's configuration file, as Mininet-WiFi writes it, with PaceLab's settings in a group `pacelab`.
//!
//! ```text
//! ifaces: { ids = ["02:00:..", ...]; medium_array = ((0, 1), (2)); enable_interference = true; };
//! model: { type = "path_loss"; positions = ((x, y, z), ...); tx_powers = (14.0, ...); ... };   or "snr", "prob"
//! pacelab: { preset = "standard"; phy = "802.11bg"; rts_threshold = 2347; decode_m = 250.0; sense_m = 550.0; seed = 1;
//! };
//! ```
//!
//! Source: wmediumd (branch mininet-wifi), config.c. Deviates: an integer is valid where a float is expected (wmediumd
//! reads it as 0). Without `medium_array` all interfaces share one medium. Unknown keys are refused by name.

use pacelab_air_config::{PhyKind, Preset};
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

use crate::Mac;
use crate::libconfig::Value;

/// Noise floor of wmediumd in dBm.
const NOISE_DBM: f64 = -91.0;
/// Larger values do not occur in real fading.
const MOST_FADING_DB: f64 = 40.0;
/// Environment variable with PaceLab's settings, for files that other programs write.
pub const SETTINGS_VARIABLE: &str = "PACELAB_WMEDIUMD";
/// The groups of a file and their keys: all keys that the branches of wmediumd read, and the unused `count` and `band`
/// of their examples.
const GROUPS: [(&str, &str); 3] = [
    ("ifaces", "ids count links medium_array enable_interference"),
    (
        "model",
        "type band links default_prob positions directions tx_powers isnodeaps fading_coefficient noise_threshold \
         model_name path_loss_exp xg sL nFLOORS lF LF pL",
    ),
    ("pacelab", "preset phy rts_threshold decode_m sense_m seed pcap"),
];
/// Time between two moves of `directions`: MOVE_INTERVAL of both wmediumds.
pub const MOVE_INTERVAL_S: u64 = 3;
/// In the first octet of an address.
const GROUP_BIT: u8 = 1;
/// Most interfaces.
const MOST_INTERFACES: usize = 1000;

/// A configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Hardware addresses. An interface's number is its index.
    pub interfaces: Vec<Mac>,
    /// The medium of each interface. Interfaces on different mediums never hear each other.
    pub mediums: Vec<i32>,
    /// The model of the links.
    pub model: Model,
    /// Standard deviation of the power of single frames, dB.
    pub fading_db: f64,
    /// PaceLab's settings, which wmediumd does not know.
    pub settings: PacelabSettings,
}

/// The model of link qualities.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// From positions.
    PathLoss {
        /// Position of each interface in m.
        positions_m: Vec<[f64; 3]>,
        /// Movement of each interface in x and y, in m per `MOVE_INTERVAL_S`. Empty: interfaces do not move by
        /// themselves.
        steps_m: Vec<[f64; 2]>,
        /// Transmit power of each interface in dBm.
        tx_powers_dbm: Vec<f64>,
        /// Interfaces of access points: a link with an access point uses its transmit power in both directions.
        access_points: Vec<bool>,
        /// Noise in dBm.
        noise_dbm: f64,
        /// The law.
        law: Law,
    },
    /// (from, to, dB). Other pairs have wmediumd's default. A link applies to both directions unless the other one is
    /// given.
    Snr(Vec<(usize, usize, f64)>),
    /// (from, to, probability of loss), and the probability of all other pairs.
    ErrorProbability {
        /// The listed pairs.
        links: Vec<(usize, usize, f64)>,
        /// The probability of all other pairs.
        otherwise: f64,
    },
}

/// Path loss laws of wmediumd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Friis, with a system loss factor.
    FreeSpace {
        /// Factor, 1 for none.
        system_loss: f64,
    },
    /// Free space over the first metre, then an exponent; plus `xg_db`.
    LogDistance {
        /// Exponent.
        exponent: f64,
        /// Additional loss in dB.
        xg_db: f64,
    },
    /// Log-distance less a random gain that the socket sets (message 21).
    LogNormalShadowing {
        /// Exponent.
        exponent: f64,
    },
    /// Two-ray ground with ns-2's crossover and antenna heights.
    TwoRayGround,
    /// ITU indoor.
    Itu {
        /// Number of floors in between.
        floors: f64,
        /// Loss of a floor in dB.
        floor_loss_db: f64,
        /// Power loss coefficient; 0: 28, or 38 beyond 16 m.
        coefficient: f64,
    },
}

/// PaceLab's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct PacelabSettings {
    /// Radio preset.
    pub preset: Preset,
    /// Physical layer of all stations. None: it follows their channels and rates.
    pub phy: Option<PhyKind>,
    /// Frames of at least this size use RTS; None: never.
    pub rts_threshold_bytes: Option<u32>,
    /// Ranges in m that replace the powers of the model: (decode, sense).
    pub ranges_m: Option<(f64, f64)>,
    /// Seed of all backoffs.
    pub seed: u64,
    /// File for a capture.
    pub pcap: Option<String>,
}

impl Config {
    /// Reads a file. `settings_text` has the settings of the group `pacelab` if they are not in the file.
    ///
    /// # Errors
    /// The file is invalid. The message is one line with the key, the value and what is valid.
    pub fn read(text: &str, settings_text: Option<&str>) -> Result<Config, String> {
        let mut file = Value::read(text)?;
        if let (Some(settings_text), Value::Group(settings)) = (settings_text, &mut file) {
            let group = Value::read(settings_text).map_err(|error| format!("{SETTINGS_VARIABLE}: {error}"))?;
            if group.at("pacelab").is_some() {
                return Err(format!(
                    "{SETTINGS_VARIABLE}: must be settings, such as rts_threshold = 0; no group pacelab"
                ));
            }
            if settings.insert("pacelab".to_owned(), group).is_some() {
                return Err(format!("pacelab: set both in the file and in {SETTINGS_VARIABLE}; remove one of them"));
            }
        }
        known(&file)?;
        let ids = file.at("ifaces.ids").ok_or("ifaces.ids: missing; must be a list of MAC addresses")?;
        let ids = ids.items().ok_or_else(|| format!("ifaces.ids: {ids}: must be a list of MAC addresses"))?;
        let interfaces = ids.iter().map(mac).collect::<Result<Vec<_>, _>>()?;
        if interfaces.is_empty() || interfaces.len() > MOST_INTERFACES {
            return Err(format!("ifaces.ids: {} addresses; must be 1 to {MOST_INTERFACES}", interfaces.len()));
        }
        if let Some(twice) = interfaces.iter().enumerate().find(|(i, mac)| interfaces[..*i].contains(mac)) {
            return Err(format!("ifaces.ids: {} is given twice", written(*twice.1)));
        }
        Ok(Config {
            mediums: mediums(&file, interfaces.len())?,
            model: model(&file, interfaces.len())?,
            fading_db: fading_db(&file)?,
            settings: pacelab_settings(&file)?,
            interfaces,
        })
    }
}

/// Refuses unknown keys. If a typing error or a key of an old wmediumd were ignored, the medium would be perfect
/// without a message.
fn known(file: &Value) -> Result<(), String> {
    let Value::Group(groups) = file else { return Ok(()) };
    for (name, value) in groups {
        let Some((_, keys)) = GROUPS.iter().find(|group| group.0 == name) else {
            return Err(match name.as_str() {
                "path_loss" => {
                    "path_loss: of an old wmediumd; today it is a group model with type = \"path_loss\"".into()
                }
                _ => format!("{name}: unknown group; must be one of {}", GROUPS.map(|group| group.0).join(", ")),
            });
        };
        let Value::Group(settings) = value else { return Err(format!("{name}: {value}: must be a group {{ }}")) };
        if let Some(key) = settings.keys().find(|key| !keys.split(' ').any(|known| known == *key)) {
            return Err(format!("{name}.{key}: unknown setting; must be one of {}", keys.replace(' ', ", ")));
        }
    }
    Ok(())
}

/// The usual notation of an address.
pub fn written(mac: Mac) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

fn mac(value: &Value) -> Result<Mac, String> {
    let text = value.text().unwrap_or_default();
    let octet = |part: &str| if part.starts_with('+') { None } else { u8::from_str_radix(part, 16).ok() };
    let octets: Option<Vec<u8>> = text.split(':').map(octet).collect();
    let mac = octets
        .and_then(|octets| Mac::try_from(octets).ok())
        .ok_or_else(|| format!("ifaces.ids: {value}: must be an address such as 02:00:00:00:00:00"))?;
    if mac[0] & GROUP_BIT != 0 {
        return Err(format!("ifaces.ids: {value}: is the address of a group; must be the address of one radio"));
    }
    Ok(mac)
}

fn mediums(file: &Value, count: usize) -> Result<Vec<i32>, String> {
    let mut medium_of = vec![0; count];
    for (number, members) in list_or_none(file, "ifaces.medium_array")?.iter().enumerate() {
        for member in members.items().ok_or("ifaces.medium_array: must be a list of lists")? {
            // Interfaces that are not listed share medium 0; the listed mediums start at 1.
            medium_of[place(member, count, "ifaces.medium_array")?] = number as i32 + 1;
        }
    }
    Ok(medium_of)
}

/// The list under `key`, or an empty one if the key is missing.
fn list_or_none<'a>(file: &'a Value, key: &str) -> Result<&'a [Value], String> {
    let Some(value) = file.at(key) else { return Ok(&[]) };
    value.items().ok_or_else(|| format!("{key}: {value}: must be a list"))
}

/// The number under `key`, or the default if the key is missing.
fn number_or(file: &Value, key: &str, otherwise: f64) -> Result<f64, String> {
    let Some(value) = file.at(key) else { return Ok(otherwise) };
    value.number().ok_or_else(|| format!("{key}: {value}: must be a number"))
}

/// The value under `key` for a message.
fn said(file: &Value, key: &str) -> String {
    file.at(key).map_or("nothing".to_owned(), Value::to_string)
}

fn place(value: &Value, count: usize, key: &str) -> Result<usize, String> {
    match value {
        Value::Integer(number) if (0..count as i64).contains(number) => Ok(*number as usize),
        _ => Err(format!("{key}: {value}: must be an interface, 0 to {}", count - 1)),
    }
}

fn model(file: &Value, count: usize) -> Result<Model, String> {
    // As in wmediumd: the links of `ifaces` are signal-to-noise ratios with every model.
    if file.at("ifaces.links").is_some() {
        return Ok(Model::Snr(links(file, "ifaces.links", count)?));
    }
    // Without positions, every pair would hear each other perfectly.
    if file.at("model.type").is_none() && file.at("model.positions").is_some() {
        return Err("model.type: missing; positions need type = \"path_loss\"".into());
    }
    match file.at("model.type").map_or(Some("snr"), Value::text) {
        Some("path_loss") => path_loss(file, count),
        Some("snr") => Ok(Model::Snr(links(file, "model.links", count)?)),
        Some("prob") => {
            let otherwise = number_or(file, "model.default_prob", 0.0)?;
            let links = links(file, "model.links", count)?;
            let mut all = links.iter().map(|link| link.2).chain([otherwise]);
            if let Some(wrong) = all.find(|probability| !(0.0..=1.0).contains(probability)) {
                return Err(format!("model.links, default_prob: probability {wrong}: must be from 0 to 1"));
            }
            Ok(Model::ErrorProbability { links, otherwise })
        }
        _ => Err(format!("model.type: {}: must be path_loss, snr or prob", said(file, "model.type"))),
    }
}

fn links(file: &Value, key: &str, count: usize) -> Result<Vec<(usize, usize, f64)>, String> {
    list_or_none(file, key)?
        .iter()
        .map(|row| match row.items() {
            Some([from, to, value]) => {
                let number = value.number().ok_or_else(|| format!("{key}: {value}: must be a number"))?;
                Ok((place(from, count, key)?, place(to, count, key)?, number))
            }
            _ => Err(format!("{key}: {row}: must be (from, to, value)")),
        })
        .collect()
}

fn path_loss(file: &Value, count: usize) -> Result<Model, String> {
    let steps = of_all(file, "model.directions", count)?;
    let steps = steps.map(|rows| {
        let step = |row: &Value| <[f64; 2]>::try_from(numbers(row)?).ok();
        rows.iter().map(step).collect::<Option<Vec<_>>>().ok_or("model.directions: must be (x, y) for each interface")
    });
    let steps_m = steps.transpose()?.unwrap_or_default();
    let rows = of_all(file, "model.positions", count)?.ok_or("model.positions: missing; type path_loss needs it")?;
    let positions_m = rows
        .iter()
        .map(|row| match *numbers(row)?.as_slice() {
            [x, y, z] => Some([x, y, z]),
            [x, y] => Some([x, y, 0.0]), // as Copeland's wmediumd reads them
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .ok_or("model.positions: must be (x, y, z) or (x, y) for each interface")?;
    let powers = of_all(file, "model.tx_powers", count)?.ok_or("model.tx_powers: missing; type path_loss needs it")?;
    let tx_powers_dbm = powers.iter().map(Value::number).collect::<Option<Vec<_>>>();
    let access_points = of_all(file, "model.isnodeaps", count)?
        .map(|items| items.iter().map(Value::truth).collect::<Option<Vec<_>>>())
        .unwrap_or(Some(vec![false; count]));
    Ok(Model::PathLoss {
        positions_m,
        steps_m,
        tx_powers_dbm: tx_powers_dbm.ok_or("model.tx_powers: must be numbers in dBm")?,
        access_points: access_points.ok_or("model.isnodeaps: must be 0 or 1 for each interface")?,
        noise_dbm: noise_dbm(file)?,
        law: law(file)?,
    })
}

fn noise_dbm(file: &Value) -> Result<f64, String> {
    let dbm = number_or(file, "model.noise_threshold", NOISE_DBM)?;
    if dbm < 0.0 { Ok(dbm) } else { Err(format!("model.noise_threshold: {dbm}: must be a number of dBm below 0")) }
}

fn fading_db(file: &Value) -> Result<f64, String> {
    match file.at("model.fading_coefficient") {
        None => Ok(0.0),
        Some(value) => value.number().filter(|db| (0.0..=MOST_FADING_DB).contains(db)).ok_or_else(|| {
            format!("model.fading_coefficient: {value}: must be a number of dB from 0 to {MOST_FADING_DB}")
        }),
    }
}

fn law(file: &Value) -> Result<Law, String> {
    let number = |key: &str| {
        let value = file.at(&format!("model.{key}")).and_then(Value::number);
        value.ok_or_else(|| format!("model.{key}: must be a number; this model_name needs it"))
    };
    let exponent = || match number("path_loss_exp")? {
        exponent if exponent >= 0.0 => Ok(exponent),
        negative => Err(format!("model.path_loss_exp: {negative}: must be 0 or more")),
    };
    match file.at("model.model_name").and_then(Value::text) {
        Some("free_space") => Ok(Law::FreeSpace { system_loss: number("sL")? }),
        Some("log_distance") => Ok(Law::LogDistance { exponent: exponent()?, xg_db: number("xg")? }),
        Some("log_normal_shadowing") => Ok(Law::LogNormalShadowing { exponent: exponent()? }),
        Some("two_ray_ground") => Ok(Law::TwoRayGround),
        Some("itu") => {
            Ok(Law::Itu { floors: number("nFLOORS")?, floor_loss_db: number("lF")?, coefficient: number("pL")? })
        }
        _ => Err(format!(
            "model.model_name: {}: must be free_space, log_distance, log_normal_shadowing, two_ray_ground or itu",
            said(file, "model.model_name")
        )),
    }
}

/// The list under `key`, one item for each interface.
fn of_all<'a>(file: &'a Value, key: &str, count: usize) -> Result<Option<&'a [Value]>, String> {
    let Some(value) = file.at(key) else { return Ok(None) };
    match value.items() {
        Some(items) if items.len() == count => Ok(Some(items)),
        _ => Err(format!("{key}: must be a list of {count}, one value for each interface")),
    }
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.items()?.iter().map(Value::number).collect()
}

fn pacelab_settings(file: &Value) -> Result<PacelabSettings, String> {
    if let Some(Value::Group(settings)) = file.at("pacelab") {
        let wordless = |key: &&&str| settings.get(**key).is_some_and(|value| value.number().is_none());
        if let Some(key) = ["rts_threshold", "decode_m", "sense_m", "seed"].iter().find(wordless) {
            return Err(format!("pacelab.{key}: must be a number"));
        }
        let counts = |key: &&str| !matches!(settings.get(*key), None | Some(Value::Integer(0..)));
        if let Some(key) = ["rts_threshold", "seed"].into_iter().find(counts) {
            return Err(format!("pacelab.{key}: {}: must be a whole number from 0 on", settings[key]));
        }
    }
    let number = |key: &str| file.at(&format!("pacelab.{key}")).and_then(Value::number);
    let preset = file.at("pacelab.preset").map_or(Some("sinr"), Value::text).unwrap_or_default();
    let preset = named(preset)
        .ok_or_else(|| format!("pacelab.preset: {}: must be ns2, standard or sinr", said(file, "pacelab.preset")))?;
    let phy = file.at("pacelab.phy").map(|value| value.text().unwrap_or_default());
    let phy = phy.map(|name| {
        let found = if name == "802.11bg" {
            Some(PhyKind::Bg)
        } else {
            named(name).filter(|phy: &PhyKind| phy.format().is_none())
        };
        found.ok_or_else(|| {
            format!("pacelab.phy: {}: must be 802.11a, 802.11b, 802.11g or 802.11bg", said(file, "pacelab.phy"))
        })
    });
    let pcap = file.at("pacelab.pcap").map(|value| {
        let name = value.text().filter(|name| !name.is_empty());
        name.map(String::from).ok_or_else(|| format!("pacelab.pcap: {value}: must be the name of a file"))
    });
    let ranges_m = match (number("decode_m"), number("sense_m")) {
        (None, None) => None,
        (Some(decode), Some(sense)) if decode > 0.0 && sense >= decode => Some((decode, sense)),
        _ => return Err("pacelab.decode_m, sense_m: must both be given, with 0 < decode_m <= sense_m".to_owned()),
    };
    Ok(PacelabSettings {
        preset,
        phy: phy.transpose()?,
        rts_threshold_bytes: number("rts_threshold").map(|bytes| bytes.clamp(0.0, f64::from(u32::MAX)) as u32),
        ranges_m,
        seed: number("seed").map_or(1, |seed| seed as u64),
        pcap: pcap.transpose()?,
    })
}

/// The value with this name in the air configuration.
fn named<'a, T: Deserialize<'a>>(name: &'a str) -> Option<T> {
    T::deserialize(StrDeserializer::<Error>::new(name)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of an unmodified Mininet-WiFi in interference mode.
    const INTERFERENCE: &str = r#"ifaces:
{
	ids = [
		"02:00:00:00:00:00", 
		"02:00:00:00:01:00"
	];
	enable_interference = true;
};
model:
{
	type = "path_loss";
	positions = (
		(10.0, 10.0, 0.0),
		(50.0, 10.0, 0.0)
	);
	fading_coefficient = 0;
	noise_threshold = -91;
	isnodeaps = (0, 0);
	tx_powers = (14, 14.0);
	model_name = "log_distance";
	path_loss_exp = 4.0;
	xg = 0.0;
};"#;

    #[test]
    fn a_file_of_mininet_wifi_is_read() {
        let config = Config::read(INTERFERENCE, None).unwrap();
        assert_eq!(config.interfaces, [[2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 1, 0]]);
        assert_eq!(config.mediums, [0, 0]);
        assert_eq!(config.fading_db, 0.0);
        let Model::PathLoss { positions_m, tx_powers_dbm, access_points, noise_dbm, law, .. } = config.model else {
            panic!("not path_loss")
        };
        assert_eq!(positions_m[1], [50.0, 10.0, 0.0]);
        assert_eq!(tx_powers_dbm, [14.0, 14.0]); // an integer is a number: stock wmediumd makes it 0
        assert_eq!(access_points, [false, false]);
        assert_eq!(noise_dbm, -91.0);
        assert_eq!(law, Law::LogDistance { exponent: 4.0, xg_db: 0.0 });
        assert_eq!(
            config.settings,
            PacelabSettings {
                preset: Preset::Sinr,
                phy: None,
                rts_threshold_bytes: None,
                ranges_m: None,
                seed: 1,
                pcap: None
            }
        );
    }

    #[test]
    fn positions_of_two_coordinates_lie_on_the_ground() {
        let text = INTERFERENCE.replace("(10.0, 10.0, 0.0)", "(-50.0, 0.0)");
        let Model::PathLoss { positions_m, .. } = Config::read(&text, None).unwrap().model else { panic!("a model") };
        assert_eq!(positions_m, [[-50.0, 0.0, 0.0], [50.0, 10.0, 0.0]]);
        let text = INTERFERENCE.replace("(10.0, 10.0, 0.0)", "(10.0)");
        assert!(Config::read(&text, None).unwrap_err().starts_with("model.positions: must be (x, y, z) or (x, y)"));
    }

    #[test]
    fn directions_are_read() {
        let text = INTERFERENCE.replace("xg = 0.0;", "xg = 0.0; directions = ((0.0, 1.5), (-10, 0));");
        let Model::PathLoss { steps_m, .. } = Config::read(&text, None).unwrap().model else { panic!("a model") };
        assert_eq!(steps_m, [[0.0, 1.5], [-10.0, 0.0]]);
    }

    #[test]
    fn snr_links_mediums_and_own_keys_are_read() {
        let text = r#"ifaces: { ids = ["02:00:00:00:00:00", "02:00:00:00:01:00", "02:00:00:00:02:00"];
                                medium_array = ((0, 2)); };
                      model: { type = "snr"; links = ((0, 1, 20)); };
                      pacelab: { preset = "ns2"; phy = "802.11b"; decode_m = 250; sense_m = 550.0; rts_threshold = 0; seed = 7;
                                 pcap = "/tmp/air.pcapng"; };"#;
        let config = Config::read(text, None).unwrap();
        assert_eq!(config.mediums, [1, 0, 1]);
        assert_eq!(config.model, Model::Snr(vec![(0, 1, 20.0)]));
        let settings = PacelabSettings {
            preset: Preset::Ns2,
            phy: Some(PhyKind::B),
            rts_threshold_bytes: Some(0),
            ranges_m: Some((250.0, 550.0)),
            seed: 7,
            pcap: Some("/tmp/air.pcapng".to_owned()),
        };
        assert_eq!(config.settings, settings);
    }

    #[test]
    fn links_of_the_interfaces_are_ratios_whatever_the_model_is() {
        for model in ["prob", "path_loss", "magic"] {
            let text = format!(
                r#"ifaces: {{ count = 2; ids = ["02:00:00:00:00:00", "02:00:00:00:01:00"]; links = ((0, 1, 1)); }};
                   model: {{ band = 2; type = "{model}"; links = ((0, 1, 0.25)); }};"#
            );
            assert_eq!(Config::read(&text, None).unwrap().model, Model::Snr(vec![(0, 1, 1.0)]), "{model}");
        }
    }

    #[test]
    fn a_fading_coefficient_is_read_and_checked() {
        let read = |value: &str| {
            let text = INTERFERENCE.replace("fading_coefficient = 0", &format!("fading_coefficient = {value}"));
            Config::read(&text, None).map(|config| config.fading_db)
        };
        assert_eq!((read("3"), read("2.5")), (Ok(3.0), Ok(2.5)));
        for bad in ["-1", "41", "\"3\""] {
            assert!(read(bad).unwrap_err().starts_with("model.fading_coefficient: "), "{bad}");
        }
    }

    #[test]
    fn the_settings_of_pacelab_can_come_from_the_environment() {
        let config = Config::read(INTERFERENCE, Some("rts_threshold = 0; seed = 7;")).unwrap();
        assert_eq!((config.settings.rts_threshold_bytes, config.settings.seed), (Some(0), 7));
        let wrong = |settings: &str| Config::read(INTERFERENCE, Some(settings)).unwrap_err();
        assert!(
            wrong("rts_treshold = 0").starts_with("pacelab.rts_treshold: unknown setting; must be one of preset, phy")
        );
        assert!(wrong("rts_threshold = \"0\"").starts_with("pacelab.rts_threshold: must be a number"));
        assert!(wrong("= 0").starts_with("PACELAB_WMEDIUMD: line 1"));
        assert!(wrong("pacelab: { seed = 2; };").starts_with("PACELAB_WMEDIUMD: must be settings, such as"));
        let both = format!("{INTERFERENCE} pacelab: {{ seed = 1; }};");
        assert!(Config::read(&both, Some("seed = 2")).unwrap_err().contains("both"));
    }

    #[test]
    fn a_wrong_value_is_named() {
        let wrong = |from: &str, to: &str| Config::read(&INTERFERENCE.replace(from, to), None).unwrap_err();
        assert!(wrong("path_loss\"", "magic\"").starts_with("model.type"));
        assert!(wrong("type = \"path_loss\";", "").starts_with("model.type: missing; positions need"));
        assert!(wrong("(10.0, 10.0, 0.0),", "").starts_with("model.positions: must be a list of 2"));
        assert!(wrong("\"02:00:00:00:01:00\"", "\"02:00\"").contains("\"02:00\""));
        assert!(wrong("02:00:00:00:01:00", "02:00:00:00:00:00").contains("twice"));
        assert!(wrong("log_distance", "magic").starts_with("model.model_name: \"magic\": must be free_space"));
        assert!(wrong("model_name = \"log_distance\";", "").starts_with("model.model_name: nothing: must be"));
        assert!(wrong("02:00:00:00:01:00", "02:00:00:00:+1:00").contains("+1"));
        assert!(wrong("-91;", "91;").starts_with("model.noise_threshold: 91: must be a number of dBm below 0"));
        assert!(wrong("exp = 4.0", "exp = -4.0").starts_with("model.path_loss_exp: -4: must be 0 or more"));
        assert!(wrong("(0, 0)", "(\"a\", \"b\")").starts_with("model.isnodeaps: must be 0 or 1"));
        assert!(wrong("02:00:00:00:01:00", "ff:ff:ff:ff:ff:ff").ends_with("must be the address of one radio"));
        assert!(wrong("\"02:00:00:00:01:00\"", "7").starts_with("ifaces.ids: 7: must be an address such as"));
        assert!(wrong("-91;", "\"x\";").starts_with("model.noise_threshold: \"x\": must be a number"));
        let directions = |rows: &str| wrong("xg = 0.0;", &format!("xg = 0.0; directions = ({rows});"));
        assert!(directions("(1.0, 0.0)").starts_with("model.directions: must be a list of 2, one value for each"));
        assert!(directions("(1.0, 0.0), (1.0)").starts_with("model.directions: must be (x, y) for each interface"));
        assert!(wrong("xg = 0.0;", "xg = 0.0; xg = 1.0;").ends_with("\"xg\" is given twice"));
        for (settings, said) in [
            ("medium_array = 5", "ifaces.medium_array: 5: must be a list"),
            ("links = 5", "ifaces.links: 5: must be a list"),
            ("links = ((0.0, 1, 20))", "ifaces.links: 0.0: must be an interface, 0 to 1"),
            ("links = ((0, 7, 20))", "ifaces.links: 7: must be an interface, 0 to 1"),
            ("links = ((0, \"x\"))", "ifaces.links: (0, \"x\"): must be (from, to, value)"),
            ("}; model: { type = \"prob_asymmetric\"", "model.type: \"prob_asymmetric\": must be path_loss"),
            ("}; model: { type = 5", "model.type: 5: must be path_loss"),
            ("error_probs = ((0, 1, 0.5))", "ifaces.error_probs: unknown setting; must be one of ids, count, links"),
            (
                "}; model: { defualt_prob = 1.0",
                "model.defualt_prob: unknown setting; must be one of type, band, links, default_prob",
            ),
            ("}; path_loss: { positions = ((0.0, 0.0), (9.0, 0.0))", "path_loss: of an old wmediumd; today"),
            ("}; modle: { type = \"snr\"", "modle: unknown group; must be one of ifaces, model, pacelab"),
            ("}; model = 5; pacelab: { seed = 1", "model: 5: must be a group"),
            ("}; model: { type = \"prob\"; default_prob = 7", "model.links, default_prob: probability 7"),
            ("}; model: { type = \"prob\"; default_prob = true", "model.default_prob: true: must be a number"),
            ("}; pacelab = 5; model: { type = \"snr\"", "pacelab: 5: must be a group"),
            ("}; pacelab: { preset = 5", "pacelab.preset: 5: must be ns2, standard or sinr"),
            ("}; pacelab: { phy = 5", "pacelab.phy: 5: must be 802.11a, 802.11b, 802.11g or 802.11bg"),
            ("}; pacelab: { seed = -5", "pacelab.seed: -5: must be a whole number"),
            ("}; pacelab: { rts_threshold = 1.5", "pacelab.rts_threshold: 1.5: must be a whole number"),
        ] {
            let ids = "ids = [\"02:00:00:00:00:00\", \"02:00:00:00:01:00\"]";
            let reported = Config::read(&format!("ifaces: {{ {ids}; {settings}; }};"), None).unwrap_err();
            assert!(reported.starts_with(said), "{reported}");
        }
        assert!(Config::read("", None).unwrap_err().starts_with("ifaces.ids"));
        assert!(Config::read("ifaces: { ids = []; };", None).unwrap_err().contains("must be 1 to"));
    }
}
