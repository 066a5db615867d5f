//! Loss-based congestion controls with their own window growth: CUBIC and FeW.

use pacelab_air_config::FewSettings;
use pacelab_engine::Ns;

use super::control::{Ack, Aimd, CongestionControl};

/// CUBIC's constants.
const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// CUBIC: the window is a cubic function of the time since the last loss.
///
/// Source: RFC 9438, Sec. 4.2 Eq. (1), 4.3 (Reno-friendly region), 4.6, 4.7 (fast convergence).
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
    /// Reno's window (RFC 9438 Eq. (4)).
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

/// Smallest window: one segment every hundred round trips.
const LEAST_WINDOW: f64 = 0.01;

/// FeW, fractional window increment, for multihop paths.
///
/// Each ACK adds alpha/W, in slow start and afterwards. The window may fall below one segment; the sender then waits
/// 1/W round trips between segments. If W is at least one segment, at least the minimum window is used. Source: K.
/// Nahm, A. Helmy, J. Kuo, ACM MobiHoc 2005, Eq. (8): W + alpha/W, 0 < alpha <= 1 (0.01 there); minimum window: Lee
/// 2012, Sec. 3.5.
#[derive(Clone, Debug)]
pub struct Few {
    window: f64,
    settings: FewSettings,
}

impl Few {
    /// Starts with the initial window. Slow start does not apply.
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
