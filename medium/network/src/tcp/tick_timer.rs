//! The retransmission timer of ns-2 until 2001, in ticks of 0.1 s and fixed-point numbers, as BSD's.

use pacelab_engine::Ns;

const TICK_NS: u64 = 100_000_000;
/// In force before the first sample.
const INITIAL_TICKS: i64 = 60;
const LARGEST_BACKOFF: i64 = 64;
/// Backed off further than this the estimate counts as wrong: what was the mean becomes deviation.
const TRUSTED_BACKOFF: i64 = 8;

/// Round-trip estimate and timeout.
///
/// Source: `TcpAgent::rtt_update`, `rtt_backoff`, `rtt_timeout` of ns-2.1b8a.
#[derive(Clone, Debug)]
pub struct TickTimer {
    /// Smoothed RTT in eighths of a tick; 0: none.
    smoothed: i64,
    /// Its mean deviation in quarters of a tick.
    deviation: i64,
    timeout_ticks: i64,
    floor_ns: Ns,
    backoff: i64,
    /// Where in a tick the clock started.
    phase_ns: Ns,
}

impl TickTimer {
    /// `floor_ns` is the minimum RTO; `phase`, below 1, where in a tick this sender's clock started.
    pub fn new(floor_ns: Ns, phase: f64) -> Self {
        let phase_ns = (phase * TICK_NS as f64) as Ns;
        TickTimer { smoothed: 0, deviation: 480, timeout_ticks: INITIAL_TICKS, floor_ns, backoff: 1, phase_ns }
    }

    /// Takes a sample of a segment that was sent at `sent_at`; ends the backoff.
    pub fn sample(&mut self, sent_at: Ns, rtt_ns: Ns) {
        let ticks = (((sent_at + self.phase_ns) % TICK_NS + rtt_ns) / TICK_NS).max(1) as i64;
        if self.smoothed == 0 {
            self.smoothed = ticks << 3;
            self.deviation = ticks << 1;
        } else {
            let error = ticks - (self.smoothed >> 3);
            self.smoothed = (self.smoothed + error).max(1);
            self.deviation = (self.deviation + error.abs() - (self.deviation >> 2)).max(1);
        }
        self.timeout_ticks = ((self.deviation << 3) + self.smoothed) >> 3;
        self.backoff = 1;
    }

    /// Doubles the timeout.
    pub fn back_off(&mut self) {
        if self.backoff < LARGEST_BACKOFF {
            self.backoff *= 2;
        }
        if self.backoff > TRUSTED_BACKOFF {
            self.deviation += self.smoothed >> 3;
            self.smoothed = 0;
        }
    }

    /// The timeout now in force: the minimum holds after the doubling, not before it.
    pub fn timeout_ns(&self) -> Ns {
        ((self.timeout_ticks * self.backoff) as Ns * TICK_NS).max(self.floor_ns)
    }

    /// The smoothed RTT, if there is one.
    pub fn smoothed_ns(&self) -> Option<Ns> {
        (self.smoothed > 0).then(|| self.smoothed as Ns * TICK_NS / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    #[test]
    fn counts_in_ticks_by_hand() {
        let mut timer = TickTimer::new(1_000 * MS, 0.0);
        assert_eq!(timer.timeout_ns(), 6_000 * MS);
        timer.sample(1_050 * MS, 340 * MS); // 0.05 s into a tick: 0.39 s are 3 ticks; mean 24/8, deviation 6/4
        assert_eq!((timer.smoothed, timer.deviation), (24, 6));
        assert_eq!(timer.timeout_ns(), 1_000 * MS); // (48 + 24) / 8 = 9 ticks, below the floor
        timer.sample(2_000 * MS, 890 * MS); // 8 ticks, error 5: mean 29/8, deviation 6 + 5 - 1
        assert_eq!((timer.smoothed, timer.deviation), (29, 10));
        assert_eq!(timer.timeout_ns(), 1_300 * MS); // (80 + 29) / 8 = 13.6
    }

    #[test]
    fn the_floor_holds_after_the_doubling() {
        let mut timer = TickTimer::new(1_000 * MS, 0.0);
        timer.sample(0, 150 * MS); // mean 8/8, deviation 2/4: 3 ticks
        assert_eq!(timer.timeout_ns(), 1_000 * MS);
        timer.back_off();
        assert_eq!(timer.timeout_ns(), 1_000 * MS); // 6 ticks
        timer.back_off();
        assert_eq!(timer.timeout_ns(), 1_200 * MS);
        (0..10).for_each(|_| timer.back_off());
        assert_eq!(timer.timeout_ns(), 64 * 300 * MS);
        assert_eq!(timer.smoothed_ns(), None); // the mean is deviation now
    }
}
