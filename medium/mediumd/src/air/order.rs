//! What the thread of the air is asked, and what it answers.

use std::sync::mpsc::SyncSender;

use pacelab_air_config::Propagation;
use pacelab_engine::{Counters, Ns};
use pacelab_hwsim::mesh::Mesh;

use crate::air::histogram::Histogram;
use crate::air::lateness::Fidelity;
use crate::frames::event::Cause;
use crate::frames::wire::Traffic;

/// What the air is asked to do.
#[derive(Debug)]
pub enum Order {
    /// A change; answered when it is in force.
    Change(Change, SyncSender<()>),
    /// How things stand.
    Snapshot(SyncSender<Snapshot>),
    /// The end.
    Stop,
}

/// A change of the air, for stations by number.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Change {
    Position {
        station: u32,
        position_m: [f64; 2],
    },
    Rate {
        station: u32,
        to: Option<u32>,
        data_rate_bps: u32,
    },
    RtsThreshold {
        bytes: u32,
    },
    Propagation(Propagation),
    ExtraBackoff {
        station: u32,
        slots: u32,
        wall_clock: bool,
    },
    /// Only wmediumd's socket asks for it.
    Mesh(Mesh),
}

/// How things stand at one moment.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // PROTOCOL.md documents them under "Statistics"
pub struct Snapshot {
    pub at: Ns,
    pub stations: Vec<StationSnapshot>,
    pub in_air: usize,
    pub drops: [u64; Cause::ALL.len()],
    pub delivery: Histogram,
    pub wakeup: Histogram,
    pub fidelity: Fidelity,
    pub since_start: Fidelity,
    pub lost: u64,
    pub seconds: [u64; 3],
    pub cpu_ns: Ns,
}

/// How things stand at one station.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct StationSnapshot {
    pub position_m: [f64; 2],
    pub data_rate_bps: u32,
    pub queue_pkts: usize,
    pub traffic: Traffic,
    pub counters: Counters,
}
