//! Each rule in which the presets differ, one table a rule: expected times and counts for `ns2`, `ns2-2001`, `standard`
//! and `sinr`, in this order, computed by hand.
//!
//! Sources: IEEE 802.11-2016 Sec. 10.3.2.4 (NAV), 10.3.2.3.7 (EIFS), 10.3.2.7 and 10.3.2.9 (CTS and ACK procedure);
//! ns-2.35's mac-802_11.cc (`recv_timer`, `capture`, `check_pktCTRL`, `check_pktTx`, `recvRTS`) and `PHY_MIB` for
//! `ns2`; the same file of ns-2.1b8a for `ns2-2001`.
//!
//! All frames at 1 Mbit/s unless a test says otherwise:
//!
//! ```text
//! RTS 192 + 8 * 20 = 352   CTS, ACK 192 + 8 * 14 = 304   SIFS 10   slot 20   DIFS 50
//! EIFS 10 + 304 + 50 = 364; ns2-2001 counts the preamble of its ACK twice: 10 + 8 * (14 + 24 + 24) + 50 = 556
//! data of 100 bytes with the headers of each preset: 192 + 8 * 134 = 1264, 1216, 1280, 1280
//! ```

use pacelab_air_config::{PhyKind, Preset};
use pacelab_engine::{
    Air, AirConfig, Failure, IdVec, Ns, Overlap, Packet, ResponseTimeout, Rules, StationId, Stream, TraceEvent,
};

use crate::{FAINT, FAIR, M1, MS, NEVER_RTS, Rig, STRONG, US, both_ways, broadcast, matrix, plain, tuned, unicast};

const PRESETS: [Preset; 4] = [Preset::Ns2, Preset::Ns2Of2001, Preset::Standard, Preset::Sinr];

/// Airtime of a packet of 100 bytes, us.
const DATA_US: [Ns; 4] = [1264, 1216, 1280, 1280];

/// Runs `check` with each preset and its place in the tables.
fn each(mut check: impl FnMut(usize, Preset)) {
    PRESETS.into_iter().enumerate().for_each(|(place, preset)| check(place, preset));
}

fn with_rts(preset: Preset, links: &[(u32, u32, f64)]) -> AirConfig {
    tuned(plain(preset, links), |radio| radio.rts_threshold_bytes = 0)
}

fn at_rate(config: AirConfig, phy: PhyKind, rate_bps: u32) -> AirConfig {
    let config = tuned(config, |radio| {
        (radio.phy, radio.basic_rate_bps, radio.data_rate_bps) = (phy, rate_bps, rate_bps);
    });
    AirConfig { data_rates_bps: IdVec::filled(rate_bps, config.data_rates_bps.len()), ..config }
}

#[test]
fn the_table_of_rules_is_the_one_written_here() {
    // A new rule does not compile here until it has a row, and it needs a test below.
    each(|place, preset| {
        let config = plain(preset, &[(0, 1, STRONG)]);
        let air = Air::new(config);
        let &Rules {
            phy,
            overhead_bytes,
            overlap,
            response_timeout,
            cw_inclusive,
            immediate_access,
            defer_timer,
            data_after_cts_ns,
            early_reset,
            more_data_attempts,
            eifs_as_nav,
            response_needs_idle,
            nav_unit: _, // `a_nav_is_...` below
            long_retries_survive,
            link_layer_delay_ns,
        } = air.rules();
        assert_eq!(
            (phy.slot_ns, phy.sifs_ns, phy.difs_ns(), phy.cw_min, phy.cw_max),
            (20_000, 10_000, 50_000, 31, 1023)
        );
        assert_eq!(phy.eifs_ns(), [364_000, 556_000, 364_000, 364_000][place]);
        assert_eq!(overhead_bytes, [34, 28, 36, 36][place]);
        let (pairwise, sum, model) = (Overlap::PairwiseFirstLock, Overlap::CumulativeSinr, Overlap::ErrorModel);
        assert_eq!(overlap, [pairwise, pairwise, sum, model][place]);
        let of_2001 = ResponseTimeout::Announced { cts_ns: 10_000, ack_ns: 50_000 };
        let (whole, start) = (ResponseTimeout::WholeResponse(4_000), ResponseTimeout::ReceptionStart);
        assert_eq!(response_timeout, [whole, of_2001, start, start][place]);
        assert_eq!(cw_inclusive, [false, false, true, true][place]);
        assert_eq!(immediate_access, [false, false, true, true][place]);
        assert_eq!(defer_timer, [false, true, false, false][place]);
        assert_eq!(data_after_cts_ns, [None, Some(50_000), None, None][place]);
        assert_eq!(early_reset, [false, true, false, false][place]);
        assert_eq!(more_data_attempts, [0, 1, 0, 0][place]);
        assert_eq!(eifs_as_nav, [true, true, false, false][place]);
        assert_eq!(response_needs_idle, [true, true, false, false][place]);
        assert_eq!(long_retries_survive, [true, true, false, false][place]);
        assert_eq!(link_layer_delay_ns, [25_000, 25_000, 0, 0][place]);
    });
}

#[test]
fn a_data_frame_lasts_as_long_as_the_headers_of_its_preset_say() {
    // 5.5 Mbit/s: 134 B 194.909 us, and 136 B 197.818 us, which the standard rounds up. 2001: the preamble too goes at
    // the data rate, 152 B 221.091 us.
    let at_5_5 = [192_000 + 194_909, 221_091, 192_000 + 198_000, 192_000 + 198_000];
    each(|place, preset| {
        for (rate_bps, airtime_ns) in [(M1, DATA_US[place] * US), (5_500_000, at_5_5[place])] {
            let mut rig = Rig::new(at_rate(plain(preset, &[(0, 1, STRONG)]), PhyKind::B, rate_bps));
            rig.start_at(5 * MS, 0, unicast(1, 1, 100));
            rig.run(6 * MS);
            assert_eq!(rig.seen(0, TraceEvent::SendData)[0], (5 * MS, airtime_ns), "{preset:?}");
        }
    });
}

#[test]
fn the_preset_determines_how_the_first_of_two_frames_holds_the_receiver() {
    // What station 0 receives: from a faint frame and then a strong one; from a frame and two interferers of a tenth
    // and a fifteenth of its power, each 10 dB weaker, both together 8 dB weaker.
    let after_faint: [&[u32]; 4] = [&[], &[], &[], &[2]];
    let with_two: [&[u32]; 4] = [&[1], &[1], &[], &[1]];
    each(|place, preset| {
        let mut rig = Rig::new(plain(preset, &[(1, 0, FAINT), (2, 0, STRONG)]));
        rig.start_at(5 * MS, 1, broadcast(1, 1000));
        rig.start_at(6 * MS, 2, broadcast(2, 100));
        rig.run(50 * MS);
        assert_eq!(rig.received(0), after_faint[place], "{preset:?}");
        let mut rig = Rig::new(plain(preset, &[(1, 0, FAIR), (2, 0, FAIR / 10.0), (3, 0, FAIR / 15.0)]));
        rig.start_at(5 * MS, 1, broadcast(1, 1000));
        rig.start_at(6 * MS, 2, broadcast(2, 500));
        rig.start_at(7 * MS, 3, broadcast(3, 100));
        rig.run(50 * MS);
        assert_eq!(rig.received(0), with_two[place], "{preset:?}");
    });
}

#[test]
fn a_missing_response_is_noticed_after_the_timeout_of_the_preset() {
    // From the end of the RTS or data to the retry. ns-2: SIFS, the response of 304 us and twice 2 us. 2001: SIFS, the
    // response, and 10 us for a CTS or DIFS for an ACK. Standard: SIFS, a slot and the preamble of 192 us.
    let (cts, ack) = ([318, 324, 222, 222], [318, 364, 222, 222]);
    each(|place, preset| {
        for (config, sent, wait_us) in [
            (with_rts(preset, &[(0, 1, STRONG)]), TraceEvent::SendRts, cts[place]),
            (plain(preset, &[(0, 1, STRONG)]), TraceEvent::SendData, ack[place]),
        ] {
            let mut rig = Rig::new(config);
            rig.start_at(5 * MS, 0, unicast(1, 1, 100)); // 1 is not heard
            rig.run(10 * MS);
            let (at, airtime_ns) = rig.seen(0, sent)[0];
            assert_eq!(rig.times(0, TraceEvent::Retry)[0], at + airtime_ns + wait_us * US, "{preset:?}");
        }
    });
}

#[test]
fn ofdm_has_the_timeouts_of_its_own_preamble() {
    // 6 Mbit/s, an ACK of 134 bits in 6 symbols: 44 us, and 6 us of silence behind it in 802.11g.
    // Standard: SIFS 16 + slot 9 + preamble 20; g: 10 + 9 + 20. ns-2: SIFS + ACK + 4.
    for (preset, phy, wait_us) in [
        (Preset::Standard, PhyKind::A, 45),
        (Preset::Standard, PhyKind::G, 39),
        (Preset::Ns2, PhyKind::A, 64),
        (Preset::Ns2, PhyKind::G, 64),
    ] {
        let mut rig = Rig::new(at_rate(plain(preset, &[(0, 1, STRONG)]), phy, 6 * M1));
        rig.arrive_at(5 * MS, 0, unicast(1, 1, 100));
        rig.run(10 * MS);
        let (at, airtime_ns) = rig.seen(0, TraceEvent::SendData)[0];
        assert_eq!(rig.times(0, TraceEvent::Retry)[0], at + airtime_ns + wait_us * US, "{preset:?} {phy:?}");
    }
}

#[test]
fn the_preset_determines_how_long_a_station_waits_for_data_after_its_cts() {
    // From the end of the CTS until the receiver is free again; then come DIFS and its backoff. ns-2: SIFS, the
    // announced data, twice 2 us. 2001: all that the CTS announces. The standard has no rule: as after an RTS, SIFS, a
    // slot and the preamble.
    let free_us = [10 + 1264 + 4, 10 + 1216 + 10 + 304, 222, 222];
    each(|place, preset| {
        let mut rig = Rig::new(with_rts(preset, &both_ways(&[(0, 1, STRONG)])));
        rig.start_at(5 * MS, 1, unicast(1, 0, 100));
        let mut cut = false;
        rig.run_with(20 * MS, |air, now| {
            if !cut && air.counters(now, StationId(0)).cts_sent == 1 {
                cut = true;
                air.set_propagation(matrix(&[(0, 1, STRONG)])); // the data is lost
                air.enqueue(now, StationId(0), broadcast(2, 100), false).unwrap();
            }
        });
        let (at, airtime_ns) = rig.seen(0, TraceEvent::SendCts)[0];
        let slots = rig.seen(0, TraceEvent::Backoff)[0].1;
        let expected = at + airtime_ns + (free_us[place] + 50 + 20 * slots) * US;
        assert_eq!(rig.times(0, TraceEvent::SendData)[0], expected, "{preset:?}");
    });
}

#[test]
fn the_preset_determines_when_a_packet_at_an_idle_medium_is_sent() {
    // ns-2: DIFS and a backoff of 0 to 30 slots. 2001: DIFS. Standard: at once, since DIFS has passed.
    each(|place, preset| {
        for seed in 1..=5 {
            let mut rig = Rig::new(AirConfig { seed, ..plain(preset, &[(0, 1, STRONG)]) });
            rig.arrive_at(5 * MS, 0, broadcast(1, 100));
            rig.run(10 * MS);
            let drawn = Stream::new(seed, 0).below(31);
            let wait_us = [50 + 20 * Ns::from(drawn), 50, 0, 0][place];
            assert_eq!(rig.times(0, TraceEvent::SendData)[0], 5 * MS + wait_us * US, "{preset:?}");
        }
    });
}

#[test]
fn a_packet_that_finds_the_medium_busy_draws_0_to_cw_or_one_less() {
    // And a medium that turns busy while DIFS passes stops all but the timer of 2001, which doubles the window: the
    // largest slot that is drawn, the packet coming 20 us before the frame, or in it.
    let (before, within) = ([30, 62, 0, 0], [30, 30, 31, 31]);
    each(|place, preset| {
        for (arrives_us, most) in [(4_980, before[place]), (5_500, within[place])] {
            let mut drawn = 0;
            for seed in 1..=200 {
                let mut rig = Rig::new(AirConfig { seed, ..plain(preset, &[(1, 0, STRONG)]) });
                rig.start_at(5 * MS, 1, broadcast(1, 100));
                rig.arrive_at(arrives_us * US, 0, broadcast(2, 100));
                rig.run(6 * MS);
                drawn = drawn.max(rig.seen(0, TraceEvent::Backoff).first().map_or(0, |&(_, slots)| slots));
            }
            assert_eq!(drawn, most, "{preset:?}");
        }
    });
}

#[test]
fn data_follows_its_cts_after_sifs_and_in_ns2_of_2001_after_difs() {
    each(|place, preset| {
        let mut rig = Rig::new(with_rts(preset, &both_ways(&[(0, 1, STRONG)])));
        rig.start_at(5 * MS, 0, unicast(1, 1, 100));
        rig.run(20 * MS);
        let (at, airtime_ns) = rig.seen(1, TraceEvent::SendCts)[0];
        let wait_us = [10, 50, 10, 10][place];
        assert_eq!(rig.times(0, TraceEvent::SendData), [at + airtime_ns + wait_us * US], "{preset:?}");
        assert_eq!(
            rig.times(1, TraceEvent::SendAck),
            [rig.times(0, TraceEvent::SendData)[0] + (DATA_US[place] + 10) * US]
        );
    });
}

#[test]
fn data_is_given_up_after_4_attempts_with_rts_and_7_without_and_one_more_in_2001() {
    each(|place, preset| {
        let mut rig = Rig::new(plain(preset, &[(0, 1, STRONG)]));
        rig.start_at(5 * MS, 0, unicast(1, 1, 100));
        rig.run(500 * MS);
        assert_eq!(rig.done(0), [(1, [7, 8, 7, 7][place], Some(Failure::Data))], "{preset:?}");
        let mut rig = Rig::new(with_rts(preset, &both_ways(&[(0, 1, STRONG)])));
        rig.start_at(5 * MS, 0, unicast(1, 1, 100));
        let mut heard = true;
        rig.run_with(500 * MS, |air, now| {
            // The data is lost each time: 1 does not hear 0 from the CTS to the end of the exchange.
            let hear = air.counters(now, StationId(1)).cts_sent == air.counters(now, StationId(0)).data_failures;
            if hear != heard {
                heard = hear;
                let links: &[_] = if hear { &[(0, 1, STRONG), (1, 0, STRONG)] } else { &[(1, 0, STRONG)] };
                air.set_propagation(matrix(links));
            }
        });
        assert_eq!(rig.done(0), [(1, [4, 5, 4, 4][place], Some(Failure::Data))], "{preset:?}");
    });
}

// The effect of each kind of reception on the countdown. Station 0 has a broadcast to send. The broadcast arrives while
// 0 hears the frame, so 0 draws a backoff. `countdown_starts` is the start of the broadcast minus the slots of this
// backoff.

fn countdown_starts(rig: &Rig) -> Ns {
    let slots = rig.seen(0, TraceEvent::Backoff)[0].1;
    rig.times(0, TraceEvent::SendData)[0] - slots * 20 * US
}

/// Sends frames towards station 0, each as (sender, start in us, packet), and cuts the link from 1 to 0 after the first
/// frame of 1. Station 0 gets its broadcast at `arrives_us`.
fn observe(config: AirConfig, frames: &[(u32, Ns, Packet)], arrives_us: Ns) -> Rig {
    let kept: Vec<_> = match &config.radio.propagation {
        pacelab_air_config::Propagation::Matrix { links, .. } => {
            links.iter().copied().filter(|&(from, to, _)| (from, to) != (1, 0)).collect()
        }
        _ => Vec::new(),
    };
    let mut rig = Rig::new(config);
    frames.iter().for_each(|&(station, at_us, packet)| rig.start_at(at_us * US, station, packet));
    rig.arrive_at(arrives_us * US, 0, broadcast(90, 100));
    let mut cut = false;
    rig.run_with(60 * MS, |air, now| {
        let sent = air.counters(now, StationId(1));
        if !cut && sent.rts_sent + sent.cts_sent + sent.data_sent + sent.ack_sent > 0 {
            cut = true;
            air.set_propagation(matrix(&kept));
        }
    });
    rig
}

#[test]
fn a_good_frame_for_all_or_for_the_station_leaves_difs() {
    each(|place, preset| {
        let end_us = 5_000 + DATA_US[place];
        let rig = observe(plain(preset, &[(1, 0, STRONG)]), &[(1, 5_000, broadcast(1, 100))], 5_500);
        assert_eq!(countdown_starts(&rig), (end_us + 50) * US, "{preset:?}");
        // Data for the station: the ACK after SIFS, then DIFS.
        let rig = observe(plain(preset, &both_ways(&[(0, 1, STRONG)])), &[(1, 5_000, unicast(1, 0, 100))], 5_500);
        assert_eq!(rig.times(0, TraceEvent::SendAck), [(end_us + 10) * US], "{preset:?}");
        assert_eq!(countdown_starts(&rig), (end_us + 10 + 304 + 50) * US, "{preset:?}");
    });
}

#[test]
fn a_good_frame_for_others_sets_the_nav_to_what_it_announces() {
    each(|place, preset| {
        let data_us = DATA_US[place];
        let waits = |rig: &Rig, end_us: Ns, nav_us: Ns| {
            assert_eq!(rig.seen(0, TraceEvent::Nav), [(end_us * US, (end_us + nav_us) * US)], "{preset:?}");
            assert_eq!(countdown_starts(rig), (end_us + nav_us + 50) * US, "{preset:?}");
        };
        let links = [(1, 0, STRONG), (1, 2, STRONG), (2, 1, STRONG)];
        // Data: SIFS and the ACK.
        let rig = observe(plain(preset, &links), &[(1, 5_000, unicast(1, 2, 100))], 5_500);
        waits(&rig, 5_000 + data_us, 10 + 304);
        // RTS: three SIFS, CTS, data, ACK.
        let rig = observe(with_rts(preset, &links), &[(1, 5_000, unicast(1, 2, 100))], 5_200);
        waits(&rig, 5_352, 30 + 304 + data_us + 304);
        // CTS: two SIFS, data, ACK.
        let rig = observe(with_rts(preset, &links), &[(2, 5_000, unicast(1, 1, 100))], 5_500);
        assert_eq!(rig.times(1, TraceEvent::SendCts), [5_362 * US]);
        waits(&rig, 5_666, 20 + data_us + 304);
        // ACK: nothing.
        let rig = observe(plain(preset, &links), &[(2, 5_000, unicast(1, 1, 100))], 5_000 + data_us + 100);
        assert_eq!(rig.times(0, TraceEvent::Decode), [(5_000 + data_us + 10 + 304) * US], "{preset:?}");
        assert!(rig.seen(0, TraceEvent::Nav).is_empty());
        assert_eq!(countdown_starts(&rig), (5_000 + data_us + 10 + 304 + 50) * US, "{preset:?}");
    });
}

#[test]
fn a_shorter_nav_does_not_replace_a_longer_one() {
    // The RTS of 1 announces its long exchange. Data of 2 for 4 ends within the NAV and announces 314 us.
    each(|place, preset| {
        let links = [(1, 0, STRONG), (1, 4, STRONG), (2, 0, STRONG)];
        let config = tuned(plain(preset, &links), |radio| radio.rts_threshold_bytes = 1000);
        let frames = [(1, 5_000, unicast(1, 3, 2000)), (2, 5_400, unicast(2, 4, 100))];
        let rig = observe(config, &frames, 5_200);
        let long_us = 192 + 8 * ([34, 28, 36, 36][place] + 2000);
        let until = (5_352 + 30 + 304 + long_us + 304) * US;
        let set: Vec<_> = rig.seen(0, TraceEvent::Nav).into_iter().filter(|&(at, _)| at < until).collect();
        assert_eq!(set, [(5_352 * US, until)], "{preset:?}");
        assert!(rig.times(0, TraceEvent::Decode).contains(&((5_400 + DATA_US[place]) * US)));
    });
}

#[test]
fn a_frame_that_cannot_be_decoded_leaves_eifs() {
    // ns-2: EIFS as a NAV, then DIFS: 364 + 50; 2001: 556 + 50. Standard: EIFS. `sinr` does not find the preamble of
    // such a frame: it is energy, then DIFS.
    let after_us = [414, 606, 364, 50];
    each(|place, preset| {
        let rig = observe(plain(preset, &[(1, 0, FAINT)]), &[(1, 5_000, broadcast(1, 100))], 5_500);
        assert_eq!(countdown_starts(&rig), (5_000 + DATA_US[place] + after_us[place]) * US, "{preset:?}");
    });
}

#[test]
fn a_collision_leaves_eifs_after_the_frame_that_was_being_received() {
    // The second frame, 10 dB stronger, comes 300 us after the first, when its preamble is over, and ends before it.
    let after_us = [414, 606, 364, 364];
    each(|place, preset| {
        let links = [(1, 0, FAIR), (2, 0, 10.0 * FAIR)];
        let frames = [(1, 5_000, broadcast(1, 100)), (2, 5_300, broadcast(2, 20))];
        let rig = observe(plain(preset, &links), &frames, 5_500);
        assert!(rig.received(0).is_empty());
        assert_eq!(rig.times(0, TraceEvent::Collide), [5_300 * US], "{preset:?}");
        assert_eq!(countdown_starts(&rig), (5_000 + DATA_US[place] + after_us[place]) * US, "{preset:?}");
    });
}

#[test]
fn a_captured_frame_sets_the_nav_in_ns2_and_is_energy_elsewhere() {
    // The weak frame starts 1000 us before the strong one ends. ns-2: NAV from its start for its airtime and EIFS.
    // Else: DIFS after its end.
    let after_us = [1264 + 364 + 50, 1216 + 556 + 50, 1280 + 50, 1280 + 50];
    each(|place, preset| {
        let weak_us = 5_000 + DATA_US[place] - 1_000;
        let frames = [(1, 5_000, broadcast(1, 100)), (2, weak_us, broadcast(2, 100))];
        let rig = observe(plain(preset, &[(1, 0, STRONG), (2, 0, FAIR)]), &frames, 5_200);
        assert_eq!(rig.received(0), [1], "{preset:?}");
        assert_eq!(countdown_starts(&rig), (weak_us + after_us[place]) * US, "{preset:?}");
    });
}

#[test]
fn a_good_frame_ends_eifs_but_not_the_nav_that_ns2_holds() {
    // 3's faint frame ends 20 us before 2's ACK of 304 us begins. After the ACK: ns-2 364 - 324 of EIFS and DIFS; 2001
    // 556 - 324 and DIFS; else DIFS.
    let after_us = [40 + 50, 232 + 50, 50, 50];
    each(|place, preset| {
        let data_us = DATA_US[place];
        let links = [(1, 2, STRONG), (2, 1, STRONG), (2, 0, STRONG), (3, 0, FAINT)];
        let frames = [(1, 5_000, unicast(1, 2, 100)), (3, 4_990, broadcast(3, 100))];
        let rig = observe(plain(preset, &links), &frames, 5_500);
        let ack_end_us = 5_000 + data_us + 10 + 304;
        assert_eq!(rig.times(0, TraceEvent::Decode), [ack_end_us * US], "{preset:?}");
        assert_eq!(countdown_starts(&rig), (ack_end_us + after_us[place]) * US, "{preset:?}");
    });
}

#[test]
fn a_frame_that_begins_while_the_station_sends_cannot_be_received() {
    // It ends after the station's own frame. ns-2 takes it for a frame in error: EIFS and DIFS; the others for energy.
    let after_us = [414, 606, 50, 50];
    each(|place, preset| {
        let mut rig = Rig::new(plain(preset, &[(1, 0, STRONG)]));
        rig.start_at(5_000 * US, 0, broadcast(90, 100));
        rig.arrive_at(5_100 * US, 0, broadcast(91, 100));
        rig.start_at(5_500 * US, 1, broadcast(1, 100));
        rig.run(60 * MS);
        assert!(rig.received(0).is_empty());
        let second = rig.times(0, TraceEvent::SendData)[1];
        let slots = rig.seen(0, TraceEvent::Backoff).into_iter().rfind(|&(at, _)| at < second).unwrap().1;
        let end_us = 5_500 + DATA_US[place];
        assert_eq!(second - slots * 20 * US, (end_us + after_us[place]) * US, "{preset:?}");
    });
}

#[test]
fn the_preset_determines_whether_a_nav_is_exact_or_in_whole_microseconds() {
    // 5.5 Mbit/s. ns-2: ACK and CTS 192 + 20.364, data 192 + 194.909; 2001, preamble at the data rate: 55.273 and
    // 221.091. Standard: 192 + 21, 192 + 198. NAV of data: SIFS + ACK; of an RTS: 3 SIFS + CTS + data + ACK.
    // ns-2 rounds 222.364 and 841.636 to the nearest, 2001 rounds 65.273 and 361.636 up.
    let (data_nav_us, rts_nav_us) = ([222, 66, 223, 223], [842, 362, 846, 846]);
    each(|place, preset| {
        let links = [(1, 0, STRONG), (1, 2, STRONG), (2, 1, STRONG)];
        for (threshold, nav_us) in [(NEVER_RTS, data_nav_us[place]), (0, rts_nav_us[place])] {
            let config = at_rate(plain(preset, &links), PhyKind::B, 5_500_000);
            let config = tuned(config, |radio| radio.rts_threshold_bytes = threshold);
            let mut rig = Rig::new(config);
            rig.start_at(5 * MS, 1, unicast(1, 2, 100));
            rig.run(50 * MS);
            let (at, until) = rig.seen(0, TraceEvent::Nav)[0];
            assert_eq!(until - at, nav_us * US, "{preset:?}");
        }
    });
}

// When a CTS is sent.

#[test]
fn the_preset_determines_when_a_cts_is_not_sent() {
    // Of 1's RTS from 5 ms to 5.352; the CTS would leave at 5.362. 0 hears 2, which sends a frame that begins after the
    // RTS (busy), or a faint one that ends 1 us before the RTS (EIFS), or 3's CTS long before (NAV).
    let (busy, eifs) = ([true, true, false, false], [true, true, false, false]);
    each(|place, preset| {
        let answers = |rig: &Rig| {
            (rig.times(0, TraceEvent::SendCts).first() == Some(&(5_362 * US)), rig.times(0, TraceEvent::RefuseCts))
        };
        let pair = both_ways(&[(0, 1, STRONG)]);
        let scene = |power_w: f64, start_us: Ns| {
            let mut rig = Rig::new(with_rts(preset, &[&pair[..], &[(2, 0, power_w)]].concat()));
            rig.start_at(5 * MS, 1, unicast(1, 0, 100));
            rig.start_at(start_us * US, 2, broadcast(2, 100));
            rig.run(5_400 * US);
            rig
        };
        let expected = |refused: bool| if refused { (false, vec![5_362 * US]) } else { (true, vec![]) };
        assert_eq!(answers(&scene(FAIR, 5_355)), expected(busy[place]), "busy, {preset:?}");
        assert_eq!(answers(&scene(FAINT, 4_999 - DATA_US[place])), expected(eifs[place]), "EIFS, {preset:?}");
        assert_eq!(answers(&scene(FAINT, 4_000 - DATA_US[place])), expected(false), "EIFS over, {preset:?}");
        // NAV: 2 sends an RTS to 3, and 0 hears the CTS.
        let links = [&pair[..], &[(2, 3, STRONG), (3, 2, STRONG), (3, 0, STRONG)]].concat();
        let mut rig = Rig::new(with_rts(preset, &links));
        rig.start_at(4_200 * US, 2, unicast(2, 3, 1000)); // its CTS ends at 4.866 ms
        rig.start_at(5 * MS, 1, unicast(1, 0, 100));
        rig.run(5_400 * US);
        assert_eq!(answers(&rig), expected(true), "NAV, {preset:?}");
    });
}

/// A frame that begins at a time on a medium that station `station` finds idle, with 802.11a.
fn arrive_to_start_at(rig: &mut Rig, preset: Preset, at: Ns, station: u32, packet: Packet) {
    let drawn = Ns::from(Stream::new(1, u64::from(station)).below(15));
    let wait_us = if preset == Preset::Ns2 { 34 + 9 * drawn } else { 0 };
    rig.arrive_at(at - wait_us * US, station, packet);
}

#[test]
fn an_rts_that_comes_while_a_cts_is_awaited_is_dropped_by_ns2_and_answered_by_the_standard() {
    // 802.11a at 6 Mbit/s: RTS 20 + 32 = 52 us, CTS 44 us. 0's RTS from 5 ms to 5.052; ns-2 waits for a CTS until
    // 5.116, the standard until 5.097, or until the end of what is being received then. 1's RTS from 5.057 to 5.109.
    for (preset, answered) in [(Preset::Ns2, false), (Preset::Standard, true)] {
        let mut rig = Rig::new(at_rate(with_rts(preset, &[(0, 2, STRONG), (1, 0, STRONG)]), PhyKind::A, 6 * M1));
        arrive_to_start_at(&mut rig, preset, 5_000 * US, 0, unicast(1, 2, 100));
        arrive_to_start_at(&mut rig, preset, 5_057 * US, 1, unicast(2, 0, 100));
        rig.run(5_130 * US);
        assert_eq!(rig.times(0, TraceEvent::Decode), [5_109 * US], "{preset:?}");
        let expected = if answered { vec![5_125 * US] } else { vec![] }; // a SIFS of 16 us later
        assert_eq!(rig.times(0, TraceEvent::SendCts), expected, "{preset:?}");
        let failed_at = if answered { 5_109 } else { 5_116 };
        assert_eq!(rig.times(0, TraceEvent::Retry), [failed_at * US], "{preset:?}");
    }
}

#[test]
fn nothing_is_answered_while_a_response_is_pending() {
    // ns-2 sends an ACK that falls into its own wait for an ACK only a SIFS after that wait. This is the one place
    // where a frame for the station can end while a response is pending. 802.11a, data at 54 Mbit/s, 216 bits a symbol,
    // the rest at 24, 96 bits: RTS, CTS and ACK 20 + 8 = 28 us, data of 35 bytes 20 + 8 = 28; SIFS 16. 0's data from 5
    // ms to 5.028, its wait until 5.028 + 16 + 28 + 4 = 5.076. 1's data for 0 from 5.029 to 5.057: the ACK leaves at
    // 5.092. 3's frame for 0, an RTS or data, from 5.058 to 5.086, falls between.
    for (bytes, sent) in [(100, TraceEvent::SendRts), (1, TraceEvent::SendData)] {
        let links = [(0, 2, STRONG), (1, 0, STRONG), (3, 0, STRONG)];
        let config = at_rate(plain(Preset::Ns2, &links), PhyKind::A, 24 * M1);
        let config = tuned(config, |radio| radio.rts_threshold_bytes = 50);
        let mut rig = Rig::new(AirConfig { data_rates_bps: IdVec::filled(54 * M1, 4), ..config });
        arrive_to_start_at(&mut rig, Preset::Ns2, 5_000 * US, 0, unicast(1, 2, 1));
        arrive_to_start_at(&mut rig, Preset::Ns2, 5_029 * US, 1, unicast(2, 0, 1));
        arrive_to_start_at(&mut rig, Preset::Ns2, 5_058 * US, 3, unicast(3, 0, bytes));
        rig.run(5_130 * US);
        assert_eq!(rig.times(3, sent), [5_058 * US]);
        assert_eq!(rig.times(0, TraceEvent::Retry), [5_076 * US]);
        assert_eq!(rig.times(0, TraceEvent::Decode), [5_057 * US, 5_086 * US]);
        assert_eq!(rig.times(0, TraceEvent::SendAck), [5_092 * US]);
        assert!(rig.times(0, TraceEvent::SendCts).is_empty());
        assert_eq!(rig.received(0), [2]);
    }
}
