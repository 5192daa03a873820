//! Short vectors whose distances do not exceed those of the samples.
//!
//! With orthonormal axes Q and x the centred, scaled row, the exact short vector is z = (Qᵀx, ρ), ρ = ‖x − QQᵀx‖. Stored is
//! ẑ in single precision. What separates them:
//! - x is rounded to single precision and so is Q: at most (u + u√m)‖x‖ in Qᵀx;
//! - a product over d entries, added up in pieces of [`PIECE`], errs by at most γ‖x‖ a coordinate, γ = γ_{PIECE + pieces},
//!   so by γ√m‖x‖ in all. Call the sum of both e;
//! - ρ is √(‖x‖² − ‖Qᵀx‖²), known to lie between what ‖ŷ‖ ± e make of it; the middle is stored, half the width is its error.
//!
//! ε is the sum of e and the error of ρ. Where ρ would be mostly error it is left out: without it the distances are smaller
//! still.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::{Rows, UNIT_ROUNDOFF};
use crate::neighbors::Element;

/// Entries of a product that are added up together.
const PIECE: usize = 512;
/// Rows that the centre is the mean of.
const CENTER_ROWS: usize = 1024;
/// Rows projected together.
const BLOCK: usize = 256;

/// Short vectors of all rows, with bounds of their error.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    pub(super) dim: usize,
    pub(super) values: Vec<f32>,
    /// ‖ẑ‖².
    pub(super) squared_norms: Vec<f64>,
    /// ε of every row.
    pub(super) errors: Vec<f64>,
    /// ‖x‖ of every row before projection and rounding.
    norms: Vec<f64>,
    /// Factor from the samples' units to these.
    pub(super) scale: f64,
}

impl Coordinates {
    /// All coordinates, centred and scaled, not rotated.
    pub(super) fn unrotated<T: Element>(rows: Rows<'_, T>, frame: &Frame) -> Self {
        let mut values = vec![0.0_f32; rows.values.len()];
        let norms: Vec<f64> = values
            .par_chunks_mut(BLOCK * rows.dim)
            .zip(rows.values.par_chunks(BLOCK * rows.dim))
            .flat_map_iter(|(target, rows)| Arch::new().dispatch(RoundRows { frame, rows, target }))
            .collect();
        // Rounding of the entries, and of those too small to be normal numbers.
        let errors = norms.iter().map(|norm| 1.01 * UNIT_ROUNDOFF * norm + underflow(rows.dim)).collect();
        Self::new(rows.dim, values, errors, norms, frame.scale)
    }

    /// The coordinates on `axes`, and ρ as the last one.
    pub(super) fn on_axes<T: Element>(rows: Rows<'_, T>, frame: &Frame, axes: &Mat<f64>) -> Self {
        let count = axes.ncols();
        let rounded_axes = Mat::from_fn(axes.nrows(), count, |i, j| axes[(i, j)] as f32);
        let mut values = vec![0.0_f32; rows.len() * (count + 1)];
        let norms: Vec<f64> = values
            .par_chunks_mut(BLOCK * (count + 1))
            .zip(rows.values.par_chunks(BLOCK * rows.dim))
            .flat_map_iter(|(target, block)| project(block, rows.dim, frame, rounded_axes.as_ref(), target))
            .collect();
        Self::with_rests(count, values, norms, rows.dim, frame.scale)
    }

    /// The first `count` coordinates of these, with ρ recomputed for what they leave out.
    pub(super) fn truncated(&self, count: usize, samples_dim: usize) -> Self {
        let mut values = Vec::with_capacity(self.rows() * (count + 1));
        for row in self.values.chunks_exact(self.dim) {
            values.extend_from_slice(&row[..count]);
            values.push(0.0);
        }
        Self::with_rests(count, values, self.norms.clone(), samples_dim, self.scale)
    }

    /// Fills in ρ behind `count` coordinates, and the errors.
    fn with_rests(
        count: usize,
        mut values: Vec<f32>,
        norms: Vec<f64>,
        samples_dim: usize,
        scale: f64,
    ) -> Self {
        let relative = relative_projection_error(samples_dim, count);
        let absolute = underflow(samples_dim) * (count as f64).sqrt();
        let rests: Vec<Rest> = values
            .chunks_exact(count + 1)
            .zip(&norms)
            .map(|(row, &norm)| Rest::new(norm, squared_norm(&row[..count]), relative * norm + absolute))
            .collect();
        let total = |of: fn(&Rest) -> f64| rests.iter().map(of).sum::<f64>();
        let use_rest = total(|rest| rest.error) <= 0.1 * total(|rest| rest.middle);
        let mut errors = Vec::with_capacity(rests.len());
        for (row, rest) in values.chunks_exact_mut(count + 1).zip(&rests) {
            row[count] = if use_rest { rest.middle as f32 } else { 0.0 };
            errors.push(rest.projection_error + if use_rest { rest.error } else { 0.0 });
        }
        Self::new(count + 1, values, errors, norms, scale)
    }

    fn new(dim: usize, values: Vec<f32>, errors: Vec<f64>, norms: Vec<f64>, scale: f64) -> Self {
        let squared_norms = values.par_chunks(dim).map(squared_norm).collect();
        Self { dim, values, squared_norms, errors, norms, scale }
    }

    /// ‖x‖ of row `p`.
    pub(super) fn norm(&self, p: usize) -> f64 {
        self.norms[p]
    }

    pub(super) fn rows(&self) -> usize {
        self.squared_norms.len()
    }

    #[inline(always)]
    pub(super) fn row(&self, p: usize) -> &[f32] {
        &self.values[p * self.dim..(p + 1) * self.dim]
    }

    /// A range of rows as a matrix.
    pub(super) fn block(&self, rows: std::ops::Range<usize>) -> MatRef<'_, f32> {
        let values = &self.values[rows.start * self.dim..rows.end * self.dim];
        MatRef::from_row_major_slice(values, rows.len(), self.dim)
    }

    /// c of the error bound of a product of two rows: γ_m + 8u.
    pub(super) fn product_error(&self) -> f64 {
        gamma(self.dim) + 8.0 * UNIT_ROUNDOFF
    }

    /// Puts the rows in another order: the row at `order[i]` comes to place i.
    ///
    /// Along the cycles of the permutation, so that no second copy is needed.
    pub(super) fn permute(&mut self, order: &[u32]) {
        let mut moved = vec![false; order.len()];
        let mut held = vec![0.0; self.dim];
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
                self.values.copy_within(from * self.dim..(from + 1) * self.dim, place * self.dim);
                place = from;
            }
            self.values[place * self.dim..(place + 1) * self.dim].copy_from_slice(&held);
        }
        let pick = |from: &[f64]| order.iter().map(|&p| from[p as usize]).collect();
        self.squared_norms = pick(&self.squared_norms);
        self.errors = pick(&self.errors);
        self.norms = pick(&self.norms);
    }
}

/// γ_n = nu/(1 − nu).
fn gamma(n: usize) -> f64 {
    let nu = n as f64 * UNIT_ROUNDOFF;
    nu / (1.0 - nu)
}

/// What `terms` products of single precision may lose, or err by, below the smallest normal number.
pub(super) fn underflow(terms: usize) -> f64 {
    terms as f64 * f64::from(f32::MIN_POSITIVE)
}

/// e/‖x‖ for `count` coordinates of rows of `dim` numbers.
fn relative_projection_error(dim: usize, count: usize) -> f64 {
    let root = (count as f64).sqrt();
    1.01 * (gamma(PIECE.min(dim) + dim.div_ceil(PIECE)) * root + UNIT_ROUNDOFF * (root + 1.0))
}

fn squared_norm(row: &[f32]) -> f64 {
    row.iter().map(|&v| f64::from(v) * f64::from(v)).sum()
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
        let middle = 0.5 * (low + high);
        let error = 0.5 * (high - low) + 2.0 * UNIT_ROUNDOFF * middle;
        Self { middle, error, projection_error }
    }
}

/// Where the samples lie and how large they are: they are centred and scaled to entries of at most 1.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) center: Vec<f64>,
    pub(super) scale: f64,
}

impl Frame {
    pub(super) fn of<T: Element>(rows: Rows<'_, T>) -> Self {
        let center = column_means(rows);
        let largest_entry =
            rows.values.par_chunks(BLOCK * rows.dim).map(largest_magnitude).reduce(|| 0.0, f64::max);
        let largest_center = center.iter().fold(0.0_f64, |largest, c| largest.max(c.abs()));
        let largest = largest_entry + largest_center;
        // Of numbers below this no square, and so no distance, is other than zero.
        let scale = if largest > 1e-200 { largest.recip() } else { 1.0 };
        Self { center, scale }
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

/// Rounds rows one after the other, compiled for each instruction set; returns their norms.
struct RoundRows<'a, T> {
    frame: &'a Frame,
    rows: &'a [T],
    target: &'a mut [f32],
}

impl<T: Element> WithSimd for RoundRows<'_, T> {
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

fn largest_magnitude<T: Element>(values: &[T]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.to_f64().abs()))
}

/// Means of the columns over some of the rows: any point near the samples serves as centre.
fn column_means<T: Element>(rows: Rows<'_, T>) -> Vec<f64> {
    let sampled = CENTER_ROWS.min(rows.len());
    let mut means = vec![0.0; rows.dim];
    for at in 0..sampled {
        for (mean, value) in means.iter_mut().zip(rows.row(at * rows.len() / sampled)) {
            *mean += value.to_f64() / sampled as f64;
        }
    }
    means
}

/// Projects a block of rows; returns their norms.
fn project<T: Element>(
    block: &[T],
    dim: usize,
    frame: &Frame,
    axes: MatRef<'_, f32>,
    target: &mut [f32],
) -> Vec<f64> {
    let (rows, count) = (block.len() / dim, axes.ncols());
    let mut rounded = vec![0.0_f32; block.len()];
    let norms = Arch::new().dispatch(RoundRows { frame, rows: block, target: &mut rounded });
    let rounded = MatRef::from_row_major_slice(&rounded, rows, dim);
    // One column more than is written: ρ comes later.
    let mut target = MatMut::from_row_major_slice_mut(target, rows, count + 1).subcols_mut(0, count);
    for first in (0..dim).step_by(PIECE) {
        let piece = PIECE.min(dim - first);
        let accumulate = if first == 0 { Accum::Replace } else { Accum::Add };
        let (left, right) = (rounded.subcols(first, piece), axes.subrows(first, piece));
        matmul(target.as_mut(), accumulate, left, right, 1.0, Par::Seq);
    }
    norms
}
