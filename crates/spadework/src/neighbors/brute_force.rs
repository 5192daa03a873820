//! Every pair, in double precision: slow and simple, the reference for the fast searches.

use rayon::prelude::*;

use super::{NeighborLists, NeighborSearch, RowSource, ordered, squared_by, with_rows};
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::samples::{Norm, Samples};

/// Reference search: the distance of every pair, then the k smallest.
///
/// # Complexity
/// O(n² d) time in double precision, O(n) memory per thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct BruteForce;

impl NeighborSearch for BruteForce {
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
        let norm = samples.norm();
        with_rows!(samples, rows => search(rows, norm, neighbors, monitor))
    }
}

fn search<R: RowSource>(
    samples: R,
    norm: Norm,
    neighbors: usize,
    monitor: &dyn Monitor,
) -> Result<NeighborLists> {
    let rows = (0..samples.len())
        .into_par_iter()
        .map(|p| {
            check_cancelled(monitor)?;
            Ok(nearest(samples, norm, p, neighbors))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(NeighborLists::from_rows(neighbors, &rows))
}

fn nearest<R: RowSource>(samples: R, norm: Norm, p: usize, neighbors: usize) -> Vec<(f64, u32)> {
    let row = samples.row(p);
    let mut all: Vec<_> = (0..samples.len())
        .filter(|&q| q != p)
        .map(|q| (squared_by(norm, &row, &samples.row(q)), q as u32))
        .collect();
    all.select_nth_unstable_by(neighbors - 1, ordered);
    all.truncate(neighbors);
    all.sort_unstable_by(ordered);
    all
}
