//! The best neighbours found so far, shared between threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::neighbors::{NeighborLists, ordered};

/// For every row its nearest so far, and a squared radius beyond which nothing can be among its k nearest.
#[derive(Debug)]
pub(super) struct BestLists {
    neighbors: usize,
    lists: Vec<Mutex<Vec<(f64, u32)>>>,
    /// Bits of the squared radius; non-negative numbers order like their bits, so a minimum of bits is one of numbers.
    squared_radii: Vec<AtomicU64>,
}

impl BestLists {
    pub(super) fn new(rows: usize, neighbors: usize) -> Self {
        Self {
            neighbors,
            lists: (0..rows).map(|_| Mutex::new(Vec::new())).collect(),
            squared_radii: (0..rows).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect(),
        }
    }

    pub(super) fn neighbors(&self) -> usize {
        self.neighbors
    }

    /// Nothing further than this can be among the k nearest of row `p`. Other threads may shrink it at any time: a value
    /// that is out of date is only larger.
    pub(super) fn squared_radius(&self, p: usize) -> f64 {
        f64::from_bits(self.squared_radii[p].load(Ordering::Relaxed))
    }

    pub(super) fn shrink(&self, p: usize, squared_radius: f64) {
        self.squared_radii[p].fetch_min(squared_radius.to_bits(), Ordering::Relaxed);
    }

    /// Offers a neighbour, by its index among the samples, to row `p`.
    pub(super) fn offer(&self, p: usize, squared_distance: f64, index: u32) {
        if squared_distance > self.squared_radius(p) {
            return;
        }
        let candidate = (squared_distance, index);
        let mut list = self.lists[p].lock().unwrap_or_else(PoisonError::into_inner);
        let at = list.partition_point(|held| ordered(held, &candidate).is_lt());
        if at >= self.neighbors {
            return;
        }
        if list.len() == self.neighbors {
            list.pop();
        }
        list.insert(at, candidate);
        if let (true, Some(worst)) = (list.len() == self.neighbors, list.last()) {
            self.shrink(p, worst.0);
        }
    }

    /// The lists of the samples: `order[place]` is the sample whose list stands at `place`.
    pub(super) fn into_lists(self, order: &[u32]) -> NeighborLists {
        let mut rows = vec![Vec::new(); order.len()];
        for (list, &p) in self.lists.into_iter().zip(order) {
            rows[p as usize] = list.into_inner().unwrap_or_else(PoisonError::into_inner);
        }
        NeighborLists::from_rows(self.neighbors, &rows)
    }
}
