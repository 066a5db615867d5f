//! Nodes that move, and link rates that change on schedule.

use pacelab_air_config::ns_from_s;
use pacelab_engine::Ns;

use super::task::Task;
use super::{Network, radio_edges, wired_edges};
use crate::routes::Routes;

/// Positions are brought up to date this often: 0.2 m at 2 m/s.
const STEP_NS: Ns = 100_000_000;

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
        let (position_m, moving_at) = self.place(node);
        self.air.move_station(station, position_m);
        let edges: Vec<(u32, u32)> = radio_edges(&self.air, &self.node_of).chain(wired_edges(&self.config)).collect();
        if self.routes.edges_differ(&edges) {
            self.routes = Routes::new(self.config.nodes.len(), edges.into_iter());
            self.path_rates.clear();
        }
        if let Some(at) = moving_at {
            self.schedule(at, Task::Move(node));
        }
    }

    /// Where the node is now, and when to look again.
    fn place(&self, node: u32) -> ([f64; 2], Option<Ns>) {
        let now_s = self.now as f64 / 1e9;
        let start = self.config.nodes[node as usize].position_m.unwrap_or([0.0, 0.0]);
        let mut before = (0.0, start);
        for &(_, at_s, x, y) in self.config.moves.iter().filter(|&&(mover, ..)| mover == node) {
            if at_s > now_s {
                let share = (now_s - before.0) / (at_s - before.0);
                let along = |a: f64, b: f64| a + (b - a) * share;
                return ([along(before.1[0], x), along(before.1[1], y)], Some(self.now + STEP_NS));
            }
            before = (at_s, [x, y]);
        }
        (before.1, None)
    }
}
