//! The retransmission timer of RFC 6298.

use pacelab_engine::Ns;

/// Clock granularity G: ns-2's tick.
const GRANULARITY_NS: i64 = 10_000_000;
/// RFC 6298 (2.5) allows a ceiling of at least 60 s.
const CEILING_NS: i64 = 60_000_000_000;

/// Round-trip estimate and timeout.
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
    /// `floor_ns` is the minimum RTO, `initial_ns` what holds before the first sample.
    pub fn new(initial_ns: Ns, floor_ns: Ns) -> Self {
        Rto { estimate: None, initial_ns: initial_ns as i64, floor_ns: floor_ns as i64, backs_off: true, backoff: 0 }
    }

    /// Never doubles the timeout.
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

    /// The timeout now in force.
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
}
