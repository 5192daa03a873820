//! Approximate search for millions of samples: neighbors of neighbors are likely neighbors.
//!
//! **Steps.**
//! 1. `forest`: random trees split the samples into small leaves; all pairs of a leaf are compared.
//! 2. `descent`: every sample looks at those joined with the ones it is joined with, in rounds, until little changes
//!    (NN-descent). If the first coordinates identify neighbors, `join` compares all samples joined with the same sample at
//!    once.
//! 3. `recall`: the true neighbors of some rows are searched by brute force, and those found are counted. If they are too
//!    few, samples are joined with more others and the descent continues.
//! 4. The final lists are computed with [`squared_distance`](super::squared_distance), as in every search.
//!
//! `resume` stores the state after every tree and every round, so that a killed run can continue.
//!
//! **Why the result does not depend on the threads.** A round, or a fixed part of one, reads the previous lists and writes
//! new ones. Candidates are ordered by (distance, index), a total order, so it does not matter which is found first. Nothing
//! is shared while a part runs.

mod block;
mod descent;
mod forest;
mod join;
mod links;
mod lists;
mod packed;
mod recall;
mod resume;
mod rough;

use std::mem;

use rayon::prelude::*;

use super::exact::Wanted;
use super::lanes::{Lanes, LanesTask, dispatch};
use super::{
    Element, ExactSearch, NeighborLists, NeighborSearch, Recall, RowSource, ordered, squared_distance,
    with_rows,
};
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::samples::{Norm, Samples};
use descent::{Descent, MOST_ROUNDS};
use lists::{Candidate, CandidateLists};
use recall::Truth;
use resume::{ComparedBy, Reached, Step, Unfinished};
use rough::{Distance, FullDistance, Rough, ShortDistance};

/// Below this number of samples the exact search costs next to nothing.
const FEWEST_SAMPLES: usize = 4096;
/// So is it where k is a large part of n.
const FEWEST_SAMPLES_PER_NEIGHBOR: usize = 16;
/// Candidates that a list holds at first, in addition to k and log₂n of them.
const SPARE_CANDIDATES: usize = 6;
/// How long the lists become where recall falls short, in percent of before.
const LONGER_PERCENT: usize = 130;
/// How often they do at most: lists are then three times as long.
const MOST_EXTENSIONS: u64 = 4;

/// Approximate neighbors by random trees and NN-descent, refined until the requested [`recall`](Self::recall) is
/// reached on some rows whose true neighbors are known.
///
/// # Complexity
/// About O(n k² d), and O(n d) per row for the recall of 500 rows. Memory: a few lists of 2k to 10k candidates per sample
/// with 8 bytes each, and, up to 512 dimensions, a copy of the samples in 16 bits. Longer samples are not copied, so they may
/// be in a memory-mapped file that is larger than the memory.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ApproximateSearch {
    /// Seed of the trees and of the rows whose recall is measured.
    pub seed: u64,
    /// The measured recall that must be reached.
    pub recall: f64,
}

with_methods! { ApproximateSearch {
    with_seed(seed: u64),
    with_recall(recall: f64),
} }

impl ApproximateSearch {
    /// Default of [`recall`](Self::recall).
    pub const RECALL: f64 = 0.999;
}

/// Approximate number of bytes that the approximate search takes in addition to the samples, including the lists; derived from
/// what a million samples of 128 numbers took with k = 10 (docs/benchmarks.md).
pub fn approximate_search_bytes(samples: usize, dim: usize, neighbors: usize) -> usize {
    /// Lists of candidates in memory at a time: those of a round, those before it, and who is joined with whom.
    const LISTS: usize = 4;
    let length = first_length(samples, neighbors.min(samples));
    let copied = if dim > rough::MOST_COPIED { 0 } else { dim * size_of::<i16>() };
    samples.saturating_mul(LISTS * length * size_of::<Candidate>() + copied)
}

impl Default for ApproximateSearch {
    fn default() -> Self {
        Self { seed: 0, recall: Self::RECALL }
    }
}

impl NeighborSearch for ApproximateSearch {
    /// Lists whose [`NeighborLists::recall`] says what was reached; exact ones where the samples are few, or where the recall
    /// cannot be reached and the exact search is affordable.
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
        let lists = self.search_alone(samples, neighbors, monitor)?;
        if lists.recall().share() >= self.recall {
            return Ok(lists);
        }
        // Many equal samples, or distances of very different sizes: where it is affordable, better exact than poor.
        let most_core_seconds = ExactSearch::AFFORDABLE_CORE_SECONDS;
        let wanted = Wanted { samples, neighbors, most_core_seconds, monitor };
        Ok(ExactSearch::search_within(wanted)?.unwrap_or(lists))
    }
}

impl ApproximateSearch {
    /// The same where the exact search is known to cost too much: it is not asked again.
    pub(super) fn search_alone(
        &self,
        samples: &Samples<'_>,
        neighbors: usize,
        monitor: &dyn Monitor,
    ) -> Result<NeighborLists> {
        let few = samples.len() < FEWEST_SAMPLES.max(FEWEST_SAMPLES_PER_NEIGHBOR * neighbors);
        // The trees and the descent know Euclidean distances only.
        if few || samples.norm() != Norm::Euclidean {
            return ExactSearch.search(samples, neighbors, monitor);
        }
        links::check_samples(samples.len())?;
        let parts = &Unfinished::new(self, samples, neighbors, monitor);
        with_rows!(samples, rows => self.search_rows(rows, neighbors, parts, monitor))
    }

    fn search_rows<R: RowSource<Item: Rough>>(
        &self,
        rows: R,
        neighbors: usize,
        parts: &Unfinished<'_>,
        monitor: &dyn Monitor,
    ) -> Result<NeighborLists> {
        let short = ShortDistance::new(rows);
        let (truth, mut reached) = if let Some(stored) = parts.stored(rows.len(), neighbors) {
            stored
        } else {
            let truth = Truth::of_some_rows(rows, short.as_ref(), neighbors, self.seed, monitor)?;
            parts.keep_truth_if_due(&truth);
            (truth, None)
        };
        let is_beyond_short = reached.as_ref().is_some_and(|at| at.step.compared_by == ComparedBy::Full);
        let resolves = |distance: &ShortDistance| distance.resolves(rows.dim(), truth.squared_radii());
        let short = short.filter(|distance| !is_beyond_short && resolves(distance));
        if let Some(mut distance) = short {
            if truth.heads_tell(&distance, first_length(rows.len(), neighbors), monitor)? {
                distance.drop_tails();
            }
            let placement = Placement::new(forest::near_order(&distance, self.seed, monitor)?);
            distance.permute(&placement.sample_at);
            let order: Vec<u32> = (0..distance.len() as u32).collect();
            let from = reached.take().unwrap_or_else(|| start(ComparedBy::Short, rows.len(), neighbors));
            let way = Way { distance: &distance, order: &order, placement: &placement, truth: &truth };
            let (lists, recall) = self.descend(&way, from, parts, monitor)?;
            if recall.share() >= self.recall {
                return settle(rows, &distance, &lists, &placement, neighbors, recall, monitor);
            }
        }
        let distance = FullDistance::new(rows);
        let placement = Placement::new((0..distance.len() as u32).collect());
        let order = forest::near_order(&distance, self.seed, monitor)?;
        let from = reached.take().unwrap_or_else(|| start(ComparedBy::Full, rows.len(), neighbors));
        let way = Way { distance: &distance, order: &order, placement: &placement, truth: &truth };
        let (lists, recall) = self.descend(&way, from, parts, monitor)?;
        settle(rows, &distance, &lists, &placement, neighbors, recall, monitor)
    }

    /// Trees and descents until the recall is reached, or no more can be done.
    fn descend<D: Distance>(
        &self,
        way: &Way<'_, D>,
        from: Reached,
        parts: &Unfinished<'_>,
        monitor: &dyn Monitor,
    ) -> Result<(CandidateLists, Recall)> {
        let Way { distance, order, placement, truth } = way;
        let Reached { mut step, mut lists, last } = from;
        while step.trees < forest::TREES {
            forest::take_candidates(step.trees, *distance, self.seed, &mut lists, monitor)?;
            step.trees += 1;
            parts.keep_if_due(truth, step, &lists, None);
        }
        let mut descent = Descent::new(*distance, order, truth.neighbors(), last);
        loop {
            while step.rounds < MOST_ROUNDS {
                let is_last = descent.take_round(&mut lists, monitor)?;
                step.rounds = if is_last { MOST_ROUNDS } else { step.rounds + 1 };
                parts.keep_if_due(truth, step, &lists, descent.last());
            }
            let recall = truth.recall(&lists, placement);
            if recall.share() >= self.recall || step.extensions == MOST_EXTENSIONS {
                return Ok((lists, recall));
            }
            (step.extensions, step.rounds) = (step.extensions + 1, 0);
            lists.extend_to(lists.length() * LONGER_PERCENT / 100);
        }
    }
}

/// What candidates are compared by, in which order, and what is known of them.
struct Way<'a, D> {
    distance: &'a D,
    order: &'a [u32],
    placement: &'a Placement,
    truth: &'a Truth,
}

/// Nothing done yet.
fn start(compared_by: ComparedBy, samples: usize, neighbors: usize) -> Reached {
    let lists = CandidateLists::new(samples, first_length(samples, neighbors));
    Reached { step: Step::first(compared_by), lists, last: None }
}

/// Which sample stands where while candidates are searched: near ones together, so that what one needs is in the cache for
/// the next.
#[derive(Debug)]
struct Placement {
    sample_at: Vec<u32>,
    place_of: Vec<u32>,
}

impl Placement {
    fn new(sample_at: Vec<u32>) -> Self {
        let mut place_of = vec![0; sample_at.len()];
        for (place, &sample) in sample_at.iter().enumerate() {
            place_of[sample as usize] = place as u32;
        }
        Self { sample_at, place_of }
    }

    /// The candidates of a sample, as samples.
    fn candidates<'a>(&'a self, lists: &'a CandidateLists, sample: u32) -> impl Iterator<Item = u32> + 'a {
        let place = self.place_of[sample as usize] as usize;
        lists.indices_of(place).map(|q| self.sample_at[q as usize])
    }
}

/// Candidates that a list holds at first: so many that recall is mostly reached at once. Where there are more samples,
/// there are more to miss.
fn first_length(samples: usize, neighbors: usize) -> usize {
    neighbors + samples.ilog2() as usize + SPARE_CANDIDATES
}

/// The k nearest of every list by the distance that decides.
fn settle<R: RowSource>(
    rows: R,
    distance: &impl Distance,
    lists: &CandidateLists,
    placement: &Placement,
    neighbors: usize,
    recall: Recall,
    monitor: &dyn Monitor,
) -> Result<NeighborLists> {
    // In the order of places: near samples have many candidates in common.
    let mut settled = (0..lists.len())
        .into_par_iter()
        .map(|place| {
            check_cancelled(monitor)?;
            let candidates = lists.of(place);
            Ok(dispatch(Settle { rows, distance, placement, place, candidates, neighbors }))
        })
        .collect::<Result<Vec<_>>>()?;
    let settled: Vec<_> =
        placement.place_of.iter().map(|&place| mem::take(&mut settled[place as usize])).collect();
    Ok(NeighborLists::from_rows(neighbors, &settled).with_recall(recall))
}

/// The k nearest of the candidates at a place.
struct Settle<'a, R, D> {
    rows: R,
    distance: &'a D,
    placement: &'a Placement,
    place: usize,
    /// Nearest first, as far as is known.
    candidates: &'a [Candidate],
    neighbors: usize,
}

impl<R: RowSource, D: Distance> LanesTask for Settle<'_, R, D> {
    type Output = Vec<(f64, u32)>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<(f64, u32)> {
        let sample = |place: usize| self.placement.sample_at[place];
        let row = self.rows.row(sample(self.place) as usize);
        let mut nearest = Vec::with_capacity(self.neighbors + 1);
        for &candidate in self.candidates {
            let at_least = self.distance.least_squared_distance(candidate.distance());
            // No later one is nearer.
            if candidate == Candidate::NONE || at_least > worst(&nearest, self.neighbors) {
                break;
            }
            let q = sample(candidate.index() as usize);
            keep_nearest(lanes, &row, &self.rows.row(q as usize), q, self.neighbors, &mut nearest);
        }
        nearest
    }
}

/// The squared distance of the last of the `neighbors` nearest; infinity while there are fewer.
#[inline(always)]
fn worst(nearest: &[(f64, u32)], neighbors: usize) -> f64 {
    nearest.get(neighbors - 1).map_or(f64::INFINITY, |worst| worst.0)
}

/// Takes sample `q`, whose numbers are `other`, into the `neighbors` nearest of a row, nearest first, unless it is farther.
#[inline(always)]
fn keep_nearest<L: Lanes, T: Element>(
    lanes: L,
    row: &[T],
    other: &[T],
    q: u32,
    neighbors: usize,
    nearest: &mut Vec<(f64, u32)>,
) {
    if T::least_squared_distance(lanes, row, other) > worst(nearest, neighbors) {
        return;
    }
    let found = (squared_distance(row, other), q);
    let place = nearest.partition_point(|held| ordered(held, &found).is_lt());
    nearest.insert(place, found);
    nearest.truncate(neighbors);
}
