//! Text tables: one line a sample, cells separated by commas, semicolons or tabs, with or without a header line.
//!
//! A first line with any cell that is not a number is a header. A file of words, one a line, is ambiguous: there the first
//! line is a header unless the same word occurs again below it, as a class does.

use std::borrow::Cow;

use csv::{ByteRecord, ReaderBuilder, Trim};

use crate::element::Numbers;
use crate::error::{Error, Format, Result, excerpt};
use crate::keys::pick;
use crate::labels::Labels;
use crate::stream::{GZIP_MAGIC, gunzip};
use crate::table::Table;

/// Most text that is unpacked: nothing announces its length, so something has to bound it.
const MAX_TEXT: u64 = 16 << 30;

/// The numbers of all columns, or of the one called `key`.
pub(crate) fn parse(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Table> {
    let text = plain_text(bytes, name)?;
    let mut lines = Lines::open(&text, name);
    let first = lines.next_line()?.ok_or_else(|| Error::EmptyTable { name: name.to_owned() })?;
    let has_header = first.cells.iter().any(|cell| number(cell).is_none());
    let column = match key {
        Some(key) => Some(position(&first.cells, has_header, key, name)?),
        None => None,
    };
    let mut values = Vec::new();
    let mut rows = 0;
    let mut next = if has_header { lines.next_line()? } else { Some(first) };
    while let Some(line) = next {
        push_numbers(&line, column, name, &mut values)?;
        rows += 1;
        next = lines.next_line()?;
    }
    if rows == 0 {
        return Err(Error::EmptyTable { name: name.to_owned() });
    }
    let columns = if column.is_some() { 1 } else { lines.width };
    Ok(Table { shape: vec![rows, columns], numbers: Numbers::F64(values) })
}

/// Integers or words of the only column, or of the one called `key`.
pub(crate) fn labels(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Labels> {
    let text = plain_text(bytes, name)?;
    let mut lines = Lines::open(&text, name);
    let mut cells: Vec<String> = Vec::new();
    let mut column = 0;
    while let Some(line) = lines.next_line()? {
        if cells.is_empty() {
            column = match key {
                Some(key) => position(&line.cells, true, key, name)?,
                None => 0,
            };
        }
        cells.push(String::from_utf8_lossy(line.cells.get(column).unwrap_or_default()).into_owned());
    }
    if key.is_none() && lines.width > 1 {
        return Err(Error::LabelShape { name: name.to_owned(), shape: vec![cells.len(), lines.width] });
    }
    let Some((first, below)) = cells.split_first() else {
        return Err(Error::EmptyTable { name: name.to_owned() });
    };
    let cells = if key.is_some() || is_label_header(first, below) { below } else { cells.as_slice() };
    to_labels(cells, name)
}

fn is_label_header(first: &str, below: &[String]) -> bool {
    number(first.as_bytes()).is_none() && !below.iter().any(|cell| cell == first)
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

fn number(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

fn position(cells: &ByteRecord, has_header: bool, key: &str, name: &str) -> Result<usize> {
    if !has_header {
        return Err(Error::MissingKey { name: name.to_owned(), key: key.to_owned(), keys: Vec::new() });
    }
    let keys: Vec<String> = cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    pick(&keys, Some(key), Format::Csv, name)
}

fn push_numbers(line: &Line, column: Option<usize>, name: &str, values: &mut Vec<f64>) -> Result<()> {
    for (index, cell) in line.cells.iter().enumerate() {
        if column.is_some_and(|column| column != index) {
            continue;
        }
        values.push(number(cell).ok_or_else(|| Error::Cell {
            name: name.to_owned(),
            line: line.number,
            column: index + 1,
            got: if cell.is_empty() { "an empty cell".to_owned() } else { format!("`{}`", excerpt(cell)) },
        })?);
    }
    Ok(())
}

/// Unpacked, and without the mark that some editors put in front of UTF-8.
fn plain_text<'a>(bytes: &'a [u8], name: &str) -> Result<Cow<'a, [u8]>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.starts_with(GZIP_MAGIC) {
        let text = gunzip(bytes, MAX_TEXT, name)?;
        return Ok(Cow::Owned(text.strip_prefix(MARK).map(<[u8]>::to_vec).unwrap_or(text)));
    }
    Ok(Cow::Borrowed(bytes.strip_prefix(MARK).unwrap_or(bytes)))
}

/// The delimiter that the first line has most of, outside quotes.
fn sniff_delimiter(text: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [(b',', 0_usize), (b';', 0), (b'\t', 0)];
    for &byte in text.trim_ascii_start() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            _ => counts.iter_mut().filter(|(delimiter, _)| *delimiter == byte).for_each(|(_, n)| *n += 1),
        }
    }
    // The first of equals, so that a single column is read as comma-separated.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(delimiter, _)| *delimiter)
}

struct Line {
    number: u64,
    cells: ByteRecord,
}

/// Lines that all have the width of the first.
struct Lines<'a> {
    text: &'a [u8],
    reader: csv::Reader<&'a [u8]>,
    width: usize,
    name: &'a str,
}

impl<'a> Lines<'a> {
    fn open(text: &'a [u8], name: &'a str) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .delimiter(sniff_delimiter(text))
            .from_reader(text);
        Self { text, reader, width: 0, name }
    }

    fn next_line(&mut self) -> Result<Option<Line>> {
        let mut cells = ByteRecord::new();
        let found = self.reader.read_byte_record(&mut cells).map_err(|error| Error::Decoder {
            name: self.name.to_owned(),
            format: Format::Csv,
            reason: error.to_string(),
        })?;
        if !found {
            return Ok(None);
        }
        let number = cells.position().map_or(0, |start| self.line_number(start));
        if self.width == 0 {
            self.width = cells.len();
        }
        if cells.len() != self.width {
            let (expected, got) = (self.width, cells.len());
            return Err(Error::RaggedLine { name: self.name.to_owned(), line: number, expected, got });
        }
        Ok(Some(Line { number, cells }))
    }

    /// A record is said to start where the one before ended, so the blank lines between the two are still to be counted.
    fn line_number(&self, start: &csv::Position) -> u64 {
        let rest = self.text.get(start.byte() as usize..).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        start.line() + blank.filter(|byte| **byte == b'\n').count() as u64
    }
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
