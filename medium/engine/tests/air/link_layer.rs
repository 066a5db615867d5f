//! Behaviour that all presets share: attempts, queue, broadcasts, duplicates, rates, the link matrix. The second part
//! covers the standard as written, where ns-2 differs.

use pacelab_air_config::Preset;
use pacelab_engine::{AirConfig, Failure, IdVec, StationId, TraceEvent};

use crate::{FAINT, FAIR, M1, MS, NEVER_RTS, Rig, STRONG, US, both_ways, broadcast, plain, tuned, unicast, voice};

const PRESETS: [Preset; 2] = [Preset::Ns2, Preset::Standard];

#[test]
fn an_rts_and_data_without_rts_are_tried_7_times() {
    for preset in PRESETS {
        let cases = [(0, Failure::Rts, TraceEvent::SendRts), (NEVER_RTS, Failure::Data, TraceEvent::SendData)];
        for (rts_threshold_bytes, failure, sent) in cases {
            let mut rig = Rig::new(tuned(plain(preset, &[(0, 2, STRONG)]), |radio| {
                radio.rts_threshold_bytes = rts_threshold_bytes
            }));
            rig.start_at(5 * MS, 0, unicast(1, 1, 500)); // 1 hears nothing
            rig.run(2_000 * MS);
            assert_eq!(rig.done(0), [(1, 7, Some(failure))]);
            assert!(rig.records.iter().all(|record| record.what != sent || record.peer == Some(StationId(1))));
            assert_eq!(rig.times(0, sent).len(), 7);
            assert_eq!(rig.times(0, TraceEvent::Retry).len(), 6);
        }
    }
}

#[test]
fn frames_of_the_threshold_use_rts_and_smaller_ones_do_not() {
    // 500 B and 34 B around it; 28 + 8 in the standard
    for (preset, frame_bytes) in [(Preset::Ns2, 534), (Preset::Standard, 536)] {
        for (threshold, rts) in [(frame_bytes, 1), (frame_bytes + 1, 0)] {
            let links = both_ways(&[(0, 1, STRONG)]);
            let mut rig = Rig::new(tuned(plain(preset, &links), |radio| radio.rts_threshold_bytes = threshold));
            rig.start_at(5 * MS, 0, unicast(1, 1, 500));
            rig.run(100 * MS);
            assert_eq!((rig.times(0, TraceEvent::SendRts).len(), rig.received(1)), (rts, vec![1]));
        }
    }
}

#[test]
fn the_interface_queue_holds_50_and_drops_the_last() {
    for preset in PRESETS {
        let mut rig = Rig::new(plain(preset, &both_ways(&[(0, 1, STRONG)])));
        let taken: Vec<u32> =
            (0..60).filter(|&id| rig.air.enqueue(0, StationId(0), unicast(id, 1, 100), false).is_ok()).collect();
        assert_eq!(taken, (0..51).collect::<Vec<u32>>()); // one in service
        assert_eq!(rig.air.enqueue(0, StationId(0), unicast(60, 1, 100), false), Err(unicast(60, 1, 100)));
        // A routing packet goes before all others and displaces the last one.
        assert_eq!(rig.air.enqueue(0, StationId(0), unicast(61, 1, 100), true), Err(unicast(50, 1, 100)));
        rig.run(1_000 * MS);
        assert_eq!(rig.received(1)[..3], [0, 61, 1]);
        assert_eq!(rig.received(1).len(), 51);
        assert_eq!(rig.seen(0, TraceEvent::DropQueue).len(), 9 + 1 + 1);
    }
}

#[test]
fn voice_goes_first_in_its_own_order_and_the_others_give_way() {
    for preset in PRESETS {
        let links = both_ways(&[(0, 1, STRONG)]);
        let mut rig = Rig::new(tuned(plain(preset, &links), |radio| (radio.voice_first, radio.queue_pkts) = (true, 4)));
        // 0 is served at once; 1 and 2 wait, 10 and 11 pass them; 12 and 13 push out 2, then 1
        for id in 0..3 {
            rig.air.enqueue(0, StationId(0), unicast(id, 1, 100), false).unwrap();
        }
        for id in [10, 11] {
            rig.air.enqueue(0, StationId(0), voice(id, 1, 100), false).unwrap();
        }
        assert_eq!(rig.air.enqueue(0, StationId(0), unicast(3, 1, 100), false), Err(unicast(3, 1, 100)));
        assert_eq!(rig.air.enqueue(0, StationId(0), voice(12, 1, 100), false), Err(unicast(2, 1, 100)));
        assert_eq!(rig.air.enqueue(0, StationId(0), voice(13, 1, 100), false), Err(unicast(1, 1, 100)));
        assert_eq!(rig.air.enqueue(0, StationId(0), voice(14, 1, 100), false), Err(voice(14, 1, 100)));
        rig.run(1_000 * MS);
        assert_eq!(rig.received(1), [0, 10, 11, 12, 13]);
    }
}

#[test]
fn voice_waits_its_turn_where_it_has_no_priority() {
    let mut rig = Rig::new(plain(Preset::Standard, &both_ways(&[(0, 1, STRONG)])));
    for packet in [unicast(0, 1, 100), unicast(1, 1, 100), voice(10, 1, 100)] {
        rig.air.enqueue(0, StationId(0), packet, false).unwrap();
    }
    rig.run(1_000 * MS);
    assert_eq!(rig.received(1), [0, 1, 10]);
}

#[test]
fn a_broadcast_is_sent_once_at_the_basic_rate_and_not_acknowledged() {
    for (preset, airtime_us) in [(Preset::Ns2, 192 + 134 * 8), (Preset::Standard, 192 + 136 * 8)] {
        let links = [(0, 1, STRONG), (0, 2, STRONG), (0, 3, FAINT)];
        let mut rig = Rig::new(AirConfig {
            data_rates_bps: IdVec::filled(11 * M1, 4),
            ..tuned(plain(preset, &links), |radio| radio.rts_threshold_bytes = 0)
        });
        rig.start_at(5 * MS, 0, broadcast(1, 100));
        rig.run(100 * MS);
        assert_eq!((rig.received(1), rig.received(2), rig.received(3)), (vec![1], vec![1], vec![]));
        assert_eq!(rig.seen(0, TraceEvent::SendData), [(5 * MS, airtime_us * US)]);
        let record = rig.records.iter().find(|record| record.what == TraceEvent::SendData);
        assert_eq!(record.map(|record| record.peer), Some(None), "a broadcast has no receiver");
        assert_eq!(rig.done(0), [(1, 1, None)]);
        assert!((1..4).all(|station| rig.times(station, TraceEvent::SendAck).is_empty()));
    }
}

#[test]
fn repeats_are_acknowledged_but_delivered_once() {
    for preset in PRESETS {
        let mut rig = Rig::new(plain(preset, &[(0, 1, STRONG)])); // no ACK comes back
        rig.start_at(5 * MS, 0, unicast(1, 1, 100));
        rig.arrive_at(6 * MS, 0, unicast(2, 1, 100));
        rig.run(3_000 * MS);
        assert_eq!(rig.times(1, TraceEvent::Decode).len(), 14);
        assert_eq!(rig.times(1, TraceEvent::SendAck).len(), 14);
        assert_eq!(rig.received(1), [1, 2]);
    }
}

#[test]
fn each_link_has_its_own_rate() {
    let links = both_ways(&[(0, 1, STRONG), (0, 2, STRONG), (1, 2, STRONG)]);
    let mut rig = Rig::new(AirConfig {
        data_rates_bps: vec![11 * M1, 2 * M1, M1].into(),
        link_rates_bps: vec![(StationId(0), StationId(2), 2 * M1)],
        ..plain(Preset::Ns2, &links)
    });
    rig.start_at(5 * MS, 0, unicast(1, 1, 516)); // 550 B: 192 + 400 us at 11 Mbit/s
    rig.arrive_at(20 * MS, 0, unicast(2, 2, 516)); // 192 + 2200
    rig.start_at(40 * MS, 1, unicast(3, 0, 516)); // the sender's own rate: 192 + 2200
    rig.start_at(60 * MS, 2, unicast(4, 0, 516)); // 192 + 4400
    rig.run(100 * MS);
    let airtimes = |station| rig.seen(station, TraceEvent::SendData).iter().map(|&(_, ns)| ns / US).collect::<Vec<_>>();
    assert_eq!((airtimes(0), airtimes(1), airtimes(2)), (vec![592, 2392], vec![2392], vec![4392 + 200]));
}

#[test]
fn the_matrix_determines_decoding_and_sensing_in_each_direction() {
    let links = [(0, 1, 3.652e-10), (0, 2, 3.651e-10), (0, 3, 1.559e-11), (0, 4, 1.558e-11), (4, 0, STRONG)];
    for preset in PRESETS {
        let mut rig = Rig::new(plain(preset, &links));
        rig.start_at(5 * MS, 0, broadcast(1, 100));
        rig.start_at(20 * MS, 4, broadcast(2, 100));
        rig.run(50 * MS);
        let locks: Vec<usize> = (0..5).map(|station| rig.times(station, TraceEvent::Lock).len()).collect();
        assert_eq!(locks, [1, 1, 1, 1, 0]);
        let received: Vec<Vec<u32>> = (0..5).map(|station| rig.received(station)).collect();
        assert_eq!(received, [vec![2], vec![1], vec![], vec![], vec![]]);
    }
}

#[test]
fn a_bystander_holds_the_nav_that_the_rts_announces() {
    // 3 SIFS + CTS 304 + data 192 + 8 (100 + 34) + ACK 304
    let links = both_ways(&[(0, 1, STRONG), (0, 2, STRONG)]);
    let mut rig = Rig::new(tuned(plain(Preset::Ns2, &links), |radio| radio.rts_threshold_bytes = 0));
    rig.start_at(5 * MS, 0, unicast(1, 1, 100));
    rig.run(50 * MS);
    let rts_end = 5_352 * US;
    assert_eq!(rig.seen(2, TraceEvent::Nav)[0], (rts_end, rts_end + (30 + 304 + 1264 + 304) * US));
}

#[test]
fn an_extra_backoff_follows_a_delivered_frame_and_no_other() {
    for preset in PRESETS {
        let starts = |links: &[(u32, u32, f64)], slots: u32| {
            let mut rig = Rig::new(plain(preset, links));
            rig.air.set_extra_backoff(StationId(0), slots, false);
            rig.start_at(5 * MS, 0, unicast(1, 1, 100));
            rig.arrive_at(5 * MS + US, 0, unicast(2, 1, 100));
            rig.run(2_000 * MS);
            rig.times(0, TraceEvent::SendData)
        };
        // Delivered: the second frame starts 100 slots of 20 us later, the first one at the usual time.
        let heard = both_ways(&[(0, 1, STRONG)]);
        let (plainly, longer) = (starts(&heard, 0), starts(&heard, 100));
        assert_eq!(longer, [plainly[0], plainly[1] + 2 * MS]);
        // Never acknowledged: neither the retries nor the next frame come later.
        let unheard = [(0, 2, STRONG)];
        assert_eq!(starts(&unheard, 0).len(), 14);
        assert_eq!(starts(&unheard, 0), starts(&unheard, 100));
    }
}

#[test]
fn an_extra_backoff_by_the_clock_passes_on_a_busy_medium_too() {
    for preset in PRESETS {
        let second = |slots: u32, wall_clock: bool, between: bool| {
            let mut rig = Rig::new(plain(preset, &both_ways(&[(0, 1, STRONG), (0, 2, STRONG), (1, 2, STRONG)])));
            rig.air.set_extra_backoff(StationId(0), slots, wall_clock);
            rig.start_at(5 * MS, 0, unicast(1, 1, 100));
            rig.arrive_at(5 * MS + US, 0, unicast(2, 1, 100));
            if between {
                rig.start_at(12 * MS, 2, unicast(3, 1, 100));
            }
            rig.run(200 * MS);
            rig.times(0, TraceEvent::SendData)[1]
        };
        let plainly = second(0, false, false);
        for wall_clock in [false, true] {
            assert_eq!(second(1000, wall_clock, false), plainly + 20 * MS); // 1000 slots of 20 us
        }
        assert_eq!(second(1000, true, true), plainly + 20 * MS);
        assert!(second(1000, false, true) > plainly + 20 * MS + MS); // the frame at 12 ms, longer than 1 ms, is waited for
    }
}

// IEEE 802.11 as written, where ns-2 differs. Data at 1 Mbit/s: a packet of b bytes takes 192 + 8 (b + 36) us.

#[test]
fn a_packet_that_finds_the_medium_idle_for_difs_leaves_at_once() {
    // Idle since 0: at 20 us the remaining 30 us of DIFS pass first.
    for (arrives, leaves) in [(20 * US, 50 * US), (50 * US, 50 * US), (5 * MS, 5 * MS)] {
        let mut rig = Rig::new(plain(Preset::Standard, &[(0, 1, STRONG)]));
        rig.arrive_at(arrives, 0, broadcast(1, 100));
        rig.run(50 * MS);
        assert_eq!(rig.times(0, TraceEvent::SendData), [leaves]);
        // The backoff after it is drawn when it has been sent, not before.
        assert_eq!(rig.times(0, TraceEvent::Backoff), [leaves + (192 + 8 * 136) * US]);
    }
}

#[test]
fn a_packet_that_finds_the_medium_busy_waits_difs_and_a_backoff() {
    let mut rig = Rig::new(plain(Preset::Standard, &[(1, 0, STRONG)]));
    rig.start_at(5 * MS, 1, broadcast(1, 100)); // until 6.280
    rig.arrive_at(6 * MS, 0, broadcast(2, 100));
    rig.run(50 * MS);
    let slots = rig.seen(0, TraceEvent::Backoff)[0].1;
    assert_eq!(rig.times(0, TraceEvent::SendData), [6_280 * US + 50 * US + slots * 20 * US]);
}

#[test]
fn a_garbled_frame_is_followed_by_eifs() {
    let mut rig = Rig::new(plain(Preset::Standard, &[(1, 0, FAINT)]));
    rig.start_at(5 * MS, 1, broadcast(1, 100));
    rig.arrive_at(6 * MS, 0, broadcast(2, 100));
    rig.run(50 * MS);
    let slots = rig.seen(0, TraceEvent::Backoff)[0].1;
    assert_eq!(rig.times(0, TraceEvent::SendData), [6_280 * US + 364 * US + slots * 20 * US]);
}

#[test]
fn a_good_frame_ends_eifs() {
    // As ns-2's scene of the same name: 0 hears a faint frame of 3, then the ACK from 2.
    let mut links = both_ways(&[(1, 2, STRONG)]);
    links.extend([(2, 0, STRONG), (3, 0, FAINT)]);
    let mut rig = Rig::new(plain(Preset::Standard, &links));
    rig.start_at(5 * MS, 1, unicast(1, 2, 98)); // 1264 us: until 6.264, ACK from 6.274 to 6.578
    rig.start_at(6_254 * US - 1264 * US, 3, broadcast(3, 98));
    rig.arrive_at(6 * MS, 0, broadcast(4, 98));
    rig.run(50 * MS);
    assert_eq!(rig.times(0, TraceEvent::Decode), [6_578 * US]);
    let slots = rig.seen(0, TraceEvent::Backoff)[0].1;
    assert_eq!(rig.times(0, TraceEvent::SendData), [6_578 * US + 50 * US + slots * 20 * US]);
}

/// Station 1 sends an RTS to station 0. Only station 0 hears station 2.
fn with_rts(power_w: f64) -> Rig {
    let mut links = both_ways(&[(0, 1, STRONG)]);
    links.push((2, 0, power_w));
    Rig::new(tuned(plain(Preset::Standard, &links), |radio| radio.rts_threshold_bytes = 0))
}

#[test]
fn a_cts_asks_the_nav_alone_not_the_energy_on_the_air() {
    // The frame of 2 begins during the RTS, which survives, and ends after it. ns-2 sends no CTS here.
    let mut rig = with_rts(FAIR);
    rig.start_at(5 * MS, 1, unicast(1, 0, 100));
    rig.start_at(5 * MS + 100 * US, 2, broadcast(2, 2000));
    rig.run(50 * MS);
    assert_eq!(rig.times(0, TraceEvent::SendCts), [5_362 * US]);
    assert!(rig.times(0, TraceEvent::RefuseCts).is_empty());
    assert_eq!(rig.received(0), [1]);
}

#[test]
fn a_cts_is_refused_while_the_nav_is_set() {
    // 2 sends an RTS to 3 until 5.352; 0 overhears the CTS, from 5.362 to 5.666, and so holds its NAV for
    // SIFS, data of 192 + 8 * 1036, SIFS and the ACK more.
    let mut links = both_ways(&[(0, 1, STRONG), (2, 3, STRONG)]);
    links.push((3, 0, STRONG));
    let mut rig = Rig::new(tuned(plain(Preset::Standard, &links), |radio| radio.rts_threshold_bytes = 0));
    rig.start_at(5 * MS, 2, unicast(2, 3, 1000));
    rig.start_at(6 * MS, 1, unicast(1, 0, 100));
    rig.run(7 * MS);
    let nav_until = (5_666 + 10 + 192 + 8 * 1036 + 10 + 304) * US;
    assert_eq!(rig.seen(0, TraceEvent::Nav), [(5_666 * US, nav_until)]);
    assert_eq!(rig.times(0, TraceEvent::RefuseCts), [6_362 * US]);
}

#[test]
fn interference_adds_up() {
    // Each interferer alone is 11.8 dB (a factor of 15) below the frame, both together 8.8 dB.
    for (preset, second, received) in [
        (Preset::Standard, FAIR / 15.0, vec![]),
        (Preset::Standard, FAIR / 40.0, vec![1]), // 1/15 + 1/40 = 1/10.9
        (Preset::Ns2, FAIR / 15.0, vec![1]),      // pairwise
    ] {
        let mut rig = Rig::new(plain(preset, &[(1, 0, FAIR), (2, 0, FAIR / 15.0), (3, 0, second)]));
        rig.start_at(5 * MS, 1, broadcast(1, 1000));
        rig.start_at(6 * MS, 2, broadcast(2, 500));
        rig.start_at(7 * MS, 3, broadcast(3, 100));
        rig.run(50 * MS);
        assert_eq!(rig.received(0), received);
    }
}

#[test]
fn a_missing_ack_is_noticed_after_sifs_a_slot_and_the_preamble() {
    let mut rig = Rig::new(plain(Preset::Standard, &[(0, 1, STRONG)]));
    rig.start_at(5 * MS, 0, unicast(1, 2, 98));
    rig.run(50 * MS);
    // data 1264, then 10 + 20 + 192
    assert_eq!(rig.times(0, TraceEvent::Retry)[0], 5 * MS + (1264 + 222) * US);
}
