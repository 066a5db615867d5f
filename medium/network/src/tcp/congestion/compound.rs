//! Compound TCP: a loss window as Reno's plus a delay window that grows while the path is empty.
//!
//! Source: K. Tan et al., IEEE INFOCOM 2006; alpha 1/8, beta 1/2, k 3/4, gamma 30 segments, zeta 1.

use pacelab_engine::Ns;

use super::aimd::Aimd;
use super::control::{Ack, CongestionControl};

const ALPHA: f64 = 0.125;
const BETA: f64 = 0.5;
const EXPONENT: f64 = 0.75;
const GAMMA_PKTS: f64 = 30.0;
const ZETA: f64 = 1.0;

/// See the module.
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
            self.delay_window += (ALPHA * libm::pow(window, EXPONENT) - 1.0).max(0.0);
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
        self.delay_window = (in_use * (1.0 - BETA) - self.loss.window).max(0.0);
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
