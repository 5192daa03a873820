//! Nearest neighbors of one block of samples in another: the building block of a search on many machines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::distance::{TILE, squared_by_columns};
use super::{
    Element, NeighborLists, RowSource, check_neighbors, check_unresolved, least_resolved, ordered,
    squared_by, with_both_rows, with_rows,
};
use crate::checkpoint::{Resumable, StateReader, StateWriter, Work};
use crate::error::{Error, Result};
use crate::kernels::arch;
use crate::monitor::{Monitor, check_cancelled};
use crate::samples::{Norm, Samples, Side};

/// The `neighbors` nearest samples of every query, row after row, nearest first, ties to the lower index.
///
/// If the other block has too few samples, rows end with infinite distances and no indices.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BlockNeighbors {
    /// Squared distances.
    pub squared_distances: Vec<f64>,
    /// Indices in the other block.
    pub indices: Vec<Option<u32>>,
}

/// Queries that are looked at together: what of the other block is in the cache serves all of them.
const TOGETHER: usize = 32;
/// Rows of at most so many numbers are compared with many others at once, by norms other than the Euclidean one.
const SHORT: usize = 32;

/// The `neighbors` nearest samples of `base` for every sample of `queries`, with the distances of the exact search, bit by
/// bit. Query p is sample p + `shift` of `base`, if that exists; no sample is its own neighbor.
///
/// To get the lists of [`ExactSearch`](super::ExactSearch) over all samples, merge these lists over all blocks, ordered by
/// distance and index.
///
/// # Errors
/// [`Error::NoNeighbors`]; [`Error::BlockDim`] when the blocks have different numbers per sample; when the monitor stops the
/// run.
///
/// # Complexity
/// O(n_q n_b d), mostly in single precision if the samples are in single precision.
pub fn nearest_between(
    queries: &Samples<'_>,
    base: &Samples<'_>,
    shift: i64,
    neighbors: usize,
    monitor: &dyn Monitor,
) -> Result<BlockNeighbors> {
    if neighbors == 0 {
        return Err(Error::NoNeighbors);
    }
    if queries.dim() != base.dim() {
        return Err(Error::BlockDim { expected: base.dim(), got: queries.dim() });
    }
    let norm = base.norm();
    let groups = with_both_rows!(queries, base, (queries, base) => {
        Blocks { queries, base, norm }.search(shift, neighbors, None, monitor)?
    });
    Ok(filled_up(groups, queries.len(), neighbors))
}

/// The exact search for norms that have no products to be searched by: every pair, most of them in single precision where the
/// samples are.
///
/// # Errors
/// When k does not fit the samples, or the monitor stops the run.
pub(super) fn search_every_pair(
    samples: &Samples<'_>,
    neighbors: usize,
    monitor: &dyn Monitor,
) -> Result<NeighborLists> {
    check_neighbors(neighbors, samples.len())?;
    let norm = samples.norm();
    let work = Work::new("neighbors", samples, format!("every pair, k = {neighbors}"));
    let parts = &Resumable::new(work, monitor.checkpoints());
    let groups = with_rows!(samples, rows => {
        Blocks { queries: rows, base: rows, norm }.search(0, neighbors, Some(parts), monitor)?
    });
    let rows: Vec<Vec<(f64, u32)>> = groups.into_iter().flatten().collect();
    Ok(NeighborLists::from_rows(neighbors, &rows))
}

/// Two blocks of samples, and the norm of their differences.
#[derive(Clone, Copy)]
struct Blocks<R> {
    queries: R,
    base: R,
    norm: Norm,
}

/// Neighbors of consecutive queries.
type GroupNeighbors = Vec<Vec<(f64, u32)>>;

impl BlockNeighbors {
    /// The same as [`NeighborLists::check_resolved`] of the lists of the queries.
    ///
    /// # Errors
    /// [`Error::TooClose`]; its rows are that of the query and that of the other block.
    ///
    /// # Panics
    /// When these are not the samples that were searched.
    pub fn check_resolved(&self, side: Side, queries: &Samples<'_>, base: &Samples<'_>) -> Result<()> {
        let (lost, neighbors) = (least_resolved(base.dim()), self.indices.len() / queries.len());
        let row = |samples: &Samples<'_>, at: usize| samples.values().doubles(samples.place(at)).into_owned();
        let lists = self.squared_distances.chunks_exact(neighbors).zip(self.indices.chunks_exact(neighbors));
        let unresolved = lists.enumerate().filter_map(|(p, (squared, indices))| {
            let other = || indices.iter().flatten().find(|&&q| row(queries, p) != row(base, q as usize));
            if squared[neighbors - 1] >= lost { None } else { other().map(|&q| [p, q as usize]) }
        });
        check_unresolved(side, unresolved, queries.len())
    }
}

impl<R: RowSource> Blocks<R> {
    /// Groups that `parts` has from an earlier search are not searched again.
    fn search(
        self,
        shift: i64,
        neighbors: usize,
        parts: Option<&Resumable<'_>>,
        monitor: &dyn Monitor,
    ) -> Result<Vec<GroupNeighbors>> {
        let (done, total) = (AtomicU64::new(0), self.queries.len() as u64);
        let groups = FoundGroups::new(self.queries.len(), neighbors, parts);
        (0..groups.slots.len()).into_par_iter().try_for_each(|group| {
            check_cancelled(monitor)?;
            let (first, last) = groups.ends(group);
            if groups.is_open(group) {
                let found = arch().dispatch(QueryGroup { blocks: self, first, last, shift, neighbors });
                groups.put(group, found);
                groups.keep_if_due();
            }
            let some = (last - first) as u64;
            monitor.progress(done.fetch_add(some, Ordering::Relaxed) + some, total);
            Ok(())
        })?;
        Ok(groups.into_found())
    }
}

/// Groups of queries as they are found.
struct FoundGroups<'a> {
    queries: usize,
    neighbors: usize,
    slots: Vec<Mutex<Option<GroupNeighbors>>>,
    parts: Option<&'a Resumable<'a>>,
}

impl<'a> FoundGroups<'a> {
    /// With what an earlier search has found.
    fn new(queries: usize, neighbors: usize, parts: Option<&'a Resumable<'a>>) -> Self {
        let slots = (0..queries.div_ceil(TOGETHER)).map(|_| Mutex::new(None)).collect();
        let groups = Self { queries, neighbors, slots, parts };
        for (group, found) in parts.and_then(|parts| groups.read(&parts.stored()?)).unwrap_or_default() {
            groups.put(group, found);
        }
        groups
    }

    /// The queries of a group: from the first, up to the last and without it.
    fn ends(&self, group: usize) -> (usize, usize) {
        (group * TOGETHER, self.queries.min((group + 1) * TOGETHER))
    }

    fn slot(&self, group: usize) -> std::sync::MutexGuard<'_, Option<GroupNeighbors>> {
        self.slots[group].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_open(&self, group: usize) -> bool {
        self.slot(group).is_none()
    }

    fn put(&self, group: usize, found: GroupNeighbors) {
        *self.slot(group) = Some(found);
    }

    fn into_found(self) -> Vec<GroupNeighbors> {
        let found =
            self.slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
        found.map(|found| found.expect("every group was searched")).collect()
    }

    fn keep_if_due(&self) {
        if let Some(parts) = self.parts {
            parts.keep_if_due(|| self.state());
        }
    }

    /// The groups that are there, each row of k neighbors.
    fn state(&self) -> Vec<u8> {
        let found: Vec<(usize, GroupNeighbors)> =
            (0..self.slots.len()).filter_map(|group| Some((group, self.slot(group).clone()?))).collect();
        let rows = || found.iter().flat_map(|(_, found)| found.iter().flatten());
        let (indices, distances): (Vec<u32>, Vec<f64>) = rows().map(|&(distance, q)| (q, distance)).unzip();
        let mut state = StateWriter::default();
        state.counts(found.iter().map(|(group, _)| *group as u64));
        state.indices(indices.into_iter());
        state.doubles(&distances);
        state.into_bytes()
    }

    /// `None` if the state does not fit.
    fn read(&self, state: &[u8]) -> Option<Vec<(usize, GroupNeighbors)>> {
        let mut state = StateReader::new(state);
        let (groups, indices, distances) = (state.counts()?, state.indices()?, state.doubles()?);
        if indices.len() != distances.len() || !state.is_at_end() {
            return None;
        }
        let mut rows = distances.chunks_exact(self.neighbors).zip(indices.chunks_exact(self.neighbors));
        let mut read = Vec::with_capacity(groups.len());
        for group in groups {
            let group = usize::try_from(group).ok().filter(|&group| group < self.slots.len())?;
            let (first, last) = self.ends(group);
            let row = |(distances, indices): (&[f64], &[u32])| {
                distances.iter().copied().zip(indices.iter().copied()).collect::<Vec<_>>()
            };
            let found: GroupNeighbors = rows.by_ref().take(last - first).map(row).collect();
            if found.len() < last - first {
                return None;
            }
            read.push((group, found));
        }
        Some(read)
    }
}

/// Rows of the same length, where some have found fewer.
fn filled_up(groups: Vec<GroupNeighbors>, queries: usize, neighbors: usize) -> BlockNeighbors {
    let count = queries * neighbors;
    let (mut squared_distances, mut indices) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for nearest in groups.into_iter().flatten() {
        squared_distances.extend(nearest.iter().map(|&(distance, _)| distance));
        indices.extend(nearest.iter().map(|&(_, q)| Some(q)));
        let filled = squared_distances.len().next_multiple_of(neighbors);
        // A row without any neighbor is as long as the others.
        let filled = if nearest.is_empty() { filled + neighbors } else { filled };
        squared_distances.resize(filled, f64::INFINITY);
        indices.resize(filled, None);
    }
    BlockNeighbors { squared_distances, indices }
}

/// Some consecutive queries against all samples of the other block.
struct QueryGroup<R> {
    blocks: Blocks<R>,
    first: usize,
    last: usize,
    shift: i64,
    neighbors: usize,
}

impl<R: RowSource> WithSimd for QueryGroup<R> {
    type Output = GroupNeighbors;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self { blocks: Blocks { queries, base, norm }, first, last, shift, neighbors } = self;
        if norm != Norm::Euclidean && base.dim() <= SHORT {
            return self.among_short_rows();
        }
        let mut best: Self::Output = vec![Vec::with_capacity(neighbors + 1); last - first];
        let rows: Vec<_> = (first..last).map(|p| queries.row(p)).collect();
        for q in 0..base.len() {
            let other = base.row(q);
            for ((p, row), nearest) in (first..last).zip(&rows).zip(&mut best) {
                if p as i64 + shift == q as i64 {
                    continue;
                }
                let farthest =
                    if nearest.len() < neighbors { f64::INFINITY } else { nearest[neighbors - 1].0 };
                if R::Item::least_squared_by(norm, simd, row, &other) > farthest {
                    continue;
                }
                let squared = squared_by(norm, row, &other);
                // Most pairs end here, without a search for their place.
                if squared > farthest {
                    continue;
                }
                insert(nearest, neighbors, (squared, q as u32));
            }
        }
        best
    }
}

impl<R: RowSource> QueryGroup<R> {
    /// The same, tile by tile of the other block.
    #[inline(always)]
    fn among_short_rows(self) -> GroupNeighbors {
        /// Distances of which one comparison says that none matters.
        const SOME: usize = 16;
        let Self { blocks: Blocks { queries, base, norm }, first, last, shift, neighbors } = self;
        let dim = base.dim();
        let mut best: GroupNeighbors = vec![Vec::with_capacity(neighbors + 1); last - first];
        let rows: Vec<Vec<f64>> =
            (first..last).map(|p| queries.row(p).iter().map(|number| number.to_f64()).collect()).collect();
        let (mut columns, mut squared) = (vec![0.0; dim * TILE], [0.0; TILE]);
        for start in (0..base.len()).step_by(TILE) {
            let count = TILE.min(base.len() - start);
            for (at, row) in base.block(start..start + count).chunks_exact(dim).enumerate() {
                for (column, number) in row.iter().enumerate() {
                    columns[column * TILE + at] = number.to_f64();
                }
            }
            for ((p, row), nearest) in (first..last).zip(&rows).zip(&mut best) {
                squared_by_columns(norm, row, &columns, &mut squared);
                for (part, some) in squared[..count].chunks(SOME).enumerate() {
                    let farthest =
                        if nearest.len() < neighbors { f64::INFINITY } else { nearest[neighbors - 1].0 };
                    let mut is_near = false;
                    for &squared in some {
                        is_near |= squared <= farthest;
                    }
                    if !is_near {
                        continue;
                    }
                    for (at, &squared) in some.iter().enumerate() {
                        let q = start + part * SOME + at;
                        if squared <= farthest && p as i64 + shift != q as i64 {
                            insert(nearest, neighbors, (squared, q as u32));
                        }
                    }
                }
            }
        }
        best
    }
}

/// Puts a candidate in its place, if that is among so many.
#[inline(always)]
fn insert(nearest: &mut Vec<(f64, u32)>, neighbors: usize, candidate: (f64, u32)) {
    let at = nearest.partition_point(|nearer| ordered(nearer, &candidate).is_lt());
    if at < neighbors {
        nearest.insert(at, candidate);
        nearest.truncate(neighbors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Silent;
    use crate::neighbors::{BruteForce, ExactSearch, NeighborSearch};
    use crate::samples::{Geometry, Metric, Side, Standardize};

    /// Whole numbers, so that there are many ties.
    fn samples(len: usize) -> Vec<f32> {
        (0..len * 5).map(|i| ((i * i + 7 * i) % 11) as f32).collect()
    }

    #[test]
    fn the_best_over_all_blocks_are_the_lists_of_the_whole() {
        let (len, neighbors) = (90, 6);
        let values = samples(len);
        let whole = Samples::from_f32(len, 5, &values[..]).unwrap();
        let lists = ExactSearch.search(&whole, neighbors, &Silent).unwrap();
        // One of the blocks has fewer samples than neighbors.
        let blocks = [0..40, 40..43, 43..90];
        let part = |block: &std::ops::Range<usize>| {
            Samples::from_f32(block.len(), 5, &values[block.start * 5..block.end * 5]).unwrap()
        };
        for queries in &blocks {
            let mut merged = vec![Vec::new(); queries.len()];
            for base in &blocks {
                let shift = queries.start as i64 - base.start as i64;
                let found = nearest_between(&part(queries), &part(base), shift, neighbors, &Silent).unwrap();
                let rows = found.squared_distances.chunks(neighbors).zip(found.indices.chunks(neighbors));
                for (row, (distances, indices)) in merged.iter_mut().zip(rows) {
                    let known = distances.iter().zip(indices).filter_map(|(&d, q)| Some((d, q.as_ref()?)));
                    row.extend(known.map(|(distance, q)| (distance, q + base.start as u32)));
                }
            }
            for (p, mut row) in queries.clone().zip(merged) {
                row.sort_unstable_by(ordered);
                row.truncate(neighbors);
                let expected: Vec<_> =
                    lists.squared_distances_of(p).iter().copied().zip(lists.of(p).iter().copied()).collect();
                assert_eq!(row, expected, "sample {p}");
            }
        }
    }

    /// Rows of every length up to beyond the short ones, more of them than a tile has, with ties and without.
    #[test]
    fn short_rows_have_the_lists_of_all_pairs() {
        for metric in [Metric::Manhattan, Metric::Chebyshev] {
            for dim in 1..=SHORT + 1 {
                for (len, scale) in [(TILE + 9, 1.0), (2 * TILE, 0.1), (TILE - 1, 0.7)] {
                    let number = |i: usize| scale * ((i * i + 7 * i + i / dim) % 11) as f64;
                    let values: Vec<f64> = (0..len * dim).map(number).collect();
                    let single: Vec<f32> = values.iter().map(|&value| value as f32).collect();
                    let samples = [
                        Samples::from_f64(len, dim, values).unwrap(),
                        Samples::from_f32(len, dim, single).unwrap(),
                    ];
                    for samples in samples {
                        let placed =
                            Geometry::new(metric, Standardize::None).place(Side::Input, samples).unwrap();
                        let lists = ExactSearch.search(&placed, 7, &Silent).unwrap();
                        let expected = BruteForce.search(&placed, 7, &Silent).unwrap();
                        assert_eq!(lists, expected, "{metric}, {len} × {dim}");
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_filled_up() {
        let (one, two) = ([0.0_f32, 0.0], [3.0_f32, 4.0]);
        let (one, two) =
            (Samples::from_f32(1, 2, &one[..]).unwrap(), Samples::from_f32(1, 2, &two[..]).unwrap());
        let apart = nearest_between(&one, &two, 5, 2, &Silent).unwrap();
        assert_eq!(apart.squared_distances, [25.0, f64::INFINITY]);
        assert_eq!(apart.indices, [Some(0), None]);
        let itself = nearest_between(&one, &one, 0, 2, &Silent).unwrap();
        assert_eq!((itself.squared_distances, itself.indices), (vec![f64::INFINITY; 2], vec![None; 2]));
    }
}
