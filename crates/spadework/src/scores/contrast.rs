//! Is one group of numbers larger than another? Means with bootstrap intervals, and a permutation test.
//!
//! The paper's Table 2 compares the mean distortion of the top edges with that of random ones. A mean of 100 numbers needs its
//! uncertainty: percentile intervals of bootstrap means (Efron 1979), and the probability of a difference as large as this
//! one if the numbers were assigned to the groups at random (Fisher 1935), (1 + exceedances)/(1 + permutations).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::random::{Purpose, draw, drawn, stream};

/// Bootstrap samples of each group.
pub const BOOTSTRAPS: usize = 10_000;
/// Permutations of the two groups.
pub const PERMUTATIONS: usize = 9_999;
/// Confidence of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// A mean with the interval of its bootstrap means.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MeanInterval {
    /// The mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// A comparison of two groups.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Contrast {
    /// The group whose numbers are expected to be larger.
    pub top: MeanInterval,
    /// The group it is compared with.
    pub random: MeanInterval,
    /// Probability, if numbers were assigned at random, that the top mean exceeds the random one by as much; one-sided.
    pub p_value: f64,
}

impl Contrast {
    /// Compares two groups.
    ///
    /// # Panics
    /// When a group is empty.
    pub fn new(top: &[f64], random: &[f64], seed: u64) -> Self {
        assert!(!top.is_empty() && !random.is_empty(), "a group needs a number");
        let mut rng = stream(seed, Purpose::Bootstrap);
        let (top_mean, random_mean) = (bootstrap(top, &mut rng), bootstrap(random, &mut rng));
        let p_value = permutation(top, random, &mut stream(seed, Purpose::Permutations));
        Self { top: top_mean, random: random_mean, p_value }
    }
}

/// `count` distinct positions below `len` that are not `taken`, uniformly at random, ascending; fewer if there are not
/// enough.
pub fn draw_others(len: usize, taken: &[usize], count: usize, seed: u64) -> Vec<usize> {
    let mut is_taken = vec![false; len];
    for &at in taken {
        is_taken[at] = true;
    }
    let others = (0..len).filter(|&at| !is_taken[at]).collect();
    drawn(others, count, &mut stream(seed, Purpose::RandomEdges))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The percentile interval of the means of samples drawn with replacement.
fn bootstrap(values: &[f64], rng: &mut ChaCha8Rng) -> MeanInterval {
    let resampled = |_| -> f64 {
        let sum: f64 = (0..values.len()).map(|_| values[rng.random_range(0..values.len())]).sum();
        sum / values.len() as f64
    };
    let mut means: Vec<f64> = (0..BOOTSTRAPS).map(resampled).collect();
    means.sort_unstable_by(f64::total_cmp);
    let beyond = ((1.0 - CONFIDENCE) / 2.0 * BOOTSTRAPS as f64).round() as usize;
    MeanInterval { mean: mean(values), lower: means[beyond], upper: means[BOOTSTRAPS - 1 - beyond] }
}

/// How often assigning all numbers at random gives the first group at least its sum. The total is fixed, so sums of one group
/// compare as differences of means do.
fn permutation(top: &[f64], random: &[f64], rng: &mut ChaCha8Rng) -> f64 {
    let mut all: Vec<f64> = top.iter().chain(random).copied().collect();
    let observed: f64 = top.iter().sum();
    // A sum in another order may differ in its last digits; equal must count as equal.
    let slack = 1e-12 * all.iter().map(|value| value.abs()).sum::<f64>();
    let mut exceedances = 0;
    for _ in 0..PERMUTATIONS {
        draw(&mut all, top.len(), rng);
        exceedances += usize::from(all[..top.len()].iter().sum::<f64>() >= observed - slack);
    }
    (1 + exceedances) as f64 / (1 + PERMUTATIONS) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the C(8,4) = 70 ways to deal eight different numbers, one puts the four largest first.
    #[test]
    fn the_p_value_is_the_part_of_all_ways() {
        let contrast = Contrast::new(&[5.0, 6.0, 7.0, 8.0], &[1.0, 2.0, 3.0, 4.0], 7);
        // Binomial: 9,999 draws with probability 1/70 have a standard deviation of 0.0012; four of them.
        assert!((contrast.p_value - 1.0 / 70.0).abs() < 0.005, "{}", contrast.p_value);
        assert_eq!((contrast.top.mean, contrast.random.mean), (6.5, 2.5));
    }

    #[test]
    fn equal_groups_are_no_evidence() {
        assert_eq!(Contrast::new(&[2.0; 5], &[2.0; 5], 0).p_value, 1.0);
    }

    /// The standard error of a mean of n numbers with variance s² is s/√n, and 95 % lie within 1.96 of it.
    #[test]
    fn intervals_have_the_width_of_the_normal_ones() {
        let values: Vec<f64> = (0..400).map(|i| f64::from(i % 20)).collect();
        let interval = Contrast::new(&values, &[0.0], 3).top;
        let half = 1.96 * ((20.0 * 20.0 - 1.0) / 12.0_f64).sqrt() / 20.0;
        assert!((interval.lower - (9.5 - half)).abs() < 0.1 * half, "{interval:?}");
        assert!((interval.upper - (9.5 + half)).abs() < 0.1 * half, "{interval:?}");
    }

    #[test]
    fn draws_are_distinct_and_leave_out_what_is_taken() {
        let drawn = draw_others(50, &[3, 4, 5], 40, 1);
        assert_eq!(drawn.len(), 40);
        assert!(drawn.is_sorted_by(|a, b| a < b) && drawn.iter().all(|at| !(3..=5).contains(at)));
        assert_ne!(drawn, draw_others(50, &[3, 4, 5], 40, 2));
        assert_eq!(draw_others(5, &[0], 10, 1), [1, 2, 3, 4]);
    }
}
