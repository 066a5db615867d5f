//! TCP Westwood+ and the first TCP Westwood of 2001: after a loss the window is the measured bandwidth times the
//! smallest round trip.

use pacelab_engine::Ns;

use super::control::{Ack, Aimd, CongestionControl};

/// Weight of the old estimate.
const SMOOTHING: f64 = 7.0 / 8.0;
/// Length of a sample before the first round trip is known.
const FIRST_SPAN_NS: Ns = 50_000_000;

/// TCP Westwood+: after a loss the window is the measured bandwidth times the smallest round trip.
///
/// Source: S. Mascolo et al., ACM MobiCom 2001; the bandwidth sample of once a round trip is Westwood+'s
/// (L. Grieco and S. Mascolo, ACM CCR 34(2), 2004), since the original's sample per ACK overestimates.
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

    /// Capacity of the path: bandwidth times the smallest round trip, at least two segments.
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

const TAU_NS: Ns = 500_000_000;
/// Longest time between two samples, tau/m.
const SILENCE_NS: Ns = TAU_NS / 2;

/// The first TCP Westwood: a bandwidth sample with every ACK, including duplicates, through a filter of the second
/// order.
///
/// Source: S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi and R. Wang, ACM MobiCom 2001, Sec. 2: a sample is what an ACK
/// reports over the time since the last, the filter is the bilinear one with cut-off 1/tau and a sample of zero after
/// tau/m without an ACK. The values of tau and m, 0.5 s and 2, are our choice. ACKs that arrive close together after a
/// wait give samples far above the capacity of the path. Westwood+ avoids such samples by sampling once per round trip.
#[derive(Clone, Debug)]
pub struct Westwood2001 {
    aimd: Aimd,
    min_rtt_ns: Option<Ns>,
    sampled_at: Option<Ns>,
    /// Segments reported since the last sample by ACKs that arrived at the same time.
    pending_pkts: f64,
    /// Segments that duplicate ACKs have reported and that a cumulative ACK will report again.
    accounted_pkts: f64,
    last_sample: f64,
    bandwidth_pkts_per_s: f64,
}

impl Westwood2001 {
    /// `limit` is the receiver's window in segments.
    pub fn new(window: f64, limit: f64) -> Self {
        Westwood2001 {
            aimd: Aimd::new(window, limit),
            min_rtt_ns: None,
            sampled_at: None,
            pending_pkts: 0.0,
            accounted_pkts: 0.0,
            last_sample: 0.0,
            bandwidth_pkts_per_s: 0.0,
        }
    }

    /// Capacity of the path: bandwidth times the smallest round trip, at least two segments.
    fn eligible(&self) -> f64 {
        let rtt_ns = self.min_rtt_ns.unwrap_or(0);
        (self.bandwidth_pkts_per_s * rtt_ns as f64 / 1e9).max(2.0)
    }

    /// `pkts` segments have left the network.
    fn report(&mut self, now: Ns, pkts: f64) {
        self.pending_pkts += pkts;
        let Some(mut since) = self.sampled_at else {
            self.sampled_at = Some(now);
            self.pending_pkts = 0.0;
            return;
        };
        while now - since > SILENCE_NS {
            since += SILENCE_NS;
            self.filter(SILENCE_NS, 0.0);
        }
        if now > since {
            let sample = std::mem::take(&mut self.pending_pkts) * 1e9 / (now - since) as f64;
            self.filter(now - since, sample);
            since = now;
        }
        self.sampled_at = Some(since);
    }

    fn filter(&mut self, span_ns: Ns, sample: f64) {
        let (two_tau, span) = (2.0 * TAU_NS as f64, span_ns as f64);
        let old = (two_tau - span) / (two_tau + span);
        let mean = f64::midpoint(sample, self.last_sample);
        self.bandwidth_pkts_per_s = old * self.bandwidth_pkts_per_s + (1.0 - old) * mean;
        self.last_sample = sample;
    }
}

impl CongestionControl for Westwood2001 {
    fn window(&self) -> f64 {
        self.aimd.window
    }

    fn threshold(&self) -> f64 {
        self.aimd.threshold
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt_ns) = ack.rtt_ns {
            self.min_rtt_ns = Some(self.min_rtt_ns.map_or(rtt_ns, |least_ns| least_ns.min(rtt_ns)));
        }
        let known = self.accounted_pkts.min((ack.acked_pkts - 1.0).max(0.0));
        self.accounted_pkts -= known;
        self.report(ack.now, ack.acked_pkts - known);
    }

    fn duplicate(&mut self, now: Ns) {
        self.accounted_pkts += 1.0;
        self.report(now, 1.0);
    }

    fn acknowledged(&mut self, _ack: &Ack) {
        self.aimd.grow();
    }

    fn lost(&mut self, _now: Ns, _in_use: f64) {
        self.aimd.threshold = self.eligible();
        self.aimd.window = self.aimd.window.min(self.aimd.threshold);
    }

    fn recovered(&mut self) {
        self.aimd.window = self.aimd.window.min(self.aimd.threshold);
    }

    fn timed_out(&mut self, _now: Ns, _in_use: f64) {
        self.aimd.threshold = self.eligible();
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

    const MS: Ns = 1_000_000;

    fn ack(now: Ns, acked_pkts: f64) -> Ack {
        Ack { now, acked_pkts, rtt_ns: Some(50 * MS) }
    }

    #[test]
    fn a_steady_stream_is_measured_and_a_loss_leaves_what_the_path_holds() {
        let mut westwood = Westwood2001::new(20.0, 100.0);
        for round in 1..=1000 {
            westwood.observe(&ack(round * 10 * MS, 1.0)); // 100 segments/s fill 5 segments
        }
        westwood.lost(0, 20.0);
        assert!((westwood.window() - 5.0).abs() < 1e-3, "{}", westwood.window());
    }

    #[test]
    fn what_duplicates_have_reported_is_not_counted_again() {
        let mut westwood = Westwood2001::new(20.0, 100.0);
        for round in (10..=100_000).step_by(10) {
            let now = round * 10 * MS;
            westwood.observe(&ack(now, if round == 10 { 1.0 } else { 9.0 }));
            for behind in 1..=8 {
                westwood.duplicate(now + behind * 11 * MS);
            }
        }
        // nine segments in 100 ms, each counted once
        assert!((westwood.bandwidth_pkts_per_s - 90.0).abs() < 5.0, "{}", westwood.bandwidth_pkts_per_s);
    }

    #[test]
    fn silence_counts_as_nothing_and_acks_that_come_together_as_much() {
        let mut westwood = Westwood2001::new(20.0, 100.0);
        westwood.observe(&ack(MS, 1.0));
        for round in 1..=1000 {
            westwood.observe(&ack(round * 10 * MS, 1.0));
        }
        let steady = westwood.bandwidth_pkts_per_s;
        westwood.observe(&ack(14_000 * MS, 1.0));
        assert!(westwood.bandwidth_pkts_per_s < 0.01 * steady, "{}", westwood.bandwidth_pkts_per_s);
        for compressed in 1..=10 {
            westwood.observe(&ack(14_000 * MS + compressed * MS, 1.0));
        }
        assert!(westwood.bandwidth_pkts_per_s > 0.1 * steady, "{}", westwood.bandwidth_pkts_per_s);
        let burst = westwood.bandwidth_pkts_per_s;
        westwood.observe(&ack(14_010 * MS, 1.0)); // at the same instant: no division by zero
        assert!((westwood.bandwidth_pkts_per_s - burst).abs() < 1e-9);
    }
}
