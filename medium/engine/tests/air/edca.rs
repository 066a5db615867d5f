//! EDCA: four access categories in one station. 802.11b, data at 1 Mbit/s, no RTS, preset `standard`.
//!
//! Source: IEEE 802.11-2016 Table 9-137 and Sec. 10.22.2.4. SIFS 10 us, slot 20 us, CWmin 31, CWmax 1023:
//!
//! ```text
//!               AIFSN   AIFS              CWmin   CWmax
//! background        7   10 + 140 = 150       31    1023
//! best effort       3   10 +  60 =  70       31    1023
//! video             2   10 +  40 =  50       15      31
//! voice             2   10 +  40 =  50        7      15
//! ```

use pacelab_air_config::{Category, Preset};
use pacelab_engine::{AirConfig, Ns, Packet, Stream, TraceEvent};

use crate::{MS, Rig, STRONG, US, broadcast, plain, tuned, unicast};

const TABLE: [(Category, Ns, u32); 4] = [
    (Category::Background, 150, 31),
    (Category::BestEffort, 70, 31),
    (Category::Video, 50, 15),
    (Category::Voice, 50, 7),
];

/// The broadcast of station 1 occupies the medium from 5 ms to 5 ms + 192 + 8 * 136 us.
const BUSY_UNTIL: Ns = 5 * MS + 1_280 * US;

/// Station 0 hears a broadcast of station 1. The packets arrive at station 0 while that frame is on the air.
fn contend(seed: u64, packets: &[Packet]) -> Rig {
    let config = tuned(plain(Preset::Standard, &[(1, 0, STRONG)]), |radio| radio.edca = true);
    let mut rig = Rig::new(AirConfig { seed, ..config });
    rig.start_at(5 * MS, 1, broadcast(9, 100));
    packets.iter().zip(0..).for_each(|(&packet, place)| rig.arrive_at(5_500 * US + place, 0, packet));
    rig.run(10 * MS);
    rig
}

#[test]
fn a_category_waits_its_aifs_and_draws_from_its_window() {
    for (category, aifs_us, cw_min) in TABLE {
        for seed in 1..=20 {
            let rig = contend(seed, &[Packet { category, ..broadcast(1, 20) }]);
            let slots = Stream::new(seed, 0).below(cw_min + 1);
            let expected = BUSY_UNTIL + (aifs_us + 20 * Ns::from(slots)) * US;
            assert_eq!(rig.times(0, TraceEvent::SendData), [expected], "{category:?} seed {seed}");
        }
    }
}

#[test]
fn the_more_urgent_of_two_countdowns_that_end_together_sends_and_the_other_counts_a_collision() {
    // AIFS 70 us with s slots and AIFS 50 us with s + 1 slots end at the same time.
    let mut collisions = 0;
    for seed in 1..=200 {
        let mut stream = Stream::new(seed, 0);
        let (best_effort, voice) = (stream.below(32), stream.below(8));
        if voice != best_effort + 1 {
            continue;
        }
        collisions += 1;
        let urgent = Packet { category: Category::Voice, ..broadcast(2, 20) };
        let rig = contend(seed, &[unicast(1, 1, 20), urgent]);
        let at = BUSY_UNTIL + (50 + 20 * Ns::from(voice)) * US;
        assert_eq!(rig.done(0).first(), Some(&(2, 1, None)), "voice is sent first, seed {seed}");
        assert_eq!(rig.times(0, TraceEvent::SendData)[0], at);
        assert_eq!(rig.seen(0, TraceEvent::Retry)[0], (at, 1));
        // The window of best effort doubles: 0 to 63.
        let drawn: Vec<u64> = rig.seen(0, TraceEvent::Backoff).into_iter().map(|(_, slots)| slots).collect();
        assert_eq!(drawn[..3], [best_effort, voice, stream.below(64)].map(u64::from));
    }
    assert!(collisions > 0);
}
