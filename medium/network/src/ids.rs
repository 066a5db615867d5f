//! Types for the numbers of flows, hooks and wires. The types for nodes, stations and packets come from lower layers.

use pacelab_engine::id_type;

pub use pacelab_air_config::NodeId;
pub use pacelab_engine::{Id, IdVec, PacketId, StationId};

id_type!(
    /// A flow: its place in the configuration.
    FlowId
);

impl FlowId {
    /// The value for routing messages, which belong to no flow.
    pub const NONE: FlowId = FlowId(u32::MAX);
}

id_type!(
    /// A hook: its place in the order in which hooks were installed.
    HookId
);

id_type!(
    /// One direction of a wired link.
    WireId
);

impl WireId {
    /// The other direction of the same link: the two directions have the numbers 2k and 2k + 1.
    pub fn reverse(self) -> WireId {
        WireId(self.0 ^ 1)
    }
}
