//! Where algorithms sit: the Rust side of `pacelab_pacer.core.contract`, and the shell around each of them.

use std::collections::BTreeMap;

use pacelab_engine::{NEVER, Ns};

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

/// Where a hook sits at its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Between transport and routing, or between the wired and the air side of a gateway.
    Node,
    /// Between routing and the interface queue: all that the node sends by air, its own and what it forwards.
    Link,
}

/// Event mask bits of the contract.
#[allow(missing_docs)]
pub mod mask {
    pub const SEGMENT: u32 = 1;
    pub const TRANSMIT: u32 = 2;
}

/// One packet as the contract's `Segment`.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Segment {
    pub handle: u32,
    /// (src, dst, sport, dport)
    pub flow: (u32, u32, u32, u32),
    /// None: UDP.
    pub tcp: Option<TcpHeader>,
    pub payload_bytes: u32,
    pub packet_bytes: u32,
    pub ecn_capable: bool,
    pub rtp: Option<Rtp>,
    pub quality: Option<VoiceQuality>,
}

/// What a voice packet says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rtp {
    pub sequence: u16,
    pub sent_ns: Ns,
}

/// What a hook is told.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Event<'a> {
    Seen { point: Point, segment: Segment, path_rates_bps: &'a [u32] },
    Transmit { segment: Segment, attempts: u32, delivered: bool, next_hop: Option<u32> },
}

/// What a hook wants done.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Action {
    Forward { handle: u32, keep: bool },
    Drop { handle: u32, reason: String },
    Resend { handle: u32 },
    Release { handle: u32 },
    Rewrite { handle: u32, window_bytes: Option<u32>, rtt_wired_ns: Option<u64>, mark: bool },
    Inject { segment: Segment },
    SetExtraBackoff { slots: u32, wall_clock: bool },
}

/// An algorithm at one node. Implementations never fail outwards: one that breaks goes silent (`failure`).
pub trait Hook {
    /// Events wanted.
    fn event_mask(&self) -> u32;
    /// Something happened.
    fn handle(&mut self, now: Ns, event: &Event<'_>);
    /// Next action, or None.
    fn poll_action(&mut self) -> Option<Action>;
    /// When `handle_timeout` is wanted, or `NEVER`.
    fn deadline(&mut self) -> Ns;
    /// The clock has reached the deadline.
    fn handle_timeout(&mut self, now: Ns);
    /// Why the algorithm is out of order, if it is: from then on it is bypassed.
    fn failure(&self) -> Option<&str>;
    /// The algorithm's counters as JSON.
    fn counters_json(&mut self) -> String;
}

/// Where a segment was seen; at the link also where it was going.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub point: Point,
    pub next_hop: Option<u32>,
}

/// A hook at its node, and what it holds.
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
