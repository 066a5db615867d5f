//! The retransmission timer at work: RFC 6298, Karn's rule, go back N.

use crate::tcp_rig::{MS, Peer};

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
    // Both have come. The sample ends the backoff: rttvar (3 * 50 + 0) / 4 = 37.5, RTO 250. Threshold max(2 / 2, 2) = 2,
    // so the window is 2.5.
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
    use pacelab_network::packet::flag;
    use pacelab_network::tcp::{congestion, habits::Timer, rto::Rto, sender::Sender};
    let control = congestion::by_name("newreno", 2, 20).unwrap();
    let mut sender = Sender::new(1000, 20_000, control, Timer::Rfc(Rto::new(3_000 * MS, 200 * MS)), 5);
    sender.open(None);
    assert_eq!(sender.poll_transmit(0).unwrap().flags, flag::SYN);
    sender.handle_timeout(3_000 * MS);
    let again = sender.poll_transmit(3_000 * MS).unwrap();
    assert_eq!((again.flags, again.seq), (flag::SYN, 5));
    assert_eq!(sender.timer_at(), 9_000 * MS);
}
