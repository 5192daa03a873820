//! Short vectors of integers whose distances do not exceed those of the samples.
//!
//! With orthonormal axes Q and x the centered row, scaled to ‖x‖ ≤ 1, the exact short vector is z = s(Qᵀx, ρ), ρ = ‖x −
//! QQᵀx‖, s = [`STEPS`]. Stored is ẑ in integers of 16 bits, so that products of short vectors are exact: by Cauchy and
//! Schwarz no sum of products exceeds ‖ẑ‖² < 2³¹/4. What separates ẑ from z:
//! - x is rounded to single precision and so is Q: at most (u + u√m)‖x‖ in Qᵀx;
//! - a product over d entries, added up in pieces of [`PIECE`], errs by at most γ‖x‖ per coordinate, γ = γ_{PIECE + pieces},
//!   so by γ√m‖x‖ in all;
//! - rounding to integers: at most half a step per coordinate, so √m/2 in all. Call the sum of these e;
//! - ρ is √(‖x‖² − ‖Qᵀx‖²), known to lie between what ‖ŷ‖ ± e make of it; the middle is stored, half the width is its error.
//!
//! ε is the sum of e and the error of ρ. If ρ would consist mostly of error, it is left out, which only makes the distances
//! smaller.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;

use super::axes::principal_axes;
use super::{RowSource, UNIT_ROUNDOFF};
use crate::kernels::arch;
use crate::neighbors::Element;
use crate::neighbors::lanes::LANES;

/// What the largest norm is scaled to. With half a step for each of a million numbers, squared distances still fit 32 bits.
const STEPS: f64 = 22_000.0;
/// Covers the rounding of numbers before they become integers, in steps.
const ROUNDING_SLACK: f64 = 0.01;
/// Entries of a product that are added up together.
const PIECE: usize = 512;
/// Rows that the centre is the mean of.
const CENTER_ROWS: usize = 1024;
/// Rows projected together.
const BLOCK: usize = 256;

/// Short vectors of all rows, with bounds of their error.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    /// Numbers of a row.
    pub(super) numbers: usize,
    /// Numbers of a row with the zeros that fill it up to whole registers.
    stride: usize,
    values: Vec<i16>,
    /// ε of every row, in steps.
    pub(super) errors: Vec<f64>,
    /// ‖x‖ of every row before projection and rounding; none if all coordinates are there.
    norms: Vec<f64>,
    /// Numbers of a sample.
    samples_dim: usize,
    /// Factor from the samples' units to steps.
    pub(super) unit: f64,
    /// What rows were moved by at most before they came here, in steps.
    moved: f64,
}

impl Coordinates {
    /// All coordinates, centred and scaled, not rotated.
    pub(super) fn unrotated<R: RowSource>(rows: R, frame: &Frame) -> Self {
        let mut coordinates = Self::empty(&rows, rows.dim(), frame);
        let moved = coordinates.moved;
        coordinates.errors = coordinates
            .values
            .par_chunks_mut(BLOCK * coordinates.stride)
            .enumerate()
            .flat_map_iter(|(at, target)| {
                let block = rows.block(block_range(at, rows.len()));
                arch().dispatch(Round { frame, rows: &block, target })
            })
            .map(|error| error + moved)
            .collect();
        coordinates
    }

    /// The coordinates on `axes`, and ρ as the last one.
    pub(super) fn on_axes<R: RowSource>(rows: R, frame: &Frame, axes: &Mat<f64>) -> Self {
        let count = axes.ncols();
        let rounded_axes = Mat::from_fn(axes.nrows(), count, |i, j| axes[(i, j)] as f32);
        let mut coordinates = Self::empty(&rows, count + 1, frame);
        let stride = coordinates.stride;
        coordinates.norms = coordinates
            .values
            .par_chunks_mut(BLOCK * stride)
            .enumerate()
            .flat_map_iter(|(at, target)| {
                let block = rows.block(block_range(at, rows.len()));
                let (projected, norms) = project(&block, rows.dim(), frame, rounded_axes.as_ref());
                arch().dispatch(ToSteps { projected: &projected, count, target, stride });
                norms
            })
            .collect();
        let (rests, errors) = coordinates.rests(count);
        for (row, rest) in coordinates.values.chunks_exact_mut(stride).zip(rests) {
            row[count] = rest;
        }
        coordinates.errors = errors;
        coordinates
    }

    fn empty<R: RowSource>(rows: &R, numbers: usize, frame: &Frame) -> Self {
        let stride = numbers.next_multiple_of(2 * LANES);
        Self {
            numbers,
            stride,
            values: vec![0; rows.len() * stride],
            errors: Vec::new(),
            norms: Vec::new(),
            samples_dim: rows.dim(),
            unit: frame.unit(),
            moved: rows.error() * frame.unit(),
        }
    }

    /// ρ behind the first `count` coordinates of every row, and ε of the short vectors of both.
    pub(super) fn rests(&self, count: usize) -> (Vec<i16>, Vec<f64>) {
        let relative = relative_projection_error(self.samples_dim, count);
        let root = (count as f64).sqrt();
        let absolute = underflow(self.samples_dim) * root + (0.5 * root + ROUNDING_SLACK) / STEPS;
        let rests: Vec<Rest> = self
            .values
            .par_chunks_exact(self.stride)
            .zip(&self.norms)
            .map(|(row, &norm)| {
                let squared = f64::from(squared_norm(&row[..count])) / (STEPS * STEPS);
                Rest::new(norm, squared, relative * norm + absolute)
            })
            .collect();
        let total = |of: fn(&Rest) -> f64| rests.iter().map(of).sum::<f64>();
        let use_rest = total(|rest| rest.error) <= 0.1 * total(|rest| rest.middle);
        let in_steps = |rest: &Rest| {
            let middle = if use_rest { (rest.middle * STEPS).round() as i16 } else { 0 };
            let error = rest.projection_error + if use_rest { rest.error } else { 0.0 };
            // ρ is rounded to a whole step too.
            (middle, error * STEPS + 0.5 + ROUNDING_SLACK + self.moved)
        };
        rests.iter().map(in_steps).unzip()
    }

    /// ‖x‖ of row `p` in steps.
    pub(super) fn norm(&self, p: usize) -> f64 {
        self.norms[p] * STEPS
    }

    pub(super) fn rows(&self) -> usize {
        self.errors.len()
    }

    #[inline(always)]
    pub(super) fn row(&self, p: usize) -> &[i16] {
        &self.values[p * self.stride..(p + 1) * self.stride]
    }

    /// Puts the rows in another order: the row at `order[i]` comes to place i.
    ///
    /// Along the cycles of the permutation, so that no second copy is needed.
    pub(super) fn permute(&mut self, order: &[u32]) {
        let mut moved = vec![false; order.len()];
        let mut held = vec![0; self.stride];
        for start in 0..order.len() {
            if moved[start] {
                continue;
            }
            held.copy_from_slice(self.row(start));
            let mut place = start;
            loop {
                moved[place] = true;
                let from = order[place] as usize;
                if from == start {
                    break;
                }
                self.values.copy_within(from * self.stride..(from + 1) * self.stride, place * self.stride);
                place = from;
            }
            self.values[place * self.stride..(place + 1) * self.stride].copy_from_slice(&held);
        }
        let pick = |from: &[f64]| order.iter().map(|&p| from[p as usize]).collect();
        self.errors = pick(&self.errors);
        if !self.norms.is_empty() {
            self.norms = pick(&self.norms);
        }
    }
}

/// All principal axes of some rows, for coordinates from which nothing is left out.
pub(in crate::neighbors) struct Rotation<'a> {
    frame: &'a Frame,
    axes: Mat<f32>,
}

impl<'a> Rotation<'a> {
    /// There must be at least as many rows as numbers in one.
    pub(in crate::neighbors) fn to_principal_axes<R: RowSource>(rows: R, frame: &'a Frame) -> Self {
        let dim = rows.dim();
        let axes = principal_axes(rows, &frame.center, frame.scale, dim);
        assert_eq!(axes.ncols(), dim, "as many axes as numbers");
        Self { frame, axes: Mat::from_fn(axes.nrows(), axes.ncols(), |i, j| axes[(i, j)] as f32) }
    }

    /// The coordinates of some rows, in steps.
    pub(in crate::neighbors) fn steps<T: Element>(&self, rows: &[T]) -> Vec<i16> {
        let count = self.axes.ncols();
        let (projected, _) = project(rows, self.axes.nrows(), self.frame, self.axes.as_ref());
        let mut steps = vec![0; projected.len()];
        arch().dispatch(ToSteps { projected: &projected, count, target: &mut steps, stride: count });
        steps
    }
}

/// γ_n = nu/(1 − nu).
fn gamma(n: usize) -> f64 {
    let nu = n as f64 * UNIT_ROUNDOFF;
    nu / (1.0 - nu)
}

/// What `terms` products of single precision may lose, or err by, below the smallest normal number.
fn underflow(terms: usize) -> f64 {
    terms as f64 * f64::from(f32::MIN_POSITIVE)
}

/// What rounding and products in single precision move `count` coordinates of rows of `dim` numbers by, over ‖x‖.
fn relative_projection_error(dim: usize, count: usize) -> f64 {
    let root = (count as f64).sqrt();
    1.01 * (gamma(PIECE.min(dim) + dim.div_ceil(PIECE)) * root + UNIT_ROUNDOFF * (root + 1.0))
}

/// ‖ẑ‖² of the numbers of a row, or of some of them.
pub(in crate::neighbors) fn squared_norm(row: &[i16]) -> i32 {
    row.iter().map(|&number| i32::from(number).pow(2)).sum()
}

/// What the coordinates leave of a row's norm, with bounds.
struct Rest {
    middle: f64,
    error: f64,
    projection_error: f64,
}

impl Rest {
    fn new(norm: f64, squared_projection: f64, projection_error: f64) -> Self {
        let projection = squared_projection.sqrt();
        let rest = |squared: f64, projection: f64| (squared - projection * projection).max(0.0).sqrt();
        let squared = norm * norm;
        let low = rest(squared * (1.0 - 1e-12), projection + projection_error);
        let high = rest(squared * (1.0 + 1e-12), (projection - projection_error).max(0.0));
        Self { middle: 0.5 * (low + high), error: 0.5 * (high - low) * (1.0 + 1e-12), projection_error }
    }
}

/// Where the samples lie and how large they are: they are centred and scaled to norms of at most 1.
#[derive(Debug, Clone)]
pub(in crate::neighbors) struct Frame {
    pub(super) center: Vec<f64>,
    pub(super) scale: f64,
}

impl Frame {
    /// `None` if numbers are too large to be squared, or even subtracted, in double precision.
    pub(in crate::neighbors) fn of<R: RowSource>(rows: R) -> Option<Self> {
        let center = column_means(&rows);
        let (squared_norm, entry) = (0..rows.len().div_ceil(BLOCK))
            .into_par_iter()
            .map(|at| {
                let block = rows.block(block_range(at, rows.len()));
                arch().dispatch(Extent { center: &center, rows: &block })
            })
            .reduce(|| (0.0, 0.0), |a, b| (a.0.max(b.0), a.1.max(b.1)));
        let norm = if (1e-200..1e200).contains(&squared_norm) {
            squared_norm.sqrt() * (1.0 + 1e-10)
        } else {
            entry * (rows.dim() as f64).sqrt()
        };
        // Of numbers below this no square, and so no distance, is other than zero.
        let scale = if norm > 1e-200 { norm.recip() } else { 1.0 };
        (norm < 1e300).then_some(Self { center, scale })
    }

    /// Factor from the samples' units to steps.
    pub(in crate::neighbors) fn unit(&self) -> f64 {
        self.scale * STEPS
    }

    /// The row, centred and scaled, in single precision; returns its norm before rounding.
    #[inline(always)]
    fn round_into<T: Element>(&self, row: &[T], target: &mut [f32]) -> f64 {
        const LANES: usize = 8;
        let mut lanes = [0.0; LANES];
        let (row_chunks, row_rest) = row.as_chunks::<LANES>();
        let (center_chunks, center_rest) = self.center.as_chunks::<LANES>();
        let (target_chunks, target_rest) = target.as_chunks_mut::<LANES>();
        for ((row, center), target) in row_chunks.iter().zip(center_chunks).zip(target_chunks) {
            for lane in 0..LANES {
                let value = (row[lane].to_f64() - center[lane]) * self.scale;
                lanes[lane] += value * value;
                target[lane] = value as f32;
            }
        }
        let mut squared: f64 = lanes.iter().sum();
        for ((value, center), target) in row_rest.iter().zip(center_rest).zip(target_rest) {
            let value = (value.to_f64() - center) * self.scale;
            squared += value * value;
            *target = value as f32;
        }
        squared.sqrt()
    }
}

/// The largest squared norm and the largest entry of centred rows, compiled for each instruction set.
struct Extent<'a, T> {
    center: &'a [f64],
    rows: &'a [T],
}

impl<T: Element> WithSimd for Extent<'_, T> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (f64, f64) {
        const LANES: usize = 8;
        let mut largest = (0.0_f64, [0.0_f64; LANES]);
        for row in self.rows.chunks_exact(self.center.len()) {
            let mut squares = [0.0; LANES];
            let (row_chunks, row_rest) = row.as_chunks::<LANES>();
            let (center_chunks, center_rest) = self.center.as_chunks::<LANES>();
            for (row, center) in row_chunks.iter().zip(center_chunks) {
                for lane in 0..LANES {
                    let value = row[lane].to_f64() - center[lane];
                    squares[lane] += value * value;
                    largest.1[lane] =
                        if value.abs() > largest.1[lane] { value.abs() } else { largest.1[lane] };
                }
            }
            for (lane, (value, center)) in row_rest.iter().zip(center_rest).enumerate() {
                let value = value.to_f64() - center;
                squares[lane] += value * value;
                largest.1[lane] = largest.1[lane].max(value.abs());
            }
            largest.0 = largest.0.max(squares.iter().sum());
        }
        (largest.0, largest.1.into_iter().fold(0.0, f64::max))
    }
}

/// Rounds rows one after the other, compiled for each instruction set: to single precision, or to whole steps in 16 bits.
struct Round<'a, T, N> {
    frame: &'a Frame,
    rows: &'a [T],
    target: &'a mut [N],
}

/// Gives their norms.
impl<T: Element> WithSimd for Round<'_, T, f32> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f64> {
        let dim = self.frame.center.len();
        let mut norms = Vec::with_capacity(self.rows.len() / dim);
        for (row, target) in self.rows.chunks_exact(dim).zip(self.target.chunks_exact_mut(dim)) {
            norms.push(self.frame.round_into(row, target));
        }
        norms
    }
}

/// Gives ε of each.
impl<T: Element> WithSimd for Round<'_, T, i16> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f64> {
        const LANES: usize = 8;
        let unit = self.frame.unit();
        let dim = self.frame.center.len();
        let stride = dim.next_multiple_of(2 * crate::neighbors::lanes::LANES);
        let (centers, center_rest) = self.frame.center.as_chunks::<LANES>();
        let mut errors = Vec::with_capacity(self.rows.len() / dim);
        for (row, target) in self.rows.chunks_exact(dim).zip(self.target.chunks_exact_mut(stride)) {
            let mut squares = [0.0; LANES];
            let (row, row_rest) = row.as_chunks::<LANES>();
            let (target, target_rest) = target[..dim].as_chunks_mut::<LANES>();
            for ((row, center), target) in row.iter().zip(centers).zip(target) {
                for lane in 0..LANES {
                    let (number, error) = whole((row[lane].to_f64() - center[lane]) * unit);
                    target[lane] = number;
                    squares[lane] += error * error;
                }
            }
            for ((value, center), target) in row_rest.iter().zip(center_rest).zip(target_rest) {
                let (number, error) = whole((value.to_f64() - center) * unit);
                *target = number;
                squares[0] += error * error;
            }
            errors.push(squares.iter().sum::<f64>().sqrt() + ROUNDING_SLACK);
        }
        errors
    }
}

/// Rounds coordinates of norm at most 1 to whole steps, compiled for each instruction set.
struct ToSteps<'a> {
    projected: &'a [f32],
    count: usize,
    target: &'a mut [i16],
    stride: usize,
}

impl WithSimd for ToSteps<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, target) in
            self.projected.chunks_exact(self.count).zip(self.target.chunks_exact_mut(self.stride))
        {
            for (value, target) in row.iter().zip(target) {
                *target = whole(f64::from(*value) * STEPS).0;
            }
        }
    }
}

/// The nearest integer to a number of at most 15 bits, and what it differs by. Adding and subtracting a number that leaves
/// no bits for fractions rounds on every machine alike, and without a call.
#[inline(always)]
fn whole(value: f64) -> (i16, f64) {
    const NO_FRACTIONS: f64 = (3_u64 << 51) as f64;
    let rounded = value + NO_FRACTIONS - NO_FRACTIONS;
    (rounded as i32 as i16, value - rounded)
}

/// Means of the columns over some of the rows: any point near the samples serves as centre.
fn column_means<R: RowSource>(rows: &R) -> Vec<f64> {
    let sampled = CENTER_ROWS.min(rows.len());
    let mut means = vec![0.0; rows.dim()];
    for at in 0..sampled {
        let p = at * rows.len() / sampled;
        for (mean, value) in means.iter_mut().zip(rows.row(p).iter()) {
            *mean += value.to_f64() / sampled as f64;
        }
    }
    means
}

/// The rows of a block.
fn block_range(at: usize, rows: usize) -> Range<usize> {
    at * BLOCK..rows.min((at + 1) * BLOCK)
}

/// Projects a block of rows; returns their coordinates and norms.
fn project<T: Element>(
    block: &[T],
    dim: usize,
    frame: &Frame,
    axes: MatRef<'_, f32>,
) -> (Vec<f32>, Vec<f64>) {
    let (rows, count) = (block.len() / dim, axes.ncols());
    let mut rounded = vec![0.0_f32; block.len()];
    let norms = arch().dispatch(Round { frame, rows: block, target: &mut rounded[..] });
    let rounded = MatRef::from_row_major_slice(&rounded, rows, dim);
    let mut projected = vec![0.0_f32; rows * count];
    let mut target = MatMut::from_row_major_slice_mut(&mut projected, rows, count);
    for first in (0..dim).step_by(PIECE) {
        let piece = PIECE.min(dim - first);
        let accumulate = if first == 0 { Accum::Replace } else { Accum::Add };
        let (left, right) = (rounded.subcols(first, piece), axes.subrows(first, piece));
        matmul(target.as_mut(), accumulate, left, right, 1.0, Par::Seq);
    }
    (projected, norms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbors::{Rows, squared_distance};

    const DIM: usize = 40;

    fn values() -> Vec<f64> {
        (0..120 * DIM).map(|at| (at as f64 * 0.37).sin() * (1.0 + (at % DIM) as f64)).collect()
    }

    /// ‖ẑ_p − ẑ_q‖ ≤ ‖x_p − x_q‖ + ε_p + ε_q for all pairs, in steps; the last digits are those of this sum.
    fn assert_bounds_from_below(coordinates: &Coordinates, rows: Rows<'_, f64>) {
        for p in 0..rows.len() {
            for q in 0..p {
                let differences = coordinates.row(p).iter().zip(coordinates.row(q));
                let squared: i64 = differences.map(|(&a, &b)| (i64::from(a) - i64::from(b)).pow(2)).sum();
                let true_distance = squared_distance(&rows.row(p), &rows.row(q)).sqrt() * coordinates.unit;
                let most = true_distance + coordinates.errors[p] + coordinates.errors[q];
                assert!((squared as f64).sqrt() <= most * (1.0 + 1e-12), "rows {p} and {q}");
            }
        }
    }

    #[test]
    fn distances_are_bounded_from_below() {
        let values = values();
        let rows = Rows { values: &values, dim: DIM };
        let frame = Frame::of(rows).expect("not too large");
        assert_bounds_from_below(&Coordinates::unrotated(rows, &frame), rows);
        let axes = Mat::from_fn(DIM, 9, |i, j| if i == DIM - 1 - j { 1.0 } else { 0.0 });
        assert_bounds_from_below(&Coordinates::on_axes(rows, &frame, &axes), rows);
    }

    #[test]
    fn nothing_is_lost_but_rounding_where_all_coordinates_are_there() {
        let values = values();
        let rows = Rows { values: &values, dim: DIM };
        let coordinates = Coordinates::unrotated(rows, &Frame::of(rows).expect("not too large"));
        assert!(coordinates.errors.iter().all(|&error| error <= 0.5 * (DIM as f64).sqrt() + ROUNDING_SLACK));
        let largest = (0..rows.len()).map(|p| squared_norm(coordinates.row(p))).max().expect("rows");
        assert!((f64::from(largest).sqrt() - STEPS).abs() < 4.0, "the largest row fills the range");
    }

    #[test]
    fn rows_follow_their_order() {
        let values = values();
        let rows = Rows { values: &values, dim: DIM };
        let plain = Coordinates::unrotated(rows, &Frame::of(rows).expect("not too large"));
        let order: Vec<u32> = (0..120).map(|at| at * 7 % 120).collect();
        let mut permuted = plain.clone();
        permuted.permute(&order);
        assert!(order.iter().enumerate().all(|(place, &p)| permuted.row(place) == plain.row(p as usize)));
    }
}
