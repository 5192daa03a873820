//! JPEG: what is left of an image after it was saved as JPEG (baseline, ITU-T T.81) and opened again.
//!
//! Only the steps that lose information are computed, as libjpeg computes them with its defaults: bytes; luma and chroma;
//! chroma averaged over 2 × 2 pixels; cosine transform of blocks of 8 × 8; rounding to multiples of the tables of Annex K,
//! scaled by the quality; and the same steps backward, with chroma interpolated by a triangle. The entropy coding in between
//! loses nothing and is left out. libjpeg transforms in fixed point and this in floating point, so single coefficients may
//! round otherwise.

use std::f64::consts::PI;
use std::sync::LazyLock;

use super::Severity;
use super::image::Image;

const QUALITIES: [u32; 5] = [80, 65, 58, 50, 40];

/// Side of a block.
const SIDE: usize = 8;
const BLOCK: usize = SIDE * SIDE;

/// Tables K.1 and K.2.
#[rustfmt::skip]
const LUMA: [u32; BLOCK] = [
    16, 11, 10, 16, 24, 40, 51, 61,
    12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77,
    24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
];
const CHROMA: [u32; BLOCK] = chroma();

/// Beyond the lowest frequencies all steps are the same.
const fn chroma() -> [u32; BLOCK] {
    const LOW: [[u32; 4]; 4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]];
    let mut table = [99; BLOCK];
    let mut at = 0;
    while at < 16 {
        table[at / 4 * SIDE + at % 4] = LOW[at / 4][at % 4];
        at += 1;
    }
    table
}

/// Row u, column x: C(u)/2 · cos((2x + 1)uπ/16), an orthogonal matrix.
static COSINES: LazyLock<[f64; BLOCK]> = LazyLock::new(|| {
    std::array::from_fn(|at| {
        let (u, x) = ((at / SIDE) as f64, (at % SIDE) as f64);
        let scale = if at < SIDE { 0.125_f64.sqrt() } else { 0.5 };
        scale * ((2.0 * x + 1.0) * u * PI / 16.0).cos()
    })
});

pub(super) fn apply(image: &mut Image, severity: Severity) {
    compress(image, severity.of(&QUALITIES));
}

fn compress(image: &mut Image, quality: u32) {
    let planes: Vec<Plane> = (0..image.channels).map(|channel| Plane::of(image, channel)).collect();
    let restored = match planes.as_slice() {
        [red, green, blue] => {
            let [luma, cb, cr] = to_luma_and_chroma(red, green, blue);
            let luma = luma.coded(&scaled(&LUMA, quality));
            let chroma = scaled(&CHROMA, quality);
            let [cb, cr] =
                [cb, cr].map(|plane| plane.halved().coded(&chroma).doubled(image.height, image.width));
            to_colors(&luma, &cb, &cr).to_vec()
        }
        gray => gray.iter().map(|plane| plane.coded(&scaled(&LUMA, quality))).collect(),
    };
    image.values.clear();
    image
        .values
        .extend(restored.iter().flat_map(|plane| plane.values.iter().map(|&value| (value / 255.0) as f32)));
}

/// A table for a quality from 1 to 100, as libjpeg scales it.
fn scaled(table: &[u32; BLOCK], quality: u32) -> [f64; BLOCK] {
    let percent = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    table.map(|entry| f64::from(((entry * percent + 50) / 100).clamp(1, 255)))
}

/// Whole numbers from 0 to 255.
#[derive(Debug, Clone)]
struct Plane {
    height: usize,
    width: usize,
    values: Vec<f64>,
}

impl Plane {
    fn of(image: &Image, channel: usize) -> Self {
        let (height, width) = (image.height, image.width);
        let pixels = &image.values[channel * height * width..(channel + 1) * height * width];
        let values = pixels.iter().map(|&value| f64::from((value * 255.0).round())).collect();
        Self { height, width, values }
    }

    /// The value at a place, or the nearest one where that is beyond the edge.
    fn at(&self, y: usize, x: usize) -> f64 {
        self.values[y.min(self.height - 1) * self.width + x.min(self.width - 1)]
    }

    fn from_fn(height: usize, width: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let value = &value;
        let values = (0..height).flat_map(|y| (0..width).map(move |x| value(y, x))).collect();
        Self { height, width, values }
    }

    /// Transformed, rounded by the table and transformed back, block by block. Blocks beyond the edge are filled up with
    /// the outermost values.
    fn coded(&self, table: &[f64; BLOCK]) -> Self {
        let mut result = self.clone();
        for top in (0..self.height).step_by(SIDE) {
            for left in (0..self.width).step_by(SIDE) {
                let block = std::array::from_fn(|at| self.at(top + at / SIDE, left + at % SIDE) - 128.0);
                let block = decoded(&encoded(&block, table), table);
                for y in top..(top + SIDE).min(self.height) {
                    for x in left..(left + SIDE).min(self.width) {
                        let value = block[(y - top) * SIDE + x - left] + 128.0;
                        result.values[y * self.width + x] = value.round().clamp(0.0, 255.0);
                    }
                }
            }
        }
        result
    }

    /// Means of 2 × 2 values, with columns beyond the edge up to a whole block, as those are means of the outermost values
    /// alone. Halves are rounded down and up alternately, so that they even out.
    fn halved(&self) -> Self {
        let columns = self.width.div_ceil(2).next_multiple_of(SIDE);
        Self::from_fn(self.height.div_ceil(2), columns, |y, x| {
            let (y, bias) = (2 * y, (1 + x % 2) as f64);
            let (left, right) = (2 * x, 2 * x + 1);
            let sum = self.at(y, left) + self.at(y, right) + self.at(y + 1, left) + self.at(y + 1, right);
            ((sum + bias) / 4.0).floor()
        })
    }

    /// Twice as large, `height` × `width`: 3/4 of the nearer and 1/4 of the farther value, down and across.
    fn doubled(&self, height: usize, width: usize) -> Self {
        let last = width.div_ceil(2) - 1;
        let at = |y: usize, x: usize| self.at(y, x.min(last));
        // libjpeg repeats values where there are too few to interpolate.
        if last < 2 {
            return Self::from_fn(height, width, |y, x| at(y / 2, x / 2));
        }
        let farther = |place: usize| {
            if place.is_multiple_of(2) { (place / 2).saturating_sub(1) } else { place / 2 + 1 }
        };
        Self::from_fn(height, width, |y, x| {
            let column = |x: usize| 3.0 * at(y / 2, x) + at(farther(y), x);
            let bias = if x.is_multiple_of(2) { 8.0 } else { 7.0 };
            ((3.0 * column(x / 2) + column(farther(x)) + bias) / 16.0).floor()
        })
    }
}

/// Multiples of the table's entries nearest to the transform of a block.
fn encoded(block: &[f64; BLOCK], table: &[f64; BLOCK]) -> [f64; BLOCK] {
    let transform = product(&product(&COSINES, block), &transposed(&COSINES));
    std::array::from_fn(|at| (transform[at] / table[at]).round())
}

fn decoded(multiples: &[f64; BLOCK], table: &[f64; BLOCK]) -> [f64; BLOCK] {
    let transform = std::array::from_fn(|at| multiples[at] * table[at]);
    product(&product(&transposed(&COSINES), &transform), &COSINES)
}

/// Of matrices of 8 × 8.
fn product(a: &[f64; BLOCK], b: &[f64; BLOCK]) -> [f64; BLOCK] {
    let mut result = [0.0; BLOCK];
    for row in 0..SIDE {
        for inner in 0..SIDE {
            let factor = a[row * SIDE + inner];
            for column in 0..SIDE {
                result[row * SIDE + column] += factor * b[inner * SIDE + column];
            }
        }
    }
    result
}

fn transposed(a: &[f64; BLOCK]) -> [f64; BLOCK] {
    std::array::from_fn(|at| a[at % SIDE * SIDE + at / SIDE])
}

/// JFIF's Y, Cb and Cr.
fn to_luma_and_chroma(red: &Plane, green: &Plane, blue: &Plane) -> [Plane; 3] {
    const WEIGHTS: [([f64; 3], f64); 3] = [
        ([0.299, 0.587, 0.114], 0.0),
        ([-0.168_735_892, -0.331_264_108, 0.5], 128.0),
        ([0.5, -0.418_687_589, -0.081_312_411], 128.0),
    ];
    WEIGHTS.map(|([r, g, b], shift)| {
        Plane::from_fn(red.height, red.width, |y, x| {
            let sum = r * red.at(y, x) + g * green.at(y, x) + b * blue.at(y, x) + shift;
            sum.round().clamp(0.0, 255.0)
        })
    })
}

fn to_colors(luma: &Plane, cb: &Plane, cr: &Plane) -> [Plane; 3] {
    const WEIGHTS: [(f64, f64); 3] = [(0.0, 1.402), (-0.344_136_286, -0.714_136_286), (1.772, 0.0)];
    WEIGHTS.map(|(of_cb, of_cr)| {
        Plane::from_fn(luma.height, luma.width, |y, x| {
            let sum = luma.at(y, x) + of_cb * (cb.at(y, x) - 128.0) + of_cr * (cr.at(y, x) - 128.0);
            sum.round().clamp(0.0, 255.0)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{assert_within, image, rows, severities};
    use super::*;

    #[test]
    fn the_transform_is_orthogonal() {
        let identity = product(&COSINES, &transposed(&COSINES));
        for (at, value) in identity.iter().enumerate() {
            let expected = if at.is_multiple_of(SIDE + 1) { 1.0 } else { 0.0 };
            assert!((value - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn a_flat_image_stays() {
        // 128 is the middle, of which every coefficient is 0.
        let mut flat = Image { channels: 3, height: 9, width: 5, values: vec![128.0 / 255.0; 135] };
        apply(&mut flat, Severity::new(5).unwrap());
        assert!(flat.values.iter().all(|&value| value == 128.0 / 255.0));
    }

    /// libjpeg's transforms in fixed point and its rounding of colors leave a level or two. Where a coefficient lies half way
    /// between two multiples, it may go the other way, which changes the pixels of its block by at most a quarter of the
    /// table's entry: six levels for the entries up to 24 that matter here. On the mean that is little compared with what JPEG does.
    #[test]
    fn is_what_pillow_saves_and_opens() {
        assert_within(6.01 / 255.0, "jpeg", apply);
        for kind in ["color", "gray"] {
            for (severity, expected) in severities().zip(rows(&format!("jpeg_{kind}"))) {
                let original = image(kind);
                let mut got = original.clone();
                apply(&mut got, severity);
                let mean = |a: &[f32], b: &[f32]| {
                    255.0 * a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f32>() / a.len() as f32
                };
                let (off, lost) = (mean(&got.values, &expected), mean(&original.values, &expected));
                assert!(off < 1.0 && off < lost / 4.0, "{kind}, {severity:?}: off by {off} of {lost}");
            }
        }
    }
}
