//! Queue disciplines: which waiting packet an interface sends next, and which packets it drops or marks.
//!
//! ```text
//!   push                 pop
//!   ----> Discipline ---------->  the MAC of a radio, or the transmitter of a wire
//!             |
//!             +-- Change: a packet that was dropped or marked
//! ```
//!
//! A radio or wire without a discipline has a drop-tail queue: the MAC's own, or that of the wire.
//!
//! Invariants
//! 1. A packet that was pushed leaves exactly once: it is popped, taken back, or reported as dropped.
//! 2. Packets of one flow leave in the order in which they were pushed.
//! 3. `pop` returns a packet whenever `len` is not 0 before the call, unless it drops all of them.

mod codel;
mod flows;
mod fq;
mod fq_codel;
mod interface;

use std::borrow::Cow;
use std::fmt::Debug;

use pacelab_air_config::{Qdisc, QdiscKind};
use pacelab_engine::Ns;

use crate::ids::{NodeId, PacketId};

pub use codel::Codel;
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub(crate) use interface::Interface;

/// Size of the largest usual packet: Ethernet's MTU.
const MTU_BYTES: u32 = 1500;
/// The same with the Ethernet header. RFC 8290 Sec. 5.2.3 and Linux count flows in units of it.
const FRAME_BYTES: u32 = 1514;

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

/// Why a discipline dropped a packet, as in the result: `full`, `flow-full`, `codel`, or the user's own reason.
pub type Reason = Cow<'static, str>;

/// What a discipline did to a packet besides passing it on.
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

    /// Takes back the packets for which `wanted` is true, in order, without counting them as dropped.
    fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item>;
}

/// Makes the discipline of one interface from the configuration and the number of packets that may wait.
pub type DisciplineFactory<'a> = dyn FnMut(&Qdisc, u32) -> Result<Box<dyn Discipline>, String> + 'a;

/// The built-in discipline of a configuration.
///
/// # Errors
/// The kind is the user's own, which only the Python binding can make.
pub fn built_in(qdisc: &Qdisc, limit_pkts: u32) -> Result<Box<dyn Discipline>, String> {
    let limit_pkts = limit_pkts as usize;
    match qdisc.kind {
        QdiscKind::Codel => Ok(Box::new(Codel::new(limit_pkts))),
        QdiscKind::FqCodel => Ok(Box::new(FqCodel::new(limit_pkts))),
        QdiscKind::Fq => Ok(Box::new(Fq::new(limit_pkts))),
        QdiscKind::User => Err("qdisc: kind user: a class of your own is needed".into()),
    }
}

/// Removes the items for which `wanted` is true.
fn split_off(items: &mut std::collections::VecDeque<Item>, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pacelab_engine::Stream;

    use super::testing::{MS, item};
    use super::*;

    /// Pushes, pops and takes back at random, and checks that each packet leaves once, and each flow in order.
    fn check_invariants(queue: &mut dyn Discipline, mut random: Stream) {
        let (mut now, mut pushed, mut left) = (0, 0, Vec::new());
        let mut last_of = BTreeMap::new();
        for _ in 0..3000 {
            now += Ns::from(random.below(4)) * MS;
            let mut changes = Vec::new();
            match random.below(20) {
                0..10 => {
                    let (bytes, next_hop) = (40 + random.below(1460), Some(NodeId(random.below(3))));
                    let ecn_capable = random.below(2) == 0;
                    queue.push(
                        Item { bytes, next_hop, ecn_capable, ..item(pushed, random.below(4), now) },
                        &mut changes,
                    );
                    pushed += 1;
                }
                10..19 => {
                    let waiting = queue.len();
                    let popped = queue.pop(now, &mut changes);
                    assert_eq!(popped.is_some(), waiting > queue.len() + changes.len() - marks(&changes));
                    if let Some(item) = popped {
                        assert!(last_of.insert(item.flow, item.id.0).is_none_or(|last| last < item.id.0));
                        left.push(item.id.0);
                    }
                }
                _ => {
                    let hop = Some(NodeId(random.below(3)));
                    let taken = queue.take_back(&|item| item.next_hop == hop);
                    assert!(taken.iter().all(|item| item.next_hop == hop));
                    left.extend(taken.iter().map(|item| item.id.0));
                }
            }
            for change in changes {
                match change {
                    Change::Dropped(item, _) => left.push(item.id.0),
                    Change::Marked(id) => assert!(left.contains(&id.0)), // the one that was popped
                }
            }
            assert_eq!(queue.len(), pushed as usize - left.len());
        }
        left.sort_unstable();
        left.dedup();
        assert_eq!(queue.len(), pushed as usize - left.len());
        assert!(left.len() > 1000);
    }

    fn marks(changes: &[Change]) -> usize {
        changes.iter().filter(|change| matches!(change, Change::Marked(_))).count()
    }

    #[test]
    fn every_packet_leaves_once_and_flows_keep_their_order() {
        for seed in 0..20 {
            for kind in [QdiscKind::Codel, QdiscKind::FqCodel, QdiscKind::Fq] {
                let mut queue = built_in(&Qdisc { kind, ring_pkts: 0 }, 30).unwrap();
                check_invariants(queue.as_mut(), Stream::new(seed, 0));
            }
        }
    }
}
