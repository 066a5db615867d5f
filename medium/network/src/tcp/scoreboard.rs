//! The state of each segment that is not acknowledged: the scoreboard of selective acknowledgements, the detection of
//! losses by time (RACK), and the samples of the delivery rate.
//!
//! Invariants: (1) `in_flight` is the number of segments minus the delivered and the lost ones, plus the lost ones that
//! were sent again. (2) Each segment is counted as delivered once. (3) A segment is lost only if a segment sent later
//! has been delivered, or after a timeout.
//!
//! Source: RFC 2018, RFC 6675, RFC 8985 without adaptation to reordering, as no path of ours reorders;
//! draft-cheng-iccrg-delivery-rate-estimation-00; `tcp_rate.c` and `tcp_recovery.c` of Linux.

use std::collections::VecDeque;

use pacelab_engine::Ns;

use crate::packet::Sack;
use crate::tcp::congestion::{Phase, RateSample};
use crate::tcp::{after, before};

/// This many delivered segments beyond a hole prove a loss without a wait (RFC 5681).
const DUPLICATE_THRESHOLD: u32 = 3;

/// A segment that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Segment {
    seq: u32,
    end: u32,
    /// When it was last sent, and the state of the connection at that time.
    sent_at: Ns,
    first_sent_at: Ns,
    delivered_at: Ns,
    delivered_pkts: u64,
    is_app_limited: bool,
    /// A selective ACK has reported it.
    is_sacked: bool,
    is_lost: bool,
    /// Sent again since it was lost.
    is_resent: bool,
    /// Sent more than once.
    was_resent: bool,
}

/// The segment that was sent last among those that an ACK reports.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Ns,
    end: u32,
    send_interval_ns: Ns,
    delivered_at: Ns,
    delivered_pkts: u64,
    is_app_limited: bool,
    was_resent: bool,
}

/// The scoreboard of one sender.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    segments: VecDeque<Segment>,
    sacked: u32,
    lost: u32,
    resent: u32,
    /// Segments that count as delivered because of duplicate ACKs without selective reports.
    inferred: u32,
    delivered_pkts: u64,
    delivered_at: Ns,
    first_sent_at: Ns,
    lost_pkts: u64,
    /// Samples of segments sent until this many are delivered say little about the path; 0: all say enough.
    app_limited_until: u64,
    /// Of the present ACK.
    newest: Option<Newest>,
    newly_delivered: u32,
    prior_in_flight: u32,
    lost_before: u64,
    /// RACK: when the newest delivered segment was sent, its end, and its round trip.
    rack: Option<(Ns, u32, Ns)>,
    min_rtt_ns: Option<Ns>,
}

/// `(at, end)` was sent after `(other_at, other_end)`.
fn sent_after(at: Ns, end: u32, other_at: Ns, other_end: u32) -> bool {
    at > other_at || (at == other_at && after(end, other_end))
}

impl Scoreboard {
    /// Segments in flight.
    pub fn in_flight(&self) -> u32 {
        self.segments.len() as u32 + self.resent - self.sacked - self.lost - self.inferred
    }

    /// Selective ACKs have reported segments beyond a hole.
    pub fn has_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// Segments are known as lost.
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Segments that the latest ACK reports for the first time.
    pub fn newly_delivered_pkts(&self) -> u32 {
        self.newly_delivered
    }

    /// Segments that were found lost since the latest ACK, inclusive.
    pub fn newly_lost_pkts(&self) -> u32 {
        (self.lost_pkts - self.lost_before) as u32
    }

    /// Notes a round trip that did not come from a data segment.
    pub fn note_rtt(&mut self, rtt_ns: Ns) {
        self.min_rtt_ns = Some(self.min_rtt_ns.map_or(rtt_ns, |least_ns| least_ns.min(rtt_ns)));
    }

    /// The sender has nothing more to send, or sends less than the path carries.
    pub fn limit_by_application(&mut self) {
        self.app_limited_until = (self.delivered_pkts + u64::from(self.in_flight())).max(1);
    }

    /// Whether segments sent now count as limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// A segment is sent, for the first time or again.
    pub fn note_sent(&mut self, now: Ns, seq: u32, end: u32) {
        if self.segments.is_empty() {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let known = self.segments.binary_search_by(|segment| (segment.seq.wrapping_sub(seq) as i32).cmp(&0)).ok();
        let mut segment = Segment {
            seq,
            end,
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered_pkts: self.delivered_pkts,
            is_app_limited: self.app_limited_until > 0,
            is_sacked: false,
            is_lost: false,
            is_resent: false,
            was_resent: false,
        };
        let Some(place) = known else {
            self.segments.push_back(segment);
            return;
        };
        let old = self.segments[place];
        segment.was_resent = true;
        segment.is_sacked = old.is_sacked;
        segment.is_lost = old.is_lost;
        segment.is_resent = old.is_lost;
        self.resent += u32::from(old.is_lost && !old.is_resent);
        self.segments[place] = segment;
    }

    /// An ACK arrived: everything before `ack` and the blocks of `sack` are delivered. Returns whether the ACK reports
    /// anything new.
    pub fn handle_ack(&mut self, now: Ns, ack: u32, sack: &Sack) -> bool {
        self.begin();
        let mut acked = 0;
        while let Some(&segment) = self.segments.front().filter(|segment| !after(segment.end, ack)) {
            self.segments.pop_front();
            acked += 1;
            self.sacked -= u32::from(segment.is_sacked);
            self.lost -= u32::from(segment.is_lost);
            self.resent -= u32::from(segment.is_resent);
            if !segment.is_sacked {
                self.note_delivered(now, &segment);
            }
        }
        for (start, end) in sack.blocks() {
            for place in 0..self.segments.len() {
                let segment = self.segments[place];
                if segment.is_sacked || before(segment.seq, start) {
                    continue;
                }
                if after(segment.end, end) {
                    break;
                }
                self.lost -= u32::from(segment.is_lost);
                self.resent -= u32::from(segment.is_resent);
                self.sacked += 1;
                self.segments[place].is_sacked = true;
                self.segments[place].is_lost = false;
                self.segments[place].is_resent = false;
                self.note_delivered(now, &segment);
            }
        }
        if acked > 0 {
            // This ACK covers the segments that duplicate ACKs have already counted as delivered.
            let known = self.inferred.min(self.newly_delivered.saturating_sub(1));
            self.inferred -= known;
            self.newly_delivered -= known;
            self.delivered_pkts -= u64::from(known);
            self.inferred = self.inferred.min(self.segments.len() as u32 + self.resent - self.sacked - self.lost);
        }
        self.end(now)
    }

    /// A duplicate ACK without selective reports: some segment was delivered.
    pub fn handle_duplicate(&mut self, now: Ns) {
        self.begin();
        if self.in_flight() > 0 && self.inferred + 1 < self.segments.len() as u32 {
            self.inferred += 1;
            self.newly_delivered += 1;
            self.delivered_pkts += 1;
        }
        self.end(now);
    }

    fn begin(&mut self) {
        self.prior_in_flight = self.in_flight();
        self.newest = None;
        self.newly_delivered = 0;
        self.lost_before = self.lost_pkts;
    }

    fn end(&mut self, now: Ns) -> bool {
        if self.newly_delivered > 0 {
            self.delivered_at = now;
        }
        if self.app_limited_until > 0 && self.delivered_pkts > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.newly_delivered > 0
    }

    fn note_delivered(&mut self, now: Ns, segment: &Segment) {
        self.newly_delivered += 1;
        self.delivered_pkts += 1;
        let rtt_ns = now - segment.sent_at;
        if !segment.was_resent {
            self.note_rtt(rtt_ns);
        }
        let newer = |newest: Newest| sent_after(segment.sent_at, segment.end, newest.sent_at, newest.end);
        if self.newest.is_none_or(newer) {
            self.first_sent_at = segment.sent_at;
            self.newest = Some(Newest {
                sent_at: segment.sent_at,
                end: segment.end,
                send_interval_ns: segment.sent_at - segment.first_sent_at,
                delivered_at: segment.delivered_at,
                delivered_pkts: segment.delivered_pkts,
                is_app_limited: segment.is_app_limited,
                was_resent: segment.was_resent,
            });
        }
        // The ACK of a segment that was sent again may be that of its first transmission (RFC 8985 Sec. 6.2, step 2).
        if segment.was_resent && self.min_rtt_ns.is_some_and(|least_ns| rtt_ns < least_ns) {
            return;
        }
        let newer = |(at, end, _): (Ns, u32, Ns)| sent_after(segment.sent_at, segment.end, at, end);
        if self.rack.is_none_or(newer) {
            self.rack = Some((segment.sent_at, segment.end, rtt_ns));
        }
    }

    /// Marks the segments as lost that were sent before the newest delivered one, and are overdue by `min_rtt` / 4, or
    /// at once if three segments beyond a hole are delivered or losses are known already. Returns when the next
    /// segment will be overdue, if any.
    pub fn mark_lost(&mut self, now: Ns, in_recovery: bool) -> Option<Ns> {
        let (rack_at, rack_end, rack_rtt_ns) = self.rack?;
        let patient = !in_recovery && self.sacked < DUPLICATE_THRESHOLD;
        let reordering_ns = if patient { self.min_rtt_ns.unwrap_or(0) / 4 } else { 0 };
        let mut next = None;
        for segment in &mut self.segments {
            if segment.is_sacked || (segment.is_lost && !segment.is_resent) {
                continue;
            }
            if !sent_after(rack_at, rack_end, segment.sent_at, segment.end) {
                if self.resent == 0 {
                    break; // without repeats, later segments were sent later
                }
                continue;
            }
            let overdue_at = segment.sent_at + rack_rtt_ns + reordering_ns;
            if overdue_at > now {
                next = Some(next.map_or(overdue_at, |earlier: Ns| earlier.min(overdue_at)));
                continue;
            }
            self.lost_pkts += 1;
            if segment.is_resent {
                segment.is_resent = false;
                self.resent -= 1;
            } else {
                segment.is_lost = true;
                self.lost += 1;
            }
        }
        next
    }

    /// After a timeout: everything that was not delivered is lost.
    pub fn mark_all_lost(&mut self) {
        for segment in &mut self.segments {
            if segment.is_sacked || (segment.is_lost && !segment.is_resent) {
                continue;
            }
            self.lost_pkts += 1;
            self.lost += u32::from(!segment.is_lost);
            self.resent -= u32::from(segment.is_resent);
            segment.is_lost = true;
            segment.is_resent = false;
        }
        self.inferred = 0;
    }

    /// The first lost segment that was not sent again, as (first octet, end).
    pub fn next_lost(&self) -> Option<(u32, u32)> {
        if self.lost == self.resent {
            return None;
        }
        let found = self.segments.iter().find(|segment| segment.is_lost && !segment.is_resent);
        found.map(|segment| (segment.seq, segment.end))
    }

    /// The last segment in flight, as (first octet, end).
    pub fn last(&self) -> Option<(u32, u32)> {
        self.segments.back().map(|segment| (segment.seq, segment.end))
    }

    /// The sample of the latest ACK. The caller adds the state of the timers.
    pub fn sample(&self, now: Ns, phase: Phase) -> RateSample {
        let in_flight_pkts = self.in_flight();
        let mut sample = RateSample {
            now,
            delivered_pkts: self.delivered_pkts,
            delivered_at: self.delivered_at,
            lost_pkts: self.lost_pkts,
            newly_delivered_pkts: self.newly_delivered,
            newly_lost_pkts: self.newly_lost_pkts(),
            prior_delivered_pkts: self.delivered_pkts,
            prior_in_flight_pkts: self.prior_in_flight,
            in_flight_pkts,
            phase,
            ..RateSample::default()
        };
        if let Some(newest) = self.newest {
            sample.prior_delivered_pkts = newest.delivered_pkts;
            sample.is_app_limited = newest.is_app_limited;
            sample.rtt_ns = (!newest.was_resent).then(|| now - newest.sent_at);
            let interval_ns = newest.send_interval_ns.max(now - newest.delivered_at);
            // Faster than the path has ever been: a repeat that was not needed.
            sample.interval_ns =
                Some(interval_ns).filter(|&interval_ns| self.min_rtt_ns.is_none_or(|least_ns| interval_ns >= least_ns));
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    /// Segments of 100 octets, sent every 10 ms from 0.
    fn sent(count: u32) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..count).for_each(|number| board.note_sent(Ns::from(number) * 10 * MS, 100 * number, 100 * number + 100));
        board
    }

    fn ack(board: &mut Scoreboard, at_ms: Ns, ack: u32, blocks: &[(u32, u32)]) -> RateSample {
        board.handle_ack(at_ms * MS, ack, &Sack::new(blocks.iter().copied()));
        board.mark_lost(at_ms * MS, false);
        board.sample(at_ms * MS, Phase::Open)
    }

    #[test]
    fn the_rate_is_what_was_delivered_between_a_departure_and_its_ack() {
        let mut board = sent(5);
        let first = ack(&mut board, 100, 100, &[]);
        assert_eq!((first.interval_pkts(), first.interval_ns, first.rtt_ns), (1, Some(100 * MS), Some(100 * MS)));
        // sent at 10 ms, when nothing was delivered, the clock of deliveries at 0
        let second = ack(&mut board, 120, 200, &[]);
        assert_eq!((second.interval_pkts(), second.interval_ns), (2, Some(120 * MS)));
        // the sixth segment leaves at 120 ms, with two delivered; its ACK covers four more
        board.note_sent(120 * MS, 500, 600);
        let last = ack(&mut board, 240, 600, &[]);
        assert_eq!((last.interval_pkts(), last.interval_ns), (4, Some(120 * MS)));
        assert_eq!((last.delivered_pkts, last.in_flight_pkts, last.prior_in_flight_pkts), (6, 0, 4));
    }

    #[test]
    fn acks_that_arrive_together_do_not_raise_the_rate_above_that_of_sending() {
        let mut board = Scoreboard::default();
        board.note_sent(0, 0, 100);
        ack(&mut board, 10, 100, &[]); // a least round trip of 10 ms
        (1..5).for_each(|number| board.note_sent(u64::from(number) * 40 * MS, 100 * number, 100 * number + 100));
        // Three ACKs wait until 200 ms. The last segment was sent 120 ms after the first one, which left an idle path.
        (2..5).for_each(|number| {
            ack(&mut board, 200, 100 * number, &[]);
        });
        let last = ack(&mut board, 201, 500, &[]);
        assert_eq!((last.interval_pkts(), last.interval_ns), (4, Some(161 * MS)));
    }

    #[test]
    fn a_segment_is_lost_when_three_later_ones_have_arrived() {
        let mut board = sent(6);
        assert_eq!(ack(&mut board, 100, 100, &[]).in_flight_pkts, 5);
        assert_eq!(ack(&mut board, 120, 100, &[(200, 300)]).newly_lost_pkts, 0);
        assert_eq!(ack(&mut board, 130, 100, &[(200, 400)]).newly_lost_pkts, 0);
        let third = ack(&mut board, 140, 100, &[(200, 500)]);
        assert_eq!((third.newly_lost_pkts, third.newly_delivered_pkts, third.in_flight_pkts), (1, 1, 1));
        assert_eq!(board.next_lost(), Some((100, 200)));
        board.note_sent(140 * MS, 100, 200);
        assert_eq!((board.in_flight(), board.next_lost()), (2, None));
        let healed = ack(&mut board, 250, 600, &[]);
        assert_eq!((healed.delivered_pkts, healed.in_flight_pkts), (6, 0));
    }

    #[test]
    fn a_segment_is_overdue_a_quarter_of_the_least_round_trip_later() {
        let mut board = sent(3);
        ack(&mut board, 100, 100, &[]);
        board.handle_ack(120 * MS, 100, &Sack::new([(200, 300)]));
        // sent at 10 ms, a round trip of 100 ms and 25 ms more
        assert_eq!(board.mark_lost(120 * MS, false), Some(135 * MS));
        assert_eq!(board.mark_lost(135 * MS, false), None);
        assert!(board.has_lost());
    }

    #[test]
    fn a_lost_repeat_is_found_by_what_was_sent_after_it() {
        let mut board = sent(5);
        ack(&mut board, 100, 0, &[(100, 500)]);
        assert_eq!(board.next_lost(), Some((0, 100)));
        board.note_sent(100 * MS, 0, 100);
        board.note_sent(110 * MS, 500, 600);
        board.handle_ack(210 * MS, 0, &Sack::new([(100, 600)]));
        board.mark_lost(210 * MS, true);
        assert_eq!((board.next_lost(), board.in_flight()), (Some((0, 100)), 0));
        assert_eq!(board.sample(210 * MS, Phase::Recovery).lost_pkts, 2);
    }

    #[test]
    fn duplicates_without_reports_count_once() {
        let mut board = sent(5);
        (0..3).for_each(|_| board.handle_duplicate(100 * MS));
        assert_eq!((board.sample(100 * MS, Phase::Open).delivered_pkts, board.in_flight()), (3, 2));
        board.note_sent(100 * MS, 0, 100);
        board.handle_ack(200 * MS, 400, &Sack::default()); // the first one, and those of the duplicates
        let healed = board.sample(200 * MS, Phase::Open);
        assert_eq!((healed.delivered_pkts, healed.newly_delivered_pkts, healed.in_flight_pkts), (4, 1, 1));
    }

    #[test]
    fn after_a_timeout_everything_is_sent_again_in_order() {
        let mut board = sent(3);
        board.handle_ack(100 * MS, 0, &Sack::new([(100, 200)]));
        board.mark_all_lost();
        assert_eq!((board.in_flight(), board.next_lost()), (0, Some((0, 100))));
        board.note_sent(400 * MS, 0, 100);
        assert_eq!((board.in_flight(), board.next_lost()), (1, Some((200, 300))));
    }
}
