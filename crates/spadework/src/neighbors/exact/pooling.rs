//! Sums over blocks of neighboring numbers: a cheap rotation for long rows.
//!
//! Neighboring pixels are similar, so most of the difference of two images remains when blocks of pixels are added up. With g
//! numbers in every block, the sums over √g are coordinates on orthonormal axes, so their distances never exceed those of the
//! samples, and only additions are needed. Principal axes of rows this long would cost more than the search itself.
//!
//! Only the length of the rows is known, not which numbers are neighboring pixels. So the arrangements of square images with
//! one, three or four channels, and plain runs of numbers, are tried on some pairs of rows. The result is correct with any
//! arrangement; a good one makes the search fast.

use std::borrow::Cow;
use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::bands::BandLayout;
use super::{RowSource, UNIT_ROUNDOFF};
use crate::kernels::arch;
use crate::neighbors::{Element, squared_distance};

/// Shorter rows have principal axes at a bearable cost.
const LONG_ROW: usize = 8192;
/// Sides of the blocks that are tried, the largest first.
const SIDES: [usize; 3] = [8, 4, 2];
/// What the blocks must leave of the squared distances between rows, on average and less what rounding may add.
const LEAST_SHARE: f64 = 0.8;
/// The largest number of rows whose sums are made in single precision. Above, a sum might overflow; below, it might lose what is
/// smaller than the smallest normal number, which is nothing compared with the rounding of a row whose largest number is in range.
const SINGLE_RANGE: Range<f64> = 1e-30..1e30;
/// Pairs of rows on which that is measured.
const PAIRS: usize = 16;

/// How the numbers of a row are arranged: number ((plane · height + y) · width + x) · channels + channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrangement {
    planes: usize,
    height: usize,
    width: usize,
    channels: usize,
}

impl Arrangement {
    /// All that rows of `dim` numbers may have.
    fn candidates(dim: usize) -> Vec<Self> {
        let mut found = Vec::new();
        for channels in [3, 1, 4] {
            let side = (dim / channels).isqrt();
            if side * side * channels == dim {
                found.push(Self { planes: 1, height: side, width: side, channels });
                found.push(Self { planes: channels, height: side, width: side, channels: 1 });
            }
        }
        for channels in [1, 3] {
            if dim.is_multiple_of(channels) {
                found.push(Self { planes: 1, height: 1, width: dim / channels, channels });
            }
        }
        found
    }
}

/// Blocks of the numbers of a row; numbers that do not fill a block are left out.
#[derive(Debug, Clone, Copy)]
struct Blocks {
    arrangement: Arrangement,
    /// Extents of a block, whose product is a power of four: its root is exact.
    rows: usize,
    columns: usize,
}

impl Blocks {
    /// Blocks of side · side numbers, which lie in a line where there is only one.
    fn new(arrangement: Arrangement, side: usize) -> Self {
        let (rows, columns) = if arrangement.height == 1 { (1, side * side) } else { (side, side) };
        Self { arrangement, rows, columns }
    }

    fn count(&self) -> usize {
        let Arrangement { planes, height, width, channels } = self.arrangement;
        planes * (height / self.rows) * (width / self.columns) * channels
    }

    /// Numbers in a block.
    fn size(&self) -> usize {
        self.rows * self.columns
    }

    /// Bands of whole lines of blocks, or of single blocks where all lie in one line. `None` if blocks leave out numbers behind a
    /// band, so that these are not the whole of a row.
    fn bands(&self) -> Option<BandLayout> {
        let Arrangement { height, width, channels, .. } = self.arrangement;
        let (whole, layout) = if height == 1 {
            (width % self.columns, BandLayout { numbers: self.columns * channels, sums: channels })
        } else {
            let across = width / self.columns * channels;
            (height % self.rows, BandLayout { numbers: self.rows * width * channels, sums: across })
        };
        (whole == 0).then_some(layout)
    }

    /// Sums over all blocks of a row, divided by the root of their size.
    #[inline(always)]
    fn pool<T: Element>(&self, row: &[T], line: &mut [f32], target: &mut [f32]) {
        let Arrangement { height, width, channels, .. } = self.arrangement;
        let (length, across) = (width * channels, width / self.columns * channels);
        let scale = (T::UNIT / (self.size() as f64).sqrt()) as f32;
        let lines = row.chunks_exact(length * height).flat_map(|plane| {
            let whole = height / self.rows * self.rows;
            plane[..whole * length].chunks_exact(length * self.rows)
        });
        for (lines, target) in lines.zip(target.chunks_exact_mut(across)) {
            line.fill(0.0);
            for numbers in lines.chunks_exact(length) {
                for (sum, number) in line.iter_mut().zip(numbers) {
                    *sum += number.in_units();
                }
            }
            match channels {
                1 => self.add_up::<1>(line, scale, target),
                3 => self.add_up::<3>(line, scale, target),
                4 => self.add_up::<4>(line, scale, target),
                _ => unreachable!("arrangements have one, three or four channels"),
            }
        }
    }

    /// The sums over the blocks of a line, whose pixels have `C` channels. How many is known when this is compiled, so that sums stay in
    /// registers.
    #[inline(always)]
    fn add_up<const C: usize>(&self, line: &[f32], scale: f32, target: &mut [f32]) {
        let targets = target.as_chunks_mut::<C>().0;
        for (block, target) in line.chunks_exact(self.columns * C).zip(targets) {
            let mut sums = [0.0; C];
            for pixel in block.as_chunks::<C>().0 {
                for channel in 0..C {
                    sums[channel] += pixel[channel];
                }
            }
            for channel in 0..C {
                target[channel] = sums[channel] * scale;
            }
        }
    }
}

/// Long rows by the sums over their blocks, which are made when they are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pooled<R> {
    rows: R,
    blocks: Blocks,
    /// What rounding may have moved a row by at most.
    error: f64,
}

impl<R: RowSource> Pooled<R> {
    /// `None` if rows are short, where single precision does not hold their numbers, or where blocks of neighboring numbers
    /// leave too little of the distances.
    pub(super) fn of(rows: R) -> Option<Self> {
        if rows.dim() < LONG_ROW {
            return None;
        }
        let most = rows.most();
        if !SINGLE_RANGE.contains(&most) {
            return None;
        }
        let arrangements = Arrangement::candidates(rows.dim());
        // A sum of g numbers in single precision errs by at most gu of the sum of their sizes, which over √g is at most their
        // norm; so a row errs by at most gu‖x‖. Sums of bytes are exact, and x/255 and the factor err by less than that.
        let norm = most * (rows.dim() as f64).sqrt();
        let error = |blocks: Blocks| 1.01 * (blocks.size() + 2) as f64 * UNIT_ROUNDOFF * norm;
        SIDES.iter().find_map(|&side| {
            let with_share = |&arrangement: &Arrangement| {
                let blocks = Blocks::new(arrangement, side);
                let pooled = Self { rows, blocks, error: error(blocks) };
                (pooled.blocks.count() > 0).then(|| (pooled.share(), pooled))
            };
            let best = arrangements.iter().filter_map(with_share).max_by(|a, b| a.0.total_cmp(&b.0));
            best.filter(|&(share, _)| share >= LEAST_SHARE).map(|(_, pooled)| pooled)
        })
    }

    /// How numbers and sums correspond, where they do band by band.
    pub(super) fn bands(&self) -> Option<BandLayout> {
        self.blocks.bands()
    }

    /// How much of the squared distances between some rows is left, on average.
    fn share(&self) -> f64 {
        let count = self.rows.len();
        let shares = (0..PAIRS).filter_map(|pair| {
            let (p, q) = (pair * count / PAIRS, (pair * count / PAIRS + count / 2) % count);
            let whole = squared_distance(&self.rows.row(p), &self.rows.row(q));
            (whole > 0.0).then(|| {
                let sure = squared_distance(&self.row(p), &self.row(q)).sqrt() - 2.0 * self.error;
                sure.max(0.0).powi(2) / whole
            })
        });
        let shares: Vec<f64> = shares.collect();
        shares.iter().sum::<f64>() / shares.len().max(1) as f64
    }
}

impl<R: RowSource> RowSource for Pooled<R> {
    type Item = f32;

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn dim(&self) -> usize {
        self.blocks.count()
    }

    fn block(&self, rows: Range<usize>) -> Cow<'_, [f32]> {
        let mut pooled = vec![0.0; rows.len() * self.blocks.count()];
        for (p, target) in rows.zip(pooled.chunks_exact_mut(self.blocks.count())) {
            arch().dispatch(PoolRow { blocks: self.blocks, row: &self.rows.row(p), target });
        }
        Cow::Owned(pooled)
    }

    fn error(&self) -> f64 {
        self.error
    }
}

/// Pools a row, compiled for each instruction set.
struct PoolRow<'a, T> {
    blocks: Blocks,
    row: &'a [T],
    target: &'a mut [f32],
}

impl<T: Element> WithSimd for PoolRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut line = vec![0.0; self.blocks.arrangement.width * self.blocks.arrangement.channels];
        self.blocks.pool(self.row, &mut line, self.target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbors::Rows;

    /// Images whose pixels are alike in blocks of `scale`, channels last.
    fn images(count: usize, side: usize, scale: usize) -> Vec<u8> {
        let pixel = |image: usize, at: usize| {
            let (y, x, channel) = (at / 3 / side / scale, at / 3 % side / scale, at % 3);
            ((image * 37 + y * 101 + x * 59 + channel * 83 + image * y * x) % 200) as u8
        };
        (0..count).flat_map(|image| (0..side * side * 3).map(move |at| pixel(image, at))).collect()
    }

    #[test]
    fn distances_of_sums_never_exceed_those_of_the_rows() {
        let (side, count) = (60, 12);
        let values = images(count, side, 8);
        let rows = Rows { values: &values, dim: side * side * 3 };
        let pooled = Pooled::of(rows).expect("pixels are alike");
        for p in 0..count {
            for q in 0..p {
                let whole = squared_distance(&rows.row(p), &rows.row(q)).sqrt();
                assert!(
                    squared_distance(&pooled.row(p), &pooled.row(q)).sqrt() <= whole + 2.0 * pooled.error,
                    "rows {p} and {q}"
                );
                assert!(pooled.error < 1e-3 * whole, "the margin is small");
            }
        }
    }

    #[test]
    fn the_arrangement_is_found() {
        let values = images(40, 64, 8);
        let pooled = Pooled::of(Rows { values: &values, dim: 64 * 64 * 3 }).expect("pixels are alike");
        let want = Arrangement { planes: 1, height: 64, width: 64, channels: 3 };
        assert_eq!((pooled.blocks.arrangement, pooled.blocks.size()), (want, 64));
        let first = 8.0 * values[3 * 64 * 64 * 3].to_f64();
        assert!((f64::from(pooled.block(3..4)[0]) - first).abs() < 1e-5);
    }

    /// Every band of sums is that of its numbers alone, for each arrangement of channels and for runs.
    #[test]
    fn bands_of_sums_are_those_of_the_numbers() {
        let (side, channels) = (16, 3);
        let dim = side * side * channels;
        let of = |planes, height, width, channels| Arrangement { planes, height, width, channels };
        for arrangement in
            [of(1, side, side, channels), of(channels, side, side, 1), of(1, 1, dim, 1), of(1, 1, dim / 3, 3)]
        {
            let blocks = Blocks::new(arrangement, 4);
            let BandLayout { numbers, sums } = blocks.bands().expect("16 is a multiple of 4");
            assert_eq!((dim % numbers, dim / numbers * sums), (0, blocks.count()), "{arrangement:?}");
            for band in 0..dim / numbers {
                let row: Vec<f32> = (0..dim).map(|at| f32::from(u8::from(at / numbers == band))).collect();
                let mut pooled = vec![0.0; blocks.count()];
                blocks.pool(&row, &mut vec![0.0; arrangement.width * arrangement.channels], &mut pooled);
                let inside = |at: usize| at / sums == band;
                assert!(
                    (0..pooled.len()).all(|at| (pooled[at] > 0.0) == inside(at)),
                    "{arrangement:?}, {band}"
                );
            }
        }
        assert_eq!(Blocks::new(of(1, 18, 18, 3), 4).bands(), None);
    }

    /// Sums of such numbers overflow single precision, or vanish in it.
    #[test]
    fn numbers_that_single_precision_does_not_hold_are_not_added_up() {
        let pixels = images(40, 64, 8);
        let pooled = |size: f64| {
            let values: Vec<f64> = pixels.iter().map(|&pixel| size * f64::from(pixel)).collect();
            Pooled::of(Rows { values: &values, dim: 64 * 64 * 3 }).is_some()
        };
        assert!([1e-25, 1.0, 1e25].into_iter().all(pooled));
        assert!(![1e-60, 1e-40, 1e35, 1e60].into_iter().any(pooled));
    }

    /// What differs is lost in single precision next to what all rows have in common.
    #[test]
    fn rows_that_rounding_makes_equal_are_left_as_they_are() {
        let values: Vec<f64> = images(40, 64, 8).iter().map(|&pixel| 1e6 + 1e-3 * f64::from(pixel)).collect();
        assert!(Pooled::of(Rows { values: &values, dim: 64 * 64 * 3 }).is_none());
    }

    #[test]
    fn rows_without_likeness_are_left_as_they_are() {
        let values: Vec<u8> =
            (0..30 * 10_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert!(Pooled::of(Rows { values: &values, dim: 10_000 }).is_none());
    }
}
