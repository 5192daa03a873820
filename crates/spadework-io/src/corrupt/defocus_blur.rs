//! Defocus blur: a filter with a disk, itself blurred a little so that its edge is not jagged.
//!
//! The disk has all offsets of length up to the radius, equally weighted, and is blurred by a Gaussian of 3 × 3. For radii
//! below 1 the disk is a single pixel, so only the Gaussian remains. Beyond the edge the image is mirrored.

use super::Severity;
use super::image::{Image, Tap, mirrored};

/// Radius of the disk in pixels, and σ of the Gaussian.
const DISKS: [(f64, f64); 5] = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1)];

pub(super) fn apply(image: &mut Image, severity: Severity) {
    let (radius, sigma) = severity.of(&DISKS);
    image.filter(&kernel(radius, sigma), mirrored);
}

fn kernel(radius: f64, sigma: f64) -> Vec<Tap> {
    let reach = radius.floor() as isize;
    let square = |from: isize, to: isize| (from..=to).flat_map(move |y| (from..=to).map(move |x| (y, x)));
    let disk: Vec<(isize, isize)> =
        square(-reach, reach).filter(|&(y, x)| (y * y + x * x) as f64 <= radius * radius).collect();
    // exp(−1/2σ²), 1, exp(−1/2σ²), made to sum to 1.
    let beside = (-0.5 / (sigma * sigma)).exp();
    let gaussian = |offset: isize| match offset {
        0 => 1.0 / (1.0 + 2.0 * beside),
        -1 | 1 => beside / (1.0 + 2.0 * beside),
        _ => 0.0,
    };
    let weight = |y: isize, x: isize| -> f64 {
        disk.iter().map(|&(v, u)| gaussian(y - v) * gaussian(x - u)).sum::<f64>() / disk.len() as f64
    };
    square(-reach - 1, reach + 1)
        .map(|(down, right)| Tap { down, right, weight: weight(down, right) as f32 })
        .filter(|tap| tap.weight > 0.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::assert_within;
    use super::*;

    #[test]
    fn kernels_sum_to_1() {
        for (radius, sigma) in DISKS {
            let sum: f32 = kernel(radius, sigma).iter().map(|tap| tap.weight).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{radius}: {sum}");
        }
        // 9 pixels lie within 1.5 of the middle.
        assert_eq!(kernel(1.5, 1e-3).len(), 9);
    }

    #[test]
    fn is_what_scipy_convolves() {
        assert_within(1e-6, "defocus", apply);
    }
}
