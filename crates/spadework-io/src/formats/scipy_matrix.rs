//! Matrices as SciPy writes them (`scipy.sparse.save_npz`): compressed rows or columns.

use super::npz;
use crate::array::RawArray;
use crate::error::{Error, Result};
use crate::stream::check_promise;

const KEYS: [&str; 5] = ["format", "shape", "indptr", "indices", "data"];

/// Bytes of an entry: its value, its place, and both again while entries are sorted. In the file it may take two.
const ENTRY: usize = 40;

/// A compressed matrix.
pub(crate) struct Compressed {
    /// Whether it is compressed by columns rather than by rows.
    by_columns: bool,
    starts: Vec<usize>,
    indices: RawArray<'static>,
    values: Vec<f64>,
}

/// Whether an archive holds a SciPy matrix and not arrays by name.
pub(crate) fn is_matrix(keys: &[String]) -> bool {
    KEYS.iter().all(|&key| keys.iter().any(|have| have == key))
}

impl Compressed {
    /// Reads a matrix; `check` is given its rows and columns before anything else is read.
    pub(crate) fn read(bytes: &[u8], name: &str, check: impl FnOnce(u64, u64) -> Result<()>) -> Result<Self> {
        let misshapen =
            |expected: String, got: String| Error::GraphShape { name: name.to_owned(), expected, got };
        let keys = npz::keys(bytes, name)?;
        // Before its other members are missed: a matrix of triplets has no row starts.
        let format = if keys.iter().any(|key| key == "format") {
            npz::word(bytes, "format", name)?
        } else {
            String::new()
        };
        if !matches!(format.as_str(), "" | "csr" | "csc") {
            return Err(misshapen(
                "the matrix must be saved as csr or csc (.tocsr())".to_owned(),
                format!("`{format}`"),
            ));
        }
        if let Some(missing) = KEYS.iter().find(|&&key| !keys.iter().any(|have| have == key)) {
            return Err(misshapen(
                "a SciPy matrix (scipy.sparse.save_npz) holds format, shape, indptr, indices and data"
                    .to_owned(),
                format!("no `{missing}`"),
            ));
        }
        let member = |key: &str| npz::parse(bytes, Some(key), name);
        let mut extents = Vec::new();
        member("shape")?.for_each_integer(name, |_, extent| {
            extents.push(u64::try_from(extent).unwrap_or(u64::MAX));
            Ok(())
        })?;
        let [rows, columns] = extents[..] else {
            return Err(misshapen("a matrix has two extents".to_owned(), extents.len().to_string()));
        };
        check(rows, columns)?;
        let by_columns = format == "csc";
        let (starts, indices) = (member("indptr")?, member("indices")?);
        check_promise(count(&indices).saturating_mul(ENTRY), bytes.len(), name)?;
        let data = member("data")?;
        let starts = line_starts(&starts, if by_columns { columns } else { rows }, count(&indices), name)?;
        if count(&data) != count(&indices) {
            let expected = format!("there must be as many values as indices ({})", count(&indices));
            return Err(misshapen(expected, count(&data).to_string()));
        }
        let values = data.plain_numbers(name)?;
        Ok(Self { by_columns, starts, indices, values })
    }

    /// Every entry as (row, column, value).
    pub(crate) fn for_each(
        &self,
        name: &str,
        mut take: impl FnMut(u64, u64, f64) -> Result<()>,
    ) -> Result<()> {
        let mut line = 0;
        self.indices.for_each_integer(name, |at, index| {
            while self.starts[line + 1] <= at {
                line += 1;
            }
            let Ok(index) = u64::try_from(index) else {
                let [row, column] =
                    if self.by_columns { [index, line as i128] } else { [line as i128, index] };
                return Err(Error::GraphEntry {
                    name: name.to_owned(),
                    place: format!("row {row}, column {column}"),
                    expected: "indices must not be negative",
                    got: index.to_string(),
                });
            };
            let [row, column] = if self.by_columns { [index, line as u64] } else { [line as u64, index] };
            take(row, column, self.values[at])
        })
    }
}

/// Number of values of an array of one dimension or more.
fn count(array: &RawArray<'_>) -> usize {
    array.shape().iter().product()
}

/// Where each row or column starts: one more than there are, from 0 up to the number of entries.
fn line_starts(array: &RawArray<'_>, lines: u64, entries: usize, name: &str) -> Result<Vec<usize>> {
    if count(array) as u64 != lines.saturating_add(1) {
        return Err(Error::GraphShape {
            name: name.to_owned(),
            expected: format!("indptr of {lines} rows must have one more value"),
            got: count(array).to_string(),
        });
    }
    let mut starts: Vec<usize> = Vec::new();
    let wrong = |at: usize, got: i128| Error::GraphShape {
        name: name.to_owned(),
        expected: format!("indptr must rise from 0 to the number of indices ({entries})"),
        got: format!("{got} at place {at}"),
    };
    array.for_each_integer(name, |at, value| {
        let start = usize::try_from(value).ok().filter(|start| *start <= entries);
        let start = start.filter(|start| starts.last().map_or(*start == 0, |last| start >= last));
        starts.push(start.ok_or_else(|| wrong(at, value))?);
        Ok(())
    })?;
    match starts.last() {
        Some(&last) if last == entries => Ok(starts),
        last => Err(wrong(starts.len() - 1, last.map_or(0, |&last| last as i128))),
    }
}
