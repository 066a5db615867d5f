//! Behaviour of ns-2 that its manual does not describe: ns-2.35, and in the second part ns-2.1b8a of 2001.
//! Data at 1 Mbit/s: a packet of b bytes takes 192 + 8 (b + 34) us.

use pacelab_air_config::Preset;
use pacelab_engine::{AirConfig, Failure, IdVec, StationId, TraceEvent};

use crate::{FAINT, FAIR, M1, MS, NEVER_RTS, Rig, STRONG, US, both_ways, broadcast, plain, tuned, unicast};

/// Station 0 is the receiver. Frames of 1, 2 and 3 reach only station 0.
fn to_the_receiver(powers: &[f64]) -> Rig {
    let links: Vec<_> = powers.iter().enumerate().map(|(i, &power_w)| (i as u32 + 1, 0, power_w)).collect();
    Rig::new(plain(Preset::Ns2, &links))
}

#[test]
fn a_frame_too_weak_to_decode_holds_the_lock_against_one_30_db_stronger() {
    let mut rig = to_the_receiver(&[FAINT, STRONG]);
    rig.start_at(5 * MS, 1, broadcast(1, 1000)); // until 13.464 ms
    rig.start_at(7 * MS, 2, broadcast(2, 100));
    rig.run(50 * MS);
    assert_eq!(rig.times(0, TraceEvent::Lock), [5 * MS]);
    assert_eq!(rig.times(0, TraceEvent::Collide), [7 * MS]);
    assert!(rig.received(0).is_empty());
}

#[test]
fn without_the_weak_frame_before_it_the_strong_one_is_received() {
    let mut rig = to_the_receiver(&[FAINT, STRONG]);
    rig.start_at(7 * MS, 2, broadcast(2, 100));
    rig.start_at(7 * MS + 10 * US, 1, broadcast(1, 1000));
    rig.run(50 * MS);
    assert_eq!(rig.received(0), [2]);
}

#[test]
fn a_captured_frame_sets_the_nav_to_its_airtime_and_eifs() {
    let mut rig = to_the_receiver(&[STRONG, FAIR]);
    rig.start_at(5 * MS, 1, broadcast(1, 500)); // 192 + 4272: until 9.464 ms
    rig.start_at(7 * MS, 2, broadcast(2, 100)); // 192 + 1072 = 1264 us
    rig.run(50 * MS);
    assert_eq!(rig.received(0), [1]);
    assert_eq!(rig.times(0, TraceEvent::Capture), [7 * MS]);
    assert_eq!(rig.seen(0, TraceEvent::Nav), [(7 * MS, 7 * MS + 1264 * US + 364 * US)]);
}

#[test]
fn ten_db_less_is_captured_and_a_little_more_destroys() {
    for (power_w, received) in [(STRONG / 10.0, vec![1]), (STRONG / 9.99, vec![])] {
        let mut rig = to_the_receiver(&[STRONG, power_w]);
        rig.start_at(5 * MS, 1, broadcast(1, 500));
        rig.start_at(7 * MS, 2, broadcast(2, 100));
        rig.run(50 * MS);
        assert_eq!(rig.received(0), received);
    }
}

#[test]
fn a_collision_lasts_as_long_as_the_longer_frame_then_eifs() {
    // (bytes of the first, bytes of the second, end): the first from 5 ms, the second from 7 ms
    for (first, second, end) in [(1000, 100, 13_464 * US), (500, 1000, 15_464 * US)] {
        let mut rig = to_the_receiver(&[FAIR, FAIR]);
        rig.start_at(5 * MS, 1, broadcast(1, first));
        rig.start_at(7 * MS, 2, broadcast(2, second));
        rig.run(50 * MS);
        assert!(rig.received(0).is_empty());
        assert_eq!(rig.times(0, TraceEvent::Garbled), [end]);
        assert_eq!(rig.seen(0, TraceEvent::Eifs), [(end, end + 364 * US)]);
    }
}

#[test]
fn the_longer_frame_of_a_collision_is_what_later_ones_are_compared_with() {
    // 2 is 5 dB above 1 and ends later; 3 is 10 dB below 2 but not below 1.
    let mut rig = to_the_receiver(&[3.0 * FAIR, 9.0 * FAIR, 0.9 * FAIR]);
    rig.start_at(5 * MS, 1, broadcast(1, 500));
    rig.start_at(6 * MS, 2, broadcast(2, 1000));
    rig.start_at(7 * MS, 3, broadcast(3, 100));
    rig.run(50 * MS);
    assert_eq!(rig.times(0, TraceEvent::Collide), [6 * MS]);
    assert_eq!(rig.times(0, TraceEvent::Capture), [7 * MS]);
}

/// Station 1 sends an RTS to station 0. Only station 0 hears stations 2 and 3.
fn with_rts(preset: Preset, others: &[(u32, f64)]) -> Rig {
    let mut links = both_ways(&[(0, 1, STRONG)]);
    links.extend(others.iter().map(|&(station, power_w)| (station, 0, power_w)));
    Rig::new(tuned(plain(preset, &links), |radio| radio.rts_threshold_bytes = 0))
}

#[test]
fn a_cts_is_refused_while_a_captured_frame_holds_the_nav() {
    let mut rig = with_rts(Preset::Ns2, &[(2, FAIR)]);
    rig.start_at(5 * MS, 1, unicast(1, 0, 100)); // RTS until 5.352
    rig.start_at(5 * MS + 100 * US, 2, broadcast(2, 2000)); // NAV until 5.1 + 16.464 + 0.364 ms
    rig.run(5 * MS + 400 * US);
    assert_eq!(rig.times(0, TraceEvent::RefuseCts), [5_362 * US]);
    assert!(rig.times(0, TraceEvent::SendCts).is_empty());
    rig.run(500 * MS);
    assert!(rig.times(0, TraceEvent::SendCts)[0] > 5_100 * US + 16_828 * US);
    assert_eq!(rig.received(0), [1]);
}

#[test]
fn a_cts_is_refused_during_eifs_and_sent_after_it() {
    // A faint frame ends at 5 ms; EIFS until 5.364. The CTS would leave 362 us after the RTS began.
    for (rts_at, refused) in [(5_001 * US, true), (5_003 * US, false)] {
        let mut rig = with_rts(Preset::Ns2, &[(2, FAINT)]);
        rig.start_at(5 * MS - 1264 * US, 2, broadcast(2, 100));
        rig.start_at(rts_at, 1, unicast(1, 0, 100));
        rig.run(rts_at + 363 * US);
        assert_eq!(rig.times(0, TraceEvent::Eifs), [5 * MS]);
        let (kept, given) = (rig.times(0, TraceEvent::RefuseCts), rig.times(0, TraceEvent::SendCts));
        assert_eq!((kept.len(), given.len()), if refused { (1, 0) } else { (0, 1) });
    }
}

#[test]
fn data_is_held_after_the_cts_when_the_medium_is_busy_without_counting_a_retry() {
    // Only 1 hears 2, weakly: the CTS (5.362 to 5.666 ms) survives, but the frame of 2 sets the NAV of 1.
    let mut beyond_30 = 0;
    for seed in 1..=40 {
        let mut links = both_ways(&[(0, 1, STRONG)]);
        links.push((2, 1, FAIR));
        let mut rig =
            Rig::new(AirConfig { seed, ..tuned(plain(Preset::Ns2, &links), |radio| radio.rts_threshold_bytes = 0) });
        rig.start_at(5 * MS, 1, unicast(1, 0, 100));
        rig.start_at(5_500 * US, 2, broadcast(2, 100));
        rig.run(500 * MS);
        assert_eq!(rig.times(1, TraceEvent::HoldData), [5_676 * US]);
        assert!(rig.times(1, TraceEvent::Retry).is_empty());
        assert_eq!(rig.done(1), [(1, 2, None)]); // two RTSs, one data
        assert_eq!(rig.times(1, TraceEvent::SendData).len(), 1);
        let slots = rig.seen(1, TraceEvent::Backoff)[1].1;
        assert!(slots <= 62, "CW 63: 0..=62");
        beyond_30 += usize::from(slots > 30);
    }
    // Half of CW 63's range lies beyond CW 31's: 20 +- 3.2 of 40.
    assert!((10..=30).contains(&beyond_30), "{beyond_30}");
}

#[test]
fn eifs_is_held_as_nav_and_a_good_frame_does_not_end_it() {
    // 1 sends data to 2; the ACK from 2 is the good frame that 0 hears, 20 us after the faint frame of 3 ended.
    let mut links = both_ways(&[(1, 2, STRONG)]);
    links.extend([(2, 0, STRONG), (3, 0, FAINT)]);
    let mut rig = Rig::new(plain(Preset::Ns2, &links));
    rig.start_at(5 * MS, 1, unicast(1, 2, 100)); // until 6.264, ACK from 6.274 to 6.578
    rig.start_at(6_254 * US - 1264 * US, 3, broadcast(3, 100));
    rig.arrive_at(6 * MS, 0, broadcast(4, 100));
    rig.run(50 * MS);
    assert_eq!(rig.times(0, TraceEvent::Decode), [6_578 * US]);
    let slots = rig.seen(0, TraceEvent::Backoff)[0].1;
    // EIFS 6.254 + 0.364, then DIFS
    assert_eq!(rig.times(0, TraceEvent::SendData), [6_618 * US + 50 * US + slots * 20 * US]);
}

/// 1 sends to 0 with RTS. Only 0 hears 2, which destroys each data frame and then blocks the RTSs for a long time.
fn lose_data_then_rts(data_losses: u64, block: bool) -> Rig {
    let links = [(0, 1, STRONG), (1, 0, STRONG), (2, 0, STRONG)];
    let mut rig = Rig::new(tuned(plain(Preset::Ns2, &links), |radio| radio.rts_threshold_bytes = 0));
    rig.start_at(5 * MS, 1, unicast(1, 0, 1500));
    rig.arrive_at(1_200 * MS, 1, unicast(2, 0, 1500));
    let (mut seen, mut blocked) = (0, false);
    rig.run_with(3_000 * MS, |air, now| {
        let (sent, failed) = (air.counters(now, StationId(1)).data_sent, air.counters(now, StationId(1)).data_failures);
        if sent > seen && (seen < data_losses || blocked) {
            air.enqueue(now, StationId(2), broadcast(90, 100), false).unwrap(); // 2 waits 670 us at most; data lasts 12 ms
        }
        seen = sent;
        if block && failed == data_losses && !blocked {
            blocked = true;
            air.enqueue(now, StationId(2), broadcast(91, 100_000), false).unwrap(); // 800 ms
        }
    });
    rig
}

#[test]
fn data_after_rts_is_tried_4_times() {
    let rig = lose_data_then_rts(4, false);
    assert_eq!(rig.done(1), [(1, 4, Some(Failure::Data)), (2, 1, None)]);
    assert_eq!(rig.times(1, TraceEvent::SendData).len(), 5);
    let three = lose_data_then_rts(3, false);
    assert_eq!(three.done(1), [(1, 4, None), (2, 1, None)]);
}

#[test]
fn the_long_counter_survives_an_rts_drop_into_the_next_packet() {
    // Three data losses, then seven RTSs without answer: dropped with the long counter at 3. The next packet's first
    // data loss is the fourth.
    let rig = lose_data_then_rts(3, true);
    let done = rig.done(1);
    assert_eq!((done[0].0, done[0].2), (1, Some(Failure::Rts)));
    assert_eq!(done[0].1, 3 + 7);
    assert_eq!((done[1].0, done[1].2), (2, Some(Failure::Data)));
    assert_eq!(rig.times(1, TraceEvent::SendData).len(), 3 + 1);
}

#[test]
fn a_missing_response_is_given_up_4_us_after_its_end() {
    let links = [(0, 1, STRONG)];
    // RTS 352 + SIFS 10 + CTS 304 + 4; data 1264 + SIFS 10 + ACK 304 + 4
    for (rts_threshold_bytes, wait) in [(0, 670 * US), (u32::MAX, 1582 * US)] {
        let mut rig =
            Rig::new(tuned(plain(Preset::Ns2, &links), |radio| radio.rts_threshold_bytes = rts_threshold_bytes));
        rig.start_at(5 * MS, 0, unicast(1, 2, 100));
        rig.run(50 * MS);
        assert_eq!(rig.times(0, TraceEvent::Retry)[0], 5 * MS + wait);
    }
}

// Behaviour of ns-2.1b8a of 2001 that ns-2.35 does not have. All at 2 Mbit/s, 4 us a byte, 24 bytes of preamble and
// header: RTS 176, CTS and ACK 152, a packet of 100 bytes 4 (24 + 28 + 100) = 608 us; EIFS 10 + 248 + 50 = 308.

fn of_2001(rate_bps: u32, links: &[(u32, u32, f64)]) -> AirConfig {
    let config = plain(Preset::Ns2Of2001, links);
    let rates = IdVec::filled(rate_bps, config.data_rates_bps.len());
    let config = tuned(config, |radio| {
        (radio.basic_rate_bps, radio.data_rate_bps, radio.rts_threshold_bytes) = (rate_bps, rate_bps, 0);
    });
    AirConfig { data_rates_bps: rates, ..config }
}

#[test]
fn a_packet_on_an_idle_medium_waits_difs_alone_and_data_another_after_the_cts() {
    let mut rig = Rig::new(of_2001(2 * M1, &both_ways(&[(0, 1, STRONG)])));
    rig.arrive_at(5 * MS, 1, unicast(1, 0, 100));
    rig.run(50 * MS);
    assert_eq!(rig.times(1, TraceEvent::SendRts), [5_050 * US]);
    assert_eq!(rig.times(0, TraceEvent::SendCts), [5_236 * US]);
    assert_eq!(rig.times(1, TraceEvent::SendData), [5_438 * US]);
    assert_eq!(rig.times(0, TraceEvent::SendAck), [6_056 * US]);
    assert_eq!(rig.times(1, TraceEvent::Backoff), [6_208 * US]);
    assert_eq!(rig.done(1), [(1, 1, None)]);
}

#[test]
fn a_busy_medium_does_not_stop_that_wait_and_doubles_the_window_at_its_end() {
    let mut most_slots = 0;
    for seed in 1..=40 {
        let links = [(1, 0, STRONG), (0, 1, STRONG), (2, 1, STRONG)];
        let mut rig = Rig::new(AirConfig { seed, ..of_2001(2 * M1, &links) });
        rig.arrive_at(4_980 * US, 2, broadcast(2, 100)); // from 5.030 to 5.638 ms
        rig.arrive_at(5 * MS, 1, unicast(1, 0, 100));
        rig.run(50 * MS);
        let (drawn_at, slots) = rig.seen(1, TraceEvent::Backoff)[0];
        assert_eq!(drawn_at, 5_050 * US);
        assert_eq!(rig.times(1, TraceEvent::SendRts)[0], 5_638 * US + 50 * US + slots * 20 * US);
        assert!(rig.times(1, TraceEvent::Retry).is_empty());
        most_slots = most_slots.max(slots);
    }
    assert!((31..63).contains(&most_slots)); // of 0..62
}

#[test]
fn a_packet_that_comes_in_the_sifs_before_a_cts_waits_for_the_exchange_and_difs() {
    let mut rig = Rig::new(of_2001(2 * M1, &both_ways(&[(0, 1, STRONG)])));
    rig.arrive_at(5 * MS, 1, unicast(1, 0, 100)); // its RTS ends at 5.226 ms
    rig.arrive_at(5_230 * US, 0, unicast(2, 1, 100));
    rig.run(6_300 * US);
    assert_eq!(rig.times(0, TraceEvent::SendAck), [6_056 * US]); // until 6.208
    assert_eq!(rig.times(0, TraceEvent::SendRts), [6_258 * US]);
    assert!(rig.times(0, TraceEvent::Backoff).is_empty());
}

#[test]
fn seven_rtss_go_unanswered_and_one_data_frame_more_than_the_limit() {
    // An RTS waits 10 + 152 + 10 us after its end, data 10 + 152 + 50.
    for (threshold, sent, tries, waited, failure) in [
        (0, TraceEvent::SendRts, 7, 176 + 172, Failure::Rts),
        (NEVER_RTS, TraceEvent::SendData, 8, 608 + 212, Failure::Data),
    ] {
        let config = tuned(of_2001(2 * M1, &[(1, 0, FAINT)]), |radio| radio.rts_threshold_bytes = threshold);
        let mut rig = Rig::new(config);
        rig.arrive_at(5 * MS, 1, unicast(1, 0, 100));
        rig.run(500 * MS);
        assert_eq!(rig.times(1, sent).len(), tries);
        assert_eq!(rig.times(1, TraceEvent::Backoff)[0], 5_050 * US + waited * US);
        assert_eq!(rig.done(1), [(1, tries as u32, Some(failure))]);
    }
}

#[test]
fn eifs_is_rounded_up_to_whole_microseconds() {
    // At 5.5 Mbit/s 62 bytes are 90.18 us, so 150.18; the frame 24 + 28 + 168 bytes, 320 us.
    for (rate_bps, airtime, eifs) in [(2 * M1, 880, 308), (5_500_000, 320, 151)] {
        let mut rig = Rig::new(of_2001(rate_bps, &[(1, 0, FAINT)]));
        rig.arrive_at(5 * MS, 1, broadcast(1, 168));
        rig.run(50 * MS);
        let end = 5_050 * US + airtime * US;
        assert_eq!(rig.seen(0, TraceEvent::Eifs), [(end, end + eifs * US)]);
    }
}
