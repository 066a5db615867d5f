//! The engine through its public interface: scenes of a few stations, checked by the trace. Expected times are sums by
//! hand, in microseconds, from the intervals of IEEE 802.11b, or from observed behaviour of ns-2 where ns-2 differs.
//!
//! ```text
//! long preamble 192   RTS 20 B at 1 Mbit/s: 192 + 160 = 352   CTS, ACK 14 B: 192 + 112 = 304
//! SIFS 10   slot 20   DIFS 50   EIFS 10 + 304 + 50 = 364
//! ```

mod aggregation;
mod closed_forms;
mod dcf_tables;
mod edca;
mod interference;
mod link_layer;
mod ns2_rules;
mod properties;
mod radios;
mod rules_table;

use pacelab_air_config::{Category, MacAckRate, PhyKind, Preset, Propagation, Radio};
use pacelab_engine::{
    Air, AirConfig, Failure, IdVec, MacEvent, NEVER, Ns, Packet, PacketId, StationId, Stream, TraceEvent, TraceRecord,
};

// The test network: a few stations, frames that start at given times, and the records of the trace and the MAC events.

pub(crate) const US: Ns = 1_000;
pub(crate) const MS: Ns = 1_000_000;
pub(crate) const M1: u32 = 1_000_000;
pub(crate) const NEVER_RTS: u32 = u32::MAX;

/// Powers for matrices, in W. They are at least 10 dB apart.
pub(crate) const STRONG: f64 = 1e-7;
pub(crate) const FAIR: f64 = 1e-9;
/// Sensed (1.559e-11), not decodable (3.652e-10).
pub(crate) const FAINT: f64 = 1e-10;

/// 1 Mbit/s everywhere, no RTS, limits 7 and 4, trace on. All stations are at the origin.
pub(crate) fn plain(preset: Preset, links: &[(u32, u32, f64)]) -> AirConfig {
    let stations = links.iter().map(|&(a, b, _)| a.max(b) + 1).max().unwrap_or(1) as usize;
    AirConfig {
        radio: Radio {
            preset,
            phy: PhyKind::B,
            ht: None,
            edca: false,
            voice_first: false,
            basic_rate_bps: M1,
            data_rate_bps: M1,
            rts_threshold_bytes: NEVER_RTS,
            short_retry_limit: 7,
            long_retry_limit: 4,
            queue_pkts: 50,
            mac_ack_rate: MacAckRate::Basic,
            propagation: matrix(links),
        },
        seed: 1,
        positions_m: IdVec::filled([0.0, 0.0], stations),
        links: None,
        data_rates_bps: IdVec::filled(M1, stations),
        link_rates_bps: Vec::new(),
        overhead_bytes: None,
        trace: true,
    }
}

/// Only these powers.
pub(crate) fn matrix(links: &[(u32, u32, f64)]) -> Propagation {
    Propagation::Matrix { capture_db: 10.0, links: links.to_vec() }
}

/// The same configuration with another radio.
pub(crate) fn tuned(mut config: AirConfig, tune: impl FnOnce(&mut Radio)) -> AirConfig {
    tune(&mut config.radio);
    config
}

/// Each pair in both directions.
pub(crate) fn both_ways(pairs: &[(u32, u32, f64)]) -> Vec<(u32, u32, f64)> {
    pairs.iter().flat_map(|&(a, b, power_w)| [(a, b, power_w), (b, a, power_w)]).collect()
}

pub(crate) fn unicast(id: u32, to: u32, bytes: u32) -> Packet {
    Packet { id: PacketId(id), to: Some(StationId(to)), bytes, category: Category::default(), rates: None }
}

pub(crate) fn voice(id: u32, to: u32, bytes: u32) -> Packet {
    Packet { category: Category::Voice, ..unicast(id, to, bytes) }
}

pub(crate) fn broadcast(id: u32, bytes: u32) -> Packet {
    Packet { id: PacketId(id), to: None, bytes, category: Category::default(), rates: None }
}

pub(crate) struct Rig {
    pub air: Air,
    preset: Preset,
    seed: u64,
    pub mac_events: Vec<MacEvent>,
    pub records: Vec<TraceRecord>,
    plan: Vec<(Ns, u32, Packet)>,
}

impl Rig {
    pub fn new(config: AirConfig) -> Self {
        let (preset, seed) = (config.radio.preset, config.seed);
        Rig { air: Air::new(config), preset, seed, mac_events: Vec::new(), records: Vec::new(), plan: Vec::new() }
    }

    /// Plans the first packet of `station` so that its frame starts at `at`, on a medium that it finds idle: ns-2 lets
    /// it wait DIFS and the first backoff of its stream (of 0..=30 slots), the standard not at all.
    pub fn start_at(&mut self, at: Ns, station: u32, packet: Packet) {
        assert!(at >= 2 * MS && self.plan.iter().all(|&(_, other, _)| other != station));
        let wait = match self.preset {
            Preset::Ns2 => 50 * US + 20 * US * Ns::from(Stream::new(self.seed, u64::from(station)).below(31)),
            Preset::Ns2Of2001 => 50 * US,
            Preset::Standard | Preset::Sinr => 0,
        };
        self.plan.push((at - wait, station, packet));
    }

    /// Plans the arrival of a packet at the station's queue at `at`.
    pub fn arrive_at(&mut self, at: Ns, station: u32, packet: Packet) {
        self.plan.push((at, station, packet));
    }

    /// Runs all events until `end`.
    pub fn run(&mut self, end: Ns) {
        self.run_with(end, |_, _| {});
    }

    /// Runs all events until `end`, and calls `each` after every step.
    pub fn run_with(&mut self, end: Ns, mut each: impl FnMut(&mut Air, Ns)) {
        let mut plan = std::mem::take(&mut self.plan);
        plan.sort_by_key(|&(at, _, _)| std::cmp::Reverse(at));
        loop {
            let planned = plan.last().map_or(NEVER, |&(at, _, _)| at);
            let at = self.air.next_at().min(planned);
            if at > end {
                break;
            }
            if planned <= self.air.next_at() {
                let (at, station, packet) = plan.pop().unwrap();
                self.air.enqueue(at, StationId(station), packet, false).unwrap();
            } else {
                self.air.step();
            }
            while let Some(event) = self.air.poll() {
                self.mac_events.push(event);
            }
            each(&mut self.air, at);
        }
        self.records.extend(self.air.take_records());
        self.records.sort_by_key(|record| (record.at, record.station));
    }

    /// Times and values of the records of this kind at the station.
    pub fn seen(&self, station: u32, what: TraceEvent) -> Vec<(Ns, u64)> {
        let records = self.records.iter().filter(|record| record.station.0 == station && record.what == what);
        records.map(|record| (record.at, record.value)).collect()
    }

    pub fn times(&self, station: u32, what: TraceEvent) -> Vec<Ns> {
        self.seen(station, what).into_iter().map(|(at, _)| at).collect()
    }

    /// Packets that `station` received.
    pub fn received(&self, station: u32) -> Vec<u32> {
        let mine = |event: &MacEvent| match *event {
            MacEvent::Received { station: at, packet, .. } if at.0 == station => Some(packet.0),
            _ => None,
        };
        self.mac_events.iter().filter_map(mine).collect()
    }

    /// (packet, attempts, failure) of all packets that `station` has finished.
    pub fn done(&self, station: u32) -> Vec<(u32, u32, Option<Failure>)> {
        let mine = |event: &MacEvent| match *event {
            MacEvent::Done { station: at, packet, attempts, failure } if at.0 == station => {
                Some((packet.id.0, attempts, failure))
            }
            _ => None,
        };
        self.mac_events.iter().filter_map(mine).collect()
    }
}
