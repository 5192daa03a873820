//! Nearest neighbors: the lists, and the trait that every search implements.

mod approximate;
mod automatic;
mod between;
mod brute_force;
mod distance;
mod equal_rows;
mod exact;
mod lanes;
mod method;
mod rows;
mod sparse;
mod ties;

pub use approximate::{ApproximateSearch, approximate_search_bytes};
pub use automatic::{AutomaticSearch, search_by};
pub use between::{BlockNeighbors, nearest_between};
pub use brute_force::BruteForce;
pub(crate) use distance::{Element, single_squared_distance, squared_by, squared_distance};
pub(crate) use equal_rows::EqualRows;
use equal_rows::are_equal;
pub use exact::{ExactSearch, ProductSearch, TreeSearch, most_search_bytes};
pub(crate) use exact::{Pair, closest_pairs, shorter};
pub use method::SearchMethod;
pub(crate) use rows::{Doubles, RowSource, Rows, Singles, squared_distances_of, with_both_rows, with_rows};
pub use rows::{squared_distance_between, squared_distances_between};
pub use sparse::SparseRows;
pub(crate) use ties::{TiedNeighbor, TiedSearch};
pub use ties::{Ties, most_tied_bytes};

use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::samples::{Samples, Side, Values};

/// The k nearest neighbors of every sample.
///
/// Invariants: exactly k neighbors per sample, ascending by (squared distance, index), no sample its own neighbor, none
/// repeated. So the lists for a smaller k are prefixes of these. If some outputs are equal, the distance at the input may
/// come before the index ([`Ties`]), for every k alike.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighborLists {
    len: usize,
    neighbors: usize,
    indices: Vec<u32>,
    squared_distances: Vec<f64>,
    recall: Recall,
}

/// How many of the true nearest neighbors the lists contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recall {
    /// All of them, by construction.
    #[default]
    Exact,
    /// Measured on some rows that were also searched by brute force.
    Sampled {
        /// Rows that were compared.
        rows: usize,
        /// True neighbors found.
        found: usize,
        /// True neighbors.
        of: usize,
    },
}

impl Recall {
    /// The share of the true neighbors that was found.
    pub fn share(&self) -> f64 {
        match *self {
            Recall::Exact => 1.0,
            Recall::Sampled { found, of, .. } => found as f64 / of as f64,
        }
    }

    /// That of several searches as one: of those that were not exact, where there are some.
    pub(crate) fn of_all(recalls: &[Recall]) -> Self {
        let joined = |all, one: &Recall| match (all, *one) {
            (all, Recall::Exact) => all,
            (Recall::Exact, one) => one,
            (Recall::Sampled { rows, found, of }, Recall::Sampled { rows: r, found: f, of: o }) => {
                Recall::Sampled { rows: rows + r, found: found + f, of: of + o }
            }
        };
        recalls.iter().fold(Recall::Exact, joined)
    }
}

impl NeighborLists {
    /// Joins rows of (squared distance, index) that a search found, sample after sample.
    pub(crate) fn from_rows(neighbors: usize, rows: &[Vec<(f64, u32)>]) -> Self {
        debug_assert!(
            rows.iter().all(|row| row.is_sorted_by(|a, b| ordered(a, b).is_lt())),
            "ascending, none twice"
        );
        Self::from_tied_rows(neighbors, rows)
    }

    /// The same where something else than the index decides between equal distances.
    pub(crate) fn from_tied_rows(neighbors: usize, rows: &[Vec<(f64, u32)>]) -> Self {
        let mut lists = Self {
            len: rows.len(),
            neighbors,
            indices: Vec::with_capacity(rows.len() * neighbors),
            squared_distances: Vec::with_capacity(rows.len() * neighbors),
            recall: Recall::Exact,
        };
        for (p, row) in rows.iter().enumerate() {
            assert_eq!(row.len(), neighbors, "a search returns k neighbors for every sample");
            debug_assert!(row.is_sorted_by(|a, b| a.0 <= b.0), "nearest first");
            debug_assert!(row.iter().all(|&(_, q)| q as usize != p), "never its own neighbor");
            lists.indices.extend(row.iter().map(|&(_, q)| q));
            lists.squared_distances.extend(row.iter().map(|&(d, _)| d));
        }
        lists
    }

    /// The same lists, of which not all are the true ones.
    pub(crate) fn with_recall(self, recall: Recall) -> Self {
        Self { recall, ..self }
    }

    /// The lists of the `neighbors` nearest, which these begin with.
    ///
    /// # Panics
    /// When these are shorter.
    pub(crate) fn first(&self, neighbors: usize) -> Self {
        assert!(neighbors <= self.neighbors, "lists cannot be made longer");
        Self {
            len: self.len,
            neighbors,
            indices: beginnings(&self.indices, self.neighbors, neighbors),
            squared_distances: beginnings(&self.squared_distances, self.neighbors, neighbors),
            recall: self.recall,
        }
    }

    /// The lists as bytes.
    pub(crate) fn to_state(&self) -> Vec<u8> {
        let recall = match self.recall {
            Recall::Exact => [0; 3],
            Recall::Sampled { rows, found, of } => [rows, found, of],
        };
        let counts = [self.len, self.neighbors].into_iter().chain(recall);
        let mut state = StateWriter::default();
        state.counts(counts.map(|count| count as u64).collect::<Vec<_>>().into_iter());
        state.indices(self.indices.iter().copied());
        state.doubles(&self.squared_distances);
        state.into_bytes()
    }

    /// The lists of so many samples from bytes; `None` if they are something else.
    pub(crate) fn of_state(state: &[u8], samples: usize, k: usize) -> Option<Self> {
        let mut state = StateReader::new(state);
        let [len, neighbors, rows, found, of] = state.some_counts()?.map(|count| count as usize);
        let (indices, squared_distances) = (state.indices()?, state.doubles()?);
        let fits = [len, neighbors] == [samples, k]
            && [indices.len(), squared_distances.len()] == [len * neighbors; 2]
            && state.is_at_end();
        let recall = if rows == 0 { Recall::Exact } else { Recall::Sampled { rows, found, of } };
        fits.then_some(Self { len, neighbors, indices, squared_distances, recall })
    }

    /// The recall of these lists.
    pub fn recall(&self) -> Recall {
        self.recall
    }

    /// Number of samples, n.
    #[expect(clippy::len_without_is_empty, reason = "there are always samples")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Neighbors per sample, k.
    pub fn neighbors(&self) -> usize {
        self.neighbors
    }

    /// The neighbors of sample `p`, nearest first.
    pub fn of(&self, p: usize) -> &[u32] {
        &self.indices[p * self.neighbors..(p + 1) * self.neighbors]
    }

    /// Squared distances to the neighbors of sample `p`, in the same order.
    pub fn squared_distances_of(&self, p: usize) -> &[f64] {
        &self.squared_distances[p * self.neighbors..(p + 1) * self.neighbors]
    }

    /// Checks that distances decided and not the index: at most half of the lists may end among samples that differ although their
    /// squared distances underflow. A few such lists are allowed, because probabilities of a classifier that is sure of a sample
    /// are like this: 1e-200 next to 1 is as good as 0.
    ///
    /// # Errors
    /// [`Error::TooClose`] if more than half do.
    ///
    /// # Panics
    /// When `samples` are not those that were searched.
    pub fn check_resolved(&self, side: Side, samples: &Samples<'_>) -> Result<()> {
        assert_eq!(self.len, samples.len(), "the samples that were searched");
        // Of other types, no square underflows.
        if !matches!(samples.values(), Values::F64(_)) {
            return Ok(());
        }
        let lost = least_resolved(samples.dim());
        let unresolved = (0..self.len).filter_map(|p| {
            let ends_resolved = self.squared_distances_of(p)[self.neighbors - 1] >= lost;
            let other = || self.of(p).iter().find(|&&q| !are_equal(samples, p, q as usize));
            if ends_resolved { None } else { other().map(|&q| [p, q as usize]) }
        });
        check_unresolved(side, unresolved, self.len)
    }

    /// Samples whose listed neighbors are all exact copies of them. There may be more copies.
    pub fn samples_among_copies(&self) -> impl Iterator<Item = usize> {
        (0..self.len).filter(|&p| self.squared_distances_of(p)[self.neighbors - 1] == 0.0)
    }
}

/// Refuses samples of which more than half have neighbors by their indices: `unresolved` are those with one such neighbor of each.
///
/// # Errors
/// [`Error::TooClose`], with the first of them.
pub(super) fn check_unresolved(
    side: Side,
    mut unresolved: impl Iterator<Item = [usize; 2]>,
    samples: usize,
) -> Result<()> {
    match unresolved.next() {
        Some(rows) if 2 * (1 + unresolved.count()) > samples => Err(Error::TooClose { side, rows }),
        _ => Ok(()),
    }
}

/// Sums of d squares that are smaller may have lost all their digits.
pub(super) fn least_resolved(dim: usize) -> f64 {
    dim as f64 * f64::MIN_POSITIVE
}

/// The first `kept` of every `length` values.
fn beginnings<T: Copy>(values: &[T], length: usize, kept: usize) -> Vec<T> {
    values.chunks_exact(length).flat_map(|row| &row[..kept]).copied().collect()
}

/// Order of neighbors: nearer first, ties to the lower index.
pub(crate) fn ordered(a: &(f64, u32), b: &(f64, u32)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// A search for nearest neighbors by Euclidean distance, unless the samples were placed by another
/// [`Geometry`](crate::samples::Geometry). Manhattan and Chebyshev distances are always searched exactly.
pub trait NeighborSearch: Sync {
    /// The `neighbors` nearest samples of every sample.
    ///
    /// # Errors
    /// When `neighbors` is 0 or not smaller than the number of samples, or when the monitor stops the run.
    fn search(
        &self,
        samples: &Samples<'_>,
        neighbors: usize,
        monitor: &dyn Monitor,
    ) -> Result<NeighborLists> {
        check_neighbors(neighbors, samples.len())?;
        self.find(samples, neighbors, monitor)
    }

    /// The same where `neighbors` is known to be at least 1 and smaller than the number of samples.
    ///
    /// # Errors
    /// When the monitor stops the run.
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists>;
}

/// 1 ≤ k < n.
fn check_neighbors(neighbors: usize, samples: usize) -> Result<()> {
    if neighbors == 0 {
        return Err(Error::NoNeighbors);
    }
    if neighbors >= samples {
        return Err(Error::TooManyNeighbors { neighbors, samples });
    }
    Ok(())
}
