//! Impulse noise, or salt and pepper: a share of all values, drawn one by one, becomes 0 or 1 with equal probability.

use rand_chacha::ChaCha8Rng;

use super::Severity;
use super::image::Image;
use super::random::uniform;

/// Part of the values that are replaced.
const PARTS: [f64; 5] = [0.01, 0.02, 0.03, 0.05, 0.07];

pub(super) fn apply(image: &mut Image, severity: Severity, rng: &mut ChaCha8Rng) {
    let part = severity.of(&PARTS);
    image.map(|value| {
        // Two draws for every value, replaced or not, so that severities differ in the part alone.
        let (is_hit, is_salt) = (uniform(rng) < part, uniform(rng) < 0.5);
        if is_hit { f32::from(u8::from(is_salt)) } else { value }
    });
}
