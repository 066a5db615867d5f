//! Aggregates of 802.11n and their Block Acks. Times are sums by hand from IEEE 802.11-2016:
//!
//! ```text
//! MPDU of a packet of 1500 B: 30 B MAC header and FCS with QoS, 8 B LLC: 1538 B; with delimiter and padding 1544 B
//! three of them: 2 * 1544 + 4 + 1538 = 4630 B: (16 + 37040 + 6) bits / 260 = 143 symbols: 36 + 572 = 608 us
//! SIFS 16   Block Ack of 32 B at 24 Mbit/s: 20 + 3 * 4 = 32   slot 9   AIFS of best effort 16 + 3 * 9 = 43
//! ```

use std::collections::BTreeMap;

use pacelab_air_config::{HighThroughput, MacAckRate, PhyKind, Preset, Radio};
use pacelab_engine::{AirConfig, Failure, IdVec, Kind, MacEvent, StationId, TraceEvent};

use super::{MS, Ns, Rig, STRONG, US, both_ways, broadcast, plain, tuned, unicast};

const MCS_7_BPS: u32 = 65_000_000;

fn ht(links: &[(u32, u32, f64)], tune: impl FnOnce(&mut Radio)) -> AirConfig {
    let mut config = tuned(plain(Preset::Standard, links), |radio| {
        radio.phy = PhyKind::N;
        radio.basic_rate_bps = 6_000_000;
        radio.data_rate_bps = MCS_7_BPS;
        radio.mac_ack_rate = MacAckRate::Mandatory;
        tune(radio);
    });
    config.data_rates_bps = IdVec::filled(MCS_7_BPS, config.positions_m.len());
    config
}

fn pair() -> Vec<(u32, u32, f64)> {
    both_ways(&[(0, 1, STRONG)])
}

/// Stations 0 and 2 hear only station 1.
fn hidden() -> Vec<(u32, u32, f64)> {
    both_ways(&[(0, 1, STRONG), (2, 1, STRONG)])
}

/// Packets that `station` delivered, in order, with their senders.
fn delivered(rig: &Rig, station: u32) -> Vec<(u32, u32)> {
    let mut held = BTreeMap::new();
    let mut found = Vec::new();
    for event in &rig.mac_events {
        match *event {
            MacEvent::Received { station: at, from, packet, .. } if at.0 == station => found.push((from.0, packet.0)),
            MacEvent::Held { station: at, from, packet, number, .. } if at.0 == station => {
                held.insert((from, number), packet.0);
            }
            MacEvent::Released { station: at, from, number } if at.0 == station => {
                found.push((from.0, held.remove(&(from, number)).expect("a held packet")));
            }
            _ => {}
        }
    }
    assert!(held.is_empty(), "held without end: {held:?}");
    found
}

/// The test network takes packets of the same time in the reverse order of their plan.
fn three_at(rig: &mut Rig, at: Ns) {
    (0..3).rev().for_each(|id| rig.arrive_at(at, 0, unicast(id, 1, 1500)));
}

#[test]
fn waiting_packets_for_one_receiver_go_into_one_aggregate() {
    let mut rig = Rig::new(ht(&pair(), |_| ()));
    three_at(&mut rig, 2 * MS);
    rig.run(10 * MS);
    assert_eq!(rig.seen(0, TraceEvent::SendAggregate), [(2 * MS, 608_000)]);
    assert_eq!(rig.seen(1, TraceEvent::SendBlockAck), [(2 * MS + 624 * US, 32_000)]);
    assert_eq!(delivered(&rig, 1), [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(rig.done(0), [(0, 1, None), (1, 1, None), (2, 1, None)]);
    let counters = rig.air.counters(10 * MS, StationId(0));
    assert_eq!((counters.data_sent, counters.delivered_frames, counters.retries), (3, 3, 0));
}

#[test]
fn a_packet_alone_is_sent_as_data_with_an_ack() {
    // 1538 B: 12326 bits / 260 = 48 symbols: 36 + 192; ACK of 14 B at 24 Mbit/s: 28 us
    let mut rig = Rig::new(ht(&pair(), |_| ()));
    rig.arrive_at(2 * MS, 0, unicast(0, 1, 1500));
    rig.run(10 * MS);
    assert_eq!(rig.seen(0, TraceEvent::SendData), [(2 * MS, 228_000)]);
    assert_eq!(rig.seen(1, TraceEvent::SendAck), [(2 * MS + 244 * US, 28_000)]);
    assert_eq!(rig.done(0), [(0, 1, None)]);
}

#[test]
fn an_aggregate_ends_at_its_limits() {
    let most = HighThroughput::default();
    // Of 3 packets: two, then one alone. Of 40: 28 in the PPDU of 5484 us (44262 B at MCS 7), then 12.
    for (ht_settings, packets, expected) in [
        (HighThroughput { ampdu_frames: 2, ..most }, 3, vec![2]),
        (HighThroughput { ampdu_bytes: Some(3086), ..most }, 3, vec![2]),
        (HighThroughput { ampdu_bytes: Some(3085), ..most }, 3, vec![]),
        (most, 40, vec![28, 12]),
    ] {
        let mut rig = Rig::new(ht(&pair(), |radio| radio.ht = Some(ht_settings)));
        (0..packets).rev().for_each(|id| rig.arrive_at(2 * MS, 0, unicast(id, 1, 1500)));
        let mut acknowledged = Vec::new();
        let mut before = 0;
        rig.run_with(50 * MS, |air, now| {
            let done = air.counters(now, StationId(0)).delivered_frames;
            if done > before {
                acknowledged.push(done - before);
                before = done;
            }
        });
        let alone = packets as usize - expected.iter().sum::<usize>();
        let mut all: Vec<usize> = acknowledged.iter().map(|&count| count as usize).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let ones = vec![1; alone];
        assert_eq!(all, [expected.clone(), ones].concat(), "{ht_settings:?}");
    }
}

#[test]
fn the_spacing_pads_short_frames() {
    // Packets of 60 B: MPDU 98 B, subframe 104 B. 16 us at 65 Mbit/s are 130 B, so 132 B with the alignment.
    // 2 * 104 + 102 = 310 B: 2502 bits, 10 symbols. 2 * 132 + 102 = 366 B: 2950 bits, 12 symbols.
    for (ampdu_spacing_ns, airtime_us) in [(0, 36 + 40), (16_000, 36 + 48)] {
        let settings = HighThroughput { ampdu_spacing_ns, ..HighThroughput::default() };
        let mut rig = Rig::new(ht(&pair(), |radio| radio.ht = Some(settings)));
        (0..3).for_each(|id| rig.arrive_at(2 * MS, 0, unicast(id, 1, 60)));
        rig.run(10 * MS);
        assert_eq!(rig.seen(0, TraceEvent::SendAggregate), [(2 * MS, airtime_us * US)]);
    }
}

#[test]
fn packets_for_others_keep_their_place() {
    let links = both_ways(&[(0, 1, STRONG), (0, 2, STRONG), (1, 2, STRONG)]);
    let mut rig = Rig::new(ht(&links, |_| ()));
    for (id, to) in [(3, 2), (2, 1), (1, 2), (0, 1)] {
        rig.arrive_at(2 * MS, 0, unicast(id, to, 1500));
    }
    rig.run(10 * MS);
    assert_eq!(delivered(&rig, 1), [(0, 0), (0, 2)]);
    assert_eq!(delivered(&rig, 2), [(0, 1), (0, 3)]);
    assert_eq!(rig.times(0, TraceEvent::SendAggregate).len(), 2);
}

#[test]
fn rts_announces_the_whole_aggregate() {
    // RTS of 20 B at 24 Mbit/s 28 us, CTS 28 us, aggregate 608, Block Ack 32, three SIFS
    let mut rig = Rig::new(ht(&pair(), |radio| radio.rts_threshold_bytes = 0));
    three_at(&mut rig, 2 * MS);
    rig.run(10 * MS);
    let sent = |kind| {
        let frames = rig.air.clone().take_frames();
        frames.into_iter().find(|frame| frame.kind == kind).map(|frame| (frame.at / US, frame.duration_ns / US))
    };
    let start = 2_000;
    assert_eq!(sent(Kind::Rts), Some((start, 16 + 28 + 16 + 608 + 16 + 32)));
    assert_eq!(sent(Kind::Cts), Some((start + 28 + 16, 16 + 608 + 16 + 32)));
    assert_eq!(sent(Kind::Aggregate), Some((start + 28 + 16 + 28 + 16, 16 + 32)));
    assert_eq!(sent(Kind::BlockAck), Some((start + 28 + 16 + 28 + 16 + 608 + 16, 0)));
    assert_eq!(rig.done(0), [(0, 1, None), (1, 1, None), (2, 1, None)]);
}

/// With `standard` an MPDU is lost if interference is strong enough; with `sinr` by chance, here nearly for sure.
const WITH_PARTIAL_LOSS: [Preset; 2] = [Preset::Standard, Preset::Sinr];

#[test]
fn a_bystander_holds_the_nav_until_the_block_ack_has_ended() {
    let links = both_ways(&[(0, 1, STRONG), (0, 2, STRONG), (1, 2, STRONG)]);
    let mut rig = Rig::new(ht(&links, |_| ()));
    three_at(&mut rig, 2 * MS);
    rig.arrive_at(2 * MS + 100 * US, 2, unicast(3, 1, 1500));
    rig.run(10 * MS);
    let (end, until) = (2 * MS + 608 * US, 2 * MS + (608 + 16 + 32) * US);
    assert_eq!(rig.seen(2, TraceEvent::Nav), [(end, until)]);
    // AIFS, then a backoff of 0 to 15 slots
    let waited = rig.times(2, TraceEvent::SendData)[0] - until - 43 * US;
    assert!(waited % (9 * US) == 0 && waited <= 15 * 9 * US, "{waited}");
}

#[test]
fn a_monitor_overhears_data_frames_and_each_mpdu_and_no_control_frame() {
    let links = both_ways(&[(0, 1, STRONG), (0, 2, STRONG), (1, 2, STRONG)]);
    let mut rig = Rig::new(ht(&links, |radio| radio.rts_threshold_bytes = 0));
    rig.air.set_monitors(vec![StationId(2)]);
    three_at(&mut rig, 2 * MS);
    rig.arrive_at(5 * MS, 0, unicast(3, 1, 1500));
    rig.arrive_at(7 * MS, 0, unicast(4, 2, 1500));
    rig.run(10 * MS);
    let overheard = rig.mac_events.iter().filter_map(|event| match *event {
        MacEvent::Overheard { station, from, packet, .. } => Some((station.0, from.0, packet.0)),
        _ => None,
    });
    assert_eq!(overheard.collect::<Vec<_>>(), [(2, 0, 0), (2, 0, 1), (2, 0, 2), (2, 0, 3)]);
}

#[test]
fn only_the_mpdu_that_was_hit_is_repeated() {
    // The second MPDU lasts from 227 to 417 us of the aggregate. A broadcast of 58 B at 6 Mbit/s lasts 104 us.
    for preset in WITH_PARTIAL_LOSS {
        let mut rig = Rig::new(ht(&hidden(), |radio| radio.preset = preset));
        three_at(&mut rig, 2 * MS);
        rig.arrive_at(2 * MS + 300 * US, 2, broadcast(9, 20));
        rig.run(20 * MS);
        assert_eq!(rig.seen(1, TraceEvent::LostMpdus), [(2 * MS + 608 * US, 1)], "{preset:?}");
        assert_eq!(delivered(&rig, 1), [(0, 0), (0, 1), (0, 2)]);
        assert_eq!(rig.done(0), [(0, 1, None), (2, 1, None), (1, 2, None)]);
        assert_eq!(rig.times(0, TraceEvent::SendData).len(), 1, "the repetition is one packet alone");
        let counters = rig.air.counters(20 * MS, StationId(0));
        assert_eq!((counters.data_sent, counters.data_failures, counters.retries), (4, 1, 1));
    }
}

#[test]
fn interference_at_the_border_of_two_mpdus_hits_both() {
    for preset in WITH_PARTIAL_LOSS {
        let mut rig = Rig::new(ht(&hidden(), |radio| radio.preset = preset));
        three_at(&mut rig, 2 * MS);
        rig.arrive_at(2 * MS + 200 * US, 2, broadcast(9, 20)); // until 304 us
        rig.run(20 * MS);
        assert_eq!(rig.seen(1, TraceEvent::LostMpdus), [(2 * MS + 608 * US, 2)], "{preset:?}");
        assert_eq!(rig.done(0), [(2, 1, None), (0, 2, None), (1, 2, None)]);
    }
}

#[test]
fn interference_of_13_db_less_is_captured_but_destroys_an_mpdu_by_the_error_model() {
    // Capture needs 10 dB. MCS 7, 64-QAM 5/6, needs more than 20 dB.
    for (preset, lost) in [(Preset::Standard, None), (Preset::Sinr, Some((2 * MS + 608 * US, 1)))] {
        let links = both_ways(&[(0, 1, STRONG), (2, 1, STRONG / 20.0)]);
        let mut rig = Rig::new(ht(&links, |radio| radio.preset = preset));
        three_at(&mut rig, 2 * MS);
        rig.arrive_at(2 * MS + 300 * US, 2, broadcast(9, 20));
        rig.run(20 * MS);
        assert_eq!(rig.seen(1, TraceEvent::LostMpdus), Vec::from_iter(lost), "{preset:?}");
        assert_eq!(delivered(&rig, 1), [(0, 0), (0, 1), (0, 2)]);
    }
}

#[test]
fn a_hit_preamble_loses_the_aggregate_and_a_request_follows() {
    let mut rig = Rig::new(ht(&hidden(), |_| ()));
    three_at(&mut rig, 2 * MS);
    rig.arrive_at(2 * MS + 30 * US, 2, broadcast(9, 20)); // the preamble lasts 36 us
    rig.run(20 * MS);
    assert_eq!(rig.times(0, TraceEvent::SendAggregate).len(), 2);
    // SIFS + slot + 20 us after the aggregate the wait ends; then AIFS and a backoff of 0 to 31 slots.
    let request = rig.times(0, TraceEvent::SendBlockAckRequest);
    let from = 2 * MS + (608 + 45 + 43) * US;
    assert!(request.len() == 1 && (0..=31).any(|slots| request[0] == from + slots * 9 * US), "{request:?}");
    assert_eq!(rig.times(1, TraceEvent::SendBlockAck).len(), 2);
    assert_eq!(delivered(&rig, 1), [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(rig.done(0), [(0, 2, None), (1, 2, None), (2, 2, None)]);
}

#[test]
fn without_any_block_ack_all_packets_are_given_up() {
    // Station 1 hears station 0, but not the other way round. Requests repeat for 500 ms. Station 1 may hold packets, so
    // one more row of seven requests follows.
    let mut rig = Rig::new(ht(&[(0, 1, STRONG)], |_| ()));
    three_at(&mut rig, 2 * MS);
    rig.run(502 * MS);
    assert_eq!(rig.done(0), []);
    let requests = rig.times(0, TraceEvent::SendBlockAckRequest).len();
    assert!((50..=150).contains(&requests), "a backoff of up to 1023 slots lasts 4.6 ms on average: {requests}");
    rig.run(1_000 * MS);
    let lost = Some(Failure::Data);
    assert_eq!(rig.done(0), [(0, 1, lost), (1, 1, lost), (2, 1, lost)]);
    assert_eq!(rig.times(0, TraceEvent::SendAggregate).len(), 1);
    let all = rig.times(0, TraceEvent::SendBlockAckRequest);
    let given_up_at = rig.times(0, TraceEvent::DropData)[0];
    assert!((502 * MS..512 * MS).contains(&given_up_at), "{given_up_at}");
    assert_eq!(all.iter().filter(|&&at| at > given_up_at).count(), 7);
    assert_eq!(rig.air.counters(1_000 * MS, StationId(0)).drops_data, 3);
    assert_eq!(delivered(&rig, 1), [(0, 0), (0, 1), (0, 2)], "what arrived is delivered");
}

#[test]
fn without_cts_all_packets_are_given_up_after_seven_rts() {
    let mut rig = Rig::new(ht(&[(0, 1, STRONG)], |radio| radio.rts_threshold_bytes = 0));
    three_at(&mut rig, 2 * MS);
    rig.run(400 * MS);
    let lost = Some(Failure::Rts);
    assert_eq!(rig.done(0), [(0, 7, lost), (1, 7, lost), (2, 7, lost)]);
    assert_eq!(rig.times(0, TraceEvent::SendRts).len(), 7);
    assert!(rig.times(0, TraceEvent::SendBlockAckRequest).is_empty(), "no packet was sent: the receiver holds nothing");
}

#[test]
fn an_mpdu_that_is_given_up_does_not_hold_back_those_after_it() {
    // One attempt each. The broadcast hits the first MPDU; a request then moves the receiver's window over it.
    let mut rig = Rig::new(ht(&hidden(), |radio| radio.short_retry_limit = 1));
    three_at(&mut rig, 2 * MS);
    rig.arrive_at(2 * MS + 60 * US, 2, broadcast(9, 20)); // until 164 us
    rig.run(20 * MS);
    assert_eq!(rig.done(0), [(1, 1, None), (2, 1, None), (0, 1, Some(Failure::Data))]);
    assert_eq!(rig.times(0, TraceEvent::SendBlockAckRequest).len(), 1);
    assert_eq!(delivered(&rig, 1), [(0, 1), (0, 2)]);
}

#[test]
fn under_collisions_each_packet_ends_once_and_arrives_in_order() {
    for (preset, edca, rts, seed) in (0..24).map(|seed| {
        let preset = if seed % 2 == 0 { Preset::Standard } else { Preset::Sinr };
        (preset, seed % 3 == 0, seed % 4 == 0, seed)
    }) {
        let mut config = ht(&hidden(), |radio| {
            radio.preset = preset;
            radio.edca = edca;
            radio.queue_pkts = 400;
            radio.rts_threshold_bytes = if rts { 0 } else { u32::MAX };
        });
        config.seed = seed;
        let mut rig = Rig::new(config);
        let packets = 120;
        for id in 0..packets {
            for sender in [0, 2] {
                rig.arrive_at(
                    2 * MS + Ns::from(id * 997 % 90) * 100 * US,
                    sender,
                    unicast(1000 * sender + id, 1, 40 + id * 11),
                );
            }
        }
        rig.run(3_000 * MS);
        for sender in [0, 2] {
            let mut done: Vec<u32> = rig.done(sender).into_iter().map(|(id, _, _)| id).collect();
            done.sort_unstable();
            assert_eq!(done, (0..packets).map(|id| 1000 * sender + id).collect::<Vec<_>>(), "seed {seed}");
            let arrived: Vec<u32> =
                delivered(&rig, 1).into_iter().filter(|&(from, _)| from == sender).map(|(_, id)| id).collect();
            let acknowledged: Vec<u32> =
                rig.done(sender).into_iter().filter(|(_, _, failure)| failure.is_none()).map(|(id, _, _)| id).collect();
            assert!(acknowledged.iter().all(|id| arrived.contains(id)), "seed {seed}: acknowledged means delivered");
            let order: Vec<Ns> = arrived.iter().map(|id| Ns::from(id % 1000 * 997 % 90)).collect();
            assert!(order.is_sorted(), "seed {seed}: in the order of arrival at the sender");
        }
    }
}
