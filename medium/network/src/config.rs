//! The air configuration, version 1, as `medium/README.md` states it, and its checks.

use std::collections::BTreeMap;

use pacelab_engine::{AirConfig, Category, DSSS_RATES_BPS, MacAckRate, OFDM_RATES_BPS, PhyKind, Preset, Propagation};
use serde::Deserialize;

use crate::tcp::congestion::FewSettings;
use crate::voice;

/// The version this crate understands.
pub const VERSION: u32 = 1;

/// One run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // medium/README.md documents every key
pub struct Config {
    pub version: u32,
    pub seed: u64,
    pub duration_s: f64,
    pub warmup_s: f64,
    #[serde(default)]
    pub stop_after_pkts: Option<u64>,
    #[serde(default)]
    pub batch_pkts: Option<u64>,
    pub series_interval_s: f64,
    pub tap: bool,
    #[serde(default)]
    pub capture: Option<Capture>,
    pub radio: Radio,
    pub headers: Headers,
    pub nodes: Vec<Node>,
    #[serde(default)]
    pub link_rates_bps: Vec<(u32, u32, u32)>,
    #[serde(default)]
    pub rate_changes: Vec<(f64, u32, u32, u32)>,
    #[serde(default)]
    pub moves: Vec<(u32, f64, f64, f64)>,
    pub wired: Vec<Wired>,
    pub routing: Routing,
    pub flows: Vec<Flow>,
}

/// What a capture file is to hold.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Bytes kept of each frame, its radiotap header included; 0: all.
    pub snap_bytes: u32,
    /// Also frames that a node could not decode because others fell into them.
    pub garbled: bool,
}

/// Radio settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Radio {
    pub preset: PresetName,
    #[serde(default)]
    pub phy: PhyName,
    #[serde(default)]
    pub edca: bool,
    #[serde(default)]
    pub voice_first: bool,
    pub basic_rate_bps: u32,
    pub data_rate_bps: u32,
    pub rts_threshold_bytes: u32,
    pub short_retry_limit: u32,
    pub long_retry_limit: u32,
    pub queue_pkts: u32,
    pub mac_ack_rate: MacAckRateName,
    pub propagation: PropagationName,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum PresetName {
    Ns2,
    Standard,
    Sinr,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PhyName {
    #[default]
    #[serde(rename = "802.11b")]
    B,
    #[serde(rename = "802.11a")]
    A,
    #[serde(rename = "802.11g")]
    G,
}

impl PhyName {
    fn rates_bps(self) -> &'static [u32] {
        if self == PhyName::B { &DSSS_RATES_BPS } else { &OFDM_RATES_BPS }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum MacAckRateName {
    Basic,
    Data,
    Mandatory,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum CategoryName {
    Background,
    #[default]
    BestEffort,
    Video,
    Voice,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum PropagationName {
    TwoRay {
        capture_db: f64,
    },
    Range {
        decode_m: f64,
        sense_m: f64,
        capture_db: f64,
    },
    LogDistance {
        exponent: f64,
        reference_loss_db: f64,
        tx_power_dbm: f64,
        shadowing_db: f64,
        decode_dbm: f64,
        sense_dbm: f64,
        capture_db: f64,
    },
    Matrix {
        capture_db: f64,
        links: Vec<(u32, u32, f64)>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Headers {
    Real,
    Ns2,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Routing {
    Static,
    Aodv,
}

impl From<CategoryName> for Category {
    fn from(name: CategoryName) -> Self {
        match name {
            CategoryName::Background => Category::Background,
            CategoryName::BestEffort => Category::BestEffort,
            CategoryName::Video => Category::Video,
            CategoryName::Voice => Category::Voice,
        }
    }
}

/// A node; wireless ones have a position.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Node {
    pub name: String,
    pub wireless: bool,
    #[serde(default)]
    pub position_m: Option<[f64; 2]>,
    #[serde(default)]
    pub data_rate_bps: Option<u32>,
}

/// A full-duplex wired link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Wired {
    pub a: u32,
    pub b: u32,
    pub rate_bps: f64,
    pub delay_s: f64,
    pub queue_pkts: u32,
}

/// A flow: who, when, what.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Flow {
    pub id: u32,
    pub src: u32,
    pub dst: u32,
    pub start_s: f64,
    #[serde(default)]
    pub stop_s: Option<f64>,
    #[serde(default)]
    pub category: CategoryName,
    #[serde(flatten)]
    pub traffic: Traffic,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Traffic {
    Tcp {
        segment_bytes: u32,
        window_pkts: u32,
        cc: String,
        initial_window: u32,
        min_rto_s: f64,
        ack_every: u32,
        #[serde(default)]
        size_bytes: Option<u64>,
        #[serde(default)]
        ecn: bool,
        #[serde(default)]
        ack_schedule: Vec<(u64, u32)>,
        #[serde(default)]
        few: Option<FewSettings>,
    },
    UdpSaturated {
        payload_bytes: u32,
    },
    Cbr {
        payload_bytes: u32,
        rate_bps: f64,
        burst_pkts: u32,
    },
    Voice {
        call: u32,
        payload_bytes: u32,
        header_bytes: u32,
        interval_s: f64,
        playout_s: f64,
    },
}

/// Refuses with one line that names the value and what is allowed.
fn check(good: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(message()) }
}

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// One line: the key, the value and what is allowed.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let config: Config = serde_json::from_str(text).map_err(|error| format!("air configuration: {error}"))?;
        config.check()?;
        Ok(config)
    }

    /// Checks what `from_json` has not: for configurations that were put together otherwise.
    ///
    /// # Errors
    /// One line: the key, the value and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        check(self.version == VERSION, || format!("version {}: this engine speaks version {VERSION}", self.version))?;
        check(self.duration_s > 0.0 && self.duration_s <= 1e6, || {
            format!("duration_s {}: must lie in (0, 1000000]", self.duration_s)
        })?;
        check(self.warmup_s >= 0.0 && self.warmup_s < self.duration_s, || {
            format!("warmup_s {}: must lie in [0, duration_s)", self.warmup_s)
        })?;
        check(self.series_interval_s > 0.0, || format!("series_interval_s {}: must be > 0", self.series_interval_s))?;
        check(!self.nodes.is_empty(), || "nodes: there are none".into())?;
        self.check_radio()?;
        self.check_nodes()?;
        self.flows.iter().try_for_each(|flow| self.check_flow(flow))?;
        self.check_calls()
    }

    /// A call has two directions between the same two nodes at most.
    fn check_calls(&self) -> Result<(), String> {
        let mut ends = BTreeMap::new();
        for flow in &self.flows {
            let Traffic::Voice { call, .. } = flow.traffic else { continue };
            let fits = match ends.insert((call, flow.src), flow.dst) {
                Some(_) => false,
                None => ends
                    .range((call, 0)..=(call, u32::MAX))
                    .all(|(&(_, src), &dst)| (src, dst) == (flow.src, flow.dst) || (src, dst) == (flow.dst, flow.src)),
            };
            check(fits, || format!("flow {}: call {call}: has two flows, there and back, at most", flow.id))?;
        }
        Ok(())
    }

    fn check_radio(&self) -> Result<(), String> {
        let radio = &self.radio;
        let node_rates = self.nodes.iter().filter_map(|node| node.data_rate_bps);
        let link_rates = self.link_rates_bps.iter().map(|&(_, _, rate)| rate);
        let changes = self.rate_changes.iter().map(|&(_, _, _, rate)| rate);
        let rates_bps = radio.phy.rates_bps();
        let own = [radio.basic_rate_bps, radio.data_rate_bps].into_iter();
        for rate in own.chain(node_rates).chain(link_rates).chain(changes) {
            check(rates_bps.contains(&rate), || format!("rate {rate} bit/s: this physical layer has {rates_bps:?}"))?;
        }
        check(radio.short_retry_limit > 0 && radio.long_retry_limit > 0, || "retry limits: must be >= 1".into())?;
        check(radio.queue_pkts > 0, || "queue_pkts 0: must be >= 1".into())
    }

    fn check_nodes(&self) -> Result<(), String> {
        let count = self.nodes.len() as u32;
        for node in &self.nodes {
            let placed = node.position_m.is_some_and(|[x, y]| x.is_finite() && y.is_finite());
            let matrix = matches!(self.radio.propagation, PropagationName::Matrix { .. });
            check(!node.wireless || placed || matrix, || format!("node {}: wireless without a position", node.name))?;
        }
        for &(node, at_s, x, y) in &self.moves {
            check(node < count && self.nodes[node as usize].wireless, || {
                format!("moves: node {node} is not wireless")
            })?;
            check(at_s >= 0.0 && x.is_finite() && y.is_finite(), || {
                format!("moves: node {node}: time >= 0, finite x, y")
            })?;
        }
        for &(at_s, from, to, _) in &self.rate_changes {
            check(at_s >= 0.0 && from < count && to < count, || {
                format!("rate_changes: {at_s} s, {from} to {to}: time >= 0, nodes below {count}")
            })?;
        }
        for wire in &self.wired {
            check(wire.a < count && wire.b < count && wire.a != wire.b, || {
                format!("wired link {}-{}: needs two different nodes below {count}", wire.a, wire.b)
            })?;
            check(wire.rate_bps > 0.0 && wire.delay_s >= 0.0 && wire.queue_pkts > 0, || {
                format!("wired link {}-{}: rate > 0, delay >= 0, queue >= 1", wire.a, wire.b)
            })?;
        }
        Ok(())
    }

    fn check_flow(&self, flow: &Flow) -> Result<(), String> {
        let count = self.nodes.len() as u32;
        let name = format!("flow {}", flow.id);
        check(flow.src < count && flow.dst < count && flow.src != flow.dst, || {
            format!("{name}: src {} and dst {} must be two different nodes below {count}", flow.src, flow.dst)
        })?;
        check(flow.start_s >= 0.0 && flow.stop_s.is_none_or(|stop_s| stop_s > flow.start_s), || {
            format!("{name}: start_s must be >= 0 and stop_s later")
        })?;
        match &flow.traffic {
            Traffic::Tcp {
                segment_bytes,
                window_pkts,
                initial_window,
                min_rto_s,
                ack_every,
                size_bytes,
                ack_schedule,
                cc,
                few,
                ..
            } => {
                check(few.is_none_or(|few| few.alpha > 0.0 && few.alpha <= 1.0), || {
                    format!("{name}: few: alpha must lie in (0, 1]")
                })?;
                check(few.is_none_or(|few| few.min_window_pkts >= 1.0), || {
                    format!("{name}: few: min_window_pkts must be >= 1")
                })?;
                check(few.is_none() || cc == "few", || format!("{name}: few with cc {cc:?}: goes with cc \"few\""))?;
                check(ack_schedule.iter().all(|&(_, every)| every >= 1), || {
                    format!("{name}: ack_schedule: every >= 1")
                })?;
                check(size_bytes.is_none_or(|size| (1..=1 << 30).contains(&size)), || {
                    format!("{name}: size_bytes must lie in 1..=1073741824")
                })?;
                check((1..=9000).contains(segment_bytes), || format!("{name}: segment_bytes must lie in 1..=9000"))?;
                check((1..=65_536).contains(window_pkts), || {
                    format!("{name}: window_pkts {window_pkts}: must lie in 1..=65536")
                })?;
                check(*initial_window >= 1, || format!("{name}: initial_window 0: must be >= 1"))?;
                check(*min_rto_s > 0.0 && *min_rto_s <= 60.0, || format!("{name}: min_rto_s must lie in (0, 60]"))?;
                check((1..=2).contains(ack_every), || format!("{name}: ack_every {ack_every}: 1 or 2"))
            }
            Traffic::UdpSaturated { payload_bytes } => {
                check((1..=9000).contains(payload_bytes), || format!("{name}: payload_bytes must lie in 1..=9000"))
            }
            Traffic::Cbr { payload_bytes, rate_bps, burst_pkts } => {
                check((1..=9000).contains(payload_bytes), || format!("{name}: payload_bytes must lie in 1..=9000"))?;
                check(*rate_bps > 0.0 && rate_bps.is_finite(), || format!("{name}: rate_bps must be > 0"))?;
                check(*burst_pkts >= 1, || format!("{name}: burst_pkts must be >= 1"))
            }
            Traffic::Voice { call, payload_bytes, header_bytes, interval_s, playout_s } => {
                check(*call < voice::CALLS, || format!("{name}: call {call}: must lie below {}", voice::CALLS))?;
                check((1..=9000).contains(payload_bytes), || format!("{name}: payload_bytes must lie in 1..=9000"))?;
                check((voice::HEADER_BYTES..=1000).contains(header_bytes), || {
                    format!("{name}: header_bytes {header_bytes}: must lie in {}..=1000", voice::HEADER_BYTES)
                })?;
                check(*interval_s >= 0.001 && *interval_s <= 1.0, || {
                    format!("{name}: interval_s {interval_s}: must lie in [0.001, 1]")
                })?;
                check(*playout_s >= *interval_s && *playout_s <= 10.0, || {
                    format!("{name}: playout_s {playout_s}: must lie in [interval_s, 10]; interval_s is {interval_s}")
                })
            }
        }
    }

    /// The engine's configuration. Stations are the wireless nodes, in order.
    pub fn air(&self) -> AirConfig {
        let wireless: Vec<(usize, &Node)> = self.nodes.iter().enumerate().filter(|(_, node)| node.wireless).collect();
        let station = |node: u32| wireless.iter().position(|&(index, _)| index == node as usize).map(|at| at as u32);
        let (propagation, capture_db) = match &self.radio.propagation {
            PropagationName::TwoRay { capture_db } => (Propagation::TwoRay, *capture_db),
            PropagationName::Range { decode_m, sense_m, capture_db } => {
                (Propagation::Range { decode_m: *decode_m, sense_m: *sense_m }, *capture_db)
            }
            PropagationName::LogDistance {
                exponent,
                reference_loss_db,
                tx_power_dbm,
                shadowing_db,
                decode_dbm,
                sense_dbm,
                capture_db,
            } => (
                Propagation::LogDistance {
                    exponent: *exponent,
                    reference_loss_db: *reference_loss_db,
                    tx_power_dbm: *tx_power_dbm,
                    shadowing_db: *shadowing_db,
                    decode_dbm: *decode_dbm,
                    sense_dbm: *sense_dbm,
                },
                *capture_db,
            ),
            PropagationName::Matrix { capture_db, links } => {
                let stations = links.iter().filter_map(|&(a, b, power_w)| Some((station(a)?, station(b)?, power_w)));
                (Propagation::Matrix(stations.collect()), *capture_db)
            }
        };
        AirConfig {
            preset: match self.radio.preset {
                PresetName::Ns2 => Preset::Ns2,
                PresetName::Standard => Preset::Standard,
                PresetName::Sinr => Preset::Sinr,
            },
            phy: match self.radio.phy {
                PhyName::B => PhyKind::B,
                PhyName::A => PhyKind::A,
                PhyName::G => PhyKind::G,
            },
            edca: self.radio.edca,
            voice_first: self.radio.voice_first,
            seed: self.seed,
            positions_m: wireless.iter().map(|(_, node)| node.position_m.unwrap_or([0.0, 0.0])).collect(),
            propagation,
            capture_ratio: ratio_from_db(capture_db),
            basic_rate_bps: self.radio.basic_rate_bps,
            data_rates_bps: wireless
                .iter()
                .map(|(_, node)| node.data_rate_bps.unwrap_or(self.radio.data_rate_bps))
                .collect(),
            link_rates_bps: self
                .link_rates_bps
                .iter()
                .filter_map(|&(a, b, rate)| Some((station(a)?, station(b)?, rate)))
                .collect(),
            mac_ack_rate: match self.radio.mac_ack_rate {
                MacAckRateName::Basic => MacAckRate::Basic,
                MacAckRateName::Data => MacAckRate::Data,
                MacAckRateName::Mandatory => MacAckRate::Mandatory,
            },
            rts_threshold_bytes: self.radio.rts_threshold_bytes,
            short_retry_limit: self.radio.short_retry_limit,
            long_retry_limit: self.radio.long_retry_limit,
            queue_pkts: self.radio.queue_pkts,
            overhead_bytes: None,
            tap: self.tap || self.capture.is_some(),
        }
    }
}

fn ratio_from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Seconds to the nearest nanosecond.
pub fn ns_from_s(seconds: f64) -> u64 {
    libm::round(seconds * 1e9) as u64
}
