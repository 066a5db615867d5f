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
mod discipline;
mod flows;
mod fq;
mod fq_codel;
mod interface;

use pacelab_air_config::QdiscKind;

pub use codel::Codel;
pub use discipline::{Change, Discipline, Item, Reason};
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub(crate) use interface::Interface;

/// Makes a user's discipline of one interface, in which at most so many packets wait.
pub type Factory<'a> = dyn FnMut(u32) -> Result<Box<dyn Discipline>, String> + 'a;

/// The factory where there is no user's code.
///
/// # Errors
/// Always.
pub fn no_user_code(_limit_pkts: u32) -> Result<Box<dyn Discipline>, String> {
    Err("qdisc: kind \"own\" needs a user's class".into())
}

/// The discipline of one interface, in which at most `limit_pkts` packets wait.
///
/// # Errors
/// That of the factory.
pub fn by_kind(kind: QdiscKind, limit_pkts: u32, own: &mut Factory<'_>) -> Result<Box<dyn Discipline>, String> {
    let limit = limit_pkts as usize;
    Ok(match kind {
        QdiscKind::Codel => Box::new(Codel::new(limit)),
        QdiscKind::FqCodel => Box::new(FqCodel::new(limit)),
        QdiscKind::Fq => Box::new(Fq::new(limit)),
        QdiscKind::Own => own(limit_pkts)?,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pacelab_engine::{Ns, Stream};

    use super::discipline::testing::{MS, item};
    use super::*;
    use crate::ids::NodeId;

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
                let mut queue = by_kind(kind, 30, &mut no_user_code).unwrap();
                check_invariants(queue.as_mut(), Stream::new(seed, 0));
            }
        }
    }
}
