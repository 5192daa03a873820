//! Lines of a text table, and among them those that are samples.

use std::iter::Peekable;
use std::ops::Range;

use csv::{ByteRecord, ReaderBuilder};

use super::csv_header::{Heading, check_index};
use crate::error::{Error, Format, Result};

/// The lines below the header.
pub(super) struct Rows<'a> {
    /// The first line, where it is a header.
    pub(super) header: Option<ByteRecord>,
    /// The columns to read.
    pub(super) columns: Range<usize>,
    has_index: bool,
    /// The first line, where it is a sample that has not been given out yet.
    first: Option<Line>,
    lines: Peekable<Lines<'a>>,
    count: usize,
    name: &'a str,
}

impl<'a> Rows<'a> {
    pub(super) fn open(text: &'a [u8], key: Option<&str>, name: &'a str) -> Result<Self> {
        check_width(text, name)?;
        let mut lines = Lines::open(text, name).peekable();
        let first = lines.next().ok_or_else(|| Error::EmptyTable { name: name.to_owned() })??;
        let below = lines.peek().and_then(|line| line.as_ref().ok());
        let Heading { is_header, has_index, columns } =
            Heading::of(&first.cells, below.map(|line| &line.cells), key, name)?;
        let (header, first) = if is_header { (Some(first.cells), None) } else { (None, Some(first)) };
        Ok(Self { header, columns, has_index, first, lines, count: 0, name })
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Line>> {
        let row = match self.first.take() {
            Some(first) => Some(first),
            None => self.lines.next().transpose()?,
        };
        if let (true, Some(line)) = (self.has_index, &row) {
            check_index(line, self.count, self.name)?;
        }
        self.count += 1;
        Ok(row)
    }
}

pub(super) struct Line {
    pub(super) number: u64,
    pub(super) cells: ByteRecord,
}

/// Lines that all have the width of the first.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    reader: csv::Reader<&'a [u8]>,
    width: usize,
    name: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn open(text: &'a [u8], name: &'a str) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
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
        // Trimming copies the line, which may be as long as the file.
        if cells.iter().any(has_blanks) {
            cells.trim();
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

/// Whether a cell begins or ends with something that trimming takes away.
fn has_blanks(cell: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_whitespace() || *byte == 0x0b);
    is_blank(cell.first()) || is_blank(cell.last())
}

impl Iterator for Lines<'_> {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose()
    }
}

/// Cells that a line may have: a record of them takes some hundred megabytes.
const MOST_CELLS: usize = 1 << 22;

/// Refuses a line that could not be held cell by cell, before it is.
fn check_width(text: &[u8], name: &str) -> Result<()> {
    let delimiter = sniff_delimiter(text);
    let (mut line, mut cells, mut quoted) = (1, 1, false);
    for &byte in text {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => (line, cells) = (line + 1, 1),
            _ if byte == delimiter && !quoted => cells += 1,
            _ => {}
        }
        if cells > MOST_CELLS {
            return Err(Error::WideLine { name: name.to_owned(), line, most: MOST_CELLS });
        }
    }
    Ok(())
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
