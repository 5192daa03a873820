//! The closest pair of samples of every two parts.
//!
//! Each pair of samples of different parts is compared once, by the product of its short vectors ([`super`] explains why their distances
//! never exceed the true ones). For every two parts the shortest distance so far is stored, and only pairs that may be as near are computed
//! in double precision. In many dimensions the distances between parts are all similar, and nothing rules out more pairs than this.

use std::ops::{Range, RangeInclusive};

use rayon::prelude::*;

use super::best::Units;
use super::coordinates::{Coordinates, Frame};
use super::panels::{GROUP_BLOCKS, GROUP_ROWS, Panels};
use super::tiles::EVERYTHING;
use super::{DOUBLE_SLACK, MOST_DIMENSIONS};
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::lanes::{LANES, Lanes, LanesTask, dispatch};
use crate::neighbors::{Element, RowSource, squared_distance};

/// Rows that one thread compares with all later ones.
const ROWS_TOGETHER: usize = 256;
/// Numbers of the columns that are compared with them at once: they stay in the nearer caches.
const TILE_NUMBERS: usize = 1 << 17;

/// A pair with what orders it: squared Euclidean distance, then the samples, the lower first.
pub(crate) type Pair = (f64, u32, u32);

/// What orders pairs; no two are equal.
pub(crate) fn shorter(a: &Pair, b: &Pair) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2)))
}

/// Pairs of samples of different parts, among them the shortest of every two parts; `None` if numbers are too large for products.
///
/// # Errors
/// When the monitor stops the run.
///
/// # Complexity
/// O(m d) for m pairs of samples of different parts, in products of 16 bits, and the memory of two copies of the samples in 16 bits.
pub(crate) fn closest_pairs<R: RowSource>(
    rows: R,
    part_of: &[u32],
    parts: usize,
    monitor: &dyn Monitor,
) -> Result<Option<Vec<Pair>>> {
    let Some(frame) = (rows.dim() <= MOST_DIMENSIONS).then(|| Frame::of(rows)).flatten() else {
        return Ok(None);
    };
    let (order, ranks) = in_order_of_parts(part_of, parts);
    let mut coordinates = Coordinates::unrotated(rows, &frame);
    coordinates.permute(&order);
    let panels = Panels::of_all(&coordinates);
    let units = Units { factor: coordinates.unit, lost: rows.dim() as f64 * f64::MIN_POSITIVE };
    drop(coordinates);
    let error = 2.0 * panels.errors.iter().copied().fold(0.0, f64::max);
    let parts = Parts { rows, panels, order, ranks, count: parts, units, error };
    let found = (0..rows.len())
        .into_par_iter()
        .step_by(ROWS_TOGETHER)
        .map(|first| parts.leaving(first..rows.len().min(first + ROWS_TOGETHER), monitor))
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(found.into_iter().flatten().collect()))
}

/// The samples part by part, the largest part last, and the rank of the part at every place: earlier ones look at all that come later, so the largest part is never looked at from within.
fn in_order_of_parts(part_of: &[u32], parts: usize) -> (Vec<u32>, Vec<u32>) {
    let mut sizes = vec![0_usize; parts];
    for &part in part_of {
        sizes[part as usize] += 1;
    }
    let mut by_size: Vec<u32> = (0..parts as u32).collect();
    by_size.sort_by_key(|&part| (sizes[part as usize], part));
    let mut rank_of = vec![0; parts];
    for (rank, &part) in by_size.iter().enumerate() {
        rank_of[part as usize] = rank as u32;
    }
    let rank = |p: u32| rank_of[part_of[p as usize] as usize];
    let mut order: Vec<u32> = (0..part_of.len() as u32).collect();
    order.sort_by_key(|&p| (rank(p), p));
    let ranks = order.iter().map(|&p| rank(p)).collect();
    (order, ranks)
}

/// Samples in the order of their parts.
struct Parts<R> {
    rows: R,
    panels: Panels,
    /// The sample at every place.
    order: Vec<u32>,
    /// The rank of its part; ascending.
    ranks: Vec<u32>,
    count: usize,
    units: Units,
    /// What distances of short vectors may err by.
    error: f64,
}

/// The shortest pairs of some parts with all.
struct Shortest {
    first_rank: usize,
    count: usize,
    pairs: Vec<Option<Pair>>,
    /// Squared distances of short vectors up to which a pair may be as short; below all of them within a part.
    reaches: Vec<i64>,
}

impl Shortest {
    fn new(ranks: Range<usize>, count: usize) -> Self {
        let mut reaches = vec![EVERYTHING as i64; ranks.len() * count];
        for (row, rank) in ranks.clone().enumerate() {
            reaches[row * count + rank] = -1;
        }
        Self { first_rank: ranks.start, count, pairs: vec![None; ranks.len() * count], reaches }
    }

    #[inline(always)]
    fn at(&self, a: u32, b: u32) -> usize {
        (a as usize - self.first_rank) * self.count + b as usize
    }

    /// The widest reach of a part to some that follow each other.
    #[inline(always)]
    fn widest(&self, a: u32, others: &RangeInclusive<u32>) -> i64 {
        let reaches = &self.reaches[self.at(a, *others.start())..=self.at(a, *others.end())];
        reaches.iter().copied().fold(-1, i64::max)
    }
}

impl<R: RowSource> Parts<R> {
    /// The shortest pairs of some consecutive places with later ones of other parts.
    fn leaving(&self, places: Range<usize>, monitor: &dyn Monitor) -> Result<Vec<Pair>> {
        let ranks = self.ranks[places.start] as usize..self.ranks[places.end - 1] as usize + 1;
        if ranks.start + 1 == self.count {
            return Ok(Vec::new());
        }
        let mut shortest = Shortest::new(ranks, self.count);
        let blocks = Panels::blocks(&(places.start / LANES * LANES..self.order.len()));
        let together = (TILE_NUMBERS / (LANES * self.panels.numbers())).max(1).next_multiple_of(GROUP_BLOCKS);
        // A range of blocks begins at a multiple of what is packed together.
        for first in blocks.clone().step_by(together) {
            check_cancelled(monitor)?;
            let columns = first..blocks.end.min(first + together);
            dispatch(Tile { parts: self, places: places.clone(), columns, shortest: &mut shortest });
        }
        Ok(shortest.pairs.into_iter().flatten().collect())
    }

    /// The squared distance of short vectors up to which samples may be as near as this.
    fn reach(&self, squared: f64) -> i64 {
        let reach = self.units.distance(squared) + self.error;
        (reach * reach * DOUBLE_SLACK).min(EVERYTHING).ceil() as i64
    }

    /// The ranks of the first to the last of some places.
    #[inline(always)]
    fn ranks_of(&self, places: &Range<usize>) -> RangeInclusive<u32> {
        self.ranks[places.start]..=self.ranks[places.end - 1]
    }
}

/// Rows against blocks of columns, compiled for each instruction set.
struct Tile<'a, R> {
    parts: &'a Parts<R>,
    places: Range<usize>,
    columns: Range<usize>,
    shortest: &'a mut Shortest,
}

impl<R: RowSource> LanesTask for Tile<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { parts, places, columns, shortest } = self;
        let Parts { panels, order, ranks, .. } = parts;
        for first in places.clone().step_by(GROUP_ROWS) {
            let rows = first..places.end.min(first + GROUP_ROWS);
            for block in columns.clone().step_by(GROUP_BLOCKS) {
                // Earlier places have looked at these already.
                let others = first.max(block * LANES)..order.len().min((block + GROUP_BLOCKS) * LANES);
                if others.is_empty() {
                    continue;
                }
                let other_ranks = parts.ranks_of(&others);
                // Ranks ascend: all of one part.
                if ranks[first] == *other_ranks.end() {
                    continue;
                }
                let products = panels.products(lanes, first / LANES, first % LANES, block);
                for (p, products) in rows.clone().zip(products) {
                    let reach = shortest.widest(ranks[p], &other_ranks);
                    let least = lanes.splat(panels.least_product(p, reach));
                    for (block, products) in (block..).zip(products) {
                        let nearness = lanes.sub(products, lanes.load(panels.halves(block)));
                        let mut mask = lanes.at_least(nearness, least);
                        if mask == 0 {
                            continue;
                        }
                        let products = lanes.store(products);
                        while mask != 0 {
                            let lane = mask.trailing_zeros() as usize;
                            mask &= mask - 1;
                            parts.consider(lanes, [p, block * LANES + lane], products[lane], shortest);
                        }
                    }
                }
            }
        }
    }
}

impl<R: RowSource> Parts<R> {
    /// Settles a pair of places, unless it cannot be the shortest of its parts.
    #[inline(always)]
    fn consider<L: Lanes>(&self, lanes: L, [p, q]: [usize; 2], product: i32, shortest: &mut Shortest) {
        // Every pair once; some rows only fill up a block.
        if q <= p || q >= self.order.len() {
            return;
        }
        let at = shortest.at(self.ranks[p], self.ranks[q]);
        if self.panels.squared_distance(p, q, product) > shortest.reaches[at] {
            return;
        }
        let (p, q) = (self.order[p], self.order[q]);
        let (a, b) = (self.rows.row(p as usize), self.rows.row(q as usize));
        let known = shortest.pairs[at];
        if known.is_some_and(|known| R::Item::least_squared_distance(lanes, &a, &b) > known.0) {
            return;
        }
        let pair = (squared_distance(&a, &b), p.min(q), p.max(q));
        if known.is_none_or(|known| shorter(&pair, &known).is_lt()) {
            shortest.pairs[at] = Some(pair);
            shortest.reaches[at] = self.reach(pair.0);
        }
    }
}
