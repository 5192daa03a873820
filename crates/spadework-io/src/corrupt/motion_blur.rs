//! Motion blur: a mean over pixels along a line, in a random direction from −45° to 45°, with smaller weights for pixels
//! farther behind.
//!
//! As ImageMagick does it: weights exp(−i²/2σ²), i = 0 … 2·radius, made to sum to 1; pixel i is the one nearest to i steps
//! along the line, with halves rounded to the lower index; beyond the edge, the nearest pixel is used.

use rand_chacha::ChaCha8Rng;

use super::Severity;
use super::image::{Image, Tap, nearest};
use super::random::uniform;

/// Radius in pixels, and σ.
const LINES: [(usize, f64); 5] = [(6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5)];

pub(super) fn apply(image: &mut Image, severity: Severity, rng: &mut ChaCha8Rng) {
    let angle = -45.0 + 90.0 * uniform(rng);
    apply_at(image, severity, angle);
}

fn apply_at(image: &mut Image, severity: Severity, degrees: f64) {
    let (radius, sigma) = severity.of(&LINES);
    image.filter(&kernel(radius, sigma, degrees), nearest);
}

fn kernel(radius: usize, sigma: f64, degrees: f64) -> Vec<Tap> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let steps = (0..=2 * radius).map(|i| i as f64);
    let weight = |i: f64| (-0.5 * i * i / (sigma * sigma)).exp();
    let sum: f64 = steps.clone().map(weight).sum();
    steps
        .map(|i| Tap {
            down: (i * sin - 0.5).ceil() as isize,
            right: (i * cos - 0.5).ceil() as isize,
            weight: (weight(i) / sum) as f32,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::worst;
    use super::*;

    #[test]
    fn kernels_sum_to_1() {
        for (radius, sigma) in LINES {
            let sum: f32 = kernel(radius, sigma, 30.0).iter().map(|tap| tap.weight).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{radius}: {sum}");
        }
    }

    #[test]
    fn is_what_scipy_correlates() {
        for (name, degrees) in [("motion_-40", -40.0), ("motion_0", 0.0), ("motion_25", 25.0)] {
            let worst = worst(name, |image, severity| apply_at(image, severity, degrees));
            assert!(worst < 1e-6, "{name}: {worst}");
        }
    }
}
