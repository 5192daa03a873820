//! Comparing leaves with leaves.

use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::bands::Bands;
use super::best::{BestLists, Candidate};
use super::coordinates::{Coordinates, squared_norm};
use super::order::Leaves;
use super::panels::{FAR, GROUP_BLOCKS, GROUP_ROWS, PACKED_ROWS, Panels};
use super::plan::pair_nanoseconds;
use super::{DOUBLE_SLACK, RowSource};
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::lanes::{LANES, Lanes, LanesTask, dispatch};
use crate::neighbors::{Element, NeighborLists, squared_distance, squared_distances_of};

/// Columns compared at once at most, and their numbers, unless a single leaf has more: they stay in the nearer caches.
const TILE_COLUMNS: usize = 1024;
const TILE_NUMBERS: usize = 1 << 17;
/// Leaves from which the cost of all is estimated.
const ESTIMATED_LEAVES: usize = 128;
/// More than any squared distance between short vectors.
pub(super) const EVERYTHING: f64 = 2.1e9;
/// Rows of at least this many numbers do not stay in the nearer caches: pairs of them are settled slice by slice.
const LONG_ROW: usize = 8192;
pub(super) const SLICE: usize = 2048;
/// Slices after which pairs are dropped that have become too far.
const SLICES_BETWEEN_LOOKS: usize = 4;
/// Rows that are put in order before any is settled, for each neighbor wanted.
const LOOKED_AT_PER_NEIGHBOR: usize = 2;

/// A search in progress: everything in the order of the leaves.
#[derive(Debug)]
pub(super) struct Tiles<R> {
    rows: R,
    coarse: Panels,
    fine: Option<Fine>,
    bands: Option<Bands>,
    pub(super) leaves: Leaves,
    /// For every leaf, itself and the leaves near it, ascending.
    near: Vec<Vec<usize>>,
    pub(super) best: BestLists,
    /// Largest ε of each leaf's coarse vectors.
    leaf_errors: Vec<f64>,
    /// Bits of the largest radius plus ε of each leaf's rows.
    leaf_reaches: Vec<AtomicU64>,
}

/// What is looked at in place of the rows, the cheapest first.
#[derive(Debug)]
pub(super) struct Looks {
    pub(super) coarse: Panels,
    pub(super) fine: Option<Coordinates>,
    pub(super) bands: Option<Bands>,
}

/// A pair that is being settled in slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SlicedPair {
    /// Σ (a − b)² of the slices so far.
    sum: u64,
    p: usize,
    q: usize,
    /// The squared distance of the sums over the blocks of the slices to come.
    rest: i32,
}

/// Which rows of a pair of leaves still want their neighbors from the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sides {
    rows: bool,
    columns: bool,
}

/// Short vectors for a closer look, with their norms.
#[derive(Debug)]
struct Fine {
    coordinates: Coordinates,
    squared_norms: Vec<i32>,
}

impl Fine {
    fn new(coordinates: Coordinates) -> Self {
        let squared_norms =
            (0..coordinates.rows()).into_par_iter().map(|p| squared_norm(coordinates.row(p))).collect();
        Self { coordinates, squared_norms }
    }

    /// ‖ẑ_p − ẑ_q‖².
    #[inline(always)]
    fn squared_distance<L: Lanes>(&self, lanes: L, p: usize, q: usize) -> i32 {
        let (a, _) = self.coordinates.row(p).as_chunks();
        let (b, _) = self.coordinates.row(q).as_chunks();
        let mut sums = lanes.splat(0);
        for (a, b) in a.iter().zip(b) {
            sums = lanes.add_pair_products(sums, lanes.load_pairs(a), lanes.load_pairs(b));
        }
        self.squared_norms[p] + self.squared_norms[q] - 2 * lanes.total(sums)
    }

    /// Whether the samples of rows p and q may be no further apart than `radius`.
    #[inline(always)]
    fn within<L: Lanes>(&self, lanes: L, p: usize, q: usize, radius: f64) -> bool {
        let reach = radius + self.coordinates.errors[p] + self.coordinates.errors[q];
        f64::from(self.squared_distance(lanes, p, q)) <= reach * reach * DOUBLE_SLACK
    }
}

impl<R: RowSource> Tiles<R> {
    pub(super) fn new(rows: R, looks: Looks, leaves: Leaves, near_leaves: usize, best: BestLists) -> Self {
        let Looks { coarse, fine, bands } = looks;
        let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
        let leaf_errors =
            (0..leaves.count()).map(|leaf| largest(&coarse.errors[leaves.rows(leaf)])).collect();
        let leaf_reaches = (0..leaves.count()).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect();
        let near = leaves.surroundings(near_leaves, best.neighbors() + 1);
        let fine = fine.map(Fine::new);
        let mut tiles = Self { rows, coarse, fine, bands, leaves, near, best, leaf_errors, leaf_reaches };
        if tiles.in_slices() {
            // Pairs that give the first radii come again when leaves are compared.
            tiles.best.allow_repeats();
        }
        tiles
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
        let rows = self.rows;
        self.best.into_lists(self.leaves.order(), |pairs| squared_distances_of(rows, pairs))
    }

    /// Whether pairs are settled slice by slice, those of a leaf with itself and with near ones included.
    fn in_slices(&self) -> bool {
        R::Item::HAS_PARTS && self.rows.dim() >= LONG_ROW
    }

    /// The sample at a place of the order.
    #[inline(always)]
    fn sample(&self, place: usize) -> Cow<'_, [R::Item]> {
        self.rows.row(self.leaves.order()[place] as usize)
    }

    /// Finds the nearest of every row of a leaf among those of the leaves near it: its radius is then nearly the final one.
    pub(super) fn search_near(&self, leaf: usize, monitor: &dyn Monitor) -> Result<()> {
        check_cancelled(monitor)?;
        dispatch(NearSearch { tiles: self, leaf });
        self.refresh_reach(leaf);
        Ok(())
    }

    /// Compares a leaf with all later ones, as far as they were not near.
    pub(super) fn compare_with_later(&self, leaf: usize, monitor: &dyn Monitor) -> Result<()> {
        let most_columns = TILE_COLUMNS.min(TILE_NUMBERS / self.coarse.numbers());
        let mut next = if self.in_slices() { leaf } else { leaf + 1 };
        while next < self.leaf_count() {
            check_cancelled(monitor)?;
            let first = next;
            next += 1;
            let Some(sides) = self.sides(leaf, first) else { continue };
            while next < self.leaf_count()
                && self.leaves.rows(next).end - self.leaves.rows(first).start <= most_columns
                && self.sides(leaf, next) == Some(sides)
            {
                next += 1;
            }
            self.compare(leaf, first..next, sides);
        }
        Ok(())
    }

    /// What [`Tiles::compare_with_later`] will cost for all leaves, from what it has to compare for some of them. Radii only
    /// shrink on the way, so it is rather less.
    pub(super) fn remaining_core_seconds(&self) -> f64 {
        let leaves = self.leaf_count();
        let asked = ESTIMATED_LEAVES.min(leaves);
        let pairs: usize = (0..asked)
            .map(|at| {
                let leaf = at * leaves / asked;
                let others = (0..leaves).filter(|&other| other != leaf && self.sides(leaf, other).is_some());
                self.leaves.rows(leaf).len()
                    * others.map(|other| self.leaves.rows(other).len()).sum::<usize>()
            })
            .sum();
        // Each pair of leaves is compared from one of its sides.
        let pairs = pairs as f64 / 2.0 * leaves as f64 / asked as f64;
        pairs * pair_nanoseconds(self.coarse.numbers()) * 1e-9
    }

    /// For which of two leaves the other is still to be searched; `None` if for neither.
    fn sides(&self, leaf: usize, other: usize) -> Option<Sides> {
        let searched =
            |of: usize, other: usize| !self.in_slices() && self.near[of].binary_search(&other).is_ok();
        let sides = Sides { rows: !searched(leaf, other), columns: !searched(other, leaf) };
        ((sides.rows || sides.columns) && !self.apart(leaf, other)).then_some(sides)
    }

    /// Whether no row of either leaf can have a neighbor in the other.
    fn apart(&self, a: usize, b: usize) -> bool {
        let reach = |leaf: usize| f64::from_bits(self.leaf_reaches[leaf].load(Ordering::Relaxed));
        let reach = (reach(a) + self.leaf_errors[b]).max(reach(b) + self.leaf_errors[a]);
        self.leaves.squared_gap(a, b) > reach * reach * DOUBLE_SLACK
    }

    pub(super) fn refresh_reach(&self, leaf: usize) {
        let reach = self.leaves.rows(leaf).map(|p| self.reach(p)).fold(0.0, f64::max);
        self.leaf_reaches[leaf].fetch_min(reach.to_bits(), Ordering::Relaxed);
    }

    /// Radius plus ε: what another row's ε must be added to.
    fn reach(&self, p: usize) -> f64 {
        self.best.radius(p) + self.coarse.errors[p]
    }

    /// [`Panels::least_product`] of row `p` with neighbors whose ε is at most `error`.
    #[inline(always)]
    fn least_product(&self, p: usize, error: f64) -> i32 {
        let reach = self.reach(p) + error;
        self.coarse.least_product(p, (reach * reach * DOUBLE_SLACK).min(EVERYTHING).ceil() as i64)
    }

    /// The same for the rows of some blocks; more than any product where they want no neighbors.
    fn least_products(&self, blocks: Range<usize>, error: f64, wanted: bool) -> Vec<[i32; LANES]> {
        let rows = if wanted { self.coarse.rows() } else { 0 };
        let least = |p: usize| if p < rows { self.least_product(p, error) } else { FAR };
        blocks.map(|block| std::array::from_fn(|lane| least(block * LANES + lane))).collect()
    }

    /// Compares a leaf with consecutive later ones.
    fn compare(&self, leaf: usize, others: Range<usize>, sides: Sides) {
        let rows = self.leaves.rows(leaf);
        let columns = self.leaves.rows(others.start).start..self.leaves.rows(others.end - 1).end;
        let column_error = others.clone().map(|other| self.leaf_errors[other]).fold(0.0, f64::max);
        let (row_blocks, column_blocks) = (Panels::blocks(&rows), Panels::blocks(&columns));
        let row_least = self.least_products(row_blocks.clone(), column_error, sides.rows);
        let column_least = self.least_products(column_blocks.clone(), self.leaf_errors[leaf], sides.columns);
        dispatch(TileComparison {
            tiles: self,
            row_blocks,
            column_blocks,
            row_least: &row_least,
            column_least: &column_least,
            sides,
        });
        self.refresh_reach(leaf);
        for other in others {
            self.refresh_reach(other);
        }
    }

    /// Looks at a pair with more coordinates, and settles it for the sides that want it if they leave it.
    #[inline(always)]
    fn consider<L: Lanes>(&self, lanes: L, p: usize, q: usize, sides: Sides) {
        if let Some(fine) = &self.fine {
            let radius = |p: usize, wanted: bool| if wanted { self.best.radius(p) } else { 0.0 };
            let radius = radius(p, sides.rows).max(radius(q, sides.columns));
            if !fine.within(lanes, p, q, radius) {
                return;
            }
        }
        self.settle(lanes, p, q, sides);
    }

    /// Offers each of two rows the other, on the sides that want it, unless it is too far.
    #[inline(always)]
    fn settle<L: Lanes>(&self, lanes: L, p: usize, q: usize, sides: Sides) {
        let (a, b) = (self.sample(p), self.sample(q));
        if R::Item::HAS_PARTS {
            return self.offer(p, q, R::Item::bounds(R::Item::part(lanes, &a, &b), a.len()), sides);
        }
        let at_least = R::Item::least_squared_distance(lanes, &a, &b);
        let wanted = |p: usize, wanted: bool| wanted && at_least <= self.best.squared_radius(p);
        let sides = Sides { rows: wanted(p, sides.rows), columns: wanted(q, sides.columns) };
        if sides.rows || sides.columns {
            let distance = squared_distance(&a, &b);
            self.offer(p, q, (distance, distance), sides);
        }
    }

    /// Offers each of two rows the other, on the sides that want it, by bounds of their squared distance.
    #[inline(always)]
    fn offer(&self, p: usize, q: usize, (least, most): (f64, f64), sides: Sides) {
        let order = self.leaves.order();
        for (p, q, wanted) in [(p, q, sides.rows), (q, p, sides.columns)] {
            if wanted {
                let distance = |index: u32| squared_distance(&self.sample(p), &self.rows.row(index as usize));
                self.best.offer(p, Candidate { least, most, index: order[q] }, distance);
            }
        }
    }

    /// Bounds of the squared distance of a pair, where one of its rows holds the other as a candidate.
    fn known(&self, p: usize, q: usize) -> Option<(f64, f64)> {
        let order = self.leaves.order();
        let held = self.best.held(p, order[q]).or_else(|| self.best.held(q, order[p]))?;
        Some((held.least, held.most))
    }

    /// Settles pairs of long rows slice by slice, so that slices of many rows are in the caches together; the nearest first.
    #[inline(always)]
    fn settle_in_slices<L: Lanes>(&self, lanes: L, candidates: &[(usize, usize)], sides: Sides) {
        let may_be_near = |p: usize, q: usize| match &self.fine {
            Some(fine) => fine.within(lanes, p, q, self.best.radius(p).max(self.best.radius(q))),
            None => true,
        };
        let mut pairs: Vec<SlicedPair> = Vec::with_capacity(candidates.len());
        for &(p, q) in candidates {
            // In a leaf that is compared with itself every pair comes twice; some rows only fill up a block.
            if p >= q || q >= self.coarse.rows() || !may_be_near(p, q) {
                continue;
            }
            if let Some(known) = self.known(p, q) {
                self.offer(p, q, known, sides);
            } else {
                let rest = self.bands.as_ref().map_or(0, |bands| bands.squared_distance(p, q));
                pairs.push(SlicedPair { sum: 0, p, q, rest });
            }
        }
        let dim = self.rows.dim();
        let length = self.bands.as_ref().map_or(SLICE, Bands::slice_numbers);
        for (at, first) in (0..dim).step_by(length).enumerate() {
            if at % SLICES_BETWEEN_LOOKS == 0 {
                pairs.retain(|pair| self.may_still_be_near(pair));
            }
            let slice = first..dim.min(first + length);
            for SlicedPair { sum, p, q, rest } in &mut pairs {
                *sum +=
                    R::Item::part(lanes, &self.sample(*p)[slice.clone()], &self.sample(*q)[slice.clone()]);
                if let Some(bands) = &self.bands {
                    *rest -= bands.squared_distance_in(*p, *q, at);
                }
            }
        }
        pairs.sort_unstable();
        for SlicedPair { sum, p, q, .. } in pairs {
            self.offer(p, q, R::Item::bounds(sum, dim), sides);
        }
    }

    /// Whether a pair may be no further apart than the radius of one of its rows, by the slices that have been looked at and by the
    /// sums of the others.
    #[inline(always)]
    fn may_still_be_near(&self, &SlicedPair { sum, p, q, rest }: &SlicedPair) -> bool {
        let Some(bands) = &self.bands else { return true };
        let least = R::Item::bounds(sum, self.rows.dim()).0 + bands.least_squared_distance(p, q, rest);
        least <= self.best.squared_radius(p).max(self.best.squared_radius(q)) * DOUBLE_SLACK
    }
}

/// The loop of [`Tiles::search_near`], compiled for each instruction set.
struct NearSearch<'t, R> {
    tiles: &'t Tiles<R>,
    leaf: usize,
}

impl<R: RowSource> LanesTask for NearSearch<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { tiles, leaf } = self;
        let rows = tiles.leaves.rows(leaf);
        let near = &tiles.near[leaf];
        let blocks: Vec<usize> =
            near.iter().flat_map(|&near| Panels::blocks(&tiles.leaves.rows(near))).collect();
        let error = near.iter().map(|&near| tiles.leaf_errors[near]).fold(0.0, f64::max);
        let mut nearness: [Vec<[i32; LANES]>; GROUP_ROWS] =
            std::array::from_fn(|_| vec![[0; LANES]; blocks.len()]);
        let (mut nearest, mut first_looks) = (Vec::new(), Vec::new());
        for first in rows.clone().step_by(GROUP_ROWS) {
            for (at, group) in blocks.chunks_exact(GROUP_BLOCKS).enumerate() {
                let products = tiles.coarse.products(lanes, first / LANES, first % LANES, group[0]);
                for (row, products) in products.into_iter().enumerate() {
                    for (column, product) in products.into_iter().enumerate() {
                        let halves = lanes.load(tiles.coarse.halves(group[column]));
                        nearness[row][at * GROUP_BLOCKS + column] = lanes.store(lanes.sub(product, halves));
                    }
                }
            }
            for (p, nearness) in (first..rows.end).zip(&nearness) {
                let keys = Nearness { p, blocks: &blocks, keys: nearness };
                let threshold = tiles.seem_nearest(lanes, &keys, &mut nearest);
                if tiles.in_slices() {
                    first_looks
                        .extend(nearest.iter().take(tiles.most_first_looks()).map(|&(_, q)| (p, q as usize)));
                } else {
                    tiles.search_among(lanes, &keys, &nearest, threshold, error);
                }
            }
        }
        tiles.settle_first_looks(lanes, &mut first_looks);
    }
}

/// How near some blocks of columns are to a row by their short vectors: product less half of the squared norm.
struct Nearness<'k> {
    p: usize,
    blocks: &'k [usize],
    keys: &'k [[i32; LANES]],
}

impl Nearness<'_> {
    /// A number that at least `wanted` keys, or all of them, are not below, and not many more.
    #[inline(always)]
    fn threshold<L: Lanes>(&self, lanes: L, wanted: usize) -> i32 {
        const BLOCKS: usize = PACKED_ROWS / LANES;
        let descending = |a: &i32, b: &i32| b.cmp(a);
        if 2 * wanted <= BLOCKS * LANES {
            // The greatest of every lane: most of the greatest of all are among them.
            let mut greatest = [lanes.splat(i32::MIN); BLOCKS];
            for group in self.keys.as_chunks::<BLOCKS>().0 {
                for at in 0..BLOCKS {
                    greatest[at] = lanes.max(greatest[at], lanes.load(&group[at]));
                }
            }
            let mut greatest = greatest.map(|numbers| lanes.store(numbers));
            return *greatest.as_flattened_mut().select_nth_unstable_by(wanted - 1, descending).1;
        }
        let mut all = self.keys.as_flattened().to_vec();
        let at = wanted.min(all.len()) - 1;
        *all.select_nth_unstable_by(at, descending).1
    }

    /// Calls `visit` with every column other than the row itself whose key is at least `low` and below `high`.
    #[inline(always)]
    fn visit<L: Lanes>(&self, lanes: L, rows: usize, low: i32, high: i32, mut visit: impl FnMut(usize, i32)) {
        let (low, high) = (lanes.splat(low), lanes.splat(high));
        for (&block, keys) in self.blocks.iter().zip(self.keys) {
            let loaded = lanes.load(keys);
            let mut mask = lanes.at_least(loaded, low) & !lanes.at_least(loaded, high);
            while mask != 0 {
                let lane = mask.trailing_zeros() as usize;
                let q = block * LANES + lane;
                mask &= mask - 1;
                if q != self.p && q < rows {
                    visit(q, keys[lane]);
                }
            }
        }
    }
}

impl<R: RowSource> Tiles<R> {
    /// Rows that a row is compared with before all others.
    fn most_first_looks(&self) -> usize {
        LOOKED_AT_PER_NEIGHBOR * self.best.neighbors()
    }

    /// Puts the columns that seem nearest to a row into their order by the finer coordinates; returns the key that they reach.
    #[inline(always)]
    fn seem_nearest<L: Lanes>(
        &self,
        lanes: L,
        nearness: &Nearness<'_>,
        nearest: &mut Vec<(i32, u32)>,
    ) -> i32 {
        // One more for the row itself.
        let threshold = nearness.threshold(lanes, 1 + self.most_first_looks());
        nearest.clear();
        nearness.visit(lanes, self.coarse.rows(), threshold, i32::MAX, |q, key| {
            let distance =
                self.fine.as_ref().map_or(-key, |fine| fine.squared_distance(lanes, nearness.p, q));
            nearest.push((distance, q as u32));
        });
        nearest.sort_unstable();
        threshold
    }

    /// Finds the nearest of a row among some columns whose ε is at most `error`; those that seem nearest come first, so that the radius is
    /// soon small.
    #[inline(always)]
    fn search_among<L: Lanes>(
        &self,
        lanes: L,
        nearness: &Nearness<'_>,
        nearest: &[(i32, u32)],
        threshold: i32,
        error: f64,
    ) {
        const ONLY_ROW: Sides = Sides { rows: true, columns: false };
        let (p, rows) = (nearness.p, self.coarse.rows());
        for &(_, q) in nearest {
            self.consider(lanes, p, q as usize, ONLY_ROW);
        }
        // ⌊‖ẑ_q‖²/2⌋ has been subtracted already.
        let least = self.least_product(p, error);
        nearness.visit(lanes, rows, least, threshold.max(least), |q, _| self.consider(lanes, p, q, ONLY_ROW));
    }

    /// Settles pairs of rows that seem near, so that radii are soon small. Slice by slice, so that what the rows of a leaf share is read
    /// from the caches.
    #[inline(always)]
    fn settle_first_looks<L: Lanes>(&self, lanes: L, pairs: &mut Vec<(usize, usize)>) {
        const BOTH: Sides = Sides { rows: true, columns: true };
        for (p, q) in &mut *pairs {
            (*p, *q) = (*p.min(q), *p.max(q));
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs.retain(|&(p, q)| self.known(p, q).is_none());
        let dim = self.rows.dim();
        let mut sums = vec![0; pairs.len()];
        for first in (0..dim).step_by(SLICE) {
            let slice = first..dim.min(first + SLICE);
            for (sum, &(p, q)) in sums.iter_mut().zip(&*pairs) {
                *sum += R::Item::part(lanes, &self.sample(p)[slice.clone()], &self.sample(q)[slice.clone()]);
            }
        }
        for (&(p, q), sum) in pairs.iter().zip(sums) {
            self.offer(p, q, R::Item::bounds(sum, dim), BOTH);
        }
    }
}

/// The loop of [`Tiles::compare`], compiled for each instruction set.
struct TileComparison<'t, R> {
    tiles: &'t Tiles<R>,
    row_blocks: Range<usize>,
    column_blocks: Range<usize>,
    row_least: &'t [[i32; LANES]],
    column_least: &'t [[i32; LANES]],
    sides: Sides,
}

impl<R: RowSource> LanesTask for TileComparison<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (rows, in_slices) = (self.tiles.coarse.rows(), self.tiles.in_slices());
        let mut candidates = Vec::new();
        for row_block in self.row_blocks.clone() {
            for first in (0..LANES).step_by(GROUP_ROWS) {
                if !in_slices {
                    candidates.clear();
                }
                for (group, column_least) in
                    self.column_least.as_chunks::<GROUP_BLOCKS>().0.iter().enumerate()
                {
                    let column_block = self.column_blocks.start + group * GROUP_BLOCKS;
                    self.scan(lanes, row_block, first, column_block, column_least, &mut candidates);
                }
                for &(p, q) in candidates.iter().filter(|_| !in_slices) {
                    // Some rows only fill up a block.
                    if p.max(q) < rows {
                        self.tiles.consider(lanes, p, q, self.sides);
                    }
                }
            }
        }
        if in_slices {
            self.tiles.settle_in_slices(lanes, &candidates, self.sides);
        }
    }
}

impl<R: RowSource> TileComparison<'_, R> {
    /// Collects the pairs of some rows and blocks of columns that may be neighbors.
    #[inline(always)]
    fn scan<L: Lanes>(
        &self,
        lanes: L,
        row_block: usize,
        first: usize,
        column_block: usize,
        column_least: &[[i32; LANES]; GROUP_BLOCKS],
        candidates: &mut Vec<(usize, usize)>,
    ) {
        const COLUMNS: usize = GROUP_BLOCKS * LANES;
        let coarse = &self.tiles.coarse;
        let products = coarse.products(lanes, row_block, first, column_block);
        let row_halves = coarse.halves(row_block);
        let row_least = &self.row_least[row_block - self.row_blocks.start];
        let column_halves =
            [lanes.load(coarse.halves(column_block)), lanes.load(coarse.halves(column_block + 1))];
        let column_least = [lanes.load(&column_least[0]), lanes.load(&column_least[1])];
        // A bit for every pair, two rows in each word: few words, and so few branches that are hard to foresee.
        let mut masks = [0_u64; GROUP_ROWS / 2];
        for row in 0..GROUP_ROWS {
            let at = (first + row) % LANES;
            let (half, least) = (lanes.splat(row_halves[at]), lanes.splat(row_least[at]));
            for block in 0..GROUP_BLOCKS {
                let by_row = lanes.add(least, column_halves[block]);
                let by_column = lanes.add(half, column_least[block]);
                let mask = lanes.at_least(products[row][block], lanes.min(by_row, by_column));
                masks[row / 2] |= u64::from(mask) << (row % 2 * COLUMNS + block * LANES);
            }
        }
        for (pair, mut mask) in masks.into_iter().enumerate() {
            while mask != 0 {
                let bit = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let row = first + 2 * pair + bit / COLUMNS;
                candidates.push((row_block * LANES + row, column_block * LANES + bit % COLUMNS));
            }
        }
    }
}
