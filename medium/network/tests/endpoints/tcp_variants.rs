//! Where TCP senders differ: the loss recovery of ns-2 in 2001, Tahoe and Reno, congestion marks, windows below one
//! segment, and the states of a connection. Segments of 1000 bytes, counted from 0; expected values by hand.
//!
//! Sources: RFC 5681, RFC 6582, RFC 3042, RFC 3168 Sec. 6.1.2, RFC 9293 Sec. 3.10; tcp.cc and tcp-newreno.cc of
//! ns-2.1b8a; FeW: Nahm, Helmy and Kuo 2005, Eq. (8).

use pacelab_air_config::FewSettings;
use pacelab_engine::NEVER;
use pacelab_network::packet::flag;
use pacelab_network::tcp::congestion::{self, Few};
use pacelab_network::tcp::loss_recovery::LossRecovery;

use crate::tcp::{MS, NONE, Peer};

/// Slow start up to a window of 6 (segments 4 to 9 in flight), with the loss recovery of ns-2 in 2001.
fn of_2001() -> Peer {
    let mut peer = Peer::with_six_in_flight(1_000);
    peer.sender.set_loss_recovery(LossRecovery::NS2_OF_2001);
    peer
}

#[test]
fn ns2_of_2001_sends_nothing_for_two_duplicates_and_restarts_the_timer() {
    let mut peer = of_2001();
    assert_eq!(peer.ack(400 * MS, 4), NONE, "no limited transmit");
    assert_eq!(peer.ack(400 * MS, 4), NONE);
    // Third: the window is 6 / 2 = 3 and 3 of inflation, which 4 to 9 fill. RTO 212.5 ms from now on.
    assert_eq!(peer.ack(400 * MS, 4), [4]);
    assert_eq!(peer.sender.timer_at(), 400 * MS + 212_500_000);
    assert_eq!(peer.ack(400 * MS, 4), [10]);
    assert_eq!(peer.ack(400 * MS, 4), [11]);
    // A partial ACK takes all inflation away: 6 to 8 fill the window of 3. Each restarts the timer.
    assert_eq!(peer.ack(500 * MS, 6), [6]);
    assert_eq!(peer.sender.timer_at(), 500 * MS + 212_500_000);
    assert_eq!(peer.ack(600 * MS, 8), [8]);
    assert_eq!(peer.sender.timer_at(), 600 * MS + 212_500_000);
}

#[test]
fn half_of_an_odd_window_is_rounded_down_by_ns2_of_2001_alone() {
    for (recovery, window_pkts) in [(LossRecovery::RFC, 3.5), (LossRecovery::NS2_OF_2001, 3.0)] {
        let mut peer = Peer::with_six_in_flight(1_000);
        peer.sender.set_loss_recovery(recovery);
        assert_eq!(peer.ack(400 * MS, 5), [10, 11]);
        assert_eq!(peer.sender.window_pkts(), 7.0);
        (0..3).for_each(|_| drop(peer.ack(400 * MS, 5)));
        assert_eq!(peer.sender.window_pkts(), window_pkts);
    }
}

#[test]
fn duplicates_after_a_timeout_inflate_the_window_in_ns2_of_2001_alone() {
    // The timeout at 512.5 ms makes the window 1, the ACK of segment 4 makes it 2: 5 and 6. The third duplicate belongs
    // to what was sent before the timeout. ns-2 of 2001 inflates by 3 and then by 4, and sends two segments at most: 7
    // and 8, then 9 and 10. RFC 6582: the limited transmit of two segments, and no more.
    for (recovery, third, fourth) in
        [(LossRecovery::NS2_OF_2001, vec![7, 8], vec![9, 10]), (LossRecovery::RFC, vec![], vec![])]
    {
        let mut peer = Peer::with_six_in_flight(1_000);
        peer.sender.set_loss_recovery(recovery);
        assert_eq!(peer.expire(512_500_000), [4]);
        assert_eq!(peer.ack(600 * MS, 5), [5, 6]);
        (0..2).for_each(|_| drop(peer.ack(600 * MS, 5)));
        assert_eq!(peer.ack(600 * MS, 5), third);
        assert_eq!(peer.ack(600 * MS, 5), fourth);
    }
}

fn six_in_flight_with(control: &str) -> Peer {
    let control = congestion::by_name(control, 2, 20).unwrap();
    let mut peer = Peer::connecting_with(control, 1_000, 20, None);
    peer.receive(100 * MS, 1_001, flag::SYN | flag::ACK);
    peer.up_to_six()
}

#[test]
fn tahoe_goes_back_to_the_lost_segment_and_starts_from_one() {
    let mut peer = six_in_flight_with("tahoe");
    (0..2).for_each(|_| drop(peer.ack(400 * MS, 4)));
    assert_eq!(peer.ack(400 * MS, 4), [4]);
    assert_eq!((peer.sender.window_pkts(), peer.sender.timer_at()), (1.0, 400 * MS + 212_500_000));
    assert_eq!(peer.ack(500 * MS, 5), [5, 6]);
    assert_eq!(peer.sender.timeouts, 0);
}

#[test]
fn the_first_new_ack_ends_the_recovery_of_reno() {
    let mut peer = six_in_flight_with("reno");
    // 4 and 6 are lost. The ACK of 4 and 5 ends the recovery: window 3 and 1/3, and nothing is sent again.
    (0..5).for_each(|_| drop(peer.ack(400 * MS, 4)));
    assert_eq!(peer.ack(500 * MS, 6), NONE);
    assert_eq!(peer.sender.window_pkts(), 3.0 + 1.0 / 3.0);
    assert_eq!(peer.sender.retransmitted_pkts, 1);
}

/// (segment, flags) of all that is sent.
fn sent(peer: &mut Peer, now: u64) -> Vec<(u32, u8)> {
    let first = peer.seq(0);
    std::iter::from_fn(|| peer.sender.poll_transmit(now))
        .map(|header| (header.seq.wrapping_sub(first) / 1000, header.flags))
        .collect()
}

#[test]
fn a_mark_halves_the_window_once_a_window_and_nothing_is_sent_again() {
    const ECHO: u8 = flag::ACK | flag::ECE;
    let mut peer = Peer::with_six_in_flight(1_000);
    peer.sender.ecn = true;
    let mark = |peer: &mut Peer, segment: u32| {
        peer.receive(400 * MS, peer.seq(segment), ECHO);
        sent(peer, 400 * MS)
    };
    // Window 6 / 2 = 3, and 1/3 for the ACK of segment 4: 5 to 9 are in flight.
    assert_eq!(mark(&mut peer, 5), []);
    assert_eq!(peer.sender.window_pkts(), 3.0 + 1.0 / 3.0);
    // The same window is still marked until 10 is acknowledged. The first new segment carries CWR.
    assert_eq!(mark(&mut peer, 8), [(10, flag::ACK | flag::CWR)]);
    assert_eq!(mark(&mut peer, 9), [(11, flag::ACK)]);
    let grown = peer.sender.window_pkts();
    assert!(grown > 3.8, "{grown}");
    assert_eq!(mark(&mut peer, 11), [(12, flag::ACK), (13, flag::ACK), (14, flag::ACK)]);
    // 11 lies beyond the marked window: the next mark halves.
    let window = peer.sender.window_pkts();
    mark(&mut peer, 12);
    assert!(peer.sender.window_pkts() < window / 2.0 + 0.6, "{}", peer.sender.window_pkts());
    assert_eq!(peer.sender.retransmitted_pkts, 0);
}

#[test]
fn a_mark_is_ignored_without_ecn_and_during_recovery() {
    let mut peer = Peer::with_six_in_flight(1_000);
    peer.receive(400 * MS, peer.seq(5), flag::ACK | flag::ECE);
    assert_eq!(peer.sender.window_pkts(), 7.0);
    let mut peer = Peer::with_six_in_flight(1_000);
    peer.sender.ecn = true;
    (0..3).for_each(|_| drop(peer.ack(400 * MS, 4)));
    peer.receive(400 * MS, peer.seq(4), flag::ACK | flag::ECE);
    assert_eq!(peer.sender.window_pkts(), 3.0, "the loss has halved it already");
}

/// FeW with a window of 2, after two timeouts: the window is 1/2, segment 0 was sent again at 1000 ms.
fn few(alpha: f64, size_bytes: Option<u64>) -> Peer {
    let control = Box::new(Few::new(2.0, FewSettings { alpha, min_window_pkts: 1.0 }));
    let mut peer = Peer::connecting_with(control, 1_000, 20, size_bytes);
    peer.receive(100 * MS, 1_001, flag::SYN | flag::ACK);
    sent(&mut peer, 100 * MS);
    for (at, window_pkts) in [(400 * MS, 1.0), (1_000 * MS, 0.5)] {
        assert_eq!(peer.sender.timer_at(), at);
        peer.sender.handle_timeout(at);
        assert_eq!((sent(&mut peer, at).len(), peer.sender.window_pkts()), (1, window_pkts));
    }
    peer
}

#[test]
fn a_window_below_one_segment_spaces_segments_by_its_inverse_in_round_trips() {
    let mut peer = few(0.01, None);
    // While segment 0 is in flight the timer is the retransmission timer: 300 ms doubled twice.
    assert_eq!(peer.sender.timer_at(), 1_000 * MS + 1_200 * MS);
    // W = 1/2 + 0.01 / (1/2) = 0.52. The round trip is 100 ms: the next segment leaves 200 ms after the last one.
    assert_eq!(peer.ack(1_050 * MS, 1), NONE);
    assert_eq!(peer.sender.timer_at(), 1_200 * MS);
    assert_eq!(peer.sent(1_200 * MS - 1), NONE);
    assert_eq!(peer.sent(1_200 * MS), [1]);
    // 100 / 0.52 = 192.307692 ms later.
    assert_eq!(peer.ack(1_300 * MS, 2), NONE);
    assert_eq!(peer.sender.timer_at(), 1_392_307_692);
    peer.sender.handle_timeout(1_392_307_692);
    assert_eq!(peer.sent(1_392_307_692), [2]);
    assert_eq!(peer.sender.timeouts, 2, "the end of the spacing is no timeout");
}

#[test]
fn a_window_of_a_segment_or_more_is_not_spaced() {
    let mut peer = few(1.0, None);
    // W = 1/2 + 1 / (1/2) = 2.5.
    assert_eq!(peer.ack(1_050 * MS, 1), [1, 2]);
    // W = 1/2 + (1/4) / (1/2) = 1, exactly. The timer is the retransmission timer.
    let mut peer = few(0.25, None);
    peer.receive(1_050 * MS, peer.seq(1), flag::ACK);
    assert_eq!(peer.sender.timer_at(), 1_050 * MS + 1_200 * MS);
    assert_eq!(peer.sent(1_050 * MS), [1]);
}

#[test]
fn a_finished_flow_waits_for_no_spacing() {
    let mut peer = few(0.01, Some(1_000));
    // Segment 0 and the FIN are acknowledged.
    peer.receive(1_100 * MS, peer.seq(1).wrapping_add(1), flag::ACK);
    assert_eq!(peer.sender.timer_at(), NEVER);
}

#[test]
fn the_window_in_use_is_the_smaller_of_the_two() {
    let mut peer = Peer::with_six_in_flight(1_000);
    assert_eq!(peer.sender.smoothed_rtt_ns(), Some(100 * MS));
    peer.window_bytes = 4_000;
    assert_eq!(peer.ack(400 * MS, 5), NONE);
    assert_eq!(peer.sender.window_pkts(), 4.0);
    // 6 to 9 fill the window of 4.
    assert_eq!(peer.ack(400 * MS, 6), NONE);
    assert_eq!(peer.ack(400 * MS, 7), [10]);
}

#[test]
fn a_connection_closed_without_a_size_ends_after_what_was_sent() {
    let mut peer = Peer::connected(1_000, 20, None);
    assert_eq!(peer.sent(100 * MS), [0, 1]);
    peer.sender.close();
    assert_eq!(sent(&mut peer, 100 * MS), [(2, flag::ACK | flag::FIN)]);
    peer.receive(200 * MS, peer.seq(2).wrapping_add(1), flag::ACK | flag::FIN);
    assert_eq!(sent(&mut peer, 200 * MS), [(2, flag::ACK)]);
    assert_eq!(peer.sender.timer_at(), NEVER);
}

#[test]
fn closing_does_not_cut_a_transfer_of_a_given_size() {
    let mut peer = Peer::connected(1_000, 20, Some(3_000));
    assert_eq!(peer.sent(100 * MS), [0, 1]);
    peer.sender.close();
    peer.receive(200 * MS, peer.seq(2), flag::ACK);
    assert_eq!(sent(&mut peer, 200 * MS), [(2, flag::ACK | flag::FIN)]);
}

#[test]
fn only_a_syn_opens_and_only_a_segment_with_ack_acknowledges() {
    let mut peer = Peer::connecting(1_000, 20, None);
    peer.receive(100 * MS, 1_001, flag::ACK);
    assert!(std::iter::from_fn(|| peer.sender.poll_transmit(100 * MS)).take(3).all(|header| header.payload_bytes == 0));
    let mut peer = Peer::with_six_in_flight(1_000);
    peer.receive(400 * MS, peer.seq(6), 0);
    assert_eq!(peer.sent(400 * MS), NONE);
    assert_eq!(peer.sender.window_pkts(), 6.0);
}

#[test]
fn repeated_acks_of_everything_are_no_duplicates() {
    let mut peer = Peer::with_six_in_flight(1_000);
    peer.window_bytes = 0;
    assert_eq!(peer.ack(400 * MS, 10), NONE);
    (0..4).for_each(|_| assert_eq!(peer.ack(400 * MS, 10), NONE));
    // Nothing is in flight and the receiver's window opens again: the window of 7 leaves, none of it again.
    peer.window_bytes = 20_000;
    assert_eq!(peer.ack(500 * MS, 10), [10, 11, 12, 13, 14, 15, 16]);
    assert_eq!(peer.sender.retransmitted_pkts, 0);
}

#[test]
fn the_peers_fin_ends_the_sender_only_after_its_own_fin_was_acknowledged() {
    // The peer's FIN comes with an ACK of segment 0: the data, which continues, acknowledges the FIN.
    let mut peer = Peer::connected(1_000, 20, Some(3_000));
    assert_eq!(peer.sent(100 * MS), [0, 1]);
    peer.receive(200 * MS, peer.seq(1), flag::ACK | flag::FIN);
    assert_eq!(sent(&mut peer, 200 * MS), [(2, flag::ACK | flag::FIN)]);
    assert!(peer.sender.timer_at() < NEVER);
    // An ACK of everything without a FIN: the sender still answers the peer's FIN.
    let mut peer = Peer::connected(1_000, 20, Some(1_000));
    assert_eq!(sent(&mut peer, 100 * MS), [(0, flag::ACK | flag::FIN)]);
    let end = peer.seq(1).wrapping_add(1);
    peer.receive(200 * MS, end, flag::ACK);
    assert_eq!(sent(&mut peer, 200 * MS), []);
    peer.receive(300 * MS, end, flag::ACK | flag::FIN);
    assert_eq!(sent(&mut peer, 300 * MS), [(1, flag::ACK)]);
}
