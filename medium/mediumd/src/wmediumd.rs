//! wmediumd's place: its command line, its file, and the engine's air made of them.

use std::path::PathBuf;

use pacelab_engine::{
    AirConfig, DECODE_THRESHOLD_W, Link, MacAckRate, Phy, PhyKind, Preset, Propagation, SENSE_THRESHOLD_W,
    two_ray_power_w,
};
use pacelab_hwsim::mesh::Mesh;
use pacelab_hwsim::wmediumd_config::{Config, Model, Own};

/// What is printed for `-h`.
pub const USAGE: &str = "usage: wmediumd [-h] [-V] [-l LEVEL] [-s] [-d] [-x FILE] -c FILE";

/// Interfaces that can be added while it runs.
const SPARE: usize = 32;
/// Below this ratio to noise wmediumd neither receives nor defers: CCA_THRESHOLD -90 dBm over noise of -91.
const FOUND_DB: f64 = 1.0;
const CAPTURE_RATIO: f64 = 10.0;
const QUEUE_PKTS: u32 = 50;
const NEAREST_M: f64 = 0.1;
const LIGHT_M_PER_NS: f64 = 0.3;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Command {
    Run { config: PathBuf, serves: bool },
    Help,
    Version,
}

/// Reads the arguments after the program's name, as getopt("hVc:l:x:sd") does.
///
/// # Errors
/// One line that names the argument.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let (mut config, mut serves) = (None, false);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Err(format!("{argument}: no such option; {USAGE}"));
        };
        for (at, letter) in letters.char_indices() {
            match letter {
                'h' => return Ok(Command::Help),
                'V' => return Ok(Command::Version),
                's' => serves = true,
                'd' => {}
                'c' | 'l' | 'x' => {
                    let rest = &letters[at + 1..];
                    let value = if rest.is_empty() { arguments.next() } else { Some(rest.into()) };
                    let value = value.ok_or_else(|| format!("-{letter}: needs a value; {USAGE}"))?;
                    if letter == 'c' {
                        config = Some(value.into());
                    }
                    break;
                }
                _ => return Err(format!("-{letter}: no such option; {USAGE}")),
            }
        }
    }
    Ok(Command::Run { config: config.ok_or_else(|| format!("-c is missing; {USAGE}"))?, serves })
}

/// The network of a file, and the radio that carries it.
#[derive(Debug)]
pub struct World {
    /// Who is where.
    pub mesh: Mesh,
    own: Own,
    phy: PhyKind,
    /// Stations of the engine, those to come included.
    pub capacity: usize,
}

impl World {
    /// Of a file, and of settings of our own that come from elsewhere.
    ///
    /// # Errors
    /// One line.
    pub fn new(text: &str, own: Option<&str>) -> Result<Self, String> {
        let config = Config::read(text, own)?;
        if config.own.ranges_m.is_some() && !matches!(config.model, Model::PathLoss { .. }) {
            return Err("pacelab.decode_m, sense_m: positions are needed, so a model of type path_loss".into());
        }
        let phy = match config.own.phy.as_str() {
            "802.11a" => PhyKind::A,
            "802.11b" => PhyKind::B,
            "802.11g" => PhyKind::G,
            _ => PhyKind::Bg,
        };
        let mesh = Mesh::new(&config);
        Ok(World { capacity: mesh.interfaces().len() + SPARE, mesh, own: config.own, phy })
    }

    /// Timing of the physical layer.
    pub fn phy(&self) -> Phy {
        Phy::of(self.phy, true)
    }

    /// The engine's configuration.
    pub fn air(&self) -> AirConfig {
        let lowest_bps = self.phy().rates_bps()[0];
        AirConfig {
            preset: match self.own.preset.as_str() {
                "ns2" => Preset::Ns2,
                "standard" => Preset::Standard,
                _ => Preset::Sinr,
            },
            phy: self.phy,
            edca: false,
            voice_first: false,
            seed: self.own.seed,
            positions_m: vec![[0.0, 0.0]; self.capacity],
            propagation: self.propagation(),
            capture_ratio: CAPTURE_RATIO,
            basic_rate_bps: lowest_bps,
            data_rates_bps: vec![lowest_bps; self.capacity],
            link_rates_bps: Vec::new(),
            mac_ack_rate: MacAckRate::Mandatory,
            rts_threshold_bytes: self.own.rts_threshold_bytes.unwrap_or(u32::MAX),
            short_retry_limit: 7,
            long_retry_limit: 4,
            queue_pkts: QUEUE_PKTS,
            overhead_bytes: None,
            tap: false,
        }
    }

    /// Who hears whom now.
    pub fn propagation(&self) -> Propagation {
        let stations = 0..self.capacity;
        Propagation::Links(
            stations.clone().map(|from| stations.clone().filter_map(|to| self.link(from, to)).collect()).collect(),
        )
    }

    /// Power ratio at which the stronger of two frames survives.
    pub fn capture_ratio(&self) -> f64 {
        CAPTURE_RATIO
    }

    /// What to add to a power of the engine, in dB, to have the model's.
    pub fn shift_db(&self) -> f64 {
        if self.own.ranges_m.is_some() { 0.0 } else { self.mesh.noise_dbm() - 30.0 - 10.0 * self.zero_db_w().log10() }
    }

    /// The engine's power for a ratio to noise of 0 dB.
    fn zero_db_w(&self) -> f64 {
        if self.own.preset == "sinr" { self.phy().noise_w() } else { SENSE_THRESHOLD_W }
    }

    fn link(&self, from: usize, to: usize) -> Option<Link> {
        let quality = self.mesh.quality(from, to).filter(|_| from != to)?;
        let distance_m = self.distance_m(from, to)?;
        let (power_w, sensed, decodable) = match self.own.ranges_m {
            Some((decode_m, sense_m)) => {
                (two_ray_power_w(distance_m.max(NEAREST_M)), distance_m <= sense_m, distance_m <= decode_m)
            }
            None => {
                let power_w = self.zero_db_w() * 10_f64.powf(quality.snr_db / 10.0);
                let found = quality.snr_db >= FOUND_DB;
                let by_model = self.own.preset == "sinr";
                if by_model {
                    (power_w, found, found)
                } else {
                    (power_w, quality.snr_db >= 0.0, power_w >= DECODE_THRESHOLD_W)
                }
            }
        };
        let delay_ns = (distance_m / LIGHT_M_PER_NS).round() as u64;
        sensed.then_some(Link { to: to as u32, delay_ns, power_w, decodable, loss: quality.loss })
    }

    fn distance_m(&self, from: usize, to: usize) -> Option<f64> {
        let place = |index: usize| self.mesh.interfaces().get(index)?.as_ref().map(|interface| interface.position_m);
        let (a, b) = (place(from)?, place(to)?);
        let squares: f64 = a.iter().zip(&b).map(|(one, other)| (one - other) * (one - other)).sum();
        Some(squares.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn the_command_line_of_mininet_wifi_is_understood() {
        let run = |serves| Ok(Command::Run { config: "net.cfg".into(), serves });
        assert_eq!(read("-l 0 -s -c net.cfg -x tests/signal_table_ieee80211ax"), run(true));
        assert_eq!(read("-l0 -cnet.cfg"), run(false));
        assert_eq!(read("-sdc net.cfg"), run(true));
        assert_eq!((read("-h"), read("-V")), (Ok(Command::Help), Ok(Command::Version)));
        for (line, told) in [("", "-c is missing"), ("-c", "needs a value"), ("-z", "no such"), ("x", "no such")] {
            assert!(read(line).expect_err(line).contains(told));
        }
    }

    const LINE: &str = r#"ifaces: { ids = ["02:00:00:00:00:00", "02:00:00:00:01:00", "02:00:00:00:02:00"]; };
        model: { type = "path_loss"; positions = ((0, 0, 0), (200, 0, 0), (600, 0, 0)); tx_powers = (14, 14, 14);
                 model_name = "log_distance"; path_loss_exp = 3; xg = 0; };"#;

    fn links(text: &str) -> Vec<Vec<Link>> {
        let Propagation::Links(rows) = World::new(text, None).expect("a world").propagation() else { panic!("links") };
        rows
    }

    #[test]
    fn powers_are_ratios_to_the_engines_noise() {
        // 40.10 + 30 lg 200 = 109.13 dB of loss: 14 - 109.13 + 91 = -4.13 dB: not found. At 20 m 25.87 dB.
        assert!(links(LINE)[0].is_empty());
        let rows = links(&LINE.replace("200, 0, 0", "20, 0, 0"));
        let noise_w = Phy::of(PhyKind::Bg, true).noise_w();
        let snr_db = 10.0 * (rows[0][0].power_w / noise_w).log10();
        assert!((snr_db - 25.87).abs() < 0.01 && rows[0][0].decodable && rows[0][0].delay_ns == 67, "{rows:?}");
        assert_eq!(rows.len(), 3 + SPARE);
    }

    #[test]
    fn other_presets_sense_from_noise_on_and_decode_14_db_above() {
        let at = |metres: &str| {
            let text = LINE.replace("200, 0, 0", &format!("{metres}, 0, 0")) + r#" pacelab: { preset = "ns2"; };"#;
            links(&text)[0].first().map(|link| link.decodable)
        };
        // 64.9 dB at 1 m (14 - 40.10 + 91), 30 dB a decade: 13.7 dB at 50.8 m, 0 dB at 145.6 m
        assert_eq!([at("50"), at("52"), at("145"), at("147")], [Some(true), Some(false), Some(false), None]);
    }

    #[test]
    fn ranges_take_the_powers_place() {
        let rows = links(&(LINE.to_owned() + "pacelab: { decode_m = 250; sense_m = 550; };"));
        let heard = |row: &[Link]| row.iter().map(|link| (link.to, link.decodable)).collect::<Vec<_>>();
        assert_eq!((heard(&rows[0]), heard(&rows[1])), (vec![(1, true)], vec![(0, true), (2, false)]));
        let flat = r#"ifaces: { ids = ["02:00:00:00:00:00"]; }; model: { type = "snr"; links = (); };
                      pacelab: { decode_m = 250; sense_m = 550; };"#;
        assert!(World::new(flat, None).expect_err("no positions").contains("path_loss"));
    }

    #[test]
    fn an_error_probability_is_a_loss_on_a_good_link() {
        let text = r#"ifaces: { ids = ["02:00:00:00:00:00", "02:00:00:00:01:00"]; };
                      model: { type = "prob"; default_prob = 1.0; links = ((0, 1, 0.25)); };"#;
        let rows = links(text);
        assert_eq!((rows[0].len(), rows[0][0].loss, rows[0][0].decodable), (1, 0.25, true));
    }
}
