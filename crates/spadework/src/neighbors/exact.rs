//! Exact search by blocked matrix products.
//!
//! ‖a − b‖² = ‖a‖² + ‖b‖² − 2 a·b turns all distances of a block of rows to a tile of columns into one product. It runs
//! in single precision and loses digits to cancellation, so it decides nothing: with the error bound below it yields an
//! interval for every squared distance, the pairs whose interval cannot reach the k nearest are dropped, and the few
//! that are left are settled with [`squared_distance`] in double precision. The result is that of
//! [`BruteForce`](super::BruteForce), bit by bit, for any number of threads.
//!
//! **Error bound.** Rows are centred, scaled to at most 1 and rounded to single precision (unit roundoff u = 2⁻²⁴): this
//! moves a squared distance by at most 4u(‖a‖² + ‖b‖²). A product of length d, summed in any order, fused or not, errs by
//! at most γ_d‖a‖‖b‖ with γ_d = du/(1 − du); twice that is at most γ_d(‖a‖² + ‖b‖²). The last additions add a few u
//! more. Together: |computed − true| ≤ c(‖a‖² + ‖b‖²), c = γ_d + 16u, plus η for underflow.
//!
//! Read: [`ExactSearch`], `Filter` (the rounded copy and its bounds), `search_block`.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

use super::candidates::{Bounded, Candidates};
use super::{BruteForce, Element, NeighborLists, NeighborSearch, check_neighbors, squared_distance};
use crate::monitor::check_cancelled;
use crate::{Monitor, Result, Samples, Values};

/// Rows whose neighbours are sought together: their share of a tile stays in the second-level cache.
const BLOCK_ROWS: usize = 256;
/// Columns of one product.
const TILE_COLUMNS: usize = 1024;
/// Columns looked at together when a row is scanned.
const SCAN_COLUMNS: usize = 16;
/// Unit roundoff of single precision.
const UNIT_ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;
/// Beyond this dimension the error bound of a single-precision product says too little.
const MOST_DIMENSIONS: usize = 1 << 20;

/// The default search: exact, by blocked matrix products in single precision, settled in double precision.
///
/// # Complexity
/// 2n²d operations in matrix products; memory for one single-precision copy of the samples and a tile a thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExactSearch;

impl NeighborSearch for ExactSearch {
    fn search(
        &self,
        samples: &Samples<'_>,
        neighbors: usize,
        monitor: &dyn Monitor,
    ) -> Result<NeighborLists> {
        check_neighbors(neighbors, samples.len())?;
        if samples.dim() > MOST_DIMENSIONS {
            return BruteForce.search(samples, neighbors, monitor);
        }
        match samples.values() {
            Values::F32(values) => search(values, samples.dim(), neighbors, monitor),
            Values::F64(values) => search(values, samples.dim(), neighbors, monitor),
        }
    }
}

fn search<T: Element>(
    values: &[T],
    dim: usize,
    neighbors: usize,
    monitor: &dyn Monitor,
) -> Result<NeighborLists> {
    let filter = Filter::new(values, dim);
    let samples = filter.samples();
    let rows_done = AtomicU64::new(0);
    let blocks = (0..samples.div_ceil(BLOCK_ROWS))
        .into_par_iter()
        .map(|block| {
            let first = block * BLOCK_ROWS;
            let rows = first..(first + BLOCK_ROWS).min(samples);
            let found = search_block(values, &filter, rows.clone(), neighbors, monitor)?;
            let done = rows_done.fetch_add(rows.len() as u64, Ordering::Relaxed) + rows.len() as u64;
            monitor.progress(done, samples as u64);
            Ok(found)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(NeighborLists::from_rows(neighbors, &blocks.concat()))
}

/// The rounded copy of the samples and what bounds the error of products with it.
struct Filter {
    dim: usize,
    rounded: Vec<f32>,
    squared_norms: Vec<f64>,
    /// ‖b‖²(1 − c) − η and ‖b‖²(1 + c) + η: with −2 a·b added, they enclose the distance up to the row's constant.
    lower: Vec<f32>,
    upper: Vec<f32>,
    /// c of the error bound.
    relative_error: f64,
    /// Squared scale between the samples' units and the copy's.
    squared_scale: f64,
}

impl Filter {
    fn new<T: Element>(values: &[T], dim: usize) -> Self {
        let center = column_means(values, dim);
        let largest = values
            .par_chunks(dim)
            .map(|row| row.iter().zip(&center).fold(0.0_f64, |m, (&v, c)| m.max((v.to_f64() - c).abs())))
            .reduce(|| 0.0, f64::max);
        let scale = if largest > 0.0 { largest.recip().clamp(f64::MIN_POSITIVE, 1e150) } else { 1.0 };
        let mut rounded = vec![0.0_f32; values.len()];
        rounded.par_chunks_mut(dim).zip(values.par_chunks(dim)).for_each(|(rounded, row)| {
            for ((rounded, &v), c) in rounded.iter_mut().zip(row).zip(&center) {
                *rounded = ((v.to_f64() - c) * scale) as f32;
            }
        });
        Self::from_rounded(rounded, dim, scale)
    }

    fn from_rounded(rounded: Vec<f32>, dim: usize, scale: f64) -> Self {
        let length = dim as f64 * UNIT_ROUNDOFF;
        let relative_error = length / (1.0 - length) + 16.0 * UNIT_ROUNDOFF;
        // Products below the smallest normal number may vanish altogether.
        let underflow = dim as f64 * f64::from(f32::MIN_POSITIVE);
        let squared_norms: Vec<f64> = rounded
            .par_chunks(dim)
            .map(|row| row.iter().map(|&v| f64::from(v) * f64::from(v)).sum())
            .collect();
        let lower = squared_norms.iter().map(|n| (n * (1.0 - relative_error) - underflow) as f32).collect();
        let upper = squared_norms.iter().map(|n| (n * (1.0 + relative_error) + underflow) as f32).collect();
        let squared_scale = scale * scale;
        Self { dim, rounded, squared_norms, lower, upper, relative_error, squared_scale }
    }

    fn samples(&self) -> usize {
        self.squared_norms.len()
    }

    fn rows(&self, rows: std::ops::Range<usize>) -> MatRef<'_, f32> {
        let (count, values) = (rows.len(), &self.rounded[rows.start * self.dim..rows.end * self.dim]);
        MatRef::from_row_major_slice(values, count, self.dim)
    }

    /// What an upper bound of row `p` has on top of the column's share, 2c‖a‖².
    fn row_slack(&self, p: usize) -> f32 {
        (2.0 * self.relative_error * self.squared_norms[p]) as f32
    }

    /// A true squared distance from row `p` in the units of the bounds, rounded upwards.
    fn in_bound_units(&self, p: usize, squared_distance: f64) -> f32 {
        let constant = self.squared_norms[p] * (1.0 - self.relative_error);
        let slack = self.relative_error * self.squared_norms[p];
        ((squared_distance * self.squared_scale * (1.0 + 1e-12) - constant + slack) as f32).next_up()
    }
}

/// Means of the columns. Any point near the data serves as centre, so their rounding does not matter.
fn column_means<T: Element>(values: &[T], dim: usize) -> Vec<f64> {
    let samples = (values.len() / dim) as f64;
    let mut sums = vec![0.0; dim];
    for row in values.chunks_exact(dim) {
        for (sum, &v) in sums.iter_mut().zip(row) {
            *sum += v.to_f64() / samples;
        }
    }
    sums
}

/// The neighbours of a block of rows.
fn search_block<T: Element>(
    values: &[T],
    filter: &Filter,
    rows: std::ops::Range<usize>,
    neighbors: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<Vec<(f64, u32)>>> {
    let dim = filter.dim;
    let row_of = |p: usize| &values[p * dim..(p + 1) * dim];
    let settle_for = |p: usize| {
        move |q: u32| {
            let distance = squared_distance(row_of(p), row_of(q as usize));
            (distance, filter.in_bound_units(p, distance))
        }
    };
    let mut candidates: Vec<_> = rows.clone().map(|_| Candidates::new(neighbors)).collect();
    let mut tile = vec![0.0_f32; rows.len() * TILE_COLUMNS.min(filter.samples())];
    for first in (0..filter.samples()).step_by(TILE_COLUMNS) {
        check_cancelled(monitor)?;
        let columns = first..(first + TILE_COLUMNS).min(filter.samples());
        let products = &mut tile[..rows.len() * columns.len()];
        let target = MatMut::from_row_major_slice_mut(products, rows.len(), columns.len());
        let (left, right) = (filter.rows(rows.clone()), filter.rows(columns.clone()).transpose());
        matmul(target, Accum::Replace, left, right, 1.0, Par::Seq);
        for ((p, candidates), products) in
            rows.clone().zip(&mut candidates).zip(products.chunks_exact(columns.len()))
        {
            scan(filter, p, columns.clone(), products, candidates, &settle_for(p));
        }
    }
    Ok(rows.zip(candidates).map(|(p, candidates)| candidates.finish(&settle_for(p))).collect())
}

/// Hands the columns that may be among the nearest of row `p` to its candidates.
fn scan(
    filter: &Filter,
    p: usize,
    columns: std::ops::Range<usize>,
    products: &[f32],
    candidates: &mut Candidates,
    settle: &impl Fn(u32) -> (f64, f32),
) {
    let slack = filter.row_slack(p);
    let lower = &filter.lower[columns.clone()];
    let upper = &filter.upper[columns.clone()];
    for (chunk, (products, lower)) in
        products.chunks(SCAN_COLUMNS).zip(lower.chunks(SCAN_COLUMNS)).enumerate()
    {
        let threshold = candidates.threshold();
        // One branch a chunk: almost always none of its columns is near enough.
        if !products.iter().zip(lower).fold(false, |any, (g, l)| any | (l - 2.0 * g <= threshold)) {
            continue;
        }
        for (offset, (&product, &lower)) in products.iter().zip(lower).enumerate() {
            let at = chunk * SCAN_COLUMNS + offset;
            let q = columns.start + at;
            let lower = lower - 2.0 * product;
            if q != p && lower <= candidates.threshold() {
                let upper = upper[at] - 2.0 * product + slack;
                candidates.push(Bounded { lower, upper, index: q as u32 }, settle);
            }
        }
    }
}
