//! A wired link, one direction: a queue, a rate, a delay.
//!
//! A drop-tail queue decides everything when a packet is pushed, so the wire then knows when the packet arrives. Under a
//! queue discipline the transmitter takes a packet only when it is free.

use std::collections::VecDeque;

use pacelab_engine::Ns;

use crate::ids::{NodeId, PacketId};
use crate::qdisc::Interface;

/// One direction of a full-duplex link.
#[derive(Debug)]
pub struct Wire {
    /// The node at the far end.
    pub to: NodeId,
    /// The queue, if it has a discipline.
    pub(crate) interface: Option<Interface>,
    rate_bps: f64,
    delay_ns: Ns,
    queue_pkts: usize,
    /// When the transmitter has sent all it holds.
    free_at: Ns,
    /// Packets in transit: (transmission begins, arrives, packet). First in, first out.
    under_way: VecDeque<(Ns, Ns, PacketId)>,
}

impl Wire {
    /// An idle link.
    pub fn new(to: NodeId, rate_bps: f64, delay_ns: Ns, queue_pkts: u32) -> Self {
        Wire {
            to,
            interface: None,
            rate_bps,
            delay_ns,
            queue_pkts: queue_pkts as usize,
            free_at: 0,
            under_way: VecDeque::new(),
        }
    }

    /// Takes a packet; returns when it arrives, or None if the queue is full.
    pub fn send(&mut self, now: Ns, packet: PacketId, bytes: u32) -> Option<Ns> {
        let waiting = self.under_way.iter().rev().take_while(|&&(begins, _, _)| begins > now).count();
        if waiting >= self.queue_pkts {
            return None;
        }
        Some(self.transmit(now, packet, bytes))
    }

    /// Transmits a packet as soon as the transmitter is free; returns when it arrives.
    pub fn transmit(&mut self, now: Ns, packet: PacketId, bytes: u32) -> Ns {
        let begins = self.free_at.max(now);
        self.free_at = begins + libm::round(f64::from(bytes) * 8e9 / self.rate_bps) as Ns;
        let arrives = self.free_at + self.delay_ns;
        self.under_way.push_back((begins, arrives, packet));
        arrives
    }

    /// When all packets taken so far have left for the far end.
    pub fn free_at(&self) -> Ns {
        self.free_at
    }

    /// The packet that arrives now.
    pub fn arrive(&mut self) -> Option<PacketId> {
        self.under_way.pop_front().map(|(_, _, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_queue_behind_each_other_and_overflow() {
        // 1000 B at 8 Mbit/s take 1 ms; 5 ms of delay; two may wait
        let mut wire = Wire::new(NodeId(1), 8e6, 5_000_000, 2);
        assert_eq!(wire.send(0, PacketId(10), 1000), Some(6_000_000));
        assert_eq!(wire.send(0, PacketId(11), 1000), Some(7_000_000));
        assert_eq!(wire.send(0, PacketId(12), 1000), Some(8_000_000));
        assert_eq!(wire.send(0, PacketId(13), 1000), None);
        assert_eq!(wire.send(1_000_001, PacketId(14), 1000), Some(9_000_000));
        assert_eq!(wire.arrive(), Some(PacketId(10)));
    }
}
