//! FeW, fractional window increment: a sender that asks for little of a multihop path.
//!
//! Each ACK adds alpha/W, in slow start and after; the window may fall below one segment, and then the sender waits
//! 1/W round trips between segments.
//! Source: K. Nahm, A. Helmy, J. Kuo, ACM MobiHoc 2005, Eq. (8): W + alpha/W, 0 < alpha <= 1 (0.01 there).

use pacelab_engine::Ns;

use super::{Ack, CongestionControl};

/// Nahm et al., Sec. 4.2.
const ALPHA: f64 = 0.01;
/// The slowest that is left to a sender: a segment every hundred round trips.
const LEAST_WINDOW: f64 = 0.01;

/// See the module.
#[derive(Clone, Debug)]
pub struct Few {
    window: f64,
}

impl Few {
    /// Starts as others do; its own growth is all that follows.
    pub fn new(window: f64) -> Self {
        Few { window }
    }
}

impl CongestionControl for Few {
    fn window(&self) -> f64 {
        self.window
    }

    fn threshold(&self) -> f64 {
        0.0
    }

    fn acknowledged(&mut self, _ack: &Ack) {
        self.window += ALPHA / self.window;
    }

    fn lost(&mut self, _now: Ns, in_use: f64) {
        self.window = (in_use / 2.0).max(LEAST_WINDOW);
    }

    fn timed_out(&mut self, _now: Ns, in_use: f64) {
        self.window = (in_use / 2.0).clamp(LEAST_WINDOW, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_acks_add_a_segment_at_a_window_of_one() {
        let mut few = Few::new(1.0);
        let ack = Ack { now: 0, acked_pkts: 1.0, rtt_ns: None };
        (0..150).for_each(|_| few.acknowledged(&ack));
        // W^2 grows by 2 alpha an ACK: sqrt(1 + 150 * 0.02) = 2
        assert!((few.window() - 2.0).abs() < 0.01, "{}", few.window());
        few.timed_out(0, 1.0);
        assert_eq!(few.window(), 0.5);
    }
}
