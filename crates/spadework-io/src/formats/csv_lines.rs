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

/// Where the next byte of a text stands, as the reader of lines sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the beginning of a cell, the only place where a quote begins quoted text.
    Beginning,
    /// In a cell.
    Within,
    /// In quoted text, where delimiters and line feeds are text.
    Quoted,
    /// After a quote in quoted text, which ends it unless another follows.
    Quote,
}

impl Place {
    /// Where it stands after that byte; at the beginning of a cell if a line or a cell ends with it.
    fn after(self, byte: u8, ends_cell: bool) -> Self {
        match (self, byte) {
            (Place::Quoted, b'"') => Place::Quote,
            (Place::Quoted, _) | (Place::Beginning | Place::Quote, b'"') => Place::Quoted,
            (_, b'\n' | b'\r') => Place::Beginning,
            _ if ends_cell => Place::Beginning,
            _ => Place::Within,
        }
    }
}

/// Refuses a line that could not be held cell by cell, before it is. Line feeds in quoted text do not end it.
pub(super) fn check_cells(text: &[u8], most_bytes: usize, name: &str) -> Result<()> {
    let too_long = |line: usize| Err(Error::LongLine { name: name.to_owned(), line, most: most_bytes });
    let delimiter = sniff_delimiter(text);
    let mut place = Place::Beginning;
    let (mut line_feeds, mut line, mut began, mut cells) = (0, 1, 0, 1);
    for (at, &byte) in text.iter().enumerate() {
        line_feeds += usize::from(byte == b'\n');
        place = place.after(byte, byte == delimiter);
        if place != Place::Beginning {
            continue;
        }
        if byte == delimiter {
            cells += 1;
            if cells > MOST_CELLS {
                return Err(Error::WideLine { name: name.to_owned(), line, most: MOST_CELLS });
            }
        } else if at - began > most_bytes {
            return too_long(line);
        } else {
            (line, began, cells) = (line_feeds + 1, at + 1, 1);
        }
    }
    if text.len() - began > most_bytes { too_long(line) } else { Ok(()) }
}

/// The delimiter that the first line has most of, outside quotes.
fn sniff_delimiter(text: &[u8]) -> u8 {
    let line = text.trim_ascii_start();
    // Where blanks stand before the first word, a quote there begins nothing.
    let is_indented = text[..text.len() - line.len()].last() == Some(&b' ');
    let mut place = if is_indented { Place::Within } else { Place::Beginning };
    let mut counts = [(b',', 0_usize), (b';', 0), (b'\t', 0)];
    for &byte in line {
        let count = counts.iter_mut().find(|(delimiter, _)| *delimiter == byte);
        place = place.after(byte, count.is_some());
        match count {
            Some((_, count)) if place == Place::Beginning => *count += 1,
            None if place == Place::Beginning => break,
            _ => {}
        }
    }
    // The first of equals, so that a single column is read as comma-separated.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(delimiter, _)| *delimiter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of every line that is not empty, by the places of its bytes.
    fn cells(text: &[u8]) -> Vec<usize> {
        let (mut lines, mut cells, mut began, mut place) = (Vec::new(), 1, 0, Place::Beginning);
        for (at, &byte) in text.iter().enumerate() {
            place = place.after(byte, byte == b',');
            match byte {
                _ if place != Place::Beginning => {}
                b',' => cells += 1,
                _ => {
                    lines.extend((at > began).then_some(cells));
                    (began, cells) = (at + 1, 1);
                }
            }
        }
        lines.extend((text.len() > began).then_some(cells));
        lines
    }

    /// Every text of up to six of these bytes, compared with the reader of the crate `csv`.
    #[test]
    fn lines_and_cells_are_those_of_the_reader() {
        const BYTES: [u8; 5] = *b"a\",\n\r";
        for length in 1..=6 {
            for mut number in 0..5_usize.pow(length) {
                let text: Vec<u8> = (0..length)
                    .map(|_| {
                        let byte = BYTES[number % 5];
                        number /= 5;
                        byte
                    })
                    .collect();
                let mut reader =
                    ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_slice());
                let read: Vec<usize> = reader.byte_records().map(|line| line.unwrap().len()).collect();
                assert_eq!(cells(&text), read, "{}", text.escape_ascii());
            }
        }
    }

    #[test]
    fn long_lines_are_refused() {
        let refused = |text: &str| check_cells(text.as_bytes(), 8, "x").map_err(|error| error.to_string());
        let message = |line: usize| {
            Err(format!(
                "x: a line of packed text may have at most 8 bytes, got more in line {line}; unpack the file, or save the numbers as .npy"
            ))
        };
        for fits in ["", "12345678", "12345678\n1234567,\r\n1,2,3,4\n", "\"a\nb\"\n\"c\nd\"\n"] {
            assert_eq!(refused(fits), Ok(()), "{fits}");
        }
        for (long, line) in [
            ("123456789", 1),
            ("1\n\n1,2,3,4,5\n6\n", 3),
            // Of two lines, as a cell.
            ("1\n\"1234\n5678\"", 2),
            ("\"a\nb\"\n\"1234\n5678\"", 3),
        ] {
            assert_eq!(refused(long), message(line), "{long}");
        }
    }

    /// A quote within a cell is a part of it, as in inches.
    #[test]
    fn quotes_within_cells_begin_nothing() {
        let delimiter = |text: &str| char::from(sniff_delimiter(text.as_bytes()));
        assert_eq!(delimiter("5\" disk;weight;price\n"), ';');
        assert_eq!(delimiter("\"a,b,c\";weight\n"), ';');
        assert_eq!(delimiter("  \"a;b,c\";d\n"), ';');
        let wide = format!("5\"\n{}1\n", "1,".repeat(MOST_CELLS));
        assert!(matches!(
            check_cells(wide.as_bytes(), usize::MAX, "x"),
            Err(Error::WideLine { line: 2, .. })
        ));
    }
}
