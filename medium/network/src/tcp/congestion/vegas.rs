//! TCP Vegas: keeps between alpha and beta segments queued in the network.
//!
//! Source: L. Brakmo and L. Peterson, IEEE JSAC 13(8), 1995; alpha 1, beta 3, gamma 1 as ns-2 has them.
//! Deviates: no fine-grained retransmission on the first duplicate ACK; losses are NewReno's.

use pacelab_engine::Ns;

use super::aimd::Aimd;
use super::control::{Ack, CongestionControl};

const ALPHA: f64 = 1.0;
const BETA: f64 = 3.0;
const GAMMA: f64 = 1.0;

/// See the module.
#[derive(Clone, Debug)]
pub struct Vegas {
    aimd: Aimd,
    base_rtt_ns: Option<Ns>,
    /// Slow start grows every other round trip only.
    growing: bool,
}

impl Vegas {
    /// `limit` is the receiver's window in segments.
    pub fn new(window: f64, limit: f64) -> Self {
        Vegas { aimd: Aimd::new(window, limit), base_rtt_ns: None, growing: true }
    }

    /// Once a round trip: compare what was expected with what came.
    fn adjust(&mut self, rtt_ns: Ns) {
        let base_ns = self.base_rtt_ns.map_or(rtt_ns, |base_ns| base_ns.min(rtt_ns));
        self.base_rtt_ns = Some(base_ns);
        let queued = self.aimd.window * (rtt_ns - base_ns) as f64 / rtt_ns as f64;
        if self.aimd.in_slow_start() {
            self.growing = !self.growing;
            if queued > GAMMA {
                self.aimd.window = (self.aimd.window - queued).max(2.0);
                self.aimd.threshold = self.aimd.window;
            }
        } else if queued < ALPHA {
            self.aimd.window += 1.0;
        } else if queued > BETA {
            self.aimd.window = (self.aimd.window - 1.0).max(2.0);
        }
    }
}

impl CongestionControl for Vegas {
    fn window(&self) -> f64 {
        self.aimd.window
    }

    fn threshold(&self) -> f64 {
        self.aimd.threshold
    }

    fn acknowledged(&mut self, ack: &Ack) {
        if self.aimd.in_slow_start() && self.growing {
            self.aimd.window += 1.0;
        }
        if let Some(rtt_ns) = ack.rtt_ns {
            self.adjust(rtt_ns);
        }
    }

    fn lost(&mut self, _now: Ns, in_use: f64) {
        self.aimd.halve(in_use);
    }

    fn recovered(&mut self) {
        self.aimd.window = self.aimd.threshold;
    }

    fn timed_out(&mut self, _now: Ns, in_use: f64) {
        self.aimd.collapse(in_use);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    #[test]
    fn the_window_moves_towards_one_to_three_queued_segments() {
        let mut vegas = Vegas::new(10.0, 10.0); // at its threshold: congestion avoidance
        let mut round = |rtt_ms: Ns| {
            vegas.acknowledged(&Ack { now: 0, acked_pkts: 1.0, rtt_ns: Some(rtt_ms * MS) });
            vegas.window()
        };
        assert_eq!(round(100), 11.0); // nothing queued: up
        assert_eq!(round(125), 11.0); // 11 * 25 / 125 = 2.2: stay
        assert_eq!(round(200), 10.0); // 11 * 100 / 200 = 5.5: down
        assert_eq!(round(105), 11.0); // 10 * 5 / 105 = 0.48: up
    }
}
