//! Graphs as PETSc writes matrices (`MatView` to a binary viewer): class, rows, columns, entries, entries of each row,
//! columns, values; big endian, with indices of 32 bits, or of 64 bits if PETSc was built with these.

use crate::edge_list::EdgeList;
use crate::error::{Result, begins};

/// What the file of a matrix begins with, as an index.
const CLASS: i64 = 1_211_216;
const MAGIC: &[u8] = &(CLASS as u32).to_be_bytes();
const LARGE_MAGIC: &[u8] = &CLASS.to_be_bytes();

/// Whether a file begins like a matrix of PETSc.
pub(crate) fn is_petsc(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(LARGE_MAGIC)
}

pub(crate) fn parse(bytes: &[u8], edges: &mut EdgeList<'_>) -> Result<()> {
    if !is_petsc(bytes) {
        let expected = "a PETSc matrix begins with the number 1211216".to_owned();
        return Err(edges.misshapen(expected, begins(bytes)));
    }
    let width = if bytes.starts_with(MAGIC) { 4 } else { 8 };
    let index = |at: usize| -> Option<i64> {
        let place = at.checked_mul(width)?;
        match bytes.get(place..place.checked_add(width)?)? {
            &[a, b, c, d] => Some(i64::from(i32::from_be_bytes([a, b, c, d]))),
            wide => wide.try_into().ok().map(i64::from_be_bytes),
        }
    };
    let size = |at: usize| index(at).and_then(|size| u64::try_from(size).ok());
    let (Some(rows), Some(columns), Some(entries)) = (size(1), size(2), size(3)) else {
        let expected = "a sparse PETSc matrix has numbers of rows, columns and entries".to_owned();
        return Err(edges.misshapen(expected, "a negative number or none".to_owned()));
    };
    edges.set_shape(rows, columns)?;
    let numbers = (4_u128 + u128::from(rows) + u128::from(entries)) * width as u128;
    let expected = numbers + 8 * u128::from(entries);
    if bytes.len() as u128 != expected {
        let expected = format!("{rows} rows and {entries} entries take {expected} bytes");
        return Err(edges.misshapen(expected, bytes.len().to_string()));
    }
    // All of it is in the file, so it fits the memory, and so do the places below.
    let (rows, entries) = (rows as usize, entries as usize);
    let (first_column, values) = (4 + rows, &bytes[numbers as usize..]);
    let (values, _) = values.as_chunks::<8>();
    let mut at = 0;
    for row in 0..rows {
        let length = size(4 + row).filter(|&length| length <= (entries - at) as u64);
        let Some(length) = length else {
            let expected = format!("the rows must hold {entries} entries together");
            return Err(edges.misshapen(expected, format!("another number up to row {row}")));
        };
        let length = length as usize;
        for (value, at) in values[at..at + length].iter().zip(at..) {
            let column = index(first_column + at).unwrap_or(-1);
            let place = || format!("row {row}, column {column}");
            let Ok(node) = u64::try_from(column) else {
                return Err(edges.wrong(place(), "indices must not be negative", column.to_string()));
            };
            edges.push(row as u64, node, f64::from_be_bytes(*value), place)?;
        }
        at += length;
    }
    if at != entries {
        let expected = format!("the rows must hold {entries} entries together");
        return Err(edges.misshapen(expected, at.to_string()));
    }
    Ok(())
}
