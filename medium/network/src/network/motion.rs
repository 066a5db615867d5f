//! Nodes that move, and link rates that change on schedule.

use pacelab_air_config::ns_from_s;

use super::task::Task;
use super::{Network, radio_edges, wired_edges};
use crate::routes::Routes;
use crate::walks::{STEP_NS, place};

impl Network {
    pub(super) fn schedule_motion(&mut self) {
        let mut nodes: Vec<u32> = self.config.moves.iter().map(|&(node, ..)| node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            self.schedule(0, Task::Move(node));
        }
        for index in 0..self.config.rate_changes.len() {
            let at = ns_from_s(self.config.rate_changes[index].0);
            self.schedule(at, Task::RateChange(index as u32));
        }
    }

    pub(super) fn change_rate(&mut self, index: u32) {
        let (_, from, to, rate_bps) = self.config.rate_changes[index as usize];
        if let (Some(from), Some(to)) = (self.station_of[from as usize], self.station_of[to as usize]) {
            self.air.set_link_rate(from, to, rate_bps);
            self.path_rates.clear();
        }
    }

    pub(super) fn move_node(&mut self, node: u32) {
        let Some(station) = self.station_of[node as usize] else { return };
        let (position_m, on_its_way) = place(&self.config, node, self.now);
        self.air.move_station(station, position_m);
        let edges: Vec<(u32, u32)> = radio_edges(&self.air, &self.node_of).chain(wired_edges(&self.config)).collect();
        if self.routes.edges_differ(&edges) {
            self.routes = Routes::new(self.config.nodes.len(), edges.into_iter());
            self.path_rates.clear();
        }
        if on_its_way {
            self.schedule(self.now + STEP_NS, Task::Move(node));
        }
    }
}
