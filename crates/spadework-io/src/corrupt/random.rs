//! Draws from distributions, made of uniform numbers alone so that they depend on nothing but the generator.

use std::f64::consts::TAU;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Uniform in [0, 1).
pub(super) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    rng.random()
}

/// Standard normal (Box and Muller).
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    // 1 − u is never 0.
    let radius = (-2.0 * (1.0 - uniform(rng)).ln()).sqrt();
    radius * (TAU * uniform(rng)).cos()
}

/// Poisson with a mean of at least 0.
pub(super) fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> f64 {
    if mean < 10.0 { by_inversion(mean, rng) } else { by_rejection(mean, rng) }
}

/// Adds up probabilities until a uniform number is reached.
fn by_inversion(mean: f64, rng: &mut ChaCha8Rng) -> f64 {
    /// Beyond this the probability is below the last digit of a uniform number.
    const LAST: f64 = 100.0;
    let target = uniform(rng);
    let (mut count, mut probability) = (0.0, (-mean).exp());
    let mut sum = probability;
    while sum <= target && count < LAST {
        count += 1.0;
        probability *= mean / count;
        sum += probability;
    }
    count
}

/// Hörmann's transformed rejection with squeeze, PTRS (Insurance: Mathematics and Economics 12, 1993, 39–45), with his
/// constants.
fn by_rejection(mean: f64, rng: &mut ChaCha8Rng) -> f64 {
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let squeeze = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = uniform(rng) - 0.5;
        let v = 1.0 - uniform(rng);
        let us = 0.5 - u.abs();
        let count = ((2.0 * a / us + b) * u + mean + 0.43).floor();
        if us >= 0.07 && v <= squeeze {
            return count;
        }
        if count < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let bound = count * mean.ln() - mean - ln_factorial(count);
        if (v * inverse_alpha / (a / (us * us) + b)).ln() <= bound {
            return count;
        }
    }
}

/// ln n!, by Stirling's series from 16 on, where three terms leave less than 1e-9.
fn ln_factorial(n: f64) -> f64 {
    if n < 16.0 {
        return (2..=n as u64).map(|k| k as f64).product::<f64>().ln();
    }
    n * n.ln() - n + 0.5 * (TAU * n).ln() + 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3))
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

    #[test]
    fn factorials() {
        assert!((ln_factorial(15.0) - 1_307_674_368_000_f64.ln()).abs() < 1e-12);
        // 20! = 2432902008176640000.
        assert!((ln_factorial(20.0) - 2_432_902_008_176_640_000_f64.ln()).abs() < 1e-9);
    }
}
