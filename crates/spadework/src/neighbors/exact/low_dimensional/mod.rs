//! Exact search in low dimensions: a tree of boxes, without margins for rounding.
//!
//! **Idea.** In few dimensions a sample's neighbors lie in a small part of space, and boxes around groups of samples rule
//! out nearly all of the others. So few are left that they are compared in double precision right away. A leaf holds sixteen
//! samples, coordinate by coordinate, and a node has sixteen boxes, so both are compared with a sample in whole vector
//! registers.
//!
//! **Steps.**
//! 1. `tree`: samples are split at medians until leaves are left, all of them full, with boxes around leaves, around
//!    sixteen leaves, and so on.
//! 2. [`pays`]: a few samples are searched. If boxes rule out too little, the search by products of the parent module is
//!    faster.
//! 3. `query`: every sample searches its own leaf, then the near boxes of the node above, and so on upward, nearer boxes
//!    first. `nearest` holds the k nearest so far; boxes that cannot hold a nearer sample are skipped.
//!
//! **Why it is exact.** The distances to the samples of a leaf are computed by the same operations in the same order as
//! [`squared_distance`](crate::neighbors::squared_distance) (`kernel`), so they are those of brute force to the last bit.
//! The distance to a box is the same sum, with max(low − x, x − high, 0) for the difference in each coordinate. For a sample
//! y in the box that is at most |y − x|, and rounding never reverses an order: a ≤ b gives fl(a) ≤ fl(b), for differences,
//! squares and sums alike. So the computed distance to a box is at most the computed distance to every sample in it, without
//! any margin, for numbers of all sizes. Ties go to the lower index, so a box whose distance equals that of the k-th nearest
//! is skipped as well if no index in it is lower: many copies of one point cost little.

mod kernel;
mod nearest;
mod query;
mod tree;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::Wanted;
use crate::checkpoint::{Resumable, StateReader, StateWriter, Work};
use crate::error::Result;
use crate::kernels::arch;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::between::search_every_pair;
use crate::neighbors::{NeighborLists, NeighborSearch, Recall};
use crate::samples::{Norm, Samples};
use nearest::{index_of, squared_distance_of};
use query::{Effort, TreeQuery};
use tree::Tree;

/// Beyond this dimension boxes rarely pay, and a copy of the samples in double precision takes memory.
pub(super) const MOST_DIMENSIONS: usize = 32;
/// Places searched together.
const TOGETHER: usize = 64;
/// Places after which a part may be kept: those take seconds, even of ten million samples.
const KEPT_TOGETHER: usize = 1 << 15;
/// Samples that are searched to see whether this way pays.
const PROBES: usize = 16;

/// Exact search for low dimensions: a tree of boxes, with everything in double precision.
///
/// # Complexity
/// About a hundred distances per sample in up to about ten dimensions, all n of them in many dimensions. Memory: one copy of the
/// samples in double precision, and less than two copies of the lists.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeSearch;

impl NeighborSearch for TreeSearch {
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
        if samples.norm() != Norm::Euclidean {
            return search_every_pair(samples, neighbors, monitor);
        }
        search_tree(samples, &Tree::of(samples), neighbors, monitor)
    }
}

/// The neighbors of all samples, or `None` if the search by products should be faster.
pub(super) fn search_where_it_pays(wanted: Wanted<'_>) -> Result<Option<NeighborLists>> {
    let Wanted { samples, neighbors, most_core_seconds, monitor } = wanted;
    if samples.norm() != Norm::Euclidean || samples.dim() > MOST_DIMENSIONS {
        return Ok(None);
    }
    let tree = Tree::of(samples);
    check_cancelled(monitor)?;
    if !pays(&tree, neighbors, most_core_seconds) {
        return Ok(None);
    }
    search_tree(samples, &tree, neighbors, monitor).map(Some)
}

/// Whether the tree should be faster than products, and no more expensive than allowed, from what some samples have to
/// look at.
///
/// Counted, not timed, so that the same samples always go the same way. The weights are nanoseconds on one machine; only
/// their ratios matter much.
fn pays(tree: &Tree, neighbors: usize, most_core_seconds: f64) -> bool {
    let (samples, probes) = (tree.len(), PROBES.min(tree.len()));
    let effort = (0..probes)
        .into_par_iter()
        .map(|probe| {
            let place = (2 * probe + 1) * samples / (2 * probes);
            arch().dispatch(TreeQuery { tree, places: place..place + 1, neighbors }).effort
        })
        .reduce(Effort::default, Effort::plus);
    let blocks = effort.blocks as f64 / probes as f64;
    let samples_near = (effort.lowest_nodes * tree::NODE_SAMPLES) as f64 / probes as f64;
    let with_tree = blocks * (25.0 + 2.3 * tree.dim() as f64);
    let with_products = 1000.0 + 300.0 * neighbors as f64 + 0.06 * samples as f64 + 0.5 * samples_near;
    with_tree <= with_products && 1e-9 * with_tree * samples as f64 <= most_core_seconds
}

fn search_tree(
    samples: &Samples<'_>,
    tree: &Tree,
    neighbors: usize,
    monitor: &dyn Monitor,
) -> Result<NeighborLists> {
    let work = Work::new("neighbors", samples, format!("boxes, k = {neighbors}"));
    let parts = Resumable::new(work, monitor.checkpoints());
    let mut lists = ListsByPlace::new(tree.len(), neighbors);
    let mut first = parts.stored().and_then(|stored| lists.restore(&stored)).unwrap_or(0);
    // Where parts are kept, some places after the others: a part is lists up to a place.
    let together = if parts.is_kept() { KEPT_TOGETHER } else { tree.len() };
    while first < tree.len() {
        let last = (first + together).min(tree.len());
        lists.search(tree, first..last, monitor)?;
        first = last;
        parts.keep_if_due(|| lists.state(first));
    }
    let (places, len) = (tree.places(), tree.len());
    // One after the other: no more than one of the two is held twice.
    let indices = in_order_of_samples(lists.indices, &places, neighbors);
    let squared_distances = in_order_of_samples(lists.squared_distances, &places, neighbors);
    Ok(NeighborLists { len, neighbors, indices, squared_distances, recall: Recall::Exact })
}

/// The lists of all places of a tree.
struct ListsByPlace {
    neighbors: usize,
    indices: Vec<u32>,
    squared_distances: Vec<f64>,
}

impl ListsByPlace {
    fn new(places: usize, neighbors: usize) -> Self {
        let count = places * neighbors;
        Self { neighbors, indices: vec![0; count], squared_distances: vec![0.0; count] }
    }

    /// Finds the lists of some places.
    fn search(&mut self, tree: &Tree, places: Range<usize>, monitor: &dyn Monitor) -> Result<()> {
        let (neighbors, done) = (self.neighbors, AtomicU64::new(places.start as u64));
        let entries = places.start * neighbors..places.end * neighbors;
        self.indices[entries.clone()]
            .par_chunks_mut(TOGETHER * neighbors)
            .zip(self.squared_distances[entries].par_chunks_mut(TOGETHER * neighbors))
            .enumerate()
            .try_for_each(|(chunk, (indices, squared_distances))| {
                check_cancelled(monitor)?;
                let first = places.start + chunk * TOGETHER;
                let some = first..(first + TOGETHER).min(places.end);
                let count = some.len() as u64;
                let found = arch().dispatch(TreeQuery { tree, places: some, neighbors });
                for ((index, squared_distance), &key) in
                    indices.iter_mut().zip(squared_distances).zip(&found.keys)
                {
                    (*index, *squared_distance) = (index_of(key), squared_distance_of(key));
                }
                monitor.progress(done.fetch_add(count, Ordering::Relaxed) + count, tree.len() as u64);
                Ok(())
            })
    }

    /// The lists of the places before this one.
    fn state(&self, places: usize) -> Vec<u8> {
        let count = places * self.neighbors;
        let mut state = StateWriter::default();
        state.indices(self.indices[..count].iter().copied());
        state.doubles(&self.squared_distances[..count]);
        state.into_bytes()
    }

    /// Takes lists that an earlier search has found; the first place that is left. `None` if they do not fit.
    fn restore(&mut self, state: &[u8]) -> Option<usize> {
        let mut state = StateReader::new(state);
        let (indices, squared_distances) = (state.indices()?, state.doubles()?);
        let (count, places) = (indices.len(), indices.len() / self.neighbors);
        let fits = squared_distances.len() == count
            && count == places * self.neighbors
            && count <= self.indices.len()
            && state.is_at_end();
        if !fits {
            return None;
        }
        self.indices[..count].copy_from_slice(&indices);
        self.squared_distances[..count].copy_from_slice(&squared_distances);
        Some(places)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "freed on return, before the next ones are moved")]
/// Puts the lists, which come in the order of the tree's places, in that of the samples.
fn in_order_of_samples<T: Copy + Default + Send + Sync>(
    by_place: Vec<T>,
    places: &[u32],
    neighbors: usize,
) -> Vec<T> {
    let mut by_sample = vec![T::default(); by_place.len()];
    by_sample.par_chunks_mut(neighbors).zip(places).with_min_len(4096).for_each(|(list, &place)| {
        list.copy_from_slice(&by_place[place as usize * neighbors..][..neighbors]);
    });
    by_sample
}
