//! IEEE 802.11 as written, where ns-2 differs. Data at 1 Mbit/s: a packet of b bytes takes 192 + 8 (b + 36) us.

use pacelab_air_config::Preset;
use pacelab_engine::Happening;

use crate::{FAINT, FAIR, MS, Rig, STRONG, US, both_ways, broadcast, plain, tuned, unicast};

#[test]
fn a_packet_that_finds_the_medium_idle_for_difs_leaves_at_once() {
    // Idle since 0: at 20 us the remaining 30 us of DIFS are waited for.
    for (arrives, leaves) in [(20 * US, 50 * US), (50 * US, 50 * US), (5 * MS, 5 * MS)] {
        let mut rig = Rig::new(plain(Preset::Standard, &[(0, 1, STRONG)]));
        rig.arrive_at(arrives, 0, broadcast(1, 100));
        rig.run(50 * MS);
        assert_eq!(rig.times(0, Happening::SendData), [leaves]);
        // The backoff after it is drawn when it has gone, not before.
        assert_eq!(rig.times(0, Happening::Backoff), [leaves + (192 + 8 * 136) * US]);
    }
}

#[test]
fn a_packet_that_finds_the_medium_busy_waits_difs_and_a_backoff() {
    let mut rig = Rig::new(plain(Preset::Standard, &[(1, 0, STRONG)]));
    rig.start_at(5 * MS, 1, broadcast(1, 100)); // until 6.280
    rig.arrive_at(6 * MS, 0, broadcast(2, 100));
    rig.run(50 * MS);
    let slots = rig.seen(0, Happening::Backoff)[0].1;
    assert_eq!(rig.times(0, Happening::SendData), [6_280 * US + 50 * US + slots * 20 * US]);
}

#[test]
fn a_garbled_frame_is_followed_by_eifs() {
    let mut rig = Rig::new(plain(Preset::Standard, &[(1, 0, FAINT)]));
    rig.start_at(5 * MS, 1, broadcast(1, 100));
    rig.arrive_at(6 * MS, 0, broadcast(2, 100));
    rig.run(50 * MS);
    let slots = rig.seen(0, Happening::Backoff)[0].1;
    assert_eq!(rig.times(0, Happening::SendData), [6_280 * US + 364 * US + slots * 20 * US]);
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
    assert_eq!(rig.times(0, Happening::Decode), [6_578 * US]);
    let slots = rig.seen(0, Happening::Backoff)[0].1;
    assert_eq!(rig.times(0, Happening::SendData), [6_578 * US + 50 * US + slots * 20 * US]);
}

/// 1 asks 0 for leave; 2 is heard by 0 alone.
fn with_rts(power_w: f64) -> Rig {
    let mut links = both_ways(&[(0, 1, STRONG)]);
    links.push((2, 0, power_w));
    Rig::new(tuned(plain(Preset::Standard, &links), |radio| radio.rts_threshold_bytes = 0))
}

#[test]
fn a_cts_asks_the_nav_alone_not_the_energy_on_the_air() {
    // 2's frame begins during the RTS, which survives it, and lasts beyond; ns-2 refuses here.
    let mut rig = with_rts(FAIR);
    rig.start_at(5 * MS, 1, unicast(1, 0, 100));
    rig.start_at(5 * MS + 100 * US, 2, broadcast(2, 2000));
    rig.run(50 * MS);
    assert_eq!(rig.times(0, Happening::SendCts), [5_362 * US]);
    assert!(rig.times(0, Happening::RefuseCts).is_empty());
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
    assert_eq!(rig.seen(0, Happening::Nav), [(5_666 * US, nav_until)]);
    assert_eq!(rig.times(0, Happening::RefuseCts), [6_362 * US]);
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
    assert_eq!(rig.times(0, Happening::Retry)[0], 5 * MS + (1264 + 222) * US);
}
