//! Hooks of algorithms: the Rust side of `pacelab_pacer.core.contract`, and the driver of each hook.

use std::collections::BTreeMap;

use pacelab_engine::{NEVER, Ns};

use crate::ids::{NodeId, PacketId};
use crate::packet::{Packet, TcpHeader, VoiceQuality};

/// Where a segment was seen; the numbers are the contract's `Point`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Point {
    WiredToAir = 0,
    AirToWired = 1,
    LocalOut = 2,
    LocalIn = 3,
    Link = 4,
}

/// The place of a hook at its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Between transport and routing, or between the wired and the air side of a gateway.
    Node,
    /// Between routing and the interface queue: all packets that the node sends by air, its own and forwarded ones.
    Link,
}

/// Event mask bits of the contract.
#[allow(missing_docs)]
pub mod mask {
    pub const SEGMENT: u32 = 1;
    pub const TRANSMIT: u32 = 2;
}

/// One packet as the contract's `Segment`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Segment {
    pub handle: PacketId,
    /// (src, dst, sport, dport)
    pub flow: (u32, u32, u32, u32),
    /// None: UDP.
    pub tcp: Option<TcpHeader>,
    pub payload_bytes: u32,
    pub packet_bytes: u32,
    pub ecn_capable: bool,
    pub rtp: Option<Rtp>,
    pub quality: Option<Box<VoiceQuality>>,
}

/// RTP header fields of a voice packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rtp {
    pub sequence: u16,
    pub sent_ns: Ns,
}

/// An event for a hook.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Event<'a> {
    Seen { point: Point, segment: Segment, path_rates_bps: &'a [u32] },
    Transmit { segment: Segment, attempts: u32, delivered: bool, next_hop: Option<NodeId> },
}

/// An action that a hook requests.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Action {
    Forward { handle: PacketId, keep: bool },
    Drop { handle: PacketId, reason: String },
    Resend { handle: PacketId },
    Release { handle: PacketId },
    Rewrite { handle: PacketId, window_bytes: Option<u32>, rtt_wired_ns: Option<u64>, mark: bool },
    Inject { segment: Box<Segment> },
    SetExtraBackoff { slots: u32, wall_clock: bool },
}

/// A source pauses while the hook at its own node holds this many segments of a flow, like TCP Small Queues of Linux.
/// Data that waits for a pacer then waits in the socket: a retransmission overtakes it, and the RTT does not include the
/// wait.
pub const SOURCE_LIMIT_PKTS: u32 = 2;

/// An algorithm at one node. Implementations do not return errors: a hook that fails stops acting and reports
/// `failure`.
pub trait Hook {
    /// Events wanted.
    fn event_mask(&self) -> u32;
    /// How many segments of a flow of its own node it holds before their source pauses.
    fn source_limit_pkts(&self) -> u32 {
        SOURCE_LIMIT_PKTS
    }
    /// Something happened.
    fn handle(&mut self, now: Ns, event: &Event<'_>);
    /// Next action, or None.
    fn poll_action(&mut self) -> Option<Action>;
    /// When to call `handle_timeout`, or `NEVER`.
    fn deadline(&mut self) -> Ns;
    /// The clock has reached the deadline.
    fn handle_timeout(&mut self, now: Ns);
    /// Why the algorithm has failed, if it has. A failed hook is bypassed.
    fn failure(&self) -> Option<&str>;
    /// The algorithm's counters as JSON.
    fn counters_json(&mut self) -> String;
}

/// Where a segment was seen, and its next hop if it was seen at the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub point: Point,
    pub next_hop: Option<NodeId>,
}

/// Segments by their handles, with where each was seen. Most algorithms decide on a segment at once, so the newest one is
/// kept apart: most segments then never enter the map.
#[derive(Default)]
pub(crate) struct Held {
    newest: Option<(PacketId, Seen)>,
    others: BTreeMap<PacketId, Seen>,
}

impl Held {
    pub fn insert(&mut self, handle: PacketId, seen: Seen) {
        if let Some((before, seen)) = self.newest.replace((handle, seen)) {
            self.others.insert(before, seen);
        }
    }

    pub fn remove(&mut self, handle: PacketId) -> Option<Seen> {
        match self.newest {
            Some((newest, seen)) if newest == handle => {
                self.newest = None;
                Some(seen)
            }
            _ => self.others.remove(&handle),
        }
    }

    pub fn contains(&self, handle: PacketId) -> bool {
        self.newest.is_some_and(|(newest, _)| newest == handle) || self.others.contains_key(&handle)
    }

    /// Removes all, in the order of their handles.
    pub fn drain(&mut self) -> BTreeMap<PacketId, Seen> {
        self.others.extend(self.newest.take());
        std::mem::take(&mut self.others)
    }
}

/// A hook at its node, and the segments that it holds.
pub(crate) struct HookDriver {
    pub node: NodeId,
    pub hook: Box<dyn Hook>,
    pub mask: u32,
    /// Segments that the algorithm has not decided on.
    pub held: Held,
    /// Copies kept for `Resend`: handle of the segment -> (where it was seen, packet).
    pub kept: BTreeMap<PacketId, (Seen, Packet)>,
    pub timer_at: Ns,
    /// Actions on handles that are not held or kept.
    pub errors: u64,
    pub bypassed: bool,
}

impl HookDriver {
    pub fn new(node: NodeId, hook: Box<dyn Hook>) -> Self {
        let mask = hook.event_mask();
        HookDriver {
            node,
            hook,
            mask,
            held: Held::default(),
            kept: BTreeMap::new(),
            timer_at: NEVER,
            errors: 0,
            bypassed: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Seen = Seen { point: Point::Link, next_hop: None };

    #[test]
    fn each_held_segment_is_removed_once_in_any_order() {
        let mut held = Held::default();
        for handle in [7, 3, 5] {
            held.insert(PacketId(handle), SEEN);
        }
        assert!([3, 5, 7].iter().all(|&handle| held.contains(PacketId(handle))));
        assert!(!held.contains(PacketId(4)) && held.remove(PacketId(4)).is_none());
        assert!(held.remove(PacketId(7)).is_some()); // the oldest
        assert!(held.remove(PacketId(5)).is_some()); // the newest
        held.insert(PacketId(2), SEEN);
        assert!(held.remove(PacketId(5)).is_none());
        assert_eq!(held.drain().into_keys().collect::<Vec<_>>(), [PacketId(2), PacketId(3)]);
        assert!(held.drain().is_empty());
    }
}
