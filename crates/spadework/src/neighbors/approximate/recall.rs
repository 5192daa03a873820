//! How many of the true neighbours were found, measured on some rows.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::Placement;
use super::lists::CandidateLists;
use crate::monitor::check_cancelled;
use crate::neighbors::exact::lanes::{Lanes, LanesTask, dispatch};
use crate::neighbors::{Element, Recall, ordered, squared_distance};
use crate::{Monitor, Result};

/// Rows whose true neighbours are searched.
const ROWS: usize = 500;
/// Rows that are searched for together, so that the samples pass through the cache once for all of them.
const ROWS_AT_ONCE: usize = 25;
/// Samples that are compared with them at a time.
const BLOCK_SAMPLES: usize = 256;

/// The true neighbours of some rows.
#[derive(Debug)]
pub(super) struct Truth {
    rows: Vec<u32>,
    /// For each row its k nearest neighbours by (squared distance, index), nearest first.
    nearest: Vec<Vec<(f64, u32)>>,
}

impl Truth {
    /// Searches by brute force for rows that are spread over all, drawn by the seed.
    pub(super) fn of_some_rows<T: Element>(
        values: &[T],
        dim: usize,
        neighbors: usize,
        seed: u64,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let samples = values.len() / dim;
        let rows = spread(samples, ROWS.min(samples), seed);
        let found: Vec<Vec<Vec<(f64, u32)>>> = rows
            .par_chunks(ROWS_AT_ONCE)
            .map(|rows| {
                let mut nearest = vec![Vec::with_capacity(neighbors + 1); rows.len()];
                for (block, others) in values.chunks(BLOCK_SAMPLES * dim).enumerate() {
                    check_cancelled(monitor)?;
                    let first = (block * BLOCK_SAMPLES) as u32;
                    dispatch(Block { values, dim, rows, others, first, neighbors, nearest: &mut nearest });
                }
                Ok(nearest)
            })
            .collect::<Result<_>>()?;
        Ok(Self { rows, nearest: found.into_iter().flatten().collect() })
    }

    /// The part of them that the lists contain.
    pub(super) fn recall(&self, lists: &CandidateLists, placement: &Placement) -> Recall {
        let found = |(&row, nearest): (&u32, &Vec<(f64, u32)>)| {
            placement.candidates(lists, row).filter(|q| nearest.iter().any(|near| near.1 == *q)).count()
        };
        let found = self.rows.iter().zip(&self.nearest).map(found).sum();
        Recall::Sampled { rows: self.rows.len(), found, of: self.rows.len() * self.neighbors() }
    }

    /// k.
    pub(super) fn neighbors(&self) -> usize {
        self.nearest[0].len()
    }

    /// The squared distance of each row's k-th neighbour.
    pub(super) fn squared_radii(&self) -> Vec<f64> {
        self.nearest.iter().map(|nearest| nearest[nearest.len() - 1].0).collect()
    }
}

/// One row, drawn by the seed, from each of as many stretches of equal length.
fn spread(samples: usize, rows: usize, seed: u64) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::MAX);
    let start = |row: usize| row * samples / rows;
    (0..rows).map(|row| rng.random_range(start(row)..start(row + 1)) as u32).collect()
}

/// Some rows against a block of samples.
struct Block<'a, T> {
    values: &'a [T],
    dim: usize,
    rows: &'a [u32],
    others: &'a [T],
    /// Index of the block's first sample.
    first: u32,
    neighbors: usize,
    /// The k nearest so far of each row, nearest first.
    nearest: &'a mut [Vec<(f64, u32)>],
}

impl<T: Element> LanesTask for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (&p, nearest) in self.rows.iter().zip(self.nearest) {
            let row = &self.values[p as usize * self.dim..(p as usize + 1) * self.dim];
            for (other, q) in self.others.chunks_exact(self.dim).zip(self.first..) {
                let worst = nearest.get(self.neighbors - 1).map_or(f64::INFINITY, |worst| worst.0);
                if p == q || T::least_squared_distance(lanes, row, other) > worst {
                    continue;
                }
                let found = (squared_distance(row, other), q);
                let place = nearest.partition_point(|held| ordered(held, &found).is_lt());
                nearest.insert(place, found);
                nearest.truncate(self.neighbors);
            }
        }
    }
}
