//! AODV as in ns-2.1b8a: each rule by values that follow from its `aodv.cc` and `aodv.h`.

use pacelab_engine::{Ns, Stream};
use pacelab_network::aodv::rules::Rules;
use pacelab_network::aodv::{Aodv, Command, Message, Transit};
use pacelab_network::ids::{NodeId, PacketId};

const S: Ns = 1_000_000_000;
const MS: Ns = 1_000_000;

fn node(number: u32) -> Aodv {
    Aodv::new(NodeId(number), Rules::ns2_of_2001(), Stream::new(1, u64::from(number)))
}

fn own(packet: u32, target: u32) -> Transit {
    Transit { packet: PacketId(packet), is_own: true, target: NodeId(target), forwards: 0, from: None }
}

fn passing(packet: u32, target: u32, from: u32) -> Transit {
    Transit { packet: PacketId(packet), is_own: false, target: NodeId(target), forwards: 1, from: Some(NodeId(from)) }
}

fn reply(hops: u32, target: u32, target_seq: u32, origin: u32) -> Message {
    let (target, origin) = (NodeId(target), NodeId(origin));
    Message::Reply { hops, target, target_seq, origin, lifetime_ns: 60 * S, sent_at: 0 }
}

fn request(id: u32, origin: u32, target: u32, target_seq: u32) -> Message {
    let (origin, target) = (NodeId(origin), NodeId(target));
    Message::Request { id, hops: 0, origin, origin_seq: 1, target, target_seq, sent_at: 0 }
}

/// The commands so far, in one line each.
fn commands(aodv: &mut Aodv) -> Vec<String> {
    std::iter::from_fn(|| aodv.poll()).map(|command| line(&command)).collect()
}

fn line(command: &Command) -> String {
    match command {
        Command::Broadcast { message: Message::Request { origin_seq, target_seq, hops, .. }, ttl, .. } => {
            format!("request ttl {ttl} hops {hops} seq {origin_seq} wanted {target_seq}")
        }
        Command::Broadcast { .. } => "broadcast".into(),
        Command::Unicast { message: Message::Reply { hops, target_seq, lifetime_ns, .. }, next_hop, .. } => {
            format!("reply to {} hops {hops} seq {target_seq} lives {} s", next_hop.0, lifetime_ns / S)
        }
        Command::Unicast { message: Message::Error { unreachable }, next_hop, ttl } => {
            let lost: Vec<_> = unreachable.iter().map(|&(target, seq)| (target.0, seq)).collect();
            format!("error to {} ttl {ttl} {lost:?}", next_hop.0)
        }
        Command::Unicast { .. } => "unicast".into(),
        Command::Forward { packet, next_hop, delay_ns } => {
            format!("forward {} to {} after {} ms", packet.0, next_hop.0, delay_ns / MS)
        }
        Command::Drop { packet } => format!("drop {}", packet.0),
        Command::Keep { packet } => format!("keep {}", packet.0),
        Command::Recall { next_hop } => format!("recall {}", next_hop.0),
    }
}

/// Node 1 with routes to 4 over 2 (sequence number 8, two hops counted) and to 0, a neighbour.
fn between_0_and_4() -> Aodv {
    let mut aodv = node(1);
    aodv.receive(0, request(1, 0, 4, 0), NodeId(0), Some(NodeId(0)), 9);
    aodv.receive(0, reply(2, 4, 8, 0), NodeId(2), Some(NodeId(0)), 29);
    commands(&mut aodv);
    aodv
}

#[test]
fn the_ring_search_starts_at_one_hop_and_grows_by_two() {
    // TTL_START 1, TTL_INCREMENT 2, TTL_THRESHOLD 7, NETWORK_DIAMETER 30; each request counts seqno up by one.
    let mut aodv = node(0);
    assert_eq!(aodv.send(0, own(1, 4)), None);
    let mut asked = commands(&mut aodv);
    for half_second in 1..=7 {
        aodv.purge(half_second * S / 2);
        asked.extend(commands(&mut aodv));
    }
    // Waits of 2 * TTL * 30 ms: 60, 180, 300, and 420 ms, each looked after at the next half second.
    let expected = ["ttl 1", "ttl 3", "ttl 5", "ttl 7", "ttl 30"].iter().zip(1..);
    let expected: Vec<String> = expected.map(|(ttl, seq)| format!("request {ttl} hops 0 seq {seq} wanted 0")).collect();
    assert_eq!(asked, expected);
}

#[test]
fn after_the_last_request_packets_wait_on() {
    let mut aodv = node(0);
    aodv.send(0, own(1, 4));
    let mut dropped = Vec::new();
    // 30 s is the packet's own time limit (RTQ_TIMEOUT).
    for half_second in 1..=59 {
        aodv.purge(half_second * S / 2);
        dropped.extend(commands(&mut aodv).into_iter().filter(|command| command.starts_with("drop")));
    }
    assert_eq!(dropped, Vec::<String>::new());
}

#[test]
fn the_destination_answers_with_hop_count_0_and_a_minute() {
    let mut aodv = node(4);
    aodv.receive(0, request(1, 0, 4, 0), NodeId(3), Some(NodeId(3)), 9);
    assert_eq!(commands(&mut aodv), ["reply to 3 hops 0 seq 1 lives 60 s"]);
    // max(seqno, wanted) + 1 without parentheses: 1 > 0 stays 1; 1 > 5 is false, so 5 + 1.
    aodv.receive(0, request(2, 0, 4, 5), NodeId(3), Some(NodeId(3)), 9);
    assert_eq!(commands(&mut aodv), ["reply to 3 hops 0 seq 6 lives 60 s"]);
}

#[test]
fn a_break_removes_the_route_to_one_destination_and_informs_its_users() {
    let mut aodv = between_0_and_4();
    aodv.receive(0, reply(3, 5, 2, 0), NodeId(2), Some(NodeId(0)), 29);
    assert_eq!(aodv.send(S, passing(1, 4, 0)), Some(NodeId(2)));
    commands(&mut aodv);
    aodv.link_failed(S, passing(1, 4, 0), NodeId(2));
    assert_eq!(commands(&mut aodv), ["error to 0 ttl 1 [(4, 9)]", "recall 2", "drop 1"]);
    assert_eq!((aodv.hops_to(NodeId(4)), aodv.hops_to(NodeId(5))), (None, Some(3)), "both went over node 2");
}

#[test]
fn a_neighbour_is_informed_for_50_seconds_after_its_last_packet() {
    for (silent_s, told) in [(49, true), (51, false)] {
        let mut aodv = between_0_and_4();
        aodv.send(S, passing(1, 4, 0));
        aodv.send((1 + silent_s) * S - S / 2, passing(2, 4, 3));
        commands(&mut aodv);
        aodv.link_failed((1 + silent_s) * S, passing(2, 4, 3), NodeId(2));
        let found = commands(&mut aodv).contains(&"error to 0 ttl 1 [(4, 9)]".into());
        assert_eq!(found, told, "{silent_s} s");
    }
}

#[test]
fn a_packet_without_a_route_is_reported_to_where_it_came_from() {
    let mut aodv = node(1);
    assert_eq!(aodv.send(0, passing(7, 4, 3)), None);
    assert_eq!(commands(&mut aodv), ["error to 3 ttl 1 [(4, 0)]", "drop 7"]);
}

#[test]
fn the_source_keeps_the_lost_packet_behind_those_of_the_queue() {
    let mut aodv = node(0);
    assert_eq!(aodv.send(0, own(1, 4)), None);
    aodv.receive(0, reply(3, 4, 8, 0), NodeId(1), Some(NodeId(0)), 29);
    commands(&mut aodv);
    aodv.link_failed(S, own(1, 4), NodeId(1));
    // rt_down empties the interface queue first; then the lost packet is queued.
    assert_eq!(commands(&mut aodv), ["recall 1", "keep 1"]);
    aodv.take_back(S, own(2, 4));
    aodv.keep(S, own(1, 4));
    // The reply counted 3 hops: the ring starts at TTL 5 and wants sequence number 8 + 1.
    assert_eq!(commands(&mut aodv), ["request ttl 5 hops 0 seq 2 wanted 9"]);
    aodv.receive(2 * S, reply(3, 4, 10, 0), NodeId(1), Some(NodeId(0)), 29);
    assert_eq!(commands(&mut aodv), ["forward 2 to 1 after 0 ms", "forward 1 to 1 after 10 ms"]);
}

#[test]
fn a_route_that_is_down_accepts_older_news_and_passes_worse_replies_on() {
    let mut aodv = between_0_and_4();
    // Not better than sequence number 8: the route stays, and the node forwards the reply with one hop more.
    aodv.receive(S, reply(5, 4, 7, 0), NodeId(3), Some(NodeId(0)), 29);
    assert_eq!(commands(&mut aodv), ["reply to 0 hops 6 seq 7 lives 60 s"]);
    assert_eq!(aodv.hops_to(NodeId(4)), Some(2));
    aodv.receive(S, Message::Error { unreachable: vec![(NodeId(4), 9)] }, NodeId(2), Some(NodeId(1)), 0);
    aodv.receive(S, reply(5, 4, 7, 0), NodeId(3), Some(NodeId(0)), 29);
    assert_eq!(aodv.hops_to(NodeId(4)), Some(5));
}

#[test]
fn an_error_counts_only_from_the_next_hop_whatever_its_number() {
    let mut aodv = between_0_and_4();
    let error = |seq| Message::Error { unreachable: vec![(NodeId(4), seq)] };
    aodv.receive(S, error(99), NodeId(3), Some(NodeId(1)), 0);
    assert_eq!(aodv.hops_to(NodeId(4)), Some(2));
    aodv.receive(S, error(3), NodeId(2), Some(NodeId(1)), 0);
    assert_eq!(aodv.hops_to(NodeId(4)), None);
}

#[test]
fn a_route_lives_50_seconds_after_its_last_use() {
    let mut aodv = between_0_and_4();
    aodv.send(S, passing(1, 4, 0));
    aodv.purge(51 * S);
    assert_eq!(aodv.hops_to(NodeId(4)), Some(2));
    aodv.purge(51 * S + S / 2);
    assert_eq!(aodv.hops_to(NodeId(4)), None);
}

#[test]
fn a_route_back_to_an_origin_lives_10_seconds() {
    let mut aodv = node(2);
    aodv.receive(0, request(1, 0, 4, 0), NodeId(1), Some(NodeId(1)), 9);
    aodv.purge(10 * S);
    assert_eq!(aodv.hops_to(NodeId(0)), Some(0), "REV_ROUTE_LIFE; a neighbour counts 0 hops");
    aodv.purge(10 * S + S / 2);
    assert_eq!(aodv.hops_to(NodeId(0)), None);
}

#[test]
fn a_packet_that_returns_to_its_source_is_dropped() {
    let mut aodv = between_0_and_4();
    assert_eq!(aodv.send(S, Transit { forwards: 3, from: Some(NodeId(2)), ..own(1, 4) }), None);
    assert_eq!(commands(&mut aodv), ["drop 1"]);
}

#[test]
fn messages_have_the_sizes_of_its_structures() {
    // hdr_aodv_request: six words and a double. hdr_aodv_reply: four words and a double; an error is a reply.
    let rules = Rules::ns2_of_2001();
    let error = Message::Error { unreachable: vec![(NodeId(4), 1)] };
    let sizes = [request(1, 0, 4, 0), reply(0, 4, 1, 0), error].map(|message| message.bytes(&rules));
    assert_eq!(sizes, [20 + 32, 20 + 24, 20 + 24]);
}
