//! Contrast: (x − m)·c + m, with the mean m of each channel over the image.

use super::Severity;
use super::image::Image;

/// c.
const FACTORS: [f32; 5] = [0.75, 0.5, 0.4, 0.3, 0.15];

pub(super) fn apply(image: &mut Image, severity: Severity) {
    let factor = severity.of(&FACTORS);
    for plane in image.planes_mut() {
        let mean = (plane.iter().copied().map(f64::from).sum::<f64>() / plane.len() as f64) as f32;
        for value in plane {
            *value = ((*value - mean) * factor + mean).clamp(0.0, 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{assert_within, image, severities};
    use super::*;

    #[test]
    fn is_what_the_formula_gives_in_numpy() {
        assert_within(1e-6, "contrast", apply);
    }

    #[test]
    fn means_stay_and_deviations_shrink_by_the_factor() {
        for (severity, factor) in severities().zip(FACTORS) {
            let before = image("color");
            let mut after = before.clone();
            apply(&mut after, severity);
            let (mut before, mut after) = (before, after);
            for (before, after) in before.planes_mut().zip(after.planes_mut()) {
                let mean = |plane: &[f32]| plane.iter().sum::<f32>() / plane.len() as f32;
                let deviation =
                    |plane: &[f32]| plane.iter().map(|v| (v - mean(plane)).powi(2)).sum::<f32>().sqrt();
                assert!((mean(before) - mean(after)).abs() < 1e-5);
                assert!((deviation(before) * factor - deviation(after)).abs() < 1e-3);
            }
        }
    }
}
