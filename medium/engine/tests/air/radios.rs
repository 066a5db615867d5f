//! What simulated radios need: a rate for each attempt, links with losses of their own, channels, all rates of 802.11b and g.

use pacelab_engine::{AirConfig, Happening, Link, Packet, PhyKind, Preset, Propagation, RateChain};

use crate::rig::{M1, MS, Rig, STRONG, US, both_ways, plain, unicast};

fn deaf() -> Vec<(u32, u32, f64)> {
    vec![(0, 2, STRONG)] // 1 hears nothing
}

fn with_chain(stages: [(u32, u8); 4]) -> Packet {
    Packet { rates: Some(RateChain { stages }), ..unicast(1, 1, 500) }
}

#[test]
fn each_attempt_takes_the_rate_that_its_chain_says() {
    let mut rig = Rig::new(plain(Preset::Standard, &deaf()));
    rig.start_at(5 * MS, 0, with_chain([(11 * M1, 2), (2 * M1, 1), (M1, 1), (0, 0)]));
    rig.run(2_000 * MS);
    let sent = rig.records.iter().filter(|record| record.what == Happening::SendData);
    let airtimes: Vec<u64> = sent.map(|record| record.value / US).collect();
    // 192 us + 536 B * 8: 389.8 rounded up, 2144, 4288
    assert_eq!(airtimes, [582, 582, 2336, 4480, 4480, 4480, 4480]);
}

#[test]
fn the_overhead_can_be_told() {
    let mut rig =
        Rig::new(AirConfig { overhead_bytes: Some(4), ..plain(Preset::Standard, &both_ways(&[(0, 1, STRONG)])) });
    rig.start_at(5 * MS, 0, unicast(1, 1, 500));
    rig.run(100 * MS);
    let sent = rig.records.iter().find(|record| record.what == Happening::SendData);
    assert_eq!(sent.map(|record| record.value), Some((192 + 504 * 8) * US));
}

fn lossy(loss: f64) -> AirConfig {
    let link = |to, loss| Link { to, delay_ns: 0, power_w: STRONG, decodable: true, loss };
    let propagation = Propagation::Links(vec![vec![link(1, loss)], vec![link(0, 0.0)]]);
    AirConfig { propagation, ..plain(Preset::Standard, &[(0, 1, STRONG)]) }
}

#[test]
fn a_link_loses_its_share_of_frames() {
    let mut rig = Rig::new(lossy(0.25));
    for round in 0..400_u64 {
        let now = (5 + 100 * round) * MS;
        rig.run(now);
        assert_eq!(rig.air.enqueue(now, 0, unicast(round as u32, 1, 100), false), Ok(()));
    }
    rig.run(60_000 * MS);
    let attempts = rig.times(0, Happening::SendData).len();
    // Geometric: 400 / 0.75 = 533 attempts, standard deviation 13; five of them either way
    assert!((468..=598).contains(&attempts), "{attempts}");
}

#[test]
fn channels_do_not_hear_each_other_and_who_has_none_hears_all() {
    let mut rig = Rig::new(plain(Preset::Standard, &both_ways(&[(0, 1, STRONG), (0, 2, STRONG), (1, 2, STRONG)])));
    let heard = |rig: &Rig, station: u32| rig.air.links(station).iter().map(|link| link.to).collect::<Vec<_>>();
    rig.air.set_channel(0, 2412);
    rig.air.set_channel(1, 2462);
    assert_eq!((heard(&rig, 0), heard(&rig, 1), heard(&rig, 2)), (vec![2], vec![2], vec![]));
    rig.air.set_propagation(Propagation::Matrix(both_ways(&[(0, 1, STRONG), (0, 2, STRONG)])), 10.0);
    assert_eq!((heard(&rig, 0), heard(&rig, 1)), (vec![2], vec![]));
    rig.air.set_channel(1, 2412);
    assert_eq!((heard(&rig, 0), heard(&rig, 1)), (vec![1, 2], vec![0]));
}

#[test]
fn rates_of_b_and_g_live_on_one_air() {
    // 54 Mbit/s: 16 + 4288 + 6 bits are 20 symbols of 216; the silence after it included
    for (rate_bps, airtime_us) in [(2 * M1, 192 + 536 * 4), (54 * M1, 26 + 80)] {
        let links = both_ways(&[(0, 1, STRONG)]);
        let mut rig = Rig::new(AirConfig { phy: PhyKind::Bg, ..plain(Preset::Sinr, &links) });
        rig.start_at(5 * MS, 0, with_chain([(rate_bps, 7), (0, 0), (0, 0), (0, 0)]));
        rig.run(100 * MS);
        let sent = rig.records.iter().find(|record| record.what == Happening::SendData);
        assert_eq!((sent.map(|record| record.value / US), rig.received(1)), (Some(airtime_us), vec![1]));
    }
}
