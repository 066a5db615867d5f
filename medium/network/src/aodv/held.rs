//! Data packets that wait for a route.

use std::collections::VecDeque;

use pacelab_engine::Ns;

const MOST_PKTS: usize = 64;
const LIFETIME_NS: Ns = 30_000_000_000;

/// First in, first out; of those that do not fit, the oldest goes.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// (target, packet, give up at)
    packets: VecDeque<(u32, u32, Ns)>,
}

impl Held {
    /// Something waits for `target`.
    pub fn awaits(&self, target: u32) -> bool {
        self.packets.iter().any(|&(waiting, _, _)| waiting == target)
    }

    /// Takes a packet in; returns one that has to go for it. Call `forget_old` first.
    pub fn push(&mut self, now: Ns, target: u32, packet: u32) -> Option<u32> {
        let full = self.packets.len() == MOST_PKTS;
        let oldest = if full { self.packets.pop_front() } else { None };
        self.packets.push_back((target, packet, now + LIFETIME_NS));
        oldest.map(|(_, packet, _)| packet)
    }

    /// Takes out all that wait for `target`, in order.
    pub fn take(&mut self, target: u32) -> Vec<u32> {
        let packets = self.packets.iter().filter(|held| held.0 == target).map(|held| held.1).collect();
        self.packets.retain(|held| held.0 != target);
        packets
    }

    /// Takes out what has waited too long, in order.
    pub fn forget_old(&mut self, now: Ns) -> Vec<u32> {
        let count = self.packets.iter().take_while(|&&(_, _, give_up_at)| give_up_at < now).count();
        self.packets.drain(..count).map(|(_, packet, _)| packet).collect()
    }
}
