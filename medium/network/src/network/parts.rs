//! Unconnected parts of a network: no frame of one part is sensed in another, and no wire or flow connects them.
//!
//! Each part runs alone from one common event to the next, so that its data stays in the CPU caches. With a single
//! event queue the events of two thousand nodes would alternate, and each event would find its data displaced from the
//! caches.

use std::collections::VecDeque;

use pacelab_air_config::{QdiscKind, Traffic};
use pacelab_engine::{EventQueue, NEVER, Ns, Timeline};

use super::task::{InLinkLayer, Task};
use super::{Network, ProgressWatch};
use crate::flow::Flow;
use crate::ids::{IdVec, NodeId};
use crate::tcp::congestion;

/// The data of fewer stations fits the caches without splitting.
const MIN_STATIONS: usize = 64;

/// The pending events of a part, and its time.
#[derive(Debug, Default)]
pub(super) struct Part {
    timeline: Timeline,
    event_queue: EventQueue,
    link_layer: VecDeque<(Ns, InLinkLayer)>,
    now: Ns,
}

impl Network {
    /// The parts with their planned events. Empty if the network is connected, or if the order of events in different
    /// parts is visible: to hooks, to a user's congestion control or queue discipline, in the trace, through moving nodes, or through an
    /// end of the run that depends on all flows.
    pub(super) fn split_into_parts(&mut self) -> Vec<Part> {
        let config = &self.config;
        let has_user_control = |flow: &Flow| match &flow.config.traffic {
            Traffic::Tcp(tcp) => congestion::by_name(&tcp.cc, tcp.initial_window, tcp.window_pkts).is_err(),
            _ => false,
        };
        let ordered = !self.hooks.is_empty()
            || self.flows.iter().any(has_user_control)
            || config.qdisc.is_some_and(|qdisc| qdisc.kind == QdiscKind::Own)
            || config.tap
            || config.capture.is_some()
            || !config.moves.is_empty()
            || config.stop_after_pkts.is_some()
            || config.pings.is_some();
        if ordered || self.node_of.len() < MIN_STATIONS {
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
        parts.retain(|part| part.event_queue.next_at() < NEVER); // a part without a planned event never does anything
        parts
    }

    /// Runs each part up to the next common event, then that event.
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

    /// The number of each node's part, from 0 on.
    fn part_of_nodes(&self) -> IdVec<NodeId, u32> {
        let mut parent_of: IdVec<NodeId, NodeId> = (0..self.config.nodes.len() as u32).map(NodeId).collect();
        for (station, &node) in self.node_of.iter_with_ids() {
            for link in self.air.links(station) {
                join(&mut parent_of, node, self.node_of[link.to]);
            }
        }
        self.config.wired.iter().for_each(|wire| join(&mut parent_of, wire.a, wire.b));
        self.flows.iter().for_each(|flow| join(&mut parent_of, flow.config.src, flow.config.dst));
        let mut parts = 0;
        let mut part_of = IdVec::filled(0, parent_of.len());
        // A root is the smallest node of its part, so it gets the number of the part first.
        for node in parent_of.ids() {
            let root = root_of(&mut parent_of, node);
            if root == node {
                part_of[node] = parts;
                parts += 1;
            } else {
                part_of[node] = part_of[root];
            }
        }
        part_of
    }

    /// Exchanges pending events and time with a part.
    fn swap_timeline(&mut self, part: &mut Part) {
        self.air.swap_timeline(&mut part.timeline);
        std::mem::swap(&mut self.event_queue, &mut part.event_queue);
        std::mem::swap(&mut self.link_layer, &mut part.link_layer);
        std::mem::swap(&mut self.now, &mut part.now);
    }
}

fn root_of(parent_of: &mut IdVec<NodeId, NodeId>, node: NodeId) -> NodeId {
    let mut root = node;
    while parent_of[root] != root {
        parent_of[root] = parent_of[parent_of[root]];
        root = parent_of[root];
    }
    root
}

/// Joins two parts. The smaller root becomes the root of both.
fn join(parent_of: &mut IdVec<NodeId, NodeId>, a: NodeId, b: NodeId) {
    let (a, b) = (root_of(parent_of, a), root_of(parent_of, b));
    parent_of[a.max(b)] = a.min(b);
}
