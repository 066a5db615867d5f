//! What a congestion control is told, and what it answers.

use pacelab_engine::Ns;

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it came.
    pub now: Ns,
    /// Segments it acknowledged.
    pub acked_pkts: f64,
    /// The round trip it measured, if it did (about one a round trip).
    pub rtt_ns: Option<Ns>,
}

/// What the sender does once duplicate ACKs tell of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Back to the first unacknowledged octet, as after a timeout.
    GoBackN,
    /// Fast recovery that ends with the first ACK of new data (RFC 2581).
    Reno,
    /// Fast recovery that repairs every hole of the window (RFC 6582).
    NewReno,
}

/// What a congestion control is asked and told.
pub trait CongestionControl {
    /// The congestion window in segments. Below 1 the sender spaces single segments (see `Few`).
    fn window(&self) -> f64;

    /// The slow-start threshold in segments.
    fn threshold(&self) -> f64;

    /// New data was acknowledged; comes first, in and outside loss recovery.
    fn observe(&mut self, _ack: &Ack) {}

    /// A duplicate ACK came: a segment has left the network.
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
