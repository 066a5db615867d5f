//! A row of the routing table.

use std::collections::VecDeque;

use pacelab_engine::Ns;

/// Of a target that no route leads to.
pub const INFINITE_HOPS: u32 = 255;
/// Taken for the delay of a hop until one was measured.
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
    pub next_hop: u32,
    pub status: Status,
    pub expires_at: Ns,
    pub precursors: Vec<u32>,
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
            next_hop: 0,
            status: Status::Down,
            expires_at: 0,
            precursors: Vec::new(),
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

    pub fn update(&mut self, seq: u32, hops: u32, next_hop: u32, expires_at: Ns) {
        (self.seq, self.hops, self.next_hop, self.expires_at) = (seq, hops, next_hop, expires_at);
        self.status = Status::Up;
    }

    pub fn end_discovery(&mut self, hops: u32) {
        self.requests = 0;
        self.request_timeout_at = 0;
        self.request_ttl = hops.min(255) as u8;
    }

    pub fn is_worse_than(&self, seq: u32, hops: u32) -> bool {
        self.seq < seq || (self.seq == seq && self.hops > hops)
    }

    pub fn per_hop_ns(&self) -> Ns {
        let sum_ns: Ns = self.latencies_ns.iter().sum();
        sum_ns.checked_div(self.latencies_ns.len() as Ns).unwrap_or(NODE_TRAVERSAL_NS)
    }

    pub fn add_precursor(&mut self, node: u32) {
        if !self.precursors.contains(&node) {
            self.precursors.push(node);
        }
    }
}
