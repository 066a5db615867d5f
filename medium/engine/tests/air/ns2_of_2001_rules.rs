//! What ns-2.1b8a did in 2001 and ns-2.35 does not. All at 2 Mbit/s, 4 us a byte, 24 bytes of preamble and header:
//! RTS 176, CTS and ACK 152, a packet of 100 bytes 4 (24 + 28 + 100) = 608 us; EIFS 10 + 248 + 50 = 308.

use pacelab_air_config::Preset;
use pacelab_engine::{AirConfig, Failure, Happening};

use crate::rig::{FAINT, M1, MS, NEVER_RTS, Rig, STRONG, US, both_ways, broadcast, plain, tuned, unicast};

fn of_2001(rate_bps: u32, links: &[(u32, u32, f64)]) -> AirConfig {
    let config = plain(Preset::Ns2Of2001, links);
    let rates = vec![rate_bps; config.data_rates_bps.len()];
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
    assert_eq!(rig.times(1, Happening::SendRts), [5_050 * US]);
    assert_eq!(rig.times(0, Happening::SendCts), [5_236 * US]);
    assert_eq!(rig.times(1, Happening::SendData), [5_438 * US]);
    assert_eq!(rig.times(0, Happening::SendAck), [6_056 * US]);
    assert_eq!(rig.times(1, Happening::Backoff), [6_208 * US]);
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
        let (drawn_at, slots) = rig.seen(1, Happening::Backoff)[0];
        assert_eq!(drawn_at, 5_050 * US);
        assert_eq!(rig.times(1, Happening::SendRts)[0], 5_638 * US + 50 * US + slots * 20 * US);
        assert!(rig.times(1, Happening::Retry).is_empty());
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
    assert_eq!(rig.times(0, Happening::SendAck), [6_056 * US]); // until 6.208
    assert_eq!(rig.times(0, Happening::SendRts), [6_258 * US]);
    assert!(rig.times(0, Happening::Backoff).is_empty());
}

#[test]
fn seven_rtss_go_unanswered_and_one_data_frame_more_than_the_limit() {
    // An RTS waits 10 + 152 + 10 us after its end, data 10 + 152 + 50.
    for (threshold, sent, tries, waited, failure) in [
        (0, Happening::SendRts, 7, 176 + 172, Failure::Rts),
        (NEVER_RTS, Happening::SendData, 8, 608 + 212, Failure::Data),
    ] {
        let config = tuned(of_2001(2 * M1, &[(1, 0, FAINT)]), |radio| radio.rts_threshold_bytes = threshold);
        let mut rig = Rig::new(config);
        rig.arrive_at(5 * MS, 1, unicast(1, 0, 100));
        rig.run(500 * MS);
        assert_eq!(rig.times(1, sent).len(), tries);
        assert_eq!(rig.times(1, Happening::Backoff)[0], 5_050 * US + waited * US);
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
        assert_eq!(rig.seen(0, Happening::Eifs), [(end, end + eifs * US)]);
    }
}
