//! Shot noise: as if only a few photons were counted. Poisson(c·x) / c for every value, then clipped to 0 … 1.

use rand_chacha::ChaCha8Rng;

use super::Severity;
use super::image::Image;
use super::random::poisson;

/// Photons of full brightness, c.
const PHOTONS: [f64; 5] = [500.0, 250.0, 100.0, 75.0, 50.0];

pub(super) fn apply(image: &mut Image, severity: Severity, rng: &mut ChaCha8Rng) {
    let photons = severity.of(&PHOTONS);
    image.map(|value| (poisson(f64::from(value) * photons, rng) / photons) as f32);
}
