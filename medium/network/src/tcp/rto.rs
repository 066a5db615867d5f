//! The two retransmission timers: RFC 6298 with nanoseconds, and ns-2 of 2001 with ticks.

use pacelab_engine::Ns;

/// A retransmission timer.
#[derive(Clone, Debug)]
pub enum RetransmissionTimer {
    /// RFC 6298.
    Rfc(Rto),
    /// ns-2 of 2001.
    Ticks(TickTimer),
}

impl RetransmissionTimer {
    /// Takes a sample of a segment that was sent once (Karn), at `sent_at`; ends the backoff.
    pub fn sample(&mut self, sent_at: Ns, rtt_ns: Ns) {
        match self {
            RetransmissionTimer::Rfc(rto) => rto.sample(rtt_ns),
            RetransmissionTimer::Ticks(timer) => timer.sample(sent_at, rtt_ns),
        }
    }

    /// Doubles the timeout.
    pub fn back_off(&mut self) {
        match self {
            RetransmissionTimer::Rfc(rto) => rto.back_off(),
            RetransmissionTimer::Ticks(timer) => timer.back_off(),
        }
    }

    /// The present timeout.
    pub fn timeout_ns(&self) -> Ns {
        match self {
            RetransmissionTimer::Rfc(rto) => rto.timeout_ns(),
            RetransmissionTimer::Ticks(timer) => timer.timeout_ns(),
        }
    }

    /// The smoothed RTT, if there is one.
    pub fn smoothed_ns(&self) -> Option<Ns> {
        match self {
            RetransmissionTimer::Rfc(rto) => rto.smoothed_ns(),
            RetransmissionTimer::Ticks(timer) => timer.smoothed_ns(),
        }
    }
}

// The timer of RFC 6298.

/// Clock granularity G: ns-2's tick.
const GRANULARITY_NS: i64 = 10_000_000;
/// RFC 6298 (2.5) allows a ceiling of at least 60 s.
const CEILING_NS: i64 = 60_000_000_000;

/// Round-trip estimate and timeout of RFC 6298.
#[derive(Clone, Debug)]
pub struct Rto {
    /// Smoothed RTT and its mean deviation, in ns, once there is a sample.
    estimate: Option<(i64, i64)>,
    initial_ns: i64,
    floor_ns: i64,
    backs_off: bool,
    backoff: u32,
}

impl Rto {
    /// `floor_ns` is the minimum RTO, `initial_ns` the RTO before the first sample.
    pub fn new(initial_ns: Ns, floor_ns: Ns) -> Self {
        Rto { estimate: None, initial_ns: initial_ns as i64, floor_ns: floor_ns as i64, backs_off: true, backoff: 0 }
    }

    /// The same timer, but without doubling of the timeout.
    pub fn without_backoff(self) -> Self {
        Rto { backs_off: false, ..self }
    }

    /// Takes a sample of a segment that was sent once (Karn); ends the backoff.
    pub fn sample(&mut self, rtt_ns: Ns) {
        let rtt = rtt_ns as i64;
        self.estimate = Some(match self.estimate {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => ((7 * srtt + rtt) / 8, (3 * rttvar + (srtt - rtt).abs()) / 4),
        });
        self.backoff = 0;
    }

    /// Doubles the timeout (RFC 6298 (5.5)).
    pub fn back_off(&mut self) {
        if self.backs_off {
            self.backoff = (self.backoff + 1).min(16);
        }
    }

    /// The present timeout.
    pub fn timeout_ns(&self) -> Ns {
        let base = match self.estimate {
            None => self.initial_ns,
            Some((srtt, rttvar)) => srtt + GRANULARITY_NS.max(4 * rttvar),
        };
        (base.max(self.floor_ns) << self.backoff).min(CEILING_NS) as Ns
    }

    /// The smoothed RTT, if there is one.
    pub fn smoothed_ns(&self) -> Option<Ns> {
        self.estimate.map(|(srtt, _)| srtt as Ns)
    }
}

// The timer of ns-2 until 2001.

const TICK_NS: u64 = 100_000_000;
/// Timeout before the first sample.
const INITIAL_TICKS: i64 = 60;
const LARGEST_BACKOFF: i64 = 64;
/// Beyond this backoff the estimate counts as wrong: the mean is added to the deviation and reset.
const TRUSTED_BACKOFF: i64 = 8;

/// Round-trip estimate and timeout of ns-2 until 2001, in ticks of 0.1 s and fixed-point numbers, as BSD's.
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
    /// Phase of the sender's clock within a tick.
    phase_ns: Ns,
}

impl TickTimer {
    /// `floor_ns` is the minimum RTO. `phase`, at least 0 and below 1, is where in a tick the sender's clock started.
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

    /// The present timeout. The minimum applies after the doubling, not before it.
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
    fn follows_rfc_6298_by_hand() {
        let mut rto = Rto::new(3_000 * MS, 200 * MS);
        assert_eq!(rto.timeout_ns(), 3_000 * MS);
        rto.sample(100 * MS); // srtt 100, rttvar 50
        assert_eq!(rto.timeout_ns(), 300 * MS);
        rto.sample(180 * MS); // srtt 110, rttvar (150 + 80) / 4 = 57.5
        assert_eq!(rto.timeout_ns(), 340 * MS);
        rto.back_off();
        assert_eq!(rto.timeout_ns(), 680 * MS);
        rto.sample(110 * MS); // backoff ends; rttvar 43.125
        assert_eq!(rto.timeout_ns(), 110 * MS + 172_500_000);
    }

    #[test]
    fn without_backoff_the_timeout_stays() {
        let mut rto = Rto::new(3_000 * MS, 200 * MS).without_backoff();
        (0..5).for_each(|_| rto.back_off());
        assert_eq!(rto.timeout_ns(), 3_000 * MS);
    }

    #[test]
    fn floor_granularity_and_ceiling_hold() {
        let mut rto = Rto::new(3_000 * MS, 200 * MS);
        (0..50).for_each(|_| rto.sample(20 * MS));
        assert_eq!(rto.timeout_ns(), 200 * MS);
        (0..20).for_each(|_| rto.back_off());
        assert_eq!(rto.timeout_ns(), 60_000 * MS);
    }

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
