//! Moving nodes, on straight lines between the positions of the configuration, and scheduled changes of link rates.

use std::collections::{BTreeMap, BTreeSet};

use pacelab_air_config::{Config, ns_from_s};
use pacelab_engine::Ns;

use super::task::Task;
use super::{Network, radio_edges, wired_edges};
use crate::ids::{Id, NodeId};
use crate::routes::Routes;

/// Interval between updates of a position: 0.2 m at 2 m/s.
pub const STEP_NS: Ns = 100_000_000;

impl Network {
    pub(super) fn schedule_motion(&mut self) {
        let mut nodes: Vec<NodeId> = self.config.moves.iter().map(|&(node, ..)| node).collect();
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
        if let (Some(from), Some(to)) = (self.station_of[from], self.station_of[to]) {
            self.air.set_link_rate(from, to, rate_bps);
            self.path_rates.clear();
        }
    }

    pub(super) fn move_node(&mut self, node: NodeId) {
        let Some(station) = self.station_of[node] else { return };
        let (position_m, on_its_way) = place(&self.config, node, self.now);
        self.air.move_station(station, position_m);
        let edges: Vec<(NodeId, NodeId)> =
            radio_edges(&self.air, &self.node_of).chain(wired_edges(&self.config)).collect();
        if self.routes.edges_differ(&edges) {
            self.routes = Routes::new(self.config.nodes.len(), edges.into_iter());
            self.path_rates.clear();
        }
        if on_its_way {
            self.schedule(self.now + STEP_NS, Task::Move(node));
        }
    }
}

/// Positions of each moving node at every `step` of a run, for figures.
pub fn places(config: &Config, step: Ns) -> BTreeMap<NodeId, Vec<[f64; 2]>> {
    let steps = ns_from_s(config.duration_s) / step;
    let track = |node| (0..=steps).map(|number| place(config, node, number * step).0).collect();
    config.moves.iter().map(|&(node, ..)| node).collect::<BTreeSet<_>>().into_iter().map(|n| (n, track(n))).collect()
}

/// Position of the node at that time, and whether it will move again. A pure function of the configuration.
fn place(config: &Config, node: NodeId, now: Ns) -> ([f64; 2], bool) {
    let now_s = now as f64 / 1e9;
    let start = config.nodes[node.index()].position_m.unwrap_or([0.0, 0.0]);
    let mut before = (0.0, start);
    for &(_, at_s, x, y) in config.moves.iter().filter(|&&(mover, ..)| mover == node) {
        if at_s > now_s {
            let share = (now_s - before.0) / (at_s - before.0);
            let along = |a: f64, b: f64| a + (b - a) * share;
            return ([along(before.1[0], x), along(before.1[1], y)], true);
        }
        before = (at_s, [x, y]);
    }
    (before.1, false)
}
