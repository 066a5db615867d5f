//! The log of a run for captures.

use super::Network;
use crate::airlog::AirLog;

impl Network {
    /// Takes the log of a run whose configuration asks for a capture; `report` then has no tap.
    pub fn take_air_log(&mut self) -> AirLog {
        AirLog {
            phy: self.config.radio.phy,
            names: self.config.nodes.iter().map(|node| node.name.clone()).collect(),
            node_of: self.node_of.clone(),
            records: self.air.take_records(),
            frames: self.air.take_frames(),
            packets: std::mem::take(&mut self.enqueued),
            end: self.now,
        }
    }
}
