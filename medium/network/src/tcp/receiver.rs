//! The TCP receiver: reassembly and acknowledgements.

use pacelab_engine::{NEVER, Ns};

use crate::packet::{Sack, TcpHeader, flag};
use crate::tcp::{after, before, later};

/// A delayed ACK waits at most this long (ns-2's DelAck sink; RFC 1122 allows 500 ms).
const DELAYED_ACK_NS: Ns = 100_000_000;

/// A TCP receiver that delivers data to its application immediately.
#[derive(Clone, Debug)]
pub struct Receiver {
    window_bytes: u32,
    /// (delivered octets, segments per ACK from then on), ascending.
    ack_schedule: Vec<(u64, u32)>,
    next: u32,
    own_seq: u32,
    synchronised: bool,
    /// Received out of order: disjoint [start, end), in order.
    islands: Vec<(u32, u32)>,
    fin_at: Option<u32>,
    closed: bool,
    unacked: u32,
    ack_at: Ns,
    outgoing: Option<TcpHeader>,
    /// A mark was received, and CWR has not been received since (RFC 3168 Sec. 6.1.3).
    echo: bool,
    /// ACKs carry selective reports (RFC 2018).
    pub sack: bool,
    /// Where the segment that arrived last begins.
    latest: u32,
    /// Payload octets handed to the application.
    pub delivered_bytes: u64,
}

impl Receiver {
    /// Sets a schedule of delayed ACKs: (delivered octets, segments per ACK from then on)
    /// (E. Altman and T. Jimenez, "Novel delayed ACK techniques", PWC 2003).
    pub fn set_ack_schedule(&mut self, schedule: Vec<(u64, u32)>) {
        self.ack_schedule = schedule;
    }

    fn ack_every(&self) -> u32 {
        let passed = self.ack_schedule.iter().rev().find(|&&(octets, _)| octets <= self.delivered_bytes);
        passed.map_or(1, |&(_, every)| every)
    }

    /// The receiver always advertises `window_bytes`. `own_seq` is its initial sequence number.
    pub fn new(window_bytes: u32, ack_every: u32, own_seq: u32) -> Self {
        Receiver {
            window_bytes,
            ack_schedule: vec![(0, ack_every)],
            next: 0,
            own_seq,
            synchronised: false,
            islands: Vec::new(),
            fin_at: None,
            closed: false,
            unacked: 0,
            ack_at: NEVER,
            outgoing: None,
            echo: false,
            sack: false,
            latest: 0,
            delivered_bytes: 0,
        }
    }

    /// Notes that the next segment carries a congestion mark.
    pub fn note_mark(&mut self) {
        self.echo = true;
    }

    /// Handles a segment.
    pub fn handle(&mut self, now: Ns, header: &TcpHeader) {
        if header.flags & flag::CWR != 0 {
            self.echo = false;
        }
        if header.flags & flag::SYN != 0 {
            if !self.synchronised {
                self.synchronised = true;
                self.next = header.seq.wrapping_add(1);
            }
            self.answer(flag::SYN | flag::ACK, self.own_seq);
            return;
        }
        if !self.synchronised || (header.payload_bytes == 0 && header.flags & flag::FIN == 0) {
            return;
        }
        let end = header.seq.wrapping_add(header.payload_bytes);
        if header.flags & flag::FIN != 0 {
            self.fin_at = Some(end);
        }
        let in_order = header.seq == self.next && self.islands.is_empty();
        self.latest = header.seq;
        self.take(header.seq, end);
        if self.fin_at == Some(self.next) && !self.closed {
            self.closed = true;
            self.next = self.next.wrapping_add(1);
            self.answer(flag::FIN | flag::ACK, self.own_seq.wrapping_add(1));
            return;
        }
        self.unacked += 1;
        if !in_order || self.unacked >= self.ack_every() || self.closed {
            self.acknowledge();
        } else if self.ack_at == NEVER {
            self.ack_at = now + DELAYED_ACK_NS;
        }
    }

    /// Handles the delayed-ACK timer.
    pub fn handle_timeout(&mut self, now: Ns) {
        if now >= self.ack_at {
            self.acknowledge();
        }
    }

    /// When to call `handle_timeout`, or `NEVER`.
    pub fn timer_at(&self) -> Ns {
        self.ack_at
    }

    /// The segment to send, if any.
    pub fn poll_transmit(&mut self) -> Option<TcpHeader> {
        self.outgoing.take()
    }

    fn acknowledge(&mut self) {
        let seq = self.own_seq.wrapping_add(1 + u32::from(self.closed));
        self.answer(flag::ACK, seq);
    }

    fn answer(&mut self, flags: u8, seq: u32) {
        self.unacked = 0;
        self.ack_at = NEVER;
        let flags = if self.echo { flags | flag::ECE } else { flags };
        self.outgoing = Some(TcpHeader {
            seq,
            ack: self.next,
            flags,
            payload_bytes: 0,
            window_bytes: self.window_bytes,
            rtt_wired_ns: None,
            sack: if self.sack { self.selective() } else { Sack::default() },
        });
    }

    /// The block of the latest segment first, then the highest ones.
    fn selective(&self) -> Sack {
        let has_latest = |&&(start, end): &&(u32, u32)| !before(self.latest, start) && before(self.latest, end);
        let first = self.islands.iter().find(has_latest);
        Sack::new(first.into_iter().chain(self.islands.iter().rev().filter(|block| !has_latest(block))).copied())
    }

    /// Merges [start, end) into the received ranges, and delivers what is in order.
    fn take(&mut self, start: u32, end: u32) {
        let start = later(start, self.next);
        if !before(start, end) {
            return;
        }
        let (mut low, mut high) = (start, end);
        self.islands.retain(|&(a, b)| {
            let apart = before(b, low) || after(a, high);
            if !apart {
                low = if before(a, low) { a } else { low };
                high = later(b, high);
            }
            apart
        });
        let place = self.islands.partition_point(|&(a, _)| before(a, low));
        self.islands.insert(place, (low, high));
        if let Some(&(a, b)) = self.islands.first().filter(|&&(a, _)| a == self.next) {
            self.delivered_bytes += u64::from(b.wrapping_sub(a));
            self.next = b;
            self.islands.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u32, payload_bytes: u32) -> TcpHeader {
        TcpHeader { seq, payload_bytes, flags: flag::ACK, ..TcpHeader::default() }
    }

    fn opened(ack_every: u32) -> Receiver {
        let mut receiver = Receiver::new(10_000, ack_every, 7);
        receiver.handle(0, &TcpHeader { seq: u32::MAX - 100, flags: flag::SYN, ..TcpHeader::default() });
        let answer = receiver.poll_transmit().unwrap();
        assert_eq!((answer.flags, answer.seq, answer.ack), (flag::SYN | flag::ACK, 7, u32::MAX - 99));
        receiver
    }

    #[test]
    fn a_hole_is_acknowledged_until_it_is_filled_across_the_wrap() {
        let mut receiver = opened(1);
        let first = u32::MAX - 99;
        let ack = |receiver: &mut Receiver| receiver.poll_transmit().unwrap().ack;
        receiver.handle(0, &data(first, 60));
        assert_eq!(ack(&mut receiver), first.wrapping_add(60));
        receiver.handle(0, &data(first.wrapping_add(120), 60));
        assert_eq!(ack(&mut receiver), first.wrapping_add(60));
        receiver.handle(0, &data(first.wrapping_add(60), 60));
        assert_eq!(ack(&mut receiver), 80); // 2^32 - 100 + 180
        assert_eq!(receiver.delivered_bytes, 180);
    }

    #[test]
    fn delayed_acks_come_every_second_segment_or_after_100_ms() {
        let mut receiver = opened(2);
        let first = u32::MAX - 99;
        receiver.handle(5, &data(first, 10));
        assert!(receiver.poll_transmit().is_none());
        assert_eq!(receiver.timer_at(), 100_000_005);
        receiver.handle(6, &data(first.wrapping_add(10), 10));
        assert!(receiver.poll_transmit().is_some());
        receiver.handle(7, &data(first.wrapping_add(20), 10));
        receiver.handle_timeout(100_000_007);
        assert!(receiver.poll_transmit().is_some());
        assert_eq!(receiver.timer_at(), NEVER);
    }

    #[test]
    fn a_schedule_makes_acks_rarer_as_data_comes_in() {
        let mut receiver = opened(1);
        receiver.set_ack_schedule(vec![(0, 1), (20, 3)]);
        let first = u32::MAX - 99;
        let acked: Vec<bool> = (0..8)
            .map(|number| {
                receiver.handle(0, &data(first.wrapping_add(10 * number), 10));
                receiver.poll_transmit().is_some()
            })
            .collect();
        // the second segment brings the total to 20 octets: from there every third
        assert_eq!(acked, [true, false, false, true, false, false, true, false]);
    }

    #[test]
    fn a_fin_is_answered_by_a_fin() {
        let mut receiver = opened(1);
        let first = u32::MAX - 99;
        receiver.handle(0, &TcpHeader { flags: flag::ACK | flag::FIN, ..data(first, 10) });
        let answer = receiver.poll_transmit().unwrap();
        assert_eq!((answer.flags, answer.ack), (flag::FIN | flag::ACK, first.wrapping_add(11)));
    }
}
