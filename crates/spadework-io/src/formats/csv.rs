//! Text tables: one line per sample, cells separated by commas, semicolons or tabs, with or without a header line.
//!
//! `csv_header` decides what is a header, and which column is an index. A file with one word per line is ambiguous: its first
//! line is a header unless the same word occurs again below it, as a class does.

use std::borrow::Cow;
use std::ops::Range;

use super::csv_lines::{Line, Lines, Rows};
use crate::element::Numbers;
use crate::error::{Error, Result, excerpt};
use crate::labels::Labels;
use crate::stream::{GZIP_MAGIC, check_promise, gunzip};
use crate::table::Table;

/// The numbers of all columns, or of the one called `key`.
pub(crate) fn parse(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Table> {
    let text = plain_text(bytes, name)?;
    let mut rows = Rows::open(&text, key, name)?;
    let mut values = Vec::new();
    let mut count = 0;
    while let Some(line) = rows.next_row()? {
        push_numbers(&line, &rows.columns, name, &mut values)?;
        count += 1;
    }
    if count == 0 {
        return Err(Error::EmptyTable { name: name.to_owned() });
    }
    let columns = rows.header.as_ref().and_then(|header| names(header, &rows.columns));
    Ok(Table { shape: vec![count, rows.columns.len()], numbers: Numbers::F64(values), columns })
}

/// What a header calls the columns; numbers that only count them are not names.
fn names(header: &csv::ByteRecord, columns: &Range<usize>) -> Option<Vec<String>> {
    let cells = header.iter().skip(columns.start).take(columns.len());
    let names: Vec<String> = cells.map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    let says = |name: &String| number(name.as_bytes()).is_none();
    names.iter().any(says).then_some(names)
}

/// The cells of the only column, or of the one called `key`, as they are written; without a key the first line is one of them.
pub(crate) fn words(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Vec<String>> {
    let text = plain_text(bytes, name)?;
    let mut rows = Rows::open(&text, key, name)?;
    if rows.columns.len() > 1 {
        return Err(Error::IdShape { name: name.to_owned(), columns: rows.columns.len() });
    }
    let column = rows.columns.start;
    let word =
        |cells: &csv::ByteRecord| String::from_utf8_lossy(cells.get(column).unwrap_or_default()).into_owned();
    let first = rows.header.as_ref().filter(|_| key.is_none()).map(word);
    let mut words: Vec<String> = first.into_iter().collect();
    while let Some(line) = rows.next_row()? {
        words.push(word(&line.cells));
    }
    Ok(words)
}

/// The numbers of one column below a header, NaN if a cell is empty; none if there is no such column.
pub(crate) fn sparse_column(bytes: &[u8], column: &str, name: &str) -> Result<Option<Vec<f64>>> {
    let text = plain_text(bytes, name)?;
    let mut lines = Lines::open(&text, name);
    let header = lines.next().ok_or_else(|| Error::EmptyTable { name: name.to_owned() })??;
    let Some(at) = header.cells.iter().position(|cell| cell == column.as_bytes()) else { return Ok(None) };
    let cell = |line: Result<Line>| {
        let line = line?;
        let cell = line.cells.get(at).unwrap_or_default();
        if cell.is_empty() { Ok(f64::NAN) } else { number(cell).ok_or_else(|| wrong_cell(&line, at, name)) }
    };
    lines.map(cell).collect::<Result<_>>().map(Some)
}

/// Integers or words of the only column, or of the one called `key`.
pub(crate) fn labels(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Labels> {
    let text = plain_text(bytes, name)?;
    let mut rows = Rows::open(&text, key, name)?;
    let column = rows.columns.start;
    let word =
        |cells: &csv::ByteRecord| String::from_utf8_lossy(cells.get(column).unwrap_or_default()).into_owned();
    let mut cells = Vec::new();
    while let Some(line) = rows.next_row()? {
        cells.push(word(&line.cells));
    }
    if rows.columns.len() > 1 {
        let shape = vec![cells.len(), rows.columns.len()];
        return Err(Error::LabelShape { name: name.to_owned(), shape });
    }
    // In a file of one column a word that occurs again is a class, not the name of the column.
    if let (None, Some(header)) = (key, &rows.header)
        && header.len() == 1
        && cells.contains(&word(header))
    {
        cells.insert(0, word(header));
    }
    to_labels(&cells, name)
}

fn to_labels(cells: &[String], name: &str) -> Result<Labels> {
    let wrong = |row: usize, got: String| Err(Error::LabelValue { name: name.to_owned(), row, got });
    if cells.is_empty() {
        return Err(Error::EmptyTable { name: name.to_owned() });
    }
    if let Some(row) = cells.iter().position(String::is_empty) {
        return wrong(row, "an empty cell".to_owned());
    }
    if cells.iter().any(|cell| number(cell.as_bytes()).is_none()) {
        return Ok(Labels::from_words(cells));
    }
    let mut ids = Vec::with_capacity(cells.len());
    for (row, cell) in cells.iter().enumerate() {
        match integer(cell) {
            Some(id) => ids.push(id),
            None => return wrong(row, excerpt(cell.as_bytes())),
        }
    }
    Ok(Labels::from_ids(ids))
}

/// An integer, also where a tool wrote it as `3.0` or `3e0`; beyond 2⁵³ a double no longer tells integers apart.
fn integer(cell: &str) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    cell.parse().ok().or_else(|| {
        let value = number(cell.as_bytes())?;
        (value.fract() == 0.0 && value.abs() < EXACT).then_some(value as i64)
    })
}

/// Refuses a whole number that double precision does not hold.
fn check_exact(cell: &[u8], at: usize, name: &str) -> Result<()> {
    /// Fewer digits are always held.
    const DIGITS: usize = 15;
    if cell.len() <= DIGITS {
        return Ok(());
    }
    match std::str::from_utf8(cell).ok().and_then(|text| text.parse::<i128>().ok()) {
        Some(got) if (got as f64) as i128 != got => {
            Err(Error::BigInteger { name: name.to_owned(), at, got: got.to_string() })
        }
        _ => Ok(()),
    }
}

/// The number that a cell is.
pub(super) fn number(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

fn push_numbers(line: &Line, columns: &Range<usize>, name: &str, values: &mut Vec<f64>) -> Result<()> {
    for (index, cell) in line.cells.iter().enumerate().filter(|(index, _)| columns.contains(index)) {
        check_exact(cell, values.len(), name)?;
        values.push(number(cell).ok_or_else(|| wrong_cell(line, index, name))?);
    }
    Ok(())
}

/// A cell that holds no number.
fn wrong_cell(line: &Line, index: usize, name: &str) -> Error {
    let cell = line.cells.get(index).unwrap_or_default();
    let got = if cell.is_empty() { "an empty cell".to_owned() } else { format!("`{}`", excerpt(cell)) };
    Error::Cell { name: name.to_owned(), line: line.number, column: index + 1, got }
}

/// Unpacked, and without the mark that some editors put in front of UTF-8.
pub(super) fn plain_text<'a>(bytes: &'a [u8], name: &str) -> Result<Cow<'a, [u8]>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.starts_with(GZIP_MAGIC) {
        let text = gunzip(bytes, name)?;
        // A cell of two bytes becomes a number of eight.
        let cells = text.iter().filter(|byte| matches!(byte, b',' | b';' | b'\t' | b'\n')).count();
        check_promise(cells.saturating_mul(size_of::<f64>()), bytes.len(), name)?;
        return Ok(Cow::Owned(text.strip_prefix(MARK).map(<[u8]>::to_vec).unwrap_or(text)));
    }
    Ok(Cow::Borrowed(bytes.strip_prefix(MARK).unwrap_or(bytes)))
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
