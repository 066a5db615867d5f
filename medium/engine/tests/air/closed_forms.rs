//! One saturated sender, 150 m (500 ns) from its receiver: every cycle less its backoff is a sum made by hand.

use pacelab_air_config::{MacAckRate, Preset, Propagation};
use pacelab_engine::{AirConfig, IdVec, MacEvent, Ns, StationId, TraceEvent};

use crate::{M1, NEVER_RTS, Rig, plain, tuned, unicast};

const CYCLES: usize = 2_000;

/// Cycles less backoffs, all of which must be equal, and the backoffs.
fn saturate(preset: Preset, rate_bps: u32, rts: bool, mac_ack_rate: MacAckRate, bytes: u32) -> (Ns, Vec<u64>) {
    let mut rig = Rig::new(AirConfig {
        positions_m: vec![[0.0, 0.0], [150.0, 0.0]].into(),
        data_rates_bps: IdVec::filled(rate_bps, 2),
        ..tuned(plain(preset, &[]), |radio| {
            radio.propagation = Propagation::TwoRay { capture_db: 10.0 };
            radio.rts_threshold_bytes = if rts { 0 } else { NEVER_RTS };
            radio.mac_ack_rate = mac_ack_rate;
        })
    });
    (0..2).for_each(|id| rig.air.enqueue(0, StationId(0), unicast(id, 1, bytes), false).unwrap());
    let mut sent = 2;
    while sent < CYCLES as u32 + 2 {
        let now = rig.air.next_at();
        rig.air.step();
        while let Some(notice) = rig.air.poll() {
            if let MacEvent::Done { attempts, failure, .. } = notice {
                assert_eq!((attempts, failure), (1, None));
                rig.air.enqueue(now, StationId(0), unicast(sent, 1, bytes), false).unwrap();
                sent += 1;
            }
        }
    }
    rig.run(rig.air.next_at());
    let first = if rts { TraceEvent::SendRts } else { TraceEvent::SendData };
    let starts = rig.times(0, first);
    let backoffs = rig.seen(0, TraceEvent::Backoff);
    assert!(starts.len() >= CYCLES);
    let mut slots = Vec::new();
    let mut fixed = Vec::new();
    for pair in starts.windows(2) {
        let drawn: Vec<u64> =
            backoffs.iter().filter(|&&(at, _)| pair[0] < at && at < pair[1]).map(|&(_, value)| value).collect();
        assert_eq!(drawn.len(), 1, "one backoff a cycle");
        slots.push(drawn[0]);
        fixed.push(pair[1] - pair[0] - drawn[0] * 20_000);
    }
    assert!(fixed.iter().all(|&ns| ns == fixed[0]), "{fixed:?}");
    (fixed[0], slots)
}

fn check(preset: Preset, mac_ack_rate: MacAckRate, bytes: u32, rows: &[(u32, Ns, Ns)]) {
    for &(rate_bps, off_ns, on_ns) in rows {
        assert_eq!(saturate(preset, rate_bps, false, mac_ack_rate, bytes).0, off_ns, "{rate_bps} RTS off");
        assert_eq!(saturate(preset, rate_bps, true, mac_ack_rate, bytes).0, on_ns, "{rate_bps} RTS on");
    }
}

#[test]
fn ns2_cycle_is_the_hand_sum_at_every_rate() {
    // 1460 B + 34 B MAC = 1494 B = 11952 bit; ns-2 keeps fractions of a microsecond. Then the ACK at 1 Mbit/s:
    // off: data + 0.5 + SIFS 10 + ACK 304 + 0.5 + DIFS 50        = data + 365
    // on:  RTS 352 + 0.5 + 10 + CTS 304 + 0.5 + 10 = 677 more
    check(
        Preset::Ns2,
        MacAckRate::Basic,
        1460,
        &[
            (M1, 12_509_000, 13_186_000),      // data 192 + 11952 = 12144
            (2 * M1, 6_533_000, 7_210_000),    // data 192 + 5976 = 6168
            (5_500_000, 2_730_091, 3_407_091), // data 192 + 2173.0909 = 2365.0909
            (11 * M1, 1_643_545, 2_320_545),   // data 192 + 1086.5455 = 1278.5455
        ],
    );
}

#[test]
fn standard_cycle_is_the_hand_sum_at_every_rate() {
    // 1460 + 28 UDP/IP = 1488 B; + 8 LLC + 28 MAC = 1524 B = 12192 bit; airtimes rounded up to whole microseconds, the
    // ACK at the data rate.  off: data + 0.5 + 10 + ACK + 0.5 + 50 = data + ACK + 61;  on: 677 more, as above
    check(
        Preset::Standard,
        MacAckRate::Data,
        1488,
        &[
            (M1, 12_749_000, 13_426_000),      // 192 + 12192 = 12384, ACK 304
            (2 * M1, 6_597_000, 7_274_000),    // 192 + 6096 = 6288, ACK 192 + 56 = 248
            (5_500_000, 2_683_000, 3_360_000), // 192 + 2217 (2216.7) = 2409, ACK 192 + 21 (20.4) = 213
            (11 * M1, 1_565_000, 2_242_000),   // 192 + 1109 (1108.4) = 1301, ACK 192 + 11 (10.2) = 203
        ],
    );
}

#[test]
fn standard_cycle_with_basic_rate_acks_is_the_hand_sum() {
    // 1301 + 304 + 61, and 677 more
    check(Preset::Standard, MacAckRate::Basic, 1488, &[(11 * M1, 1_666_000, 2_343_000)]);
}

/// Checks the mean against its 95 % interval, and that both ends of the range are drawn.
fn check_backoff(preset: Preset, largest: u64, mean: f64, half_width: f64) {
    let (_, slots) = saturate(preset, 11 * M1, true, MacAckRate::Basic, 1460);
    let found = slots.iter().sum::<u64>() as f64 / slots.len() as f64;
    assert!((found - mean).abs() < half_width, "mean {found}");
    assert_eq!((slots.iter().min(), slots.iter().max()), (Some(&0), Some(&largest)));
}

#[test]
fn ns2_backoff_is_uniform_over_0_to_30() {
    // variance (31^2 - 1) / 12 = 80; 1.96 * sqrt(80 / 2000) = 0.392
    check_backoff(Preset::Ns2, 30, 15.0, 0.392);
}

#[test]
fn standard_backoff_is_uniform_over_0_to_31() {
    // variance (32^2 - 1) / 12 = 85.25; 1.96 * sqrt(85.25 / 2000) = 0.405
    check_backoff(Preset::Standard, 31, 15.5, 0.405);
}
