//! The public interface of the air.

use std::collections::VecDeque;
use std::sync::Arc;

use pacelab_air_config::{Category, Radio};

use crate::access::{Backoff, Contention, ExtraBackoff, FrameInService};
use crate::block_ack::Originator;
use crate::error_model::success_alone;
use crate::event_queue::{EventQueue, NEVER, Ns};
use crate::frame::{Kind, Packet};
use crate::ids::{IdVec, PacketId, StationId};
use crate::phy::{Modulation, Phy};
use crate::propagation::{Link, Row, link_between, links_from};
use crate::random::Stream;
use crate::rules::{Overlap, Rules};
use crate::station::{Counters, Phase, Station};
use crate::trace::{SentFrame, TraceEvent, TraceRecord, Tracer};

const FADING_STREAM: u64 = 4 << 32;
const OFF_CHANNEL_STREAM: u64 = 6 << 32;

/// Configuration of an air.
#[derive(Clone, Debug)]
pub struct AirConfig {
    /// The radio of all stations. Node numbers in it are station numbers here.
    pub radio: Radio,
    /// Seed of all stations' backoffs.
    pub seed: u64,
    /// Position of each station in m. There are as many stations as positions.
    pub positions_m: IdVec<StationId, [f64; 2]>,
    /// The links of each sender in the order of receivers. They replace the links that the propagation model computes
    /// from positions; of that model only the capture ratio is then used.
    pub links: Option<IdVec<StationId, Vec<Link>>>,
    /// Data rate of each station, bit/s.
    pub data_rates_bps: IdVec<StationId, u32>,
    /// Links with another data rate: (from, to, bit/s).
    pub link_rates_bps: Vec<(StationId, StationId, u32)>,
    /// Bytes that the MAC adds to a packet, if not those of the preset.
    pub overhead_bytes: Option<u32>,
    /// Collect `TraceRecord`s.
    pub trace: bool,
}

impl AirConfig {
    /// The links from station `from` to the stations that sense it.
    fn links_from(&self, from: StationId) -> Vec<Link> {
        match &self.links {
            Some(rows) => rows.get(from).cloned().unwrap_or_default(),
            None => links_from(&self.radio.propagation, &self.positions_m, self.seed, from),
        }
    }

    /// The link from one station to another, or None if the other does not sense it.
    fn link_between(&self, from: StationId, to: StationId) -> Option<Link> {
        match &self.links {
            Some(rows) => rows.get(from)?.iter().find(|link| link.to == to).copied(),
            None => link_between(&self.radio.propagation, &self.positions_m, self.seed, from, to),
        }
    }
}

/// Why the MAC dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No CTS after the last RTS.
    Rts,
    /// No ACK after the last data frame.
    Data,
}

/// An event that the air reports to the layer above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MacEvent {
    /// `station` received this packet from the neighbour `from`.
    Received {
        /// The receiver.
        station: StationId,
        /// The transmitter of this hop.
        from: StationId,
        /// The packet, as the sender numbers it.
        packet: PacketId,
        /// Received power.
        power_w: f64,
    },
    /// `station`, a monitor, decoded a data frame that is not for it. See `Air::set_monitors`.
    Overheard {
        /// The monitor.
        station: StationId,
        /// The transmitter of this hop.
        from: StationId,
        /// The packet, as the sender numbers it.
        packet: PacketId,
        /// Received power.
        power_w: f64,
    },
    /// `station` received this packet, but holds it until the packets before it have arrived: a `Released` with the same
    /// number follows.
    Held {
        /// The receiver.
        station: StationId,
        /// The transmitter of this hop.
        from: StationId,
        /// The packet, as the sender numbers it. The sender may be done with it before it is released.
        packet: PacketId,
        /// The number of the MPDU between these two stations.
        number: u32,
        /// Received power.
        power_w: f64,
    },
    /// `station` delivers a packet that it held.
    Released {
        /// The receiver.
        station: StationId,
        /// The transmitter of this hop.
        from: StationId,
        /// See `Held`.
        number: u32,
    },
    /// `station` is done with this packet: it was acknowledged, broadcast, or dropped.
    Done {
        /// The transmitter.
        station: StationId,
        /// The packet.
        packet: Packet,
        /// Transmission attempts, RTS and data together.
        attempts: u32,
        /// None: success.
        failure: Option<Failure>,
    },
}

/// Pending events and present time of a group of stations that hear no others; see `Air::swap_timeline`.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    event_queue: EventQueue,
    now: Ns,
}

/// The stations and the medium between them.
#[derive(Clone, Debug)]
pub struct Air {
    /// The rules of the preset. Each station has a copy with its own physical layer.
    pub(crate) rules: Rules,
    pub(crate) config: AirConfig,
    pub(crate) stations: IdVec<StationId, Station>,
    pub(crate) rows: IdVec<StationId, Row>,
    /// Power ratio (not dB) at which the stronger of two frames survives.
    pub(crate) capture_ratio: f64,
    /// The channel of each station. 0: the station hears all channels.
    pub(crate) channels: IdVec<StationId, u32>,
    pub(crate) event_queue: EventQueue,
    pub(crate) now: Ns,
    pub(crate) mac_events: VecDeque<MacEvent>,
    pub(crate) tracer: Tracer,
    /// A frame that met no other frame is applied in one step (see `reception`). Not possible if energies are summed,
    /// or if the tracer records each step.
    pub(crate) overhears: bool,
    /// Some stations have different physical layers.
    pub(crate) phys_differ: bool,
    /// Stations that report the data frames that they decode, whoever these are for. Empty: none.
    pub(crate) monitors: Vec<StationId>,
    /// Random numbers for links that fade.
    pub(crate) fading: Stream,
    /// Random numbers for copies on other channels: they do not change the other draws.
    pub(crate) off_channel: Stream,
    /// Categories whose packet in service is done. The next packet is taken when the caller has seen the MAC event,
    /// because the caller may first recall packets that wait for a broken link.
    pub(crate) refills: Vec<(StationId, usize)>,
    steps: u64,
}

impl Air {
    /// An idle air at time 0.
    pub fn new(config: AirConfig) -> Self {
        let mut rules = Rules::of(&config.radio);
        rules.overhead_bytes = config.overhead_bytes.unwrap_or(rules.overhead_bytes);
        let contentions = contentions(&rules.phy, config.radio.edca);
        let aggregates = config.radio.aggregates();
        let count = config.positions_m.len() as u32;
        let shared = Arc::new(rules);
        let ids = || (0..count).map(StationId);
        let station = |id: StationId| {
            let mut station =
                Station::new(Arc::clone(&shared), &contentions, Stream::new(config.seed, u64::from(id.0)));
            for (place, category) in station.categories.iter_mut().enumerate().filter(|_| aggregates) {
                category.block_ack = Some(Box::new(Originator::new(place)));
            }
            station
        };
        let stations = ids().map(station).collect();
        // Compute all links before the rows, so that the rows are adjacent in memory.
        let links: Vec<_> = ids().map(|id| config.links_from(id)).collect();
        let rows = links.into_iter().map(Row::new).collect();
        Air {
            rules,
            stations,
            rows,
            capture_ratio: config.radio.propagation.capture_ratio(),
            channels: IdVec::filled(0, count as usize),
            event_queue: EventQueue::default(),
            now: 0,
            mac_events: VecDeque::new(),
            tracer: Tracer::new(config.trace),
            overhears: rules.overlap == Overlap::PairwiseFirstLock && rules.eifs_as_nav && !config.trace,
            phys_differ: false,
            monitors: Vec::new(),
            fading: Stream::new(config.seed, FADING_STREAM),
            off_channel: Stream::new(config.seed, OFF_CHANNEL_STREAM),
            refills: Vec::new(),
            steps: 0,
            config,
        }
    }

    /// The rules of the preset in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The rules of one station.
    pub(crate) fn rules_of(&self, id: StationId) -> &Rules {
        &self.stations[id].rules
    }

    /// The physical layer of one station.
    pub(crate) fn phy(&self, id: StationId) -> &Phy {
        &self.stations[id].rules.phy
    }

    /// The links from a station to those that sense it.
    pub fn links(&self, id: StationId) -> &[Link] {
        self.rows[id].links()
    }

    /// Rate of data frames from one station to another (None: broadcast), bit/s.
    pub fn data_rate_bps(&self, from: StationId, to: Option<StationId>) -> u32 {
        let Some(to) = to else { return self.basic_rate_bps(from) };
        let exception = self.config.link_rates_bps.iter().find(|&&(a, b, _)| (a, b) == (from, to));
        exception.map_or(self.config.data_rates_bps[from], |&(_, _, rate)| rate)
    }

    /// The basic rate, or the lowest rate of the station's physical layer if that lacks the basic rate.
    fn basic_rate_bps(&self, id: StationId) -> u32 {
        let (phy, basic_bps) = (self.phy(id), self.config.radio.basic_rate_bps);
        if phy.has(basic_bps) { basic_bps } else { phy.lowest_basic_bps() }
    }

    /// Rate of the packet's first attempt, bit/s.
    pub(crate) fn first_rate_bps(&self, id: StationId, packet: &Packet) -> u32 {
        packet.rates.map_or_else(|| self.data_rate_bps(id, packet.to), |chain| chain.rate_bps(0))
    }

    /// When to call `step` next, or `NEVER`.
    #[inline]
    pub fn next_at(&self) -> Ns {
        if self.refills.is_empty() { self.event_queue.next_at() } else { self.now }
    }

    /// Exchanges pending events and time with `other`. Call this only when all MAC events have been polled and no
    /// category waits for its next packet.
    pub fn swap_timeline(&mut self, other: &mut Timeline) {
        debug_assert!(self.refills.is_empty() && self.mac_events.is_empty());
        std::mem::swap(&mut self.event_queue, &mut other.event_queue);
        std::mem::swap(&mut self.now, &mut other.now);
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Executes the first pending event. Late calls are harmless: the event happens at its own time.
    pub fn step(&mut self) {
        self.step_before(NEVER);
    }

    /// Executes the first pending event if it is before `limit`. Returns whether it was.
    fn step_before(&mut self, limit: Ns) -> bool {
        if !self.refills.is_empty() {
            if self.now >= limit {
                return false;
            }
            if let Some((id, index)) = self.refills.pop() {
                self.refill(id, index, false);
            }
        } else {
            let Some((at, number)) = self.event_queue.pop_before(limit) else { return false };
            let id = StationId(number);
            self.now = at;
            let station = &mut self.stations[id];
            if station.wakeup_at == at {
                station.wakeup_at = NEVER;
                self.on_wakeup(id);
            }
        }
        self.steps += 1;
        true
    }

    /// Steps until there is a MAC event, or until no event is left before `before` and up to `end`. Returns the number
    /// of steps.
    pub fn advance(&mut self, before: Ns, end: Ns) -> u64 {
        let (first, limit) = (self.steps, before.min(end.saturating_add(1)));
        while self.mac_events.is_empty() && self.step_before(limit) {}
        self.steps - first
    }

    /// The next MAC event in order of time, or None.
    #[inline]
    pub fn poll(&mut self) -> Option<MacEvent> {
        self.mac_events.pop_front()
    }

    /// Queues a packet at a station. `front` puts it before all waiting packets, as ns-2 does with routing packets.
    ///
    /// # Errors
    /// The queue is full. The error is the dropped packet: the new one, or the last waiting packet if `front` or
    /// `voice_first` lets the new one displace it.
    pub fn enqueue(&mut self, now: Ns, id: StationId, packet: Packet, front: bool) -> Result<(), Packet> {
        debug_assert!(now >= self.now);
        self.now = now;
        let station = &mut self.stations[id];
        let limit = station.queue_pkts.unwrap_or(self.config.radio.queue_pkts) as usize;
        station.note_queue(now);
        let index = station.index_of(packet.category);
        let category = &mut station.categories[index];
        let mut refused = None;
        let urgent = self.config.radio.voice_first && packet.category == Category::Voice;
        if category.queue.len() >= limit {
            let yields =
                front || (urgent && category.queue.back().is_some_and(|last| last.category != Category::Voice));
            let victim = if yields { category.queue.pop_back().unwrap_or(packet) } else { packet };
            station.counters.drops_queue += 1;
            self.tracer.note(now, id, TraceEvent::DropQueue, packet.to, u64::from(victim.id.0));
            if victim == packet {
                return Err(packet);
            }
            refused = Some(victim);
        }
        let category = &mut station.categories[index];
        if front {
            category.queue.push_front(packet)
        } else if urgent {
            let place = category.queue.iter().position(|waiting| waiting.category != Category::Voice);
            category.queue.insert(place.unwrap_or(category.queue.len()), packet);
        } else {
            category.queue.push_back(packet)
        }
        let idle = category.in_service.is_none() && !category.wants_refill;
        let waiting = station.waiting_pkts() as u64 - u64::from(idle);
        station.counters.queue_max_pkts = station.counters.queue_max_pkts.max(waiting);
        if idle {
            self.catch_up(id, now);
            self.refill(id, index, true);
        }
        refused.map_or(Ok(()), Err)
    }

    /// Removes and returns the packets that wait at a station for the next hop `to`.
    pub fn recall(&mut self, now: Ns, id: StationId, to: StationId) -> Vec<Packet> {
        let station = &mut self.stations[id];
        station.note_queue(now);
        let mut back = Vec::new();
        for category in station.categories.iter_mut() {
            back.extend(category.queue.iter().filter(|packet| packet.to == Some(to)).copied());
            category.queue.retain(|packet| packet.to != Some(to));
            if let Some(originator) = &mut category.block_ack {
                back.extend(originator.recall(to));
            }
        }
        back
    }

    /// Packets waiting at a station, without the one in service.
    pub fn queue_pkts(&self, id: StationId) -> usize {
        self.stations[id].waiting_pkts()
    }

    /// Packets of a category that a station has, waiting and in service.
    pub fn backlog_pkts(&self, id: StationId, category: Category) -> usize {
        let station = &self.stations[id];
        let category = &station.categories[station.index_of(category)];
        category.queue.len() + usize::from(category.in_service.is_some())
    }

    /// Records in the trace that a queue above the MAC dropped a packet.
    pub fn note_queue_drop(&mut self, now: Ns, id: StationId, to: Option<StationId>, packet: PacketId) {
        self.tracer.note(now, id, TraceEvent::DropQueue, to, u64::from(packet.0));
    }

    /// Adds `slots` to the backoff after each frame that a station delivers, until this is set again. Backoffs before a
    /// retry, after a dropped packet, and before a packet that finds the station idle do not change. If `wall_clock` is
    /// set, the slots pass before the countdown, busy or idle; otherwise they count down while the medium is idle.
    pub fn set_extra_backoff(&mut self, id: StationId, slots: u32, wall_clock: bool) {
        self.stations[id].extra_backoff = ExtraBackoff { slots, wall_clock };
    }

    /// Counters of a station up to `now`.
    pub fn counters(&mut self, now: Ns, id: StationId) -> &Counters {
        let station = &mut self.stations[id];
        station.note_queue(now);
        &station.counters
    }

    /// Sets all counters to zero.
    pub fn reset_counters(&mut self, now: Ns) {
        for station in &mut self.stations {
            station.note_queue(now);
            station.counters = Counters::default();
        }
    }

    /// The trace records so far, by time.
    pub fn take_records(&mut self) -> Vec<TraceRecord> {
        // Stations are evaluated lazily: add what idle bystanders have heard.
        self.stations.ids().for_each(|id| self.catch_up(id, self.now));
        self.tracer.take()
    }

    /// The traced frames so far, by time.
    pub fn take_frames(&mut self) -> Vec<SentFrame> {
        self.tracer.take_frames()
    }

    /// Adds an event for the station unless an earlier one is in the queue.
    #[inline(always)]
    pub(crate) fn ensure(&mut self, id: StationId, at: Ns) {
        let station = &mut self.stations[id];
        if at < station.wakeup_at {
            station.wakeup_at = at;
            self.event_queue.push(at, id.0);
        }
    }

    /// Adds an event for the next time at which the station must be evaluated.
    #[inline(always)]
    pub(crate) fn reschedule(&mut self, id: StationId) {
        let backoff_ends = self.stations[id].first_backoff_ends();
        self.await_next(id, backoff_ends);
    }

    /// Adds an event for the next time at which the station must be evaluated. The end of the first backoff is given.
    #[inline(always)]
    pub(crate) fn await_next(&mut self, id: StationId, backoff_ends: Ns) {
        let due = self.stations[id].due_at(backoff_ends);
        self.ensure(id, due.max(self.now));
    }

    /// Takes the next packet of a category into service and starts its medium access. `fresh`: the packet has just
    /// arrived at an idle station.
    pub(crate) fn refill(&mut self, id: StationId, index: usize, fresh: bool) {
        let now = self.now;
        let station = &mut self.stations[id];
        station.note_queue(now);
        let category = &mut station.categories[index];
        category.wants_refill = false;
        if category.in_service.is_some() {
            return;
        }
        if category.block_ack.is_some() {
            self.take_next_under_block_ack(id, index);
        } else if let Some(packet) = category.queue.pop_front() {
            self.take_into_service(id, index, packet, fresh);
        }
        if self.stations[id].phase == Phase::Idle {
            self.reschedule(id);
        }
    }

    fn take_into_service(&mut self, id: StationId, index: usize, packet: Packet, fresh: bool) {
        let now = self.now;
        let mpdu_bytes = packet.bytes + self.rules.overhead_bytes;
        let rate_bps = self.first_rate_bps(id, &packet);
        let unicast = packet.to.is_some();
        let frame_bytes = if unicast { self.rules.phy.psdu_bytes(mpdu_bytes, rate_bps) } else { mpdu_bytes };
        let station = &mut self.stations[id];
        station.next_number += 1;
        let idle = (self.rules.immediate_access || (self.rules.defer_timer && fresh)) && station.is_idle(now);
        station.categories[index].in_service = Some(FrameInService {
            packet,
            frame_bytes,
            rate_bps,
            number: station.next_number,
            uses_rts: packet.to.is_some() && frame_bytes >= self.config.radio.rts_threshold_bytes,
            cts_received: false,
            kind: Kind::Data,
            attempts: 0,
        });
        if station.categories[index].backoff().is_some() {
            return;
        }
        if idle && self.rules.defer_timer {
            if station.response.is_none() {
                station.defer_at = now + self.rules.phy.difs_ns(); // otherwise it starts after the response
            }
        } else if idle {
            station.set_backoff(index, Some(Backoff { slots: 0, started: 0 }));
        } else {
            let slots = station.draw_backoff(index, now, ExtraBackoff::default());
            self.tracer.note(now, id, TraceEvent::Backoff, None, u64::from(slots));
        }
    }

    /// Moves a station and recomputes its links. Frames on the air are not affected.
    pub fn move_station(&mut self, id: StationId, position_m: [f64; 2]) {
        self.config.positions_m[id] = position_m;
        self.redraw_links(id);
    }

    /// Sets the channel on which a station sends and hears. A station on channel 0, the initial value, hears all
    /// channels.
    pub fn set_channel(&mut self, id: StationId, channel: u32) {
        if self.channels[id] != channel {
            self.channels[id] = channel;
            self.redraw_links(id);
        }
    }

    pub(crate) fn redraw_links(&mut self, id: StationId) {
        for other in self.rows.ids() {
            if other == id {
                self.rows[other] = self.row_on_channel(other);
            } else {
                let link = self.config.link_between(other, id);
                let link = link.filter(|_| hears(&self.channels, other, id));
                self.rows[other].replace(id, link);
            }
        }
    }

    /// Stations on other channels that would decode a frame of `from` if it met no other frame, and the received powers.
    /// Fading is not drawn for these copies.
    pub fn decoded_off_channel(&mut self, from: StationId, packet: &Packet) -> Vec<(StationId, f64)> {
        if self.channels.iter().all(|&channel| channel == 0 || channel == self.channels[from]) {
            return Vec::new();
        }
        let (bytes, rate_bps) = (packet.bytes + self.rules.overhead_bytes, self.first_rate_bps(from, packet));
        let mut links = self.config.links_from(from);
        links.retain(|link| link.decodable && !hears(&self.channels, from, link.to));
        let (rules, random) = (self.stations[from].rules.clone(), &mut self.off_channel);
        links.retain(|link| random.unit() < (1.0 - link.loss) * success_alone(&rules, rate_bps, link.power_w, bytes));
        links.into_iter().map(|link| (link.to, link.power_w)).collect()
    }

    /// The links from a station to those that hear its channel.
    pub(crate) fn row_on_channel(&self, id: StationId) -> Row {
        let mut links = self.config.links_from(id);
        links.retain(|link| hears(&self.channels, id, link.to));
        Row::new(links)
    }

    /// Sets the data rate of one directed link.
    pub fn set_link_rate(&mut self, from: StationId, to: StationId, rate_bps: u32) {
        let rates = &mut self.config.link_rates_bps;
        rates.retain(|&(a, b, _)| (a, b) != (from, to));
        rates.push((from, to, rate_bps));
    }
}

/// Contention parameters of each access category of a station.
pub(crate) fn contentions(phy: &Phy, edca: bool) -> Vec<Contention> {
    if edca {
        Category::ALL.map(|category| Contention::edca(phy, category)).to_vec()
    } else if phy.mcs_per_frame || matches!(phy.modulation, Modulation::HighThroughput { .. }) {
        vec![Contention::edca(phy, Category::BestEffort)] // stations of 802.11n, ac and ax always have QoS
    } else {
        vec![Contention::dcf(phy)]
    }
}

fn hears(channels: &IdVec<StationId, u32>, from: StationId, to: StationId) -> bool {
    let channel = channels[to];
    channel == 0 || channel == channels[from]
}
