//! The TCP sender; the test is its peer: loss recovery, the retransmission timer, the end of a transfer. Segments of
//! 1000 bytes, counted from 0.

use pacelab_engine::{NEVER, Ns};
use pacelab_network::packet::{TcpHeader, flag};
use pacelab_network::tcp::congestion::{self, CongestionControl};
use pacelab_network::tcp::rto::{RetransmissionTimer, Rto};
use pacelab_network::tcp::sender::Sender;

pub const MS: Ns = 1_000_000;
/// No segment.
pub const NONE: [u32; 0] = [];
const SEGMENT_BYTES: u32 = 1000;

pub struct Peer {
    pub sender: Sender,
    isn: u32,
    /// The window that the peer advertises.
    pub window_bytes: u32,
}

impl Peer {
    /// NewReno that starts with a window of 2, against a receiver's window of `window_pkts`; RTO 3 s at first, 0.2 s at
    /// least. The SYN leaves at 0 and is answered at 100 ms: srtt 100, rttvar 50, RTO 300 ms.
    pub fn connected(isn: u32, window_pkts: u32, size_bytes: Option<u64>) -> Peer {
        let mut peer = Peer::connecting(isn, window_pkts, size_bytes);
        peer.receive(100 * MS, isn.wrapping_add(1), flag::SYN | flag::ACK);
        peer
    }

    /// The same before the answer to the SYN.
    pub fn connecting(isn: u32, window_pkts: u32, size_bytes: Option<u64>) -> Peer {
        let control = congestion::by_name("newreno", 2, window_pkts).unwrap();
        Peer::connecting_with(control, isn, window_pkts, size_bytes)
    }

    /// The same with another congestion control.
    pub fn connecting_with(
        control: Box<dyn CongestionControl>,
        isn: u32,
        window_pkts: u32,
        size_bytes: Option<u64>,
    ) -> Peer {
        let window_bytes = window_pkts * SEGMENT_BYTES;
        let rto = RetransmissionTimer::Rfc(Rto::new(3_000 * MS, 200 * MS));
        let mut sender = Sender::new(SEGMENT_BYTES, window_bytes, control, rto, isn);
        sender.open(size_bytes);
        let syn = sender.poll_transmit(0).unwrap();
        assert_eq!((syn.seq, syn.flags, syn.payload_bytes), (isn, flag::SYN, 0));
        assert_eq!(sender.poll_transmit(0), None);
        assert_eq!(sender.timer_at(), 3_000 * MS);
        Peer { sender, isn, window_bytes }
    }

    /// The sender receives a segment of the peer.
    pub fn receive(&mut self, now: Ns, ack: u32, flags: u8) {
        let seq = if flags & flag::SYN != 0 { 7 } else { 8 };
        let header = TcpHeader { seq, ack, flags, window_bytes: self.window_bytes, ..TcpHeader::default() };
        self.sender.handle(now, &header);
    }

    /// Sequence number of the first octet of a segment.
    pub fn seq(&self, segment: u32) -> u32 {
        self.isn.wrapping_add(1).wrapping_add(segment * SEGMENT_BYTES)
    }

    /// The peer acknowledges all segments before `segment`. Returns what the sender sends in response.
    pub fn ack(&mut self, now: Ns, segment: u32) -> Vec<u32> {
        self.receive(now, self.seq(segment), flag::ACK);
        self.sent(now)
    }

    /// The timer expires when it is due. Returns what the sender sends in response.
    pub fn expire(&mut self, at: Ns) -> Vec<u32> {
        assert_eq!(self.sender.timer_at(), at);
        self.sender.handle_timeout(at - 1);
        assert_eq!(self.sent(at - 1), NONE, "early timeouts are harmless");
        self.sender.handle_timeout(at);
        self.sent(at)
    }

    /// The segments that the sender sends now.
    pub fn sent(&mut self, now: Ns) -> Vec<u32> {
        let mut segments = Vec::new();
        while let Some(header) = self.sender.poll_transmit(now) {
            assert_eq!((header.flags, header.payload_bytes), (flag::ACK, SEGMENT_BYTES));
            let offset = header.seq.wrapping_sub(self.seq(0));
            assert_eq!(offset % SEGMENT_BYTES, 0);
            segments.push(offset / SEGMENT_BYTES);
        }
        segments
    }

    /// Slow start up to a window of 6: segments 0 to 3 acknowledged, 4 to 9 in flight.
    pub fn with_six_in_flight(isn: u32) -> Peer {
        Peer::connected(isn, 20, None).up_to_six()
    }

    /// The same for a peer that is connected already.
    pub fn up_to_six(self) -> Peer {
        let mut peer = self;
        // The answer to the SYN opens nothing: the initial window of 2 leaves.
        assert_eq!(peer.sent(100 * MS), [0, 1]);
        assert_eq!(peer.ack(200 * MS, 1), [2, 3]);
        assert_eq!(peer.ack(200 * MS, 2), [4, 5]);
        assert_eq!(peer.ack(300 * MS, 3), [6, 7]);
        assert_eq!(peer.ack(300 * MS, 4), [8, 9]);
        assert_eq!(peer.sender.window_pkts(), 6.0);
        peer
    }
}

// NewReno's loss recovery (RFC 6582) and limited transmit (RFC 3042).

/// Initial sequence numbers: an ordinary one, and two whose segments 2 to 5 cross 2^32 and 2^31.
const ISNS: [u32; 3] = [1_000, u32::MAX - 4_500, (1 << 31) - 4_500];

#[test]
fn one_loss_is_repaired_by_fast_retransmit() {
    for isn in ISNS {
        let mut peer = Peer::with_six_in_flight(isn);
        // Segment 4 is lost; each of 5 to 11 repeats the ACK.
        assert_eq!(peer.ack(400 * MS, 4), [10], "limited transmit");
        assert_eq!(peer.ack(400 * MS, 4), [11], "limited transmit");
        // Third: ssthresh 6 / 2 = 3, window 3 + 3, which covers 4 to 9.
        assert_eq!(peer.ack(400 * MS, 4), [4]);
        assert_eq!(peer.sender.window_pkts(), 3.0);
        assert_eq!(peer.ack(400 * MS, 4), NONE); // 7: to 10
        assert_eq!(peer.ack(400 * MS, 4), NONE); // 8: to 11
        assert_eq!(peer.ack(400 * MS, 4), [12]); // 9
        assert_eq!(peer.ack(400 * MS, 4), [13]); // 10
        // The hole is filled: 12 and 13 are in flight, the window is ssthresh 3 and the ACK's 1/3.
        assert_eq!(peer.ack(500 * MS, 12), [14]);
        assert_eq!(peer.sender.window_pkts(), 3.0 + 1.0 / 3.0);
        assert_eq!(peer.sender.timeouts, 0);
        assert_eq!((peer.sender.sent_pkts, peer.sender.retransmitted_pkts), (16, 1));
    }
}

#[test]
fn a_partial_ack_sends_the_next_hole_at_once() {
    for isn in ISNS {
        let mut peer = Peer::with_six_in_flight(isn);
        // 4 and 6 are lost: 5, 7, 8, 9, 10, 11 repeat the ACK.
        assert_eq!(peer.ack(400 * MS, 4), [10]);
        assert_eq!(peer.ack(400 * MS, 4), [11]);
        assert_eq!(peer.ack(400 * MS, 4), [4]);
        assert_eq!(peer.ack(400 * MS, 4), NONE);
        assert_eq!(peer.ack(400 * MS, 4), NONE);
        assert_eq!(peer.ack(400 * MS, 4), [12]); // window 3 + 6
        // ACK of 4 and 5: window 9 - 2 + 1 = 8 from 6 on: the hole, then 13.
        assert_eq!(peer.ack(500 * MS, 6), [6, 13]);
        assert_eq!(peer.ack(500 * MS, 6), [14]); // 12 has come
        // All up to 12: recovery began at 11, so it is over. 13 and 14 in flight, window 3 1/3.
        assert_eq!(peer.ack(600 * MS, 13), [15]);
        assert_eq!(peer.sender.retransmitted_pkts, 2);
        assert_eq!(peer.sender.window_pkts(), 3.0 + 1.0 / 3.0);
    }
}

#[test]
fn a_partial_ack_of_more_than_the_inflation_leaves_room_for_one_segment() {
    let mut peer = Peer::with_six_in_flight(1_000);
    // 4 and 10 are lost; 10 and 11 were sent by limited transmit. The window is 3 and 3 of inflation.
    (0..3).for_each(|_| drop(peer.ack(400 * MS, 4)));
    // The ACK of 4 to 9: inflation 3 - 6 + 1 = -2, so the window has room for one segment: the hole.
    assert_eq!(peer.ack(500 * MS, 10), [10]);
}

#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    let mut peer = Peer::with_six_in_flight(1_000);
    // Segment 1 was timed from 100 to 200 ms: rttvar 37.5; 3 from 200 to 300: 28.125. RTO 100 + 112.5.
    assert_eq!(peer.sender.timer_at(), 300 * MS + 212_500_000);
    (0..5).for_each(|_| drop(peer.ack(400 * MS, 4))); // 4, 5 and 6 are lost
    assert_eq!(peer.sender.timer_at(), 512_500_000, "a duplicate does not restart it");
    assert_eq!(peer.ack(450 * MS, 5)[0], 5);
    assert_eq!(peer.sender.timer_at(), 450 * MS + 212_500_000);
    assert_eq!(peer.ack(500 * MS, 6)[0], 6);
    assert_eq!(peer.sender.timer_at(), 450 * MS + 212_500_000);
}

#[test]
fn two_duplicates_are_no_loss() {
    let mut peer = Peer::with_six_in_flight(1_000);
    assert_eq!(peer.ack(400 * MS, 4), [10]);
    assert_eq!(peer.ack(400 * MS, 4), [11]);
    // Reordering only: 4 to 11 have come, the window grows to 7.
    assert_eq!(peer.ack(400 * MS, 12), [12, 13, 14, 15, 16, 17, 18]);
    assert_eq!((peer.sender.window_pkts(), peer.sender.retransmitted_pkts), (7.0, 0));
}

#[test]
fn congestion_avoidance_adds_a_segment_per_window() {
    let mut peer = Peer::with_six_in_flight(1_000);
    (0..7).for_each(|_| drop(peer.ack(400 * MS, 4)));
    peer.ack(500 * MS, 12); // 3.3333
    let mut window = 3.0 + 1.0 / 3.0;
    for segment in 13..16 {
        peer.ack(600 * MS, segment);
        window += 1.0 / window; // 3.6333, 3.9086, 4.1644
        assert!((peer.sender.window_pkts() - window).abs() < 1e-12);
    }
    assert!((peer.sender.window_pkts() - 4.1644).abs() < 1e-4);
}

#[test]
fn the_receivers_window_is_never_exceeded() {
    let mut peer = Peer::connected(1_000, 3, None);
    assert_eq!(peer.sent(100 * MS), [0, 1]);
    assert_eq!(peer.ack(200 * MS, 1), [2, 3]);
    assert_eq!(peer.ack(200 * MS, 2), [4]);
    assert_eq!(peer.ack(200 * MS, 2), NONE, "not by limited transmit either");
    assert_eq!(peer.ack(200 * MS, 3), [5]);
}

// The retransmission timer at work: RFC 6298, Karn's rule, go back N.

#[test]
fn each_expiry_doubles_the_wait_and_sends_the_first_segment() {
    let mut peer = Peer::connected(1_000, 20, None);
    assert_eq!(peer.sent(100 * MS), [0, 1]);
    // RTO 300 ms, then 600, 1200, ...
    assert_eq!(peer.expire(400 * MS), [0]);
    assert_eq!(peer.sender.window_pkts(), 1.0);
    assert_eq!(peer.expire(1_000 * MS), [0]);
    assert_eq!(peer.expire(2_200 * MS), [0]);
    assert_eq!(peer.sender.timer_at(), 2_200 * MS + 2_400 * MS);
    assert_eq!((peer.sender.timeouts, peer.sender.retransmitted_pkts), (3, 3));
}

#[test]
fn a_retransmitted_segment_gives_no_sample_and_the_backoff_stays() {
    let mut peer = Peer::connected(1_000, 20, None);
    peer.sent(100 * MS);
    assert_eq!(peer.expire(400 * MS), [0]);
    // Window 2 again: segment 1 once more, and 2, which is timed.
    assert_eq!(peer.ack(450 * MS, 1), [1, 2]);
    assert_eq!(peer.sender.rtt_samples_ns, [100 * MS], "the SYN's");
    assert_eq!(peer.sender.timer_at(), 450 * MS + 600 * MS, "still backed off");
    // Both have come. The sample ends the backoff: rttvar (3 * 50 + 0) / 4 = 37.5, RTO 250. Threshold max(2 / 2, 2) =
    // 2, so the window is 2.5.
    assert_eq!(peer.ack(550 * MS, 3), [3, 4]);
    assert_eq!(peer.sender.rtt_samples_ns, [100 * MS, 100 * MS]);
    assert_eq!(peer.sender.timer_at(), 550 * MS + 250 * MS);
    assert_eq!(peer.sender.window_pkts(), 2.5);
}

#[test]
fn duplicates_of_what_a_timeout_sent_again_are_no_new_loss() {
    // RFC 6582 Sec. 4.1, careful: until what was out at the timeout is acknowledged, three duplicates mean nothing.
    let mut peer = Peer::with_six_in_flight(1_000);
    assert_eq!(peer.expire(512_500_000), [4]);
    assert_eq!(peer.ack(600 * MS, 5), [5, 6]);
    let window = peer.sender.window_pkts();
    let sent: Vec<u32> = (0..4).flat_map(|_| peer.ack(600 * MS, 5)).collect();
    assert!(!sent.contains(&5));
    assert_eq!(peer.sender.window_pkts(), window);
}

#[test]
fn a_lost_syn_is_sent_again_after_the_initial_timeout() {
    let control = congestion::by_name("newreno", 2, 20).unwrap();
    let mut sender = Sender::new(1000, 20_000, control, RetransmissionTimer::Rfc(Rto::new(3_000 * MS, 200 * MS)), 5);
    sender.open(None);
    assert_eq!(sender.poll_transmit(0).unwrap().flags, flag::SYN);
    sender.handle_timeout(3_000 * MS);
    let again = sender.poll_transmit(3_000 * MS).unwrap();
    assert_eq!((again.flags, again.seq), (flag::SYN, 5));
    assert_eq!(sender.timer_at(), 9_000 * MS);
}

// The end of a transfer.

/// 2500 bytes with an initial sequence number such that the FIN lies at 0.
const ISN: u32 = u32::MAX - 2_500;

/// (seq, payload, flags) of all that is sent.
fn sent(peer: &mut Peer, now: u64) -> Vec<(u32, u32, u8)> {
    std::iter::from_fn(|| peer.sender.poll_transmit(now))
        .map(|TcpHeader { seq, payload_bytes, flags, .. }| (seq, payload_bytes, flags))
        .collect()
}

/// All data sent; the last segment carries the FIN.
fn at_the_end() -> Peer {
    let mut peer = Peer::connected(ISN, 20, Some(2_500));
    let first = ISN + 1;
    assert_eq!(sent(&mut peer, 100 * MS), [(first, 1000, flag::ACK), (first + 1000, 1000, flag::ACK)]);
    peer.receive(200 * MS, first + 1000, flag::ACK);
    assert_eq!(sent(&mut peer, 200 * MS), [(first + 2000, 500, flag::ACK | flag::FIN)]);
    assert_eq!(first.wrapping_add(2_500), 0);
    peer
}

#[test]
fn the_last_segment_carries_the_fin_and_the_peers_fin_ends_it() {
    let mut peer = at_the_end();
    peer.receive(300 * MS, 1, flag::ACK | flag::FIN); // one beyond the FIN at 0
    assert_eq!(sent(&mut peer, 300 * MS), [(1, 0, flag::ACK)]);
    assert_eq!(peer.sender.timer_at(), NEVER);
    peer.receive(400 * MS, 1, flag::ACK);
    assert_eq!(sent(&mut peer, 400 * MS), []);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut peer = at_the_end();
    peer.receive(300 * MS, ISN + 1 + 2_000, flag::ACK);
    assert_eq!(sent(&mut peer, 300 * MS), []);
    let due = peer.sender.timer_at();
    peer.sender.handle_timeout(due);
    assert_eq!(sent(&mut peer, due), [(ISN + 2_001, 500, flag::ACK | flag::FIN)]);
}

#[test]
fn closed_before_it_is_connected_it_sends_no_more() {
    let mut peer = Peer::connecting(ISN, 20, None);
    peer.sender.close();
    assert_eq!(peer.sender.timer_at(), NEVER);
    peer.receive(100 * MS, ISN + 1, flag::SYN | flag::ACK);
    assert_eq!(sent(&mut peer, 100 * MS), []);
    assert_eq!(peer.sender.timer_at(), NEVER);
}
