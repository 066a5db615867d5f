//! Tasks in the event queue of the network, and the delay of packets in hosts.

use pacelab_air_config::{HostDelay, ns_from_s};
use pacelab_engine::{Ns, Stream};

use crate::ids::{FlowId, HookId, IdVec, NodeId, PacketId, WireId};

/// An entry of the event queue, packed into 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    FlowStart(FlowId),
    FlowStop(FlowId),
    FlowTimer(FlowId, u32),
    Datagrams(FlowId),
    Wire(WireId),
    /// The transmitter of a wire with a queue discipline is free.
    WireFree(WireId),
    Hook(HookId),
    Purge(NodeId),
    Delayed(u32),
    Sample,
    WarmupEnds,
    Report,
    Forget(PacketId),
    Move(NodeId),
    RateChange(u32),
    Crossed(u32),
    Local(PacketId),
    Ping(u32),
}

impl Task {
    pub(super) fn pack(self) -> u32 {
        let (kind, index) = match self {
            Task::FlowStart(flow) => (0, flow.0),
            Task::FlowStop(flow) => (1, flow.0),
            Task::FlowTimer(flow, end) => (2, flow.0 * 2 + end),
            Task::Datagrams(flow) => (3, flow.0),
            Task::Wire(wire) => (4, wire.0),
            Task::Hook(hook) => (5, hook.0),
            Task::Purge(node) => (6, node.0),
            Task::Delayed(slot) => (7, slot),
            Task::Sample => (8, 0),
            Task::WarmupEnds => (8, 1),
            Task::Report => (8, 2),
            Task::WireFree(wire) => (9, wire.0),
            Task::Forget(packet) => (10, packet.0),
            Task::Move(node) => (11, node.0),
            Task::RateChange(change) => (12, change),
            Task::Crossed(slot) => (13, slot),
            Task::Local(packet) => (14, packet.0),
            Task::Ping(pair) => (15, pair),
        };
        kind << 28 | index
    }

    pub(super) fn unpack(word: u32) -> Task {
        let index = word & 0x0fff_ffff;
        match word >> 28 {
            0 => Task::FlowStart(FlowId(index)),
            1 => Task::FlowStop(FlowId(index)),
            2 => Task::FlowTimer(FlowId(index / 2), index % 2),
            3 => Task::Datagrams(FlowId(index)),
            4 => Task::Wire(WireId(index)),
            5 => Task::Hook(HookId(index)),
            6 => Task::Purge(NodeId(index)),
            7 => Task::Delayed(index),
            8 if index == 0 => Task::Sample,
            8 if index == 1 => Task::WarmupEnds,
            8 => Task::Report,
            9 => Task::WireFree(WireId(index)),
            10 => Task::Forget(PacketId(index)),
            11 => Task::Move(NodeId(index)),
            12 => Task::RateChange(index),
            13 => Task::Crossed(index),
            14 => Task::Local(PacketId(index)),
            _ => Task::Ping(index),
        }
    }
}

/// A packet between routing and MAC, in either direction.
#[derive(Clone, Copy, Debug)]
pub(super) enum InLinkLayer {
    Up { node: NodeId, packet: PacketId },
    Down { node: NodeId, packet: PacketId, next_hop: Option<NodeId> },
}

/// The delay of packets between the link layer and the host. Packets of one direction keep their order.
#[derive(Debug)]
pub(super) struct HostDelays {
    law: HostDelay,
    /// By node.
    streams: IdVec<NodeId, Stream>,
    /// By node, for the upward and downward direction: when the last packet leaves.
    leaves_at: IdVec<NodeId, [Ns; 2]>,
}

impl HostDelays {
    /// Delays before the first packet.
    pub fn new(law: HostDelay, streams: IdVec<NodeId, Stream>) -> Self {
        HostDelays { law, leaves_at: IdVec::filled([0; 2], streams.len()), streams }
    }

    /// When a packet that arrives at `at` leaves: after the delay, and not before the packet ahead of it.
    pub fn departure(&mut self, entry: InLinkLayer, at: Ns) -> Ns {
        let (node, direction) = match entry {
            InLinkLayer::Up { node, .. } => (node, 0),
            InLinkLayer::Down { node, .. } => (node, 1),
        };
        let delay_ns = match self.law {
            HostDelay::Fixed { s } => ns_from_s(s),
            HostDelay::Exponential { mean_s } => ns_from_s(-mean_s * libm::log(1.0 - self.streams[node].unit())),
        };
        let last = &mut self.leaves_at[node][direction];
        *last = (*last).max(at + delay_ns);
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: InLinkLayer = InLinkLayer::Up { node: NodeId(1), packet: PacketId(0) };
    const DOWN: InLinkLayer = InLinkLayer::Down { node: NodeId(1), packet: PacketId(0), next_hop: None };

    fn host_delays(law: HostDelay) -> HostDelays {
        HostDelays::new(law, (0..2).map(|node| Stream::new(1, node)).collect())
    }

    #[test]
    fn a_fixed_delay_holds_up_nobody_behind() {
        let mut host_delays = host_delays(HostDelay::Fixed { s: 0.001 });
        assert_eq!(host_delays.departure(UP, 0), 1_000_000);
        assert_eq!(host_delays.departure(UP, 10), 1_000_010);
        assert_eq!(host_delays.departure(DOWN, 5), 1_000_005);
    }

    #[test]
    fn an_exponential_delay_has_its_mean_and_keeps_the_order() {
        let mut host_delays = host_delays(HostDelay::Exponential { mean_s: 0.001 });
        let mut last = 0;
        let mut sum = 0;
        for packet in 0..10_000 {
            let at = packet * 1_000_000_000;
            sum += host_delays.departure(UP, at) - at;
        }
        // 1 ms each; the standard deviation of the mean is 0.01 ms: five of them in either direction
        assert!((9_500_000_000..10_500_000_000).contains(&sum), "{sum}");
        for packet in 0..1000 {
            let at = host_delays.departure(DOWN, packet);
            assert!(at >= last);
            last = at;
        }
    }
}
