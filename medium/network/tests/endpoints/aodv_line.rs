//! AODV on a line of nodes, each of which hears its neighbours; a hop takes a millisecond.

use std::collections::BTreeMap;

use pacelab_engine::{Ns, Stream};
use pacelab_network::aodv::rules::Rules;
use pacelab_network::aodv::{Aodv, AodvCounters, Command, Message, Transit};
use pacelab_network::ids::{IdVec, NodeId, PacketId};

const MS: Ns = 1_000_000;
const HOP_NS: Ns = MS;
const NONE: [PacketId; 0] = [];

enum Event {
    Message { to: NodeId, from: NodeId, message: Message, dst: NodeId, ttl: u8 },
    Data { at: NodeId, transit: Transit },
}

/// Nodes 0, 1, ... in a row.
struct Line {
    nodes: IdVec<NodeId, Aodv>,
    now: Ns,
    /// By time, then order.
    events: BTreeMap<(Ns, u64), Event>,
    sequence: u64,
    purge_at: Ns,
    /// How many more data packets each directed hop loses.
    losses: BTreeMap<(NodeId, NodeId), u32>,
    /// Hops over which nothing gets any more.
    cut: Vec<(NodeId, NodeId)>,
    delivered: Vec<PacketId>,
    dropped: Vec<PacketId>,
    /// (time, node, TTL) of requests by their origin.
    asked: Vec<(Ns, NodeId, u8)>,
}

impl Line {
    fn new(count: u32) -> Line {
        Line::with_rules(count, Rules::ns2_of_2010())
    }

    fn with_rules(count: u32, rules: Rules) -> Line {
        let node = |node| Aodv::new(NodeId(node), rules, Stream::new(1, u64::from(node)));
        Line {
            nodes: (0..count).map(node).collect(),
            now: 0,
            events: BTreeMap::new(),
            sequence: 0,
            purge_at: Aodv::PURGE_INTERVAL_NS,
            losses: BTreeMap::new(),
            cut: Vec::new(),
            delivered: Vec::new(),
            dropped: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// The first node has a packet for `target`.
    fn send(&mut self, packet: u32, target: u32) {
        let transit =
            Transit { packet: PacketId(packet), is_own: true, target: NodeId(target), forwards: 0, from: None };
        self.route(NodeId(0), transit);
    }

    fn run(&mut self, until: Ns) {
        loop {
            let next = self.events.keys().next().map_or(Ns::MAX, |&(at, _)| at);
            if next.min(self.purge_at) > until {
                break;
            }
            self.now = next.min(self.purge_at);
            if self.purge_at <= next {
                self.purge_at += Aodv::PURGE_INTERVAL_NS;
                for node in self.nodes.ids() {
                    self.nodes[node].purge(self.now);
                    self.run_aodv_commands(node, None);
                }
                continue;
            }
            match self.events.pop_first().unwrap().1 {
                Event::Message { to, from, message, dst, ttl } => {
                    self.nodes[to].receive(self.now, message, from, Some(dst), ttl);
                    self.run_aodv_commands(to, None);
                }
                Event::Data { at, transit } if transit.target == at => self.delivered.push(transit.packet),
                Event::Data { at, transit } => self.route(at, transit),
            }
        }
        self.now = until;
    }

    fn post(&mut self, delay_ns: Ns, event: Event) {
        self.sequence += 1;
        self.events.insert((self.now + delay_ns, self.sequence), event);
    }

    fn connected(&self, from: NodeId, to: NodeId) -> bool {
        self.nodes.get(to).is_some() && !self.cut.contains(&(from, to))
    }

    /// A node has a packet in hand.
    fn route(&mut self, node: NodeId, transit: Transit) {
        if let Some(next_hop) = self.nodes[node].send(self.now, transit) {
            self.forward(node, transit, next_hop, 0);
        }
        self.run_aodv_commands(node, Some(transit));
    }

    /// Forwards a packet, unless the hop loses it.
    fn forward(&mut self, node: NodeId, transit: Transit, next_hop: NodeId, delay_ns: Ns) {
        let from = node;
        let losses = self.losses.entry((from, next_hop)).or_default();
        if *losses > 0 || self.cut.contains(&(from, next_hop)) {
            *losses = losses.saturating_sub(1);
            self.nodes[node].link_failed(self.now, transit, next_hop);
            return;
        }
        let onward = Transit { is_own: false, forwards: transit.forwards + 1, from: Some(node), ..transit };
        self.post(delay_ns + HOP_NS, Event::Data { at: next_hop, transit: onward });
    }

    /// `transit`: the data packet in hand, if any; packets that were held are those of node 0 or of a repair.
    fn run_aodv_commands(&mut self, node: NodeId, transit: Option<Transit>) {
        let from = node;
        while let Some(command) = self.nodes[node].poll() {
            match command {
                Command::Broadcast { message, ttl, delay_ns } => {
                    if matches!(message, Message::Request { origin, .. } if origin == from) {
                        self.asked.push((self.now, from, ttl));
                    }
                    for to in [from.0.wrapping_sub(1), from.0 + 1].map(NodeId) {
                        if self.connected(from, to) {
                            let message = message.clone();
                            self.post(delay_ns + HOP_NS, Event::Message { to, from, message, dst: from, ttl: ttl - 1 });
                        }
                    }
                }
                Command::Unicast { message, ttl, next_hop } => {
                    let dst = if let Message::Reply { origin, .. } = message { origin } else { next_hop };
                    if self.connected(from, next_hop) {
                        let to = next_hop;
                        self.post(HOP_NS, Event::Message { to, from, message, dst, ttl: ttl - 1 });
                    }
                }
                Command::Forward { packet, next_hop, delay_ns } => {
                    let target = NodeId(self.nodes.len() as u32 - 1);
                    let held =
                        Transit { packet, is_own: node == NodeId(0), target, forwards: node.0 as u8, from: None };
                    let transit = transit.filter(|transit| transit.packet == packet).unwrap_or(held);
                    self.forward(node, transit, next_hop, delay_ns);
                }
                Command::Drop { packet } => self.dropped.push(packet),
                Command::Keep { packet } => {
                    let target = NodeId(self.nodes.len() as u32 - 1);
                    let kept = Transit { packet, is_own: true, target, forwards: 0, from: None };
                    self.nodes[node].keep(self.now, kept);
                }
                Command::Recall { .. } => {}
            }
        }
    }

    fn counters(&self, what: impl Fn(&AodvCounters) -> u64) -> Vec<u64> {
        self.nodes.iter().map(|node| what(&node.counters)).collect()
    }

    fn hops_to(&self, target: u32) -> Vec<Option<u32>> {
        self.nodes.iter().map(|node| node.hops_to(NodeId(target))).collect()
    }
}

/// Five nodes, and a packet that has found its way from 0 to 4.
fn discovered() -> Line {
    let mut line = Line::new(5);
    line.send(1, 4);
    line.run(400 * MS);
    assert_eq!((line.delivered.as_slice(), line.dropped.as_slice()), ([PacketId(1)].as_slice(), NONE.as_slice()));
    line
}

#[test]
fn a_request_floods_the_line_once_and_the_reply_comes_back() {
    let line = discovered();
    assert_eq!(line.counters(|node| node.requests), [1, 1, 1, 1, 0]);
    assert_eq!(line.counters(|node| node.replies), [0, 1, 1, 1, 1]);
    assert_eq!(line.counters(|node| node.errors), [0; 5]);
    assert_eq!(line.hops_to(4), [Some(4), Some(3), Some(2), Some(1), None]);
    assert_eq!(line.hops_to(0), [None, Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(line.asked, [(0, NodeId(0), 30)], "never known before: asks the whole network");
}

#[test]
fn a_known_route_is_not_asked_for_again() {
    let mut line = discovered();
    line.send(2, 4);
    line.run(500 * MS);
    assert_eq!(line.delivered, [1, 2].map(PacketId));
    assert_eq!(line.counters(|node| node.requests), [1, 1, 1, 1, 0]);
}

#[test]
fn a_break_near_the_source_is_reported_and_the_route_found_anew() {
    let mut line = discovered();
    line.losses.insert((NodeId(1), NodeId(2)), 1);
    line.send(2, 4);
    line.run(450 * MS);
    // Node 1 has forwarded 1 hop and has 3 to go: no repair, an error that node 0 hears.
    assert_eq!(line.dropped, [PacketId(2)]);
    assert_eq!(line.counters(|node| node.link_failures), [0, 1, 0, 0, 0]);
    assert_eq!(line.nodes[NodeId(1)].counters.errors, 1);
    assert_eq!(line.hops_to(4)[..2], [None, None]);
    line.send(3, 4);
    line.run(900 * MS);
    assert_eq!(line.delivered, [1, 3].map(PacketId));
    assert_eq!(line.hops_to(4)[..2], [Some(4), Some(3)]);
    // The ring starts two beyond the 4 hops that were known.
    assert_eq!(line.asked, [(0, NodeId(0), 30), (450 * MS, NodeId(0), 6)]);
}

#[test]
fn a_break_near_the_destination_is_repaired_on_the_spot() {
    let mut line = discovered();
    line.losses.insert((NodeId(3), NodeId(4)), 1);
    line.send(2, 4);
    line.run(900 * MS);
    // Node 3 has forwarded 3 hops and has 1 to go: it asks itself, and the packet is not lost.
    assert_eq!(
        (line.delivered.as_slice(), line.dropped.as_slice()),
        ([1, 2].map(PacketId).as_slice(), NONE.as_slice())
    );
    assert_eq!(line.counters(|node| node.link_failures), [0, 0, 0, 1, 0]);
    assert_eq!(line.counters(|node| node.errors), [0; 5]);
    let origins: Vec<u32> = line.asked.iter().map(|&(_, node, _)| node.0).collect();
    assert_eq!(origins, [0, 3]);
    assert_eq!(line.hops_to(4)[..4], [Some(4), Some(3), Some(2), Some(1)]);
}

#[test]
fn after_four_requests_without_reply_the_packets_are_dropped() {
    let mut line = Line::new(3);
    line.cut.extend([(1, 2), (2, 1)].map(|(from, to)| (NodeId(from), NodeId(to))));
    line.send(1, 2);
    line.run(18_999 * MS);
    // Waits of 2 * 30 hops * 30 ms = 1.8 s times 1, 2, 3, 4, each looked after at the next half second:
    // 1.8 -> 2.0; 2.0 + 3.6 -> 6.0; 6.0 + 5.4 -> 11.5; 11.5 + 7.2 -> 19.0
    let times: Vec<Ns> = line.asked.iter().map(|&(at, _, _)| at / MS).collect();
    assert_eq!(times, [0, 2_000, 6_000, 11_500]);
    assert_eq!(line.dropped, NONE);
    line.run(19_000 * MS);
    assert_eq!(line.dropped, [PacketId(1)]);
}

#[test]
fn an_unused_route_expires_and_is_reported_as_missing() {
    let mut line = discovered();
    // The reply's route lives 10 s from its last use, the first packet's way, looked after twice a second.
    line.run(9_900 * MS);
    assert_eq!(line.hops_to(4)[0], Some(4));
    line.run(10_600 * MS);
    assert_eq!(line.hops_to(4), [None; 5]);
}
