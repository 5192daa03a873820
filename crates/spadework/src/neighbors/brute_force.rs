//! Every pair, in double precision: slow, plain, and what the fast searches are compared with.

use rayon::prelude::*;

use super::{Element, NeighborLists, NeighborSearch, ordered, squared_by};
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::samples::{Norm, Samples, Values};

/// Reference search: the distance of every pair, then the k smallest.
///
/// # Complexity
/// O(n² d) time in double precision, O(n) memory a thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct BruteForce;

impl NeighborSearch for BruteForce {
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
        match samples.values() {
            Values::F32(values) => search(values, samples.dim(), samples.norm(), neighbors, monitor),
            Values::F64(values) => search(values, samples.dim(), samples.norm(), neighbors, monitor),
        }
    }
}

fn search<T: Element>(
    values: &[T],
    dim: usize,
    norm: Norm,
    neighbors: usize,
    monitor: &dyn Monitor,
) -> Result<NeighborLists> {
    let samples = values.len() / dim;
    let rows = (0..samples)
        .into_par_iter()
        .map(|p| {
            check_cancelled(monitor)?;
            Ok(nearest(values, dim, norm, p, neighbors))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(NeighborLists::from_rows(neighbors, &rows))
}

fn nearest<T: Element>(values: &[T], dim: usize, norm: Norm, p: usize, neighbors: usize) -> Vec<(f64, u32)> {
    let row = &values[p * dim..(p + 1) * dim];
    let mut all: Vec<_> = values
        .chunks_exact(dim)
        .enumerate()
        .filter(|&(q, _)| q != p)
        .map(|(q, other)| (squared_by(norm, row, other), q as u32))
        .collect();
    all.select_nth_unstable_by(neighbors - 1, ordered);
    all.truncate(neighbors);
    all.sort_unstable_by(ordered);
    all
}
