//! An entry of the routing table, and the buffer of data packets that wait for a route.

use std::collections::VecDeque;

use pacelab_engine::Ns;

use crate::ids::{NodeId, PacketId};

use super::rules::Rules;

/// Hop count of a target without a route.
pub const INFINITE_HOPS: u32 = 255;
/// Assumed delay of a hop until one was measured.
const NODE_TRAVERSAL_NS: Ns = 30_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Down,
    Up,
    InRepair,
}

#[derive(Clone, Debug)]
pub struct Route {
    pub seq: u32,
    pub hops: u32,
    pub last_hops: u32,
    pub next_hop: NodeId,
    pub status: Status,
    pub expires_at: Ns,
    pub precursors: Vec<NodeId>,
    /// Neighbours that sent packets over this route, and until when each counts.
    pub users: Vec<(NodeId, Ns)>,
    pub requests: u32,
    pub request_timeout_at: Ns,
    pub request_ttl: u8,
    /// Round trip per hop of the last discoveries.
    pub latencies_ns: VecDeque<Ns>,
}

impl Route {
    pub fn new() -> Self {
        Route {
            seq: 0,
            hops: INFINITE_HOPS,
            last_hops: INFINITE_HOPS,
            next_hop: NodeId(0),
            status: Status::Down,
            expires_at: 0,
            precursors: Vec::new(),
            users: Vec::new(),
            requests: 0,
            request_timeout_at: 0,
            request_ttl: 0,
            latencies_ns: VecDeque::new(),
        }
    }

    pub fn take_down(&mut self) {
        if self.status != Status::Down {
            self.last_hops = self.hops;
            self.hops = INFINITE_HOPS;
            self.status = Status::Down;
            self.expires_at = 0;
        }
    }

    pub fn update(&mut self, seq: u32, hops: u32, next_hop: NodeId, expires_at: Ns) {
        (self.seq, self.hops, self.next_hop, self.expires_at) = (seq, hops, next_hop, expires_at);
        self.status = Status::Up;
    }

    pub fn end_discovery(&mut self, hops: u32) {
        self.requests = 0;
        self.request_timeout_at = 0;
        self.request_ttl = hops.min(255) as u8;
    }

    /// Whether news of this sequence number and length replaces the entry.
    pub fn accepts(&self, rules: &Rules, seq: u32, hops: u32) -> bool {
        if self.status == Status::Down && !rules.down_route_is_choosy {
            return true;
        }
        self.seq < seq || (self.seq == seq && self.hops > hops)
    }

    pub fn per_hop_ns(&self) -> Ns {
        let sum_ns: Ns = self.latencies_ns.iter().sum();
        sum_ns.checked_div(self.latencies_ns.len() as Ns).unwrap_or(NODE_TRAVERSAL_NS)
    }

    pub fn note_user(&mut self, node: NodeId, until: Ns) {
        self.users.retain(|&(user, _)| user != node);
        self.users.push((node, until));
    }

    pub fn add_precursor(&mut self, node: NodeId) {
        if !self.precursors.contains(&node) {
            self.precursors.push(node);
        }
    }
}

/// Capacity of the buffer, and how long a packet may wait.
const CAPACITY_PKTS: usize = 64;
const LIFETIME_NS: Ns = 30_000_000_000;

/// Data packets that wait for a route, first in, first out. If the buffer is full, the oldest packet is dropped.
#[derive(Clone, Debug, Default)]
pub struct PacketBuffer {
    /// (target, packet, give up at)
    packets: VecDeque<(NodeId, PacketId, Ns)>,
}

impl PacketBuffer {
    /// Whether a packet waits for `target`.
    pub fn awaits(&self, target: NodeId) -> bool {
        self.packets.iter().any(|&(waiting, _, _)| waiting == target)
    }

    /// Adds a packet and returns the packet that is dropped for it, if any. Call `remove_expired` first.
    pub fn push(&mut self, now: Ns, target: NodeId, packet: PacketId) -> Option<PacketId> {
        let full = self.packets.len() == CAPACITY_PKTS;
        let oldest = if full { self.packets.pop_front() } else { None };
        self.packets.push_back((target, packet, now + LIFETIME_NS));
        oldest.map(|(_, packet, _)| packet)
    }

    /// Removes the packets that wait for `target`, in order.
    pub fn take(&mut self, target: NodeId) -> Vec<PacketId> {
        let packets = self.packets.iter().filter(|held| held.0 == target).map(|held| held.1).collect();
        self.packets.retain(|held| held.0 != target);
        packets
    }

    /// Removes the packets that have waited too long, in order.
    pub fn remove_expired(&mut self, now: Ns) -> Vec<PacketId> {
        let count = self.packets.iter().take_while(|&&(_, _, forget_at)| forget_at < now).count();
        self.packets.drain(..count).map(|(_, packet, _)| packet).collect()
    }
}
