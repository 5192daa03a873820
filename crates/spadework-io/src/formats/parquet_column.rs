//! One column of a Parquet file: its type, and its values with their levels.
//!
//! Parquet stores a value's presence as a definition level (below the maximum: something is null) and the start of a row
//! as a repetition level (0: a new row, 1: another item of the same list).

use std::cell::Cell;
use std::collections::TryReserveError;

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::schema::types::ColumnDescriptor;

/// Records decoded at a time.
const BATCH: usize = 1 << 14;

/// What a column holds, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    U8,
    /// Integers that single precision holds exactly.
    ShortInteger,
    SignedInteger,
    UnsignedInteger,
    F16,
    F32,
    F64,
    Text,
}

impl Kind {
    /// `None` for dates, decimals, blobs and whatever else is not a plain number or text.
    pub(super) fn of(column: &ColumnDescriptor) -> Option<Self> {
        let plain = Annotation::of(column);
        Some(match (column.physical_type(), plain?) {
            (Physical::BOOLEAN, _) => Kind::Bool,
            (Physical::INT32, Annotation::Integer { bits: 8, signed: false }) => Kind::U8,
            (Physical::INT32, Annotation::Integer { bits: 8 | 16, .. }) => Kind::ShortInteger,
            (Physical::INT32 | Physical::INT64, Annotation::Integer { signed: false, .. }) => {
                Kind::UnsignedInteger
            }
            (Physical::INT32 | Physical::INT64, _) => Kind::SignedInteger,
            (Physical::FLOAT, _) => Kind::F32,
            (Physical::DOUBLE, _) => Kind::F64,
            (Physical::FIXED_LEN_BYTE_ARRAY, Annotation::Float16) if column.type_length() == 2 => Kind::F16,
            (Physical::BYTE_ARRAY, Annotation::Text) => Kind::Text,
            _ => return None,
        })
    }

    /// Whether single precision holds every value exactly.
    pub(super) fn fits_f32(self) -> bool {
        matches!(self, Kind::Bool | Kind::U8 | Kind::ShortInteger | Kind::F16 | Kind::F32)
    }
}

enum Annotation {
    None,
    Integer { bits: i8, signed: bool },
    Float16,
    Text,
}

impl Annotation {
    fn of(column: &ColumnDescriptor) -> Option<Self> {
        if let Some(logical) = column.logical_type_ref() {
            return match logical {
                LogicalType::Integer(kind) => {
                    Some(Annotation::Integer { bits: kind.bit_width, signed: kind.is_signed })
                }
                LogicalType::Float16 => Some(Annotation::Float16),
                LogicalType::String | LogicalType::Enum => Some(Annotation::Text),
                _ => None,
            };
        }
        // Files of older writers have only this one.
        let integer = |bits, signed| Some(Annotation::Integer { bits, signed });
        match column.converted_type() {
            ConvertedType::NONE => Some(Annotation::None),
            ConvertedType::UINT_8 => integer(8, false),
            ConvertedType::UINT_16 => integer(16, false),
            ConvertedType::UINT_32 => integer(32, false),
            ConvertedType::UINT_64 => integer(64, false),
            ConvertedType::INT_8 => integer(8, true),
            ConvertedType::INT_16 => integer(16, true),
            ConvertedType::INT_32 => integer(32, true),
            ConvertedType::INT_64 => integer(64, true),
            ConvertedType::UTF8 | ConvertedType::ENUM => Some(Annotation::Text),
            _ => None,
        }
    }
}

/// A number as the table has it in the end: columns are decoded to nothing larger.
pub(super) trait Decoded: Copy + Default {
    fn of_double(value: f64) -> Self;

    fn to_double(self) -> f64;
}

impl Decoded for f32 {
    fn of_double(value: f64) -> Self {
        value as f32
    }

    fn to_double(self) -> f64 {
        f64::from(self)
    }
}

impl Decoded for f64 {
    fn of_double(value: f64) -> Self {
        value
    }

    fn to_double(self) -> f64 {
        self
    }
}

/// The values of a column over all row groups.
#[derive(Debug, Default)]
pub(super) struct Column<T> {
    pub(super) values: Vec<T>,
    pub(super) levels: Levels,
    /// Bytes of the words, where values are words.
    text_bytes: usize,
}

/// What the levels of a column say of its rows. The levels themselves are not kept: they may take as much memory as the values.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// The definition level of a value that is there.
    present: i16,
    /// How many there were.
    seen: usize,
    /// Rows of lists.
    pub(super) rows: usize,
    /// The first row with something null in it.
    pub(super) null: Option<usize>,
    /// Items of the first list.
    pub(super) length: Option<usize>,
    /// The first list of another length, and its items.
    pub(super) ragged: Option<(usize, usize)>,
    /// Items of the list that goes on.
    items: usize,
}

impl Levels {
    /// Takes down some levels; `definition` is empty if nothing can be null, `repetition` where nothing is a list.
    fn take(&mut self, definition: &[i16], repetition: &[i16]) {
        for at in 0..definition.len().max(repetition.len()) {
            match repetition.get(at) {
                Some(0) => {
                    self.end_list();
                    (self.rows, self.items) = (self.rows + 1, 1);
                }
                Some(_) => self.items += 1,
                None => {}
            }
            if definition.get(at).is_some_and(|&level| level < self.present) && self.null.is_none() {
                self.null =
                    Some(if repetition.is_empty() { self.seen + at } else { self.rows.saturating_sub(1) });
            }
        }
        self.seen += definition.len().max(repetition.len());
    }

    /// Compares the last list with the first.
    pub(super) fn end_list(&mut self) {
        let Some(row) = self.rows.checked_sub(1) else { return };
        if *self.length.get_or_insert(self.items) != self.items && self.ragged.is_none() {
            self.ragged = Some((row, self.items));
        }
    }
}

impl<T> Column<T> {
    /// A column whose values are there at definition level `present`, with room for some.
    ///
    /// # Errors
    /// Where there is not so much room.
    pub(super) fn new(present: i16, room: usize) -> Result<Self, TryReserveError> {
        let mut values = Vec::new();
        values.try_reserve_exact(room)?;
        Ok(Self { values, levels: Levels { present, ..Levels::default() }, text_bytes: 0 })
    }

    /// Decodes one row group behind what is already there, while `within_limit` holds of the number of levels.
    fn extend<D: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<D>,
        within_limit: &dyn Fn(usize) -> ParquetResult<()>,
        convert: impl Fn(&D::T) -> T,
    ) -> ParquetResult<()> {
        let (mut batch, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            batch.clear();
            definition.clear();
            repetition.clear();
            let (records, _, levels) =
                reader.read_records(BATCH, Some(&mut definition), Some(&mut repetition), &mut batch)?;
            if records == 0 && levels == 0 {
                return Ok(());
            }
            self.levels.take(&definition, &repetition);
            self.values.extend(batch.iter().map(&convert));
            within_limit(self.values.len().max(self.levels.seen))?;
        }
    }
}

impl<T> Column<T> {
    /// Booleans count as integers.
    pub(super) fn extend_integers(
        &mut self,
        reader: ColumnReader,
        kind: Kind,
        limit: &dyn Fn(usize) -> ParquetResult<()>,
        convert: impl Fn(i128) -> T,
    ) -> ParquetResult<()> {
        let unsigned = kind == Kind::UnsignedInteger;
        match reader {
            ColumnReader::BoolColumnReader(r) => self.extend(r, limit, |&v| convert(i128::from(v))),
            ColumnReader::Int32ColumnReader(r) if unsigned => {
                self.extend(r, limit, |&v| convert(i128::from(v as u32)))
            }
            ColumnReader::Int64ColumnReader(r) if unsigned => {
                self.extend(r, limit, |&v| convert(i128::from(v as u64)))
            }
            ColumnReader::Int32ColumnReader(r) => self.extend(r, limit, |&v| convert(i128::from(v))),
            ColumnReader::Int64ColumnReader(r) => self.extend(r, limit, |&v| convert(i128::from(v))),
            _ => Err(type_change()),
        }
    }
}

impl<T: Decoded> Column<T> {
    pub(super) fn extend_numbers(
        &mut self,
        reader: ColumnReader,
        kind: Kind,
        limit: &dyn Fn(usize) -> ParquetResult<()>,
    ) -> ParquetResult<()> {
        match reader {
            ColumnReader::FloatColumnReader(r) => self.extend(r, limit, |&v| T::of_double(f64::from(v))),
            ColumnReader::DoubleColumnReader(r) => self.extend(r, limit, |&v| T::of_double(v)),
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                self.extend(r, limit, |v| T::of_double(half_of(v.data())))
            }
            integers => self.extend_integers(integers, kind, limit, |v| T::of_double(v as f64)),
        }
    }
}

impl Column<String> {
    /// A long word that many rows have is in the file once, so the bytes of words count against the limit as well.
    pub(super) fn extend_words(
        &mut self,
        reader: ColumnReader,
        limit: &dyn Fn(usize) -> ParquetResult<()>,
    ) -> ParquetResult<()> {
        let ColumnReader::ByteArrayColumnReader(reader) = reader else { return Err(type_change()) };
        let text_bytes = Cell::new(self.text_bytes);
        let within_limit = |count: usize| limit(count.max(text_bytes.get() / size_of::<String>()));
        let word = |bytes: &ByteArray| {
            text_bytes.set(text_bytes.get() + bytes.len());
            // The batch is refused when it is complete; until then nothing more is copied.
            let fits = within_limit(0).is_ok();
            if fits { String::from_utf8_lossy(bytes.data()).into_owned() } else { String::new() }
        };
        let outcome = self.extend(reader, &within_limit, word);
        self.text_bytes = text_bytes.get();
        outcome
    }
}

fn type_change() -> ParquetError {
    ParquetError::General("a column changes its type between row groups".to_owned())
}

fn half_of(bytes: &[u8]) -> f64 {
    match bytes {
        &[a, b] => half::f16::from_le_bytes([a, b]).to_f64(),
        _ => f64::NAN,
    }
}
