//! Carries frames of hosts over the air of the engine, without I/O and without a clock. `FrameFormat` defines the
//! frames.
//!
//! ```text
//!   host's frame -> arrive -> who is it for -> Air -> advance -> deliver -> the other host
//!                             pool holds the bytes
//! ```
//!
//! Invariants
//! 1. The caller owns time, which never decreases. Events before the arrival of a frame are executed before it.
//! 2. A late `advance` changes nothing on the air: each event happens at its own time, and `deliver` receives that
//!    time.
//! 3. A slot of the pool is in use exactly while its frame waits, is being sent, or may still arrive. The interface
//!    queues therefore limit the size of the pool.

use std::collections::VecDeque;

use pacelab_air_config::{PhyKind, Propagation};
use pacelab_engine::{Air, AirConfig, Counters, Failure, IdVec, Kind, Link, MacEvent, Ns, Packet, PacketId, StationId};

use crate::frames::capture::Capture;
use crate::frames::pool::Pool;
use crate::frames::{
    CarrierHandler, Delivery, DropCause, Event, FrameEvent, FrameFormat, Traffic, TxStatus, Verdict, kind,
};

/// Time from the end of a broadcast until it has reached all receivers: 30 km.
const LAST_ECHO_NS: Ns = 100_000;
/// Largest lateness of reported events and queue lengths. A wake-up for each step of the air would more than double the
/// cost of a frame.
const MAX_LATENESS_NS: Ns = 1_000_000;

/// A frame that its receiver holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    station: StationId,
    from: StationId,
    number: u32,
    slot: PacketId,
    power_w: f64,
    rate_bps: Option<u32>,
    retry: bool,
    /// The sender is done with it.
    is_done: bool,
}

/// The air and the frames on it.
#[derive(Debug)]
pub struct Carrier<W: FrameFormat> {
    air: Air,
    /// Addresses and format of the frames.
    pub format: W,
    pool: Pool<W::Tag>,
    /// Broadcasts that may still arrive somewhere, and until when.
    echoes: VecDeque<(Ns, PacketId)>,
    /// Frames that receivers hold until the frames before them have arrived.
    held: Vec<Held>,
    /// Stations with a monitor interface.
    monitors: Vec<StationId>,
    capture: Option<Capture>,
    traffic: IdVec<StationId, Traffic>,
    drops: [u64; DropCause::ALL.len()],
}

impl<W: FrameFormat> Carrier<W> {
    /// A carrier without frames.
    pub fn new(air: AirConfig, format: W) -> Self {
        Carrier {
            traffic: IdVec::filled(Traffic::default(), air.positions_m.len()),
            air: Air::new(air),
            format,
            pool: Pool::default(),
            echoes: VecDeque::new(),
            held: Vec::new(),
            monitors: Vec::new(),
            capture: None,
            drops: [0; DropCause::ALL.len()],
        }
    }

    /// When to call `advance` next, or `NEVER`: when a frame may have to be delivered. Other events wait for that, but
    /// at most `MAX_LATENESS_NS`.
    pub fn wanted_at(&self) -> Ns {
        self.air.no_reception_before().min(self.air.next_at().saturating_add(MAX_LATENESS_NS))
    }

    /// Executes all events up to `now`.
    pub fn advance(&mut self, now: Ns, handler: &mut impl CarrierHandler<W::Tag>) {
        while self.air.next_at() <= now {
            self.air.step();
            while let Some(notice) = self.air.poll() {
                match notice {
                    MacEvent::Received { station, from, packet, power_w } => {
                        self.received(station, from, packet, power_w, handler);
                    }
                    MacEvent::Overheard { station, from, packet, power_w } => {
                        self.overheard(station, from, packet, power_w, handler);
                    }
                    MacEvent::Held { station, from, packet, number, power_w } => {
                        let Delivery { rate_bps, retry, .. } = self.delivery(from, packet, 0);
                        let (slot, is_done) = (packet, false);
                        self.held.push(Held { station, from, number, slot, power_w, rate_bps, retry, is_done });
                    }
                    MacEvent::Released { station, from, number } => self.released(station, from, number, handler),
                    MacEvent::Done { station, packet, attempts, failure } => {
                        self.done(station, packet, attempts, failure, handler);
                    }
                }
            }
        }
        self.capture(now, false);
        while self.echoes.front().is_some_and(|&(until, _)| until <= now) {
            self.echoes.pop_front().into_iter().for_each(|(_, id)| self.pool.give_back(id));
        }
    }

    /// Captures the air from now on. The air must have a tracer.
    pub fn set_capture(&mut self, capture: Capture) {
        self.capture = Some(capture);
    }

    /// Passes new records to the capture. Slots that were given back still have their bytes. A capture that cannot be
    /// written ends.
    pub fn capture(&mut self, now: Ns, ends: bool) {
        let Some(mut capture) = self.capture.take() else { return };
        for frame in self.air.take_frames() {
            let has_data = matches!(frame.kind, Kind::Data | Kind::Aggregate | Kind::Rts);
            let data = if has_data { self.pool.get(frame.packet).frame() } else { &[] };
            let address = frame.to.and_then(|to| self.format.identity(to).1);
            capture.sent(frame, data, address);
        }
        if ends || capture.is_due(now) {
            // Counting brings each station up to now: it records what it has received.
            self.traffic.ids().for_each(|station| drop(self.air.counters(now, station).clone()));
            let name = |station| self.format.identity(station).0;
            capture.read(&self.air.take_records(), name);
            if let Err(error) = capture.flush(now, ends, name) {
                eprintln!("wmediumd: the capture ends: {error}");
                return;
            }
        }
        self.capture = Some(capture);
    }

    /// A slot to read a frame into. `arrive` or `unread` must follow.
    pub fn slot(&mut self) -> PacketId {
        self.pool.take()
    }

    /// The bytes of the slot.
    pub fn space(&mut self, slot: PacketId) -> &mut [u8] {
        self.pool.space(slot)
    }

    /// Returns a slot for which there was no frame.
    pub fn unread(&mut self, slot: PacketId) {
        self.pool.give_back(slot);
    }

    /// Handles a frame of `length` bytes in `slot` that the host of `station` sent. Call `advance(now)` first.
    pub fn arrive(
        &mut self,
        now: Ns,
        station: StationId,
        slot: PacketId,
        length: usize,
        tag: W::Tag,
        handler: &mut impl CarrierHandler<W::Tag>,
    ) -> Verdict {
        self.pool.fill(slot, length, now, tag);
        self.traffic[station].from_host += 1;
        self.traffic[station].substituted += u64::from(self.format.is_substituted(station, &tag));
        let frame = self.pool.get(slot).frame();
        let (cause, to, refused) = match self.format.packet(station, slot, frame, &tag) {
            Err(cause) => (cause, None, slot),
            Ok((packet, front)) => match self.air.enqueue(now, station, packet, front) {
                Ok(()) => return Verdict::Taken,
                Err(refused) => (DropCause::Queue, refused.to, refused.id),
            },
        };
        self.lose(now, station, to, refused, cause, handler);
        handler.finish(station, now, &self.pool.get(refused).tag, 0, TxStatus::Refused);
        self.pool.give_back(refused);
        if refused == slot { Verdict::Dropped(cause) } else { Verdict::Taken }
    }

    fn received(
        &mut self,
        station: StationId,
        from: StationId,
        id: PacketId,
        power_w: f64,
        handler: &mut impl CarrierHandler<W::Tag>,
    ) {
        let delivery = Delivery { power_w, ..self.delivery(from, id, self.air.now()) };
        if !self.format.is_for(station, delivery.frame) {
            return;
        }
        let due = delivery.due;
        if handler.deliver(station, delivery) {
            self.traffic[station].to_host += 1;
        } else {
            self.lose(due, from, Some(station), id, DropCause::Host, handler);
        }
    }

    /// Delivers a frame that its receiver held.
    fn released(
        &mut self,
        station: StationId,
        from: StationId,
        number: u32,
        handler: &mut impl CarrierHandler<W::Tag>,
    ) {
        let is_it = |held: &Held| (held.station, held.from, held.number) == (station, from, number);
        let Some(place) = self.held.iter().position(is_it) else { return };
        let Held { slot, power_w, rate_bps, retry, is_done, .. } = self.held.remove(place);
        let delivery = Delivery { power_w, rate_bps, retry, ..self.delivery(from, slot, self.air.now()) };
        let due = delivery.due;
        if handler.deliver(station, delivery) {
            self.traffic[station].to_host += 1;
        } else {
            self.lose(due, from, Some(station), slot, DropCause::Host, handler);
        }
        if is_done {
            self.pool.give_back(slot);
        }
    }

    /// Delivers a copy of a frame for another station to a monitor.
    fn overheard(
        &mut self,
        station: StationId,
        from: StationId,
        id: PacketId,
        power_w: f64,
        handler: &mut impl CarrierHandler<W::Tag>,
    ) {
        let delivery = Delivery { power_w, is_copy: true, ..self.delivery(from, id, self.air.now()) };
        self.traffic[station].to_host += u64::from(handler.deliver(station, delivery));
    }

    /// The present attempt of a frame.
    fn delivery(&self, from: StationId, id: PacketId, due: Ns) -> Delivery<'_, W::Tag> {
        let slot = self.pool.get(id);
        let (rate_bps, retry) = self.air.attempt(from, id).map_or((None, false), |(rate, retry)| (Some(rate), retry));
        let (frame, tag, sent_at) = (slot.frame(), &slot.tag, slot.arrived_at);
        Delivery { due, frame, tag, power_w: 0.0, rate_bps, retry, from, sent_at, is_copy: false }
    }

    fn done(
        &mut self,
        station: StationId,
        packet: Packet,
        attempts: u32,
        failure: Option<Failure>,
        handler: &mut impl CarrierHandler<W::Tag>,
    ) {
        let now = self.air.now();
        let fate = match (failure, packet.to) {
            (Some(_), _) => TxStatus::Failed,
            (None, Some(_)) => TxStatus::Acknowledged,
            (None, None) => TxStatus::Sent,
        };
        handler.finish(station, now, &self.pool.get(packet.id).tag, attempts, fate);
        if handler.listens(kind::TRANSMIT) {
            let slot = self.pool.get(packet.id);
            let queued_ns = now - slot.arrived_at;
            let what = FrameEvent::Transmit { attempts, delivered: failure.is_none(), queued_ns };
            handler.send_event(Event { at: now, station, to: packet.to, what, head: W::head(slot.frame()) });
        }
        if let Some(failure) = failure {
            let cause = if failure == Failure::Rts { DropCause::MacRts } else { DropCause::MacData };
            self.lose(now, station, packet.to, packet.id, cause, handler);
        }
        let is_broadcast = packet.to.is_none();
        if is_broadcast || (failure.is_none() && !self.monitors.is_empty()) {
            self.deliver_off_channel(station, &packet, handler);
        }
        if is_broadcast {
            self.echoes.push_back((now + LAST_ECHO_NS, packet.id));
        } else if let Some(held) = self.held.iter_mut().find(|held| held.slot == packet.id) {
            held.is_done = true;
        } else {
            self.pool.give_back(packet.id);
        }
    }

    /// Delivers a frame to the stations that last sent on another channel: a broadcast to all of them, any other frame to
    /// monitors. They may listen on this channel by now; the kernel drops frames of channels to which they do not listen.
    fn deliver_off_channel(&mut self, from: StationId, packet: &Packet, handler: &mut impl CarrierHandler<W::Tag>) {
        let due = self.air.now();
        for (station, power_w) in self.air.decoded_off_channel(from, packet) {
            let frame = self.pool.get(packet.id).frame();
            let wanted =
                if packet.to.is_none() { self.format.is_for(station, frame) } else { self.monitors.contains(&station) };
            if !wanted {
                continue;
            }
            let delivery = Delivery { power_w, is_copy: true, ..self.delivery(from, packet.id, due) };
            self.traffic[station].to_host += u64::from(handler.deliver(station, delivery));
        }
    }

    /// Sets the stations whose hosts also get the frames for other stations.
    pub fn set_monitors(&mut self, monitors: Vec<StationId>) {
        self.air.set_monitors(monitors.clone());
        self.monitors = monitors;
    }

    fn lose(
        &mut self,
        at: Ns,
        station: StationId,
        to: Option<StationId>,
        id: PacketId,
        cause: DropCause,
        handler: &mut impl CarrierHandler<W::Tag>,
    ) {
        self.drops[cause as usize] += 1;
        if handler.listens(kind::DROP) {
            let head = W::head(self.pool.get(id).frame());
            handler.send_event(Event { at, station, to, what: FrameEvent::Drop(cause), head });
        }
    }

    /// Counts a frame of no station as dropped.
    pub fn count_drop(&mut self, cause: DropCause) {
        self.drops[cause as usize] += 1;
    }

    /// All stations.
    pub fn stations(&self) -> impl Iterator<Item = StationId> + use<W> {
        self.traffic.ids()
    }

    /// Frames that wait, are being sent, or may still arrive.
    pub fn in_air(&self) -> usize {
        self.pool.taken()
    }

    /// Frames lost, by cause.
    pub fn drops(&self, cause: DropCause) -> u64 {
        self.drops[cause as usize]
    }

    /// Frames from and to the host of `station`.
    pub fn traffic(&self, station: StationId) -> Traffic {
        self.traffic[station]
    }

    /// Frames that wait at `station`, the one in service not counted.
    pub fn queue_pkts(&self, station: StationId) -> usize {
        self.air.queue_pkts(station)
    }

    /// The engine's counters of `station`.
    pub fn counters(&mut self, now: Ns, station: StationId) -> Counters {
        self.air.counters(now, station).clone()
    }

    /// Position of `station` in m.
    pub fn position_m(&self, station: StationId) -> [f64; 2] {
        self.air.position_m(station)
    }

    /// The station's data rate where no link has its own.
    pub fn data_rate_bps(&self, station: StationId) -> u32 {
        self.air.data_rate_bps(station, Some(station))
    }

    /// Moves `station`.
    pub fn set_position(&mut self, station: StationId, position_m: [f64; 2]) {
        self.air.move_station(station, position_m);
    }

    /// Sets the rate of a station, or of one of its links.
    pub fn set_rate(&mut self, station: StationId, to: Option<StationId>, rate_bps: u32) {
        match to {
            Some(to) => self.air.set_link_rate(station, to, rate_bps),
            None => self.air.set_station_rate(station, rate_bps),
        }
    }

    /// Sets from which size on frames use RTS.
    pub fn set_rts_threshold(&mut self, bytes: u32) {
        self.air.set_rts_threshold(bytes);
    }

    /// Sets the channel that `station` sends and hears on.
    pub fn set_channel(&mut self, station: StationId, channel: u32) {
        self.air.set_channel(station, channel);
        self.capture.iter_mut().for_each(|capture| capture.set_channel(station, channel));
    }

    /// Sets the physical layer of `station`.
    pub fn set_phy(&mut self, station: StationId, phy: PhyKind, high_throughput: bool) {
        self.air.set_phy(station, phy, high_throughput);
    }

    /// Sets how many frames wait at `station` at most.
    pub fn set_queue_limit(&mut self, station: StationId, frames: u32) {
        self.air.set_queue_limit(station, frames);
    }

    /// Sets the links that leave `station` and, by sender, those to it.
    pub fn set_links(&mut self, station: StationId, leaving: Vec<Link>, arriving: impl Iterator<Item = Option<Link>>) {
        self.air.set_links(station, leaving, arriving);
    }

    /// Sets powers and ranges.
    pub fn set_propagation(&mut self, propagation: Propagation) {
        self.air.set_propagation(propagation);
    }

    /// Sets all links, by sender.
    pub fn set_all_links(&mut self, links: IdVec<StationId, Vec<Link>>) {
        self.air.set_all_links(links);
    }

    /// Adds slots to the backoffs of `station`, of idle time or by the clock.
    pub fn set_extra_backoff(&mut self, station: StationId, slots: u32, wall_clock: bool) {
        self.air.set_extra_backoff(station, slots, wall_clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::tests::line;
    use crate::frames::ethernet::Ethernet;
    use crate::frames::tests::ipv4;
    use proptest::prelude::*;

    const MS: Ns = 1_000_000;
    const EVERYONE: [u8; 6] = [0xff; 6];

    /// Hosts that record the frames they receive.
    #[derive(Default)]
    struct Hosts {
        got: Vec<(u32, Ns, Vec<u8>)>,
        reported: Vec<Event>,
        deaf: bool,
    }

    impl CarrierHandler<()> for Hosts {
        fn deliver(&mut self, station: StationId, Delivery { due, frame, .. }: Delivery<'_, ()>) -> bool {
            self.got.push((station.0, due, frame.to_vec()));
            !self.deaf
        }
        fn finish(&mut self, _: StationId, _: Ns, (): &(), _: u32, _: TxStatus) {}
        fn listens(&self, _: u32) -> bool {
            true
        }
        fn send_event(&mut self, event: Event) {
            self.reported.push(event);
        }
    }

    struct Rig {
        carrier: Carrier<Ethernet>,
        hosts: Hosts,
    }

    impl Rig {
        fn new(config: &Config) -> Self {
            let macs = config.stations.iter().map(|station| station.mac).collect();
            Rig { carrier: Carrier::new(config.air(), Ethernet::new(macs, config.mtu_bytes)), hosts: Hosts::default() }
        }

        fn send(&mut self, now: Ns, station: u32, frame: &[u8]) -> Verdict {
            self.carrier.advance(now, &mut self.hosts);
            let slot = self.carrier.slot();
            let length = frame.len().min(self.carrier.space(slot).len());
            self.carrier.space(slot)[..length].copy_from_slice(&frame[..length]);
            self.carrier.arrive(now, StationId(station), slot, length, (), &mut self.hosts)
        }

        fn run(&mut self, until: Ns) {
            self.carrier.advance(until, &mut self.hosts);
        }
    }

    fn to(station: u8) -> [u8; 6] {
        [2, 0, 0, 0, 0, station + 1]
    }

    fn packet(destination: [u8; 6], bytes: usize) -> Vec<u8> {
        ipv4(destination, 0, 17, &vec![0; bytes - 20])
    }

    #[test]
    fn a_lone_frame_arrives_after_its_airtime() {
        // standard: idle for longer than DIFS, so it leaves at once. Preamble 192, (1000 + 36) * 8 / 2 = 4144 us, 200
        // m: 667 ns
        let mut rig = Rig::new(&line(2, 200.0, "standard"));
        let frame = packet(to(1), 1000);
        assert_eq!(rig.send(5 * MS, 0, &frame), Verdict::Taken);
        rig.run(100 * MS);
        let arrival = 5 * MS + 192_000 + 4_144_000 + 667;
        assert!(rig.hosts.got == [(1, arrival, frame)]);
        // SIFS 10, ACK 192 + 112 us, and back over 200 m
        let done = arrival + 10_000 + 304_000 + 667;
        let reported: Vec<_> =
            rig.hosts.reported.iter().map(|event| (event.at, event.station.0, event.to, event.what)).collect();
        let what = FrameEvent::Transmit { attempts: 1, delivered: true, queued_ns: done - 5 * MS };
        assert_eq!(reported, [(done, 0, Some(StationId(1)), what)]);
        assert_eq!(rig.carrier.in_air(), 0);
    }

    #[test]
    fn a_late_daemon_delivers_late_but_the_air_keeps_its_time() {
        let due = |steps: &[Ns]| {
            let mut rig = Rig::new(&line(3, 200.0, "ns2"));
            (0..20).for_each(|_| assert_eq!(rig.send(5 * MS, 0, &packet(to(1), 1000)), Verdict::Taken));
            steps.iter().for_each(|&now| rig.run(now));
            rig.hosts.got.iter().map(|&(_, due, _)| due).collect::<Vec<Ns>>()
        };
        let punctual: Vec<Ns> = (0..10_000).map(|index| 5 * MS + index * 20_000).collect();
        assert_eq!(due(&punctual), due(&[205 * MS]));
        assert_eq!(due(&punctual).len(), 20);
    }

    #[test]
    fn a_broadcast_reaches_all_in_range_once_and_its_slot_is_free_after_the_last_echo() {
        let mut rig = Rig::new(&line(4, 200.0, "ns2"));
        rig.send(5 * MS, 1, &packet(EVERYONE, 100));
        rig.run(20 * MS);
        let receivers: Vec<u32> = rig.hosts.got.iter().map(|&(station, ..)| station).collect();
        assert_eq!(receivers, [0, 2]); // 3 is 400 m away
        assert_eq!(rig.hosts.reported.len(), 1);
        assert_eq!((rig.hosts.reported[0].to, rig.carrier.in_air()), (None, 0));
    }

    #[test]
    fn what_cannot_be_sent_is_dropped_with_its_cause() {
        let mut rig = Rig::new(&line(2, 200.0, "ns2"));
        for (frame, cause) in [
            (packet(to(7), 100), DropCause::NoStation),
            (packet(to(0), 100), DropCause::NoStation), // its own
            (vec![0; 13], DropCause::Malformed),
            (packet(to(1), 1505), DropCause::Malformed),
            (packet(to(1), 2400), DropCause::Malformed),
        ] {
            assert_eq!(rig.send(MS, 0, &frame), Verdict::Dropped(cause));
            assert_eq!(rig.hosts.reported.pop().map(|event| event.what), Some(FrameEvent::Drop(cause)));
        }
        assert_eq!(rig.send(MS, 0, &packet(to(1), 1504)), Verdict::Taken); // a VLAN tag
        assert_eq!((rig.carrier.drops(DropCause::NoStation), rig.carrier.drops(DropCause::Malformed)), (2, 3));
        assert_eq!(rig.carrier.in_air(), 1);
    }

    #[test]
    fn the_queue_drops_the_last_and_a_deaf_neighbour_costs_seven_attempts() {
        let mut rig = Rig::new(&line(2, 300.0, "ns2")); // sensed, not decoded
        let verdicts: Vec<Verdict> = (0..60).map(|_| rig.send(MS, 0, &packet(to(1), 100))).collect();
        assert_eq!(verdicts.iter().filter(|&&verdict| verdict == Verdict::Dropped(DropCause::Queue)).count(), 60 - 51);
        rig.hosts.reported.clear();
        rig.run(60_000 * MS);
        assert_eq!((rig.carrier.drops(DropCause::MacData), rig.carrier.in_air(), rig.hosts.got.len()), (51, 0, 0));
        let attempts = |event: &Event| matches!(event.what, FrameEvent::Transmit { attempts: 7, delivered: false, .. });
        assert_eq!(rig.hosts.reported.iter().filter(|event| attempts(event)).count(), 51);
        assert_eq!(rig.hosts.reported.len(), 2 * 51);
    }

    #[test]
    fn a_host_that_takes_nothing_is_a_loss_of_its_own_kind() {
        let mut rig = Rig::new(&line(2, 200.0, "ns2"));
        rig.hosts.deaf = true;
        rig.send(MS, 0, &packet(to(1), 100));
        rig.run(100 * MS);
        assert_eq!((rig.carrier.drops(DropCause::Host), rig.carrier.traffic(StationId(1)).to_host), (1, 0));
    }

    #[test]
    fn changes_are_in_force_for_the_next_frame() {
        let mut rig = Rig::new(&line(2, 300.0, "standard"));
        let arrives = |rig: &mut Rig, now: Ns| {
            rig.send(now, 0, &packet(to(1), 100));
            rig.run(now + 500 * MS);
            rig.hosts.got.drain(..).next().map(|(_, due, _)| due - now)
        };
        assert_eq!(arrives(&mut rig, 1_000 * MS), None);
        rig.carrier.set_position(StationId(1), [200.0, 0.0]);
        // 192 + 136 * 8 / 2 us, 667 ns
        assert_eq!(arrives(&mut rig, 2_000 * MS), Some(736_667));
        rig.carrier.set_rate(StationId(0), None, 1_000_000);
        assert_eq!(
            (arrives(&mut rig, 3_000 * MS), rig.carrier.data_rate_bps(StationId(0))),
            (Some(1_280_667), 1_000_000)
        );
        rig.carrier.set_rate(StationId(0), Some(StationId(1)), 11_000_000);
        assert_eq!(arrives(&mut rig, 4_000 * MS), Some(192_000 + 99_000 + 667)); // 98.9 us rounded up
        rig.carrier.set_rts_threshold(0);
        // RTS 352 us, SIFS, CTS 304 us, SIFS, and twice the way more
        assert_eq!(arrives(&mut rig, 5_000 * MS), Some(291_667 + 352_000 + 10_000 + 304_000 + 10_000 + 2 * 667));
        rig.carrier.set_rts_threshold(u32::MAX);
        rig.carrier.set_extra_backoff(StationId(0), 10, false);
        // The second frame follows SIFS, the ACK, DIFS, 0..=31 slots and 10.
        (0..2).for_each(|_| assert_eq!(rig.send(6_000 * MS, 0, &packet(to(1), 100)), Verdict::Taken));
        rig.run(6_500 * MS);
        let dues: Vec<Ns> = rig.hosts.got.drain(..).map(|(_, due, _)| due).collect();
        let slots_ns = dues[1] - dues[0] - (10_000 + 304_000 + 667 + 50_000 + 291_667);
        assert!(slots_ns % 20_000 == 0 && (200_000..=820_000).contains(&slots_ns), "{slots_ns}");
        rig.carrier.set_propagation(Propagation::Range { decode_m: 100.0, sense_m: 250.0, capture_db: 10.0 });
        assert_eq!(arrives(&mut rig, 7_000 * MS), None);
    }

    #[test]
    fn memory_follows_the_queues_and_not_the_number_of_frames() {
        let mut rig = Rig::new(&line(2, 200.0, "ns2"));
        for index in 0..200_000u64 {
            let destination = if index % 3 == 0 { EVERYONE } else { to(1) };
            rig.send(index * 200_000, 0, &packet(destination, 60));
            rig.hosts.got.clear();
            rig.hosts.reported.clear();
        }
        assert!(rig.carrier.pool.slots() <= 50 + 1 + 2 + 1, "{}", rig.carrier.pool.slots());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_frame_is_accounted_for(
            frames in prop::collection::vec((0u32..4, 0u8..6, 0usize..1600, 0u64..3 * MS), 1..120),
        ) {
            let mut rig = Rig::new(&line(4, 200.0, "ns2"));
            let (mut now, mut taken, mut dropped) = (0, 0, 0);
            for (station, destination, bytes, pause) in frames {
                now += pause;
                let address = if destination == 5 { EVERYONE } else { to(destination) };
                let frame = &packet(address, 1600)[..bytes];
                match rig.send(now, station, frame) {
                    Verdict::Taken => taken += 1,
                    Verdict::Dropped(_) => dropped += 1,
                }
            }
            rig.run(now + 60_000 * MS);
            prop_assert_eq!(rig.carrier.in_air(), 0);
            let transmits = rig.hosts.reported.iter().filter(|event| event.kind() == kind::TRANSMIT).count();
            let given_up = rig.carrier.drops(DropCause::MacData) + rig.carrier.drops(DropCause::MacRts);
            prop_assert_eq!(transmits, taken);
            prop_assert_eq!(rig.hosts.reported.len() - transmits, dropped + given_up as usize);
            prop_assert!(rig.hosts.got.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        }
    }
}
