//! FeW, fractional window increment: a sender that asks for little of a multihop path.
//!
//! Each ACK adds alpha/W, in slow start and after; the window may fall below one segment, and then the sender waits
//! 1/W round trips between segments. From one segment on, at least a minimum window is used.
//! Source: K. Nahm, A. Helmy, J. Kuo, ACM MobiHoc 2005, Eq. (8): W + alpha/W, 0 < alpha <= 1 (0.01 there); minimum
//! window: Lee 2012, Sec. 3.5.

use pacelab_air_config::FewSettings;
use pacelab_engine::Ns;

use super::control::{Ack, CongestionControl};

/// The slowest that is left to a sender: a segment every hundred round trips.
const LEAST_WINDOW: f64 = 0.01;

/// See the module.
#[derive(Clone, Debug)]
pub struct Few {
    window: f64,
    settings: FewSettings,
}

impl Few {
    /// Starts as others do; its own growth is all that follows.
    pub fn new(window: f64, settings: FewSettings) -> Self {
        Few { window, settings }
    }
}

impl CongestionControl for Few {
    fn window(&self) -> f64 {
        if self.window < 1.0 { self.window } else { self.window.max(self.settings.min_window_pkts) }
    }

    fn threshold(&self) -> f64 {
        0.0
    }

    fn acknowledged(&mut self, _ack: &Ack) {
        self.window += self.settings.alpha / self.window;
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

    const ACK: Ack = Ack { now: 0, acked_pkts: 1.0, rtt_ns: None };

    #[test]
    fn a_hundred_acks_add_a_segment_at_a_window_of_one() {
        let mut few = Few::new(1.0, FewSettings::default());
        (0..150).for_each(|_| few.acknowledged(&ACK));
        // W^2 grows by 2 alpha an ACK: sqrt(1 + 150 * 0.02) = 2
        assert!((few.window() - 2.0).abs() < 0.01, "{}", few.window());
        few.timed_out(0, 1.0);
        assert_eq!(few.window(), 0.5);
    }

    #[test]
    fn alpha_says_how_fast() {
        let mut few = Few::new(2.0, FewSettings { alpha: 0.5, ..FewSettings::default() });
        few.acknowledged(&ACK);
        assert_eq!(few.window(), 2.25); // 2 + 0.5 / 2
    }

    #[test]
    fn the_minimum_holds_from_one_segment_on_and_not_below() {
        let mut few = Few::new(1.0, FewSettings { min_window_pkts: 3.0, ..FewSettings::default() });
        assert_eq!(few.window(), 3.0);
        few.timed_out(0, 3.0);
        assert_eq!(few.window(), 3.0); // W = 1, half of the window in use at most
        few.timed_out(0, 1.0);
        assert_eq!(few.window(), 0.5);
    }
}
