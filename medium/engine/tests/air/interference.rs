//! Frames that overlap, for `standard` (interference adds up) and `sinr` (preamble capture and an error model). Station 0
//! receives; the stations 1, 2, ... do not hear each other. A broadcast starts at once on an idle medium.

use super::*;

/// Station 0 hears the stations 1, 2, ... with these powers in W.
fn receiver_of(preset: Preset, powers_w: &[f64]) -> Rig {
    let links: Vec<_> = powers_w.iter().zip(1..).map(|(&power_w, station)| (station, 0, power_w)).collect();
    Rig::new(plain(preset, &links))
}

/// Packets that station 0 receives if each station k sends a broadcast with the number k, of the given size, at the
/// given time.
fn received(preset: Preset, frames: &[(f64, Ns, u32)]) -> Vec<u32> {
    let mut rig = receiver_of(preset, &frames.iter().map(|&(power_w, _, _)| power_w).collect::<Vec<_>>());
    for (&(_, at, bytes), station) in frames.iter().zip(1..) {
        rig.start_at(at, station, broadcast(station, bytes));
    }
    rig.run(100 * MS);
    rig.received(0)
}

#[test]
fn interference_adds_up_in_the_standard() {
    // 12 dB below: one interferer leaves 12 dB, which is above 10; two leave 9 dB, which is below.
    let weak_w = STRONG / 10_f64.powf(1.2);
    let first = (STRONG, 5 * MS, 1000);
    assert_eq!(received(Preset::Standard, &[first, (weak_w, 6 * MS, 50)]), [1]);
    assert_eq!(received(Preset::Standard, &[first, (weak_w, 6 * MS, 50), (weak_w, 6 * MS + 100 * US, 50)]), [0; 0]);
    // Two that do not meet each other leave 12 dB each. 50 bytes take less than 1 ms.
    assert_eq!(received(Preset::Standard, &[first, (weak_w, 6 * MS, 50), (weak_w, 8 * MS, 50)]), [1]);
}

#[test]
fn ten_db_is_enough_in_the_standard_and_a_little_less_is_not() {
    for (power_w, survivors) in [(STRONG / 10.01, vec![1]), (STRONG / 9.99, vec![])] {
        assert_eq!(received(Preset::Standard, &[(STRONG, 5 * MS, 500), (power_w, 7 * MS, 100)]), survivors);
    }
}

#[test]
fn a_frame_that_starts_during_another_needs_ten_db_over_it() {
    // Frame 1 ends before 7 ms. Frame 2 outlasts it, so nothing is locked when frame 3 starts, but the medium is not silent.
    for (power_w, survivors) in [(FAIR * 10.01, vec![3]), (FAIR * 9.99, vec![]), (FAIR, vec![])] {
        let frames = [(FAIR, 5 * MS, 100), (FAIR, 5 * MS + 500 * US, 2000), (power_w, 8 * MS, 100)];
        assert_eq!(received(Preset::Standard, &frames), survivors, "{power_w}");
    }
}

#[test]
fn a_stronger_frame_takes_over_during_the_preamble() {
    // Long preamble: 192 us. The newcomer must be 10 dB stronger.
    let first = (FAIR, 5 * MS, 1000);
    for (power_w, late, survivors) in [
        (FAIR * 10.01, 100 * US, vec![2]),
        (FAIR * 9.99, 100 * US, vec![]),
        (FAIR * 100.0, 192 * US - 1, vec![2]),
        (FAIR * 100.0, 192 * US, vec![]),
    ] {
        let frames = [first, (power_w, 5 * MS + late, 100)];
        assert_eq!(received(Preset::Sinr, &frames), survivors, "{power_w} {late}");
        // The standard stays with the first frame.
        assert_eq!(received(Preset::Standard, &frames), [0; 0], "{power_w} {late}");
    }
}

#[test]
fn a_preamble_that_is_not_found_is_energy_only() {
    let mut rig = receiver_of(Preset::Sinr, &[FAINT, STRONG]);
    rig.start_at(5 * MS, 1, broadcast(1, 1000));
    rig.start_at(6 * MS, 2, broadcast(2, 100)); // 30 dB above the faint frame
    rig.run(50 * MS);
    assert_eq!(rig.received(0), [2]);
    assert_eq!(rig.times(0, TraceEvent::Lock), [6 * MS]);
    assert!(rig.times(0, TraceEvent::Garbled).is_empty());
}

#[test]
fn a_station_that_sends_finds_no_preamble() {
    for preset in [Preset::Standard, Preset::Sinr] {
        let mut rig = receiver_of(preset, &[STRONG]);
        rig.start_at(5 * MS, 0, broadcast(0, 1000));
        rig.start_at(6 * MS, 1, broadcast(1, 100));
        rig.run(50 * MS);
        assert!(rig.received(0).is_empty());
        assert!(rig.times(0, TraceEvent::Lock).is_empty());
    }
}
