//! How many of the true neighbours were found, measured on some rows.

use std::ops::Range;

use rand::RngExt;
use rayon::prelude::*;

use super::lists::CandidateLists;
use super::{Placement, keep_nearest};
use crate::monitor::check_cancelled;
use crate::neighbors::exact::lanes::{Lanes, LanesTask, dispatch};
use crate::neighbors::{Element, Recall, Rows};
use crate::random::stream;
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
        samples: Rows<'_, T>,
        neighbors: usize,
        seed: u64,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let rows = spread(samples.len(), ROWS.min(samples.len()), seed);
        let found: Vec<Vec<Vec<(f64, u32)>>> = rows
            .par_chunks(ROWS_AT_ONCE)
            .map(|rows| {
                let mut nearest = vec![Vec::with_capacity(neighbors + 1); rows.len()];
                for first in (0..samples.len()).step_by(BLOCK_SAMPLES) {
                    check_cancelled(monitor)?;
                    let others = first..(first + BLOCK_SAMPLES).min(samples.len());
                    dispatch(Block { samples, rows, others, neighbors, nearest: &mut nearest });
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
    let mut rng = stream(seed, u64::MAX);
    let start = |row: usize| row * samples / rows;
    (0..rows).map(|row| rng.random_range(start(row)..start(row + 1)) as u32).collect()
}

/// Some rows against a block of samples.
struct Block<'a, T> {
    samples: Rows<'a, T>,
    rows: &'a [u32],
    others: Range<usize>,
    neighbors: usize,
    /// The k nearest so far of each row, nearest first.
    nearest: &'a mut [Vec<(f64, u32)>],
}

impl<T: Element> LanesTask for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (&p, nearest) in self.rows.iter().zip(self.nearest) {
            let row = self.samples.row(p as usize);
            for q in self.others.clone() {
                if p as usize != q {
                    keep_nearest(lanes, row, self.samples.row(q), q as u32, self.neighbors, nearest);
                }
            }
        }
    }
}
