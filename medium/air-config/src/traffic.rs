//! Flows, and what they send.

use serde::Deserialize;

use crate::node_id::NodeId;
use crate::radio::check;

/// IP, UDP and RTP.
const VOICE_HEADER_BYTES: u32 = 40;
/// Calls of a run, at most: their ports end below those of the other flows.
const CALLS: u32 = 16_000;

/// Times of a run's plan lie below this: as nanoseconds they fit many times over.
pub(crate) const LONGEST_S: f64 = 1e9;

/// A flow: its two ends, its times and its traffic.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Flow {
    pub id: u32,
    pub src: NodeId,
    pub dst: NodeId,
    pub start_s: f64,
    #[serde(default)]
    pub stop_s: Option<f64>,
    #[serde(default)]
    pub category: Category,
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// EDCA's access categories, least urgent first.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// AC_BK.
    Background,
    /// AC_BE.
    #[default]
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl Category {
    /// All categories, the least urgent first.
    pub const ALL: [Category; 4] = [Category::Background, Category::BestEffort, Category::Video, Category::Voice];
}

/// The traffic of a flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Traffic {
    Tcp(Tcp),
    UdpSaturated { payload_bytes: u32 },
    Cbr(Cbr),
    Voice(Voice),
}

fn yes() -> bool {
    true
}

/// A TCP connection, one-way data.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Tcp {
    pub segment_bytes: u32,
    pub window_pkts: u32,
    pub cc: String,
    pub initial_window: u32,
    pub min_rto_s: f64,
    #[serde(default = "yes")]
    pub rto_backoff: bool,
    pub ack_every: u32,
    #[serde(default)]
    pub size_bytes: Option<u64>,
    #[serde(default)]
    pub ecn: bool,
    #[serde(default)]
    pub sack: bool,
    #[serde(default)]
    pub ack_schedule: Vec<(u64, u32)>,
    #[serde(default)]
    pub few: Option<FewSettings>,
    #[serde(default)]
    pub defaults: TcpDefaults,
}

/// The variant of TCP.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TcpDefaults {
    #[default]
    #[serde(rename = "rfc")]
    Rfc,
    #[serde(rename = "ns2-2001")]
    Ns2Of2001,
}

/// Parameters of FeW.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FewSettings {
    /// Growth in segments per window that was acknowledged, 0 < alpha <= 1.
    pub alpha: f64,
    /// Least window in use while W is at least one segment; in segments, 1 or more.
    pub min_window_pkts: f64,
}

impl Default for FewSettings {
    /// Nahm, Helmy, Kuo 2005, Sec. 4.2, and Lee's minimum.
    fn default() -> Self {
        FewSettings { alpha: 0.01, min_window_pkts: 1.0 }
    }
}

/// Bursts of datagrams at a constant mean rate.
#[derive(Clone, Copy, Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Cbr {
    pub payload_bytes: u32,
    pub rate_bps: f64,
    pub burst_pkts: u32,
}

/// One direction of a call.
#[derive(Clone, Copy, Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Voice {
    pub call: u32,
    pub payload_bytes: u32,
    pub header_bytes: u32,
    pub interval_s: f64,
    pub playout_s: f64,
}

impl Flow {
    /// Checks the flow against the number of nodes.
    pub(crate) fn check(&self, nodes: NodeId) -> Result<(), String> {
        let name = format!("flow {}", self.id);
        check(self.src < nodes && self.dst < nodes && self.src != self.dst, || {
            format!("{name}: src {} and dst {} must be two different nodes below {nodes}", self.src, self.dst)
        })?;
        let stops = |stop_s| stop_s > self.start_s && stop_s <= LONGEST_S;
        check((0.0..=LONGEST_S).contains(&self.start_s) && self.stop_s.is_none_or(stops), || {
            format!("{name}: start_s must lie in [0, {LONGEST_S}], and stop_s after it and not above {LONGEST_S}")
        })?;
        match &self.traffic {
            Traffic::Tcp(tcp) => tcp.check(&name),
            Traffic::UdpSaturated { payload_bytes } => check_payload(&name, *payload_bytes),
            Traffic::Cbr(cbr) => cbr.check(&name),
            Traffic::Voice(voice) => voice.check(&name),
        }
    }
}

fn check_payload(name: &str, payload_bytes: u32) -> Result<(), String> {
    check((1..=9000).contains(&payload_bytes), || format!("{name}: payload_bytes must lie in 1..=9000"))
}

impl Tcp {
    fn check(&self, name: &str) -> Result<(), String> {
        if let Some(few) = self.few {
            check(few.alpha > 0.0 && few.alpha <= 1.0, || format!("{name}: few: alpha must lie in (0, 1]"))?;
            check(few.min_window_pkts >= 1.0, || format!("{name}: few: min_window_pkts must be >= 1"))?;
            check(self.cc == "few", || format!("{name}: few with cc {:?}: only valid with cc \"few\"", self.cc))?;
        }
        check(self.ack_schedule.iter().all(|&(_, every)| every >= 1), || {
            format!("{name}: ack_schedule: each interval must be >= 1")
        })?;
        check(self.size_bytes.is_none_or(|size| (1..=1 << 30).contains(&size)), || {
            format!("{name}: size_bytes must lie in 1..=1073741824")
        })?;
        check((1..=9000).contains(&self.segment_bytes), || format!("{name}: segment_bytes must lie in 1..=9000"))?;
        check((1..=65_536).contains(&self.window_pkts), || {
            format!("{name}: window_pkts {}: must lie in 1..=65536", self.window_pkts)
        })?;
        check(self.initial_window >= 1, || format!("{name}: initial_window 0: must be >= 1"))?;
        check(self.min_rto_s > 0.0 && self.min_rto_s <= 60.0, || format!("{name}: min_rto_s must lie in (0, 60]"))?;
        check((1..=2).contains(&self.ack_every), || format!("{name}: ack_every {}: must be 1 or 2", self.ack_every))
    }
}

impl Cbr {
    fn check(&self, name: &str) -> Result<(), String> {
        check_payload(name, self.payload_bytes)?;
        check(self.rate_bps >= 1.0 && self.rate_bps.is_finite(), || format!("{name}: rate_bps must be >= 1"))?;
        check(self.burst_pkts >= 1, || format!("{name}: burst_pkts must be >= 1"))
    }
}

impl Voice {
    fn check(&self, name: &str) -> Result<(), String> {
        let Voice { call, payload_bytes, header_bytes, interval_s, playout_s } = *self;
        check(call < CALLS, || format!("{name}: call {call}: must lie below {CALLS}"))?;
        check_payload(name, payload_bytes)?;
        check((VOICE_HEADER_BYTES..=1000).contains(&header_bytes), || {
            format!("{name}: header_bytes {header_bytes}: must lie in {VOICE_HEADER_BYTES}..=1000")
        })?;
        check((0.001..=1.0).contains(&interval_s), || {
            format!("{name}: interval_s {interval_s}: must lie in [0.001, 1]")
        })?;
        check(playout_s >= interval_s && playout_s <= 10.0, || {
            format!("{name}: playout_s {playout_s}: must lie in [interval_s, 10]; interval_s is {interval_s}")
        })
    }
}
