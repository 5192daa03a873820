//! Approximate search for millions of samples: neighbours of neighbours are likely neighbours.
//!
//! **Steps.**
//! 1. `forest`: random trees split the samples into small leaves; all pairs of a leaf are compared.
//! 2. `descent`: every sample looks at those joined with the ones it is joined with, in rounds, until little changes
//!    (NN-descent).
//! 3. `recall`: the true neighbours of some rows are searched by brute force, and those found are counted. Where they are
//!    too few, samples are joined with more others and the descent goes on.
//! 4. The lists are settled with [`squared_distance`](super::squared_distance), as those of every search.
//!
//! **Why the result does not depend on the threads.** A round reads the lists of the round before and writes new ones, each
//! sample its own; what is nearer is decided by (distance, index), a total order. Nothing is shared while a round runs.

mod descent;
mod forest;
mod lists;
mod recall;
mod rough;

use rayon::prelude::*;

use super::exact::lanes::{Lanes, LanesTask, dispatch};
use super::{
    AutomaticSearch, Element, ExactSearch, NeighborLists, NeighborSearch, Recall, Rows, check_neighbors,
    ordered, squared_distance,
};
use crate::monitor::check_cancelled;
use crate::{Monitor, Result, Samples, Values};
use descent::Descent;
use lists::CandidateLists;
use recall::Truth;
use rough::{Distance, FullDistance, Rough, ShortDistance};

/// Below this number of samples the exact search costs next to nothing.
const FEWEST_SAMPLES: usize = 4096;
/// So is it where k is a large part of n.
const FEWEST_SAMPLES_PER_NEIGHBOR: usize = 16;
/// Candidates that a list holds at first, beside k and log₂n of them.
const SPARE_CANDIDATES: usize = 6;
/// How long the lists become where recall falls short, in percent of before.
const LONGER_PERCENT: usize = 130;
/// How often they do at most: lists are then three times as long.
const MOST_EXTENSIONS: usize = 4;

/// Approximate neighbours by random trees and NN-descent, polished until the [`recall`](Self::recall) asked for is found
/// among the true neighbours of some rows.
///
/// # Complexity
/// About O(n k² d), and O(n d) a row for the recall of 500 rows. Memory: some lists of 2k to 10k candidates a sample, 8
/// bytes each, and up to 512 dimensions a copy of the samples in 16 bits. Longer samples are not copied, so they may lie in a
/// memory-mapped file that is larger than the memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApproximateSearch {
    /// Seed of the trees and of the rows whose recall is measured.
    pub seed: u64,
    /// Recall to reach, as measured.
    pub recall: f64,
}

impl ApproximateSearch {
    /// Recall that is aimed at unless told otherwise.
    pub const RECALL: f64 = 0.999;
}

impl Default for ApproximateSearch {
    fn default() -> Self {
        Self { seed: 0, recall: Self::RECALL }
    }
}

impl NeighborSearch for ApproximateSearch {
    /// Lists whose [`NeighborLists::recall`] says what was reached; exact ones where the samples are few, or where the recall
    /// cannot be reached and the exact search is affordable.
    fn search(
        &self,
        samples: &Samples<'_>,
        neighbors: usize,
        monitor: &dyn Monitor,
    ) -> Result<NeighborLists> {
        let lists = self.search_alone(samples, neighbors, monitor)?;
        if lists.recall().share() >= self.recall {
            return Ok(lists);
        }
        // Many equal samples, or distances of very different sizes: where it is affordable, better exact than poor.
        let exact =
            ExactSearch::search_within(samples, neighbors, AutomaticSearch::MOST_CORE_SECONDS, monitor)?;
        Ok(exact.unwrap_or(lists))
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
        check_neighbors(neighbors, samples.len())?;
        if samples.len() < FEWEST_SAMPLES.max(FEWEST_SAMPLES_PER_NEIGHBOR * neighbors) {
            return ExactSearch.search(samples, neighbors, monitor);
        }
        let dim = samples.dim();
        match samples.values() {
            Values::F32(values) => self.search_rows(Rows { values, dim }, neighbors, monitor),
            Values::F64(values) => self.search_rows(Rows { values, dim }, neighbors, monitor),
        }
    }

    fn search_rows<T: Rough>(
        &self,
        rows: Rows<'_, T>,
        neighbors: usize,
        monitor: &dyn Monitor,
    ) -> Result<NeighborLists> {
        let truth = Truth::of_some_rows(rows, neighbors, self.seed, monitor)?;
        if let Some(mut distance) = ShortDistance::new(rows, truth.squared_radii()) {
            let placement = Placement::new(forest::near_order(&distance, self.seed, monitor)?);
            distance.permute(&placement.sample_at);
            let order: Vec<u32> = (0..distance.len() as u32).collect();
            let (lists, recall) = self.descend(&distance, &order, &placement, &truth, monitor)?;
            if recall.share() >= self.recall {
                return settle(rows, &lists, &placement, neighbors, recall, monitor);
            }
        }
        let distance = FullDistance::new(rows);
        let placement = Placement::new((0..distance.len() as u32).collect());
        let order = forest::near_order(&distance, self.seed, monitor)?;
        let (lists, recall) = self.descend(&distance, &order, &placement, &truth, monitor)?;
        settle(rows, &lists, &placement, neighbors, recall, monitor)
    }

    /// Trees and descents until the recall is reached, or no more can be done.
    fn descend(
        &self,
        distance: &impl Distance,
        order: &[u32],
        placement: &Placement,
        truth: &Truth,
        monitor: &dyn Monitor,
    ) -> Result<(CandidateLists, Recall)> {
        let length = first_length(distance.len(), truth.neighbors());
        let mut lists = forest::first_candidates(distance, length, self.seed, monitor)?;
        let mut descent = Descent::new(distance, order, truth.neighbors());
        let mut extensions = 0;
        loop {
            descent.run(&mut lists, monitor)?;
            let recall = truth.recall(&lists, placement);
            if recall.share() >= self.recall || extensions == MOST_EXTENSIONS {
                return Ok((lists, recall));
            }
            extensions += 1;
            lists.extend_to(lists.length() * LONGER_PERCENT / 100);
        }
    }
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
fn settle<T: Element>(
    rows: Rows<'_, T>,
    lists: &CandidateLists,
    placement: &Placement,
    neighbors: usize,
    recall: Recall,
    monitor: &dyn Monitor,
) -> Result<NeighborLists> {
    let settled = (0..lists.len() as u32)
        .into_par_iter()
        .map(|p| {
            check_cancelled(monitor)?;
            let candidates: Vec<u32> = placement.candidates(lists, p).collect();
            Ok(dispatch(Settle { rows, p, candidates: &candidates, neighbors }))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(NeighborLists::from_rows(neighbors, &settled).with_recall(recall))
}

/// The k nearest of some candidates.
struct Settle<'a, T> {
    rows: Rows<'a, T>,
    p: u32,
    candidates: &'a [u32],
    neighbors: usize,
}

impl<T: Element> LanesTask for Settle<'_, T> {
    type Output = Vec<(f64, u32)>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<(f64, u32)> {
        let row = self.rows.row(self.p as usize);
        let mut nearest = Vec::with_capacity(self.neighbors + 1);
        for &q in self.candidates {
            keep_nearest(lanes, row, self.rows.row(q as usize), q, self.neighbors, &mut nearest);
        }
        nearest
    }
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
    let worst = nearest.get(neighbors - 1).map_or(f64::INFINITY, |worst| worst.0);
    if T::least_squared_distance(lanes, row, other) > worst {
        return;
    }
    let found = (squared_distance(row, other), q);
    let place = nearest.partition_point(|held| ordered(held, &found).is_lt());
    nearest.insert(place, found);
    nearest.truncate(neighbors);
}
