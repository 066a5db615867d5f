//! NewReno's loss recovery (RFC 6582) and limited transmit (RFC 3042).

use crate::tcp_rig::{MS, NONE, Peer};

/// Initial sequence numbers: an ordinary one, and two whose segments 2 to 5 cross 2^32 and 2^31.
const ISNS: [u32; 3] = [1_000, u32::MAX - 4_500, (1 << 31) - 4_500];

#[test]
fn one_loss_is_mended_by_fast_retransmit() {
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
