//! Where nodes are that move, on straight lines between the places of a configuration. Pure functions of it.

use std::collections::{BTreeMap, BTreeSet};

use pacelab_air_config::{Config, ns_from_s};
use pacelab_engine::Ns;

/// Positions are brought up to date this often: 0.2 m at 2 m/s.
pub const STEP_NS: Ns = 100_000_000;

/// Where each node that moves is, every `step` of a run from its begin to its end: for pictures.
pub fn places(config: &Config, step: Ns) -> BTreeMap<u32, Vec<[f64; 2]>> {
    let steps = ns_from_s(config.duration_s) / step;
    let track = |node| (0..=steps).map(|number| place(config, node, number * step).0).collect();
    config.moves.iter().map(|&(node, ..)| node).collect::<BTreeSet<_>>().into_iter().map(|n| (n, track(n))).collect()
}

/// Where the node is at that time, and whether it is still to move.
pub(crate) fn place(config: &Config, node: u32, now: Ns) -> ([f64; 2], bool) {
    let now_s = now as f64 / 1e9;
    let start = config.nodes[node as usize].position_m.unwrap_or([0.0, 0.0]);
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
