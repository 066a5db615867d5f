//! The lateness of the daemon, and its effect on a measurement.
//!
//! Limits: a delivery that is 100 us late is a fifth of the shortest data exchange (60 B at 11 Mbit/s); 1 ms is a tenth
//! of the longest (1500 B at 2 Mbit/s with RTS). TCP over such an air waits tens of ms for an acknowledgement.

use std::collections::VecDeque;

use pacelab_engine::Ns;

const SECOND_NS: Ns = 1_000_000_000;
/// Seconds that the present fidelity covers.
const WINDOW: usize = 10;

/// Largest (median, 99th percentile) for valid results.
const VALID_NS: (Ns, Ns) = (100_000, 1_000_000);
/// Largest (median, 99th percentile) for degraded results.
const DEGRADED_NS: (Ns, Ns) = (500_000, 10_000_000);

/// The verdict on the timing of a measurement, from the lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fidelity {
    /// No effect.
    Valid,
    /// Times are wrong; rates may be.
    Degraded,
    /// The result reflects the machine, not the air.
    Invalid,
}

impl Fidelity {
    /// The name on the socket.
    pub fn name(self) -> &'static str {
        match self {
            Fidelity::Valid => "valid",
            Fidelity::Degraded => "degraded",
            Fidelity::Invalid => "invalid",
        }
    }

    fn of(histogram: &Histogram, lost: u64) -> Self {
        let (Some(p50), Some(p99)) = (histogram.quantile_ns(0.5), histogram.quantile_ns(0.99)) else {
            return if lost > 0 { Fidelity::Invalid } else { Fidelity::Valid };
        };
        let within = |(median_ns, high_ns): (Ns, Ns)| p50 <= median_ns && p99 <= high_ns;
        match () {
            () if lost > 0 => Fidelity::Invalid,
            () if within(VALID_NS) => Fidelity::Valid,
            () if within(DEGRADED_NS) => Fidelity::Degraded,
            () => Fidelity::Invalid,
        }
    }
}

/// The deliveries of one second.
#[derive(Clone, Debug, Default)]
struct Second {
    deliveries: Histogram,
    lost: u64,
}

/// The daemon's own lateness.
#[derive(Debug)]
pub struct Lateness {
    /// Lateness of delivered frames since the start.
    pub delivery: Histogram,
    /// Lateness of timer wake-ups since the start.
    pub wakeup: Histogram,
    /// Frames lost outside the model, since the start.
    pub lost: u64,
    /// Seconds with deliveries or losses that were valid, degraded, invalid.
    pub seconds: [u64; 3],
    /// The last seconds; the present one is the last element.
    window: VecDeque<Second>,
    /// Number of the present second.
    running: u64,
    /// The fidelity that `change` reported last.
    reported: Fidelity,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness {
            delivery: Histogram::default(),
            wakeup: Histogram::default(),
            lost: 0,
            seconds: [0; 3],
            window: (0..WINDOW).map(|_| Second::default()).collect(),
            running: 0,
            reported: Fidelity::Valid,
        }
    }
}

impl Lateness {
    /// Records a frame that was due at `due` and was delivered at `now`.
    pub fn delivered(&mut self, due: Ns, now: Ns) {
        self.roll(now);
        let late_ns = now.saturating_sub(due);
        self.delivery.count(late_ns);
        self.window[WINDOW - 1].deliveries.count(late_ns);
    }

    /// Records a frame that was lost outside the model.
    pub fn lost(&mut self, now: Ns) {
        self.roll(now);
        self.lost += 1;
        self.window[WINDOW - 1].lost += 1;
    }

    /// Records a timer wake-up that was due at `due` and happened at `now`.
    pub fn woken(&mut self, due: Ns, now: Ns) {
        self.wakeup.count(now.saturating_sub(due));
    }

    /// The fidelity of all deliveries since the start, without losses.
    pub fn since_start(&self) -> Fidelity {
        Fidelity::of(&self.delivery, 0)
    }

    /// The fidelity of the last seconds.
    pub fn fidelity(&mut self, now: Ns) -> Fidelity {
        self.roll(now);
        let mut all = Second::default();
        for second in &self.window {
            all.deliveries.add(&second.deliveries);
            all.lost += second.lost;
        }
        Fidelity::of(&all.deliveries, all.lost)
    }

    /// One line if the fidelity of the last seconds has become worse, or valid again, since the line before.
    pub fn change(&mut self, now: Ns) -> Option<String> {
        let (before, after) = (self.reported, self.fidelity(now));
        if after == before || (after < before && after != Fidelity::Valid) {
            return None;
        }
        self.reported = after;
        if after == Fidelity::Valid {
            return Some("results are valid again: frames arrive in time".into());
        }
        let mut deliveries = Histogram::default();
        self.window.iter().for_each(|second| deliveries.add(&second.deliveries));
        let lost: u64 = self.window.iter().map(|second| second.lost).sum();
        let ms = |share| deliveries.quantile_ns(share).unwrap_or(0) as f64 / 1e6;
        Some(format!(
            "results of the last {WINDOW} s are {}: this machine is too slow or too busy (frames are late by {:.1} ms in the \
             median and {:.1} ms at the 99th percentile; {lost} lost)",
            after.name(),
            ms(0.5),
            ms(0.99)
        ))
    }

    fn roll(&mut self, now: Ns) {
        let second = now / SECOND_NS;
        if second == self.running {
            return;
        }
        let ended = &self.window[WINDOW - 1];
        if ended.deliveries.total() > 0 || ended.lost > 0 {
            self.seconds[Fidelity::of(&ended.deliveries, ended.lost) as usize] += 1;
        }
        for _ in 0..(second - self.running).min(WINDOW as u64) {
            let Some(mut oldest) = self.window.pop_front() else { break };
            oldest.deliveries.clear();
            oldest.lost = 0;
            self.window.push_back(oldest);
        }
        self.running = second;
    }
}

/// Steps per octave, as a power of two.
const STEP_BITS: u32 = 4;
const STEPS: usize = 1 << STEP_BITS;
/// Up to 2^36 ns, about a minute; longer durations count as that.
const OCTAVES: usize = 33;
const BUCKETS: usize = STEPS * (OCTAVES + 1);

/// Counts of durations in ns, in steps of at most 1/16, of constant size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS], total: 0, max_ns: 0 }
    }
}

impl Histogram {
    /// Adds a duration.
    pub fn count(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Number of durations.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest duration. For a difference of histograms it is exact to one step.
    pub fn max_ns(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max_ns)
    }

    /// The middle of the step that holds the quantile `share` of 0..=1; None if there are no durations.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let index = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        })?;
        Some(((floor_ns(index) + floor_ns(index + 1)) / 2).min(self.max_ns))
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.total += other.total;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The durations added since `earlier`, an earlier state of this histogram.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let counts: Vec<u64> = self.counts.iter().zip(&earlier.counts).map(|(now, then)| now - then).collect();
        let last = counts.iter().rposition(|&count| count > 0);
        let max_ns = last.map_or(0, |index| self.max_ns.min(floor_ns(index + 1) - 1));
        Histogram { counts, total: self.total - earlier.total, max_ns }
    }

    /// Removes all durations.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.max_ns) = (0, 0);
    }
}

fn bucket(ns: u64) -> usize {
    if ns < STEPS as u64 {
        return ns as usize;
    }
    let octave = ns.ilog2() - STEP_BITS;
    let step = (ns >> octave) as usize - STEPS;
    (STEPS * (octave as usize + 1) + step).min(BUCKETS - 1)
}

/// The smallest duration of a bucket.
fn floor_ns(index: usize) -> u64 {
    if index < STEPS {
        return index as u64;
    }
    ((STEPS + index % STEPS) as u64) << (index / STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: Ns = 1_000;

    fn second(lateness: &mut Lateness, number: u64, late_ns: Ns) {
        for index in 0..100 {
            let due = number * SECOND_NS + index * 5_000 * US;
            lateness.delivered(due, due + late_ns);
        }
    }

    #[test]
    fn a_change_of_fidelity_is_one_line() {
        let mut lateness = Lateness::default();
        let mut lines = Vec::new();
        for second in 0..60 {
            let late_ns = if second < 20 { 20_000_000 } else { 10_000 };
            for place in 0..50 {
                let due = second * SECOND_NS + place * 1_000_000;
                lateness.delivered(due, due + late_ns);
            }
            lines.extend(lateness.change(second * SECOND_NS + SECOND_NS / 2).map(|line| (second, line)));
        }
        let [(0, invalid), (valid_at, valid)] = &lines[..] else { panic!("{lines:?}") };
        assert!(
            invalid.starts_with("results of the last 10 s are invalid: ") && invalid.ends_with("; 0 lost)"),
            "{invalid}"
        );
        assert!(invalid.contains("20.") || invalid.contains("19."), "{invalid}");
        assert_eq!((*valid_at, valid.contains('\n')), (29, false)); // the last late second has left the window
        assert!(valid.starts_with("results are valid again"));
    }

    #[test]
    fn the_judgement_follows_the_stated_limits() {
        for (late_us, expected) in
            [(20, Fidelity::Valid), (90, Fidelity::Valid), (120, Fidelity::Degraded), (600, Fidelity::Invalid)]
        {
            let mut lateness = Lateness::default();
            second(&mut lateness, 0, late_us * US);
            assert_eq!(lateness.fidelity(SECOND_NS - 1), expected, "{late_us} us");
        }
        let mut stalls = Lateness::default();
        second(&mut stalls, 0, 20 * US);
        (0..3).for_each(|_| stalls.delivered(0, 5_000 * US)); // 3 of 103 stalled for 5 ms: the 99th percentile
        assert_eq!(stalls.fidelity(SECOND_NS - 1), Fidelity::Degraded);
    }

    #[test]
    fn a_bad_second_is_forgotten_after_ten_and_stays_counted() {
        let bad_second = || {
            let mut lateness = Lateness::default();
            second(&mut lateness, 0, 20_000 * US);
            lateness
        };
        assert_eq!(bad_second().fidelity(9 * SECOND_NS), Fidelity::Invalid);
        let mut lateness = bad_second();
        (1..=11).for_each(|number| second(&mut lateness, number, 20 * US));
        assert_eq!(lateness.fidelity(12 * SECOND_NS), Fidelity::Valid);
        assert_eq!(lateness.since_start(), Fidelity::Invalid); // 1 of 12 is more than the 99th percentile may be
        assert_eq!(lateness.seconds, [11, 0, 1]);
        assert_eq!(lateness.delivery.total(), 1200);
    }

    #[test]
    fn a_frame_lost_outside_the_model_is_invalid_and_silence_is_valid() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.fidelity(5), Fidelity::Valid);
        lateness.lost(6);
        assert_eq!(lateness.fidelity(7), Fidelity::Invalid);
        assert_eq!(lateness.fidelity(100 * SECOND_NS), Fidelity::Valid);
        assert_eq!(lateness.lost, 1);
    }

    #[test]
    fn quantiles_are_within_a_step_and_the_maximum_is_exact() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|us| histogram.count(us * 1000));
        let near =
            |share: f64, ns: f64| (histogram.quantile_ns(share).expect("some") as f64 / ns - 1.0).abs() <= 1.0 / 16.0;
        assert!(near(0.5, 500_000.0) && near(0.99, 990_000.0) && near(1.0, 1_000_000.0));
        assert_eq!((histogram.max_ns(), histogram.total()), (Some(1_000_000), 1000));
        assert_eq!((Histogram::default().quantile_ns(0.5), Histogram::default().max_ns()), (None, None));
    }

    #[test]
    fn a_difference_holds_what_came_since() {
        let mut histogram = Histogram::default();
        (0..100).for_each(|_| histogram.count(1_000_000));
        let earlier = histogram.clone();
        (0..10).for_each(|_| histogram.count(10));
        let since = histogram.since(&earlier);
        assert_eq!((since.total(), since.quantile_ns(0.5), since.max_ns()), (10, Some(10), Some(10)));
        assert_eq!(histogram.since(&histogram.clone()).quantile_ns(0.5), None);
    }

    proptest! {
        #[test]
        fn every_duration_falls_into_a_bucket_that_holds_it(ns in 0u64..1 << 36) {
            let index = bucket(ns);
            prop_assert!(floor_ns(index) <= ns && ns < floor_ns(index + 1));
            prop_assert!(floor_ns(index + 1) - floor_ns(index) <= 1 + ns / 16);
        }

        #[test]
        fn absurd_durations_are_counted_too(ns in any::<u64>()) {
            let mut histogram = Histogram::default();
            histogram.count(ns);
            prop_assert_eq!((histogram.total(), histogram.max_ns()), (1, Some(ns)));
            prop_assert!(histogram.quantile_ns(0.5).is_some());
        }
    }
}
