//! What the network has to do later.

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
