//! Exact nearest neighbors of sparse rows, such as tf-idf: nothing is made dense.
//!
//! The scalar products of a row with all other rows come from the columns in which the row is not zero. With the lengths of the
//! rows they give every squared distance up to rounding, which rules out nearly all rows. The distances of the others are computed
//! again, in the order in which [`squared_distance`](super::squared_distance) sums those of dense rows. Zeros change no sum, so the
//! lists are those of the same rows made dense, to the last bit.

use rayon::prelude::*;

use super::distance::{LANES, folded};
use super::{NeighborLists, check_neighbors, check_unresolved, least_resolved, ordered};
use crate::checkpoint::{Identity, Resumable, StateReader, StateWriter, Work};
use crate::error::{Error, Result};
use crate::monitor::{Monitor, check_cancelled};
use crate::samples::{Metric, Side, enlarged, normalize, zero_rows};

/// Rows that are searched before what is found may be kept.
const BLOCK: usize = 1 << 12;

/// n rows of d numbers each, of which most are zero.
///
/// Invariants: 1 ≤ n < 2³², d ≥ 1, columns of a row ascending, distinct and below d, every number finite, not zero, and small enough
/// that no squared distance overflows.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    dim: usize,
    /// Where each row starts, and where the last one ends.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl SparseRows {
    /// Rows from their entries (row, column, value) in any order. Values of the same place are added, as SciPy adds them, and zeros are
    /// left out.
    ///
    /// # Errors
    /// When there are no rows or columns, an entry lies outside, or a value is not finite or too large.
    ///
    /// ```
    /// use spadework::Silent;
    /// use spadework::neighbors::SparseRows;
    /// use spadework::samples::{Metric, Side};
    /// // Three texts over a million words.
    /// let entries = vec![(0, 7, 1.0), (0, 999_999, 1.0), (1, 7, 2.0), (2, 7, 1.0), (2, 999_999, 3.0)];
    /// let rows = SparseRows::new(3, 1_000_000, entries)?;
    /// let lists = rows.neighbors(Side::Input, Metric::Cosine, 1, &Silent)?;
    /// assert_eq!([lists.of(0), lists.of(1), lists.of(2)], [[2], [0], [0]]);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn new(len: usize, dim: usize, mut entries: Vec<(u32, u32, f64)>) -> Result<Self> {
        if len == 0 || dim == 0 {
            return Err(Error::Empty { rows: len, columns: dim });
        }
        let limit = u32::MAX as usize;
        if len > limit {
            return Err(Error::TooManySamples { samples: len, limit });
        }
        // The order of equal places decides the last bits of their sum, so it is kept.
        entries.par_sort_by_key(|&(row, column, _)| (row, column));
        let mut rows = Self { dim, starts: vec![0; len + 1], columns: Vec::new(), values: Vec::new() };
        let bound = (f64::MAX / dim as f64).sqrt() / 4.0;
        for same in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (row, column) = (same[0].0 as usize, same[0].1 as usize);
            if row >= len || column >= dim {
                return Err(Error::WrongLength { rows: len, columns: dim, got: row.max(column) });
            }
            let value: f64 = same.iter().map(|&(.., value)| value).sum();
            if !value.is_finite() {
                return Err(Error::NonFinite { row, column, value });
            }
            if value.abs() > bound {
                return Err(Error::TooLarge { row, column, value });
            }
            if value != 0.0 {
                rows.columns.push(column as u32);
                rows.values.push(value);
                rows.starts[row + 1] = rows.columns.len();
            }
        }
        // Rows without entries end where the one before does.
        for row in 0..len {
            rows.starts[row + 1] = rows.starts[row + 1].max(rows.starts[row]);
        }
        Ok(rows)
    }

    /// Number of rows, n.
    #[expect(clippy::len_without_is_empty, reason = "there are always rows")]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Numbers per row, d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Numbers that are not zero.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    fn row(&self, p: usize) -> (&[u32], &[f64]) {
        let place = self.starts[p]..self.starts[p + 1];
        (&self.columns[place.clone()], &self.values[place])
    }

    /// The `neighbors` nearest rows of every row, by [`Metric::Euclidean`] or [`Metric::Cosine`]: those that an exact search finds among
    /// the same rows made dense.
    ///
    /// # Complexity
    /// For every row, one multiplication per number in its columns over all rows; O(n) memory per thread.
    ///
    /// Tiny rows are multiplied by a power of two, and the squared distances are those of the scaled rows, as after
    /// [`Geometry::place`](crate::samples::Geometry::place).
    ///
    /// # Errors
    /// [`Error::SparseMetric`] for another metric, [`Error::ZeroRows`] by cosine if a row is zero, [`Error::TooClose`] if squared
    /// distances underflow as in [`NeighborLists::check_resolved`], and when `neighbors` is 0 or not smaller than the number of rows, or the monitor stops the run.
    pub fn neighbors(
        &self,
        side: Side,
        metric: Metric,
        neighbors: usize,
        monitor: &dyn Monitor,
    ) -> Result<NeighborLists> {
        check_neighbors(neighbors, self.len())?;
        match metric {
            Metric::Euclidean => match enlarged(&self.values) {
                None => nearest_rows(side, self, neighbors, monitor),
                Some(values) => nearest_rows(side, &Self { values, ..self.clone() }, neighbors, monitor),
            },
            Metric::Cosine => nearest_rows(side, &self.unit_rows(side)?, neighbors, monitor),
            metric @ (Metric::Manhattan | Metric::Chebyshev) => {
                Err(Error::SparseMetric { metric: metric.to_string() })
            }
        }
    }

    /// The rows divided by their lengths.
    fn unit_rows(&self, side: Side) -> Result<Self> {
        let mut unit = self.clone();
        let places = self.starts.windows(2);
        let has_length: Vec<bool> =
            places.map(|place| normalize(&mut unit.values[place[0]..place[1]])).collect();
        zero_rows(side, &has_length)?;
        Ok(unit)
    }

    /// ‖x_p − x_q‖², summed as that of dense rows is.
    fn squared_distance(&self, p: usize, q: usize) -> f64 {
        let ((a_columns, a), (b_columns, b)) = (self.row(p), self.row(q));
        let mut lanes = [0.0_f64; LANES];
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let (at_a, at_b) = (a_columns.get(i).copied(), b_columns.get(j).copied());
            let column = at_a.unwrap_or(u32::MAX).min(at_b.unwrap_or(u32::MAX));
            let mut difference = 0.0;
            if at_a == Some(column) {
                difference = a[i];
                i += 1;
            }
            if at_b == Some(column) {
                difference -= b[j];
                j += 1;
            }
            lanes[column as usize % LANES] += difference * difference;
        }
        folded(lanes)
    }

    /// The largest number of entries of a row.
    fn widest(&self) -> usize {
        self.starts.windows(2).map(|place| place[1] - place[0]).max().unwrap_or(0)
    }
}

impl Identity for SparseRows {
    fn feed(&self, take: &mut dyn FnMut(&[u8])) {
        take(format!("{} {} {}", self.len(), self.dim, self.entries()).as_bytes());
        self.starts.iter().for_each(|&start| take(&(start as u64).to_le_bytes()));
        self.columns.iter().for_each(|&column| take(&column.to_le_bytes()));
        self.values.iter().for_each(|&value| take(&value.to_le_bytes()));
    }
}

/// The entries of some rows, column after column. Columns without entries take no room: a file may claim any number of them.
struct ByColumn {
    /// For every entry of the rows, in their order, the place of its column among those that have entries.
    column_of_entry: Vec<u32>,
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl ByColumn {
    fn of(rows: &SparseRows) -> Self {
        let mut used = rows.columns.clone();
        used.par_sort_unstable();
        used.dedup();
        let place = |column: &u32| used.binary_search(column).map_or(0, |at| at as u32);
        let column_of_entry: Vec<u32> = rows.columns.par_iter().map(place).collect();
        let mut starts = vec![0; used.len() + 1];
        for &column in &column_of_entry {
            starts[column as usize + 1] += 1;
        }
        for column in 0..used.len() {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let (mut owners, mut values) = (vec![0; rows.entries()], vec![0.0; rows.entries()]);
        for p in 0..rows.len() {
            for entry in rows.starts[p]..rows.starts[p + 1] {
                let place = &mut next[column_of_entry[entry] as usize];
                owners[*place] = p as u32;
                values[*place] = rows.values[entry];
                *place += 1;
            }
        }
        Self { column_of_entry, starts, rows: owners, values }
    }

    /// Adds the scalar products of row `p` with all rows to `products`.
    fn products(&self, rows: &SparseRows, p: usize, products: &mut [f64]) {
        for entry in rows.starts[p]..rows.starts[p + 1] {
            let (column, value) = (self.column_of_entry[entry] as usize, rows.values[entry]);
            let place = self.starts[column]..self.starts[column + 1];
            for (&q, other) in self.rows[place.clone()].iter().zip(&self.values[place]) {
                products[q as usize] += value * other;
            }
        }
    }
}

fn nearest_rows(
    side: Side,
    rows: &SparseRows,
    neighbors: usize,
    monitor: &dyn Monitor,
) -> Result<NeighborLists> {
    let search = SparseSearch::new(rows, neighbors);
    // Not the name of other searches, whose parts are gone once the graphs are kept: this graph is made before those are looked for.
    let work = Work::new("sparse", rows, format!("{neighbors} neighbors"));
    let parts = Resumable::new(work, monitor.checkpoints());
    let mut found = parts
        .stored()
        .and_then(|state| search.taken_up(&state))
        .unwrap_or_else(|| Vec::with_capacity(rows.len()));
    let room = || (vec![0.0; rows.len()], Vec::with_capacity(rows.len()));
    while found.len() < rows.len() {
        let block = found.len()..rows.len().min(found.len() + BLOCK);
        let nearest = block.into_par_iter().map_init(room, |(products, bounds), p| {
            check_cancelled(monitor)?;
            products.fill(0.0);
            Ok(search.nearest(p, products, bounds))
        });
        found.append(&mut nearest.collect::<Result<Vec<_>>>()?);
        monitor.progress(found.len() as u64, rows.len() as u64);
        parts.keep_if_due(|| state_of(&found));
    }
    parts.keep_result(|| state_of(&found));
    let lost = least_resolved(rows.dim());
    let unresolved = found.iter().enumerate().filter_map(|(p, nearest)| {
        let other = || nearest.iter().find(|&&(_, q)| rows.row(q as usize) != rows.row(p));
        if nearest[neighbors - 1].0 >= lost { None } else { other().map(|&(_, q)| [p, q as usize]) }
    });
    check_unresolved(side, unresolved, rows.len())?;
    Ok(NeighborLists::from_rows(neighbors, &found))
}

/// Lists as they are kept.
fn state_of(lists: &[Vec<(f64, u32)>]) -> Vec<u8> {
    let all = || lists.iter().flatten();
    let mut state = StateWriter::default();
    state.doubles(&all().map(|&(distance, _)| distance).collect::<Vec<_>>());
    state.indices(all().map(|&(_, q)| q).collect::<Vec<_>>().into_iter());
    state.into_bytes()
}

struct SparseSearch<'a> {
    rows: &'a SparseRows,
    by_column: ByColumn,
    /// ‖x_p‖² of every row.
    squares: Vec<f64>,
    /// Error of a squared distance as a part of the squares of both rows.
    error: f64,
    neighbors: usize,
}

impl<'a> SparseSearch<'a> {
    fn new(rows: &'a SparseRows, neighbors: usize) -> Self {
        let by_column = ByColumn::of(rows);
        let squares: Vec<f64> =
            (0..rows.len()).map(|p| rows.row(p).1.iter().map(|value| value * value).sum()).collect();
        // Sums of at most so many products err by at most this part of ‖x_p‖‖x_q‖ and of the squares; three of them and their sum.
        let error = 8.0 * (rows.widest() + 8) as f64 * f64::EPSILON;
        Self { rows, by_column, squares, error, neighbors }
    }

    /// The lists of the first rows, which an earlier run has found.
    fn taken_up(&self, state: &[u8]) -> Option<Vec<Vec<(f64, u32)>>> {
        let mut state = StateReader::new(state);
        let (distances, indices) = (state.doubles()?, state.indices()?);
        let fits = distances.len() == indices.len()
            && distances.len().is_multiple_of(self.neighbors)
            && distances.len() <= self.rows.len() * self.neighbors
            && indices.iter().all(|&q| (q as usize) < self.rows.len());
        let all: Vec<_> = distances.into_iter().zip(indices).collect();
        fits.then(|| all.chunks(self.neighbors).map(<[_]>::to_vec).collect())
    }

    /// The nearest of one row; the two others are room to work in, the first filled with zeros.
    fn nearest(&self, p: usize, products: &mut [f64], bounds: &mut Vec<f64>) -> Vec<(f64, u32)> {
        self.by_column.products(self.rows, p, products);
        let between = |q: usize| {
            let both = self.squares[p] + self.squares[q];
            let rounding = self.error * both + f64::MIN_POSITIVE;
            let squared = both - 2.0 * products[q];
            (squared - rounding, squared + rounding)
        };
        let others = || (0..self.rows.len()).filter(|&q| q != p);
        bounds.clear();
        bounds.extend(others().map(|q| between(q).1));
        let (_, &mut furthest, _) = bounds.select_nth_unstable_by(self.neighbors - 1, f64::total_cmp);
        let mut found: Vec<(f64, u32)> = others()
            .filter(|&q| between(q).0 <= furthest)
            .map(|q| (self.rows.squared_distance(p, q), q as u32))
            .collect();
        found.sort_unstable_by(ordered);
        found.truncate(self.neighbors);
        // Of equal rows all are candidates, and every row keeps its list until the last is found.
        found.shrink_to_fit();
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::checkpoint::Checkpoints;
    use crate::monitor::Silent;
    use crate::neighbors::{BruteForce, NeighborSearch};
    use crate::samples::{Geometry, Samples, Standardize};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Rows of whole numbers, few of them not zero, with copies and, where `gaps`, rows that share nothing with others.
    fn rows(seed: u64, len: usize, dim: usize, of_ten: u32) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut values: Vec<f64> = (0..len * dim)
            .map(|_| if rng.random_range(0..10) < of_ten { f64::from(rng.random_range(1..9)) } else { 0.0 })
            .collect();
        for row in values.chunks_exact_mut(dim) {
            row[rng.random_range(0..dim)] += 1.0 / 3.0;
        }
        let first = values[..dim].to_vec();
        values[dim * (len / 2)..][..dim].copy_from_slice(&first);
        values
    }

    fn sparse(values: &[f64], dim: usize) -> SparseRows {
        let entry = |(at, &value): (usize, &f64)| ((at / dim) as u32, (at % dim) as u32, value);
        let mut entries: Vec<_> = values.iter().enumerate().map(entry).collect();
        entries.reverse();
        SparseRows::new(values.len() / dim, dim, entries).unwrap()
    }

    #[test]
    fn lists_are_those_of_dense_rows_to_the_last_bit() {
        for (seed, len, dim, of_ten) in [(1, 150, 37, 2), (2, 90, 8, 5), (3, 200, 300, 0), (4, 60, 3, 9)] {
            let values = rows(seed, len, dim, of_ten);
            let found = sparse(&values, dim);
            let dense = Samples::from_f64(len, dim, values).unwrap();
            for metric in [Metric::Euclidean, Metric::Cosine] {
                let geometry = Geometry::new(metric, Standardize::None);
                let placed = geometry.place(Side::Input, dense.view()).unwrap();
                for neighbors in [1, 7, len - 1] {
                    let expected = BruteForce.search(&placed, neighbors, &Silent).unwrap();
                    let got = found.neighbors(Side::Input, metric, neighbors, &Silent).unwrap();
                    assert_eq!(got, expected, "{metric:?}, seed {seed}, k = {neighbors}");
                }
            }
        }
    }

    #[test]
    fn entries_of_one_place_are_added_and_zeros_left_out() {
        let rows =
            SparseRows::new(3, 4, vec![(2, 1, 1.0), (0, 3, 2.0), (2, 1, 0.5), (0, 0, 1.0), (0, 0, -1.0)]);
        let rows = rows.unwrap();
        assert_eq!((rows.starts, rows.columns, rows.values), (vec![0, 1, 1, 2], vec![3, 1], vec![2.0, 1.5]));
    }

    /// Rows of the first blocks come from what an earlier run kept, the others are searched: the lists are the same.
    #[test]
    fn a_search_that_was_interrupted_goes_on_where_it_was() {
        #[derive(Default)]
        struct Kept {
            states: Mutex<Vec<Vec<u8>>>,
            stored: Option<Vec<u8>>,
        }
        impl Checkpoints for Kept {
            fn stored(&self, work: &Work<'_>) -> Option<Vec<u8>> {
                assert_eq!(work.name, "sparse");
                self.stored.clone()
            }
            fn is_due(&self) -> bool {
                true
            }
            fn is_long(&self, _: Duration) -> bool {
                false
            }
            fn keep(&self, _: &Work<'_>, state: &[u8]) {
                self.states.lock().unwrap().push(state.to_vec());
            }
        }
        impl Monitor for Kept {
            fn checkpoints(&self) -> Option<&dyn Checkpoints> {
                Some(self)
            }
        }
        let len = BLOCK + 7;
        let entry = |at: usize| ((at % len) as u32, (at * 31 % 97) as u32, 1.0 + (at % 13) as f64);
        let rows = SparseRows::new(len, 97, (0..2 * len).map(entry).collect()).unwrap();
        let search = |kept: &Kept| rows.neighbors(Side::Input, Metric::Euclidean, 3, kept).unwrap();
        let whole = Kept::default();
        let expected = search(&whole);
        let states = whole.states.into_inner().unwrap();
        assert_eq!(states.len(), 2);
        let resumed = Kept { stored: Some(states[0].clone()), ..Kept::default() };
        assert_eq!(search(&resumed), expected);
        // The first block is not searched again.
        assert_eq!(resumed.states.into_inner().unwrap().len(), 1);
        // What does not fit is not used.
        let broken = Kept { stored: Some(states[0][1..].to_vec()), ..Kept::default() };
        assert_eq!(search(&broken), expected);
    }

    /// 10,000 texts without a word took 16 bytes for each pair of them.
    #[test]
    fn equal_rows_take_no_more_memory_than_others() {
        let rows = SparseRows::new(3000, 5, vec![(0, 1, 1.0), (2999, 4, 2.0)]).unwrap();
        let search = SparseSearch::new(&rows, 10);
        let found = search.nearest(1, &mut vec![0.0; 3000], &mut Vec::new());
        assert_eq!(found.len(), 10);
        assert!(found.capacity() < 20, "{}", found.capacity());
    }

    #[test]
    fn what_cannot_be_searched_is_named() {
        let of = |entries| SparseRows::new(2, 3, entries);
        assert!(matches!(of(vec![(2, 0, 1.0)]), Err(Error::WrongLength { .. })));
        assert!(matches!(of(vec![(0, 3, 1.0)]), Err(Error::WrongLength { .. })));
        assert!(matches!(of(vec![(1, 2, f64::NAN)]), Err(Error::NonFinite { row: 1, column: 2, .. })));
        assert!(matches!(of(vec![(1, 2, 1e200)]), Err(Error::TooLarge { row: 1, column: 2, .. })));
        assert!(matches!(SparseRows::new(0, 3, Vec::new()), Err(Error::Empty { .. })));
        let rows = of(vec![(1, 2, 1.0)]).unwrap();
        let search = |metric, neighbors| rows.neighbors(Side::Input, metric, neighbors, &Silent).unwrap_err();
        let zero = Error::ZeroRows { side: Side::Input, count: 1, rows: "0".to_owned() };
        assert_eq!(search(Metric::Cosine, 1), zero);
        assert_eq!(search(Metric::Manhattan, 1), Error::SparseMetric { metric: "manhattan".to_owned() });
        assert!(matches!(search(Metric::Euclidean, 2), Error::TooManyNeighbors { .. }));
    }
}
