//! The air configuration, version 1, as `medium/README.md` states it, read and checked.

mod air;
mod check;

use pacelab_engine::{Category, DSSS_RATES_BPS, OFDM_RATES_BPS};
use serde::Deserialize;

use crate::tcp::congestion::FewSettings;

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

/// Seconds to the nearest nanosecond.
pub fn ns_from_s(seconds: f64) -> u64 {
    libm::round(seconds * 1e9) as u64
}
