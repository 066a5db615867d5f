//! From a configuration and its hooks to a network before its first event.

use std::collections::{BTreeMap, VecDeque};

use pacelab_air_config::{
    Config, Flow as FlowConfig, Node, Preset, Propagation, Routing, Tcp, TcpDefaults, Traffic, Voice, ns_from_s,
};
use pacelab_engine::{Agenda, Air, AirConfig, Ns, Stream};

use super::task::{Hosts, Task};
use super::{Drops, Network, radio_edges, wired_edges};
use crate::airlog::Links;
use crate::aodv::Aodv;
use crate::flow::{Ends, Flow};
use crate::hook::{Hook, HookShell, Place};
use crate::packet::Pool;
use crate::routes::Routes;
use crate::tcp::congestion::{self, CongestionControl, Few};
use crate::tcp::habits::{Habits, Rto, TickTimer, Timer};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::voice::{self, Codec, Playout};
use crate::wire::Wire;

/// Makes the congestion control of a name, for an initial window and a limit in segments.
pub type Controls<'a> = dyn FnMut(&str, u32, u32) -> Result<Box<dyn CongestionControl>, String> + 'a;

/// Stream numbers from here on are routing's jitter, the flows' initial sequence numbers and the hosts' delays; below
/// are stations, and in between what the air draws.
const FIRST_ROUTING_STREAM: u64 = 1 << 32;
const FIRST_FLOW_STREAM: u64 = 2 << 32;
const FIRST_HOST_STREAM: u64 = 5 << 32;

/// ns-2's rtxcur_init_, against RFC 6298's 1 s.
const INITIAL_RTO_NS2: Ns = 3_000_000_000;
const INITIAL_RTO: Ns = 1_000_000_000;

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
        let air = Air::new(air_config(&config));
        let count = config.nodes.len();
        let node_of: Vec<u32> = (0..count as u32).filter(|&node| config.nodes[node as usize].wireless).collect();
        let mut station_of = vec![None; count];
        for (station, &node) in node_of.iter().enumerate() {
            station_of[node as usize] = Some(station as u32);
        }
        let routes = Routes::new(count, radio_edges(&air, &node_of).chain(wired_edges(&config)));
        let radio_of = nearest_radios(&station_of, &config);
        let (wires, wires_from) = build_wires(&config);
        let aodv = (0..count as u32).map(|node| {
            let runs = config.routing == Routing::Aodv && station_of[node as usize].is_some();
            runs.then(|| Aodv::new(node, Stream::new(config.seed, FIRST_ROUTING_STREAM + u64::from(node))))
        });
        let aodv = aodv.collect();
        let flows =
            config.flows.iter().map(|flow| build_flow(&config, flow, controls)).collect::<Result<Vec<_>, _>>()?;
        let hosts = config.host_delay.map(|law| {
            let stream = |node| Stream::new(config.seed, FIRST_HOST_STREAM + node as u64);
            Hosts::new(law, (0..count).map(stream).collect())
        });
        let mut network = Network {
            air,
            agenda: Agenda::default(),
            now: 0,
            pool: Pool::default(),
            flows,
            await_room: VecDeque::new(),
            routes,
            wires,
            wires_from,
            aodv,
            purge_pending: vec![false; count],
            hooks: Vec::new(),
            hook_at: vec![[None; 2]; count],
            acting: 0,
            link_layer: VecDeque::new(),
            hosts,
            delayed: Vec::new(),
            station_of,
            radio_of,
            node_of,
            drops: Drops::default(),
            links: Links::new(count),
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
}

/// See `Network::radio_of`; of gateways as near as each other the one of the lower number.
fn nearest_radios(station_of: &[Option<u32>], config: &Config) -> Vec<Option<u32>> {
    let mut found: Vec<Option<u32>> = (0..).zip(station_of).map(|(node, station)| station.map(|_| node)).collect();
    loop {
        let before = found.clone();
        for (from, to) in wired_edges(config) {
            if let (None, Some(radio)) = (before[from as usize], before[to as usize]) {
                let lowest = found[from as usize].map_or(radio, |other: u32| other.min(radio));
                found[from as usize] = Some(lowest);
            }
        }
        if found == before {
            return found;
        }
    }
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
    let (isn, floor_ns) = (stream.below(u32::MAX), ns_from_s(tcp.min_rto_s));
    let rto = Rto::new(initial_ns, floor_ns);
    let rto = if tcp.rto_backoff { rto } else { rto.without_backoff() };
    let (timer, habits) = match tcp.defaults {
        TcpDefaults::Rfc => (Timer::Rfc(rto), Habits::RFC),
        TcpDefaults::Ns2Of2001 => (Timer::Ticks(TickTimer::new(floor_ns, stream.unit())), Habits::NS2_OF_2001),
    };
    let mut sender = Sender::new(tcp.segment_bytes, window_bytes, control, timer, isn);
    sender.set_habits(habits);
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

/// The engine's configuration: its stations are the wireless nodes, in order.
fn air_config(config: &Config) -> AirConfig {
    let wireless: Vec<(usize, &Node)> = config.nodes.iter().enumerate().filter(|(_, node)| node.wireless).collect();
    let station = |node: u32| wireless.iter().position(|&(index, _)| index == node as usize).map(|at| at as u32);
    let mut radio = config.radio.clone();
    if let Propagation::Matrix { links, .. } = &mut radio.propagation {
        *links = links.iter().filter_map(|&(a, b, power_w)| Some((station(a)?, station(b)?, power_w))).collect();
    }
    let rates = config.link_rates_bps.iter().filter_map(|&(a, b, rate)| Some((station(a)?, station(b)?, rate)));
    AirConfig {
        seed: config.seed,
        positions_m: wireless.iter().map(|(_, node)| node.position_m.unwrap_or([0.0, 0.0])).collect(),
        links: None,
        data_rates_bps: wireless.iter().map(|(_, node)| node.data_rate_bps.unwrap_or(radio.data_rate_bps)).collect(),
        link_rates_bps: rates.collect(),
        overhead_bytes: None,
        tap: config.tap || config.capture.is_some(),
        radio,
    }
}
