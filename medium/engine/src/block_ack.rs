//! Block Ack agreements of 802.11n: what the originator has sent and must repeat, and what the recipient holds until it
//! can deliver packets in order.
//!
//! Each pair of stations has a standing agreement with a window of 64 MPDUs, or of 256 if aggregates may be so long (see
//! docs/limits.md). Numbers of MPDUs do not wrap here; a capture shows them modulo 4096.
//!
//! Invariants
//! 1. An originator's outstanding MPDUs to one receiver are in one place: in service, or in one row of `repeats`.
//! 2. Their numbers lie within the window from the first one on, so that one bitmap covers them.
//! 3. A recipient delivers each number at most once, in ascending order. It skips a number only when the originator
//!    says that it gave the MPDU up: by a Block Ack Request with a later starting number.
//!
//! Source: IEEE 802.11-2016 Sec. 10.24.7 (HT-immediate Block Ack).

use std::collections::VecDeque;

use pacelab_air_config::{HighThroughput, Radio};

use crate::event_queue::Ns;
use crate::frame::Packet;
use crate::ids::{PacketId, StationId};
use crate::mpdu_set::MpduSet;
use crate::phy::frame_bytes;

/// The upper two bits of a number are the place of the access category: each category has its own agreements.
const CATEGORY_BIT: u32 = 30;

/// Size of a Block Ack: with a bitmap of 32 bytes if agreements have a window of more than 64 MPDUs.
pub(crate) fn block_ack_bytes(radio: &Radio) -> u32 {
    let long = radio.high_throughput().window() > HighThroughput::USUAL_FRAMES;
    if long { frame_bytes::LONG_BLOCK_ACK } else { frame_bytes::BLOCK_ACK }
}

/// A packet under a Block Ack agreement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mpdu {
    pub packet: Packet,
    /// MAC header and FCS included.
    pub bytes: u32,
    pub number: u32,
    /// Attempts to send it, RTS and data together.
    pub attempts: u32,
    /// Data frames that carried it.
    pub sent: u32,
    /// When it came into service.
    pub since: Ns,
}

/// An originator's information about one receiver.
#[derive(Clone, Debug)]
struct Agreement {
    to: StationId,
    next_number: u32,
    /// Numbers that were given up, and that the receiver still awaits. A Block Ack Request must move its window.
    given_up: Vec<u32>,
    /// The last rate for this receiver that a host chose.
    chosen_rate: Option<u32>,
}

/// The agreements of one access category as originator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Originator {
    /// The MPDUs of the frame in service, by number. Empty: a broadcast or a Block Ack Request alone is in service.
    pub mpdus: Vec<Mpdu>,
    /// Rows of MPDUs that wait for their repetition, each for one receiver, the longest waiting first.
    repeats: VecDeque<Vec<Mpdu>>,
    agreements: Vec<Agreement>,
    /// The first number of each agreement.
    first_number: u32,
    /// Receivers that hold packets which only a Block Ack Request releases.
    requests: Vec<StationId>,
    /// Rows of repetitions and packets for other receivers take turns.
    repeats_next: bool,
}

/// The next frame of an access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A Block Ack Request alone.
    Request(StationId),
    /// The row of repetitions that `Originator::mpdus` now has.
    Repeat,
    /// The first packet of the queue.
    Fresh,
    /// Nothing.
    Nothing,
}

impl Originator {
    /// The agreements of the category at this place.
    pub fn new(category: usize) -> Self {
        Originator { first_number: (category as u32) << CATEGORY_BIT, ..Originator::default() }
    }

    fn agreement(&mut self, to: StationId) -> &mut Agreement {
        let place = self.agreements.iter().position(|agreement| agreement.to == to).unwrap_or_else(|| {
            let next_number = self.first_number;
            self.agreements.push(Agreement { to, next_number, given_up: Vec::new(), chosen_rate: None });
            self.agreements.len() - 1
        });
        &mut self.agreements[place]
    }

    /// Numbers a packet and puts it behind the MPDUs in service.
    pub fn add(&mut self, now: Ns, to: StationId, packet: Packet, bytes: u32) {
        let agreement = self.agreement(to);
        let number = agreement.next_number;
        agreement.next_number += 1;
        self.mpdus.push(Mpdu { packet, bytes, number, attempts: 0, sent: 0, since: now });
    }

    /// Notes the rate that the host chose for a frame to this receiver.
    pub fn note_chosen_rate(&mut self, to: StationId, rate: u32) {
        self.agreement(to).chosen_rate = Some(rate);
    }

    /// The last rate for this receiver that the host chose.
    pub fn chosen_rate(&mut self, to: StationId) -> Option<u32> {
        self.agreement(to).chosen_rate
    }

    /// Whether one more MPDU for this receiver fits the window of the MPDUs in service.
    pub fn window_is_open(&mut self, to: StationId, window: u32) -> bool {
        let next = self.agreement(to).next_number;
        self.mpdus.first().is_none_or(|first| next - first.number < window)
    }

    /// Chooses what is sent next if the first waiting packet is for `waiting` (None: a broadcast; outer None: no
    /// packet). Call this only if nothing is in service.
    pub fn choose(&mut self, waiting: Option<Option<StationId>>) -> Next {
        debug_assert!(self.mpdus.is_empty());
        for to in self.requests.clone() {
            if let Some(row) = self.row_for(Some(to)).and_then(|place| self.repeats.remove(place)) {
                self.mpdus = row; // a request precedes it, if that can move the window
                return Next::Repeat;
            }
            if self.must_request(to) {
                return Next::Request(to);
            }
        }
        let own_row = waiting.and_then(|to| self.row_for(to));
        let repeats_first = self.repeats_next || waiting.is_none();
        let place = if repeats_first { Some(0) } else { own_row };
        match place.and_then(|place| self.repeats.remove(place)) {
            Some(row) => {
                self.mpdus = row;
                self.repeats_next = false;
                Next::Repeat
            }
            None if waiting.is_some() => {
                self.repeats_next = true;
                Next::Fresh
            }
            None => Next::Nothing,
        }
    }

    fn row_for(&self, to: Option<StationId>) -> Option<usize> {
        self.repeats.iter().position(|row| row.first().is_some_and(|mpdu| mpdu.packet.to == to))
    }

    /// Puts the MPDUs in service behind the rows that wait for repetition.
    pub fn repeat_later(&mut self, mpdus: Vec<Mpdu>) {
        if !mpdus.is_empty() {
            self.repeats.push_back(mpdus);
        }
    }

    /// Notes that an MPDU was given up. `at_once`: the receiver may hold later ones, so that a request must not wait for
    /// the next data.
    pub fn note_given_up(&mut self, to: StationId, number: u32, at_once: bool) {
        self.agreement(to).given_up.push(number);
        if at_once && !self.requests.contains(&to) {
            self.requests.push(to);
        }
    }

    /// Notes that the receiver answered a Block Ack Request with this starting number.
    pub fn note_window_moved(&mut self, to: StationId, start: u32) {
        let agreement = self.agreement(to);
        agreement.given_up.retain(|&number| number >= start);
        if agreement.given_up.is_empty() {
            self.requests.retain(|&other| other != to);
        }
    }

    /// Notes that a Block Ack Request was given up. The next data for this receiver is preceded by another one.
    pub fn note_request_failed(&mut self, to: StationId) {
        self.requests.retain(|&other| other != to);
    }

    /// Whether a Block Ack Request must precede the MPDUs in service for this receiver, because it can move the window
    /// over an MPDU that was given up.
    pub fn must_request(&mut self, to: StationId) -> bool {
        let start = self.starting_number(to);
        self.agreement(to).given_up.iter().any(|&number| number < start)
    }

    /// The starting number of a Block Ack Request: the first MPDU that is still to be delivered.
    pub fn starting_number(&mut self, to: StationId) -> u32 {
        let next = self.agreement(to).next_number;
        self.mpdus.first().map_or(next, |first| first.number)
    }

    /// Removes and returns the packets for this receiver that wait for repetition.
    pub fn recall(&mut self, to: StationId) -> Vec<Packet> {
        let Some(place) = self.row_for(Some(to)) else { return Vec::new() };
        let row = self.repeats.remove(place).unwrap_or_default();
        row.iter().for_each(|mpdu| self.note_given_up(to, mpdu.number, false));
        row.into_iter().map(|mpdu| mpdu.packet).collect()
    }
}

/// The decision of a recipient about an MPDU that it received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Deliver it, then the held MPDUs up to this number, which is excluded.
    Deliver {
        /// The next number that the recipient awaits.
        until: u32,
    },
    /// Hold it until the MPDUs before it have arrived.
    Hold,
    /// It was received before.
    Duplicate,
}

/// One agreement at the recipient.
#[derive(Clone, Debug)]
pub(crate) struct Recipient {
    from: StationId,
    /// The first number that was not delivered.
    next: u32,
    /// Numbers received beyond `next`, ascending.
    held: Vec<u32>,
}

impl Recipient {
    /// The recipient's end of the agreement to which an MPDU with this number belongs.
    pub fn new(from: StationId, number: u32) -> Self {
        Recipient { from, next: number >> CATEGORY_BIT << CATEGORY_BIT, held: Vec::new() }
    }

    pub fn is_for(&self, from: StationId, number: u32) -> bool {
        self.from == from && self.next >> CATEGORY_BIT == number >> CATEGORY_BIT
    }

    /// Whether this number was received: one bit of the Block Ack.
    pub fn has(&self, number: u32) -> bool {
        number < self.next || self.held.binary_search(&number).is_ok()
    }

    /// The bits of a Block Ack that starts at this number and covers `window` numbers.
    pub fn bitmap(&self, start: u32, window: u32) -> MpduSet {
        (0..window).filter(|place| self.has(start + place)).collect()
    }

    /// Takes an MPDU.
    pub fn accept(&mut self, number: u32) -> Verdict {
        if self.has(number) {
            return Verdict::Duplicate;
        }
        if number == self.next {
            self.next += 1;
            self.release_row();
            return Verdict::Deliver { until: self.next };
        }
        let place = self.held.partition_point(|&other| other < number);
        self.held.insert(place, number);
        Verdict::Hold
    }

    /// Moves the window to the starting number of a Block Ack Request. Returns the held numbers to deliver.
    pub fn move_to(&mut self, start: u32) -> Vec<u32> {
        if start <= self.next {
            return Vec::new();
        }
        let skipped = self.held.partition_point(|&number| number < start);
        let mut released: Vec<u32> = self.held.drain(..skipped).collect();
        self.next = start;
        released.extend(self.release_row());
        released
    }

    /// Advances over held numbers without a gap.
    fn release_row(&mut self) -> Vec<u32> {
        let first = self.next;
        let row = self.held.iter().zip(first..).take_while(|&(&number, expected)| number == expected).count();
        self.next += row as u32;
        self.held.drain(..row).collect()
    }
}

/// One MPDU inside an aggregate on the air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subframe {
    pub packet: PacketId,
    pub number: u32,
    /// Offset of the MPDU's first byte in the PSDU, after its delimiter.
    pub offset: u32,
    pub bytes: u32,
}

/// An aggregate as it was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentAggregate {
    pub subframes: Vec<Subframe>,
    pub psdu_bytes: u32,
}

/// The aggregates that a station sent last. A station that hears a frame may evaluate it as late as the start of the
/// second frame after it (see `station`), so the last four are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentAggregates {
    last: [SentAggregate; 4],
    count: u32,
}

impl SentAggregates {
    /// Keeps an aggregate.
    pub fn keep(&mut self, aggregate: SentAggregate) {
        self.count = self.count.wrapping_add(1);
        self.last[self.count as usize % 4] = aggregate;
    }

    /// The number of the aggregate that was kept last.
    pub fn newest(&self) -> u32 {
        self.count
    }

    pub fn get(&self, number: u32) -> &SentAggregate {
        &self.last[number as usize % 4]
    }

    pub fn get_mut(&mut self, number: u32) -> &mut SentAggregate {
        &mut self.last[number as usize % 4]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pacelab_air_config::Category;

    fn packet(id: u32, to: u32) -> Packet {
        Packet { id: PacketId(id), to: Some(StationId(to)), bytes: 1500, category: Category::default(), rates: None }
    }

    #[test]
    fn a_recipient_delivers_in_order_and_once() {
        let mut recipient = Recipient::new(StationId(1), 0);
        assert_eq!(recipient.accept(0), Verdict::Deliver { until: 1 });
        assert_eq!(recipient.accept(2), Verdict::Hold);
        assert_eq!(recipient.accept(4), Verdict::Hold);
        assert_eq!(recipient.accept(2), Verdict::Duplicate);
        assert_eq!(recipient.accept(0), Verdict::Duplicate);
        assert_eq!(
            (0..6).map(|number| recipient.has(number)).collect::<Vec<_>>(),
            [true, false, true, false, true, false]
        );
        assert_eq!(recipient.bitmap(0, 64).words(), [0b10101, 0, 0, 0]);
        assert_eq!(recipient.accept(1), Verdict::Deliver { until: 3 });
        assert_eq!(recipient.accept(3), Verdict::Deliver { until: 5 });
    }

    #[test]
    fn a_request_moves_the_window_over_what_was_given_up() {
        let mut recipient = Recipient::new(StationId(1), 0);
        for number in [1, 2, 4, 6] {
            assert_eq!(recipient.accept(number), Verdict::Hold);
        }
        assert!(recipient.move_to(0).is_empty());
        assert_eq!(recipient.move_to(4), [1, 2, 4]);
        assert!(recipient.has(3), "3 was given up: the originator must not send it again");
        assert_eq!(recipient.accept(5), Verdict::Deliver { until: 7 });
    }

    #[test]
    fn the_window_ends_64_after_the_first_mpdu_in_service() {
        let mut originator = Originator::default();
        for number in 0..64 {
            assert!(originator.window_is_open(StationId(1), 64), "{number}");
            originator.add(0, StationId(1), packet(number, 1), 1538);
        }
        assert!(!originator.window_is_open(StationId(1), 64));
        originator.mpdus.remove(0);
        assert!(originator.window_is_open(StationId(1), 64));
    }

    #[test]
    fn repetitions_and_packets_for_others_take_turns() {
        let mut originator = Originator::default();
        let (a, b) = (StationId(1), StationId(2));
        let lose = |originator: &mut Originator| {
            let mpdus = std::mem::take(&mut originator.mpdus);
            originator.repeat_later(mpdus);
        };
        assert_eq!(originator.choose(Some(Some(a))), Next::Fresh);
        originator.add(0, a, packet(0, 1), 1538);
        lose(&mut originator);
        // the row for A was lost; the queue has packets for B
        assert_eq!(originator.choose(Some(Some(b))), Next::Repeat);
        lose(&mut originator);
        assert_eq!(originator.choose(Some(Some(b))), Next::Fresh);
        assert_eq!(originator.choose(Some(Some(b))), Next::Repeat);
        lose(&mut originator);
        // a packet for A never overtakes the row for A
        assert_eq!(originator.choose(Some(Some(a))), Next::Repeat);
        assert_eq!(originator.mpdus[0].packet.id, PacketId(0));
        originator.mpdus.clear();
        assert_eq!(originator.choose(None), Next::Nothing);
    }

    #[test]
    fn a_receiver_that_holds_packets_gets_a_request() {
        let mut originator = Originator::default();
        let to = StationId(1);
        originator.add(0, to, packet(0, 1), 1538);
        originator.mpdus.clear();
        originator.note_given_up(to, 0, true);
        assert_eq!((originator.choose(None), originator.starting_number(to)), (Next::Request(to), 1));
        originator.note_request_failed(to);
        assert_eq!(originator.choose(None), Next::Nothing);
        assert!(originator.must_request(to), "before the next data");
        originator.note_window_moved(to, 1);
        assert!(!originator.must_request(to));
    }

    #[test]
    fn a_request_waits_until_all_mpdus_before_the_lost_one_are_delivered() {
        // 0 is outstanding, 1 was given up, 2 was received
        let mut originator = Originator::default();
        let to = StationId(1);
        (0..3).for_each(|id| originator.add(0, to, packet(id, 1), 1538));
        originator.mpdus.truncate(1);
        originator.note_given_up(to, 1, true);
        assert!(!originator.must_request(to), "a window that starts at 0 does not pass 1");
        let row = std::mem::take(&mut originator.mpdus);
        originator.repeat_later(row);
        assert_eq!(originator.choose(None), Next::Repeat);
        originator.mpdus.clear(); // 0 is delivered
        assert_eq!((originator.choose(None), originator.starting_number(to)), (Next::Request(to), 3));
    }
}
