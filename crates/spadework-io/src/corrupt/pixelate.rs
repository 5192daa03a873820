//! Pixelate: the sides are shrunk by the factor c and enlarged again, both with box filters.
//!
//! The box filter is Pillow's: a pixel of the result is the mean of the pixels whose centers are in its area, or, if it is
//! smaller than they are, the pixel under its center. Shrinking by a whole number gives means of blocks.

use super::Severity;
use super::image::Image;

/// c.
const PARTS: [f64; 5] = [0.95, 0.9, 0.85, 0.75, 0.65];

pub(super) fn apply(image: &mut Image, severity: Severity) {
    let part = severity.of(&PARTS);
    let shrunk = |extent: usize| ((extent as f64 * part) as usize).max(1);
    let (height, width) = (image.height, image.width);
    pixelate(image, shrunk(height), shrunk(width));
}

fn pixelate(image: &mut Image, height: usize, width: usize) {
    let (old_height, old_width) = (image.height, image.width);
    for plane in image.planes_mut() {
        let small = resize(plane, (old_height, old_width), (height, width));
        plane.copy_from_slice(&resize(&small, (height, width), (old_height, old_width)));
    }
}

fn resize(values: &[f32], (height, width): (usize, usize), (rows, columns): (usize, usize)) -> Vec<f32> {
    let across = windows(width, columns);
    let narrow: Vec<f32> =
        values.chunks(width).flat_map(|row| across.iter().map(|&(from, to)| mean(&row[from..to]))).collect();
    let column = |x: usize, (from, to): (usize, usize)| -> Vec<f32> {
        (from..to).map(|y| narrow[y * columns + x]).collect()
    };
    let down = windows(height, rows);
    down.iter()
        .flat_map(|&window| (0..columns).map(move |x| (x, window)))
        .map(|(x, w)| mean(&column(x, w)))
        .collect()
}

/// For each place of the result the pixels that it is the mean of.
fn windows(old: usize, new: usize) -> Vec<(usize, usize)> {
    let scale = old as f64 / new as f64;
    let reach = 0.5 * scale.max(1.0);
    (0..new)
        .map(|place| {
            let middle = (place as f64 + 0.5) * scale;
            // Pixel i has its middle at i + 1/2, and of the two ends of an area the upper one belongs to it. Pillow's
            // rounding in each of its two tests decides where a middle lies on a border.
            let from = (middle - reach + 0.5).max(0.0) as usize;
            let to = ((middle + reach + 0.5) as usize).clamp(from + 1, old);
            let is_inside = |&i: &usize| {
                let offset = (i as f64 - middle + 0.5) * (1.0 / scale.max(1.0));
                offset > -0.5 && offset <= 0.5
            };
            let first = (from..to).find(is_inside).unwrap_or(from);
            let last = (first..to).rfind(is_inside).unwrap_or(first);
            (first, last + 1)
        })
        .collect()
}

fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}

#[cfg(test)]
mod tests {
    use super::super::fixture::assert_within;
    use super::*;

    #[test]
    fn whole_factors_give_means_of_blocks() {
        let values: Vec<f32> = (0..24_u8).map(|i| f32::from(i) / 24.0).collect();
        let mut image = Image { channels: 1, height: 4, width: 6, values: values.clone() };
        pixelate(&mut image, 2, 3);
        for (y, x) in [(0, 0), (1, 1), (2, 3), (3, 5)] {
            let (top, left) = (y / 2 * 2, x / 2 * 2);
            let block: f32 = [0, 1, 6, 7].iter().map(|offset| values[top * 6 + left + offset]).sum();
            assert!((image.values[y * 6 + x] - block / 4.0).abs() < 1e-6);
        }
    }

    #[test]
    fn is_what_pillow_resizes() {
        // Pillow rounds to whole levels after each of four passes: at most half a level each.
        assert_within(2.01 / 255.0, "pixelate", apply);
    }

    #[test]
    fn one_pixel_stays() {
        let mut image = Image { channels: 1, height: 1, width: 1, values: vec![0.5] };
        apply(&mut image, Severity::new(5).unwrap());
        assert_eq!(image.values, [0.5]);
    }
}
