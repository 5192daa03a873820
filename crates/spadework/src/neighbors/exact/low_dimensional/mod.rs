//! Exact search in low dimensions: a tree of boxes, and no rounding to allow for.
//!
//! **Idea.** In few dimensions a sample's neighbors lie in a small part of space, and boxes around groups of samples rule
//! out nearly all of the others. What is left is so little that it is compared in double precision at once. A leaf holds
//! sixteen samples, coordinate by coordinate, and a node has sixteen boxes, so both are compared with a sample in whole
//! vector registers.
//!
//! **Steps.**
//! 1. `tree`: samples are split at medians until leaves are left, all of them full, with boxes around leaves, around
//!    sixteen leaves, and so on.
//! 2. [`pays`]: a few samples are searched. Where boxes rule out too little, the search by products of the parent module
//!    is the faster one.
//! 3. `query`: every sample looks at its own leaf, then at what is near in the node above, and so on up, nearer boxes
//!    first. `nearest` holds the k nearest so far; boxes that cannot hold a nearer sample are skipped.
//!
//! **Why it is exact.** The distances to the samples of a leaf are made of the same operations in the same order as
//! [`squared_distance`](crate::neighbors::squared_distance) (`kernel`), so they are those of brute force to the last bit.
//! The distance to a box is the same sum, with max(low − x, x − high, 0) for the difference in each coordinate. For a
//! sample y in the box that is at most |y − x|, and rounding never turns order around: a ≤ b gives fl(a) ≤ fl(b), for
//! differences, squares and sums alike. So the computed distance to a box is at most the computed distance to every sample
//! in it, without any margin, for numbers of all sizes. Ties go to the lower index, so a box whose distance equals that of
//! the k-th nearest is skipped as well if no index in it is lower: many copies of one point cost little.

mod kernel;
mod nearest;
mod query;
mod tree;

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

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
/// Samples that are searched to see whether this way pays.
const PROBES: usize = 16;

/// Exact search for low dimensions: a tree of boxes, with everything in double precision.
///
/// # Complexity
/// Some hundred distances a sample in up to about ten dimensions, all n of them in many dimensions. Memory: one copy of the
/// samples in double precision, and the lists less than twice.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeSearch;

impl NeighborSearch for TreeSearch {
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
        if samples.norm() != Norm::Euclidean {
            return search_every_pair(samples, neighbors, monitor);
        }
        search_tree(&Tree::of(samples), neighbors, monitor)
    }
}

/// The neighbors of all samples, or `None` where the search by products should be faster.
pub(super) fn search_where_it_pays(
    samples: &Samples<'_>,
    neighbors: usize,
    most_core_seconds: f64,
    monitor: &dyn Monitor,
) -> Result<Option<NeighborLists>> {
    if samples.dim() > MOST_DIMENSIONS {
        return Ok(None);
    }
    let tree = Tree::of(samples);
    check_cancelled(monitor)?;
    if !pays(&tree, neighbors, most_core_seconds) {
        return Ok(None);
    }
    search_tree(&tree, neighbors, monitor).map(Some)
}

/// Whether the tree should be faster than products, and no dearer than allowed, from what some samples have to look at.
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

fn search_tree(tree: &Tree, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
    let (done, len) = (AtomicU64::new(0), tree.len());
    let (mut indices, mut squared_distances) = (vec![0; len * neighbors], vec![0.0; len * neighbors]);
    indices
        .par_chunks_mut(TOGETHER * neighbors)
        .zip(squared_distances.par_chunks_mut(TOGETHER * neighbors))
        .enumerate()
        .try_for_each(|(chunk, (indices, squared_distances))| {
            check_cancelled(monitor)?;
            let places = chunk * TOGETHER..((chunk + 1) * TOGETHER).min(len);
            let count = places.len() as u64;
            let found = arch().dispatch(TreeQuery { tree, places, neighbors });
            for ((index, squared_distance), &key) in
                indices.iter_mut().zip(squared_distances).zip(&found.keys)
            {
                (*index, *squared_distance) = (index_of(key), squared_distance_of(key));
            }
            monitor.progress(done.fetch_add(count, Ordering::Relaxed) + count, len as u64);
            Ok(())
        })?;
    let places = tree.places();
    // One after the other: no more than one of the two is held twice.
    let indices = in_order_of_samples(indices, &places, neighbors);
    let squared_distances = in_order_of_samples(squared_distances, &places, neighbors);
    Ok(NeighborLists { len, neighbors, indices, squared_distances, recall: Recall::Exact })
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
