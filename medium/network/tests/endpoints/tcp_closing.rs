//! The end of a transfer.

use pacelab_engine::NEVER;
use pacelab_network::packet::{TcpHeader, flag};

use crate::tcp_rig::{MS, Peer};

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
    peer.tell(200 * MS, first + 1000, flag::ACK);
    assert_eq!(sent(&mut peer, 200 * MS), [(first + 2000, 500, flag::ACK | flag::FIN)]);
    assert_eq!(first.wrapping_add(2_500), 0);
    peer
}

#[test]
fn the_last_segment_carries_the_fin_and_the_peers_fin_ends_it() {
    let mut peer = at_the_end();
    peer.tell(300 * MS, 1, flag::ACK | flag::FIN); // one beyond the FIN at 0
    assert_eq!(sent(&mut peer, 300 * MS), [(1, 0, flag::ACK)]);
    assert_eq!(peer.sender.timer_at(), NEVER);
    peer.tell(400 * MS, 1, flag::ACK);
    assert_eq!(sent(&mut peer, 400 * MS), []);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut peer = at_the_end();
    peer.tell(300 * MS, ISN + 1 + 2_000, flag::ACK);
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
    peer.tell(100 * MS, ISN + 1, flag::SYN | flag::ACK);
    assert_eq!(sent(&mut peer, 100 * MS), []);
    assert_eq!(peer.sender.timer_at(), NEVER);
}
