//! The network: everything above the air, and the event loop.

mod build;
mod forwarding;
mod hooks;
mod interfaces;
pub mod motion;
mod parts;
mod pings;
mod report;
mod task;
mod transport;

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::rc::Rc;

use pacelab_air_config::{Config, ns_from_s};
use pacelab_engine::{Air, EventQueue, MacEvent, Ns};

use crate::airlog::{Enqueued, Links};
use crate::aodv::Aodv;
use crate::flow::{Endpoints, Flow};
use crate::hook::{HookDriver, Place};
use crate::ids::{FlowId, HookId, IdVec, NodeId, PacketId, StationId, WireId};
use crate::packet::Pool;
use crate::ping::Pinger;
use crate::qdisc::Interface;
use crate::routes::Routes;
use crate::wire::Wire;
use task::{HostDelays, InLinkLayer, Task};

/// Called with the completed fraction of the run. `Break` ends the run early.
pub type Progress<'a> = dyn FnMut(f64) -> ControlFlow<()> + 'a;

/// When to report the progress of a run.
struct ProgressWatch<'a, 'b> {
    end: Ns,
    every: Ns,
    /// Number of events after which to report next. A long run also reports about every 20 ms of CPU time, so that it
    /// can be interrupted.
    after: u64,
    /// The time that all parts of the network have reached.
    reached: Ns,
    progress: &'a mut Progress<'b>,
}

impl ProgressWatch<'_, '_> {
    const EVENTS: u64 = 1 << 18;

    fn report(&mut self, now: Ns) -> bool {
        (self.progress)(now.min(self.reached) as f64 / self.end as f64).is_break()
    }
}

/// Dropped packets by reason.
#[derive(Clone, Debug, Default)]
struct Drops {
    pub mac_rts: u64,
    pub mac_data: u64,
    pub queue: u64,
    pub wired_queue: u64,
    pub no_route: u64,
    pub ttl: u64,
    pub link_failure: u64,
    pub hooks: BTreeMap<String, u64>,
    /// Of queue disciplines, except full queues.
    pub disciplines: BTreeMap<String, u64>,
}

/// The whole network.
pub struct Network {
    config: Config,
    air: Air,
    event_queue: EventQueue,
    now: Ns,
    pool: Pool,
    flows: IdVec<FlowId, Flow>,
    /// Saturating flows that wait for room in the queue of their source, in order.
    await_room: VecDeque<FlowId>,
    routes: Routes,
    wires: IdVec<WireId, Wire>,
    /// Wires that leave each node.
    wires_from: IdVec<NodeId, Vec<WireId>>,
    aodv: IdVec<NodeId, Option<Aodv>>,
    purge_pending: IdVec<NodeId, bool>,
    hooks: IdVec<HookId, HookDriver>,
    /// By node, then by `Place`.
    hook_at: IdVec<NodeId, [Option<HookId>; 2]>,
    /// Recursion depth of hooks: how many hooks are executing actions.
    hook_depth: u32,
    /// Packets in the link layer and when they leave it. The delay is constant, so they leave in order.
    link_layer: VecDeque<(Ns, InLinkLayer)>,
    /// None if hosts add no delay.
    host_delays: Option<HostDelays>,
    /// Packets that AODV sends later, and packets on their way through a host.
    delayed: Vec<Option<InLinkLayer>>,
    station_of: IdVec<NodeId, Option<StationId>>,
    /// The queues of radios under a queue discipline, by station; empty if they are drop-tail.
    interfaces: IdVec<StationId, Interface>,
    /// The node itself if it has a radio; otherwise the gateway with the fewest wired hops to it.
    radio_of: IdVec<NodeId, Option<NodeId>>,
    node_of: IdVec<StationId, NodeId>,
    /// By pair of the configuration.
    pings: Vec<Pinger>,
    drops: Drops,
    links: Links,
    series_t_s: Vec<f64>,
    measured_from: Ns,
    /// (node, wireless end) -> link rates of the path, for hooks.
    path_rates: BTreeMap<(NodeId, NodeId), Rc<[u32]>>,
    events: u64,
    finished: bool,
    /// Packets that a station holds until those before them have arrived, by receiver, sender, and MPDU number.
    held_back: BTreeMap<(StationId, StationId, u32), PacketId>,
    /// Packets for a capture.
    enqueued: Vec<Enqueued>,
}

impl Network {
    /// Runs to the end of the configured duration, or until `progress` breaks.
    pub fn run(&mut self, progress: &mut Progress<'_>) {
        const REPORTS: u64 = 200;
        let end = ns_from_s(self.config.duration_s);
        let every = (end / REPORTS).max(1);
        let mut watch = ProgressWatch { end, every, after: ProgressWatch::EVENTS, reached: end, progress };
        let parts = self.split_into_parts();
        if parts.is_empty() {
            self.schedule(every, Task::Report);
            self.run_until(end + 1, &mut watch);
        } else {
            self.run_parts(parts, &mut watch);
        }
        self.now = if self.finished { self.now } else { end };
    }

    /// Executes the events before `limit`.
    fn run_until(&mut self, limit: Ns, watch: &mut ProgressWatch<'_, '_>) {
        let end = watch.end;
        while !self.finished {
            if self.events >= watch.after {
                watch.after += ProgressWatch::EVENTS;
                self.finished |= watch.report(self.now);
            }
            let (air_at, wakeup_at) = (self.air.next_at(), self.event_queue.next_at());
            let line_at = self.link_layer.front().map_or(Ns::MAX, |&(at, _)| at);
            let above_at = wakeup_at.min(line_at);
            if air_at.min(above_at) >= limit {
                break;
            }
            if air_at < above_at {
                self.events += self.air.advance(above_at.min(limit), end);
                self.now = self.air.now();
                self.handle_mac_events();
                continue;
            }
            let at = above_at;
            self.now = at;
            self.events += 1;
            if line_at == at {
                self.leave_link_layer();
            } else if let Some((_, word)) = self.event_queue.pop() {
                match Task::unpack(word) {
                    Task::Report => {
                        self.finished |= watch.report(at);
                        self.schedule(at + watch.every, Task::Report);
                    }
                    task => self.perform(task),
                }
            }
        }
    }

    fn hook_index(&self, node: NodeId, place: Place) -> Option<HookId> {
        self.hook_at[node][place as usize]
    }

    fn schedule(&mut self, at: Ns, task: Task) {
        self.event_queue.push(at, task.pack());
    }

    fn perform(&mut self, task: Task) {
        match task {
            Task::FlowStart(flow) => self.start_flow(flow),
            Task::FlowStop(flow) => self.stop_flow(flow),
            Task::FlowTimer(flow, end) => self.flow_timer(flow, end as usize),
            Task::Datagrams(flow) => self.send_burst(flow),
            Task::Wire(wire) => self.arrive_by_wire(wire),
            Task::WireFree(wire) => self.feed_wire(wire),
            Task::Hook(hook) => self.hook_timer(hook),
            Task::Purge(node) => self.purge_routes(node),
            Task::Delayed(slot) => self.send_delayed(slot),
            Task::Crossed(slot) => self.leave_host(slot),
            Task::Local(packet) => self.deliver_local(packet),
            Task::Ping(pair) => self.send_ping(pair),
            Task::Sample => self.sample_series(),
            Task::WarmupEnds => self.end_warmup(),
            Task::Forget(packet) => {
                self.pool.remove(packet);
            }
            Task::Move(node) => self.move_node(node),
            Task::RateChange(change) => self.change_rate(change),
            Task::Report => {}
        }
    }

    fn handle_mac_events(&mut self) {
        while let Some(notice) = self.air.poll() {
            match notice {
                MacEvent::Received { station, from, packet, .. } => self.received(station, from, packet),
                MacEvent::Overheard { .. } => {} // no station of a simulation is a monitor
                MacEvent::Held { station, from, packet, number, .. } => {
                    self.hold_received(station, from, packet, number)
                }
                MacEvent::Released { station, from, number } => self.release_received(station, from, number),
                MacEvent::Done { station, packet, attempts, failure } => {
                    self.link_done(station, packet, attempts, failure);
                }
            }
        }
    }

    fn sample_series(&mut self) {
        let interval_s = self.config.series_interval_s;
        self.series_t_s.push(self.now as f64 / 1e9);
        for flow in &mut self.flows {
            let (cwnd, rtt_s) = match &flow.endpoints {
                Endpoints::Tcp { sender, .. } => {
                    (sender.window_pkts(), sender.smoothed_rtt_ns().map_or(0.0, |ns| ns as f64 / 1e9))
                }
                _ => (0.0, 0.0),
            };
            flow.meter.sample(interval_s, cwnd, rtt_s);
        }
        self.schedule(self.now + ns_from_s(interval_s), Task::Sample);
    }

    fn end_warmup(&mut self) {
        let now = self.now;
        self.measured_from = now;
        self.air.reset_counters(now);
        self.links = Links::new(self.config.nodes.len());
        self.drops = Drops::default();
        self.reset_interfaces();
        self.pings.iter_mut().for_each(Pinger::reset);
        for flow in &mut self.flows {
            match &flow.endpoints {
                Endpoints::Tcp { sender, .. } => {
                    flow.meter.reset(now, sender.sent_pkts, sender.retransmitted_pkts, sender.timeouts);
                }
                _ => flow.meter.reset(now, flow.datagrams, 0, 0),
            }
        }
    }
}

/// The decodable radio links, as pairs of nodes.
fn radio_edges<'a>(air: &'a Air, node_of: &'a IdVec<StationId, NodeId>) -> impl Iterator<Item = (NodeId, NodeId)> + 'a {
    node_of.iter_with_ids().flat_map(move |(station, &node)| {
        let decodable = air.links(station).iter().filter(|link| link.decodable);
        decodable.map(move |link| (node, node_of[link.to]))
    })
}

/// The wired links, in both directions.
fn wired_edges(config: &Config) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
    config.wired.iter().flat_map(|wire| [(wire.a, wire.b), (wire.b, wire.a)])
}
