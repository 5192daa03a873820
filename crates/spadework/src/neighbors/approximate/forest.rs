//! Random trees: samples in the same leaf are likely to be near each other.

use rand::RngExt;
use rayon::prelude::*;

use super::lists::CandidateLists;
use super::rough::Distance;
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::lanes::{Lanes, LanesTask, dispatch};
use crate::random::{Purpose, stream_at};

/// Trees that are grown.
pub(super) const TREES: u64 = 16;
/// Samples of a leaf whose order is all that is wanted.
const ORDER_LEAF_SAMPLES: usize = 128;
/// Samples whose leaves are compared before their findings are taken over.
const SAMPLES_AT_ONCE: usize = 1 << 17;
/// Nodes with at least this many samples are split by several threads.
const SHARED_SAMPLES: usize = 8192;

/// An order of the samples in which near ones stand together: that of a tree's leaves.
pub(super) fn near_order<D: Distance>(distance: &D, seed: u64, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..distance.len() as u32).collect();
    let splitter = Splitter { distance, leaf_samples: ORDER_LEAF_SAMPLES, seed, tree: TREES, monitor };
    splitter.split(&mut order, 1)?;
    Ok(order)
}

/// Takes into the candidates of every sample those that share a leaf of a tree with it. All [`TREES`] give the first candidates.
pub(super) fn take_candidates<D: Distance>(
    tree: u64,
    distance: &D,
    seed: u64,
    lists: &mut CandidateLists,
    monitor: &dyn Monitor,
) -> Result<()> {
    let mut order: Vec<u32> = (0..distance.len() as u32).collect();
    // A leaf has at least half of this, which fills a list.
    let leaf_samples = distance.leaf_samples().max(3 * lists.length());
    let splitter = Splitter { distance, leaf_samples, seed, tree, monitor };
    let sizes = splitter.split(&mut order, 1)?;
    compare_leaves(distance, &order, &sizes, lists, monitor)
}

/// Splits samples at the median of a random direction, again and again.
struct Splitter<'a, D> {
    distance: &'a D,
    leaf_samples: usize,
    seed: u64,
    tree: u64,
    monitor: &'a dyn Monitor,
}

impl<D: Distance> Splitter<'_, D> {
    /// Orders the samples of a node so that each leaf is a range; the sizes of the leaves, in this order. `node` is its
    /// number in the tree: children of i are 2i and 2i + 1.
    fn split(&self, samples: &mut [u32], node: u64) -> Result<Vec<usize>> {
        check_cancelled(self.monitor)?;
        if samples.len() <= self.leaf_samples {
            return Ok(vec![samples.len()]);
        }
        let middle = samples.len() / 2;
        let mut places = self.places(samples, node);
        // Equal places are ordered by index, so that the halves are the same however they are found.
        places.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (sample, place) in samples.iter_mut().zip(&places) {
            *sample = place.1;
        }
        drop(places);
        let shared = samples.len() >= SHARED_SAMPLES;
        let (left, right) = samples.split_at_mut(middle);
        let (left, right) = if shared {
            rayon::join(|| self.split(left, 2 * node), || self.split(right, 2 * node + 1))
        } else {
            (self.split(left, 2 * node), self.split(right, 2 * node + 1))
        };
        let mut sizes = left?;
        sizes.extend(right?);
        Ok(sizes)
    }

    /// How far each sample lies along the line through two samples drawn at random.
    fn places(&self, samples: &[u32], node: u64) -> Vec<(f32, u32)> {
        let mut rng = stream_at(self.seed, Purpose::Trees, self.tree);
        rng.set_word_pos(u128::from(node) * 16);
        let mut draw = || samples[rng.random_range(0..samples.len())];
        let direction = self.distance.direction(draw(), draw());
        let mut places: Vec<(f32, u32)> = samples.iter().map(|&sample| (0.0, sample)).collect();
        let measure = |places: &mut [(f32, u32)]| {
            dispatch(Along { distance: self.distance, direction: &direction, places });
        };
        if samples.len() >= SHARED_SAMPLES {
            places.par_chunks_mut(SHARED_SAMPLES / 4).for_each(measure);
        } else {
            measure(&mut places);
        }
        places
    }
}

/// Where samples lie along a direction.
struct Along<'a, D: Distance> {
    distance: &'a D,
    direction: &'a D::Direction,
    places: &'a mut [(f32, u32)],
}

impl<D: Distance> LanesTask for Along<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (place, sample) in self.places {
            *place = self.distance.along(lanes, *sample, self.direction);
        }
    }
}

/// Compares all pairs of every leaf.
fn compare_leaves<D: Distance>(
    distance: &D,
    order: &[u32],
    sizes: &[usize],
    lists: &mut CandidateLists,
    monitor: &dyn Monitor,
) -> Result<()> {
    let length = lists.length();
    let mut rest = order;
    let leaves: Vec<&[u32]> = sizes
        .iter()
        .map(|&size| {
            let (leaf, others) = rest.split_at(size);
            rest = others;
            leaf
        })
        .collect();
    let largest = sizes.iter().copied().max().unwrap_or(1);
    for leaves in leaves.chunks(SAMPLES_AT_ONCE.div_ceil(largest)) {
        let found: Vec<CandidateLists> = leaves
            .par_iter()
            .map(|leaf| {
                check_cancelled(monitor)?;
                let mut found = CandidateLists::new(leaf.len(), length);
                for (place, &p) in leaf.iter().enumerate() {
                    found.row_mut(place).copy_from_slice(lists.of(p as usize));
                }
                dispatch(AllPairs { distance, leaf, found: &mut found });
                Ok(found)
            })
            .collect::<Result<_>>()?;
        for (leaf, found) in leaves.iter().zip(found) {
            lists.take_over(leaf, &found);
        }
    }
    Ok(())
}

/// All pairs of one leaf.
struct AllPairs<'a, D> {
    distance: &'a D,
    leaf: &'a [u32],
    found: &'a mut CandidateLists,
}

impl<D: Distance> LanesTask for AllPairs<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        self.distance.compare_leaf(lanes, self.leaf, self.found);
    }
}
