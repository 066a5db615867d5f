//! What went over the air in a run, for captures: the tap's records, the frames, and the packets inside them.

use pacelab_air_config::PhyKind;
use pacelab_engine::{Ns, Record, Sent};

use crate::packet::Packet;

/// A packet as it was handed to a station's queue.
#[derive(Clone, Debug)]
pub struct Enqueued {
    /// When.
    pub at: Ns,
    /// Its number in the pool, which frames bear. Numbers are used again: the latest one before a frame is meant.
    pub id: u32,
    /// What it was then.
    pub packet: Packet,
}

/// Everything on the air, each list by time. Stations are numbered as in the engine.
#[derive(Clone, Debug, Default)]
pub struct AirLog {
    /// The physical layer.
    pub phy: PhyKind,
    /// Name of each node, by node number.
    pub names: Vec<String>,
    /// Node number of each station.
    pub node_of: Vec<u32>,
    /// What happened.
    pub records: Vec<Record>,
    /// What was sent.
    pub frames: Vec<Sent>,
    /// What the frames carry.
    pub packets: Vec<Enqueued>,
    /// When the run ended.
    pub end: Ns,
}
