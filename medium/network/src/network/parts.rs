//! Parts of a network that nothing connects: no frame is sensed from one to the other, no wire leads and no flow goes there.
//!
//! Each part is run by itself from one moment that concerns all to the next, so that what it needs is still in the
//! processor's caches when it is needed again. In one agenda two thousand nodes' moments alternate, and each finds memory
//! that two hundred other chains have been at since.

use std::collections::VecDeque;

use pacelab_air_config::Traffic;
use pacelab_engine::{EventQueue, NEVER, Ns, Timeline};

use super::task::{InLinkLayer, Task};
use super::{Network, ProgressWatch};
use crate::flow::Flow;
use crate::ids::{IdVec, NodeId};
use crate::tcp::congestion;

/// What fewer stations need fits the caches anyway.
const LEAST_STATIONS: usize = 64;

/// What a part has to do, in its own time.
#[derive(Debug, Default)]
pub(super) struct Part {
    due: Timeline,
    event_queue: EventQueue,
    link_layer: VecDeque<(Ns, InLinkLayer)>,
    now: Ns,
}

impl Network {
    /// The parts, with what was planned of each; none where all is one, or where the order among parts can be seen: by
    /// hooks, a congestion control of one's own, a tap, nodes that move, or an end that depends on all flows.
    pub(super) fn split_into_parts(&mut self) -> Vec<Part> {
        let config = &self.config;
        let own_control = |flow: &Flow| match &flow.config.traffic {
            Traffic::Tcp(tcp) => congestion::by_name(&tcp.cc, tcp.initial_window, tcp.window_pkts).is_err(),
            _ => false,
        };
        let ordered = !self.hooks.is_empty()
            || self.flows.iter().any(own_control)
            || config.tap
            || config.capture.is_some()
            || !config.moves.is_empty()
            || config.stop_after_pkts.is_some();
        if ordered || self.node_of.len() < LEAST_STATIONS {
            return Vec::new();
        }
        let part_of = self.part_of_nodes();
        let count = part_of.iter().max().map_or(0, |&last| last as usize + 1);
        if count < 2 {
            return Vec::new();
        }
        let mut parts: Vec<Part> = std::iter::repeat_with(Part::default).take(count).collect();
        let mut plan = std::mem::take(&mut self.event_queue);
        while let Some((at, word)) = plan.pop() {
            let event_queue = match Task::unpack(word) {
                Task::FlowStart(flow) | Task::FlowStop(flow) => {
                    let source = self.flows[flow].config.src;
                    &mut parts[part_of[source] as usize].event_queue
                }
                _ => &mut self.event_queue,
            };
            event_queue.push(at, word);
        }
        parts.retain(|part| part.event_queue.next_at() < NEVER); // where nothing begins nothing will be
        parts
    }

    /// Runs each part up to the next moment that concerns all, then what is due then.
    pub(super) fn run_parts(&mut self, mut parts: Vec<Part>, watch: &mut ProgressWatch<'_, '_>) {
        let mut until = 0;
        while !self.finished && until <= watch.end {
            watch.reached = until;
            until = self.event_queue.next_at().min(watch.end + 1);
            for part in &mut parts {
                self.swap_timeline(part);
                self.run_until(until, watch);
                self.swap_timeline(part);
            }
            self.run_until((until + 1).min(watch.end + 1), watch);
        }
    }

    /// A number from 0 on for each node: that of its part.
    fn part_of_nodes(&self) -> IdVec<NodeId, u32> {
        let mut above: IdVec<NodeId, NodeId> = (0..self.config.nodes.len() as u32).map(NodeId).collect();
        for (station, &node) in self.node_of.iter_with_ids() {
            for link in self.air.links(station) {
                join(&mut above, node, self.node_of[link.to]);
            }
        }
        self.config.wired.iter().for_each(|wire| join(&mut above, wire.a, wire.b));
        self.flows.iter().for_each(|flow| join(&mut above, flow.config.src, flow.config.dst));
        let mut parts = 0;
        let mut part_of = IdVec::filled(0, above.len());
        // A root is the least of its part: it has its number before all others of it.
        for node in above.ids() {
            let root = root_of(&mut above, node);
            if root == node {
                part_of[node] = parts;
                parts += 1;
            } else {
                part_of[node] = part_of[root];
            }
        }
        part_of
    }

    /// Takes a part's place, or gives it back: all that is due, and the time.
    fn swap_timeline(&mut self, part: &mut Part) {
        self.air.swap_timeline(&mut part.due);
        std::mem::swap(&mut self.event_queue, &mut part.event_queue);
        std::mem::swap(&mut self.link_layer, &mut part.link_layer);
        std::mem::swap(&mut self.now, &mut part.now);
    }
}

fn root_of(above: &mut IdVec<NodeId, NodeId>, node: NodeId) -> NodeId {
    let mut root = node;
    while above[root] != root {
        above[root] = above[above[root]];
        root = above[root];
    }
    root
}

/// The least of two parts that are one becomes the root of both.
fn join(above: &mut IdVec<NodeId, NodeId>, a: NodeId, b: NodeId) {
    let (a, b) = (root_of(above, a), root_of(above, b));
    above[a.max(b)] = a.min(b);
}
