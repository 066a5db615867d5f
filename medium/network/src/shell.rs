//! A hook at its node, and what it holds.

use std::collections::BTreeMap;

use pacelab_engine::{NEVER, Ns};

use crate::hook::{Hook, Point};
use crate::packet::Packet;

/// Where a segment was seen; at the link also where it was going.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub point: Point,
    pub next_hop: Option<u32>,
}

/// A hook at its node.
pub(crate) struct HookShell {
    pub node: u32,
    pub hook: Box<dyn Hook>,
    pub mask: u32,
    /// Segments the algorithm has not decided on: handle -> where it was seen.
    pub held: BTreeMap<u32, Seen>,
    /// Copies kept for `Resend`: the handle they were seen under -> (where, packet).
    pub kept: BTreeMap<u32, (Seen, Packet)>,
    pub timer_at: Ns,
    /// Actions on handles that are not held or kept.
    pub errors: u64,
    pub bypassed: bool,
}

impl HookShell {
    pub fn new(node: u32, hook: Box<dyn Hook>) -> Self {
        let mask = hook.event_mask();
        HookShell {
            node,
            hook,
            mask,
            held: BTreeMap::new(),
            kept: BTreeMap::new(),
            timer_at: NEVER,
            errors: 0,
            bypassed: false,
        }
    }
}
