//! The share of the true neighbors that was found, measured on some rows.

use std::ops::Range;

use rand::RngExt;
use rayon::prelude::*;

use super::lists::CandidateLists;
use super::packed::{Near, Packed};
use super::rough::{Distance, ShortDistance};
use super::{Placement, keep_nearest, worst};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::lanes::{Lanes, LanesTask, dispatch};
use crate::neighbors::{Recall, RowSource};
use crate::random::{Purpose, stream};

/// Rows whose true neighbors are searched.
const ROWS: usize = 500;
/// Rows that are searched for together, so that the samples pass through the cache once for all of them.
const ROWS_AT_ONCE: usize = 25;
/// Samples that are compared with them at a time.
const BLOCK_SAMPLES: usize = 256;

/// Of so many rows one is asked whether heads alone tell its neighbors.
const RANKED_EVERY: usize = 5;
/// Samples that are ranked at a time.
const RANKED_SAMPLES: u32 = 4096;
/// The part of these rows of which they must. A row that they fail for lacks one neighbor of k, as a rule.
const LEAST_KNOWN: f64 = 0.99;

/// The true neighbors of some rows.
#[derive(Debug)]
pub(super) struct Truth {
    rows: Vec<u32>,
    /// For each row its k nearest neighbors by (squared distance, index), nearest first.
    nearest: Vec<Vec<(f64, u32)>>,
}

impl Truth {
    /// Searches by brute force for rows that are spread over all, drawn by the seed. Where there are short copies of the
    /// samples, those whose heads are too far apart are not looked at further.
    pub(super) fn of_some_rows<R: RowSource>(
        samples: R,
        short: Option<&ShortDistance>,
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
                    dispatch(RowsAgainstBlock {
                        samples,
                        short,
                        rows,
                        others,
                        neighbors,
                        nearest: &mut nearest,
                    });
                }
                Ok(nearest)
            })
            .collect::<Result<_>>()?;
        Ok(Self { rows, nearest: found.into_iter().flatten().collect() })
    }

    /// What was written for so many samples; `None` if something else was.
    pub(super) fn read(state: &mut StateReader<'_>, samples: usize, neighbors: usize) -> Option<Self> {
        let (rows, indices, distances) = (state.indices()?, state.indices()?, state.doubles()?);
        let is_known = |&index: &u32| (index as usize) < samples;
        let fits = !rows.is_empty()
            && [indices.len(), distances.len()] == [rows.len() * neighbors; 2]
            && rows.iter().chain(&indices).all(is_known);
        let nearest = distances.into_iter().zip(indices).collect::<Vec<_>>();
        fits.then(|| Self { rows, nearest: nearest.chunks_exact(neighbors).map(<[_]>::to_vec).collect() })
    }

    pub(super) fn write(&self, state: &mut StateWriter) {
        let (distances, indices): (Vec<f64>, Vec<u32>) = self.nearest.iter().flatten().copied().unzip();
        state.indices(self.rows.iter().copied());
        state.indices(indices.into_iter());
        state.doubles(&distances);
    }

    /// The part of them that the lists contain.
    pub(super) fn recall(&self, lists: &CandidateLists, placement: &Placement) -> Recall {
        let found = |(&row, nearest): (&u32, &Vec<(f64, u32)>)| {
            placement.candidates(lists, row).filter(|q| nearest.iter().any(|near| near.1 == *q)).count()
        };
        let found = self.rows.iter().zip(&self.nearest).map(found).sum();
        Recall::Sampled { rows: self.rows.len(), found, of: self.rows.len() * self.neighbors() }
    }

    /// Whether lists of some length, sorted by the distances of heads alone, hold all true neighbors of nearly every row.
    pub(super) fn heads_tell(
        &self,
        distance: &ShortDistance,
        length: usize,
        monitor: &dyn Monitor,
    ) -> Result<bool> {
        let asked: Vec<(u32, i32)> = (self.rows.iter().zip(&self.nearest))
            .step_by(RANKED_EVERY)
            .map(|(&row, others)| (row, dispatch(Farthest { distance, row, others })))
            .collect();
        let samples = distance.len() as u32;
        let blocks: Vec<Vec<usize>> = (0..samples.div_ceil(RANKED_SAMPLES))
            .into_par_iter()
            .map(|block| {
                check_cancelled(monitor)?;
                let first = block * RANKED_SAMPLES;
                let packed = distance.packed(first..samples.min(first + RANKED_SAMPLES));
                let mut ranks = vec![0; asked.len()];
                dispatch(Ranks { packed: &packed, distance, rows: &asked, counts: &mut ranks });
                Ok(ranks)
            })
            .collect::<Result<_>>()?;
        // A row is as near to itself as can be, and not in its list.
        let rank = |at: usize| blocks.iter().map(|ranks| ranks[at]).sum::<usize>() - 1;
        let known = (0..asked.len()).filter(|&at| rank(at) <= length).count();
        Ok(known as f64 >= LEAST_KNOWN * asked.len() as f64)
    }

    /// k.
    pub(super) fn neighbors(&self) -> usize {
        self.nearest[0].len()
    }

    /// The squared distance of each row's k-th neighbor.
    pub(super) fn squared_radii(&self) -> Vec<f64> {
        self.nearest.iter().map(|nearest| nearest[nearest.len() - 1].0).collect()
    }
}

/// One row, drawn by the seed, from each of as many stretches of equal length.
fn spread(samples: usize, rows: usize, seed: u64) -> Vec<u32> {
    let mut rng = stream(seed, Purpose::RecallRows);
    let start = |row: usize| row * samples / rows;
    (0..rows).map(|row| rng.random_range(start(row)..start(row + 1)) as u32).collect()
}

/// Some rows against a block of samples.
struct RowsAgainstBlock<'a, R> {
    samples: R,
    short: Option<&'a ShortDistance>,
    rows: &'a [u32],
    others: Range<usize>,
    neighbors: usize,
    /// The k nearest so far of each row, nearest first.
    nearest: &'a mut [Vec<(f64, u32)>],
}

impl<R: RowSource> LanesTask for RowsAgainstBlock<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { samples, short, rows, others, neighbors, nearest } = self;
        let packed = short.map(|short| (short, short.packed(others.clone().map(|q| q as u32))));
        // All of them, where nothing is known.
        let mut near: Vec<Near> = (0..others.len()).map(|place| (place, 0)).collect();
        for (&p, nearest) in rows.iter().zip(nearest) {
            if let Some((short, packed)) = &packed {
                let limit = short.head_limit(worst(nearest, neighbors));
                packed.within(lanes, short.head(p), limit, &mut near);
            }
            let row = samples.row(p as usize);
            for &(place, _) in &near {
                let q = others.start + place;
                if p as usize != q {
                    keep_nearest(lanes, &row, &samples.row(q), q as u32, neighbors, nearest);
                }
            }
        }
    }
}

/// How many heads of a block of samples are as near to that of each row as the farthest of its neighbors.
struct Ranks<'a> {
    packed: &'a Packed,
    distance: &'a ShortDistance,
    /// Rows and the squared distance of heads that is meant.
    rows: &'a [(u32, i32)],
    counts: &'a mut [usize],
}

impl LanesTask for Ranks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let mut near = Vec::new();
        for (&(p, limit), count) in self.rows.iter().zip(self.counts) {
            self.packed.within(lanes, self.distance.head(p), limit, &mut near);
            *count += near.len();
        }
    }
}

/// The squared distance of the head of a row to the farthest of some others.
struct Farthest<'a> {
    distance: &'a ShortDistance,
    row: u32,
    others: &'a [(f64, u32)],
}

impl LanesTask for Farthest<'_> {
    type Output = i32;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> i32 {
        let mut farthest = 0;
        for &(_, q) in self.others {
            farthest = farthest.max(self.distance.bound(lanes, self.row, q));
        }
        farthest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Silent;
    use crate::neighbors::Rows;

    /// Rows of 90 numbers around three directions, with noise of some width in all.
    fn told_by_heads(noise: f64) -> bool {
        let number = |at: usize| ((at * at % 10_007) as f64 * 0.7).sin();
        let values: Vec<f64> = (0..2000 * 90)
            .map(|at| {
                let (p, i) = (at / 90, at % 90);
                let wave = |wave: usize| number(3 * p + wave) * ((i * (wave + 1)) as f64 * 0.3).cos();
                (0..3).map(wave).sum::<f64>() + noise * number(at + 5)
            })
            .collect();
        let rows = Rows { values: &values, dim: 90 };
        let short = ShortDistance::new(rows).expect("neither large nor long");
        let truth = Truth::of_some_rows(rows, Some(&short), 10, 0, &Silent).expect("not stopped");
        let plain = Truth::of_some_rows(rows, None, 10, 0, &Silent).expect("not stopped");
        assert_eq!(truth.nearest, plain.nearest, "heads rule out nothing that is near");
        truth.heads_tell(&short, 20, &Silent).expect("not stopped")
    }

    #[test]
    fn heads_tell_neighbors_where_little_is_left_out() {
        assert!(told_by_heads(1e-4));
        assert!(!told_by_heads(1.0));
    }
}
