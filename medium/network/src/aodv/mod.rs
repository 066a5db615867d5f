//! AODV with link-failure detection by the MAC: the routing of one node, without I/O.
//!
//! `rules` lists the differences between the two versions: ns-2.35's (RFC 3561) and ns-2.1b8a's of 2001. The rest of this
//! page describes ns-2.35's.
//!
//! RFC 3561 with the constants and deviations of ns-2.35, which the papers used: expanding ring search, replies from
//! intermediate nodes, precursor lists, route errors by broadcast, and local repair if the broken link is nearer to the
//! destination than to the source.
//!
//! Deviates from RFC 3561 as ns-2 does: a failed frame of a data packet breaks the link immediately. A repaired route
//! is only accepted if it is fresher or shorter than the broken one, so a repair next to the destination often waits
//! for the next discovery by another node. The wait for a repair is never shortened. There are no hello messages,
//! because the MAC reports link failures, and there is no ARP, because addresses are known.

mod route;
pub mod rules;

use std::collections::{BTreeMap, VecDeque};

use pacelab_engine::{Ns, Stream};

use crate::ids::{NodeId, PacketId};
use route::{INFINITE_HOPS, PacketBuffer, Route, Status};
use rules::{ErrorsTo, OwnSequence, Rules};

const S: Ns = 1_000_000_000;
const REQUEST_ID_LIFETIME_NS: Ns = 6 * S;
const PURGE_INTERVAL_NS: Ns = S / 2;
const MAX_REQUEST_TIMEOUT_NS: Ns = 10 * S;
const NETWORK_WIDE_REQUESTS: u32 = 3;
const TTL_THRESHOLD: u32 = 7;
const TTL_INCREMENT: u8 = 2;
const NETWORK_DIAMETER: u8 = 30;
/// Gap between packets flushed from the buffer.
const FLUSH_GAP_NS: Ns = 10_000_000;
/// Largest delay of a forwarded broadcast.
const JITTER_NS: Ns = 10_000_000;

/// Messages that a node sent, and link failures that it detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AodvCounters {
    pub requests: u64,
    pub replies: u64,
    pub errors: u64,
    pub link_failures: u64,
}

/// The routing of one node.
#[derive(Clone, Debug)]
pub struct Aodv {
    rules: Rules,
    node: NodeId,
    seq: u32,
    request_id: u32,
    routes: BTreeMap<NodeId, Route>,
    /// (origin, id, forget at)
    seen: Vec<(NodeId, u32, Ns)>,
    held: PacketBuffer,
    /// Nodes whose packets this node has passed on, if it counts its sequence number by `OwnSequence::Consecutive`.
    neighbours: Vec<NodeId>,
    random: Stream,
    commands: VecDeque<Command>,
    /// Totals since the start.
    pub counters: AodvCounters,
}

impl Aodv {
    /// Routing at `node`. `random` gives the jitter of forwarded broadcasts.
    pub fn new(node: NodeId, rules: Rules, random: Stream) -> Self {
        Aodv {
            rules,
            node,
            seq: rules.first_sequence,
            request_id: 1,
            routes: BTreeMap::new(),
            seen: Vec::new(),
            held: PacketBuffer::default(),
            neighbours: Vec::new(),
            random,
            commands: VecDeque::new(),
            counters: AodvCounters::default(),
        }
    }

    /// The rules of its version.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Interval between calls of `purge`.
    pub const PURGE_INTERVAL_NS: Ns = PURGE_INTERVAL_NS;

    /// The next command, or None.
    pub fn poll(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Whether `purge` has work to do.
    pub fn is_active(&self) -> bool {
        !self.routes.is_empty()
    }

    /// Hops to `target` if a route is up.
    pub fn hops_to(&self, target: NodeId) -> Option<u32> {
        self.routes.get(&target).filter(|route| route.status == Status::Up).map(|route| route.hops)
    }

    /// The next hop of a data packet if a route is up. Otherwise the commands decide what happens to the packet.
    pub fn send(&mut self, now: Ns, transit: Transit) -> Option<NodeId> {
        if self.rules.drops_loops && transit.is_own && transit.forwards > 0 {
            self.commands.push_back(Command::Drop { packet: transit.packet });
            return None;
        }
        let route = self.routes.entry(transit.target).or_insert_with(Route::new);
        match route.status {
            Status::Up => {
                if let Some(from) = transit.from {
                    self.passes_on(now, from, Some(transit.target));
                }
                return self.touch(now, transit.target);
            }
            _ if transit.is_own => {
                self.hold(now, transit);
                self.request(now, transit.target);
            }
            Status::InRepair => self.hold(now, transit),
            Status::Down => {
                let unreachable = vec![(transit.target, route.seq)];
                match self.rules.errors_to {
                    ErrorsTo::AllNeighbours => self.error(unreachable, 0),
                    ErrorsTo::UsersOfRoute => self.errors_to(transit.from.into_iter().collect(), unreachable[0]),
                }
                self.commands.push_back(Command::Drop { packet: transit.packet });
            }
        }
        None
    }

    /// Handles a data packet that the MAC dropped on the link to `neighbour`.
    pub fn link_failed(&mut self, now: Ns, transit: Transit, neighbour: NodeId) {
        self.counters.link_failures += 1;
        let Some(route) = self.routes.get_mut(&transit.target) else {
            self.commands.push_back(Command::Drop { packet: transit.packet });
            return;
        };
        if !self.rules.break_takes_all_routes {
            route.seq += 1;
            self.take_down(now, transit.target);
            let packet = transit.packet;
            let keeps = self.rules.source_keeps_packets && transit.is_own;
            self.commands.push_back(if keeps { Command::Keep { packet } } else { Command::Drop { packet } });
            return;
        }
        if self.rules.repairs_locally && u32::from(transit.forwards) > route.hops {
            route.status = Status::InRepair;
            self.hold(now, transit);
            self.request(now, transit.target);
            return;
        }
        self.commands.push_back(Command::Drop { packet: transit.packet });
        self.commands.push_back(Command::Recall { next_hop: neighbour });
        self.seq += 2;
        let mut unreachable = Vec::new();
        for (&target, route) in &mut self.routes {
            if route.hops != INFINITE_HOPS && route.next_hop == neighbour {
                route.seq += 1;
                unreachable.push((target, route.seq));
                route.take_down();
            }
            route.precursors.retain(|&node| node != neighbour);
        }
        if !unreachable.is_empty() {
            self.error(unreachable, 0);
        }
    }

    /// Takes back a packet of this node that waited in the interface queue for a link that broke, and asks for a route.
    pub fn take_back(&mut self, now: Ns, transit: Transit) {
        self.keep(now, transit);
        self.request(now, transit.target);
    }

    /// Keeps a packet of this node until there is a route.
    pub fn keep(&mut self, now: Ns, transit: Transit) {
        self.hold(now, transit);
    }

    /// Handles a routing message from `neighbour`. `ttl` is the number of hops that remain.
    pub fn receive(&mut self, now: Ns, message: Message, neighbour: NodeId, for_me: Option<NodeId>, ttl: u8) {
        match message {
            Message::Request { .. } => self.receive_request(now, message, neighbour, ttl),
            Message::Reply { .. } => self.receive_reply(now, message, neighbour, for_me, ttl),
            Message::Error { unreachable } => self.receive_error(now, unreachable, neighbour),
        }
    }

    /// Expires routes, and flushes the waiting packets or repeats their requests. Call this every `PURGE_INTERVAL_NS`.
    pub fn purge(&mut self, now: Ns) {
        self.seen.retain(|&(_, _, forget_at)| forget_at > now);
        let targets: Vec<NodeId> = self.routes.keys().copied().collect();
        for target in targets {
            let Some(route) = self.routes.get_mut(&target) else { continue };
            if route.status == Status::Up && route.expires_at < now {
                route.seq += u32::from(self.rules.expiry_raises_sequence);
                route.take_down();
                self.discard_held(now, target);
            } else if route.status == Status::Up {
                self.flush(now, target, FLUSH_GAP_NS);
            } else if self.held.awaits(target) {
                self.request(now, target);
            }
        }
    }

    fn receive_request(&mut self, now: Ns, message: Message, neighbour: NodeId, ttl: u8) {
        let Message::Request { id, hops, origin, origin_seq, target, target_seq, sent_at } = message else { return };
        if origin == self.node || self.seen.iter().any(|&(node, seen, _)| (node, seen) == (origin, id)) {
            return;
        }
        self.seen.push((origin, id, now + REQUEST_ID_LIFETIME_NS));
        self.learn_reverse_route(now, origin, origin_seq, hops, neighbour);
        if target == self.node {
            self.seq = match self.rules.own_sequence {
                OwnSequence::Even => (self.seq.max(target_seq) + 1).next_multiple_of(2),
                OwnSequence::Consecutive if self.seq > target_seq => self.seq,
                OwnSequence::Consecutive => target_seq + 1,
            };
            let reply = Message::Reply {
                hops: self.rules.first_hop_count,
                target,
                target_seq: self.seq,
                origin,
                lifetime_ns: self.rules.destination_lifetime_ns,
                sent_at,
            };
            self.reply(origin, reply);
            return;
        }
        let known = self.routes.get(&target).map(|route| (route.hops, route.seq, route.next_hop, route.expires_at));
        if let Some((known_hops, seq, next_hop, expires_at)) = known {
            if known_hops != INFINITE_HOPS && seq >= target_seq {
                let lifetime_ns = expires_at.saturating_sub(now) / S * S;
                let reply =
                    Message::Reply { hops: known_hops + 1, target, target_seq: seq, origin, lifetime_ns, sent_at };
                self.reply(origin, reply);
                if self.rules.errors_to == ErrorsTo::UsersOfRoute {
                    return;
                }
                if let Some(route) = self.routes.get_mut(&target) {
                    route.add_precursor(neighbour);
                }
                if let Some(reverse) = self.routes.get_mut(&origin) {
                    reverse.add_precursor(next_hop);
                }
                return;
            }
        }
        if ttl > 0 {
            let known = known.filter(|_| self.rules.raises_requested_sequence);
            let target_seq = known.map_or(target_seq, |(_, seq, _, _)| seq.max(target_seq));
            self.passes_on(now, origin, None);
            let onward = Message::Request { id, hops: hops + 1, origin, origin_seq, target, target_seq, sent_at };
            let delay_ns = self.jitter_ns();
            self.counters.requests += 1;
            self.commands.push_back(Command::Broadcast { message: onward, ttl, delay_ns });
        }
    }

    fn learn_reverse_route(&mut self, now: Ns, origin: NodeId, origin_seq: u32, hops: u32, neighbour: NodeId) {
        let route = self.routes.entry(origin).or_insert_with(Route::new);
        let expires_at = route.expires_at.max(now + self.rules.reverse_lifetime_ns);
        if self.rules.down_route_is_choosy {
            route.expires_at = expires_at;
        }
        if route.accepts(&self.rules, origin_seq, hops) {
            route.update(origin_seq, hops, neighbour, expires_at);
            if route.request_timeout_at > 0 {
                route.end_discovery(hops);
                route.expires_at = now + self.rules.route_lifetime_ns;
            }
        } else if self.rules.down_route_is_choosy {
            return;
        }
        self.flush(now, origin, 0);
    }

    fn receive_reply(&mut self, now: Ns, message: Message, neighbour: NodeId, for_me: Option<NodeId>, ttl: u8) {
        let Message::Reply { hops, target, target_seq, origin, lifetime_ns, sent_at } = message else { return };
        let is_new = !self.routes.contains_key(&target);
        let route = self.routes.entry(target).or_insert_with(Route::new);
        let accepts = route.accepts(&self.rules, target_seq, hops);
        if !accepts && self.rules.only_better_replies_count {
            return; // and does not forward the reply
        }
        if self.rules.only_better_replies_count || !is_new {
            route.end_discovery(hops);
        }
        if accepts {
            route.update(target_seq, hops, neighbour, now + lifetime_ns);
        }
        if accepts && for_me == Some(self.node) {
            if route.latencies_ns.len() == 3 {
                route.latencies_ns.pop_front();
            }
            let latency_ns = (now - sent_at).checked_div(Ns::from(hops)).unwrap_or(MAX_REQUEST_TIMEOUT_NS);
            route.latencies_ns.push_back(latency_ns);
        }
        self.flush(now, target, FLUSH_GAP_NS);
        if origin == self.node {
            return;
        }
        let towards = self.routes.get(&origin).filter(|route| route.hops != INFINITE_HOPS).map(|route| route.next_hop);
        if let (Some(next_hop), true) = (towards, ttl > 0) {
            let onward = Message::Reply { hops: hops + 1, target, target_seq, origin, lifetime_ns, sent_at };
            self.counters.replies += 1;
            self.passes_on(now, neighbour, Some(origin));
            self.touch(now, origin);
            self.commands.push_back(Command::Unicast { message: onward, ttl, next_hop });
            if self.rules.errors_to == ErrorsTo::UsersOfRoute {
                return;
            }
            if let Some(route) = self.routes.get_mut(&target) {
                route.add_precursor(next_hop);
            }
        }
    }

    fn receive_error(&mut self, now: Ns, unreachable: Vec<(NodeId, u32)>, neighbour: NodeId) {
        let mut onward = Vec::new();
        for (target, seq) in unreachable {
            let Some(route) = self.routes.get_mut(&target) else { continue };
            if self.rules.errors_to == ErrorsTo::UsersOfRoute {
                if route.status == Status::Up && route.next_hop == neighbour {
                    route.seq = seq;
                    self.take_down(now, target);
                }
                continue;
            }
            if route.hops == INFINITE_HOPS || route.next_hop != neighbour || route.seq > seq {
                continue;
            }
            route.seq = seq;
            route.take_down();
            self.commands.push_back(Command::Recall { next_hop: neighbour });
            if !route.precursors.is_empty() {
                route.precursors.clear();
                onward.push((target, seq));
            }
        }
        if !onward.is_empty() {
            let delay_ns = self.jitter_ns();
            self.error(onward, delay_ns);
        }
    }

    fn request(&mut self, now: Ns, target: NodeId) {
        let Some(route) = self.routes.get_mut(&target) else { return };
        if route.status == Status::Up || route.request_timeout_at > now {
            return;
        }
        if route.requests > NETWORK_WIDE_REQUESTS {
            route.request_timeout_at = now + MAX_REQUEST_TIMEOUT_NS;
            route.requests = 0;
            if self.rules.drops_held_after_last_request {
                self.discard_held(now, target);
            }
            return;
        }
        // ns-2.35: a route that was never up counts as infinitely long, so the first request is network-wide.
        let last_length = if self.rules.ring_from_last_length { route.last_hops } else { 0 };
        let last_ttl = u32::from(route.request_ttl).max(last_length);
        let ttl = match last_ttl {
            0 => self.rules.ttl_start,
            low if low < TTL_THRESHOLD => low as u8 + TTL_INCREMENT,
            _ => {
                route.requests += 1;
                NETWORK_DIAMETER
            }
        };
        route.request_ttl = ttl;
        let wait_ns = 2 * Ns::from(ttl) * route.per_hop_ns() * Ns::from(route.requests.max(1));
        route.request_timeout_at = now + wait_ns.min(MAX_REQUEST_TIMEOUT_NS);
        route.expires_at = 0;
        let target_seq = route.seq;
        let origin_seq = match self.rules.own_sequence {
            OwnSequence::Even => self.seq + 2,
            OwnSequence::Consecutive => self.seq,
        };
        self.seq = match self.rules.own_sequence {
            OwnSequence::Even => origin_seq,
            OwnSequence::Consecutive => origin_seq + 1,
        };
        let message = Message::Request {
            id: self.request_id,
            hops: self.rules.first_hop_count,
            origin: self.node,
            origin_seq,
            target,
            target_seq,
            sent_at: now,
        };
        self.request_id += 1;
        self.counters.requests += 1;
        self.commands.push_back(Command::Broadcast { message, ttl, delay_ns: 0 });
    }

    fn reply(&mut self, origin: NodeId, message: Message) {
        let Some(route) = self.routes.get(&origin) else { return };
        self.counters.replies += 1;
        self.commands.push_back(Command::Unicast { message, ttl: NETWORK_DIAMETER, next_hop: route.next_hop });
    }

    fn error(&mut self, unreachable: Vec<(NodeId, u32)>, delay_ns: Ns) {
        self.counters.errors += 1;
        self.commands.push_back(Command::Broadcast { message: Message::Error { unreachable }, ttl: 1, delay_ns });
    }

    /// Removes the route to one destination, informs its users, and removes its packets from the interface queue.
    fn take_down(&mut self, now: Ns, target: NodeId) {
        let Some(route) = self.routes.get_mut(&target) else { return };
        if route.status == Status::Down {
            return;
        }
        route.take_down();
        let (seq, next_hop) = (route.seq, route.next_hop);
        let users = std::mem::take(&mut route.users);
        let active = users.into_iter().filter(|&(_, until)| until > now).map(|(user, _)| user);
        self.errors_to(active.collect(), (target, seq));
        self.commands.push_back(Command::Recall { next_hop });
    }

    /// Reports one destination to some neighbours, each by a unicast message.
    fn errors_to(&mut self, neighbours: Vec<NodeId>, unreachable: (NodeId, u32)) {
        for next_hop in neighbours.into_iter().filter(|&neighbour| neighbour != self.node) {
            self.counters.errors += 1;
            let message = Message::Error { unreachable: vec![unreachable] };
            self.commands.push_back(Command::Unicast { message, ttl: 1, next_hop });
        }
    }

    /// Notes that this node passes a packet of `from` on, over the route to `target` if the packet is unicast
    /// (`forward`): a new neighbour raises the node's sequence number, and `from` becomes a user of the route.
    fn passes_on(&mut self, now: Ns, from: NodeId, target: Option<NodeId>) {
        if self.rules.own_sequence == OwnSequence::Consecutive && !self.neighbours.contains(&from) {
            self.neighbours.push(from);
            self.seq += 1;
        }
        if self.rules.errors_to == ErrorsTo::UsersOfRoute {
            if let Some(route) = target.and_then(|target| self.routes.get_mut(&target)) {
                route.note_user(from, now + self.rules.route_lifetime_ns);
            }
        }
    }

    fn forward(&mut self, now: Ns, target: NodeId, packet: PacketId, delay_ns: Ns) {
        if let Some(next_hop) = self.touch(now, target) {
            self.commands.push_back(Command::Forward { packet, next_hop, delay_ns });
        }
    }

    /// Extends the lifetime of a route in use.
    fn touch(&mut self, now: Ns, target: NodeId) -> Option<NodeId> {
        let route = self.routes.get_mut(&target)?;
        route.expires_at = now + self.rules.route_lifetime_ns;
        Some(route.next_hop)
    }

    fn hold(&mut self, now: Ns, transit: Transit) {
        self.remove_expired(now);
        let displaced = self.held.push(now, transit.target, transit.packet);
        self.commands.extend(displaced.map(|packet| Command::Drop { packet }));
    }

    fn flush(&mut self, now: Ns, target: NodeId, gap_ns: Ns) {
        self.remove_expired(now);
        let mut delay_ns = 0;
        for packet in self.held.take(target) {
            self.forward(now, target, packet, delay_ns);
            delay_ns += gap_ns;
        }
    }

    fn discard_held(&mut self, now: Ns, target: NodeId) {
        self.remove_expired(now);
        self.commands.extend(self.held.take(target).into_iter().map(|packet| Command::Drop { packet }));
    }

    fn remove_expired(&mut self, now: Ns) {
        self.commands.extend(self.held.remove_expired(now).into_iter().map(|packet| Command::Drop { packet }));
    }

    fn jitter_ns(&mut self) -> Ns {
        (self.random.unit() * JITTER_NS as f64) as Ns
    }
}

// Messages to neighbours and commands to the node.

const IP_HEADER_BYTES: u32 = 20;

/// A routing message.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Message {
    Request { id: u32, hops: u32, origin: NodeId, origin_seq: u32, target: NodeId, target_seq: u32, sent_at: Ns },
    Reply { hops: u32, target: NodeId, target_seq: u32, origin: NodeId, lifetime_ns: Ns, sent_at: Ns },
    Error { unreachable: Vec<(NodeId, u32)> },
}

impl Message {
    /// Size of the IP packet that carries it (ns-2's structures, four bytes a word).
    pub fn bytes(&self, rules: &Rules) -> u32 {
        IP_HEADER_BYTES
            + match self {
                Message::Request { .. } => rules.request_bytes,
                Message::Reply { .. } => rules.reply_bytes,
                Message::Error { .. } if rules.errors_to == ErrorsTo::UsersOfRoute => rules.reply_bytes,
                Message::Error { unreachable } => (2 * unreachable.len() as u32 + 1) * 4,
            }
    }
}

/// A command to the node.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Command {
    /// Send to all neighbours after the delay.
    Broadcast { message: Message, ttl: u8, delay_ns: Ns },
    /// Send a message to a neighbour.
    Unicast { message: Message, ttl: u8, next_hop: NodeId },
    /// Pass the data packet on to a neighbour after the delay.
    Forward { packet: PacketId, next_hop: NodeId, delay_ns: Ns },
    /// Discard the data packet.
    Drop { packet: PacketId },
    /// Keep the data packet of this node: give it to `Aodv::keep`.
    Keep { packet: PacketId },
    /// Discard what the interface queue holds for this neighbour. If `Rules::source_keeps_packets`, packets of this
    /// node go to `Aodv::take_back` instead.
    Recall { next_hop: NodeId },
}

/// A data packet as routing sees it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Transit {
    pub packet: PacketId,
    /// The packet started here.
    pub is_own: bool,
    /// The wireless node that it goes to.
    pub target: NodeId,
    /// Wireless hops it has taken.
    pub forwards: u8,
    /// The neighbour from which it came; None: it enters the air here.
    pub from: Option<NodeId>,
}
