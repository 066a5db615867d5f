//! Builds a network from a configuration and hooks.

use std::collections::{BTreeMap, VecDeque};

use pacelab_air_config::{
    Category, Config, Flow as FlowConfig, Node, Preset, Propagation, Routing, Tcp, TcpDefaults, Traffic, Voice,
    ns_from_s,
};
use pacelab_engine::{Air, AirConfig, EventQueue, Ns, Stream};

use super::task::{HostDelays, Task};
use super::{Drops, Network, radio_edges, wired_edges};
use crate::airlog::Links;
use crate::aodv::Aodv;
use crate::aodv::rules::Rules;
use crate::flow::{Endpoints, Flow};
use crate::hook::{Hook, HookDriver, Place, SOURCE_LIMIT_PKTS};
use crate::ids::{Id, IdVec, NodeId, StationId, WireId};
use crate::packet::Pool;
use crate::ping::Pinger;
use crate::qdisc::{self, Interface};
use crate::routes::Routes;
use crate::tcp::congestion::{self, CongestionControl, Few};
use crate::tcp::loss_recovery::LossRecovery;
use crate::tcp::receiver::Receiver;
use crate::tcp::rto::{RetransmissionTimer, Rto, TickTimer};
use crate::tcp::sender::Sender;
use crate::voice::{self, Codec, Playout};
use crate::wire::Wire;

/// Makes a congestion control from its name, its initial window and its limit, both in segments.
pub type ControlFactory<'a> = dyn FnMut(&str, u32, u32) -> Result<Box<dyn CongestionControl>, String> + 'a;

/// First stream numbers of the routing jitter, the initial sequence numbers of flows, and the host delays. Lower
/// numbers belong to stations, and some in between to the draws of the air.
const FIRST_ROUTING_STREAM: u64 = 1 << 32;
const FIRST_FLOW_STREAM: u64 = 2 << 32;
const FIRST_HOST_STREAM: u64 = 5 << 32;
const FIRST_CONTROL_STREAM: u64 = 6 << 32;

/// `rtxcur_init_` of ns-2. RFC 6298 has 1 s.
const INITIAL_RTO_NS2: Ns = 3_000_000_000;
const INITIAL_RTO: Ns = 1_000_000_000;

impl Network {
    /// Builds the network with the built-in congestion controls; see `with_controls`.
    ///
    /// # Errors
    /// The configuration is inconsistent. The message is one line.
    pub fn new(config: Config, hooks: Vec<(NodeId, Place, Box<dyn Hook>)>) -> Result<Self, String> {
        Network::with_controls(config, hooks, &mut congestion::by_name)
    }

    /// Builds the network. `controls` makes the congestion controls. Each hook is installed at the given node and
    /// place.
    ///
    /// # Errors
    /// The configuration is inconsistent. The message is one line.
    pub fn with_controls(
        config: Config,
        hooks: Vec<(NodeId, Place, Box<dyn Hook>)>,
        controls: &mut ControlFactory<'_>,
    ) -> Result<Self, String> {
        let air = Air::new(air_config(&config));
        let count = config.nodes.len();
        let nodes = || (0..count as u32).map(NodeId);
        let node_of: IdVec<StationId, NodeId> = nodes().filter(|node| config.nodes[node.index()].wireless).collect();
        let mut station_of = IdVec::filled(None, count);
        for (station, &node) in node_of.iter_with_ids() {
            station_of[node] = Some(station);
        }
        let routes = Routes::new(count, radio_edges(&air, &node_of).chain(wired_edges(&config)));
        let radio_of = nearest_radios(&station_of, &config);
        let (wires, wires_from) = build_wires(&config);
        let interfaces = build_interfaces(&config, node_of.len());
        let aodv = nodes().map(|node| {
            let rules = match config.routing {
                Routing::Static => None,
                Routing::Aodv => Some(Rules::ns2_of_2010()),
                Routing::AodvOf2001 => Some(Rules::ns2_of_2001()),
            };
            let rules = rules.filter(|_| station_of[node].is_some());
            rules
                .map(|rules| Aodv::new(node, rules, Stream::new(config.seed, FIRST_ROUTING_STREAM + u64::from(node.0))))
        });
        let aodv = aodv.collect();
        let flows =
            config.flows.iter().map(|flow| build_flow(&config, flow, controls)).collect::<Result<IdVec<_, _>, _>>()?;
        let host_delays = config.host_delay.map(|law| {
            let stream = |node: NodeId| Stream::new(config.seed, FIRST_HOST_STREAM + u64::from(node.0));
            HostDelays::new(law, nodes().map(stream).collect())
        });
        let mut network = Network {
            air,
            event_queue: EventQueue::default(),
            now: 0,
            pool: Pool::default(),
            flows,
            await_room: VecDeque::new(),
            routes,
            wires,
            wires_from,
            aodv,
            purge_pending: IdVec::filled(false, count),
            hooks: IdVec::default(),
            hook_at: IdVec::filled([None; 2], count),
            hook_depth: 0,
            link_layer: VecDeque::new(),
            host_delays,
            delayed: Vec::new(),
            station_of,
            interfaces,
            radio_of,
            node_of,
            pings: config
                .pings
                .iter()
                .flat_map(|pings| &pings.pairs)
                .map(|&(src, dst)| Pinger::new(src, dst))
                .collect(),
            drops: Drops::default(),
            links: Links::new(count),
            series_t_s: Vec::new(),
            measured_from: 0,
            path_rates: BTreeMap::new(),
            events: 0,
            finished: false,
            held_back: BTreeMap::new(),
            enqueued: Vec::new(),
            config,
        };
        network.install_hooks(hooks)?;
        network.check_connected()?;
        network.schedule_plan();
        Ok(network)
    }

    fn install_hooks(&mut self, hooks: Vec<(NodeId, Place, Box<dyn Hook>)>) -> Result<(), String> {
        for (node, place, hook) in hooks {
            let wireless = self.station_of.get(node).is_some_and(Option::is_some);
            if !wireless || self.hook_index(node, place).is_some() {
                return Err(format!(
                    "hook at node {node}: the node must be wireless and have no other hook at that place"
                ));
            }
            if place == Place::Node {
                for flow in self.flows.iter_mut().filter(|flow| flow.config.src == node) {
                    flow.held_limit_pkts = hook.source_limit_pkts();
                }
            }
            let id = self.hooks.push(HookDriver::new(node, hook));
            self.hook_at[node][place as usize] = Some(id);
        }
        Ok(())
    }

    /// Nodes that move may meet later, and AODV waits for that. Static routes need a path now.
    fn check_connected(&mut self) -> Result<(), String> {
        if self.config.routing != Routing::Static && !self.config.moves.is_empty() {
            return Ok(());
        }
        for flow in &self.flows {
            let (src, dst) = (flow.config.src, flow.config.dst);
            if self.routes.next_hop(src, dst).is_none() {
                let name = |node: NodeId| &self.config.nodes[node.index()].name;
                return Err(format!("flow {}: no path from {} to {}", flow.config.id, name(src), name(dst)));
            }
        }
        Ok(())
    }

    fn schedule_plan(&mut self) {
        for id in self.flows.ids() {
            let (start_s, stop_s) = (self.flows[id].config.start_s, self.flows[id].config.stop_s);
            self.schedule(ns_from_s(start_s), Task::FlowStart(id));
            if let Some(stop_s) = stop_s {
                self.schedule(ns_from_s(stop_s), Task::FlowStop(id));
            }
        }
        self.schedule_pings();
        self.schedule_motion();
        self.schedule(ns_from_s(self.config.series_interval_s), Task::Sample);
        if self.config.warmup_s > 0.0 {
            self.schedule(ns_from_s(self.config.warmup_s), Task::WarmupEnds);
        }
    }
}

/// See `Network::radio_of`. If two gateways are equally near, the one with the lower number is used.
fn nearest_radios(station_of: &IdVec<NodeId, Option<StationId>>, config: &Config) -> IdVec<NodeId, Option<NodeId>> {
    let mut found: IdVec<NodeId, Option<NodeId>> =
        station_of.iter_with_ids().map(|(node, station)| station.map(|_| node)).collect();
    loop {
        let before = found.clone();
        for (from, to) in wired_edges(config) {
            if let (None, Some(radio)) = (before[from], before[to]) {
                let lowest = found[from].map_or(radio, |other: NodeId| other.min(radio));
                found[from] = Some(lowest);
            }
        }
        if found == before {
            return found;
        }
    }
}

/// The queues of radios under a queue discipline.
fn build_interfaces(config: &Config, stations: usize) -> IdVec<StationId, Interface> {
    let Some(qdisc) = config.qdisc else { return IdVec::default() };
    let categories = if config.radio.edca { Category::ALL.len() } else { 1 };
    let discipline = |_| qdisc::by_kind(qdisc.kind, config.radio.queue_pkts);
    (0..stations).map(|_| Interface::new((0..categories).map(discipline).collect())).collect()
}

fn build_wires(config: &Config) -> (IdVec<WireId, Wire>, IdVec<NodeId, Vec<WireId>>) {
    let mut wires = IdVec::default();
    let mut wires_from = IdVec::filled(Vec::new(), config.nodes.len());
    for link in &config.wired {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let mut wire = Wire::new(to, link.rate_bps, ns_from_s(link.delay_s), link.queue_pkts);
            if let Some(qdisc) = config.qdisc {
                wire.interface = Some(Interface::new(vec![qdisc::by_kind(qdisc.kind, link.queue_pkts)]));
            }
            let wire = wires.push(wire);
            wires_from[from].push(wire);
        }
    }
    (wires, wires_from)
}

fn build_flow(config: &Config, flow: &FlowConfig, controls: &mut ControlFactory<'_>) -> Result<Flow, String> {
    let mut stream = Stream::new(config.seed, FIRST_FLOW_STREAM + u64::from(flow.id));
    let endpoints = match &flow.traffic {
        Traffic::Tcp(tcp) => {
            let control_stream = Stream::new(config.seed, FIRST_CONTROL_STREAM + u64::from(flow.id));
            build_tcp(tcp, config.radio.preset, &mut stream, control_stream, controls)?
        }
        Traffic::UdpSaturated { .. } => Endpoints::UdpSaturated,
        Traffic::Cbr(cbr) => {
            let burst_bits = f64::from(cbr.payload_bytes) * 8.0 * f64::from(cbr.burst_pkts);
            Endpoints::Cbr { interval_ns: ns_from_s(burst_bits / cbr.rate_bps).max(1), burst_pkts: cbr.burst_pkts }
        }
        Traffic::Voice(voice) => build_voice(voice, &mut stream),
    };
    Ok(Flow {
        payload_bytes: Flow::payload_of(&flow.traffic),
        config: flow.clone(),
        endpoints,
        datagrams: 0,
        held_pkts: 0,
        held_limit_pkts: SOURCE_LIMIT_PKTS,
        active: false,
        meter: Default::default(),
        timers_at: [Ns::MAX; 2],
    })
}

fn build_tcp(
    tcp: &Tcp,
    preset: Preset,
    stream: &mut Stream,
    control_stream: Stream,
    controls: &mut ControlFactory<'_>,
) -> Result<Endpoints, String> {
    let window_bytes = tcp.segment_bytes * tcp.window_pkts;
    let mut control: Box<dyn CongestionControl> = match tcp.few {
        Some(settings) => Box::new(Few::new(f64::from(tcp.initial_window), settings)),
        None => controls(&tcp.cc, tcp.initial_window, tcp.window_pkts)?,
    };
    control.take_random(control_stream);
    let initial_ns = if preset == Preset::Ns2 { INITIAL_RTO_NS2 } else { INITIAL_RTO };
    let (isn, floor_ns) = (stream.below(u32::MAX), ns_from_s(tcp.min_rto_s));
    let rto = Rto::new(initial_ns, floor_ns);
    let rto = if tcp.rto_backoff { rto } else { rto.without_backoff() };
    let (timer, loss_recovery) = match tcp.defaults {
        TcpDefaults::Rfc => (RetransmissionTimer::Rfc(rto), LossRecovery::RFC),
        TcpDefaults::Ns2Of2001 => {
            (RetransmissionTimer::Ticks(TickTimer::new(floor_ns, stream.unit())), LossRecovery::NS2_OF_2001)
        }
    };
    let mut sender = Sender::new(tcp.segment_bytes, window_bytes, control, timer, isn);
    sender.set_loss_recovery(loss_recovery);
    sender.ecn = tcp.ecn;
    if tcp.sack {
        sender.set_sack();
    }
    let mut receiver = Receiver::new(window_bytes, tcp.ack_every, stream.below(u32::MAX));
    receiver.sack = sender.takes_sack();
    if !tcp.ack_schedule.is_empty() {
        receiver.set_ack_schedule(tcp.ack_schedule.clone());
    }
    Ok(Endpoints::Tcp { sender: Box::new(sender), receiver: Box::new(receiver) })
}

fn build_voice(voice: &Voice, stream: &mut Stream) -> Endpoints {
    let interval_ns = ns_from_s(voice.interval_s);
    let codec = Codec {
        interval_ns,
        port: voice::port(voice.call),
        packet_bytes: voice.payload_bytes + voice.header_bytes,
        phase_ns: Ns::from(stream.below(interval_ns as u32)),
        first_sequence: stream.below(1 << 16) as u16,
    };
    Endpoints::Voice { codec, playout: Box::new(Playout::new(ns_from_s(voice.playout_s))) }
}

/// The configuration of the engine. Its stations are the wireless nodes, in order.
fn air_config(config: &Config) -> AirConfig {
    let wireless: Vec<(usize, &Node)> = config.nodes.iter().enumerate().filter(|(_, node)| node.wireless).collect();
    let station =
        |node: NodeId| wireless.iter().position(|&(index, _)| index == node.index()).map(StationId::from_index);
    let mut radio = config.radio.clone();
    if let Propagation::Matrix { links, .. } = &mut radio.propagation {
        *links = links
            .iter()
            .filter_map(|&(a, b, power_w)| Some((station(NodeId(a))?.0, station(NodeId(b))?.0, power_w)))
            .collect();
    }
    let rates = config.link_rates_bps.iter().filter_map(|&(a, b, rate)| Some((station(a)?, station(b)?, rate)));
    AirConfig {
        seed: config.seed,
        positions_m: wireless.iter().map(|(_, node)| node.position_m.unwrap_or([0.0, 0.0])).collect(),
        links: None,
        data_rates_bps: wireless.iter().map(|(_, node)| node.data_rate_bps.unwrap_or(radio.data_rate_bps)).collect(),
        link_rates_bps: rates.collect(),
        overhead_bytes: None,
        trace: config.tap || config.capture.is_some(),
        radio,
    }
}
