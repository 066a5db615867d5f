//! Features for simulated radios: a rate for each attempt, links with losses and fading, channels, all rates of 802.11b
//! and g, a physical layer for each station.

use pacelab_air_config::{MacAckRate, PhyKind, Preset, Radio};
use pacelab_engine::{AirConfig, Fading, Link, MacEvent, Packet, RateChain, StationId, TraceEvent};

use crate::{M1, MS, Rig, STRONG, US, both_ways, broadcast, matrix, plain, tuned, unicast};

fn deaf() -> Vec<(u32, u32, f64)> {
    vec![(0, 2, STRONG)] // 1 hears nothing
}

fn with_chain(stages: [(u32, u8); 4]) -> Packet {
    Packet { rates: Some(RateChain { stages, aggregates: false }), ..unicast(1, 1, 500) }
}

#[test]
fn each_attempt_uses_the_rate_of_its_retry_chain() {
    let mut rig = Rig::new(plain(Preset::Standard, &deaf()));
    rig.start_at(5 * MS, 0, with_chain([(11 * M1, 2), (2 * M1, 1), (M1, 1), (0, 0)]));
    rig.run(2_000 * MS);
    let sent = rig.records.iter().filter(|record| record.what == TraceEvent::SendData);
    let airtimes: Vec<u64> = sent.map(|record| record.value / US).collect();
    // 192 us + 536 B * 8: 389.8 rounded up, 2144, 4288
    assert_eq!(airtimes, [582, 582, 2336, 4480, 4480, 4480, 4480]);
}

#[test]
fn the_overhead_can_be_set() {
    let mut rig =
        Rig::new(AirConfig { overhead_bytes: Some(4), ..plain(Preset::Standard, &both_ways(&[(0, 1, STRONG)])) });
    rig.start_at(5 * MS, 0, unicast(1, 1, 500));
    rig.run(100 * MS);
    let sent = rig.records.iter().find(|record| record.what == TraceEvent::SendData);
    assert_eq!(sent.map(|record| record.value), Some((192 + 504 * 8) * US));
}

fn lossy(loss: f64) -> AirConfig {
    let link = |to, loss| Link { to: StationId(to), delay_ns: 0, power_w: STRONG, decodable: true, loss, fading: None };
    let links = Some(vec![vec![link(1, loss)], vec![link(0, 0.0)]].into());
    AirConfig { links, ..plain(Preset::Standard, &[(0, 1, STRONG)]) }
}

#[test]
fn a_link_loses_its_share_of_frames() {
    let mut rig = Rig::new(lossy(0.25));
    for round in 0..400_u64 {
        let now = (5 + 100 * round) * MS;
        rig.run(now);
        assert_eq!(rig.air.enqueue(now, StationId(0), unicast(round as u32, 1, 100), false), Ok(()));
    }
    rig.run(60_000 * MS);
    let attempts = rig.times(0, TraceEvent::SendData).len();
    // Geometric: 400 / 0.75 = 533 attempts, standard deviation 13; five of them either way
    assert!((468..=598).contains(&attempts), "{attempts}");
}

#[test]
fn channels_do_not_hear_each_other_and_who_has_none_hears_all() {
    let mut rig = Rig::new(plain(Preset::Standard, &both_ways(&[(0, 1, STRONG), (0, 2, STRONG), (1, 2, STRONG)])));
    let heard =
        |rig: &Rig, station: u32| rig.air.links(StationId(station)).iter().map(|link| link.to.0).collect::<Vec<_>>();
    rig.air.set_channel(StationId(0), 2412);
    rig.air.set_channel(StationId(1), 2462);
    assert_eq!((heard(&rig, 0), heard(&rig, 1), heard(&rig, 2)), (vec![2], vec![2], vec![]));
    rig.air.set_propagation(matrix(&both_ways(&[(0, 1, STRONG), (0, 2, STRONG)])));
    assert_eq!((heard(&rig, 0), heard(&rig, 1)), (vec![2], vec![]));
    rig.air.set_channel(StationId(1), 2412);
    assert_eq!((heard(&rig, 0), heard(&rig, 1)), (vec![1, 2], vec![0]));
}

#[test]
fn rates_of_b_and_g_live_on_one_air() {
    // 54 Mbit/s: 16 + 4288 + 6 bits are 20 symbols of 216; includes the silence after it
    for (rate_bps, airtime_us) in [(2 * M1, 192 + 536 * 4), (54 * M1, 26 + 80)] {
        let links = both_ways(&[(0, 1, STRONG)]);
        let mut rig = Rig::new(tuned(plain(Preset::Sinr, &links), |radio| radio.phy = PhyKind::Bg));
        rig.start_at(5 * MS, 0, with_chain([(rate_bps, 7), (0, 0), (0, 0), (0, 0)]));
        rig.run(100 * MS);
        let sent = rig.records.iter().find(|record| record.what == TraceEvent::SendData);
        assert_eq!((sent.map(|record| record.value / US), rig.received(1)), (Some(airtime_us), vec![1]));
    }
}

const FADES_BY_DB: f64 = 6.0;

/// 400 broadcasts over a link that is `margin_db` above what can be decoded, and that can be sensed 10 dB below.
fn faded(seed: u64, margin_db: f64) -> Rig {
    let fading = Fading { sigma_db: FADES_BY_DB, sense_w: STRONG / 10.0, decode_w: STRONG };
    let power_w = STRONG * 10_f64.powf(margin_db / 10.0);
    let link = Link { to: StationId(1), delay_ns: 0, power_w, decodable: true, loss: 0.0, fading: Some(fading) };
    let links = Some(vec![vec![link], Vec::new()].into());
    let mut rig = Rig::new(AirConfig { links, seed, ..plain(Preset::Standard, &[(0, 1, STRONG)]) });
    (0..400).for_each(|number| rig.arrive_at((5 + 5 * u64::from(number)) * MS, 0, broadcast(number, 100)));
    rig.run(3_000 * MS);
    rig
}

#[test]
fn each_frame_has_its_own_draw_of_the_fading() {
    // Of a normal distribution 50 and 84.1 % lie above its mean and a deviation below it; five deviations of 400 draws
    for (margin_db, expected) in [(0.0, 200 - 50..=200 + 50), (FADES_BY_DB, 336 - 37..=336 + 37)] {
        let got = faded(1, margin_db).received(1).len();
        assert!(expected.contains(&got), "{margin_db} dB: {got}");
    }
    // Not sensed: 10 dB down, 4.8 %; five deviations of that
    let locks = faded(1, 0.0).times(1, TraceEvent::Lock).len();
    assert!((400 - 40..400 - 1).contains(&locks), "{locks}");
    assert_eq!(faded(1, 0.0).received(1), faded(1, 0.0).received(1));
    assert_ne!(faded(1, 0.0).received(1), faded(2, 0.0).received(1));
}

#[test]
fn the_reported_power_is_that_of_the_frame() {
    let rig = faded(1, 20.0);
    let power_db = |event: &MacEvent| match *event {
        MacEvent::Received { power_w, .. } => Some(10.0 * (power_w / STRONG).log10() - 20.0),
        _ => None,
    };
    let all: Vec<f64> = rig.mac_events.iter().filter_map(power_db).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let variance = all.iter().map(|db| (db - mean) * (db - mean)).sum::<f64>() / all.len() as f64;
    // 400 draws: five standard errors of the mean and of the deviation
    assert!(all.len() > 395 && mean.abs() < 1.5 && (variance.sqrt() - FADES_BY_DB).abs() < 1.1, "{mean} {variance}");
}

#[test]
fn stations_on_one_air_have_a_physical_layer_each() {
    let links = both_ways(&[(0, 1, STRONG), (2, 3, STRONG)]);
    let mandatory = |radio: &mut Radio| (radio.phy, radio.mac_ack_rate) = (PhyKind::Bg, MacAckRate::Mandatory);
    let mut rig = Rig::new(tuned(plain(Preset::Standard, &links), mandatory));
    [0, 1].into_iter().for_each(|station| rig.air.set_phy(StationId(station), PhyKind::A, false));
    let at_6 = |id, to| Packet {
        rates: Some(RateChain { stages: [(6 * M1, 7); 4], aggregates: false }),
        ..unicast(id, to, 500)
    };
    rig.start_at(5 * MS, 0, at_6(1, 1));
    rig.start_at(5 * MS, 2, at_6(2, 3));
    rig.run(100 * MS);
    // 536 B: 16 + 4288 + 6 bits are 180 symbols of 24: 20 + 720 us, at 2.4 GHz 6 us of silence; SIFS 16 and 10 us
    let (data_us, ack_us) = (740, 44);
    assert_eq!(rig.seen(0, TraceEvent::SendData), [(5 * MS, data_us * US)]);
    assert_eq!(rig.seen(1, TraceEvent::SendAck), [(5 * MS + (data_us + 16) * US, ack_us * US)]);
    assert_eq!(rig.seen(2, TraceEvent::SendData), [(5 * MS, (data_us + 6) * US)]);
    assert_eq!(rig.seen(3, TraceEvent::SendAck), [(5 * MS + (data_us + 6 + 10) * US, (ack_us + 6) * US)]);
    assert_eq!((rig.received(1), rig.received(3)), (vec![1], vec![2]));
}

#[test]
fn a_slot_is_the_stations_own() {
    let backoff_ns = |phy| {
        let mut rig = Rig::new(tuned(plain(Preset::Standard, &[(0, 1, STRONG)]), |radio| radio.phy = PhyKind::Bg));
        rig.air.set_phy(StationId(0), phy, false);
        // The second broadcast waits DIFS and a backoff after the first.
        (0..2).for_each(|id| rig.arrive_at(5 * MS, 0, broadcast(id, 100)));
        rig.run(100 * MS);
        let (sent, drawn) = (rig.seen(0, TraceEvent::SendData), rig.seen(0, TraceEvent::Backoff));
        let idle_ns = sent[1].0 - (sent[0].0 + sent[0].1);
        (idle_ns, drawn.iter().map(|&(_, slots)| slots).find(|&slots| slots > 0))
    };
    for (phy, difs_us, slot_us, most) in [(PhyKind::Bg, 50, 20, 15), (PhyKind::A, 34, 9, 15), (PhyKind::B, 50, 20, 31)]
    {
        let (idle_ns, slots) = backoff_ns(phy);
        let slots = slots.unwrap_or(0);
        assert!(slots <= most);
        assert_eq!(idle_ns, (difs_us + slot_us * slots) * US, "{phy:?}");
    }
}

#[test]
fn what_a_station_cannot_demodulate_keeps_it_silent_and_is_lost() {
    for preset in [Preset::Standard, Preset::Sinr] {
        let links = both_ways(&[(0, 1, STRONG), (0, 2, STRONG), (1, 2, STRONG)]);
        let mut rig = Rig::new(tuned(plain(preset, &links), |radio| radio.phy = PhyKind::Bg));
        rig.air.set_phy(StationId(1), PhyKind::B, false);
        let at = |id, rate_bps| Packet {
            rates: Some(RateChain { stages: [(rate_bps, 1); 4], aggregates: false }),
            ..broadcast(id, 1500)
        };
        rig.start_at(5 * MS, 0, at(1, 6 * M1));
        rig.arrive_at(5 * MS + 100 * US, 1, broadcast(2, 100)); // while the first is on the air
        rig.run(20 * MS);
        rig.arrive_at(25 * MS, 0, at(3, 11 * M1));
        rig.run(100 * MS);
        assert_eq!((rig.received(1), rig.received(2)), (vec![3], vec![1, 2, 3]), "{preset:?}");
    }
}

#[test]
fn links_of_one_station_can_be_put_anew() {
    let link = |to, power_w| Link { to: StationId(to), delay_ns: 0, power_w, decodable: true, loss: 0.0, fading: None };
    let links = Some(vec![vec![link(1, STRONG)], vec![link(0, STRONG), link(2, STRONG)], vec![link(1, STRONG)]].into());
    let mut rig = Rig::new(AirConfig { links, ..plain(Preset::Standard, &[(0, 2, STRONG)]) });
    rig.air.set_links(StationId(0), vec![link(2, 0.5)], [None, None, Some(link(0, 0.25))]);
    let all = |rig: &Rig| [0, 1, 2].map(|from| rig.air.links(StationId(from)).to_vec());
    let expected = [vec![link(2, 0.5)], vec![link(2, STRONG)], vec![link(0, 0.25), link(1, STRONG)]];
    assert_eq!(all(&rig), expected);
    rig.air.set_channel(StationId(1), 2412); // the links that were set are kept
    rig.air.set_channel(StationId(1), 0);
    assert_eq!(all(&rig), expected);
}
