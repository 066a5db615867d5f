//! What the network has to do later, and the hosts' delay that says when a packet is through.

use pacelab_air_config::{HostDelay, ns_from_s};
use pacelab_engine::{Ns, Stream};

/// What an agenda entry means; packed into its 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    FlowStart(u32),
    FlowStop(u32),
    FlowTimer(u32, u32),
    Datagrams(u32),
    Wire(u32),
    Hook(u32),
    Purge(u32),
    Delayed(u32),
    Sample,
    WarmupEnds,
    Report,
    Forget(u32),
    Move(u32),
    RateChange(u32),
    Crossed(u32),
    Local(u32),
}

impl Task {
    pub(super) fn pack(self) -> u32 {
        let (kind, index) = match self {
            Task::FlowStart(flow) => (0, flow),
            Task::FlowStop(flow) => (1, flow),
            Task::FlowTimer(flow, end) => (2, flow * 2 + end),
            Task::Datagrams(flow) => (3, flow),
            Task::Wire(wire) => (4, wire),
            Task::Hook(hook) => (5, hook),
            Task::Purge(node) => (6, node),
            Task::Delayed(slot) => (7, slot),
            Task::Sample => (8, 0),
            Task::WarmupEnds => (9, 0),
            Task::Report => (10, 0),
            Task::Forget(packet) => (11, packet),
            Task::Move(node) => (12, node),
            Task::RateChange(change) => (13, change),
            Task::Crossed(slot) => (14, slot),
            Task::Local(packet) => (15, packet),
        };
        kind << 28 | index
    }

    pub(super) fn unpack(word: u32) -> Task {
        let index = word & 0x0fff_ffff;
        match word >> 28 {
            0 => Task::FlowStart(index),
            1 => Task::FlowStop(index),
            2 => Task::FlowTimer(index / 2, index % 2),
            3 => Task::Datagrams(index),
            4 => Task::Wire(index),
            5 => Task::Hook(index),
            6 => Task::Purge(index),
            7 => Task::Delayed(index),
            8 => Task::Sample,
            9 => Task::WarmupEnds,
            10 => Task::Report,
            11 => Task::Forget(index),
            12 => Task::Move(index),
            13 => Task::RateChange(index),
            14 => Task::Crossed(index),
            _ => Task::Local(index),
        }
    }
}

/// A packet between routing and MAC, in either direction.
#[derive(Clone, Copy, Debug)]
pub(super) enum InLinkLayer {
    Up { node: u32, packet: u32 },
    Down { node: u32, packet: u32, next_hop: Option<u32> },
}

/// What hosts take to carry a packet between their link layer and themselves: doors that packets pass in each direction,
/// in order.
#[derive(Debug)]
pub(super) struct Hosts {
    law: HostDelay,
    /// By node.
    streams: Vec<Stream>,
    /// By node, upwards and downwards: when the last packet was through.
    through_at: Vec<[Ns; 2]>,
}

impl Hosts {
    /// Doors that nothing has passed.
    pub fn new(law: HostDelay, streams: Vec<Stream>) -> Self {
        Hosts { law, through_at: vec![[0; 2]; streams.len()], streams }
    }

    /// When a packet is through that comes to the door at `at`: a delay later, and never before the one ahead of it.
    pub fn pass(&mut self, entry: InLinkLayer, at: Ns) -> Ns {
        let (node, direction) = match entry {
            InLinkLayer::Up { node, .. } => (node as usize, 0),
            InLinkLayer::Down { node, .. } => (node as usize, 1),
        };
        let delay_ns = match self.law {
            HostDelay::Fixed { s } => ns_from_s(s),
            HostDelay::Exponential { mean_s } => ns_from_s(-mean_s * libm::log(1.0 - self.streams[node].unit())),
        };
        let last = &mut self.through_at[node][direction];
        *last = (*last).max(at + delay_ns);
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: InLinkLayer = InLinkLayer::Up { node: 1, packet: 0 };
    const DOWN: InLinkLayer = InLinkLayer::Down { node: 1, packet: 0, next_hop: None };

    fn hosts(law: HostDelay) -> Hosts {
        Hosts::new(law, (0..2).map(|node| Stream::new(1, node)).collect())
    }

    #[test]
    fn a_fixed_delay_holds_up_nobody_behind() {
        let mut hosts = hosts(HostDelay::Fixed { s: 0.001 });
        assert_eq!(hosts.pass(UP, 0), 1_000_000);
        assert_eq!(hosts.pass(UP, 10), 1_000_010);
        assert_eq!(hosts.pass(DOWN, 5), 1_000_005);
    }

    #[test]
    fn an_exponential_delay_has_its_mean_and_keeps_the_order() {
        let mut hosts = hosts(HostDelay::Exponential { mean_s: 0.001 });
        let mut last = 0;
        let mut sum = 0;
        for packet in 0..10_000 {
            let at = packet * 1_000_000_000;
            sum += hosts.pass(UP, at) - at;
        }
        // 1 ms each, standard deviation of the mean 0.01 ms: five of them either way
        assert!((9_500_000_000..10_500_000_000).contains(&sum), "{sum}");
        for packet in 0..1000 {
            let at = hosts.pass(DOWN, packet);
            assert!(at >= last);
            last = at;
        }
    }
}
