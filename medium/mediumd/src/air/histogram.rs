//! A histogram of durations in steps of at most 1/16, of constant size.

/// Steps an octave, as a power of two.
const STEP_BITS: u32 = 4;
const STEPS: usize = 1 << STEP_BITS;
/// Up to 2^36 ns, a minute; longer ones count as that.
const OCTAVES: usize = 33;
const BUCKETS: usize = STEPS * (OCTAVES + 1);

/// Counts of durations in ns.
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
    /// Counts one.
    pub fn count(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest; of a difference, to the step.
    pub fn max_ns(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max_ns)
    }

    /// The middle of the step that holds the quantile `share` of 0..=1; None without any.
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

    /// What has come since `earlier`, an earlier state of this histogram.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let counts: Vec<u64> = self.counts.iter().zip(&earlier.counts).map(|(now, then)| now - then).collect();
        let last = counts.iter().rposition(|&count| count > 0);
        let max_ns = last.map_or(0, |index| self.max_ns.min(floor_ns(index + 1) - 1));
        Histogram { counts, total: self.total - earlier.total, max_ns }
    }

    /// Forgets all.
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
