//! The interface of congestion controls; slow start and congestion avoidance of RFC 5681; and Tahoe, Reno and NewReno
//! on top of them.
//!
//! Deviates: the threshold after a loss is half the window in use, min(cwnd, receiver's window), as in ns-2. RFC 5681
//! Eq. (4) uses half the data in flight, which is out of date after a timeout of a go-back-N sender.

use pacelab_engine::Ns;

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

/// The sender's reaction to a loss that duplicate ACKs indicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Back to the first unacknowledged octet, as after a timeout.
    GoBackN,
    /// Fast recovery that ends with the first ACK of new data (RFC 2581).
    Reno,
    /// Fast recovery that repairs every hole of the window (RFC 6582).
    NewReno,
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
