//! AugMix (Hendrycks, Mu, Cubuk, Zoph, Gilmer and Lakshminarayanan 2020).
//!
//! Three chains of one to three simple changes each are mixed with weights from a Dirichlet distribution, and the mixture
//! with the image itself with a weight from a Beta distribution, both with parameter 1. The changes are those of the paper,
//! which leaves out what the corrupted test sets use: autocontrast, equalize, posterize, rotate, solarize, shear and
//! translate along both axes, with strength 3 of 10. The consistency loss of the paper is not part of it.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

const CHAINS: usize = 3;
/// The paper's severity, as a part of the largest strength.
const STRENGTH: f32 = 0.3;

type Image = Vec<f32>;

/// A mixture of the image and changed copies of it. Values stay in [0, 1].
pub(super) fn augmix(image: &[f32], shape: [usize; 3], rng: &mut ChaCha8Rng) -> Image {
    // Weights that are uniform on the simplex, and one that is uniform on [0, 1]: both distributions at parameter 1.
    let spacings: Vec<f32> = (0..CHAINS).map(|_| -(1.0 - rng.random::<f32>()).ln()).collect();
    let total: f32 = spacings.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let own: f32 = rng.random();
    let mut mixed: Image = image.iter().map(|value| value * own).collect();
    for spacing in spacings {
        let mut changed = image.to_vec();
        for _ in 0..rng.random_range(1..=3) {
            changed = change(&changed, shape, rng);
        }
        let weight = (1.0 - own) * spacing / total;
        mixed.iter_mut().zip(&changed).for_each(|(sum, value)| *sum += weight * value);
    }
    for value in &mut mixed {
        *value = value.clamp(0.0, 1.0);
    }
    mixed
}

/// One simple change, of a random kind and strength.
fn change(image: &[f32], shape: [usize; 3], rng: &mut ChaCha8Rng) -> Image {
    let strength = STRENGTH * rng.random_range(0.1_f32..1.0);
    let signed = if rng.random() { strength } else { -strength };
    let extent = shape[1].min(shape[2]) as f32;
    match rng.random_range(0..9) {
        0 => by_channel(image, shape, autocontrast),
        1 => by_channel(image, shape, equalize),
        2 => posterize(image, 4 - (strength * 4.0) as u32),
        3 => image.iter().map(|&value| if value < 1.0 - strength { value } else { 1.0 - value }).collect(),
        4 => {
            let (sine, cosine) = (signed * 30.0_f32.to_radians()).sin_cos();
            warp(image, shape, [[cosine, sine], [-sine, cosine]], [0.0; 2])
        }
        5 => warp(image, shape, [[1.0, 0.0], [signed * 0.3, 1.0]], [0.0; 2]),
        6 => warp(image, shape, [[1.0, signed * 0.3], [0.0, 1.0]], [0.0; 2]),
        7 => warp(image, shape, [[1.0, 0.0], [0.0, 1.0]], [signed * extent / 3.0, 0.0]),
        _ => warp(image, shape, [[1.0, 0.0], [0.0, 1.0]], [0.0, signed * extent / 3.0]),
    }
}

fn by_channel(image: &[f32], [_, height, width]: [usize; 3], change: fn(&[f32]) -> Image) -> Image {
    image.chunks(height * width).flat_map(change).collect()
}

/// The darkest pixel becomes 0 and the brightest 1.
fn autocontrast(channel: &[f32]) -> Image {
    let (low, high) = channel.iter().fold((f32::MAX, f32::MIN), |(low, high), &v| (low.min(v), high.max(v)));
    if high <= low {
        return channel.to_vec();
    }
    channel.iter().map(|&value| (value - low) / (high - low)).collect()
}

/// Every brightness as often as any other: a pixel becomes the share of pixels below it.
fn equalize(channel: &[f32]) -> Image {
    let level = |value: f32| (value.clamp(0.0, 1.0) * 255.0).round() as usize;
    let mut counts = [0_usize; 256];
    for &value in channel {
        counts[level(value)] += 1;
    }
    let first = channel.iter().map(|&value| level(value)).min().map_or(0, |lowest| counts[lowest]);
    let room = channel.len() - first;
    if room == 0 {
        return channel.to_vec();
    }
    let mut below = 0;
    let shares: Vec<f32> = counts
        .iter()
        .map(|&count| {
            below += count;
            below.saturating_sub(first) as f32 / room as f32
        })
        .collect();
    channel.iter().map(|&value| shares[level(value)]).collect()
}

/// Fewer brightnesses: the highest `bits` of eight.
fn posterize(image: &[f32], bits: u32) -> Image {
    let mask = !(255_u32 >> bits) & 255;
    image.iter().map(|&value| ((value.clamp(0.0, 1.0) * 255.0) as u32 & mask) as f32 / 255.0).collect()
}

/// Takes each pixel from where `turn` and `shift` (down, right) bring it, about the middle, between four neighbours.
fn warp(image: &[f32], [channels, height, width]: [usize; 3], turn: [[f32; 2]; 2], shift: [f32; 2]) -> Image {
    let middle = [(height as f32 - 1.0) / 2.0, (width as f32 - 1.0) / 2.0];
    let mut warped = vec![0.0; image.len()];
    for row in 0..height {
        for column in 0..width {
            let (y, x) = (row as f32 - middle[0], column as f32 - middle[1]);
            let from_y = turn[0][0] * y + turn[0][1] * x + middle[0] + shift[0];
            let from_x = turn[1][0] * y + turn[1][1] * x + middle[1] + shift[1];
            for channel in 0..channels {
                let plane = &image[channel * height * width..(channel + 1) * height * width];
                warped[(channel * height + row) * width + column] =
                    between(plane, height, width, from_y, from_x);
            }
        }
    }
    warped
}

/// The value between pixels; zero outside.
fn between(plane: &[f32], height: usize, width: usize, y: f32, x: f32) -> f32 {
    let (top, left) = (y.floor(), x.floor());
    let pixel = |row: f32, column: f32| {
        let inside = row >= 0.0 && column >= 0.0 && row < height as f32 && column < width as f32;
        if inside { plane[row as usize * width + column as usize] } else { 0.0 }
    };
    let (down, right) = (y - top, x - left);
    let upper = pixel(top, left) * (1.0 - right) + pixel(top, left + 1.0) * right;
    let lower = pixel(top + 1.0, left) * (1.0 - right) + pixel(top + 1.0, left + 1.0) * right;
    upper * (1.0 - down) + lower * down
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn changes_are_those_of_their_names() {
        assert_eq!(autocontrast(&[0.25, 0.5, 0.75]), [0.0, 0.5, 1.0]);
        assert_eq!(autocontrast(&[0.3, 0.3]), [0.3, 0.3]);
        assert_eq!(posterize(&[0.0, 1.0, 100.0 / 255.0], 2), [0.0, 192.0 / 255.0, 64.0 / 255.0]);
        // Four brightnesses, each as often: 0, 1/3, 2/3, 1.
        let spread = equalize(&[0.1, 0.11, 0.12, 0.9]);
        assert!(
            spread.iter().zip([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-6),
            "{spread:?}"
        );
        // A shift of one pixel down takes each row from the one below it.
        let image = [1.0, 2.0, 3.0, 4.0].map(|v| v / 4.0);
        assert_eq!(warp(&image, [1, 2, 2], [[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0]), [0.75, 1.0, 0.0, 0.0]);
        // A quarter turn about the middle.
        let turned = warp(&image, [1, 2, 2], [[0.0, 1.0], [-1.0, 0.0]], [0.0; 2]);
        assert_eq!(turned, [0.5, 1.0, 0.25, 0.75]);
    }

    #[test]
    fn mixtures_stay_in_the_box_and_near_the_image() {
        let image: Vec<f32> = (0..3 * 8 * 8).map(|at| (at % 13) as f32 / 12.0).collect();
        let mut differ = 0;
        for index in 0..50 {
            let mixed = augmix(&image, [3, 8, 8], &mut stream(0, Purpose::Augment, 0, index));
            assert!(mixed.iter().all(|value| (0.0..=1.0).contains(value)));
            differ += usize::from(mixed != image);
        }
        assert!(differ > 45, "{differ}");
    }
}
