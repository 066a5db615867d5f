//! The configuration, version 1; see PROTOCOL.md. Its radio is the radio of an air configuration.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use pacelab_air_config::{Propagation, Radio as RadioSettings};
use pacelab_engine::{AirConfig, StationId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Supported version of configuration and protocol.
pub const VERSION: u32 = 1;

/// Limits the size of the pool and the work of one broadcast.
const STATIONS_MAX: usize = 64;
const QUEUE_PKTS_MAX: u32 = 10_000;
/// IEEE 802.11-2016 Sec. 9.2.4.7.1: 2304 bytes of MSDU, less LLC and SNAP, rounded down.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 68..=2290;
/// IFNAMSIZ less the final zero.
const INTERFACE_NAME_MAX: usize = 15;

/// One air.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // PROTOCOL.md documents every key
pub struct Config {
    pub version: u32,
    pub seed: u64,
    pub radio: RadioSettings,
    #[serde(default = "default_mtu_bytes")]
    pub mtu_bytes: u32,
    pub stations: Vec<Station>,
    #[serde(default)]
    pub link_rates_bps: Vec<(u32, u32, u32)>,
    #[serde(default)]
    pub queue_at_host: bool,
}

/// A station, and its TAP or its radio.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Station {
    pub name: String,
    #[serde(default)]
    pub position_m: Option<[f64; 2]>,
    #[serde(default)]
    pub data_rate_bps: Option<u32>,
    pub mac: Mac,
    #[serde(default)]
    pub tap: Option<Tap>,
    #[serde(default)]
    pub hwsim: Option<Radio>,
}

/// The place of a station's TAP device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Tap {
    pub netns: Option<PathBuf>,
    pub name: String,
}

/// A radio of mac80211_hwsim.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Radio {
    pub mac: Mac,
}

fn default_mtu_bytes() -> u32 {
    1500
}

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// The configuration is invalid. The message is one line with the key, the value and what is valid.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let config: Config = serde_json::from_str(text).map_err(|error| format!("configuration: {error}"))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        if self.queue_at_host && self.stations.iter().any(|station| station.tap.is_none()) {
            return Err("queue_at_host: needs stations with TAP devices".into());
        }
        if self.version != VERSION {
            return Err(format!("version {}: this mediumd speaks version {VERSION}", self.version));
        }
        if self.stations.is_empty() || self.stations.len() > STATIONS_MAX {
            return Err(format!("stations: {} of them; must be 1..{STATIONS_MAX}", self.stations.len()));
        }
        if !MTU_BYTES.contains(&self.mtu_bytes) {
            return Err(format!("mtu_bytes {}: must lie in {MTU_BYTES:?}", self.mtu_bytes));
        }
        if self.radio.queue_pkts > QUEUE_PKTS_MAX {
            return Err(format!("queue_pkts {}: must be at most {QUEUE_PKTS_MAX}", self.radio.queue_pkts));
        }
        for (index, station) in self.stations.iter().enumerate() {
            station.check()?;
            for earlier in &self.stations[..index] {
                station.check_beside(earlier)?;
            }
        }
        let count = self.stations.len() as u32;
        let is_none = |&&(from, to, _): &&(u32, u32, u32)| from.max(to) >= count || from == to;
        if let Some((from, to, _)) = self.link_rates_bps.iter().find(is_none) {
            return Err(format!("link_rates_bps: {from} to {to}: must be two different stations of 0..{count}"));
        }
        let link_rates = self.link_rates_bps.iter().map(|&(_, _, rate_bps)| rate_bps);
        self.check_propagation(&self.radio.propagation)?;
        if self.radio.phy.format().is_some() {
            return Err("radio: phy must be 802.11b, 802.11a or 802.11g: mediumd sends no aggregates".to_owned());
        }
        self.radio.check(self.stations.iter().filter_map(|station| station.data_rate_bps).chain(link_rates))
    }

    /// Checks a propagation model against the stations.
    ///
    /// # Errors
    /// The model is invalid. The message is one line with the value and what is valid.
    pub fn check_propagation(&self, propagation: &Propagation) -> Result<(), String> {
        check_numbers(propagation, self.stations.len() as u32)?;
        self.stations.iter().try_for_each(|station| propagation.check_place(&station.name, station.position_m))
    }

    /// The engine's configuration.
    pub fn air(&self) -> AirConfig {
        let rate_bps = |station: &Station| station.data_rate_bps.unwrap_or(self.radio.data_rate_bps);
        let link_rates =
            self.link_rates_bps.iter().map(|&(from, to, rate_bps)| (StationId(from), StationId(to), rate_bps));
        AirConfig {
            radio: self.radio.clone(),
            seed: self.seed,
            positions_m: self.stations.iter().map(|station| station.position_m.unwrap_or([0.0, 0.0])).collect(),
            links: None,
            data_rates_bps: self.stations.iter().map(rate_bps).collect(),
            link_rates_bps: link_rates.collect(),
            overhead_bytes: None,
            trace: false,
        }
    }
}

impl Station {
    fn check(&self) -> Result<(), String> {
        if !(1..=32).contains(&self.name.chars().count()) {
            return Err(format!("station {:?}: a name has 1..32 characters", self.name));
        }
        if self.mac.is_group() {
            return Err(format!("station {:?}: mac {}: must not be a group address", self.name, self.mac));
        }
        if self.mac == Mac([0; 6]) {
            return Err(format!("station {:?}: mac {}: must not be zero", self.name, self.mac));
        }
        if self.tap.is_some() == self.hwsim.is_some() {
            return Err(format!("station {:?}: must have \"tap\" or \"hwsim\"", self.name));
        }
        let Some(Tap { name, .. }) = &self.tap else { return Ok(()) };
        let spelled = name.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':' | b'%'));
        if !spelled || !(1..=INTERFACE_NAME_MAX).contains(&name.len()) || name == "." || name == ".." {
            return Err(format!("station {:?}: tap name {name:?}: must be a valid interface name", self.name));
        }
        Ok(())
    }

    fn check_beside(&self, other: &Station) -> Result<(), String> {
        if self.name == other.name {
            return Err(format!("station {:?}: the name is used twice", self.name));
        }
        if self.mac == other.mac {
            return Err(format!("station {:?}: mac {}: already used by station {:?}", self.name, self.mac, other.name));
        }
        match (&self.tap, &other.tap) {
            (Some(tap), Some(others)) if tap.netns == others.netns && tap.name == others.name => {
                return Err(format!(
                    "station {:?}: tap {:?}: already used by station {:?}",
                    self.name, tap.name, other.name
                ));
            }
            (Some(_), None) | (None, Some(_)) => {
                return Err(format!("station {:?}: \"tap\" and \"hwsim\" do not go together", self.name));
            }
            _ => {}
        }
        let radio = self.hwsim.map(|radio| radio.mac);
        if radio.is_some() && radio == other.hwsim.map(|radio| radio.mac) {
            return Err(format!("station {:?}: its radio is already used by station {:?}", self.name, other.name));
        }
        Ok(())
    }
}

fn check_numbers(propagation: &Propagation, stations: u32) -> Result<(), String> {
    match propagation {
        Propagation::Matrix { links, capture_db } => {
            check_number("capture_db", *capture_db, 0.0, 100.0)?;
            let mut named = BTreeSet::new();
            for &(from, to, power_w) in links {
                if !named.insert((from, to)) {
                    return Err(format!("matrix: {from} to {to}: this link is given twice"));
                }
                if from.max(to) >= stations || from == to {
                    return Err(format!("matrix: {from} to {to}: must be two different stations of 0..{stations}"));
                }
                check_number("matrix: power_w", power_w, 0.0, 1e3)?;
            }
            Ok(())
        }
        Propagation::Range { decode_m, sense_m, capture_db } => {
            check_number("capture_db", *capture_db, 0.0, 100.0)?;
            check_number("sense_m", *sense_m, 0.0, 1e6)?;
            check_number("decode_m", *decode_m, 0.0, *sense_m)
        }
        Propagation::LogDistance { capture_db, .. } | Propagation::TwoRay { capture_db } => {
            check_number("capture_db", *capture_db, 0.0, 100.0)
        }
    }
}

fn check_number(name: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    if (low..=high).contains(&value) { Ok(()) } else { Err(format!("{name} {value}: must lie in [{low}, {high}]")) }
}

/// An Ethernet address: six bytes, in the order in which they are sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Multicast or broadcast.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl FromStr for Mac {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part =
                parts.next().filter(|part| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit()));
            *byte = part.and_then(|part| u8::from_str_radix(part, 16).ok()).ok_or_else(|| refusal(text))?;
        }
        if parts.next().is_some() { Err(refusal(text)) } else { Ok(Mac(bytes)) }
    }
}

fn refusal(text: &str) -> String {
    format!("mac {text:?}: must be six pairs of hexadecimal digits separated by colons")
}

impl fmt::Display for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Stations `n0`, `n1`, … on a line, with MACs 02:00:00:00:00:01 and on; 2 Mbit/s, ns-2's radio, no RTS.
    pub fn line(count: usize, spacing_m: f64, preset: &str) -> Config {
        Config::from_json(&line_json(count, spacing_m, preset)).expect("a good configuration")
    }

    fn line_json(count: usize, spacing_m: f64, preset: &str) -> String {
        let stations: Vec<String> = (0..count)
            .map(|i| {
                format!(
                    r#"{{"name": "n{i}", "position_m": [{}, 0], "mac": "02:00:00:00:00:{:02x}",
                        "tap": {{"netns": null, "name": "air{i}"}}}}"#,
                    spacing_m * i as f64,
                    i + 1
                )
            })
            .collect();
        format!(
            r#"{{"version": 1, "seed": 1, "stations": [{}],
                "radio": {{"preset": "{preset}", "basic_rate_bps": 1000000, "data_rate_bps": 2000000,
                    "rts_threshold_bytes": 4294967295, "short_retry_limit": 7, "long_retry_limit": 4, "queue_pkts": 50,
                    "mac_ack_rate": "basic", "propagation": {{"kind": "two-ray", "capture_db": 10.0}}}}}}"#,
            stations.join(", ")
        )
    }

    #[test]
    fn a_good_configuration_is_the_engines() {
        let air = line(3, 200.0, "ns2").air();
        assert_eq!(air.positions_m, vec![[0.0, 0.0], [200.0, 0.0], [400.0, 0.0]].into());
        assert_eq!((air.data_rates_bps, air.radio.queue_pkts, air.trace), (vec![2_000_000; 3].into(), 50, false));
    }

    #[test]
    fn bad_values_are_refused_with_one_line_that_names_them() {
        let good = line_json(2, 200.0, "ns2");
        for (old, new, reported) in [
            ("\"version\": 1", "\"version\": 2", "version 2"),
            ("\"preset\": \"ns2\"", "\"preset\": \"standard\", \"phy\": \"802.11n\"", "mediumd sends no aggregates"),
            ("\"seed\": 1", "\"seed\": 1, \"sed\": 1", "sed"),
            ("\"name\": \"n1\"", "\"name\": \"n0\"", "the name is used twice"),
            ("00:02", "00:01", "02:00:00:00:00:01"),
            ("02:00:00:00:00:02", "03:00:00:00:00:02", "group"),
            ("02:00:00:00:00:02", "00:00:00:00:00:00", "must not be zero"),
            ("02:00:00:00:00:02", "02:00", "02:00"),
            ("\"air1\"", "\"a/b\"", "a/b"),
            ("\"air1\"", "\"air0\"", "air0"),
            ("\"air1\"", "\"sixteen-letters-\"", "sixteen-letters-"),
            ("2000000", "3000000", "3000000"),
            ("[200, 0]", "[1e400, 0]", "number out of range"),
            ("\"queue_pkts\": 50", "\"queue_pkts\": 0", "queue_pkts 0"),
            ("\"queue_pkts\": 50", "\"queue_pkts\": 1000000", "queue_pkts 1000000"),
            ("\"seed\": 1", "\"seed\": 1, \"mtu_bytes\": 9000", "mtu_bytes 9000"),
            ("\"seed\": 1", "\"seed\": 1, \"link_rates_bps\": [[0, 2, 1000000]]", "0 to 2"),
            ("\"seed\": 1", "\"seed\": 1, \"link_rates_bps\": [[1, 1, 1000000]]", "1 to 1: must be two different"),
            (
                "\"tap\": {\"netns\": null, \"name\": \"air1\"}}]",
                "\"hwsim\": {\"mac\": \"02:00:00:00:01:02\"}}], \"queue_at_host\": true",
                "queue_at_host",
            ),
            ("\"two-ray\"", "\"matrix\", \"links\": [[0, 1, 1e-9], [0, 1, 1e-6]]", "0 to 1: this link is given twice"),
            ("\"two-ray\"", "\"range\", \"decode_m\": 550, \"sense_m\": 250", "decode_m 550"),
        ] {
            assert!(good.contains(old), "{old}");
            let error = Config::from_json(&good.replace(old, new)).expect_err(new);
            assert!(error.contains(reported) && !error.contains('\n'), "{new}: {error}");
        }
    }

    #[test]
    fn text_and_bytes_agree() {
        let mac: Mac = "02:00:aB:00:00:0f".parse().expect("a MAC");
        assert_eq!((mac.0, mac.to_string()), ([2, 0, 0xab, 0, 0, 15], "02:00:ab:00:00:0f".into()));
        for bad in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:1", "02-00-00-00-00-01", "+2:00:00:00:00:01"]
        {
            assert!(bad.parse::<Mac>().is_err(), "{bad}");
        }
    }
}
