//! Fog: (x + c·p)·M / (M + c), with a cloud p from 0 to 1 and the largest value M of the image.
//!
//! The cloud is a plasma fractal by the diamond-square algorithm on a torus: the corners of a square are given, its middle
//! and then the middles of its sides are means of four plus a random number, and so on for squares of half the side, with
//! random numbers smaller by the square of the decay. A smaller decay makes a rougher cloud. Its side is the smallest power
//! of two that covers the image.

use rand_chacha::ChaCha8Rng;

use super::Severity;
use super::image::Image;
use super::random::uniform;

/// c, and the decay.
const CLOUDS: [(f64, f64); 5] = [(0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75)];

pub(super) fn apply(image: &mut Image, severity: Severity, rng: &mut ChaCha8Rng) {
    apply_with(image, severity, || 2.0 * uniform(rng) - 1.0);
}

/// `draw` gives numbers from −1 to 1.
fn apply_with(image: &mut Image, severity: Severity, draw: impl FnMut() -> f64) {
    let (thickness, decay) = severity.of(&CLOUDS);
    let side = image.height.max(image.width).next_power_of_two();
    let cloud = plasma(side, decay, draw);
    let largest = f64::from(image.values.iter().copied().fold(0.0, f32::max));
    let width = image.width;
    for plane in image.planes_mut() {
        for (at, value) in plane.iter_mut().enumerate() {
            let fog = thickness * cloud[at / width * side + at % width];
            *value = ((f64::from(*value) + fog) * largest / (largest + thickness)).clamp(0.0, 1.0) as f32;
        }
    }
}

/// Rows of a square from 0 to 1; the side is a power of two.
fn plasma(side: usize, decay: f64, mut draw: impl FnMut() -> f64) -> Vec<f64> {
    let mut map = vec![0.0; side * side];
    let (mut step, mut wibble) = (side, 100.0_f64);
    while step >= 2 {
        let half = step / 2;
        // The middles of the squares, of the upper and lower sides, of the left and right sides.
        let passes = [
            (
                half,
                half,
                [(half, half), (half, side - half), (side - half, half), (side - half, side - half)],
            ),
            (0, half, [(half, 0), (side - half, 0), (0, half), (0, side - half)]),
            (half, 0, [(half, 0), (side - half, 0), (0, half), (0, side - half)]),
        ];
        for (top, left, around) in passes {
            for y in (top..side).step_by(step) {
                for x in (left..side).step_by(step) {
                    let sum: f64 =
                        around.iter().map(|(v, u)| map[(y + v) % side * side + (x + u) % side]).sum();
                    map[y * side + x] = sum / 4.0 + wibble * wibble * draw();
                }
            }
        }
        step = half;
        wibble /= decay;
    }
    let lowest = map.iter().copied().fold(f64::INFINITY, f64::min);
    let height = map.iter().copied().fold(f64::NEG_INFINITY, f64::max) - lowest;
    for value in &mut map {
        *value = if height > 0.0 { (*value - lowest) / height } else { 0.0 };
    }
    map
}

#[cfg(test)]
mod tests {
    use super::super::fixture::assert_within;
    use super::*;

    /// A linear congruential generator that the script has too.
    fn draws() -> impl FnMut() -> f64 {
        let mut state = 12_345_u64;
        move || {
            state = (1_103_515_245 * state + 12_345) % (1 << 31);
            state as f64 / f64::from(1_u32 << 30) - 1.0
        }
    }

    #[test]
    fn is_what_numpy_makes_of_the_same_draws() {
        assert_within(1e-6, "fog", |image, severity| apply_with(image, severity, draws()));
    }

    #[test]
    fn a_cloud_reaches_from_0_to_1() {
        let cloud = plasma(32, 2.0, draws());
        let (low, high) = cloud.iter().fold((1.0, 0.0), |(l, h), &v| (f64::min(l, v), f64::max(h, v)));
        assert_eq!((cloud.len(), low, high), (1024, 0.0, 1.0));
        assert_eq!(plasma(1, 2.0, draws()), [0.0]);
    }
}
