//! The contention window, the two retry counters and duplicate detection, as tables written by hand.
//!
//! Sources: IEEE 802.11-2016 Sec. 10.3.3 (contention window), 10.3.4.4 (retry counters) and 10.3.2.11 (duplicates) for
//! `standard` and `sinr`; ns-2.35's mac-802_11.cc (`inc_cw`, `RetransmitRTS`, `RetransmitDATA`, `recvCTS`, `recvACK`)
//! for `ns2`; the same file of ns-2.1b8a for `ns2-2001`.
//!
//! Station 0 sends to station 1. A script names the fate of each attempt:
//! `R` the RTS is lost, `D` the data is lost, `A` the ACK is lost, `k` the attempt succeeds.

use pacelab_air_config::{Category, PhyKind, Preset};
use pacelab_engine::{Air, AirConfig, Failure, IdVec, Ns, Packet, StationId, Stream, TraceEvent};

use crate::{M1, MS, NEVER_RTS, Rig, STRONG, both_ways, broadcast, matrix, plain, tuned, unicast};

const NS2: Preset = Preset::Ns2;
const NS2_2001: Preset = Preset::Ns2Of2001;
const STANDARD: Preset = Preset::Standard;
const SINR: Preset = Preset::Sinr;
const PRESETS: [Preset; 4] = [NS2, NS2_2001, STANDARD, SINR];

/// RTS thresholds: RTS before each data frame, or before none.
const RTS: u32 = 0;

const PAIR: [(u32, u32, f64); 1] = [(0, 1, STRONG)];

fn pair(preset: Preset, rts_threshold_bytes: u32) -> AirConfig {
    tuned(plain(preset, &both_ways(&PAIR)), |radio| radio.rts_threshold_bytes = rts_threshold_bytes)
}

fn with_phy(config: AirConfig, phy: PhyKind) -> AirConfig {
    let rate_bps = if matches!(phy, PhyKind::A | PhyKind::G) { 6 * M1 } else { M1 };
    let config = tuned(config, |radio| {
        (radio.phy, radio.basic_rate_bps, radio.data_rate_bps) = (phy, rate_bps, rate_bps);
    });
    AirConfig { data_rates_bps: IdVec::filled(rate_bps, config.data_rates_bps.len()), ..config }
}

/// Runs the packets, queued at station 0 at 5 ms, through the attempts of a script. After the script all attempts
/// succeed.
fn run_script(config: AirConfig, packets: &[Packet], script: &str) -> Rig {
    let uses_rts = config.radio.rts_threshold_bytes == RTS;
    let mut rig = Rig::new(config);
    packets.iter().zip(0..).for_each(|(&packet, place)| rig.arrive_at(5 * MS + place, 0, packet));
    let (mut attempt, mut connected, mut cts_before, mut data_before) = (usize::MAX, true, 0, 0);
    rig.run_with(20_000 * MS, |air: &mut Air, now: Ns| {
        let cts_sent = air.counters(now, StationId(1)).cts_sent;
        let sender = air.counters(now, StationId(0));
        let ended = (sender.rts_failures + sender.data_failures + sender.delivered_frames) as usize;
        let data_sent = sender.data_sent;
        if ended != attempt {
            (attempt, cts_before, data_before) = (ended, cts_sent, data_sent);
        }
        // Frames on the air are not affected by a change of links: cutting the link loses the frames that begin
        // afterwards.
        let connect = match script.as_bytes().get(attempt) {
            Some(b'R') => false,
            Some(b'D') => uses_rts && cts_sent == cts_before,
            Some(b'A') => data_sent == data_before,
            _ => true,
        };
        if connect != connected {
            connected = connect;
            air.set_propagation(matrix(if connect { &[(0, 1, STRONG), (1, 0, STRONG)] } else { &[] }));
        }
    });
    rig
}

fn packets(count: u32) -> Vec<Packet> {
    (1..=count).map(|id| unicast(id, 1, 500)).collect()
}

/// Checks each backoff of station 0 against the largest number of slots that it may draw.
///
/// The draws of a station come from its random stream, so a wrong window gives a wrong draw for at least one of 20
/// seeds. The error model of `sinr` draws from the same stream. With `sinr` the draws must stay within the window, and
/// one of 20 must lie in its upper half.
fn assert_windows(config: &AirConfig, packets: &[Packet], script: &str, largest: &[u32]) {
    let mut maxima = vec![0; largest.len()];
    for seed in 1..=20 {
        let rig = run_script(AirConfig { seed, ..config.clone() }, packets, script);
        let drawn: Vec<u64> = rig.seen(0, TraceEvent::Backoff).into_iter().map(|(_, slots)| slots).collect();
        if config.radio.preset == SINR {
            assert_eq!(drawn.len(), largest.len());
            maxima.iter_mut().zip(drawn).for_each(|(most, slots)| *most = slots.max(*most));
            continue;
        }
        let mut stream = Stream::new(seed, 0);
        let expected: Vec<u64> = largest.iter().map(|&most| u64::from(stream.below(most + 1))).collect();
        assert_eq!(drawn, expected, "{:?} {:?} {script} seed {seed}", config.radio.preset, config.radio.phy);
    }
    if config.radio.preset == SINR {
        let fits = |(&drawn, &most): (&u64, &u32)| drawn <= u64::from(most) && drawn > u64::from(most / 2);
        assert!(maxima.iter().zip(largest).all(fits), "{script}: {maxima:?}");
    }
}

#[test]
fn the_window_doubles_and_adds_one_after_each_failure_and_is_reset_by_success() {
    // Largest slot after 1 to 8 failures, then after success. 802.11b: CW 31, 63, ..., 1023; 802.11a and g: CW 15,
    // 31, ..., 1023 (IEEE 802.11-2016 Tables 15-5, 17-21, 18-5). The standard draws 0 to CW, ns-2 0 to CW - 1 and once
    // more for a packet that finds the medium idle.
    let cases: [(Preset, PhyKind, &[u32]); 9] = [
        (STANDARD, PhyKind::B, &[63, 127, 255, 511, 1023, 1023, 1023, 1023, 31]),
        (STANDARD, PhyKind::A, &[31, 63, 127, 255, 511, 1023, 1023, 1023, 15]),
        (STANDARD, PhyKind::G, &[31, 63, 127, 255, 511, 1023, 1023, 1023, 15]),
        (STANDARD, PhyKind::Bg, &[31, 63, 127, 255, 511, 1023, 1023, 1023, 15]),
        (SINR, PhyKind::B, &[63, 127, 255, 511, 1023, 1023, 1023, 1023, 31]),
        (SINR, PhyKind::A, &[31, 63, 127, 255, 511, 1023, 1023, 1023, 15]),
        (NS2, PhyKind::B, &[30, 62, 126, 254, 510, 1022, 1022, 1022, 1022, 30]),
        (NS2, PhyKind::A, &[14, 30, 62, 126, 254, 510, 1022, 1022, 1022, 14]),
        (NS2_2001, PhyKind::B, &[62, 126, 254, 510, 1022, 1022, 1022, 1022, 30]),
    ];
    for (preset, phy, largest) in cases {
        for (threshold, script) in [(RTS, "RRRRRRRRk"), (NEVER_RTS, "DDDDDDDDk")] {
            let config = tuned(with_phy(pair(preset, threshold), phy), |radio| radio.short_retry_limit = 20);
            assert_windows(&config, &packets(1), script, largest);
        }
    }
}

#[test]
fn an_access_category_keeps_its_window_between_its_own_limits() {
    // IEEE 802.11-2016 Table 9-137 with CWmin 31 and CWmax 1023 of 802.11b: background and best effort have these
    // limits, video 15 and 31, voice 7 and 15.
    let cases: [(Category, &[u32]); 4] = [
        (Category::Background, &[63, 127, 255, 511, 1023, 1023, 31]),
        (Category::BestEffort, &[63, 127, 255, 511, 1023, 1023, 31]),
        (Category::Video, &[31, 31, 31, 31, 31, 31, 15]),
        (Category::Voice, &[15, 15, 15, 15, 15, 15, 7]),
    ];
    for (category, largest) in cases {
        for (threshold, script) in [(RTS, "RRRRRRk"), (NEVER_RTS, "DDDDDDk")] {
            let config = tuned(pair(STANDARD, threshold), |radio| radio.edca = true);
            assert_windows(&config, &[Packet { category, ..unicast(1, 1, 500) }], script, largest);
        }
    }
}

#[test]
fn a_cts_resets_the_window_in_ns2_of_2001_alone() {
    let cases: [(Preset, &[u32]); 4] = [
        (NS2, &[30, 62, 126, 254, 510, 30]),
        (NS2_2001, &[62, 126, 62, 62, 30]),
        (STANDARD, &[63, 127, 255, 511, 31]),
        (SINR, &[63, 127, 255, 511, 31]),
    ];
    for (preset, largest) in cases {
        assert_windows(&pair(preset, RTS), &packets(1), "RRDDk", largest);
    }
}

#[test]
fn the_window_is_reset_when_a_packet_is_given_up_and_by_a_broadcast() {
    // Packet 1 is dropped after 7 RTSs, packet 2 fails once. Then a broadcast and packet 4, which fails once.
    let cases: [(Preset, &[u32]); 3] = [
        (NS2, &[30, 62, 126, 254, 510, 1022, 1022, 30, 62, 30, 30, 62, 30]),
        (NS2_2001, &[62, 126, 254, 510, 1022, 1022, 30, 62, 30, 30, 62, 30]),
        (STANDARD, &[63, 127, 255, 511, 1023, 1023, 31, 63, 31, 31, 63, 31]),
    ];
    let sent = [unicast(1, 1, 500), unicast(2, 1, 500), broadcast(3, 500), unicast(4, 1, 500)];
    for (preset, largest) in cases {
        assert_windows(&pair(preset, RTS), &sent, "RRRRRRRRkRk", largest);
    }
}

/// (attempts, reason for giving up) of each packet.
type Ends = &'static [(u32, Option<Failure>)];

const RTS_LIMIT: Option<Failure> = Some(Failure::Rts);
const DATA_LIMIT: Option<Failure> = Some(Failure::Data);

/// Checks how each unicast packet ends, and the retry counter that each retry reports: the larger of the two.
fn assert_ends(config: &AirConfig, packets: &[Packet], script: &str, retries: &[u64], ends: Ends) {
    let mut rig = run_script(config.clone(), packets, script);
    let context = format!("{:?} {script}", config.radio.preset);
    let unicasts: Vec<u32> = packets.iter().filter(|packet| packet.to.is_some()).map(|packet| packet.id.0).collect();
    let found: Vec<_> = rig.done(0).into_iter().filter(|(id, _, _)| unicasts.contains(id)).collect();
    let expected: Vec<_> =
        unicasts.iter().zip(ends).map(|(&id, &(attempts, failure))| (id, attempts, failure)).collect();
    assert_eq!(found, expected, "{context}");
    let counted: Vec<u64> = rig.seen(0, TraceEvent::Retry).into_iter().map(|(_, count)| count).collect();
    assert_eq!(counted, retries, "{context}");
    assert_eq!(rig.air.counters(20_000 * MS, StationId(0)).retries, retries.len() as u64, "{context}");
}

#[test]
fn rts_and_data_without_rts_count_short_retries_and_data_after_cts_long_ones() {
    // Limits 7 and 4 are attempts: the seventh and the fourth failure give the packet up. ns-2 of 2001 compared with
    // `>` for data, which allows one attempt more.
    for preset in [NS2, STANDARD, SINR] {
        let (rts, plain) = (pair(preset, RTS), pair(preset, NEVER_RTS));
        assert_ends(&rts, &packets(1), "RRRRRRR", &[1, 2, 3, 4, 5, 6], &[(7, RTS_LIMIT)]);
        assert_ends(&rts, &packets(1), "DDDD", &[1, 2, 3], &[(4, DATA_LIMIT)]);
        assert_ends(&plain, &packets(1), "DDDDDDD", &[1, 2, 3, 4, 5, 6], &[(7, DATA_LIMIT)]);
    }
    let (rts, plain) = (pair(NS2_2001, RTS), pair(NS2_2001, NEVER_RTS));
    assert_ends(&rts, &packets(1), "RRRRRRR", &[1, 2, 3, 4, 5, 6], &[(7, RTS_LIMIT)]);
    assert_ends(&rts, &packets(1), "DDDDD", &[1, 2, 3, 4], &[(5, DATA_LIMIT)]);
    assert_ends(&plain, &packets(1), "DDDDDDDD", &[1, 2, 3, 4, 5, 6, 7], &[(8, DATA_LIMIT)]);
}

#[test]
fn each_limit_is_the_one_that_is_set() {
    for preset in [NS2, STANDARD] {
        let limits = |threshold| {
            tuned(pair(preset, threshold), |radio| (radio.short_retry_limit, radio.long_retry_limit) = (3, 2))
        };
        assert_ends(&limits(RTS), &packets(1), "RRR", &[1, 2], &[(3, RTS_LIMIT)]);
        assert_ends(&limits(RTS), &packets(1), "DD", &[1], &[(2, DATA_LIMIT)]);
        assert_ends(&limits(NEVER_RTS), &packets(1), "DDD", &[1, 2], &[(3, DATA_LIMIT)]);
    }
}

#[test]
fn a_cts_resets_the_short_counter_and_an_ack_both() {
    for preset in PRESETS {
        let (rts, plain) = (pair(preset, RTS), pair(preset, NEVER_RTS));
        // The CTS before the lost data resets the short counter, so 12 RTSs may be lost. The long counter stays 1.
        let twelve = [1, 2, 3, 4, 5, 6, 1, 1, 2, 3, 4, 5, 6];
        assert_ends(&rts, &packets(1), "RRRRRRDRRRRRRk", &twelve, &[(14, None)]);
        // The ACK of packet 1 resets the long counter: packet 2 may lose 3 data frames of its own.
        assert_ends(&rts, &packets(2), "DDDkDDDk", &[1, 2, 3, 1, 2, 3], &[(4, None), (4, None)]);
        // Without RTS the ACK resets the short counter.
        let twice_six = [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6];
        assert_ends(&plain, &packets(2), "DDDDDDkDDDDDDk", &twice_six, &[(7, None), (7, None)]);
    }
}

#[test]
fn a_lost_rts_leaves_the_long_counter_alone() {
    // Long counter: 1, 2, then two RTSs are lost, 3, and the fourth lost data frame gives the packet up. The first
    // lost RTS after two lost data frames reports the larger counter, which is the long one.
    for preset in [NS2, STANDARD, SINR] {
        assert_ends(&pair(preset, RTS), &packets(1), "DDRRDD", &[1, 2, 2, 2, 3], &[(6, DATA_LIMIT)]);
    }
}

#[test]
fn a_packet_given_up_resets_its_own_counter() {
    for preset in [NS2, STANDARD, SINR] {
        let (rts, plain) = (pair(preset, RTS), pair(preset, NEVER_RTS));
        let six_twice = [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6];
        assert_ends(&rts, &packets(2), "RRRRRRRRRRRRRk", &six_twice, &[(7, RTS_LIMIT), (7, None)]);
        assert_ends(&plain, &packets(2), "DDDDDDDDDDDDDk", &six_twice, &[(7, DATA_LIMIT), (7, None)]);
        assert_ends(&rts, &packets(2), "DDDDDDDk", &[1, 2, 3, 1, 2, 3], &[(4, DATA_LIMIT), (4, None)]);
    }
}

#[test]
fn the_long_counter_survives_an_rts_drop_in_ns2_alone() {
    // Packet 1 loses 3 data frames, then 7 RTSs. Packet 2 loses data: for ns-2 that is the fourth lost data frame, in
    // 2001, with one attempt more, the next one. A broadcast in between changes nothing.
    let first = [1, 2, 3, 3, 3, 3, 4, 5, 6];
    for sent in
        [vec![unicast(1, 1, 500), unicast(2, 1, 500)], vec![unicast(1, 1, 500), broadcast(9, 100), unicast(2, 1, 500)]]
    {
        assert_ends(&pair(NS2, RTS), &sent, "DDDRRRRRRRD", &first, &[(10, RTS_LIMIT), (1, DATA_LIMIT)]);
        let of_2001 = [1, 2, 3, 3, 3, 3, 4, 5, 6, 4];
        assert_ends(&pair(NS2_2001, RTS), &sent, "DDDRRRRRRRDD", &of_2001, &[(10, RTS_LIMIT), (2, DATA_LIMIT)]);
    }
    for preset in [STANDARD, SINR] {
        let retries = [1, 2, 3, 3, 3, 3, 4, 5, 6, 1, 2, 3];
        assert_ends(&pair(preset, RTS), &packets(2), "DDDRRRRRRRDDDk", &retries, &[(10, RTS_LIMIT), (4, None)]);
    }
}

#[test]
fn data_after_the_own_cts_resets_the_receivers_counter_and_window_in_ns2_of_2001_alone() {
    // Station 1 sends RTSs that nobody answers. In between it receives data after its CTS from station 0.
    for (preset, resets) in [(NS2, false), (NS2_2001, true), (STANDARD, false), (SINR, false)] {
        let config = tuned(pair(preset, RTS), |radio| radio.short_retry_limit = 12);
        let mut rig = Rig::new(AirConfig {
            positions_m: IdVec::filled([0.0, 0.0], 3),
            data_rates_bps: IdVec::filled(M1, 3),
            ..config
        });
        rig.arrive_at(5 * MS, 1, unicast(1, 2, 10));
        let mut queued = false;
        rig.run_with(500 * MS, |air, now| {
            if !queued && air.counters(now, StationId(1)).rts_failures == 3 {
                queued = true;
                air.enqueue(now, StationId(0), unicast(2, 1, 10), false).unwrap();
            }
        });
        let received_at = rig.times(1, TraceEvent::SendAck)[0];
        let retries = rig.seen(1, TraceEvent::Retry);
        let before = retries.iter().filter(|(at, _)| *at < received_at).count() as u64;
        assert!((3..10).contains(&before));
        let after = retries.iter().find(|(at, _)| *at > received_at).unwrap().1;
        assert_eq!(after, if resets { 1 } else { before + 1 }, "{preset:?}");
        let drawn_after = rig.seen(1, TraceEvent::Backoff).into_iter().find(|(at, _)| *at > received_at).unwrap().1;
        assert!(!resets || drawn_after <= 62, "CW 63 after one failure: {drawn_after}");
    }
}

#[test]
fn a_repeat_after_a_lost_ack_is_acknowledged_and_not_delivered_again() {
    // A lost ACK costs a repeat, which the receiver recognises by sender and number. ACKs of both packets, attempts of
    // packet 1; packet 2 needs one.
    for preset in PRESETS {
        for (script, acks, attempts) in [("AAAk", 5, 4), ("DAk", 3, 3), ("k", 2, 1)] {
            for threshold in [RTS, NEVER_RTS] {
                let rig = run_script(pair(preset, threshold), &packets(2), script);
                assert_eq!(rig.times(1, TraceEvent::SendAck).len(), acks, "{preset:?} {script}");
                assert_eq!(rig.received(1), [1, 2], "{preset:?} {script}");
                assert_eq!(rig.done(0), [(1, attempts, None), (2, 1, None)], "{preset:?} {script}");
            }
        }
    }
}

#[test]
fn the_same_number_of_another_sender_is_no_duplicate() {
    // Each sender numbers its frames from the beginning, so both packets have the same number.
    for preset in PRESETS {
        let links = both_ways(&[(0, 2, STRONG), (1, 2, STRONG)]);
        let mut rig = Rig::new(plain(preset, &links));
        rig.arrive_at(5 * MS, 0, unicast(1, 2, 100));
        rig.arrive_at(50 * MS, 1, unicast(2, 2, 100));
        rig.arrive_at(100 * MS, 0, unicast(3, 2, 100));
        rig.run(200 * MS);
        assert_eq!(rig.received(2), [1, 2, 3]);
    }
}
