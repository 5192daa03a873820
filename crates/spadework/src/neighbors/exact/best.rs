//! The best neighbors found so far, shared between threads.

use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::DOUBLE_SLACK;
use crate::neighbors::{NeighborLists, ordered};

/// Candidates beyond the nearest that may wait for their distance, in addition to as many as there are neighbors.
const MOST_WAITING: usize = 32;

/// A possible neighbor by its index among the samples and what is known of its squared distance. Ordered as neighbors are, by
/// the most that it may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) index: u32,
}

impl Candidate {
    /// One whose squared distance is known.
    pub(super) fn at(squared_distance: f64, index: u32) -> Self {
        Self { least: squared_distance, most: squared_distance, index }
    }

    fn is_settled(&self) -> bool {
        self.least == self.most
    }

    fn settled(self, distance: impl Fn(u32) -> f64) -> Self {
        if self.is_settled() { self } else { Self::at(distance(self.index), self.index) }
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        ordered(&(self.most, self.index), &(other.most, other.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// The candidates of a row.
///
/// The k that are nearest by the most that their distances may be are in a heap, the worst on top. No other that comes after
/// the worst in that order precedes any of them once distances are known, unless its own may turn out smaller: such ones wait.
#[derive(Debug, Default)]
struct RowList {
    nearest: BinaryHeap<Candidate>,
    waiting: Vec<Candidate>,
}

impl RowList {
    /// A list of candidates that another one held.
    fn of(neighbors: usize, mut candidates: Vec<Candidate>) -> Self {
        candidates.sort_unstable();
        let waiting = candidates.split_off(neighbors.min(candidates.len()));
        Self { nearest: candidates.into(), waiting }
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate> {
        self.nearest.iter().chain(&self.waiting).copied()
    }

    fn held(&self, index: u32) -> Option<Candidate> {
        self.candidates().find(|held| held.index == index)
    }

    /// Takes a candidate in; returns the squared distance beyond which nothing can be among the k nearest, where it changed.
    fn offer(
        &mut self,
        neighbors: usize,
        candidate: Candidate,
        distance: impl Fn(u32) -> f64,
    ) -> Option<f64> {
        if self.nearest.len() < neighbors {
            self.nearest.push(candidate);
            let worst = self.nearest.peek()?;
            return (self.nearest.len() == neighbors).then_some(worst.most);
        }
        let mut worst = self.nearest.peek_mut()?;
        let comes_in = candidate < *worst;
        let left_out = if comes_in { std::mem::replace(&mut *worst, candidate) } else { candidate };
        drop(worst);
        let most = self.nearest.peek()?.most;
        if !left_out.is_settled() && left_out.least <= most {
            self.waiting.push(left_out);
            if self.waiting.len() > neighbors + MOST_WAITING {
                return self.settle_some(neighbors, distance);
            }
        }
        comes_in.then_some(most)
    }

    /// Drops who waits in vain, and where too many are left settles all.
    fn settle_some(&mut self, neighbors: usize, distance: impl Fn(u32) -> f64) -> Option<f64> {
        let most = self.nearest.peek()?.most;
        self.waiting.retain(|candidate| candidate.least <= most);
        if self.waiting.len() > neighbors {
            let all = self.nearest.drain().chain(self.waiting.drain(..));
            let mut all: Vec<Candidate> = all.map(|candidate| candidate.settled(&distance)).collect();
            all.sort_unstable();
            all.truncate(neighbors);
            self.nearest = all.into();
        }
        self.nearest.peek().map(|worst| worst.most)
    }

    /// All that may be among the k nearest.
    fn into_candidates(self) -> Vec<Candidate> {
        let most = self.nearest.peek().map_or(f64::INFINITY, |worst| worst.most);
        let waiting = self.waiting.into_iter().filter(|candidate| candidate.least <= most);
        self.nearest.into_iter().chain(waiting).collect()
    }
}

/// For every row its nearest so far, and a squared radius beyond which nothing can be among its k nearest.
#[derive(Debug)]
pub(super) struct BestLists {
    neighbors: usize,
    lists: Vec<Mutex<RowList>>,
    /// Bits of the squared radius; non-negative numbers order like their bits, so a minimum of bits is one of numbers.
    squared_radii: Vec<AtomicU64>,
    /// Bits of the radius in the units of the short vectors.
    radii: Vec<AtomicU64>,
    units: Units,
    /// Whether neighbors may be offered that are in the lists already.
    may_repeat: bool,
}

/// What turns squared distances of samples into distances of short vectors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Units {
    /// Factor from the samples' units to those of the short vectors.
    pub(super) factor: f64,
    /// What a squared distance may have lost to squares that vanish in double precision.
    pub(super) lost: f64,
}

impl Units {
    /// A distance of short vectors that no smaller distance of samples exceeds.
    pub(super) fn distance(self, squared_distance: f64) -> f64 {
        (squared_distance + self.lost).sqrt() * self.factor * DOUBLE_SLACK
    }
}

impl BestLists {
    pub(super) fn new(rows: usize, neighbors: usize, units: Units) -> Self {
        let infinite = || (0..rows).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect();
        Self {
            units,
            neighbors,
            lists: (0..rows).map(|_| Mutex::default()).collect(),
            squared_radii: infinite(),
            radii: infinite(),
            may_repeat: false,
        }
    }

    pub(super) fn neighbors(&self) -> usize {
        self.neighbors
    }

    /// Nothing further than this can be among the k nearest of row `p`. Other threads may shrink it at any time: a value
    /// that is out of date is only larger.
    #[inline(always)]
    pub(super) fn squared_radius(&self, p: usize) -> f64 {
        f64::from_bits(self.squared_radii[p].load(Ordering::Relaxed))
    }

    /// The same in the units of the short vectors, and not squared.
    #[inline(always)]
    pub(super) fn radius(&self, p: usize) -> f64 {
        f64::from_bits(self.radii[p].load(Ordering::Relaxed))
    }

    pub(super) fn shrink(&self, p: usize, squared_radius: f64) {
        self.squared_radii[p].fetch_min(squared_radius.to_bits(), Ordering::Relaxed);
        self.radii[p].fetch_min(self.units.distance(squared_radius).to_bits(), Ordering::Relaxed);
    }

    /// Offers a candidate to row `p`; `distance` is the squared distance of a sample from it, asked for where bounds are not
    /// enough.
    pub(super) fn offer(&self, p: usize, candidate: Candidate, distance: impl Fn(u32) -> f64) {
        if candidate.least > self.squared_radius(p) {
            return;
        }
        let mut list = self.lists[p].lock().unwrap_or_else(PoisonError::into_inner);
        if self.may_repeat && list.held(candidate.index).is_some() {
            return;
        }
        if let Some(most) = list.offer(self.neighbors, candidate, distance) {
            self.shrink(p, most);
        }
    }

    /// The candidate of row `p` that a sample is, if it is one.
    pub(super) fn held(&self, p: usize, index: u32) -> Option<Candidate> {
        self.lists[p].lock().unwrap_or_else(PoisonError::into_inner).held(index)
    }

    /// From now on, neighbors may be offered that are in the lists already.
    pub(super) fn allow_repeats(&mut self) {
        self.may_repeat = true;
    }

    /// What row `p` has found so far, in no particular order.
    pub(super) fn found_by(&self, p: usize) -> Vec<Candidate> {
        self.lists[p].lock().unwrap_or_else(PoisonError::into_inner).candidates().collect()
    }

    /// Gives row `p` what it had found before a search was interrupted. Some of it may be offered again.
    pub(super) fn restore(&mut self, p: usize, found: Vec<Candidate>) {
        let list = RowList::of(self.neighbors, found);
        if let (true, Some(worst)) = (list.nearest.len() == self.neighbors, list.nearest.peek()) {
            self.shrink(p, worst.most);
        }
        self.lists[p] = Mutex::new(list);
        self.allow_repeats();
    }

    /// The lists of the samples: `order[place]` is the sample whose list stands at `place`. `distances` are the squared distances of some
    /// pairs of samples; each pair is asked for once, and only where bounds are not enough.
    pub(super) fn into_lists(
        self,
        order: &[u32],
        distances: impl Fn(&[(usize, usize)]) -> Vec<f64> + Sync,
    ) -> NeighborLists {
        let lists =
            self.lists.into_iter().map(|list| list.into_inner().unwrap_or_else(PoisonError::into_inner));
        let lists: Vec<Vec<Candidate>> = lists.map(RowList::into_candidates).collect();
        let mut places = vec![0; order.len()];
        for (place, &p) in (0..).zip(order) {
            places[p as usize] = place;
        }
        let settled_pairs = SettledPairs::of(&lists, order, &places, distances);
        let neighbors = self.neighbors;
        let settle = |(place, list): (u32, Vec<Candidate>)| -> Vec<(f64, u32)> {
            let distance = |q: u32| settled_pairs.between(place, places[q as usize]);
            let mut list: Vec<Candidate> =
                list.into_iter().map(|candidate| candidate.settled(distance)).collect();
            list.sort_unstable();
            list.truncate(neighbors);
            list.into_iter().map(|neighbor| (neighbor.most, neighbor.index)).collect()
        };
        let with_places: Vec<(u32, Vec<Candidate>)> = (0..).zip(lists).collect();
        let settled: Vec<Vec<(f64, u32)>> = with_places.into_par_iter().map(settle).collect();
        let mut rows = vec![Vec::new(); order.len()];
        for (row, &p) in settled.into_iter().zip(order) {
            rows[p as usize] = row;
        }
        NeighborLists::from_rows(neighbors, &rows)
    }
}

/// Pairs whose distances are computed together: many share a row, and so what is read of it.
const PAIRS_TOGETHER: usize = 1 << 13;

/// Squared distances of pairs of samples by their places, the lower one first, ascending.
struct SettledPairs {
    pairs: Vec<(u32, u32)>,
    distances: Vec<f64>,
}

impl SettledPairs {
    /// Those of all candidates of which only bounds are known.
    fn of(
        lists: &[Vec<Candidate>],
        order: &[u32],
        places: &[u32],
        distances: impl Fn(&[(usize, usize)]) -> Vec<f64> + Sync,
    ) -> Self {
        let unsettled = |(place, list): (u32, &Vec<Candidate>)| {
            let waiting = list.iter().filter(|candidate| !candidate.is_settled());
            let other = |candidate: &Candidate| places[candidate.index as usize];
            waiting
                .map(|candidate| (place.min(other(candidate)), place.max(other(candidate))))
                .collect::<Vec<_>>()
        };
        // In the order of the leaves, near rows follow each other, and many of them are neighbors of the same ones.
        let mut pairs: Vec<(u32, u32)> = (0..).zip(lists).flat_map(unsettled).collect();
        pairs.par_sort_unstable();
        pairs.dedup();
        let sample = |place: u32| order[place as usize] as usize;
        let of_some = |pairs: &[(u32, u32)]| {
            distances(&pairs.iter().map(|&(p, q)| (sample(p), sample(q))).collect::<Vec<_>>())
        };
        let distances = pairs.par_chunks(PAIRS_TOGETHER).flat_map_iter(of_some).collect();
        Self { pairs, distances }
    }

    fn between(&self, p: u32, q: u32) -> f64 {
        let at = self.pairs.binary_search(&(p.min(q), p.max(q)));
        self.distances[at.unwrap_or_else(|_| unreachable!("all pairs were settled"))]
    }
}
