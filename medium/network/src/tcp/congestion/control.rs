//! The interface of congestion controls; slow start and congestion avoidance of RFC 5681; and Tahoe, Reno and NewReno
//! on top of them.
//!
//! Deviates: the threshold after a loss is half the window in use, min(cwnd, receiver's window), as in ns-2. RFC 5681
//! Eq. (4) uses half the data in flight, which is out of date after a timeout of a go-back-N sender.

use pacelab_engine::{NEVER, Ns, Stream};

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Ns,
    /// Segments it acknowledged.
    pub acked_pkts: f64,
    /// The round trip that it measured, if any (about one per round trip).
    pub rtt_ns: Option<Ns>,
}

/// The delivery rate of the path as one ACK shows it, and the state of the sender after this ACK.
///
/// Source: draft-cheng-iccrg-delivery-rate-estimation-00; `tcp_rate.c` of Linux. Counts are in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// When the ACK arrived.
    pub now: Ns,
    /// Segments delivered since the connection opened, by cumulative and selective ACKs, each once.
    pub delivered_pkts: u64,
    /// When this count last grew.
    pub delivered_at: Ns,
    /// Segments that were marked as lost since the connection opened. A segment counts each time it is lost.
    pub lost_pkts: u64,
    /// Segments that this ACK reports for the first time.
    pub newly_delivered_pkts: u32,
    /// Segments that were marked as lost since the last sample.
    pub newly_lost_pkts: u32,
    /// `delivered_pkts` when the newest reported segment was sent.
    pub prior_delivered_pkts: u64,
    /// The interval of the sample: the longer one of the time of sending and the time of acknowledging. None if the
    /// sample has no rate.
    pub interval_ns: Option<Ns>,
    /// Round trip of the newest reported segment. None if that segment was sent more than once.
    pub rtt_ns: Option<Ns>,
    /// The smoothed round trip of the retransmission timer.
    pub smoothed_rtt_ns: Option<Ns>,
    /// Segments in flight before and after the ACK: those sent, without the delivered and the lost ones.
    pub prior_in_flight_pkts: u32,
    /// See `prior_in_flight_pkts`.
    pub in_flight_pkts: u32,
    /// The newest reported segment was sent when the sender had nothing more to send.
    pub is_app_limited: bool,
    /// Pacing lets the next segment out at this time.
    pub next_send_at: Ns,
    /// How the sender sees the path.
    pub phase: Phase,
}

impl RateSample {
    /// Segments delivered during the interval.
    pub fn interval_pkts(&self) -> u64 {
        self.delivered_pkts - self.prior_delivered_pkts
    }

    /// The delivery rate in segments per second.
    pub fn rate_pps(&self) -> Option<f64> {
        let interval_ns = self.interval_ns.filter(|&interval_ns| interval_ns > 0)?;
        Some(self.interval_pkts() as f64 * 1e9 / interval_ns as f64)
    }
}

/// How the sender sees the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No loss is known.
    #[default]
    Open,
    /// Lost segments are repeated, after duplicate or selective ACKs.
    Recovery,
    /// Lost segments are repeated after a timeout.
    Loss,
}

/// Calls beyond the basic ones that a congestion control asks for. The sender does no work for the others.
pub mod mask {
    /// `delivered`, for each ACK.
    pub const DELIVERED: u32 = 1;
    /// `sent`, for each data segment.
    pub const SENT: u32 = 2;
    /// `deadline` and `handle_timeout`.
    pub const TIMER: u32 = 4;
}

/// The sender's reaction to a loss that duplicate ACKs indicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Back to the first unacknowledged octet, as after a timeout.
    GoBackN,
    /// Fast recovery that ends with the first ACK of new data (RFC 2581).
    Reno,
    /// Fast recovery that repairs every hole of the window (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 2018); a segment is lost when a segment sent later has arrived (RFC 8985).
    Sack,
}

/// A congestion control.
pub trait CongestionControl {
    /// The congestion window in segments. Below 1 the sender spaces single segments (see `Few`).
    fn window(&self) -> f64;

    /// The slow-start threshold in segments.
    fn threshold(&self) -> f64;

    /// New data was acknowledged. This call comes first, in and outside loss recovery.
    fn observe(&mut self, _ack: &Ack) {}

    /// A duplicate ACK arrived: a segment has left the network.
    fn duplicate(&mut self, _now: Ns) {}

    /// New data was acknowledged outside loss recovery.
    fn acknowledged(&mut self, ack: &Ack);

    /// Loss found by duplicate ACKs while `in_use` segments of window were in use.
    fn lost(&mut self, now: Ns, in_use: f64);

    /// Loss recovery is over.
    fn recovered(&mut self) {}

    /// The retransmission timer expired while `in_use` segments of window were in use.
    fn timed_out(&mut self, now: Ns, in_use: f64);

    /// How duplicate ACKs are answered.
    fn recovery(&self) -> Recovery {
        Recovery::NewReno
    }

    /// Bits of `mask`: the calls below that the control wants.
    fn event_mask(&self) -> u32 {
        0
    }

    /// The control's own stream of random numbers. This call comes before all others.
    fn take_random(&mut self, _stream: Stream) {}

    /// The connection is open; `rtt_ns` is the round trip of the SYN, if it was sent once.
    fn connected(&mut self, _now: Ns, _rtt_ns: Option<Ns>) {}

    /// An ACK arrived, in or outside loss recovery. This call comes after `lost` and before `acknowledged`.
    fn delivered(&mut self, _sample: &RateSample) {}

    /// A data segment is sent. `in_flight_pkts` does not count it; `is_app_limited`: the sender had run out of data.
    fn sent(&mut self, _now: Ns, _in_flight_pkts: u32, _is_app_limited: bool) {}

    /// When to call `handle_timeout`, or `NEVER`.
    fn deadline(&self) -> Ns {
        NEVER
    }

    /// The control's own timer expired.
    fn handle_timeout(&mut self, _now: Ns) {}

    /// Segments per second at which data leaves the sender. None: as fast as the window allows.
    fn pacing_pps(&self) -> Option<f64> {
        None
    }

    /// The control itself sends less than the path carries, so that samples from now on say little about the path.
    fn limits_itself(&self) -> bool {
        false
    }
}

/// Window and threshold. The threshold starts at the receiver's window, the highest value that can be reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aimd {
    pub window: f64,
    pub threshold: f64,
}

impl Aimd {
    pub fn new(window: f64, limit: f64) -> Self {
        Aimd { window, threshold: limit }
    }

    pub fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Adds one segment per ACK in slow start, and one per window afterwards.
    pub fn grow(&mut self) {
        self.window += if self.in_slow_start() { 1.0 } else { 1.0 / self.window };
    }

    pub fn halve(&mut self, in_use: f64) {
        self.threshold = (in_use / 2.0).max(2.0);
        self.window = self.threshold;
    }

    pub fn collapse(&mut self, in_use: f64) {
        self.halve(in_use);
        self.window = 1.0;
    }
}

macro_rules! classic {
    ($(#[$doc:meta])* $name:ident, $recovery:expr, $on_loss:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(Aimd);

        impl $name {
            /// `limit` is the receiver's window in segments.
            pub fn new(window: f64, limit: f64) -> Self {
                $name(Aimd::new(window, limit))
            }
        }

        impl CongestionControl for $name {
            fn window(&self) -> f64 {
                self.0.window
            }

            fn threshold(&self) -> f64 {
                self.0.threshold
            }

            fn acknowledged(&mut self, _ack: &Ack) {
                self.0.grow();
            }

            fn lost(&mut self, _now: Ns, in_use: f64) {
                self.0.$on_loss(in_use);
            }

            fn recovered(&mut self) {
                self.0.window = self.0.threshold;
            }

            fn timed_out(&mut self, _now: Ns, in_use: f64) {
                self.0.collapse(in_use);
            }

            fn recovery(&self) -> Recovery {
                $recovery
            }
        }
    };
}

classic!(
    /// Fast retransmit without fast recovery: after every loss the window starts again from one segment (Jacobson
    /// 1988).
    Tahoe,
    Recovery::GoBackN,
    collapse
);
classic!(
    /// Fast recovery until the first new ACK (RFC 2581).
    Reno,
    Recovery::Reno,
    halve
);
classic!(
    /// Fast recovery that repairs the whole window (RFC 6582). The papers' baseline.
    NewReno,
    Recovery::NewReno,
    halve
);
