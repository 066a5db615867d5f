//! A queue discipline, its packets, and the changes that it makes to them.

use std::collections::VecDeque;
use std::fmt::Debug;

use pacelab_engine::Ns;

use crate::ids::{NodeId, PacketId};

/// Size of the largest usual packet: Ethernet's MTU.
pub(super) const MTU_BYTES: u32 = 1500;
/// The same with the Ethernet header. RFC 8290 Sec. 5.2.3 and Linux count flows in units of it.
pub(super) const FRAME_BYTES: u32 = 1514;

/// A packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number in the pool.
    pub id: PacketId,
    /// Size of the IP packet.
    pub bytes: u32,
    /// Its flow and direction. Disciplines compare these numbers only.
    pub flow: u32,
    /// A discipline may mark the packet instead of dropping it.
    pub ecn_capable: bool,
    /// The next hop by air. None on a wire, and for a broadcast.
    pub next_hop: Option<NodeId>,
    /// When it was pushed.
    pub at: Ns,
}

/// Why a discipline dropped a packet, as in the result: `full`, `flow-full` or `codel`.
pub type Reason = &'static str;

/// A change that a discipline makes to a packet besides passing it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Dropped.
    Dropped(Item, Reason),
    /// Marked: it gets ECN's CE codepoint. The packet stays in the queue or is the one that `pop` returns.
    Marked(PacketId),
}

/// The queue of an interface.
pub trait Discipline: Debug {
    /// Takes a packet. If there is no room, this packet or others are dropped.
    fn push(&mut self, item: Item, changes: &mut Vec<Change>);

    /// Removes the packet to send at `now`.
    fn pop(&mut self, now: Ns, changes: &mut Vec<Change>) -> Option<Item>;

    /// Packets waiting.
    fn len(&self) -> usize;

    /// Whether no packet waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes the packets for which `wanted` is true, and returns them in order, without counting them as dropped.
    fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item>;
}

/// Removes the items for which `wanted` is true.
pub(super) fn split_off(items: &mut VecDeque<Item>, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
    let taken = items.iter().copied().filter(wanted).collect();
    items.retain(|item| !wanted(item));
    taken
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    pub const MS: Ns = 1_000_000;

    /// A full packet of `flow` that is pushed at `at`.
    pub fn item(id: u32, flow: u32, at: Ns) -> Item {
        Item { id: PacketId(id), bytes: 1500, flow, ecn_capable: false, next_hop: None, at }
    }

    /// Pushes an item and returns the numbers and reasons of the packets that this dropped.
    pub fn push(queue: &mut dyn Discipline, item: Item) -> Vec<(u32, Reason)> {
        let mut changes = Vec::new();
        queue.push(item, &mut changes);
        dropped(changes)
    }

    /// Pops, and returns the packet's number and those of the packets that were dropped and marked.
    pub fn pop(queue: &mut dyn Discipline, now: Ns) -> (Option<u32>, Vec<u32>, Vec<u32>) {
        let mut changes = Vec::new();
        let popped = queue.pop(now, &mut changes).map(|item| item.id.0);
        let marked = changes.iter().filter_map(|change| match change {
            Change::Marked(id) => Some(id.0),
            Change::Dropped(..) => None,
        });
        let marked = marked.collect();
        (popped, dropped(changes).into_iter().map(|(id, _)| id).collect(), marked)
    }

    fn dropped(changes: Vec<Change>) -> Vec<(u32, Reason)> {
        let dropped = changes.into_iter().filter_map(|change| match change {
            Change::Dropped(item, reason) => Some((item.id.0, reason)),
            Change::Marked(_) => None,
        });
        dropped.collect()
    }
}
