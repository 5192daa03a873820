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

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::output::{NpyValues, npy_bytes};

    /// Entries of two bytes each in the file, of which 16 MB are packed into 30 kB.
    #[test]
    fn entries_count_as_what_they_take_in_memory() {
        let bytes = |entries: usize| {
            let small = |descr: &str| {
                let header =
                    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({entries},), }}\n");
                let length = (header.len() as u16).to_le_bytes();
                [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &vec![1; entries]].concat()
            };
            let numbers = |values: &[i64]| npy_bytes(&[values.len()], NpyValues::I64(values));
            let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
            for (key, array) in [
                ("format", npy_bytes(&[], NpyValues::Word(b"csr"))),
                ("shape", numbers(&[2, 9])),
                ("indptr", numbers(&[0, 0, entries as i64])),
                ("indices", small("|u1")),
                ("data", small("|i1")),
            ] {
                archive.start_file(format!("{key}.npy"), SimpleFileOptions::default()).unwrap();
                archive.write_all(&array).unwrap();
            }
            archive.finish().unwrap().into_inner()
        };
        assert_eq!(parse(&bytes(1000), "x").unwrap().entries(), 1);
        let bomb = bytes(8_000_000);
        assert!(bomb.len() < 50_000, "{}", bomb.len());
        assert!(matches!(parse(&bomb, "x"), Err(Error::Expansion { .. })));
    }
}
