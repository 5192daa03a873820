//! Gaussian noise: x + σ·z, z standard normal for every value, then clipped to 0 … 1.

use rand_chacha::ChaCha8Rng;

use super::Severity;
use super::image::Image;
use super::random::normal;

/// σ.
const SCALES: [f64; 5] = [0.04, 0.06, 0.08, 0.09, 0.10];

pub(super) fn apply(image: &mut Image, severity: Severity, rng: &mut ChaCha8Rng) {
    let scale = severity.of(&SCALES);
    image.map(|value| (f64::from(value) + scale * normal(rng)) as f32);
}
