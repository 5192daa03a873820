//! Exact search: in low dimensions by a tree of boxes ([`low_dimensional`]), otherwise by products of short vectors,
//! described here, which use only a few coordinates of most pairs.
//!
//! **Idea.** Rotated to their principal axes, samples differ most in their first coordinates. With the first m of them and
//! the norm ρ of what is left, ‖a − b‖² ≥ ‖a_m − b_m‖² + (ρ_a − ρ_b)², so (a_m, ρ_a) is a short vector whose distances
//! never exceed the true ones. Rounded to integers of 16 bits, short vectors have exact products, at twice the speed of
//! single precision. These rule out almost every pair of samples; the pairs that are left are compared with more
//! coordinates, then in single precision, and the remaining ones with [`squared_distance`](super::squared_distance) in
//! double precision. Only this last distance decides, so the result is that of [`BruteForce`](super::BruteForce), bit by
//! bit, for any number of threads.
//!
//! **Steps.**
//! 1. `axes`: principal axes of a sample of the rows. The result is correct with any orthonormal axes; good ones make the
//!    search fast. `pooling`: long rows, as images are, are first reduced to sums over blocks of neighboring pixels.
//! 2. `coordinates`: the short vectors, and how far rounding may have moved them.
//! 3. `plan`: how many coordinates pay off, measured on a few rows; all of them, unrotated, if the data have no main axes.
//! 4. `order`: rows sorted into leaves of near samples, each with its bounding box; `panels`: their short vectors, packed
//!    for the products, which `lanes` implements for each instruction set.
//! 5. Every row finds its nearest in its own leaf and the leaves near it, so that its radius is nearly the final one. Then pairs
//!    of leaves are compared (`tiles`), each pair once for both of its leaves, except those whose boxes are farther apart than
//!    the radii of their rows. Radii shrink as neighbors are found (`best`). Pairs of long rows are compared slice by slice,
//!    until the distance so far plus the bound from the sums of the other slices is too large (`bands`).
//!
//! An interrupted search continues with the lists so far and the remaining leaves (`resume`).
//!
//! **Why it is exact.** Let z be the exact short vector of a row and ẑ the stored one, ‖ẑ − z‖ ≤ ε (`coordinates` explains
//! why). If q is among the k nearest of p, then d(p, q) ≤ R with R the radius of p, and ‖ẑ_p − ẑ_q‖ ≤ ‖z_p − z_q‖ + ε_p +
//! ε_q ≤ R + ε_p + ε_q. The left side is computed in integers, ‖ẑ_p‖² + ‖ẑ_q‖² − 2ẑ_p·ẑ_q, without rounding or overflow. So
//! no pair is dropped that brute force would keep, equal distances included.

mod axes;
mod bands;
mod best;
mod closest;
pub(super) mod coordinates;
mod low_dimensional;
mod order;
mod panels;
mod plan;
mod pooling;
mod resume;
mod tiles;

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

use super::between::search_every_pair;
use super::{BruteForce, Element, NeighborLists, NeighborSearch, RowSource, check_neighbors, with_rows};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::samples::{Norm, Samples};
use bands::{BandLayout, Bands};
use best::{BestLists, Units};
use coordinates::{Coordinates, Frame};
use order::Leaves;
use panels::Panels;
use plan::Plan;
use pooling::Pooled;
use resume::Unfinished;
use tiles::{Looks, Tiles};

pub(crate) use closest::{Pair, closest_pairs, shorter};
pub use low_dimensional::TreeSearch;

/// Unit roundoff of single precision.
const UNIT_ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;

/// Covers the rounding of radii and distances in double precision.
const DOUBLE_SLACK: f64 = 1.0 + 1e-10;

/// Beyond this dimension sums of products of short vectors might not fit 32 bits.
const MOST_DIMENSIONS: usize = 1 << 20;

/// The default search: exact, by [`TreeSearch`] if boxes around the samples rule out most of them, otherwise by
/// [`ProductSearch`].
///
/// The choice depends on how many comparisons a few samples need. Both find the same neighbors.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExactSearch;

impl NeighborSearch for ExactSearch {
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
        Wanted { samples, neighbors, most_core_seconds: f64::INFINITY, monitor }.found_by(Self::search_within)
    }
}

/// What is searched for, and what that may cost in seconds of one core of a usual machine.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) samples: &'a Samples<'a>,
    pub(super) neighbors: usize,
    pub(super) most_core_seconds: f64,
    pub(super) monitor: &'a dyn Monitor,
}

impl Wanted<'_> {
    /// The lists of a search that may cost what it likes.
    fn found_by(self, search: impl FnOnce(Self) -> Result<Option<NeighborLists>>) -> Result<NeighborLists> {
        Ok(search(self)?.unwrap_or_else(|| unreachable!("no cost is too high")))
    }
}

impl ExactSearch {
    /// What a search may cost where another way would do, in seconds of one core: five minutes on two cores.
    pub(super) const AFFORDABLE_CORE_SECONDS: f64 = 600.0;

    /// The same search, or `None` if it would cost more than allowed. That is estimated from the samples, so it says the
    /// same whenever it is asked.
    pub(super) fn search_within(wanted: Wanted<'_>) -> Result<Option<NeighborLists>> {
        check_neighbors(wanted.neighbors, wanted.samples.len())?;
        match low_dimensional::search_where_it_pays(wanted)? {
            Some(lists) => Ok(Some(lists)),
            None => search_products(wanted),
        }
    }
}

/// Maximum number of bytes that the exact search takes among `len` samples like these in addition to them, including the lists.
pub fn most_search_bytes(samples: &Samples<'_>, len: usize, neighbors: usize) -> usize {
    /// What a neighbor takes while it is searched, and what a list takes.
    const LIST: (usize, usize) = (64, 128);
    let coordinates = if samples.norm() != Norm::Euclidean || samples.dim() > MOST_DIMENSIONS {
        0
    } else if samples.dim() <= low_dimensional::MOST_DIMENSIONS {
        samples.dim() * size_of::<f64>()
    } else {
        let looked_at =
            with_rows!(samples, rows => Pooled::of(rows).map_or(samples.dim(), |pooled| pooled.dim()));
        // As they come, and packed.
        2 * looked_at * size_of::<i16>()
    };
    len.saturating_mul(coordinates + neighbors.min(len) * LIST.0 + LIST.1)
}

/// Exact search for any dimension, with most pairs ruled out by a few coordinates.
///
/// # Complexity
/// n²m operations in products of m ≪ d coordinates if the data have main axes, n²d if they have none; in low dimensions most
/// pairs of leaves are ruled out by their boxes. Memory: at most two copies of the samples in 16 bits, the lists, and some
/// blocks per thread. For long rows of pixels, an eighth of that.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProductSearch;

impl NeighborSearch for ProductSearch {
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
        Wanted { samples, neighbors, most_core_seconds: f64::INFINITY, monitor }.found_by(search_products)
    }
}

/// As [`ExactSearch::search_within`]; the estimate is made when near leaves have been compared.
fn search_products(wanted: Wanted<'_>) -> Result<Option<NeighborLists>> {
    let Wanted { samples, neighbors, monitor, .. } = wanted;
    if samples.norm() != Norm::Euclidean {
        return search_every_pair(samples, neighbors, monitor).map(Some);
    }
    if samples.dim() > MOST_DIMENSIONS {
        return BruteForce.search(samples, neighbors, monitor).map(Some);
    }
    with_rows!(samples, rows => search(wanted, rows))
}

/// The sums over blocks of rows that are settled in slices.
struct BlockSums {
    layout: BandLayout,
    /// None where they are the coordinates of the plan.
    coordinates: Option<Coordinates>,
}

/// What is looked at in place of the rows; `None` if their numbers are too large for that.
fn plan_of<R: RowSource>(rows: R, neighbors: usize) -> Option<(Plan, Option<BlockSums>)> {
    let Some(pooled) = Pooled::of(rows) else {
        let frame = Frame::of(rows)?;
        return Some((Plan::new(rows, rows, &frame, neighbors), None));
    };
    let frame = Frame::of(pooled)?;
    let plan = Plan::new(rows, pooled, &frame, neighbors);
    let layout = pooled.bands().filter(|_| R::Item::HAS_PARTS);
    let sums = layout.map(|layout| {
        let coordinates = plan.coarse_axes.map(|_| Coordinates::unrotated(pooled, &frame));
        BlockSums { layout, coordinates }
    });
    Some((plan, sums))
}

fn search<R: RowSource>(wanted: Wanted<'_>, rows: R) -> Result<Option<NeighborLists>> {
    let Wanted { samples, neighbors, most_core_seconds, monitor } = wanted;
    let Some((plan, sums)) = plan_of(rows, neighbors) else {
        // So large that squares do not fit.
        return BruteForce.search(samples, neighbors, monitor).map(Some);
    };
    let Plan { mut coordinates, coarse_axes, leaf_rows, near_leaves } = plan;
    let leaves = Leaves::new(&coordinates, leaf_rows);
    coordinates.permute(leaves.order());
    let units = Units { factor: coordinates.unit, lost: rows.dim() as f64 * f64::MIN_POSITIVE };
    let best = BestLists::new(leaves.len(), neighbors, units);
    let (layout, sums) = sums.map_or((None, None), |sums| (Some(sums.layout), sums.coordinates));
    let (coarse, fine, sums) = match (coarse_axes, sums) {
        (None, _) => (Panels::of_all(&coordinates), None, Some(coordinates)),
        (Some(count), None) => (Panels::of_first(&coordinates, count), Some(coordinates), None),
        (Some(count), Some(mut sums)) => {
            sums.permute(leaves.order());
            (Panels::of_first(&coordinates, count), Some(coordinates), Some(sums))
        }
    };
    let bands = layout.zip(sums).map(|(layout, sums)| Bands::new(sums, layout, tiles::SLICE));
    let mut tiles = Tiles::new(rows, Looks { coarse, fine, bands }, leaves, near_leaves, best);

    let unfinished = Unfinished::new(samples, neighbors, monitor);
    let leaves_done = unfinished.take_up(&mut tiles);

    (0..tiles.leaf_count()).into_par_iter().try_for_each(|leaf| {
        leaves_done.unless_near(leaf, || tiles.search_near(leaf, monitor))?;
        unfinished.keep_if_due(&tiles, &leaves_done);
        Ok(())
    })?;
    // By all pairs that were settled: a leaf that was done early has not seen those that others found for its rows, and the choice of
    // a search must not depend on the order in which threads finish.
    (0..tiles.leaf_count()).for_each(|leaf| tiles.refresh_reach(leaf));
    if tiles.remaining_core_seconds() > most_core_seconds {
        return Ok(None);
    }
    let (done, total) = (AtomicU64::new(0), tiles.pair_count());
    (0..tiles.leaf_count()).into_par_iter().try_for_each(|leaf| {
        leaves_done.unless_compared(leaf, || tiles.compare_with_later(leaf, monitor))?;
        unfinished.keep_if_due(&tiles, &leaves_done);
        let pairs = (tiles.leaf_count() - leaf) as u64;
        monitor.progress(done.fetch_add(pairs, Ordering::Relaxed) + pairs, total);
        Ok(())
    })?;
    Ok(Some(tiles.into_lists()))
}
