//! Text tables: one line per sample, cells separated by commas, semicolons or tabs, with or without a header line.
//!
//! `csv_header` decides what is a header, and which column is an index. A file with one word per line is ambiguous: its first
//! line is a header unless the same word occurs again below it, as a class does.

use std::borrow::Cow;

use super::csv_lines::{Line, Lines, Rows, check_cells};
use crate::element::Numbers;
use crate::error::{Error, Format, Result, excerpt};
use crate::keys::places;
use crate::labels::Labels;
use crate::stream::{GZIP_MAGIC, check_promise, gunzip};
use crate::table::Table;

/// Bytes of a cell once it has been read as a number.
const NUMBER: usize = size_of::<f64>();
/// The same as a word of its own: what points to it, and the least that it takes itself.
const WORD: usize = size_of::<String>() + 32;

/// The numbers of all columns, or of the one called `key`.
pub(crate) fn parse(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Table> {
    let text = plain_text(bytes, NUMBER, name)?;
    let rows = Rows::open(&text, key, name)?;
    check_header(&rows, bytes.len(), name)?;
    let columns: Vec<usize> = rows.columns.clone().collect();
    read_numbers(rows, &columns, name)
}

/// The numbers of all columns but some.
pub(crate) fn parse_without(bytes: &[u8], without: &[&str], name: &str) -> Result<Table> {
    let text = plain_text(bytes, NUMBER, name)?;
    let rows = Rows::open(&text, None, name)?;
    check_header(&rows, bytes.len(), name)?;
    let titles = rows.header.as_ref().map(|header| titles(header, 0..header.len())).unwrap_or_default();
    let left_out = places(&titles, without, Format::Csv, name)?;
    let columns: Vec<usize> = rows.columns.clone().filter(|column| !left_out.contains(column)).collect();
    read_numbers(rows, &columns, name)
}

/// Refuses more names of columns than a file of this length may have.
fn check_header(rows: &Rows<'_>, length: usize, name: &str) -> Result<()> {
    rows.header
        .as_ref()
        .map_or(Ok(()), |header| check_promise(header.len().saturating_mul(WORD), length, name))
}

/// The numbers of these columns.
fn read_numbers(mut rows: Rows<'_>, columns: &[usize], name: &str) -> Result<Table> {
    let (mut values, mut count) = (Vec::new(), 0);
    while let Some(line) = rows.next_row()? {
        for &column in columns {
            let cell = line.cells.get(column).unwrap_or_default();
            check_exact(cell, values.len(), name)?;
            values.push(number(cell).ok_or_else(|| wrong_cell(&line, column, rows.header.as_ref(), name))?);
        }
        count += 1;
    }
    if count == 0 || columns.is_empty() {
        return Err(Error::EmptyTable { name: name.to_owned() });
    }
    let names = rows.header.as_ref().and_then(|header| names(header, columns.iter().copied()));
    Ok(Table { shape: vec![count, columns.len()], numbers: Numbers::F64(values), columns: names })
}

/// What a header says above some columns.
fn titles(header: &csv::ByteRecord, columns: impl Iterator<Item = usize>) -> Vec<String> {
    columns.map(|at| String::from_utf8_lossy(header.get(at).unwrap_or_default()).into_owned()).collect()
}

/// What a header calls the columns; numbers that only count them are not names.
fn names(header: &csv::ByteRecord, columns: impl Iterator<Item = usize>) -> Option<Vec<String>> {
    let names = titles(header, columns);
    let says = |name: &String| number(name.as_bytes()).is_none();
    names.iter().any(says).then_some(names)
}

/// The cells of the only column, or of the one called `key`, as they are written; without a key the first line is one of them.
pub(crate) fn words(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Vec<String>> {
    let text = plain_text(bytes, WORD, name)?;
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
    let text = plain_text(bytes, NUMBER, name)?;
    let mut lines = Lines::open(&text, name);
    let header = lines.next().ok_or_else(|| Error::EmptyTable { name: name.to_owned() })??;
    let Some(at) = header.cells.iter().position(|cell| cell == column.as_bytes()) else { return Ok(None) };
    let cell = |line: Result<Line>| {
        let line = line?;
        let cell = line.cells.get(at).unwrap_or_default();
        if cell.is_empty() {
            Ok(f64::NAN)
        } else {
            number(cell).ok_or_else(|| wrong_cell(&line, at, Some(&header.cells), name))
        }
    };
    lines.map(cell).collect::<Result<_>>().map(Some)
}

/// Integers or words of the only column, or of the one called `key`.
pub(crate) fn labels(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Labels> {
    let text = plain_text(bytes, WORD, name)?;
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

/// A cell that holds no number.
fn wrong_cell(line: &Line, index: usize, header: Option<&csv::ByteRecord>, name: &str) -> Error {
    let cell = line.cells.get(index).unwrap_or_default();
    let got = if cell.is_empty() { "an empty cell".to_owned() } else { format!("`{}`", excerpt(cell)) };
    let title = header.and_then(|header| header.get(index)).filter(|title| !title.is_empty());
    let title = title.map(|title| format!(" (`{}`)", excerpt(title))).unwrap_or_default();
    Error::Cell { name: name.to_owned(), line: line.number, column: format!("{}{title}", index + 1), got }
}

/// Unpacked, without the mark that some editors put in front of UTF-8, and with lines that can be held cell by cell. A cell takes
/// `cell_bytes` bytes once it has been read: in the text it may take two.
pub(super) fn plain_text<'a>(bytes: &'a [u8], cell_bytes: usize, name: &str) -> Result<Cow<'a, [u8]>> {
    let text = unpacked(bytes, cell_bytes, name)?;
    check_cells(&text, longest_line(bytes), name)?;
    Ok(text)
}

/// Unpacked, and without the mark that some editors put in front of UTF-8.
pub(super) fn unpacked<'a>(bytes: &'a [u8], cell_bytes: usize, name: &str) -> Result<Cow<'a, [u8]>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.starts_with(GZIP_MAGIC) {
        let mut text = gunzip(bytes, name)?;
        let cells = text.iter().filter(|byte| matches!(byte, b',' | b';' | b'\t' | b'\n')).count();
        check_promise(cells.saturating_mul(cell_bytes), bytes.len(), name)?;
        if text.starts_with(MARK) {
            text.drain(..MARK.len());
        }
        return Ok(Cow::Owned(text));
    }
    Ok(Cow::Borrowed(bytes.strip_prefix(MARK).unwrap_or(bytes)))
}

/// Bytes that a line may have. It is copied several times, which a packed file of a few bytes must not ask for.
pub(super) fn longest_line(bytes: &[u8]) -> usize {
    /// What a line of any file may have.
    const MIN_LIMIT: usize = 8 << 20;
    /// Bytes of a line for each of the file; text unpacks to some ten times its size.
    const TIMES: usize = 64;
    if bytes.starts_with(GZIP_MAGIC) { bytes.len().saturating_mul(TIMES).max(MIN_LIMIT) } else { usize::MAX }
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
