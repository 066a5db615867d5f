//! The air configuration, version 1, as `medium/README.md` states it: types that are read from JSON, and their checks.
//!
//! ```text
//!   radio       propagation, rates and preset                      the engine, the simulator, mediumd
//!   mode        formats and rates of 802.11n, ac and ax            the same
//!   traffic     flows and what they send                           the simulator
//!   lib         a whole run: radio, nodes, wires, flows            the simulator
//! ```
//!
//! This crate contains only data and checks. Each key of the configuration has exactly one type here.

mod high_throughput;
mod mode;
mod node_id;
mod radio;
mod traffic;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::radio::check;
use crate::traffic::LONGEST_S;

pub use high_throughput::{HT_BASIC_RATES_BPS, HighThroughput};
pub use mode::{Band, Format, GuardInterval, Mode, Width};
pub use node_id::NodeId;
pub use radio::{DSSS_RATES_BPS, MacAckRate, OFDM_RATES_BPS, PhyKind, Preset, Propagation, Radio};
pub use traffic::{Category, Cbr, FewSettings, Flow, Tcp, TcpDefaults, Traffic, Voice};

/// Supported version.
pub const VERSION: u32 = 1;
/// Longest delay of a wired link.
const LONGEST_DELAY_S: f64 = 3600.0;

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
    pub link_rates_bps: Vec<(NodeId, NodeId, u32)>,
    #[serde(default)]
    pub rate_changes: Vec<(f64, NodeId, NodeId, u32)>,
    #[serde(default)]
    pub moves: Vec<(NodeId, f64, f64, f64)>,
    pub wired: Vec<Wired>,
    #[serde(default)]
    pub host_delay: Option<HostDelay>,
    #[serde(default)]
    pub qdisc: Option<Qdisc>,
    #[serde(default)]
    pub pings: Option<Pings>,
    pub routing: Routing,
    pub flows: Vec<Flow>,
}

/// Options of a capture file.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Bytes kept of each frame, including its radiotap header; 0: all.
    pub snap_bytes: u32,
    /// Also frames that a node could not decode because of a collision.
    pub garbled: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Headers {
    Real,
    Ns2,
    #[serde(rename = "ns2-2001")]
    Ns2Of2001,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Routing {
    Static,
    Aodv,
    /// AODV of ns-2.1b8a of 2001.
    #[serde(rename = "aodv-2001")]
    AodvOf2001,
}

/// The queue discipline of all radios and wires, in place of their drop-tail queues.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Qdisc {
    /// Its kind.
    pub kind: QdiscKind,
    /// Packets that wait in the MAC of a radio, below the discipline, as in the ring of a driver.
    #[serde(default)]
    pub ring_pkts: u32,
}

/// Echo requests at constant intervals from one node of each pair to the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Pings {
    pub interval_s: f64,
    pub pairs: Vec<(NodeId, NodeId)>,
}

/// The queue disciplines, by Linux's names.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum QdiscKind {
    /// RFC 8289.
    Codel,
    /// RFC 8290.
    FqCodel,
    /// Flows take turns.
    Fq,
    /// A user's class.
    Own,
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
    pub a: NodeId,
    pub b: NodeId,
    pub rate_bps: f64,
    pub delay_s: f64,
    pub queue_pkts: u32,
}

/// Delay of a packet between the link layer and its wireless host, in addition to the delay of the radio preset.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum HostDelay {
    Fixed { s: f64 },
    Exponential { mean_s: f64 },
}

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// The configuration is invalid. The message is one line with the key, the value and what is valid.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let config: Config = serde_json::from_str(text).map_err(|error| format!("air configuration: {error}"))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        check(self.version == VERSION, || format!("version {}: this engine speaks version {VERSION}", self.version))?;
        check(self.duration_s > 0.0 && self.duration_s <= 1e6, || {
            format!("duration_s {}: must lie in (0, 1000000]", self.duration_s)
        })?;
        check(self.warmup_s >= 0.0 && self.warmup_s < self.duration_s, || {
            format!("warmup_s {}: must lie in [0, duration_s)", self.warmup_s)
        })?;
        check(self.series_interval_s > 0.0 && self.series_interval_s <= 1e6, || {
            format!("series_interval_s {}: must lie in (0, 1000000]", self.series_interval_s)
        })?;
        check(!self.nodes.is_empty(), || "nodes: must not be empty".into())?;
        if let Some(HostDelay::Fixed { s } | HostDelay::Exponential { mean_s: s }) = self.host_delay {
            check((0.0..=1.0).contains(&s), || format!("host_delay {s} s: must lie in [0, 1]"))?;
        }
        self.check_radio()?;
        self.check_qdisc()?;
        self.check_nodes()?;
        self.check_pings()?;
        self.flows.iter().try_for_each(|flow| flow.check(NodeId(self.nodes.len() as u32)))?;
        self.check_calls()
    }

    /// A call has two directions between the same two nodes at most.
    fn check_calls(&self) -> Result<(), String> {
        let mut ends = BTreeMap::new();
        for flow in &self.flows {
            let Traffic::Voice(Voice { call, .. }) = flow.traffic else { continue };
            let fits = match ends.insert((call, flow.src), flow.dst) {
                Some(_) => false,
                None => ends
                    .range((call, NodeId(0))..=(call, NodeId(u32::MAX)))
                    .all(|(&(_, src), &dst)| (src, dst) == (flow.src, flow.dst) || (src, dst) == (flow.dst, flow.src)),
            };
            check(fits, || {
                format!("flow {}: call {call}: must have at most two flows, one in each direction", flow.id)
            })?;
        }
        Ok(())
    }

    fn check_radio(&self) -> Result<(), String> {
        let node_rates = self.nodes.iter().filter_map(|node| node.data_rate_bps);
        let link_rates = self.link_rates_bps.iter().map(|&(_, _, rate)| rate);
        let changes = self.rate_changes.iter().map(|&(_, _, _, rate)| rate);
        self.radio.check(node_rates.chain(link_rates).chain(changes))
    }

    fn check_qdisc(&self) -> Result<(), String> {
        let Some(qdisc) = self.qdisc else { return Ok(()) };
        check(!self.radio.voice_first, || "qdisc: needs voice_first off, which orders the drop-tail queue".into())?;
        check(qdisc.ring_pkts < self.radio.queue_pkts, || {
            format!("qdisc: ring_pkts {}: must be less than queue_pkts {}", qdisc.ring_pkts, self.radio.queue_pkts)
        })
    }

    fn check_pings(&self) -> Result<(), String> {
        let Some(Pings { interval_s, pairs }) = &self.pings else { return Ok(()) };
        let count = NodeId(self.nodes.len() as u32);
        check((0.001..=1000.0).contains(interval_s), || {
            format!("pings: interval_s {interval_s}: must lie in [0.001, 1000]")
        })?;
        check(pairs.iter().all(|&(src, dst)| src < count && dst < count && src != dst), || {
            format!("pings: each pair must be two different nodes below {count}")
        })
    }

    fn check_nodes(&self) -> Result<(), String> {
        let count = NodeId(self.nodes.len() as u32);
        for node in self.nodes.iter().filter(|node| node.wireless) {
            self.radio.propagation.check_place(&node.name, node.position_m)?;
        }
        for &(node, at_s, x, y) in &self.moves {
            check(node < count && self.nodes[node.0 as usize].wireless, || {
                format!("moves: node {node} must be wireless")
            })?;
            check(at_s >= 0.0 && x.is_finite() && y.is_finite(), || {
                format!("moves: node {node}: the time must be >= 0, and x and y finite")
            })?;
        }
        for &(at_s, from, to, _) in &self.rate_changes {
            check((0.0..=LONGEST_S).contains(&at_s) && from < count && to < count, || {
                format!(
                    "rate_changes: {at_s} s, {from} to {to}: the time must lie in [0, {LONGEST_S}] and the nodes be below {count}"
                )
            })?;
        }
        for wire in &self.wired {
            check(wire.a < count && wire.b < count && wire.a != wire.b, || {
                format!("wired link {}-{}: must join two different nodes below {count}", wire.a, wire.b)
            })?;
            wire.check()?;
        }
        Ok(())
    }
}

impl Wired {
    fn check(&self) -> Result<(), String> {
        let Wired { a, b, rate_bps, delay_s, queue_pkts } = *self;
        check(rate_bps >= 1.0 && rate_bps.is_finite() && queue_pkts > 0, || {
            format!("wired link {a}-{b}: rate_bps {rate_bps} and queue_pkts {queue_pkts} must be at least 1")
        })?;
        check((0.0..=LONGEST_DELAY_S).contains(&delay_s), || {
            format!("wired link {a}-{b}: delay_s {delay_s}: must lie in [0, {LONGEST_DELAY_S}]")
        })
    }
}

/// Seconds to the nearest nanosecond.
pub fn ns_from_s(seconds: f64) -> u64 {
    libm::round(seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"version": 1, "seed": 1, "duration_s": 10.0, "warmup_s": 0.0, "series_interval_s": 1.0,
        "tap": false, "radio": {"preset": "ns2", "basic_rate_bps": 1000000, "data_rate_bps": 2000000,
        "rts_threshold_bytes": 0, "short_retry_limit": 7, "long_retry_limit": 4, "queue_pkts": 50,
        "mac_ack_rate": "basic", "propagation": {"kind": "two-ray", "capture_db": 10.0}}, "headers": "real",
        "nodes": [{"name": "a", "wireless": true, "position_m": [0.0, 0.0]}, {"name": "h", "wireless": false}],
        "wired": [{"a": 0, "b": 1, "rate_bps": 10000000, "delay_s": 0.04, "queue_pkts": 50}], "routing": "static",
        "rate_changes": [[2.0, 0, 1, 1000000]], "flows": [{"id": 0, "src": 0, "dst": 1, "start_s": 0.5, "stop_s": 9.0,
        "kind": "cbr", "payload_bytes": 1000, "rate_bps": 100000, "burst_pkts": 1}]}"#;

    #[test]
    fn a_time_that_does_not_fit_and_a_rate_that_is_none_are_refused() {
        assert!(Config::from_json(TEXT).is_ok());
        for (old, new, reported) in [
            ("\"delay_s\": 0.04", "\"delay_s\": 2e10", "wired link 0-1: delay_s 20000000000: must lie in [0, 3600]"),
            ("\"delay_s\": 0.04", "\"delay_s\": -1.0", "must lie in [0, 3600]"),
            (
                "\"rate_bps\": 10000000",
                "\"rate_bps\": 0.1",
                "wired link 0-1: rate_bps 0.1 and queue_pkts 50 must be at least 1",
            ),
            ("[[2.0,", "[[2e10,", "the time must lie in [0, 1000000000]"),
            ("\"start_s\": 0.5, \"stop_s\": 9.0", "\"start_s\": 2e10", "flow 0: start_s must lie in [0, 1000000000]"),
            ("\"stop_s\": 9.0", "\"stop_s\": 2e10", "flow 0: start_s must lie in [0, 1000000000]"),
            ("\"rate_bps\": 100000,", "\"rate_bps\": 1e-9,", "flow 0: rate_bps must be >= 1"),
            ("\"series_interval_s\": 1.0", "\"series_interval_s\": 2e10", "must lie in (0, 1000000]"),
        ] {
            assert!(TEXT.contains(old), "{old}");
            assert!(Config::from_json(&TEXT.replace(old, new)).expect_err(new).contains(reported), "{new}");
        }
    }
}
