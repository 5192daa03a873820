//! Draws from distributions, by `rand_distr` from the generator that is given.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson, StandardNormal};

/// Uniform in [0, 1).
pub(super) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    rng.random()
}

/// Standard normal.
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Poisson with a finite mean of at least 0.
pub(super) fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> f64 {
    // The crate takes positive means only; of mean 0 every count is 0.
    Poisson::new(mean).map_or(0.0, |counts| counts.sample(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const DRAWS: usize = 200_000;

    /// Mean and variance of many draws.
    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / DRAWS as f64)
    }

    #[test]
    fn a_normal_number_has_mean_0_and_variance_1() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mean, variance) = moments(|| normal(&mut rng));
        // Five standard errors: 1/√n of the mean, √(2/n) of the variance.
        let error = 5.0 / (DRAWS as f64).sqrt();
        assert!(mean.abs() < error && (variance - 1.0).abs() < 1.5 * error, "{mean} {variance}");
        let beyond = (0..DRAWS).filter(|_| normal(&mut rng).abs() > 1.96).count() as f64 / DRAWS as f64;
        assert!((beyond - 0.05).abs() < 5.0 * (0.05_f64 * 0.95 / DRAWS as f64).sqrt(), "{beyond}");
    }

    #[test]
    fn a_poisson_number_has_its_mean_for_variance() {
        for mean in [0.0, 0.3, 4.0, 9.99, 10.0, 37.5, 500.0] {
            let mut rng = ChaCha8Rng::seed_from_u64(2);
            let (got, variance) = moments(|| poisson(mean, &mut rng));
            // The fourth central moment is m + 3m², so the variance's error is √((m + 2m²)/n).
            let n = DRAWS as f64;
            assert!((got - mean).abs() <= 5.0 * (mean / n).sqrt(), "{mean}: mean {got}");
            let error = 5.0 * ((mean + 2.0 * mean * mean) / n).sqrt();
            assert!((variance - mean).abs() <= error, "{mean}: variance {variance}");
        }
    }

    /// Pearson's statistic against the probabilities e^(−m) m^k / k!.
    #[test]
    fn poisson_numbers_have_their_probabilities() {
        for mean in [3.0, 15.0, 80.0_f64] {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let mut counts = vec![0_u32; 400];
            for _ in 0..DRAWS {
                counts[poisson(mean, &mut rng) as usize] += 1;
            }
            let (mut statistic, mut cells) = (0.0, 0);
            let mut probability = (-mean).exp();
            for (k, &count) in counts.iter().enumerate() {
                if k > 0 {
                    probability *= mean / k as f64;
                }
                let expected = probability * DRAWS as f64;
                if expected > 20.0 {
                    statistic += (f64::from(count) - expected).powi(2) / expected;
                    cells += 1;
                }
            }
            // A χ² of c cells has mean c and variance 2c; five standard deviations above it.
            let cells = f64::from(cells);
            assert!(statistic < cells + 5.0 * (2.0 * cells).sqrt(), "{mean}: {statistic} for {cells} cells");
        }
    }

    /// A seed stands for images that people keep: an update of the crate must not change them unnoticed.
    #[test]
    fn a_seed_gives_these_numbers() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let normals: Vec<f64> = (0..3).map(|_| normal(&mut rng)).collect();
        assert_eq!(normals, [-0.775_371_933_217_797_1, -1.383_421_720_008_409_1, 0.889_713_018_743_037_2]);
        let counts: Vec<f64> = [0.5, 4.0, 30.0, 400.0].iter().map(|&mean| poisson(mean, &mut rng)).collect();
        assert_eq!(counts, [1.0, 3.0, 38.0, 379.0]);
    }
}
