//! The network: everything above the air, and the loop.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use pacelab_air_config::{Config, Flow as FlowConfig, Headers, Preset, Routing, Tcp, Traffic, Voice, ns_from_s};
use pacelab_engine::{Agenda, Air, Notice, Ns, Stream};

use crate::airlog::Enqueued;
use crate::aodv::Aodv;
use crate::flow::{Ends, Flow};
use crate::hook::{Hook, Place};
use crate::links::{Class, LinkCounts};
use crate::packet::Pool;
use crate::routes::Routes;
use crate::shell::HookShell;
use crate::stations;
use crate::tcp::congestion::{self, CongestionControl, Few};
use crate::tcp::receiver::Receiver;
use crate::tcp::rto::Rto;
use crate::tcp::sender::Sender;
use crate::voice::{self, Codec, Playout};
use crate::wire::Wire;

/// Called with the fraction done; `Break` ends the run early.
pub type Progress<'a> = dyn FnMut(f64) -> ControlFlow<()> + 'a;

/// Makes the congestion control of a name, for an initial window and a limit in segments.
pub type Controls<'a> = dyn FnMut(&str, u32, u32) -> Result<Box<dyn CongestionControl>, String> + 'a;

/// Stream numbers from here on are routing's jitter and the flows' initial sequence numbers; below are stations.
const FIRST_ROUTING_STREAM: u64 = 1 << 32;
const FIRST_FLOW_STREAM: u64 = 2 << 32;

/// ns-2's rtxcur_init_, against RFC 6298's 1 s.
const INITIAL_RTO_NS2: Ns = 3_000_000_000;
const INITIAL_RTO: Ns = 1_000_000_000;

/// What an agenda entry means; packed into its 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    FlowStart(u32),
    FlowStop(u32),
    FlowTimer(u32, u32),
    Datagrams(u32),
    Wire(u32),
    Hook(u32),
    Purge(u32),
    Delayed(u32),
    Sample,
    WarmupEnds,
    Report,
    Forget(u32),
    Move(u32),
    RateChange(u32),
}

impl Task {
    fn pack(self) -> u32 {
        let (kind, index) = match self {
            Task::FlowStart(flow) => (0, flow),
            Task::FlowStop(flow) => (1, flow),
            Task::FlowTimer(flow, end) => (2, flow * 2 + end),
            Task::Datagrams(flow) => (3, flow),
            Task::Wire(wire) => (4, wire),
            Task::Hook(hook) => (5, hook),
            Task::Purge(node) => (6, node),
            Task::Delayed(slot) => (7, slot),
            Task::Sample => (8, 0),
            Task::WarmupEnds => (9, 0),
            Task::Report => (10, 0),
            Task::Forget(packet) => (11, packet),
            Task::Move(node) => (12, node),
            Task::RateChange(change) => (13, change),
        };
        kind << 28 | index
    }

    fn unpack(word: u32) -> Task {
        let index = word & 0x0fff_ffff;
        match word >> 28 {
            0 => Task::FlowStart(index),
            1 => Task::FlowStop(index),
            2 => Task::FlowTimer(index / 2, index % 2),
            3 => Task::Datagrams(index),
            4 => Task::Wire(index),
            5 => Task::Hook(index),
            6 => Task::Purge(index),
            7 => Task::Delayed(index),
            8 => Task::Sample,
            9 => Task::WarmupEnds,
            10 => Task::Report,
            11 => Task::Forget(index),
            12 => Task::Move(index),
            _ => Task::RateChange(index),
        }
    }
}

/// A packet between routing and MAC, in either direction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InLinkLayer {
    Up { node: u32, packet: u32 },
    Down { node: u32, packet: u32, next_hop: Option<u32> },
}

/// Why packets were dropped, and how often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drops {
    pub mac_rts: u64,
    pub mac_data: u64,
    pub queue: u64,
    pub wired_queue: u64,
    pub no_route: u64,
    pub ttl: u64,
    pub link_failure: u64,
    pub hooks: BTreeMap<String, u64>,
}

/// The whole network.
pub struct Network {
    pub(crate) config: Config,
    pub(crate) air: Air,
    pub(crate) agenda: Agenda,
    pub(crate) now: Ns,
    pub(crate) pool: Pool,
    pub(crate) flows: Vec<Flow>,
    pub(crate) routes: Routes,
    pub(crate) wires: Vec<Wire>,
    /// Wires that leave each node.
    pub(crate) wires_from: Vec<Vec<u32>>,
    pub(crate) aodv: Vec<Option<Aodv>>,
    pub(crate) purge_pending: Vec<bool>,
    pub(crate) hooks: Vec<HookShell>,
    /// By node, then by `Place`.
    pub(crate) hook_at: Vec<[Option<u32>; 2]>,
    /// Constant delay, so first in is first out.
    pub(crate) link_layer: VecDeque<(Ns, InLinkLayer)>,
    /// Things that AODV wants done later.
    pub(crate) delayed: Vec<Option<InLinkLayer>>,
    pub(crate) station_of: Vec<Option<u32>>,
    pub(crate) node_of: Vec<u32>,
    pub(crate) drops: Drops,
    pub(crate) links: BTreeMap<(u32, u32, Class), LinkCounts>,
    pub(crate) series_t_s: Vec<f64>,
    pub(crate) measured_from: Ns,
    /// (node, wireless end) -> link rates of the path, for hooks.
    pub(crate) path_rates: BTreeMap<(u32, u32), Vec<u32>>,
    pub(crate) events: u64,
    pub(crate) finished: bool,
    /// For captures.
    pub(crate) enqueued: Vec<Enqueued>,
}

impl Network {
    /// Builds the network with the congestion controls that come with it; see `with_controls`.
    ///
    /// # Errors
    /// One line: what does not fit.
    pub fn new(config: Config, hooks: Vec<(u32, Place, Box<dyn Hook>)>) -> Result<Self, String> {
        Network::with_controls(config, hooks, &mut congestion::by_name)
    }

    /// Builds the network; `controls` makes congestion controls from name, initial window and limit; `hooks` sit at the given nodes and places.
    ///
    /// # Errors
    /// One line: what does not fit.
    pub fn with_controls(
        config: Config,
        hooks: Vec<(u32, Place, Box<dyn Hook>)>,
        controls: &mut Controls<'_>,
    ) -> Result<Self, String> {
        let air = Air::new(stations::air(&config));
        let count = config.nodes.len();
        let node_of: Vec<u32> = (0..count as u32).filter(|&node| config.nodes[node as usize].wireless).collect();
        let mut station_of = vec![None; count];
        for (station, &node) in node_of.iter().enumerate() {
            station_of[node as usize] = Some(station as u32);
        }
        let routes = Routes::new(count, radio_edges(&air, &node_of).chain(wired_edges(&config)));
        let (wires, wires_from) = build_wires(&config);
        let aodv = (0..count as u32).map(|node| {
            let runs = config.routing == Routing::Aodv && station_of[node as usize].is_some();
            runs.then(|| Aodv::new(node, Stream::new(config.seed, FIRST_ROUTING_STREAM + u64::from(node))))
        });
        let aodv = aodv.collect();
        let flows =
            config.flows.iter().map(|flow| build_flow(&config, flow, controls)).collect::<Result<Vec<_>, _>>()?;
        let mut network = Network {
            air,
            agenda: Agenda::default(),
            now: 0,
            pool: Pool::default(),
            flows,
            routes,
            wires,
            wires_from,
            aodv,
            purge_pending: vec![false; count],
            hooks: Vec::new(),
            hook_at: vec![[None; 2]; count],
            link_layer: VecDeque::new(),
            delayed: Vec::new(),
            station_of,
            node_of,
            drops: Drops::default(),
            links: BTreeMap::new(),
            series_t_s: Vec::new(),
            measured_from: 0,
            path_rates: BTreeMap::new(),
            events: 0,
            finished: false,
            enqueued: Vec::new(),
            config,
        };
        network.install_hooks(hooks)?;
        network.check_connected()?;
        network.schedule_plan();
        Ok(network)
    }

    fn install_hooks(&mut self, hooks: Vec<(u32, Place, Box<dyn Hook>)>) -> Result<(), String> {
        for (node, place, hook) in hooks {
            let wireless = self.station_of.get(node as usize).is_some_and(Option::is_some);
            if !wireless || self.hook_index(node, place).is_some() {
                return Err(format!("hook at node {node}: needs a wireless node without another hook at that place"));
            }
            self.hook_at[node as usize][place as usize] = Some(self.hooks.len() as u32);
            self.hooks.push(HookShell::new(node, hook));
        }
        Ok(())
    }

    pub(crate) fn hook_index(&self, node: u32, place: Place) -> Option<u32> {
        self.hook_at[node as usize][place as usize]
    }

    fn check_connected(&mut self) -> Result<(), String> {
        for flow in &self.flows {
            let (src, dst) = (flow.config.src, flow.config.dst);
            if self.routes.next_hop(src, dst).is_none() {
                let name = |node: u32| &self.config.nodes[node as usize].name;
                return Err(format!("flow {}: no path from {} to {}", flow.config.id, name(src), name(dst)));
            }
        }
        Ok(())
    }

    fn schedule_plan(&mut self) {
        for index in 0..self.flows.len() {
            let (start_s, stop_s) = (self.flows[index].config.start_s, self.flows[index].config.stop_s);
            self.schedule(ns_from_s(start_s), Task::FlowStart(index as u32));
            if let Some(stop_s) = stop_s {
                self.schedule(ns_from_s(stop_s), Task::FlowStop(index as u32));
            }
        }
        self.schedule_motion();
        self.schedule(ns_from_s(self.config.series_interval_s), Task::Sample);
        if self.config.warmup_s > 0.0 {
            self.schedule(ns_from_s(self.config.warmup_s), Task::WarmupEnds);
        }
    }

    /// Runs to the end of the configured duration, or until `progress` breaks.
    pub fn run(&mut self, progress: &mut Progress<'_>) {
        const REPORTS: u64 = 200;
        /// A long run reports about every 20 ms of CPU as well, so that it can be interrupted.
        const EVENTS_PER_REPORT: u64 = 1 << 18;
        let end = ns_from_s(self.config.duration_s);
        let report_every = (end / REPORTS).max(1);
        self.schedule(report_every, Task::Report);
        while !self.finished {
            let (air_at, agenda_at) = (self.air.next_at(), self.agenda.next_at());
            let line_at = self.link_layer.front().map_or(Ns::MAX, |&(at, _)| at);
            let at = air_at.min(agenda_at).min(line_at);
            if at > end {
                break;
            }
            self.now = at;
            self.events += 1;
            if self.events % EVENTS_PER_REPORT == 0 {
                self.finished |= progress(at as f64 / end as f64).is_break();
            }
            if line_at == at {
                self.leave_link_layer();
            } else if agenda_at == at {
                let Some((_, word)) = self.agenda.pop() else { continue };
                match Task::unpack(word) {
                    Task::Report => {
                        self.finished |= progress(at as f64 / end as f64).is_break();
                        self.schedule(at + report_every, Task::Report);
                    }
                    task => self.perform(task),
                }
            } else {
                self.air.step();
                self.take_notices();
            }
        }
        self.now = if self.finished { self.now } else { end };
    }

    pub(crate) fn schedule(&mut self, at: Ns, task: Task) {
        self.agenda.push(at, task.pack());
    }

    fn perform(&mut self, task: Task) {
        match task {
            Task::FlowStart(flow) => self.start_flow(flow),
            Task::FlowStop(flow) => self.stop_flow(flow),
            Task::FlowTimer(flow, end) => self.flow_timer(flow, end as usize),
            Task::Datagrams(flow) => self.send_burst(flow),
            Task::Wire(wire) => self.arrive_by_wire(wire),
            Task::Hook(hook) => self.hook_timer(hook),
            Task::Purge(node) => self.purge_routes(node),
            Task::Delayed(slot) => self.send_delayed(slot),
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

    fn take_notices(&mut self) {
        while let Some(notice) = self.air.poll() {
            match notice {
                Notice::Received { station, from, packet, .. } => self.received(station, from, packet),
                Notice::Done { station, packet, attempts, failure } => {
                    self.link_done(station, packet, attempts, failure);
                }
            }
        }
    }

    fn sample_series(&mut self) {
        let interval_s = self.config.series_interval_s;
        self.series_t_s.push(self.now as f64 / 1e9);
        for flow in &mut self.flows {
            let (cwnd, rtt_s) = match &flow.ends {
                Ends::Tcp { sender, .. } => {
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
        self.links.clear();
        self.drops = Drops::default();
        for flow in &mut self.flows {
            match &flow.ends {
                Ends::Tcp { sender, .. } => {
                    flow.meter.reset(now, sender.sent_pkts, sender.retransmitted_pkts, sender.timeouts);
                }
                _ => flow.meter.reset(now, flow.datagrams, 0, 0),
            }
        }
    }
}

/// Who decodes whom, as node numbers.
pub(crate) fn radio_edges<'a>(air: &'a Air, node_of: &'a [u32]) -> impl Iterator<Item = (u32, u32)> + 'a {
    node_of.iter().enumerate().flat_map(move |(station, &node)| {
        let decodable = air.links(station as u32).iter().filter(|link| link.decodable);
        decodable.map(move |link| (node, node_of[link.to as usize]))
    })
}

/// The wires, both ways.
pub(crate) fn wired_edges(config: &Config) -> impl Iterator<Item = (u32, u32)> + '_ {
    config.wired.iter().flat_map(|wire| [(wire.a, wire.b), (wire.b, wire.a)])
}

fn build_wires(config: &Config) -> (Vec<Wire>, Vec<Vec<u32>>) {
    let mut wires = Vec::new();
    let mut wires_from = vec![Vec::new(); config.nodes.len()];
    for link in &config.wired {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            wires_from[from as usize].push(wires.len() as u32);
            wires.push(Wire::new(to, link.rate_bps, ns_from_s(link.delay_s), link.queue_pkts));
        }
    }
    (wires, wires_from)
}

fn build_flow(config: &Config, flow: &FlowConfig, controls: &mut Controls<'_>) -> Result<Flow, String> {
    let mut stream = Stream::new(config.seed, FIRST_FLOW_STREAM + u64::from(flow.id));
    let ends = match &flow.traffic {
        Traffic::Tcp(tcp) => build_tcp(tcp, config.radio.preset, &mut stream, controls)?,
        Traffic::UdpSaturated { .. } => Ends::UdpSaturated,
        Traffic::Cbr(cbr) => {
            let burst_bits = f64::from(cbr.payload_bytes) * 8.0 * f64::from(cbr.burst_pkts);
            Ends::Cbr { interval_ns: ns_from_s(burst_bits / cbr.rate_bps).max(1), burst_pkts: cbr.burst_pkts }
        }
        Traffic::Voice(voice) => build_voice(voice, &mut stream),
    };
    Ok(Flow {
        payload_bytes: Flow::payload_of(&flow.traffic),
        config: flow.clone(),
        ends,
        datagrams: 0,
        at_source_pkts: 0,
        held_pkts: 0,
        active: false,
        meter: Default::default(),
        timers_at: [Ns::MAX; 2],
    })
}

fn build_tcp(tcp: &Tcp, preset: Preset, stream: &mut Stream, controls: &mut Controls<'_>) -> Result<Ends, String> {
    let window_bytes = tcp.segment_bytes * tcp.window_pkts;
    let control: Box<dyn CongestionControl> = match tcp.few {
        Some(settings) => Box::new(Few::new(f64::from(tcp.initial_window), settings)),
        None => controls(&tcp.cc, tcp.initial_window, tcp.window_pkts)?,
    };
    let initial_ns = if preset == Preset::Ns2 { INITIAL_RTO_NS2 } else { INITIAL_RTO };
    let rto = Rto::new(initial_ns, ns_from_s(tcp.min_rto_s));
    let mut sender = Sender::new(tcp.segment_bytes, window_bytes, control, rto, stream.below(u32::MAX));
    sender.ecn = tcp.ecn;
    let mut receiver = Receiver::new(window_bytes, tcp.ack_every, stream.below(u32::MAX));
    if !tcp.ack_schedule.is_empty() {
        receiver.set_ack_schedule(tcp.ack_schedule.clone());
    }
    Ok(Ends::Tcp { sender: Box::new(sender), receiver: Box::new(receiver) })
}

fn build_voice(voice: &Voice, stream: &mut Stream) -> Ends {
    let interval_ns = ns_from_s(voice.interval_s);
    let codec = Codec {
        interval_ns,
        port: voice::port(voice.call),
        packet_bytes: voice.payload_bytes + voice.header_bytes,
        phase_ns: Ns::from(stream.below(interval_ns as u32)),
        first_sequence: stream.below(1 << 16) as u16,
    };
    Ends::Voice { codec, playout: Box::new(Playout::new(ns_from_s(voice.playout_s))) }
}

/// Bytes of headers above the MAC.
pub(crate) fn udp_header_bytes(headers: Headers) -> u32 {
    match headers {
        Headers::Real => 28,
        Headers::Ns2 => 0,
    }
}
