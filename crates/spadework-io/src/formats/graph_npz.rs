//! Graphs as SciPy writes them (`scipy.sparse.save_npz`): compressed rows or columns of an adjacency matrix.

use super::npz;
use crate::array::RawArray;
use crate::error::{Error, Result};
use crate::graph_file::EdgeList;

const KEYS: [&str; 5] = ["format", "shape", "indptr", "indices", "data"];

pub(crate) fn parse(bytes: &[u8], edges: &mut EdgeList<'_>) -> Result<()> {
    let name = edges.name();
    let keys = npz::keys(bytes, name)?;
    // Before its other members are missed: a matrix of triplets has no row starts.
    let format = if keys.iter().any(|key| key == "format") {
        npz::word(bytes, "format", name)?
    } else {
        String::new()
    };
    // A graph is the same read by rows and by columns.
    if !matches!(format.as_str(), "" | "csr" | "csc") {
        return Err(edges.misshapen(
            "the matrix must be saved as csr or csc (.tocsr())".to_owned(),
            format!("`{format}`"),
        ));
    }
    if let Some(missing) = KEYS.iter().find(|&&key| !keys.iter().any(|have| have == key)) {
        return Err(edges.misshapen(
            "a SciPy matrix (scipy.sparse.save_npz) holds format, shape, indptr, indices and data".to_owned(),
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
        return Err(edges.misshapen("a matrix has two extents".to_owned(), extents.len().to_string()));
    };
    edges.set_shape(rows, columns)?;
    let (starts, indices, data) = (member("indptr")?, member("indices")?, member("data")?);
    let starts = row_starts(&starts, rows, count(&indices), edges)?;
    if count(&data) != count(&indices) {
        let expected = format!("there must be as many values as indices ({})", count(&indices));
        return Err(edges.misshapen(expected, count(&data).to_string()));
    }
    let weights = data.plain_numbers(name)?;
    let mut row = 0;
    indices.for_each_integer(name, |at, column| {
        while starts[row + 1] <= at {
            row += 1;
        }
        let place = || format!("row {row}, column {column}");
        let Ok(column) = u64::try_from(column) else {
            return Err(edges.wrong(place(), "indices must not be negative", column.to_string()));
        };
        edges.push(row as u64, column, weights[at], place)
    })
}

/// Number of values of an array of one dimension or more.
fn count(array: &RawArray<'_>) -> usize {
    array.shape().iter().product()
}

/// Where each row starts: one more than there are rows, from 0 up to the number of entries.
fn row_starts(array: &RawArray<'_>, rows: u64, entries: usize, edges: &EdgeList<'_>) -> Result<Vec<usize>> {
    if count(array) as u64 != rows.saturating_add(1) {
        let expected = format!("indptr of {rows} rows must have one more value");
        return Err(edges.misshapen(expected, count(array).to_string()));
    }
    let mut starts: Vec<usize> = Vec::new();
    let wrong = |at: usize, got: i128| Error::GraphShape {
        name: edges.name().to_owned(),
        expected: format!("indptr must rise from 0 to the number of indices ({entries})"),
        got: format!("{got} at place {at}"),
    };
    array.for_each_integer(edges.name(), |at, value| {
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
