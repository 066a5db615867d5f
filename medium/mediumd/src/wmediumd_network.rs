//! The network of a wmediumd configuration as the air of the engine: the links with their powers, and the physical
//! layer of each station.
//!
//! Powers depend on the carrier frequency, so the links of a station are recomputed when it changes its channel. The
//! physical layer of a station follows its band and the rates that it announces. From 5 GHz on it is 802.11a. Below, it
//! is 802.11b or g if the station announces only the rates of one, otherwise both with long slots, as in Linux. Stations
//! that announce 802.11n also send frames with an MCS, which are aggregated.

use pacelab_air_config::{HighThroughput, MacAckRate, PhyKind, Preset, Propagation, Radio};
use pacelab_engine::{
    AirConfig, DECODE_THRESHOLD_W, Fading, Id, IdVec, Link, Phy, SENSE_THRESHOLD_W, StationId, two_ray_power_w,
};
use pacelab_hwsim::frame::{Rates, announced_rates, is_above_2_4_ghz};
use pacelab_hwsim::mesh::Mesh;
use pacelab_hwsim::wmediumd_config::{Config, Model, PacelabSettings};

/// Interfaces that can be added at run time.
const SPARE: usize = 32;
/// Below this ratio to noise wmediumd neither receives nor defers: CCA_THRESHOLD -90 dBm over noise of -91.
const FOUND_DB: f64 = 1.0;
/// A link exists if one frame in 30,000 can be sensed over it.
const LUCKY_SIGMAS: f64 = 4.0;
const CAPTURE_DB: f64 = 10.0;
const QUEUE_PKTS: u32 = 50;
/// Frames that wait at a station of 802.11n. With an aggregate of 64 in service, they are fewer than the 200 at which
/// hwsim gives up frames that a medium has (MAX_QUEUE), and they fill the next aggregate.
const HIGH_THROUGHPUT_QUEUE_PKTS: u32 = 120;
/// The Minimum MPDU Start Spacing that hwsim's radios announce (ampdu_density 6).
const AMPDU_SPACING_NS: u32 = 8_000;
const NEAREST_M: f64 = 0.1;
const LIGHT_M_PER_NS: f64 = 0.3;
/// Larger ratios and delays, from wrong powers and positions, count as these.
const MOST_SNR_DB: f64 = 300.0;
const MOST_DELAY_NS: f64 = 1e9;
/// Channel 1, of a station that has not sent yet.
const FIRST_MHZ: u32 = 2412;

/// The network of a file, and the radio that carries it.
#[derive(Debug)]
pub struct WmediumdNetwork {
    /// Interfaces, positions and links.
    pub mesh: Mesh,
    settings: PacelabSettings,
    /// Stations of the engine, including those that can be added.
    pub capacity: usize,
    tuned: Vec<Tuned>,
}

/// Frequency and rates that a station was heard to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuned {
    frequency_mhz: u32,
    rates: Rates,
}

impl WmediumdNetwork {
    /// The network of a configuration file, with `settings` from the environment.
    ///
    /// # Errors
    /// The configuration is invalid. The message is one line.
    pub fn new(text: &str, settings: Option<&str>) -> Result<Self, String> {
        let config = Config::read(text, settings)?;
        if config.settings.ranges_m.is_some() && !matches!(config.model, Model::PathLoss { .. }) {
            return Err("pacelab.decode_m, sense_m: positions are needed, so a model of type path_loss".into());
        }
        let mesh = Mesh::new(&config);
        let capacity = mesh.interfaces().len() + SPARE;
        let both = Tuned { frequency_mhz: FIRST_MHZ, rates: Rates { dsss: true, ofdm: true, mcs: false } };
        Ok(WmediumdNetwork { mesh, settings: config.settings, capacity, tuned: vec![both; capacity] })
    }

    /// The capture file that the group `pacelab` names.
    pub fn capture(&self) -> Option<&str> {
        self.settings.pcap.as_deref()
    }

    /// The physical layer of a station.
    pub fn phy(&self, station: usize) -> PhyKind {
        self.settings.phy.unwrap_or_else(|| match self.tuned[station] {
            Tuned { frequency_mhz, .. } if is_above_2_4_ghz(frequency_mhz) => PhyKind::A,
            Tuned { rates: Rates { ofdm: false, .. }, .. } => PhyKind::B,
            Tuned { rates: Rates { dsss: false, .. }, .. } => PhyKind::G,
            _ => PhyKind::Bg,
        })
    }

    /// Whether the station sends frames with an MCS, which are aggregated. A file that sets the physical layer, or ns-2's
    /// preset, has none.
    pub fn has_high_throughput(&self, station: usize) -> bool {
        self.tuned[station].rates.mcs && self.settings.phy.is_none() && self.settings.preset != Preset::Ns2
    }

    /// Most frames that wait at a station.
    pub fn queue_limit(&self, station: usize) -> u32 {
        if self.has_high_throughput(station) { HIGH_THROUGHPUT_QUEUE_PKTS } else { QUEUE_PKTS }
    }

    /// Notes that the station has frames with an MCS. Returns whether that is new.
    pub fn note_mcs(&mut self, station: usize) -> bool {
        let before = self.has_high_throughput(station);
        self.tuned[station].rates.mcs = true;
        self.has_high_throughput(station) != before
    }

    /// Handles a frame that the station sends. Returns whether its links or its physical layer change.
    pub fn heard(&mut self, station: usize, frequency_mhz: Option<u32>, frame: &[u8]) -> bool {
        let before = self.tuned[station];
        let now = Tuned {
            frequency_mhz: frequency_mhz.unwrap_or(before.frequency_mhz),
            rates: announced_rates(frame).unwrap_or(before.rates),
        };
        self.tuned[station] = now;
        now != before
    }

    /// Replaces the network. Returns the stations that changed.
    pub fn replace(&mut self, mesh: Mesh) -> Vec<usize> {
        let interface = |mesh: &Mesh, station: usize| mesh.interfaces().get(station).cloned().flatten();
        let differs = |&station: &usize| interface(&self.mesh, station) != interface(&mesh, station);
        let changed = (0..self.capacity).filter(differs).collect();
        self.mesh = mesh;
        changed
    }

    /// The address of a station's interface.
    pub fn address(&self, station: usize) -> Option<[u8; 6]> {
        Some(self.mesh.interfaces().get(station)?.as_ref()?.mac)
    }

    /// The engine's configuration.
    pub fn air(&self) -> AirConfig {
        let lowest_bps = self.timing(0).rates_bps()[0];
        let radio = Radio {
            preset: self.settings.preset,
            phy: self.phy(0),
            ht: Some(HighThroughput { ampdu_spacing_ns: AMPDU_SPACING_NS, ..HighThroughput::default() }),
            edca: false,
            voice_first: false,
            basic_rate_bps: lowest_bps,
            data_rate_bps: lowest_bps,
            rts_threshold_bytes: self.settings.rts_threshold_bytes.unwrap_or(u32::MAX),
            short_retry_limit: 7,
            long_retry_limit: 4,
            queue_pkts: QUEUE_PKTS,
            mac_ack_rate: MacAckRate::Mandatory,
            propagation: Propagation::TwoRay { capture_db: CAPTURE_DB },
        };
        AirConfig {
            radio,
            seed: self.settings.seed,
            positions_m: IdVec::filled([0.0, 0.0], self.capacity),
            links: Some(self.links()),
            data_rates_bps: IdVec::filled(lowest_bps, self.capacity),
            link_rates_bps: Vec::new(),
            overhead_bytes: None,
            trace: false,
        }
    }

    /// All present links, by sender.
    pub fn links(&self) -> IdVec<StationId, Vec<Link>> {
        (0..self.capacity).map(|from| self.leaving(from)).collect()
    }

    /// The present links from a station.
    pub fn leaving(&self, from: usize) -> Vec<Link> {
        (0..self.capacity).filter_map(|to| self.link(from, to)).collect()
    }

    /// The present links to a station, by sender.
    pub fn arriving(&self, to: usize) -> impl Iterator<Item = Option<Link>> {
        (0..self.capacity).map(move |from| self.link(from, to))
    }

    /// Difference in dB between the model's power and the engine's power at a station.
    pub fn shift_db(&self, station: usize) -> f64 {
        if self.settings.ranges_m.is_some() {
            return 0.0;
        }
        self.mesh.noise_dbm() - 30.0 - 10.0 * self.zero_db_w(station).log10()
    }

    fn timing(&self, station: usize) -> Phy {
        Phy::of(self.phy(station), true)
    }

    /// The engine's power for a ratio to noise of 0 dB at a station.
    fn zero_db_w(&self, station: usize) -> f64 {
        if self.settings.preset == Preset::Sinr { self.timing(station).noise_w() } else { SENSE_THRESHOLD_W }
    }

    fn link(&self, from: usize, to: usize) -> Option<Link> {
        let frequency_mhz = self.tuned[from].frequency_mhz;
        let quality = self.mesh.quality(from, to, frequency_mhz).filter(|_| from != to)?;
        let distance_m = self.distance_m(from, to)?;
        let delay_ns = (distance_m / LIGHT_M_PER_NS).round().min(MOST_DELAY_NS) as u64;
        let link = Link {
            to: StationId::from_index(to),
            delay_ns,
            power_w: 0.0,
            decodable: false,
            loss: quality.loss,
            fading: None,
        };
        if let Some((decode_m, sense_m)) = self.settings.ranges_m {
            let power_w = two_ray_power_w(distance_m.max(NEAREST_M));
            return (distance_m <= sense_m).then_some(Link { power_w, decodable: distance_m <= decode_m, ..link });
        }
        let zero_db_w = self.zero_db_w(to);
        let (sense_w, decode_w) = if self.settings.preset == Preset::Sinr {
            let found_w = zero_db_w * ratio(FOUND_DB);
            (found_w, found_w)
        } else {
            (zero_db_w, DECODE_THRESHOLD_W)
        };
        let power_w = zero_db_w * ratio(quality.snr_db.min(MOST_SNR_DB));
        let sigma_db = quality.fading_db;
        let fading = (sigma_db > 0.0).then_some(Fading { sigma_db, sense_w, decode_w });
        let luckiest_w = power_w * ratio(LUCKY_SIGMAS * sigma_db);
        (luckiest_w >= sense_w).then_some(Link { power_w, decodable: power_w >= decode_w, fading, ..link })
    }

    fn distance_m(&self, from: usize, to: usize) -> Option<f64> {
        let place = |index: usize| self.mesh.interfaces().get(index)?.as_ref().map(|interface| interface.position_m);
        let (a, b) = (place(from)?, place(to)?);
        let squares: f64 = a.iter().zip(&b).map(|(one, other)| (one - other) * (one - other)).sum();
        Some(squares.sqrt())
    }
}

fn ratio(db: f64) -> f64 {
    10_f64.powf(db / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 dBm and two antennas of 5 dB are 14 dBm.
    const LINE: &str = r#"ifaces: { ids = ["02:00:00:00:00:00", "02:00:00:00:01:00", "02:00:00:00:02:00"]; };
        model: { type = "path_loss"; positions = ((0, 0, 0), (200, 0, 0), (600, 0, 0)); tx_powers = (4, 4, 4);
                 model_name = "log_distance"; path_loss_exp = 3; xg = 0; };"#;

    fn links(text: &str) -> Vec<Vec<Link>> {
        WmediumdNetwork::new(text, None).expect("a network").links().iter().cloned().collect()
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
        let heard = |row: &[Link]| row.iter().map(|link| (link.to.0, link.decodable)).collect::<Vec<_>>();
        assert_eq!((heard(&rows[0]), heard(&rows[1])), (vec![(1, true)], vec![(0, true), (2, false)]));
        let flat = r#"ifaces: { ids = ["02:00:00:00:00:00"]; }; model: { type = "snr"; links = (); };
                      pacelab: { decode_m = 250; sense_m = 550; };"#;
        assert!(WmediumdNetwork::new(flat, None).expect_err("no positions").contains("path_loss"));
    }

    #[test]
    fn an_error_probability_is_a_loss_on_a_good_link() {
        let text = r#"ifaces: { ids = ["02:00:00:00:00:00", "02:00:00:00:01:00"]; };
                      model: { type = "prob"; default_prob = 1.0; links = ((0, 1, 0.25)); };"#;
        let rows = links(text);
        assert_eq!((rows[0].len(), rows[0][0].loss, rows[0][0].decodable), (1, 0.25, true));
    }

    fn beacon(rates: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x80; 1];
        frame.resize(24 + 12, 0);
        frame.extend([1, rates.len() as u8]);
        frame.extend(rates);
        frame
    }

    /// Power over the receiver's noise, which the receiver's physical layer decides.
    fn snr_db(network: &WmediumdNetwork, from: usize, to: usize) -> f64 {
        let link = network.leaving(from).into_iter().find(|link| link.to == StationId::from_index(to)).expect("a link");
        10.0 * (link.power_w / network.timing(to).noise_w()).log10()
    }

    #[test]
    fn a_frame_is_as_strong_as_its_own_frequency_lets_it() {
        let mut network = WmediumdNetwork::new(&LINE.replace("200, 0, 0", "20, 0, 0"), None).expect("a network");
        assert!((snr_db(&network, 0, 1) - 25.87).abs() < 0.01);
        assert!(network.heard(0, Some(5180), &[]) && network.heard(1, Some(5180), &[]));
        // 20 lg(5180 / 2412) = 6.64 dB
        assert!((snr_db(&network, 0, 1) - (25.87 - 6.64)).abs() < 0.01, "{}", snr_db(&network, 0, 1));
        assert!(!network.heard(0, Some(5180), &[]) && !network.heard(0, None, &[]));
        let arriving: Vec<_> = network.arriving(1).collect();
        assert_eq!((arriving.len(), arriving[0]), (3 + SPARE, network.leaving(0).first().copied()));
    }

    #[test]
    fn band_and_rates_decide_the_physical_layer_unless_the_file_does() {
        let mut network = WmediumdNetwork::new(LINE, None).expect("a network");
        let mut phy = |mhz, frame: &[u8]| {
            network.heard(0, Some(mhz), frame);
            network.phy(0)
        };
        assert_eq!(phy(2412, &[]), PhyKind::Bg);
        assert_eq!(phy(2412, &beacon(&[0x82, 0x84, 11, 22])), PhyKind::B);
        assert_eq!(phy(2412, &[]), PhyKind::B);
        assert_eq!(phy(2412, &beacon(&[12, 24, 48])), PhyKind::G);
        assert_eq!(phy(5180, &beacon(&[12, 24, 48])), PhyKind::A);
        assert_eq!(phy(2437, &beacon(&[0x82, 0x84, 12])), PhyKind::Bg);
        let mut fixed = WmediumdNetwork::new(LINE, Some(r#"phy = "802.11g""#)).expect("a network");
        fixed.heard(0, Some(5180), &beacon(&[12]));
        assert_eq!(fixed.phy(0), PhyKind::G);
    }

    #[test]
    fn a_network_is_replaced_and_who_is_another_is_told() {
        use pacelab_hwsim::wmediumd_socket::Request;
        let mut network = WmediumdNetwork::new(LINE, None).expect("a network");
        let after = |network: &WmediumdNetwork, request: &Request| {
            let mut mesh = network.mesh.clone();
            mesh.apply(request);
            mesh
        };
        let moved = Request::Position { of: [2, 0, 0, 0, 1, 0], position_m: [20.0, 0.0, 0.0] };
        let mesh = after(&network, &moved);
        assert_eq!((network.replace(mesh), network.leaving(0).len()), (vec![1], 1));
        let mesh = after(&network, &moved);
        assert_eq!(network.replace(mesh), Vec::<usize>::new());
        let mesh = after(&network, &Request::Add([2, 0, 0, 0, 9, 0]));
        assert_eq!((network.replace(mesh), network.address(3)), (vec![3], Some([2, 0, 0, 0, 9, 0])));
        let mesh = after(&network, &Request::DeleteById(0));
        assert_eq!((network.replace(mesh), network.address(0)), (vec![0], None));
    }

    #[test]
    fn fading_reaches_farther_than_the_mean() {
        let text = LINE.replace("xg = 0;", "xg = 0; fading_coefficient = 3;");
        // 200 m: 4.13 dB below noise, 5.13 below what is found; four deviations of 3 dB above that
        let link = links(&text)[0][0];
        let noise_w = Phy::of(PhyKind::Bg, true).noise_w();
        let Some(Fading { sigma_db, sense_w, decode_w }) = link.fading else { panic!("fading") };
        assert_eq!((sigma_db, link.decodable, sense_w), (3.0, false, decode_w));
        assert!((10.0 * (sense_w / noise_w).log10() - 1.0).abs() < 1e-9);
        assert!((10.0 * (link.power_w / noise_w).log10() + 4.13).abs() < 0.01);
        // 600 m: another 14.3 dB less
        assert_eq!(links(&text)[0].len(), 1);
    }
}
