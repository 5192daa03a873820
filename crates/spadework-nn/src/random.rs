//! Random numbers: from the seed, with separate streams for each purpose, round and sample.
//!
//! So nothing depends on the order in which samples are visited, on the size of a batch or on the number of threads, and a
//! resumed run draws the same numbers as an uninterrupted one.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
pub(crate) use spadework::random::Purpose;
use spadework::random::stream_in_round;

/// The numbers for one sample (or layer) in one round of a purpose.
pub(crate) fn stream(seed: u64, purpose: Purpose, round: u64, index: u64) -> ChaCha8Rng {
    stream_in_round(seed, purpose, round, index)
}

/// Uniform in [-1, 1).
pub(crate) fn symmetric(rng: &mut ChaCha8Rng) -> f32 {
    rng.random_range(-1.0_f32..1.0)
}

/// A point of the unit ball of the Euclidean norm, uniform.
pub(crate) fn euclidean_ball(rng: &mut ChaCha8Rng, into: &mut [f32]) {
    let mut squares = 0.0_f64;
    for value in &mut *into {
        let drawn = normal(rng);
        squares += drawn * drawn;
        *value = drawn as f32;
    }
    let radius = rng.random::<f64>().powf(1.0 / into.len() as f64);
    let scale = (radius / squares.sqrt().max(f64::MIN_POSITIVE)) as f32;
    for value in into {
        *value *= scale;
    }
}

/// A point of the unit ball of the sum of magnitudes, uniform: magnitudes are spacings of the unit interval.
pub(crate) fn taxicab_ball(rng: &mut ChaCha8Rng, into: &mut [f32]) {
    let exponential = |rng: &mut ChaCha8Rng| -(1.0 - rng.random::<f64>()).ln();
    let mut sum = exponential(rng);
    for value in &mut *into {
        let magnitude = exponential(rng);
        sum += magnitude;
        *value = if rng.random::<bool>() { magnitude } else { -magnitude } as f32;
    }
    for value in into {
        *value /= sum as f32;
    }
}

/// Standard normal, by the method of Box and Muller.
pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// The numbers below `count` in random order (Fisher and Yates).
pub(crate) fn permutation(rng: &mut ChaCha8Rng, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, rng.random_range(0..=at));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balls_are_filled_to_their_edge_and_not_beyond() {
        let mut rng = stream(1, Purpose::Ball, 0, 0);
        let (mut euclidean, mut taxicab) = (0.0, 0.0);
        for _ in 0..2000 {
            let mut point = [0.0_f32; 3];
            euclidean_ball(&mut rng, &mut point);
            let norm = point.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt();
            assert!(norm <= 1.0 + 1e-6);
            euclidean += norm;
            taxicab_ball(&mut rng, &mut point);
            let norm: f64 = point.iter().map(|v| f64::from(v.abs())).sum();
            assert!(norm <= 1.0 + 1e-6);
            taxicab += norm;
        }
        // The mean norm of a uniform point of a ball in d dimensions is d / (d + 1), with a standard deviation below 0.2.
        let mean_norm = |sum: f64| sum / 2000.0;
        assert!((mean_norm(euclidean) - 0.75).abs() < 0.02, "{euclidean}");
        assert!((mean_norm(taxicab) - 0.75).abs() < 0.02, "{taxicab}");
    }

    #[test]
    fn streams_of_neighbours_differ() {
        let draw = |round, index| stream(0, Purpose::AttackStart, round, index).random::<u64>();
        assert_ne!(draw(0, 1), draw(1, 0));
        assert_ne!(draw(0, 0), draw(0, 1));
        assert_eq!(draw(3, 4), draw(3, 4));
    }
}
