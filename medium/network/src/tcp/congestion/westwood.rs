//! TCP Westwood+: after a loss the window is what the measured bandwidth fills at the smallest round trip.
//!
//! Source: S. Mascolo et al., ACM MobiCom 2001; the bandwidth sample of once a round trip is Westwood+'s
//! (L. Grieco and S. Mascolo, ACM CCR 34(2), 2004), since the original's sample per ACK overestimates.

use pacelab_engine::Ns;

use super::aimd::Aimd;
use super::control::{Ack, CongestionControl};

/// Share of the old estimate.
const SMOOTHING: f64 = 7.0 / 8.0;
/// Before the first round trip is known, a sample spans this.
const FIRST_SPAN_NS: Ns = 50_000_000;

/// See the module.
#[derive(Clone, Debug)]
pub struct Westwood {
    aimd: Aimd,
    min_rtt_ns: Option<Ns>,
    last_rtt_ns: Ns,
    span_start: Ns,
    span_pkts: f64,
    bandwidth_pkts_per_s: Option<f64>,
}

impl Westwood {
    /// `limit` is the receiver's window in segments.
    pub fn new(window: f64, limit: f64) -> Self {
        Westwood {
            aimd: Aimd::new(window, limit),
            min_rtt_ns: None,
            last_rtt_ns: FIRST_SPAN_NS,
            span_start: 0,
            span_pkts: 0.0,
            bandwidth_pkts_per_s: None,
        }
    }

    /// What the path holds: bandwidth times the smallest round trip, at least two segments.
    fn eligible(&self, in_use: f64) -> f64 {
        match (self.bandwidth_pkts_per_s, self.min_rtt_ns) {
            (Some(bandwidth), Some(rtt_ns)) => (bandwidth * rtt_ns as f64 / 1e9).max(2.0),
            _ => (in_use / 2.0).max(2.0),
        }
    }
}

impl CongestionControl for Westwood {
    fn window(&self) -> f64 {
        self.aimd.window
    }

    fn threshold(&self) -> f64 {
        self.aimd.threshold
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt_ns) = ack.rtt_ns {
            self.last_rtt_ns = rtt_ns;
            self.min_rtt_ns = Some(self.min_rtt_ns.map_or(rtt_ns, |least_ns| least_ns.min(rtt_ns)));
        }
        self.span_pkts += ack.acked_pkts;
        let span_ns = ack.now - self.span_start;
        if span_ns >= self.last_rtt_ns {
            let sample = self.span_pkts * 1e9 / span_ns as f64;
            let old = self.bandwidth_pkts_per_s.unwrap_or(sample);
            self.bandwidth_pkts_per_s = Some(SMOOTHING * old + (1.0 - SMOOTHING) * sample);
            self.span_start = ack.now;
            self.span_pkts = 0.0;
        }
    }

    fn acknowledged(&mut self, _ack: &Ack) {
        self.aimd.grow();
    }

    fn lost(&mut self, _now: Ns, in_use: f64) {
        self.aimd.threshold = self.eligible(in_use);
        self.aimd.window = self.aimd.window.min(self.aimd.threshold);
    }

    fn recovered(&mut self) {
        self.aimd.window = self.aimd.window.min(self.aimd.threshold);
    }

    fn timed_out(&mut self, _now: Ns, in_use: f64) {
        self.aimd.threshold = self.eligible(in_use);
        self.aimd.window = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_sets_the_window_to_bandwidth_times_least_round_trip() {
        let mut westwood = Westwood::new(20.0, 100.0);
        // 10 segments every 100 ms, each round trip 50 ms: 100 segments/s fill 5 segments
        for round in 1..=50 {
            let now = round * 100_000_000;
            westwood.observe(&Ack { now, acked_pkts: 10.0, rtt_ns: Some(50_000_000) });
        }
        westwood.lost(0, 20.0);
        assert!((westwood.window() - 5.0).abs() < 1e-9, "{}", westwood.window());
    }
}
