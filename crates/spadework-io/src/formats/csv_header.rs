//! What the first line of a text table says about the columns.
//!
//! A header is a line in which no cell is a number. pandas numbers columns that have no names, so these are headers too:
//!
//! - `0,1,…,d−1` with d ≥ 2, if another line follows and does not continue the count with d, d + 1, …
//! - `,0,1,…,d−1`, with an empty cell above the index
//!
//! A column below an empty first cell of a header is an index. It must count the samples from 0, and is left out. Any other
//! is refused, because it may be an index (of shuffled samples) or data.
//!
//! Any other line is data. So a sample with a word in it, such as `0.5,NA`, is never taken for a header.

use std::ops::Range;

use csv::ByteRecord;

use super::csv::number;
use super::csv_lines::Line;
use crate::error::{Error, Format, Result, excerpt};
use crate::keys::pick;

/// The first line, and what it says.
pub(super) struct Heading {
    /// Whether it names the columns, rather than being a sample.
    pub(super) is_header: bool,
    /// Whether the first column numbers the samples.
    pub(super) has_index: bool,
    /// The columns to read.
    pub(super) columns: Range<usize>,
}

impl Heading {
    /// `below` is the second line. With a `key` only the column of that name is read.
    pub(super) fn of(
        first: &ByteRecord,
        below: Option<&ByteRecord>,
        key: Option<&str>,
        name: &str,
    ) -> Result<Self> {
        let is_header = is_header(first, below);
        let Some(key) = key else {
            let has_index = is_header && first.len() > 1 && begins_empty(first);
            return Ok(Self { is_header, has_index, columns: usize::from(has_index)..first.len() });
        };
        // A user who names a column says that there is a header, so here one word is enough.
        if !is_header && first.iter().all(|cell| number(cell).is_some()) {
            return Err(Error::MissingKey { name: name.to_owned(), key: key.to_owned(), keys: Vec::new() });
        }
        let keys: Vec<String> = first.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
        let column = pick(&keys, Some(key), Format::Csv, name)?;
        Ok(Self { is_header: true, has_index: false, columns: column..column + 1 })
    }
}

fn is_header(first: &ByteRecord, below: Option<&ByteRecord>) -> bool {
    if first.iter().all(|cell| number(cell).is_none()) {
        // Nothing at all is a sample without values, to be refused.
        return first.iter().any(|cell| !cell.is_empty());
    }
    if begins_empty(first) {
        return counts(first.iter().skip(1), 0);
    }
    first.len() > 1
        && counts(first.iter(), 0)
        && below.is_some_and(|below| !counts(below.iter(), first.len()))
}

fn begins_empty(line: &ByteRecord) -> bool {
    line.get(0).is_some_and(<[u8]>::is_empty)
}

/// Whether cells are `start`, `start` + 1, …, written as integers.
fn counts<'a>(mut cells: impl Iterator<Item = &'a [u8]>, start: usize) -> bool {
    let mut expected = start..;
    cells.all(|cell| expected.next().is_some_and(|number| cell == number.to_string().as_bytes()))
}

/// Whether the first cell is the number of the sample.
pub(super) fn check_index(line: &Line, sample: usize, name: &str) -> Result<()> {
    let cell = line.cells.get(0).unwrap_or_default();
    if std::str::from_utf8(cell).is_ok_and(|text| text.parse() == Ok(sample)) {
        return Ok(());
    }
    let (expected, got) = (sample, excerpt(cell));
    Err(Error::IndexColumn { name: name.to_owned(), line: line.number, expected, got })
}
