//! A flow: its two endpoints, and its measurements with the time series.

use pacelab_air_config::{Cbr, Flow as FlowConfig, Tcp, Traffic, Voice};
use pacelab_engine::Ns;

use crate::ids::FlowId;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::voice::{Codec, Playout};

/// Client ports of flows begin here.
pub(crate) const FIRST_CLIENT_PORT: u32 = 49_152;
const SERVER_PORT: u32 = 5_001;

/// The endpoints of a flow.
pub enum Endpoints {
    /// A TCP connection, one-way data.
    Tcp {
        /// At the source.
        sender: Box<Sender>,
        /// At the destination.
        receiver: Box<Receiver>,
    },
    /// Keeps the source's interface queue filled.
    UdpSaturated,
    /// Bursts of datagrams at a constant mean rate.
    Cbr {
        /// Time from burst to burst.
        interval_ns: Ns,
        /// Datagrams in a burst.
        burst_pkts: u32,
    },
    /// One direction of a call.
    Voice {
        /// When the codec hands packets over.
        codec: Codec,
        /// At the destination.
        playout: Box<Playout>,
    },
}

/// One flow of the configuration.
pub struct Flow {
    /// As configured.
    pub config: FlowConfig,
    /// Sender and receiver.
    pub endpoints: Endpoints,
    /// Payload of a full packet.
    pub payload_bytes: u32,
    /// Datagrams sent so far.
    pub datagrams: u64,
    /// Segments of the sender that the hook at its own node holds.
    pub held_pkts: u32,
    /// The sender pauses while the hook holds so many.
    pub held_limit_pkts: u32,
    /// The flow was started and has not been stopped.
    pub active: bool,
    /// Measurements.
    pub meter: FlowMeter,
    /// Earliest timer events of sender and receiver in the event queue.
    pub timers_at: [Ns; 2],
}

impl Flow {
    /// Payload octets of a full packet of this traffic.
    pub fn payload_of(traffic: &Traffic) -> u32 {
        match traffic {
            Traffic::Tcp(Tcp { segment_bytes, .. }) => *segment_bytes,
            Traffic::UdpSaturated { payload_bytes }
            | Traffic::Cbr(Cbr { payload_bytes, .. })
            | Traffic::Voice(Voice { payload_bytes, .. }) => *payload_bytes,
        }
    }

    /// Its kind, as in the configuration.
    pub fn kind(&self) -> &'static str {
        match self.config.traffic {
            Traffic::Tcp(_) => "tcp",
            Traffic::UdpSaturated { .. } => "udp-saturated",
            Traffic::Cbr(_) => "cbr",
            Traffic::Voice(_) => "voice",
        }
    }
}

/// Client and server port of a flow. Each flow has its own client port.
pub fn ports(flow: FlowId) -> (u32, u32) {
    (FIRST_CLIENT_PORT + flow.0, SERVER_PORT)
}

/// Sums of one flow since the end of the warm-up.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct FlowMeter {
    /// Payload handed to the application, in order, once.
    pub goodput_bytes: u64,
    /// Payload that arrived, repeats included.
    pub arrived_bytes: u64,
    /// Payload delivered since the start of the run (for batches and early ends).
    pub total_bytes: u64,
    /// Round trips in the order they were measured.
    pub rtts_s: Vec<f64>,
    /// Integral of the window over time, packets times seconds.
    pub window_pkt_s: f64,
    /// Time at each whole window, s.
    pub window_share_s: Vec<f64>,
    /// When the last octet of a sized flow was delivered.
    pub finished_s: Option<f64>,
    pub window_since: Ns,
    pub sent_pkts_before: u64,
    pub retransmitted_before: u64,
    pub timeouts_before: u64,
    pub batch_end_s: Vec<f64>,
    pub series_goodput_bps: Vec<f64>,
    pub series_cwnd_pkts: Vec<f64>,
    pub series_rtt_s: Vec<f64>,
    interval_bytes: u64,
}

impl FlowMeter {
    /// Payload was handed to the application.
    pub fn delivered(&mut self, bytes: u64) {
        self.goodput_bytes += bytes;
        self.total_bytes += bytes;
        self.interval_bytes += bytes;
    }

    /// A round trip was measured.
    pub fn rtt(&mut self, rtt_ns: Ns) {
        self.rtts_s.push(rtt_ns as f64 / 1e9);
    }

    /// The window has been `pkts` since the last call.
    pub fn window(&mut self, now: Ns, pkts: f64) {
        let elapsed_s = (now - self.window_since) as f64 / 1e9;
        self.window_pkt_s += pkts * elapsed_s;
        let whole = pkts as usize;
        if self.window_share_s.len() <= whole {
            self.window_share_s.resize(whole + 1, 0.0);
        }
        self.window_share_s[whole] += elapsed_s;
        self.window_since = now;
    }

    /// Mean and sample standard deviation of the round trips in s, if there were any.
    pub fn rtt_mean_sd_s(&self) -> (Option<f64>, Option<f64>) {
        if self.rtts_s.is_empty() {
            return (None, None);
        }
        let count = self.rtts_s.len() as f64;
        let mean = self.rtts_s.iter().sum::<f64>() / count;
        let squares: f64 = self.rtts_s.iter().map(|rtt_s| (rtt_s - mean) * (rtt_s - mean)).sum();
        (Some(mean), Some((squares / (count - 1.0).max(1.0)).sqrt()))
    }

    /// These quantiles of the round trips (nearest rank), if there were any.
    pub fn rtt_quantiles_s(&self, shares: &[f64]) -> Option<Vec<f64>> {
        let mut sorted = self.rtts_s.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        Some(shares.iter().map(|share| sorted[(share * last as f64).round() as usize]).collect())
    }

    /// An interval of the series ends.
    pub fn sample(&mut self, interval_s: f64, cwnd_pkts: f64, rtt_s: f64) {
        self.series_goodput_bps.push(self.interval_bytes as f64 * 8.0 / interval_s);
        self.series_cwnd_pkts.push(cwnd_pkts);
        self.series_rtt_s.push(rtt_s);
        self.interval_bytes = 0;
    }

    /// Ends the warm-up: sets the sums to zero. Series and totals continue.
    pub fn reset(&mut self, now: Ns, sent_pkts: u64, retransmitted: u64, timeouts: u64) {
        *self = FlowMeter {
            total_bytes: self.total_bytes,
            interval_bytes: self.interval_bytes,
            finished_s: self.finished_s,
            batch_end_s: std::mem::take(&mut self.batch_end_s),
            series_goodput_bps: std::mem::take(&mut self.series_goodput_bps),
            series_cwnd_pkts: std::mem::take(&mut self.series_cwnd_pkts),
            series_rtt_s: std::mem::take(&mut self.series_rtt_s),
            window_since: now,
            sent_pkts_before: sent_pkts,
            retransmitted_before: retransmitted,
            timeouts_before: timeouts,
            ..FlowMeter::default()
        };
    }
}
