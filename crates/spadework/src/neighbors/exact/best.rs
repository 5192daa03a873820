//! The best neighbors found so far, shared between threads.

use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::DOUBLE_SLACK;
use crate::neighbors::{NeighborLists, ordered};

/// A neighbor by squared distance and index, ordered as neighbors are.
#[derive(Debug, Clone, Copy)]
struct HeapEntry((f64, u32));

impl Ord for HeapEntry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        ordered(&self.0, &other.0)
    }
}

impl PartialOrd for HeapEntry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for HeapEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for HeapEntry {}

/// For every row its nearest so far, and a squared radius beyond which nothing can be among its k nearest.
#[derive(Debug)]
pub(super) struct BestLists {
    neighbors: usize,
    /// Heaps with the worst on top.
    lists: Vec<Mutex<BinaryHeap<HeapEntry>>>,
    /// Bits of the squared radius; non-negative numbers order like their bits, so a minimum of bits is one of numbers.
    squared_radii: Vec<AtomicU64>,
    /// Bits of the radius in the units of the short vectors.
    radii: Vec<AtomicU64>,
    units: Units,
    /// Whether neighbors may be offered that are in the lists already, as after a search was interrupted.
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
    fn distance(self, squared_distance: f64) -> f64 {
        (squared_distance + self.lost).sqrt() * self.factor * DOUBLE_SLACK
    }
}

impl BestLists {
    pub(super) fn new(rows: usize, neighbors: usize, units: Units) -> Self {
        let infinite = || (0..rows).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect();
        Self {
            units,
            neighbors,
            lists: (0..rows).map(|_| Mutex::new(BinaryHeap::new())).collect(),
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

    /// Offers a neighbor, by its index among the samples, to row `p`.
    pub(super) fn offer(&self, p: usize, squared_distance: f64, index: u32) {
        if squared_distance > self.squared_radius(p) {
            return;
        }
        let candidate = HeapEntry((squared_distance, index));
        let mut list = self.lists[p].lock().unwrap_or_else(PoisonError::into_inner);
        if self.may_repeat && list.iter().any(|known| known.0.1 == index) {
            return;
        }
        if list.len() < self.neighbors {
            list.push(candidate);
        } else if let Some(mut worst) = list.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        } else {
            return;
        }
        if let (true, Some(worst)) = (list.len() == self.neighbors, list.peek()) {
            self.shrink(p, worst.0.0);
        }
    }

    /// What row `p` has found so far, in no particular order.
    pub(super) fn found_by(&self, p: usize) -> Vec<(f64, u32)> {
        let list = self.lists[p].lock().unwrap_or_else(PoisonError::into_inner);
        list.iter().map(|found| found.0).collect()
    }

    /// Gives row `p` what it had found before a search was interrupted. Some of it may be offered again.
    pub(super) fn restore(&mut self, p: usize, found: impl Iterator<Item = (f64, u32)>) {
        found.for_each(|(squared_distance, index)| self.offer(p, squared_distance, index));
        self.may_repeat = true;
    }

    /// The lists of the samples: `order[place]` is the sample whose list stands at `place`.
    pub(super) fn into_lists(self, order: &[u32]) -> NeighborLists {
        let mut rows = vec![Vec::new(); order.len()];
        for (list, &p) in self.lists.into_iter().zip(order) {
            let heap = list.into_inner().unwrap_or_else(PoisonError::into_inner);
            rows[p as usize] = heap.into_sorted_vec().into_iter().map(|found| found.0).collect();
        }
        NeighborLists::from_rows(self.neighbors, &rows)
    }
}
