//! CUBIC: the window is a cubic function of the time since the last loss.
//!
//! Source: RFC 9438, Sec. 4.2 Eq. (1), 4.3 (Reno-friendly region), 4.6, 4.7 (fast convergence).

use pacelab_engine::Ns;

use super::control::{Ack, Aimd, CongestionControl};

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// See the module.
#[derive(Clone, Debug)]
pub struct Cubic {
    aimd: Aimd,
    window_max: f64,
    epoch: Option<Epoch>,
    srtt_s: f64,
}

/// Since the last loss.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Ns,
    /// Seconds until the curve is back at the old maximum.
    k_s: f64,
    origin: f64,
    /// What Reno would have (RFC 9438 Eq. (4)).
    reno: f64,
}

impl Cubic {
    /// `limit` is the receiver's window in segments.
    pub fn new(window: f64, limit: f64) -> Self {
        Cubic { aimd: Aimd::new(window, limit), window_max: 0.0, epoch: None, srtt_s: 0.1 }
    }

    fn begin(&self, now: Ns) -> Epoch {
        let window = self.aimd.window;
        let below = (self.window_max - window).max(0.0);
        Epoch { start: now, k_s: libm::cbrt(below / C), origin: self.window_max.max(window), reno: window }
    }

    fn reduce(&mut self) {
        let window = self.aimd.window;
        let shrinking = window < self.window_max;
        self.window_max = if shrinking { window * (1.0 + BETA) / 2.0 } else { window };
        self.aimd.threshold = (window * BETA).max(2.0);
        self.aimd.window = self.aimd.threshold;
        self.epoch = None;
    }
}

impl CongestionControl for Cubic {
    fn window(&self) -> f64 {
        self.aimd.window
    }

    fn threshold(&self) -> f64 {
        self.aimd.threshold
    }

    fn acknowledged(&mut self, ack: &Ack) {
        if let Some(rtt_ns) = ack.rtt_ns {
            self.srtt_s += (rtt_ns as f64 / 1e9 - self.srtt_s) / 8.0;
        }
        if self.aimd.in_slow_start() {
            self.aimd.window += 1.0;
            return;
        }
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(ack.now));
        let alpha = 3.0 * (1.0 - BETA) / (1.0 + BETA);
        epoch.reno += alpha * ack.acked_pkts / self.aimd.window;
        let since_s = (ack.now - epoch.start) as f64 / 1e9 + self.srtt_s - epoch.k_s;
        let target = (epoch.origin + C * since_s * since_s * since_s).min(1.5 * self.aimd.window);
        if target > self.aimd.window {
            self.aimd.window += (target - self.aimd.window) / self.aimd.window;
        }
        self.aimd.window = self.aimd.window.max(epoch.reno);
        self.epoch = Some(epoch);
    }

    fn lost(&mut self, _now: Ns, _in_use: f64) {
        self.reduce();
    }

    fn recovered(&mut self) {
        self.aimd.window = self.aimd.threshold;
    }

    fn timed_out(&mut self, _now: Ns, _in_use: f64) {
        self.reduce();
        self.aimd.window = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_leaves_seven_tenths_and_the_curve_returns_after_k() {
        let mut cubic = Cubic::new(100.0, 100.0);
        cubic.lost(0, 100.0);
        assert!((cubic.window() - 70.0).abs() < 1e-9);
        // K = cbrt((100 - 70) / 0.4) = 4.217 s
        let mut now = 0;
        while cubic.window() < 99.9 {
            now += 1_000_000;
            cubic.acknowledged(&Ack { now, acked_pkts: 1.0, rtt_ns: Some(10_000_000) });
        }
        let seconds = now as f64 / 1e9;
        assert!((3.0..=4.4).contains(&seconds), "{seconds}");
    }
}
