//! Properties for any stations, packets and seed.

use std::collections::BTreeMap;

use pacelab_air_config::{Category, MacAckRate, Preset, Propagation};
use pacelab_engine::{Air, AirConfig, Id, IdVec, MacEvent, Ns, Packet, PacketId, StationId, TraceEvent, TraceRecord};
use proptest::prelude::*;

use crate::{M1, MS, NEVER_RTS, plain, tuned};

const STATIONS: u32 = 6;

#[derive(Clone, Debug)]
struct Scene {
    config: AirConfig,
    /// (at, station, packet)
    plan: Vec<(Ns, StationId, Packet)>,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let place = (0.0..900.0, 0.0..300.0).prop_map(|(x, y)| [x, y]);
    let places = proptest::collection::vec(place, STATIONS as usize);
    let packet = (0..40 * MS, 0..STATIONS, proptest::option::of(1..STATIONS), 20u32..1500);
    let packets = proptest::collection::vec(packet, 1..120);
    let rates = proptest::sample::select(vec![M1, 2 * M1, 5_500_000, 11 * M1]);
    (places, packets, rates, any::<u64>(), any::<[bool; 3]>()).prop_map(|(places, packets, rate, seed, choices)| {
        let [standard, rts, data_acks] = choices;
        let config = AirConfig {
            seed,
            positions_m: places.into(),
            data_rates_bps: IdVec::filled(rate, STATIONS as usize),
            ..tuned(plain(if standard { Preset::Standard } else { Preset::Ns2 }, &[]), |radio| {
                radio.propagation = Propagation::TwoRay { capture_db: 10.0 };
                radio.rts_threshold_bytes = if rts { 0 } else { NEVER_RTS };
                radio.mac_ack_rate = if data_acks { MacAckRate::Data } else { MacAckRate::Basic };
                radio.queue_pkts = 5;
            })
        };
        let mut plan: Vec<_> = packets
            .into_iter()
            .enumerate()
            .map(|(id, (at, station, offset, bytes))| {
                let to = offset.map(|offset| StationId((station + offset) % STATIONS));
                let id = PacketId(id as u32);
                (at, StationId(station), Packet { id, to, bytes, category: Category::default(), rates: None })
            })
            .collect();
        plan.sort_by_key(|&(at, _, packet)| (at, packet.id));
        Scene { config, plan }
    })
}

/// Plays the scene and asks for the outlook at each step: (the latest "not before" since anything came from outside,
/// the reception that followed).
fn outlooks(scene: &Scene, end: Ns) -> Vec<(Ns, Ns)> {
    let mut air = Air::new(scene.config.clone());
    let mut plan = scene.plan.iter().peekable();
    let (mut not_before, mut found) = (0, Vec::new());
    loop {
        let planned = plan.peek().map_or(Ns::MAX, |&&(at, _, _)| at);
        if planned.min(air.next_at()) > end {
            return found;
        }
        if planned <= air.next_at() {
            let &(at, station, packet) = plan.next().unwrap();
            let _ = air.enqueue(at, station, packet, false);
            not_before = 0;
        } else {
            air.step();
        }
        while let Some(event) = air.poll() {
            if matches!(event, MacEvent::Received { .. }) {
                found.push((not_before, air.now()));
            }
        }
        if found.last().is_some_and(|&(_, received)| received == air.now()) {
            not_before = 0;
        }
        not_before = not_before.max(air.no_reception_before());
    }
}

struct Outcome {
    records: Vec<TraceRecord>,
    mac_events: Vec<MacEvent>,
    /// When each MAC event occurred.
    told_at: Vec<Ns>,
    steps: u64,
    refused: Vec<PacketId>,
    /// Packets that wait in queues. Whether a station also serves one is not visible from outside.
    waiting: usize,
}

fn play(scene: &Scene, end: Ns) -> Outcome {
    let mut air = Air::new(scene.config.clone());
    let (mut mac_events, mut told_at, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut plan = scene.plan.iter().peekable();
    loop {
        let planned = plan.peek().map_or(Ns::MAX, |&&(at, _, _)| at);
        if planned.min(air.next_at()) > end {
            break;
        }
        if planned <= air.next_at() {
            let &(at, station, packet) = plan.next().unwrap();
            refused.extend(air.enqueue(at, station, packet, false).err().map(|packet| packet.id));
        } else {
            air.step();
        }
        while let Some(event) = air.poll() {
            mac_events.push(event);
            told_at.push(air.now());
        }
    }
    let waiting = (0..STATIONS).map(StationId).map(|station| air.queue_pkts(station)).sum();
    Outcome { records: air.take_records(), mac_events, told_at, steps: air.steps(), refused, waiting }
}

/// How often each packet was finished, and how often each station received it.
fn fates(mac_events: &[MacEvent]) -> (BTreeMap<PacketId, u32>, BTreeMap<(PacketId, StationId), u32>) {
    let (mut done, mut received) = (BTreeMap::new(), BTreeMap::new());
    for event in mac_events {
        match *event {
            MacEvent::Done { packet, .. } => *done.entry(packet.id).or_default() += 1,
            MacEvent::Received { packet, station, .. } => *received.entry((packet, station)).or_default() += 1,
            MacEvent::Overheard { .. } => unreachable!("no station is a monitor"),
            MacEvent::Held { .. } | MacEvent::Released { .. } => unreachable!("of 802.11n alone"),
        }
    }
    (done, received)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_received_before_the_outlook_says_and_in_the_end_it_is_exact(scene in scenes()) {
        for (not_before, received) in outlooks(&scene, 3_000 * MS) {
            prop_assert_eq!(not_before, received);
        }
    }

    #[test]
    fn same_seed_same_records(scene in scenes()) {
        let (first, again) = (play(&scene, 300 * MS), play(&scene, 300 * MS));
        prop_assert_eq!(first.records, again.records);
        prop_assert_eq!(first.mac_events, again.mac_events);
    }

    /// Without a tracer, the engine applies a frame that meets no other in one step.
    #[test]
    fn without_a_tap_all_goes_the_same_way(scene in scenes()) {
        let mut untraced = scene.clone();
        untraced.config.trace = false;
        let (first, again) = (play(&scene, 300 * MS), play(&untraced, 300 * MS));
        prop_assert_eq!(first.mac_events, again.mac_events);
        prop_assert_eq!(first.told_at, again.told_at);
        prop_assert_eq!(first.steps, again.steps);
    }

    #[test]
    fn every_packet_ends_exactly_once(scene in scenes()) {
        // 30 s: seven attempts of all 120 packets take less.
        let outcome = play(&scene, 30_000 * MS);
        let (done, received) = fates(&outcome.mac_events);
        prop_assert_eq!(outcome.waiting, 0);
        for &(_, station, packet) in &scene.plan {
            let refused = outcome.refused.iter().filter(|&&id| id == packet.id).count() as u32;
            let ended = done.get(&packet.id).copied().unwrap_or(0);
            prop_assert_eq!(refused + ended, 1, "packet {:?}", packet.id);
            for other in (0..STATIONS).map(StationId) {
                let times = received.get(&(packet.id, other)).copied().unwrap_or(0);
                let wanted = other != station && refused == 0 && packet.to.is_none_or(|to| to == other);
                prop_assert!(times <= u32::from(wanted), "packet {:?} at {:?}", packet.id, other);
            }
        }
        for event in &outcome.mac_events {
            if let MacEvent::Done { packet: Packet { id, to: Some(to), .. }, failure: None, .. } = *event {
                prop_assert_eq!(received.get(&(id, to)), Some(&1), "acknowledged, so received");
            }
        }
    }

    #[test]
    fn what_is_not_done_yet_still_waits(scene in scenes(), end in 1..60 * MS) {
        let outcome = play(&scene, end);
        let offered = scene.plan.iter().filter(|&&(at, _, _)| at <= end).count();
        let left = offered - outcome.refused.len() - fates(&outcome.mac_events).0.len();
        // Waiting, and at most one in service at each station.
        prop_assert!(outcome.waiting <= left && left <= outcome.waiting + STATIONS as usize);
    }

    #[test]
    fn a_station_sends_one_frame_at_a_time(scene in scenes()) {
        let outcome = play(&scene, 300 * MS);
        let mut free_at = [0; STATIONS as usize];
        for record in &outcome.records {
            let sends = [TraceEvent::SendRts, TraceEvent::SendCts, TraceEvent::SendData, TraceEvent::SendAck];
            if sends.contains(&record.what) {
                let free_at = &mut free_at[record.station.index()];
                prop_assert!(*free_at <= record.at);
                *free_at = record.at + record.value;
            }
        }
    }
}
