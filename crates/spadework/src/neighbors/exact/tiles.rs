//! Comparing leaves with leaves.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, Par};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::best::BestLists;
use super::coordinates::{Coordinates, underflow};
use super::order::Leaves;
use super::plan::pair_nanoseconds;
use super::{Rows, UNIT_ROUNDOFF};
use crate::monitor::check_cancelled;
use crate::neighbors::{Element, NeighborLists, single_squared_distance, squared_distance};
use crate::{Monitor, Result};

/// Columns of one product at most, unless a single leaf is larger.
const TILE_COLUMNS: usize = 1024;
/// Up to this many neighbours are kept sorted by insertion.
const MOST_INSERTED: usize = 64;
/// Leaves that count as near.
const NEAR_LEAVES: usize = 6;
/// Columns looked at together.
const SCAN_COLUMNS: usize = 32;
/// Leaves from which the cost of all is estimated.
const ESTIMATED_LEAVES: usize = 128;
/// Covers the rounding of radii and distances in double precision.
const DOUBLE_SLACK: f64 = 1.0 + 1e-10;

/// A search in progress: everything in the order of the leaves.
#[derive(Debug)]
pub(super) struct Tiles<'a, T> {
    rows: Rows<'a, T>,
    coarse: Coordinates,
    fine: Option<Coordinates>,
    leaves: Leaves,
    /// For every leaf, the later leaves near it, ascending.
    near: Vec<Vec<usize>>,
    best: BestLists,
    /// ‖ẑ‖²(1 − c) of the coarse vectors.
    lower_norms: Vec<f32>,
    /// Largest ε of each leaf's coarse vectors.
    leaf_errors: Vec<f64>,
    /// Bits of the largest radius plus ε of each leaf's rows, in the units of the coarse vectors.
    leaf_reaches: Vec<AtomicU64>,
}

impl<'a, T: Element> Tiles<'a, T> {
    pub(super) fn new(
        rows: Rows<'a, T>,
        coarse: Coordinates,
        fine: Option<Coordinates>,
        leaves: Leaves,
        best: BestLists,
    ) -> Self {
        let keep = 1.0 - coarse.product_error();
        let lower_norms =
            coarse.squared_norms.iter().map(|norm| ((norm * keep) as f32).next_down()).collect();
        let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
        let leaf_errors =
            (0..leaves.count()).map(|leaf| largest(&coarse.errors[leaves.rows(leaf)])).collect();
        let leaf_reaches = (0..leaves.count()).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect();
        let near = leaves.nearest_pairs(NEAR_LEAVES);
        Self { rows, coarse, fine, leaves, near, best, lower_norms, leaf_errors, leaf_reaches }
    }

    pub(super) fn leaf_count(&self) -> usize {
        self.leaves.count()
    }

    /// Pairs of leaves, each with itself included.
    pub(super) fn pair_count(&self) -> u64 {
        let leaves = self.leaf_count() as u64;
        leaves * (leaves + 1) / 2
    }

    pub(super) fn into_lists(self) -> NeighborLists {
        self.best.into_lists(self.leaves.order())
    }

    /// −2 times the products of two ranges of coarse vectors, row by row.
    fn products(&self, rows: Range<usize>, columns: Range<usize>) -> Vec<f32> {
        let mut tile = vec![0.0; rows.len() * columns.len()];
        let target = MatMut::from_row_major_slice_mut(&mut tile, rows.len(), columns.len());
        let (left, right) = (self.coarse.block(rows), self.coarse.block(columns).transpose());
        matmul(target, Accum::Replace, left, right, -2.0, Par::Seq);
        tile
    }

    /// The sample at a place of the order.
    #[inline(always)]
    fn sample(&self, place: usize) -> &'a [T] {
        self.rows.row(self.leaves.order()[place] as usize)
    }

    /// Gives the rows of a leaf their first radii: the k nearest by coarse distance in its surroundings are as many real
    /// samples, so the k-th nearest of all is no further than the furthest of them.
    pub(super) fn first_radii(&self, leaf: usize, monitor: &dyn Monitor) -> Result<()> {
        check_cancelled(monitor)?;
        let (rows, columns) = (self.leaves.rows(leaf), self.surroundings(leaf));
        let tile = self.products(rows.clone(), columns.clone());
        Arch::new().dispatch(FirstRadii { tiles: self, rows, columns, products: &tile });
        self.refresh_reach(leaf);
        Ok(())
    }

    /// The leaf and those beside it, or more where they hold too few rows.
    fn surroundings(&self, leaf: usize) -> Range<usize> {
        let (mut first, mut last) = (leaf.saturating_sub(1), (leaf + 1).min(self.leaf_count() - 1));
        loop {
            let columns = self.leaves.rows(first).start..self.leaves.rows(last).end;
            if columns.len() > self.best.neighbors() {
                return columns;
            }
            (first, last) = (first.saturating_sub(1), (last + 1).min(self.leaf_count() - 1));
        }
    }

    /// The k columns of smallest coarse distance from row `p`.
    #[inline(always)]
    fn nearest_by_product(&self, p: usize, columns: Range<usize>, products: &[f32]) -> Vec<(f32, usize)> {
        let neighbors = self.best.neighbors();
        if neighbors > MOST_INSERTED {
            return self.nearest_by_selection(p, columns, products);
        }
        let mut nearest: Vec<(f32, usize)> = Vec::with_capacity(neighbors + 1);
        let offer = |key: f32, q: usize, nearest: &mut Vec<(f32, usize)>| {
            if q == p || (nearest.len() == neighbors && key >= nearest[neighbors - 1].0) {
                return;
            }
            let place = nearest.partition_point(|held| held.0 < key);
            nearest.truncate(neighbors - 1);
            nearest.insert(place, (key, q));
        };
        let (product_chunks, product_rest) = products.as_chunks::<SCAN_COLUMNS>();
        let (norm_chunks, norm_rest) = self.lower_norms[columns.clone()].as_chunks::<SCAN_COLUMNS>();
        let mut q = columns.start;
        for (products, norms) in product_chunks.iter().zip(norm_chunks) {
            let worst = if nearest.len() < neighbors { f32::INFINITY } else { nearest[neighbors - 1].0 };
            let mut any = false;
            for at in 0..SCAN_COLUMNS {
                any |= products[at] + norms[at] < worst;
            }
            if any {
                for at in 0..SCAN_COLUMNS {
                    offer(products[at] + norms[at], q + at, &mut nearest);
                }
            }
            q += SCAN_COLUMNS;
        }
        for (at, (product, norm)) in product_rest.iter().zip(norm_rest).enumerate() {
            offer(product + norm, q + at, &mut nearest);
        }
        nearest
    }

    /// The same where k is so large that inserting one by one would be slow.
    fn nearest_by_selection(&self, p: usize, columns: Range<usize>, products: &[f32]) -> Vec<(f32, usize)> {
        let norms = &self.lower_norms[columns.clone()];
        let mut keys: Vec<(f32, usize)> =
            products.iter().zip(norms).zip(columns).map(|((product, norm), q)| (product + norm, q)).collect();
        keys.retain(|&(_, q)| q != p);
        keys.select_nth_unstable_by(self.best.neighbors() - 1, |a, b| a.0.total_cmp(&b.0));
        keys.truncate(self.best.neighbors());
        keys
    }

    /// Compares a leaf with those that are near: their rows' radii are then small when the others come.
    pub(super) fn compare_with_near(&self, leaf: usize, monitor: &dyn Monitor) -> Result<()> {
        for &other in &self.near[leaf] {
            check_cancelled(monitor)?;
            if !self.apart(leaf, other) {
                self.compare(leaf, other..other + 1);
            }
        }
        Ok(())
    }

    /// Compares a leaf with all later ones that were not near.
    pub(super) fn compare_with_far(&self, leaf: usize, monitor: &dyn Monitor) -> Result<()> {
        let mut next = leaf;
        while next < self.leaf_count() {
            check_cancelled(monitor)?;
            let first = next;
            next += 1;
            if self.done_or_apart(leaf, first) {
                continue;
            }
            while next < self.leaf_count()
                && self.leaves.rows(next).end - self.leaves.rows(first).start <= TILE_COLUMNS
                && !self.done_or_apart(leaf, next)
            {
                next += 1;
            }
            self.compare(leaf, first..next);
        }
        Ok(())
    }

    /// What [`Tiles::compare_with_far`] will cost for all leaves, from what it has to compare for some of them. Radii only
    /// shrink on the way, so it is rather less.
    pub(super) fn remaining_core_seconds(&self) -> f64 {
        let leaves = self.leaf_count();
        let asked = ESTIMATED_LEAVES.min(leaves);
        let pairs: usize = (0..asked)
            .map(|at| {
                let leaf = at * leaves / asked;
                let others = (0..leaves).filter(|&other| other != leaf && !self.apart(leaf, other));
                self.leaves.rows(leaf).len()
                    * others.map(|other| self.leaves.rows(other).len()).sum::<usize>()
            })
            .sum();
        // Each pair of leaves is compared from one of its sides.
        let pairs = pairs as f64 / 2.0 * leaves as f64 / asked as f64;
        pairs * pair_nanoseconds(self.coarse.dim) * 1e-9
    }

    fn done_or_apart(&self, leaf: usize, other: usize) -> bool {
        self.near[leaf].binary_search(&other).is_ok() || self.apart(leaf, other)
    }

    /// Whether no row of either leaf can have a neighbour in the other.
    fn apart(&self, a: usize, b: usize) -> bool {
        let reach = |leaf: usize| f64::from_bits(self.leaf_reaches[leaf].load(Ordering::Relaxed));
        let reach = (reach(a) + self.leaf_errors[b]).max(reach(b) + self.leaf_errors[a]);
        self.leaves.squared_gap(a, b) > reach * reach * DOUBLE_SLACK
    }

    fn refresh_reach(&self, leaf: usize) {
        let reach = self.leaves.rows(leaf).map(|p| self.reach(p)).fold(0.0, f64::max);
        self.leaf_reaches[leaf].fetch_min(reach.to_bits(), Ordering::Relaxed);
    }

    /// The radius of a row in the units of the short vectors.
    fn radius(&self, p: usize) -> f64 {
        // A distance whose squares vanish in double precision is not zero for all that.
        let lost = self.rows.dim as f64 * f64::MIN_POSITIVE;
        (self.best.squared_radius(p) + lost).sqrt() * self.coarse.scale * DOUBLE_SLACK
    }

    /// Radius plus ε: what another row's ε must be added to.
    fn reach(&self, p: usize) -> f64 {
        self.radius(p) + self.coarse.errors[p]
    }

    /// What product + ‖ẑ_q‖²(1 − c) of a neighbour q of row `p` cannot exceed, q's error being at most `error`.
    fn limit(&self, p: usize, error: f64) -> f32 {
        let reach = self.reach(p) + error;
        let constant = self.coarse.squared_norms[p] * (1.0 - self.coarse.product_error());
        let slack = UNIT_ROUNDOFF * constant + 4.0 * underflow(self.coarse.dim);
        ((reach * reach * DOUBLE_SLACK - constant + slack) as f32).next_up()
    }

    /// Compares a leaf with consecutive leaves, the first of which may be itself.
    fn compare(&self, leaf: usize, others: Range<usize>) {
        let rows = self.leaves.rows(leaf);
        let columns = self.leaves.rows(others.start).start..self.leaves.rows(others.end - 1).end;
        let tile = self.products(rows.clone(), columns.clone());
        let column_error = others.clone().map(|other| self.leaf_errors[other]).fold(0.0, f64::max);
        let row_limits: Vec<f32> = rows.clone().map(|p| self.limit(p, column_error)).collect();
        let column_limits: Vec<f32> =
            columns.clone().map(|q| self.limit(q, self.leaf_errors[leaf])).collect();
        Arch::new().dispatch(Comparison {
            tiles: self,
            rows,
            columns,
            products: &tile,
            row_limits: &row_limits,
            column_limits: &column_limits,
        });
        self.refresh_reach(leaf);
        for other in others {
            self.refresh_reach(other);
        }
    }

    /// Looks at a pair with more coordinates, and settles it if they leave it.
    #[inline(always)]
    fn consider(&self, p: usize, q: usize) {
        if let Some(fine) = &self.fine {
            let distance = f64::from(single_squared_distance(fine.row(p), fine.row(q)));
            // The sum of squares in single precision may exceed the exact one by γ_m of it.
            let bound = |p: usize, q: usize| {
                let reach = self.radius(p) + fine.errors[p] + fine.errors[q];
                reach * reach * (1.0 + 2.0 * fine.product_error()) + 4.0 * underflow(fine.dim)
            };
            if distance > bound(p, q) && distance > bound(q, p) {
                return;
            }
        }
        let (at_least, _) = T::squared_distance_bounds(self.sample(p), self.sample(q));
        if at_least > self.best.squared_radius(p) && at_least > self.best.squared_radius(q) {
            return;
        }
        let distance = squared_distance(self.sample(p), self.sample(q));
        let order = self.leaves.order();
        self.best.offer(p, distance, order[q]);
        self.best.offer(q, distance, order[p]);
    }
}

/// The loop of [`Tiles::first_radii`], compiled for each instruction set.
struct FirstRadii<'t, 'a, T> {
    tiles: &'t Tiles<'a, T>,
    rows: Range<usize>,
    columns: Range<usize>,
    products: &'t [f32],
}

impl<T: Element> WithSimd for FirstRadii<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { tiles, rows, columns, products } = self;
        for (p, products) in rows.zip(products.chunks_exact(columns.len())) {
            let nearest = tiles.nearest_by_product(p, columns.clone(), products);
            let mut radius = 0.0_f64;
            for &(_, q) in &nearest {
                radius = radius.max(T::squared_distance_bounds(tiles.sample(p), tiles.sample(q)).1);
            }
            tiles.best.shrink(p, radius);
        }
    }
}

/// The loop of [`Tiles::compare`], compiled for each instruction set.
struct Comparison<'t, 'a, T> {
    tiles: &'t Tiles<'a, T>,
    rows: Range<usize>,
    columns: Range<usize>,
    products: &'t [f32],
    row_limits: &'t [f32],
    column_limits: &'t [f32],
}

impl<T: Element> WithSimd for Comparison<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { tiles, rows, columns, products, row_limits, column_limits } = self;
        let mut candidates = Vec::new();
        for ((p, products), &row_limit) in rows.zip(products.chunks_exact(columns.len())).zip(row_limits) {
            candidates.clear();
            // A pair of the leaf with itself is looked at from its earlier row.
            let from = (p + 1).saturating_sub(columns.start).min(columns.len());
            scan(
                &products[from..],
                &tiles.lower_norms[columns.start + from..columns.end],
                &column_limits[from..],
                row_limit,
                tiles.lower_norms[p],
                &mut candidates,
            );
            for &at in &candidates {
                tiles.consider(p, columns.start + from + at as usize);
            }
        }
    }
}

/// Collects the columns that may be neighbours of the row, or it of them.
#[inline(always)]
fn scan(
    products: &[f32],
    column_norms: &[f32],
    column_limits: &[f32],
    row_limit: f32,
    row_norm: f32,
    candidates: &mut Vec<u32>,
) {
    let (product_chunks, product_rest) = products.as_chunks::<SCAN_COLUMNS>();
    let (norm_chunks, norm_rest) = column_norms.as_chunks::<SCAN_COLUMNS>();
    let (limit_chunks, limit_rest) = column_limits.as_chunks::<SCAN_COLUMNS>();
    for (chunk, ((products, norms), limits)) in
        product_chunks.iter().zip(norm_chunks).zip(limit_chunks).enumerate()
    {
        // One branch a chunk: almost always none of its columns is near enough.
        let mut any = false;
        for at in 0..SCAN_COLUMNS {
            any |= (products[at] + norms[at] <= row_limit) | (products[at] + row_norm <= limits[at]);
        }
        if any {
            let first = chunk * SCAN_COLUMNS;
            collect_near(first, (products, norms, limits), row_limit, row_norm, candidates);
        }
    }
    let first = product_chunks.len() * SCAN_COLUMNS;
    collect_near(first, (product_rest, norm_rest, limit_rest), row_limit, row_norm, candidates);
}

#[inline(always)]
fn collect_near(
    first: usize,
    (products, norms, limits): (&[f32], &[f32], &[f32]),
    row_limit: f32,
    row_norm: f32,
    candidates: &mut Vec<u32>,
) {
    for (at, ((product, norm), limit)) in products.iter().zip(norms).zip(limits).enumerate() {
        if product + norm <= row_limit || product + row_norm <= *limit {
            candidates.push((first + at) as u32);
        }
    }
}
