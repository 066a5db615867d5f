//! Congestion controls that react to delay: TCP Vegas and Compound TCP.

use pacelab_engine::Ns;

use super::control::{Ack, Aimd, CongestionControl};

const VEGAS_ALPHA: f64 = 1.0;
const VEGAS_BETA: f64 = 3.0;
const VEGAS_GAMMA: f64 = 1.0;

/// TCP Vegas: keeps between alpha and beta segments queued in the network.
///
/// Source: L. Brakmo and L. Peterson, IEEE JSAC 13(8), 1995; alpha 1, beta 3, gamma 1 as ns-2 has them.
/// Deviates: no fine-grained retransmission on the first duplicate ACK; losses are NewReno's.
#[derive(Clone, Debug)]
pub struct Vegas {
    aimd: Aimd,
    base_rtt_ns: Option<Ns>,
    /// Slow start grows only every other round trip.
    growing: bool,
}

impl Vegas {
    /// `limit` is the receiver's window in segments.
    pub fn new(window: f64, limit: f64) -> Self {
        Vegas { aimd: Aimd::new(window, limit), base_rtt_ns: None, growing: true }
    }

    /// Once per round trip: compares the expected with the actual rate.
    fn adjust(&mut self, rtt_ns: Ns) {
        let base_ns = self.base_rtt_ns.map_or(rtt_ns, |base_ns| base_ns.min(rtt_ns));
        self.base_rtt_ns = Some(base_ns);
        let queued = self.aimd.window * (rtt_ns - base_ns) as f64 / rtt_ns as f64;
        if self.aimd.in_slow_start() {
            self.growing = !self.growing;
            if queued > VEGAS_GAMMA {
                self.aimd.window = (self.aimd.window - queued).max(2.0);
                self.aimd.threshold = self.aimd.window;
            }
        } else if queued < VEGAS_ALPHA {
            self.aimd.window += 1.0;
        } else if queued > VEGAS_BETA {
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

const COMPOUND_ALPHA: f64 = 0.125;
const COMPOUND_BETA: f64 = 0.5;
const EXPONENT: f64 = 0.75;
const GAMMA_PKTS: f64 = 30.0;
const ZETA: f64 = 1.0;

/// Compound TCP: a loss window as Reno's plus a delay window that grows while the path is empty.
///
/// Source: K. Tan et al., IEEE INFOCOM 2006; alpha 1/8, beta 1/2, k 3/4, gamma 30 segments, zeta 1.
#[derive(Clone, Debug)]
pub struct Compound {
    loss: Aimd,
    delay_window: f64,
    base_rtt_ns: Option<Ns>,
}

impl Compound {
    /// `limit` is the receiver's window in segments.
    pub fn new(window: f64, limit: f64) -> Self {
        Compound { loss: Aimd::new(window, limit), delay_window: 0.0, base_rtt_ns: None }
    }

    fn adjust(&mut self, rtt_ns: Ns) {
        let base_ns = self.base_rtt_ns.map_or(rtt_ns, |base_ns| base_ns.min(rtt_ns));
        self.base_rtt_ns = Some(base_ns);
        if self.loss.in_slow_start() {
            return;
        }
        let window = self.window();
        let queued = window * (rtt_ns - base_ns) as f64 / rtt_ns as f64;
        if queued < GAMMA_PKTS {
            self.delay_window += (COMPOUND_ALPHA * libm::pow(window, EXPONENT) - 1.0).max(0.0);
        } else {
            self.delay_window = (self.delay_window - ZETA * queued).max(0.0);
        }
    }
}

impl CongestionControl for Compound {
    fn window(&self) -> f64 {
        self.loss.window + self.delay_window
    }

    fn threshold(&self) -> f64 {
        self.loss.threshold
    }

    fn acknowledged(&mut self, ack: &Ack) {
        let window = self.window();
        self.loss.window += if self.loss.in_slow_start() { 1.0 } else { 1.0 / window };
        if let Some(rtt_ns) = ack.rtt_ns {
            self.adjust(rtt_ns);
        }
    }

    fn lost(&mut self, _now: Ns, in_use: f64) {
        self.loss.halve(self.loss.window);
        self.delay_window = (in_use * (1.0 - COMPOUND_BETA) - self.loss.window).max(0.0);
    }

    fn recovered(&mut self) {
        self.loss.window = self.loss.threshold;
    }

    fn timed_out(&mut self, _now: Ns, in_use: f64) {
        self.loss.collapse(in_use);
        self.delay_window = 0.0;
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

    #[test]
    fn the_delay_window_grows_on_an_empty_path_and_yields_to_a_queue() {
        let mut compound = Compound::new(100.0, 100.0);
        let mut round = |rtt_ms: Ns| {
            compound.acknowledged(&Ack { now: 0, acked_pkts: 1.0, rtt_ns: Some(rtt_ms * 1_000_000) });
            compound.window()
        };
        // 100.01 + 100.01^0.75 / 8 - 1 = 100.01 + 2.953
        assert!((round(100) - 102.963).abs() < 1e-3);
        // twice the base round trip: half the window is queued, more than 30: the delay window is gone
        let after = round(200);
        assert!((after - 100.0197).abs() < 1e-3, "{after}");
    }
}
