//! Congestion control: how large the window is. Counted in segments, fractions included.

/// What a congestion control is asked.
pub trait CongestionControl {
    /// The congestion window in segments, at least 1.
    fn window(&self) -> f64;

    /// The slow-start threshold in segments.
    fn threshold(&self) -> f64;

    /// New data was acknowledged outside loss recovery.
    fn acknowledged(&mut self);

    /// Loss found by duplicate ACKs while `in_use` segments of window were in use.
    fn lost(&mut self, in_use: f64);

    /// Loss recovery is over.
    fn recovered(&mut self);

    /// The retransmission timer expired while `in_use` segments of window were in use.
    fn timed_out(&mut self, in_use: f64);
}

/// The names known to `by_name`.
pub const NAMES: [&str; 1] = ["newreno"];

/// The congestion control of this name.
///
/// # Errors
/// One line with the names there are.
pub fn by_name(name: &str, initial_window: u32, window_limit: u32) -> Result<Box<dyn CongestionControl>, String> {
    match name {
        "newreno" => Ok(Box::new(NewReno::new(initial_window, window_limit))),
        _ => Err(format!("congestion control {name:?}: there are {}", NAMES.join(", "))),
    }
}

/// Slow start and congestion avoidance of RFC 5681; the recovery of RFC 6582 is the sender's.
///
/// Deviates: the threshold after a loss is half the window in use, min(cwnd, receiver's window), as in ns-2, where
/// RFC 5681 Eq. (4) has half the data in flight; with a go-back-N sender the latter is stale after a timeout.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: f64,
    threshold: f64,
}

impl NewReno {
    /// The threshold starts at the receiver's window: arbitrarily high, as far as it can be reached.
    pub fn new(initial_window: u32, window_limit: u32) -> Self {
        NewReno { window: f64::from(initial_window), threshold: f64::from(window_limit) }
    }
}

impl CongestionControl for NewReno {
    fn window(&self) -> f64 {
        self.window
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn acknowledged(&mut self) {
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
    }

    fn lost(&mut self, in_use: f64) {
        self.threshold = (in_use / 2.0).max(2.0);
        self.window = self.threshold;
    }

    fn recovered(&mut self) {
        self.window = self.threshold;
    }

    fn timed_out(&mut self, in_use: f64) {
        self.threshold = (in_use / 2.0).max(2.0);
        self.window = 1.0;
    }
}
