//! Brightness: V + c, at most 1, where V is the value in HSV, that is, the largest channel of a pixel. Hue and saturation do
//! not change, so all channels of a pixel are multiplied by the same number; a black pixel becomes gray.

use super::Severity;
use super::image::Image;

/// c.
const SHIFTS: [f32; 5] = [0.05, 0.1, 0.15, 0.2, 0.3];

pub(super) fn apply(image: &mut Image, severity: Severity) {
    let shift = severity.of(&SHIFTS);
    let pixels = image.height * image.width;
    for pixel in 0..pixels {
        let places = (0..image.channels).map(|channel| channel * pixels + pixel);
        let value = places.clone().map(|at| image.values[at]).fold(0.0, f32::max);
        let brighter = (value + shift).min(1.0);
        for at in places {
            let old = &mut image.values[at];
            *old = if value > 0.0 { (*old * (brighter / value)).min(1.0) } else { brighter };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::assert_within;
    use super::*;

    #[test]
    fn is_what_scikit_image_gives_by_hsv() {
        // Single precision here, double there.
        assert_within(1e-6, "brightness", apply);
    }
}
