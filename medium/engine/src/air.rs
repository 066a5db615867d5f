//! The one door: the air as its caller sees it.

use std::collections::VecDeque;
use std::sync::Arc;

use pacelab_air_config::{Category, Radio};

use crate::access::{Backoff, Contention, Current, ExtraBackoff};
use crate::agenda::{Agenda, NEVER, Ns};
use crate::frame::Packet;
use crate::phy::Phy;
use crate::propagation::{Link, Row, link_between, links_from};
use crate::random::Stream;
use crate::rules::{Overlap, Rules};
use crate::station::{Counters, Phase, Station};
use crate::tap::{Happening, Record, Sent, Tap};

const FADING_STREAM: u64 = 4 << 32;

/// What the air needs to know.
#[derive(Clone, Debug)]
pub struct AirConfig {
    /// What all stations have; nodes that it names are stations here.
    pub radio: Radio,
    /// Seed of all stations' backoffs.
    pub seed: u64,
    /// Station positions in m; their number is the number of stations.
    pub positions_m: Vec<[f64; 2]>,
    /// The links themselves, by sender and in the order of receivers, in the place of those that the radio's
    /// propagation makes: positions say nothing, and only its capture ratio counts.
    pub links: Option<Vec<Vec<Link>>>,
    /// Data rate of each station, bit/s.
    pub data_rates_bps: Vec<u32>,
    /// Exceptions: (from, to, bit/s).
    pub link_rates_bps: Vec<(u32, u32, u32)>,
    /// What the MAC adds to a packet, in the place of the preset's, bytes.
    pub overhead_bytes: Option<u32>,
    /// Collect `Record`s.
    pub tap: bool,
}

impl AirConfig {
    /// The links that leave station `from`; stations that do not sense it are left out.
    fn links_from(&self, from: u32) -> Vec<Link> {
        match &self.links {
            Some(rows) => rows.get(from as usize).cloned().unwrap_or_default(),
            None => links_from(&self.radio.propagation, &self.positions_m, self.seed, from),
        }
    }

    /// The link from one station to another, or None where nothing is sensed.
    fn link_between(&self, from: u32, to: u32) -> Option<Link> {
        match &self.links {
            Some(rows) => rows.get(from as usize)?.iter().find(|link| link.to == to).copied(),
            None => link_between(&self.radio.propagation, &self.positions_m, self.seed, from, to),
        }
    }
}

/// Why the link layer gave a packet up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No CTS after the last RTS.
    Rts,
    /// No ACK after the last data frame.
    Data,
}

/// What the air reports upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// `station` received this packet from the neighbour `from`.
    Received {
        /// The receiver.
        station: u32,
        /// The transmitter of this hop.
        from: u32,
        /// The upper layer's name of the packet.
        packet: u32,
        /// Received power.
        power_w: f64,
    },
    /// `station` is done with this packet: acknowledged, broadcast, or given up.
    Done {
        /// The transmitter.
        station: u32,
        /// The packet.
        packet: Packet,
        /// Transmission attempts, RTS and data together.
        attempts: u32,
        /// None: success.
        failure: Option<Failure>,
    },
}

/// What is due at stations that hear no others, in their own time.
#[derive(Clone, Debug, Default)]
pub struct Due {
    agenda: Agenda,
    now: Ns,
}

/// The stations and the medium between them.
#[derive(Clone, Debug)]
pub struct Air {
    /// Of the preset; each station has them with its own physical layer.
    pub(crate) rules: Rules,
    pub(crate) config: AirConfig,
    pub(crate) stations: Vec<Station>,
    pub(crate) rows: Vec<Row>,
    /// Power ratio (not dB) at which the stronger of two frames survives.
    pub(crate) capture_ratio: f64,
    /// The channel of each station; 0: hears all.
    pub(crate) channels: Vec<u32>,
    pub(crate) agenda: Agenda,
    pub(crate) now: Ns,
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) tap: Tap,
    /// A frame that met no other is locked on and ended at once (`reception`). Not where its energy counts on in a sum,
    /// and not where the tap is to be told of each step.
    pub(crate) overhears: bool,
    /// Not all stations have the same physical layer any more.
    pub(crate) phys_differ: bool,
    /// Of links that fade.
    pub(crate) fading: Stream,
    /// Stations whose served packet is done; refilled once the caller has seen the notice (it may drop packets
    /// queued for a broken link first).
    pub(crate) refills: Vec<(u32, usize)>,
    steps: u64,
}

impl Air {
    /// The air at time 0, silent.
    pub fn new(config: AirConfig) -> Self {
        let mut rules = Rules::of(&config.radio);
        rules.overhead_bytes = config.overhead_bytes.unwrap_or(rules.overhead_bytes);
        let contentions = contentions(&rules.phy, config.radio.edca);
        let count = config.positions_m.len() as u32;
        let shared = Arc::new(rules);
        let station = |i| Station::new(Arc::clone(&shared), &contentions, Stream::new(config.seed, u64::from(i)));
        let stations = (0..count).map(station).collect();
        // First all links, then what is made of them, so that the latter lies together.
        let links: Vec<_> = (0..count).map(|i| config.links_from(i)).collect();
        let rows = links.into_iter().map(Row::new).collect();
        Air {
            rules,
            stations,
            rows,
            capture_ratio: config.radio.propagation.capture_ratio(),
            channels: vec![0; count as usize],
            agenda: Agenda::default(),
            now: 0,
            notices: VecDeque::new(),
            tap: Tap::new(config.tap),
            overhears: rules.overlap == Overlap::PairwiseFirstLock && rules.eifs_as_nav && !config.tap,
            phys_differ: false,
            fading: Stream::new(config.seed, FADING_STREAM),
            refills: Vec::new(),
            steps: 0,
            config,
        }
    }

    /// The rules of the preset in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The rules as they hold for `station`.
    pub(crate) fn rules_of(&self, station: u32) -> &Rules {
        &self.stations[station as usize].rules
    }

    /// The physical layer of `station`.
    pub(crate) fn phy(&self, station: u32) -> &Phy {
        &self.stations[station as usize].rules.phy
    }

    /// The links that leave `station`.
    pub fn links(&self, station: u32) -> &[Link] {
        self.rows[station as usize].links()
    }

    /// Rate of data frames from one station to another (None: broadcast), bit/s.
    pub fn data_rate_bps(&self, from: u32, to: Option<u32>) -> u32 {
        let Some(to) = to else { return self.basic_rate_bps(from) };
        let exception = self.config.link_rates_bps.iter().find(|&&(a, b, _)| (a, b) == (from, to));
        exception.map_or(self.config.data_rates_bps[from as usize], |&(_, _, rate)| rate)
    }

    /// The basic rate; where the station's own physical layer lacks it, the lowest that it has.
    fn basic_rate_bps(&self, station: u32) -> u32 {
        let (phy, basic_bps) = (self.phy(station), self.config.radio.basic_rate_bps);
        if phy.has(basic_bps) { basic_bps } else { phy.rates_bps()[0] }
    }

    /// Rate of the packet's first attempt, bit/s.
    pub(crate) fn first_rate_bps(&self, station: u32, packet: &Packet) -> u32 {
        packet.rates.map_or_else(|| self.data_rate_bps(station, packet.to), |chain| chain.rate_bps(0))
    }

    /// When `step` is wanted, or `NEVER`.
    #[inline]
    pub fn next_at(&self) -> Ns {
        if self.refills.is_empty() { self.agenda.next_at() } else { self.now }
    }

    /// Goes on with what is due elsewhere, at its time; `due` keeps what was due here. Nothing that waits to be told or
    /// refilled may be left.
    pub fn change_places(&mut self, due: &mut Due) {
        debug_assert!(self.refills.is_empty() && self.notices.is_empty());
        std::mem::swap(&mut self.agenda, &mut due.agenda);
        std::mem::swap(&mut self.now, &mut due.now);
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Carries out what is due first. Late calls are harmless: the exchange happens in its own time.
    pub fn step(&mut self) {
        self.step_before(NEVER);
    }

    /// Carries out what is due first, if that is before `limit`; whether it was.
    fn step_before(&mut self, limit: Ns) -> bool {
        if !self.refills.is_empty() {
            if self.now >= limit {
                return false;
            }
            if let Some((station, index)) = self.refills.pop() {
                self.refill(station, index, false);
            }
        } else {
            let Some((at, station)) = self.agenda.pop_before(limit) else { return false };
            self.now = at;
            let here = &mut self.stations[station as usize];
            if here.agenda_at == at {
                here.agenda_at = NEVER;
                self.attend(station);
            }
        }
        self.steps += 1;
        true
    }

    /// Steps until there is something to tell, or until nothing is due before `before` and by `end`. How many steps.
    pub fn advance(&mut self, before: Ns, end: Ns) -> u64 {
        let (first, limit) = (self.steps, before.min(end.saturating_add(1)));
        while self.notices.is_empty() && self.step_before(limit) {}
        self.steps - first
    }

    /// What has happened, in order; None when all has been told.
    #[inline]
    pub fn poll(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Queues a packet at `station`; `front` puts it before all that wait (ns-2 does so with routing packets).
    /// Err: the queue is full, and this packet had to go: the new one, or the last one waiting that `front` or
    /// `voice_first` lets it push out.
    pub fn enqueue(&mut self, now: Ns, station: u32, packet: Packet, front: bool) -> Result<(), Packet> {
        debug_assert!(now >= self.now);
        self.now = now;
        let limit = self.config.radio.queue_pkts as usize;
        let here = &mut self.stations[station as usize];
        here.note_queue(now);
        let index = here.index_of(packet.category);
        let access = &mut here.accesses[index];
        let mut refused = None;
        let urgent = self.config.radio.voice_first && packet.category == Category::Voice;
        if access.queue.len() >= limit {
            let yields = front || (urgent && access.queue.back().is_some_and(|last| last.category != Category::Voice));
            let victim = if yields { access.queue.pop_back().unwrap_or(packet) } else { packet };
            here.counters.drops_queue += 1;
            self.tap.note(now, station, Happening::DropQueue, packet.to, u64::from(victim.id));
            if victim == packet {
                return Err(packet);
            }
            refused = Some(victim);
        }
        let access = &mut here.accesses[index];
        if front {
            access.queue.push_front(packet)
        } else if urgent {
            let place = access.queue.iter().position(|waiting| waiting.category != Category::Voice);
            access.queue.insert(place.unwrap_or(access.queue.len()), packet);
        } else {
            access.queue.push_back(packet)
        }
        let idle = access.current.is_none() && !access.wants_refill;
        let waiting = here.waiting_pkts() as u64 - u64::from(idle);
        here.counters.queue_max_pkts = here.counters.queue_max_pkts.max(waiting);
        if idle {
            self.catch_up(station, now);
            self.refill(station, index, true);
        }
        refused.map_or(Ok(()), Err)
    }

    /// Takes back the packets that wait at `station` for the next hop `to`.
    pub fn recall(&mut self, now: Ns, station: u32, to: u32) -> Vec<Packet> {
        let here = &mut self.stations[station as usize];
        here.note_queue(now);
        let mut back = Vec::new();
        for access in here.accesses.iter_mut() {
            back.extend(access.queue.iter().filter(|packet| packet.to == Some(to)));
            access.queue.retain(|packet| packet.to != Some(to));
        }
        back
    }

    /// Packets that wait at `station`, the one in service not counted.
    pub fn queue_pkts(&self, station: u32) -> usize {
        self.stations[station as usize].waiting_pkts()
    }

    /// Adds so many slots to the backoff after each frame that `station` delivers, until set again. Backoffs before a
    /// retry, after a frame given up and before a frame that finds the station idle stay as they are. With
    /// `wall_clock` the slots pass before the countdown, busy or not; else they are counted while the medium is idle.
    pub fn set_extra_backoff(&mut self, station: u32, slots: u32, wall_clock: bool) {
        self.stations[station as usize].extra_backoff = ExtraBackoff { slots, wall_clock };
    }

    /// Counters of `station` up to `now`.
    pub fn counters(&mut self, now: Ns, station: u32) -> &Counters {
        let here = &mut self.stations[station as usize];
        here.note_queue(now);
        &here.counters
    }

    /// Starts all counters anew.
    pub fn reset_counters(&mut self, now: Ns) {
        for station in &mut self.stations {
            station.note_queue(now);
            station.counters = Counters::default();
        }
    }

    /// The records of the tap so far, by time.
    pub fn take_records(&mut self) -> Vec<Record> {
        // What idle bystanders have heard is told too (they are evaluated lazily).
        (0..self.stations.len() as u32).for_each(|station| self.catch_up(station, self.now));
        self.tap.take()
    }

    /// The frames that the tap has seen so far, by time.
    pub fn take_frames(&mut self) -> Vec<Sent> {
        self.tap.take_frames()
    }

    /// Puts the station into the agenda if it is due earlier than its entry there.
    #[inline(always)]
    pub(crate) fn ensure(&mut self, station: u32, at: Ns) {
        let here = &mut self.stations[station as usize];
        if at < here.agenda_at {
            here.agenda_at = at;
            self.agenda.push(at, station);
        }
    }

    /// Agenda entry for the next moment at which the station must act by itself.
    #[inline(always)]
    pub(crate) fn reschedule(&mut self, station: u32) {
        let backoff_ends = self.stations[station as usize].first_backoff_ends();
        self.await_next(station, backoff_ends);
    }

    /// The same, where it is known when the first backoff ends.
    #[inline(always)]
    pub(crate) fn await_next(&mut self, station: u32, backoff_ends: Ns) {
        let due = self.stations[station as usize].due_at(backoff_ends);
        self.ensure(station, due.max(self.now));
    }

    /// Takes a category's next packet into service and sees to its access; `fresh`: it has just come to an idle station.
    pub(crate) fn refill(&mut self, station: u32, index: usize, fresh: bool) {
        let now = self.now;
        let here = &mut self.stations[station as usize];
        here.note_queue(now);
        let access = &mut here.accesses[index];
        access.wants_refill = false;
        if access.current.is_some() {
            return;
        }
        if let Some(packet) = access.queue.pop_front() {
            self.take_into_service(station, index, packet, fresh);
        }
        if self.stations[station as usize].phase == Phase::Idle {
            self.reschedule(station);
        }
    }

    fn take_into_service(&mut self, station: u32, index: usize, packet: Packet, fresh: bool) {
        let now = self.now;
        let frame_bytes = packet.bytes + self.rules.overhead_bytes;
        let rate_bps = self.first_rate_bps(station, &packet);
        let here = &mut self.stations[station as usize];
        here.next_number += 1;
        let idle = (self.rules.immediate_access || (self.rules.defer_timer && fresh)) && here.is_idle(now);
        here.accesses[index].current = Some(Current {
            packet,
            frame_bytes,
            rate_bps,
            number: here.next_number,
            protected: packet.to.is_some() && frame_bytes >= self.config.radio.rts_threshold_bytes,
            cleared: false,
            attempts: 0,
        });
        if here.accesses[index].backoff().is_some() {
            return;
        }
        if idle && self.rules.defer_timer {
            if here.response.is_none() {
                here.defer_at = now + self.rules.phy.difs_ns(); // else once the response has been sent
            }
        } else if idle {
            here.set_backoff(index, Some(Backoff { slots: 0, started: 0 }));
        } else {
            let slots = here.draw_backoff(index, now, ExtraBackoff::default());
            self.tap.note(now, station, Happening::Backoff, None, u64::from(slots));
        }
    }

    /// Moves a station: its links and all links to it are drawn anew. Frames under way keep their course.
    pub fn move_station(&mut self, station: u32, position_m: [f64; 2]) {
        self.config.positions_m[station as usize] = position_m;
        self.redraw_links(station);
    }

    /// The station sends and hears on this channel from now on; a station of channel 0, as all are at first, hears all.
    pub fn set_channel(&mut self, station: u32, channel: u32) {
        if self.channels[station as usize] != channel {
            self.channels[station as usize] = channel;
            self.redraw_links(station);
        }
    }

    pub(crate) fn redraw_links(&mut self, station: u32) {
        for other in 0..self.rows.len() as u32 {
            if other == station {
                self.rows[other as usize] = self.row_on_channel(other);
            } else {
                let link = self.config.link_between(other, station);
                let link = link.filter(|_| hears(&self.channels, other, station));
                self.rows[other as usize].replace(station, link);
            }
        }
    }

    /// The links that leave `station` to those that hear its channel.
    pub(crate) fn row_on_channel(&self, station: u32) -> Row {
        let mut links = self.config.links_from(station);
        links.retain(|link| hears(&self.channels, station, link.to));
        Row::new(links)
    }

    /// Sets the data rate of one directed link from now on.
    pub fn set_link_rate(&mut self, from: u32, to: u32, rate_bps: u32) {
        let rates = &mut self.config.link_rates_bps;
        rates.retain(|&(a, b, _)| (a, b) != (from, to));
        rates.push((from, to, rate_bps));
    }
}

/// How each category of a station contends.
pub(crate) fn contentions(phy: &Phy, edca: bool) -> Vec<Contention> {
    if edca {
        Category::ALL.map(|category| Contention::edca(phy, category)).to_vec()
    } else {
        vec![Contention::dcf(phy)]
    }
}

fn hears(channels: &[u32], from: u32, to: u32) -> bool {
    let there = channels[to as usize];
    there == 0 || there == channels[from as usize]
}
