//! Sparse rows: matrices of samples that SciPy saved.

use spadework::neighbors::SparseRows;

use crate::error::{Error, Result};
use crate::formats::npz;
use crate::formats::scipy_matrix::{Compressed, is_matrix};
use crate::mapping::{FileBytes, MAP_FROM};
use crate::source::{Source, resolve};

/// Loads the rows of a SciPy matrix (`.npz`, as `scipy.sparse.save_npz` writes it, csr or csc), one row per sample; `None` if the
/// argument names something else. Values of the same place are added, and zeros are left out.
///
/// # Errors
/// When the file cannot be read, or its contents do not follow the format.
pub fn load_sparse(argument: &str) -> Result<Option<SparseRows>> {
    let Ok(Source::File { path, key: None }) = resolve(argument) else { return Ok(None) };
    let is_archive = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npz"));
    if !is_archive || !path.is_file() {
        return Ok(None);
    }
    let file = FileBytes::open(&path, MAP_FROM)?;
    // What is wrong with an archive is for those to say who read it as arrays.
    if !npz::keys(&file, argument).is_ok_and(|keys| is_matrix(&keys)) {
        return Ok(None);
    }
    let rows = parse(&file, argument)?;
    file.check_unchanged()?;
    Ok(Some(rows))
}

pub(crate) fn parse(bytes: &[u8], name: &str) -> Result<SparseRows> {
    let mut shape = [0; 2];
    let matrix = Compressed::read(bytes, name, |rows, columns| {
        shape = [rows, columns];
        Ok(())
    })?;
    let most = u64::from(u32::MAX);
    let mut entries = Vec::new();
    matrix.for_each(name, |row, column, value| {
        if row >= shape[0] || column >= shape[1] || row.max(column) >= most {
            return Err(Error::GraphEntry {
                name: name.to_owned(),
                place: format!("row {row}, column {column}"),
                expected: "an entry must lie within the matrix, and below row and column 4294967295",
                got: format!("a matrix of {} × {}", shape[0], shape[1]),
            });
        }
        entries.push((row as u32, column as u32, value));
        Ok(())
    })?;
    // Rows are counted by what the file holds; the columns are a number alone, whatever it is.
    let [len, dim] = shape.map(|extent| usize::try_from(extent).unwrap_or(usize::MAX));
    // A matrix by columns may claim rows that it has no entries of.
    if len > FREE_ROWS.max(entries.len().saturating_mul(2)) {
        return Err(Error::GraphShape {
            name: name.to_owned(),
            expected: format!("{len} rows must have at least half as many entries"),
            got: entries.len().to_string(),
        });
    }
    SparseRows::new(len, dim, entries).map_err(|cause| Error::Samples { name: name.to_owned(), cause })
}

/// Rows that any file may claim.
const FREE_ROWS: usize = 1 << 20;
