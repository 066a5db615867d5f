//! Voice calls: the packets of one direction's codec, and when the receiver plays them.
//!
//! Playout rule: a packet is played at `sent + aligned delay + playout buffer`. A packet that arrives later is late and
//! counts as lost to the listener (jitter loss). The receiver first aligns itself to the delay of the first packet.
//! Later, at the first arrival more than one talk spurt after the last alignment, the receiver aligns itself to the
//! mean delay of the packets since that alignment, as a phone does in the pause between two spurts. The new alignment
//! already applies to that packet.
//!
//! Invariants
//! 1. A packet that was sent is played, late, lost, or not yet due. It is due at its playout time by the last
//!    alignment, or when it arrives.
//! 2. A packet counts in the interval in which it was sent. A packet that arrives twice counts once.

use pacelab_engine::Ns;

const FIRST_PORT: u32 = 16_384;
/// Mean talk spurt. Source: ITU-T P.59 Table 1 (1.004 s).
const SPURT_NS: Ns = 1_000_000_000;

/// RTP port of a call at both endpoints. It is even, and the next port is for reports (RFC 3550 Sec. 11).
pub fn port(call: u32) -> u16 {
    (FIRST_PORT + 2 * call) as u16
}

/// The packets that a codec sends.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Codec {
    pub interval_ns: Ns,
    pub port: u16,
    /// Size of the IP packets.
    pub packet_bytes: u32,
    /// First packet after the start of the flow.
    pub phase_ns: Ns,
    pub first_sequence: u16,
}

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Played(Ns),
    Late(Ns),
}

/// The receiver of one direction of a call, and the log of its packets.
#[derive(Clone, Debug)]
pub struct Playout {
    playout_ns: Ns,
    /// By number: when the packet was sent, and its outcome with its network delay.
    packets: Vec<(Ns, Fate)>,
    /// The time and the delay of the last alignment: (time, delay). None before the first arrival.
    aligned: Option<(Ns, Ns)>,
    /// Arrivals since the last alignment, and the sum of their delays.
    since: (u64, Ns),
    /// Reports of this direction that hooks sent, since the start of the run.
    pub reports_sent: u64,
    /// Of these, those that reached their destination.
    pub reports_received: u64,
}

impl Playout {
    /// A receiver that waits for its first packet.
    pub fn new(playout_ns: Ns) -> Self {
        Playout { playout_ns, packets: Vec::new(), aligned: None, since: (0, 0), reports_sent: 0, reports_received: 0 }
    }

    /// The buffer's length.
    pub fn playout_s(&self) -> f64 {
        self.playout_ns as f64 / 1e9
    }

    /// Adds a packet that leaves the codec. Returns its number.
    pub fn expect(&mut self, sent_at: Ns) -> u32 {
        self.packets.push((sent_at, Fate::UnderWay));
        (self.packets.len() - 1) as u32
    }

    /// Handles the arrival of a packet. Returns whether it is in time and the first with its number.
    pub fn arrive(&mut self, now: Ns, number: u32, sent_at: Ns) -> bool {
        let Some((_, fate)) = self.packets.get_mut(number as usize) else { return false };
        if *fate != Fate::UnderWay {
            return false;
        }
        let delay = now - sent_at;
        let (count, sum) = self.since;
        let aligned = match self.aligned {
            None => (now, delay),
            Some((at, _)) if now >= at + SPURT_NS && count > 0 => (now, sum / count),
            Some(unchanged) => unchanged,
        };
        if self.aligned.replace(aligned) != Some(aligned) {
            self.since = (0, 0);
        }
        self.since = (self.since.0 + 1, self.since.1 + delay);
        let in_time = delay <= aligned.1 + self.playout_ns;
        *fate = if in_time { Fate::Played(delay) } else { Fate::Late(delay) };
        in_time
    }

    /// Counts of the packets sent from `from` on, as known at `now`.
    pub fn counts(&self, from: Ns, now: Ns) -> Counts {
        self.counts_between(from, Ns::MAX, now)
    }

    /// Counts of the packets sent in `[from, to)`, as known at `now`.
    pub fn counts_between(&self, from: Ns, to: Ns, now: Ns) -> Counts {
        let first = self.packets.partition_point(|&(sent_at, _)| sent_at < from);
        let last = self.packets.partition_point(|&(sent_at, _)| sent_at < to);
        let wait = self.playout_ns + self.aligned.map_or(0, |(_, delay)| delay);
        let mut counts = Counts::default();
        for &(sent_at, fate) in &self.packets[first..last] {
            match fate {
                Fate::UnderWay if sent_at + wait > now => continue,
                Fate::UnderWay => counts.lost += 1,
                Fate::Played(delay) => counts.delays_ns.push(delay),
                Fate::Late(delay) => {
                    counts.late += 1;
                    counts.delays_ns.push(delay);
                }
            }
            counts.due += 1;
        }
        counts
    }
}

/// Outcomes of the packets of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets due.
    pub due: u64,
    /// Of these, not arrived.
    pub lost: u64,
    /// Of these, arrived too late to be played.
    pub late: u64,
    /// Network delays of those that arrived, in the order of sending.
    pub delays_ns: Vec<Ns>,
}

impl Counts {
    /// Mean network delay of the packets that arrived, if any did.
    pub fn delay_mean_s(&self) -> Option<f64> {
        let sum: u128 = self.delays_ns.iter().map(|&delay| u128::from(delay)).sum();
        (!self.delays_ns.is_empty()).then(|| sum as f64 / self.delays_ns.len() as f64 / 1e9)
    }

    /// These quantiles of the network delay (nearest rank), if any packet arrived.
    pub fn delay_quantiles_s(&self, shares: &[f64]) -> Option<Vec<f64>> {
        let mut sorted = self.delays_ns.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        let nearest = |share: &f64| sorted[libm::round(share * last as f64) as usize] as f64 / 1e9;
        Some(shares.iter().map(nearest).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    /// A receiver with a 60 ms buffer that has expected a packet every 20 ms, from 0 on.
    fn receiver(packets: u64) -> Playout {
        let mut playout = Playout::new(60 * MS);
        (0..packets).for_each(|number| assert_eq!(u64::from(playout.expect(number * 20 * MS)), number));
        playout
    }

    fn arrive(playout: &mut Playout, number: u32, delay_ms: Ns) -> bool {
        let sent_at = Ns::from(number) * 20 * MS;
        playout.arrive(sent_at + delay_ms * MS, number, sent_at)
    }

    #[test]
    fn a_packet_is_in_time_up_to_the_first_ones_delay_and_the_buffer() {
        let mut playout = receiver(4);
        assert!(arrive(&mut playout, 0, 10));
        assert!(arrive(&mut playout, 1, 70));
        assert!(!arrive(&mut playout, 2, 71));
        let counts = playout.counts(0, 1_000 * MS);
        assert_eq!((counts.due, counts.lost, counts.late), (4, 1, 1));
        assert_eq!(counts.delays_ns, [10 * MS, 70 * MS, 71 * MS]);
    }

    #[test]
    fn the_receiver_aligns_itself_to_the_mean_of_the_last_spurt() {
        // 10 ms, then 110 ms: late. Packet 45 leaves at 900 ms and arrives exactly 1000 ms after packet 0 did: from it
        // on the aligned delay is the mean of packets 0 to 44, (10 + 44 * 110) / 45 = 107.8 ms.
        let mut playout = receiver(60);
        assert!(arrive(&mut playout, 0, 10));
        for number in 1..45 {
            assert!(!arrive(&mut playout, number, 110), "packet {number}");
        }
        assert!(arrive(&mut playout, 45, 110));
        assert!(arrive(&mut playout, 46, 167));
        assert!(!arrive(&mut playout, 47, 168));
    }

    #[test]
    fn what_arrives_twice_counts_once() {
        let mut playout = receiver(1);
        assert!(arrive(&mut playout, 0, 10));
        assert!(!arrive(&mut playout, 0, 20));
        assert_eq!(playout.counts(0, 1_000 * MS).delays_ns, [10 * MS]);
    }

    #[test]
    fn a_packet_whose_moment_has_not_come_is_not_lost() {
        let mut playout = receiver(3);
        assert!(arrive(&mut playout, 0, 10));
        // packet 1 is due at 20 + 10 + 60 = 90 ms, packet 2 at 110 ms
        let at = |now| {
            let counts = playout.counts(0, now);
            (counts.due, counts.lost)
        };
        assert_eq!(at(89 * MS), (1, 0));
        assert_eq!(at(90 * MS), (2, 1));
        assert_eq!(at(110 * MS), (3, 2));
    }

    #[test]
    fn silence_has_no_delay_rather_than_a_number() {
        let counts = receiver(2).counts(0, 1_000 * MS);
        assert_eq!((counts.due, counts.lost), (2, 2));
        assert_eq!((counts.delay_mean_s(), counts.delay_quantiles_s(&[0.5])), (None, None));
    }

    #[test]
    fn packets_count_where_they_were_sent() {
        let mut playout = receiver(4);
        assert!(arrive(&mut playout, 0, 10));
        assert!(arrive(&mut playout, 3, 30));
        let first = playout.counts_between(0, 40 * MS, 1_000 * MS);
        let second = playout.counts_between(40 * MS, 80 * MS, 1_000 * MS);
        assert_eq!((first.due, first.lost, first.delay_mean_s()), (2, 1, Some(0.01)));
        assert_eq!((second.due, second.lost, second.delay_mean_s()), (2, 1, Some(0.03)));
    }
}
