//! One seeded random stream per component.
//!
//! A stream is named by the run's seed and a stream number, so that adding a consumer never shifts another's draws.

use rand_core::RngCore;
use rand_pcg::Pcg32;

/// A seeded stream of uniform draws.
#[derive(Clone, Debug)]
pub struct Stream(Pcg32);

impl Stream {
    /// The stream `number` of the run with this `seed`.
    pub fn new(seed: u64, number: u64) -> Self {
        // PCG's streams differ in their increment only; neighbouring seeds need mixing to be unrelated.
        Stream(Pcg32::new(mix(seed), mix(number ^ 0x9e37_79b9_7f4a_7c15)))
    }

    /// Uniform over `0..bound`, unbiased to 2^-32 relative (Lemire's multiply-shift without rejection).
    ///
    /// `bound` is at most a few thousand slots here, so the bias is below one in a million.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// Uniform over [0, 1) with 32 bits.
    pub fn unit(&mut self) -> f64 {
        f64::from(self.0.next_u32()) / 4_294_967_296.0
    }

    /// Standard normal (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v)
    }
}

/// The finaliser of SplitMix64: a bijection that spreads every input bit.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_covers_the_range_evenly() {
        let mut stream = Stream::new(1, 0);
        let mut seen = [0u32; 31];
        for _ in 0..310_000 {
            seen[stream.below(31) as usize] += 1;
        }
        // 10,000 expected in each bin, standard deviation 98: five of them either way.
        assert!(seen.iter().all(|&count| (9_500..=10_500).contains(&count)), "{seen:?}");
    }

    #[test]
    fn neighbouring_seeds_and_streams_differ() {
        let draws = |seed, number| {
            let mut stream = Stream::new(seed, number);
            (0..8).map(|_| stream.below(1024)).collect::<Vec<_>>()
        };
        assert_ne!(draws(1, 0), draws(2, 0));
        assert_ne!(draws(1, 0), draws(1, 1));
        assert_eq!(draws(7, 3), draws(7, 3));
    }
}
