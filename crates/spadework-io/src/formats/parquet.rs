//! Parquet files: each numeric column is a column of the array, or one column of equally long lists is its rows.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Buf, Bytes};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;

use super::parquet_column::{Column, Decoded, Kind};
use super::parquet_pages::{CheckedPages, check_chunk};
use crate::element::Numbers;
use crate::error::{Error, Format, Result};
use crate::keys::{pick, places};
use crate::labels::Labels;
use crate::panics;
use crate::table::Table;

/// What every Parquet file begins and ends with.
pub(crate) const MAGIC: &[u8] = b"PAR1";

/// A run of equal values takes a few bytes whatever its length, so the size of the file bounds nothing by itself.
/// Unpacked values may take this many bytes for each byte of the file, and `MIN_LIMIT` in any case. A page may be unpacked next to them, so
/// reading takes up to twice as much.
const MAX_EXPANSION: u64 = 2048;
const MIN_LIMIT: u64 = 128 << 20;
/// Bytes of an item of a list while it is decoded: the whole list at once, with two levels per item, before it is converted.
const LIST_ITEM: usize = 12;

/// All columns, or the one called `key`.
pub(crate) fn parse(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Table> {
    guard(name, || parse_table(&File::open(bytes, name)?, key, &[], as_pixels))
}

/// All columns but some.
pub(crate) fn parse_without(bytes: &[u8], without: &[&str], name: &str) -> Result<Table> {
    guard(name, || parse_table(&File::open(bytes, name)?, None, without, as_pixels))
}

/// The same with bytes that stand for themselves.
pub(crate) fn parse_plain(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Table> {
    guard(name, || parse_table(&File::open(bytes, name)?, key, &[], |values, _| values))
}

/// An integer or text column as labels.
pub(crate) fn labels(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Labels> {
    guard(name, || parse_labels(bytes, key, name))
}

/// The decoder has panicked on damaged files before (see `parquet_pages`). Nothing outlives it here, so what we do not
/// know of becomes an error too.
fn guard<T>(name: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    panics::catch(read).unwrap_or_else(|| {
        let reason = "the decoder gave up on a damaged file".to_owned();
        Err(Error::Decoder { name: name.to_owned(), format: Format::Parquet, reason })
    })
}

/// What becomes of numbers that single precision holds, by the kinds of their columns.
type Convert = fn(Vec<f32>, &[Kind]) -> Vec<f32>;

fn parse_table(file: &File<'_>, key: Option<&str>, without: &[&str], convert: Convert) -> Result<Table> {
    let leaves = file.choose(key, without)?;
    if let [leaf] = leaves[..]
        && file.leaf(leaf)?.max_rep_level() == 1
    {
        return file.read_lists(leaf, convert);
    }
    let kinds = leaves.iter().map(|&leaf| file.numeric_kind(leaf)).collect::<Result<Vec<_>>>()?;
    let numbers = if kinds.iter().all(|kind| kind.fits_f32()) {
        Numbers::F32(convert(file.read_columns(&leaves, &kinds)?, &kinds))
    } else {
        Numbers::F64(file.read_columns(&leaves, &kinds)?)
    };
    let columns: Vec<String> = leaves.iter().map(|&leaf| file.column_name(leaf)).collect();
    // Numbers that only count the columns are not names.
    let columns = columns.iter().any(|name| name.parse::<f64>().is_err()).then_some(columns);
    Ok(Table { shape: vec![numbers.len() / leaves.len(), leaves.len()], numbers, columns })
}

fn parse_labels(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Labels> {
    let file = File::open(bytes, name)?;
    let keys = file.roots();
    let root = pick(&keys, key, Format::Parquet, name)?;
    let leaf = file.only_leaf(root)?;
    match file.kind(leaf)? {
        Some(Kind::Text) => {
            let words = file.read_flat(leaf, 1, &|column: &mut Column<String>, reader, limit| {
                column.extend_words(reader, limit)
            })?;
            Ok(Labels::from_words(&words))
        }
        Some(kind @ (Kind::F16 | Kind::F32 | Kind::F64)) => {
            Err(Error::LabelType { name: name.to_owned(), got: format!("{kind:?}") })
        }
        Some(kind) => {
            let (row, wide) = (Cell::new(0), Cell::new(None));
            let narrow = |integer: i128| {
                let row = row.replace(row.get() + 1);
                i64::try_from(integer).unwrap_or_else(|_| {
                    wide.set(wide.get().or(Some((row, integer))));
                    0
                })
            };
            let ids = file.read_flat(leaf, 1, &|column: &mut Column<i64>, reader, limit| {
                column.extend_integers(reader, kind, limit, narrow)
            })?;
            match wide.get() {
                Some((row, got)) => {
                    Err(Error::LabelValue { name: name.to_owned(), row, got: got.to_string() })
                }
                None => Ok(Labels::from_ids(ids)),
            }
        }
        None => Err(Error::LabelType { name: name.to_owned(), got: file.type_name(leaf)? }),
    }
}

/// Adds what a reader gives to a column, as many values as a limit allows.
type Extend<'e, T> =
    &'e dyn Fn(&mut Column<T>, ColumnReader, &dyn Fn(usize) -> ParquetResult<()>) -> ParquetResult<()>;

/// A file in memory. The ranges that it is asked for come from the file itself, so they are checked here.
struct Memory(Bytes);

impl Length for Memory {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for Memory {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let length = (self.0.len() as u64).saturating_sub(start);
        Ok(self.get_bytes(start, length as usize)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let beyond = || {
            ParquetError::EOF(format!(
                "{length} bytes at {start} lie beyond the {} of the file",
                self.0.len()
            ))
        };
        let start = usize::try_from(start).map_err(|_| beyond())?;
        let end = start.checked_add(length).filter(|&end| end <= self.0.len()).ok_or_else(beyond)?;
        Ok(self.0.slice(start..end))
    }
}

struct File<'a> {
    reader: SerializedFileReader<Memory>,
    bytes: u64,
    name: &'a str,
}

impl<'a> File<'a> {
    fn open(bytes: &[u8], name: &'a str) -> Result<Self> {
        let size = bytes.len() as u64;
        let reader = SerializedFileReader::new(Memory(Bytes::copy_from_slice(bytes)))
            .map_err(|error| decoder(&error, name))?;
        Ok(Self { reader, bytes: size, name })
    }

    /// Names of the top-level columns.
    fn roots(&self) -> Vec<String> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema.root_schema().get_fields().iter().map(|field| field.name().to_owned()).collect()
    }

    /// The leaves to read: that of `key`, or of every column but some.
    fn choose(&self, key: Option<&str>, without: &[&str]) -> Result<Vec<usize>> {
        let roots = self.roots();
        let chosen: Vec<usize> = if key.is_some() {
            vec![pick(&roots, key, Format::Parquet, self.name)?]
        } else {
            let left_out = places(&roots, without, Format::Parquet, self.name)?;
            (0..roots.len()).filter(|root| !left_out.contains(root)).collect()
        };
        if chosen.is_empty() {
            return Err(Error::NoArrays { name: self.name.to_owned(), format: Format::Parquet });
        }
        chosen.into_iter().map(|root| self.only_leaf(root)).collect()
    }

    /// The one leaf below a top-level column; structures have several.
    fn only_leaf(&self, root: usize) -> Result<usize> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let mut leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == root);
        match (leaves.next(), leaves.next()) {
            (Some(leaf), None) if schema.column(leaf).path().parts().len() == 1 => Ok(leaf),
            (Some(leaf), None) if schema.column(leaf).max_rep_level() == 1 => Ok(leaf),
            _ => Err(Error::ColumnType {
                name: self.name.to_owned(),
                column: self.roots().get(root).cloned().unwrap_or_default(),
                got: "a nested structure".to_owned(),
            }),
        }
    }

    fn leaf(&self, leaf: usize) -> Result<parquet::schema::types::ColumnDescPtr> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema
            .columns()
            .get(leaf)
            .cloned()
            .ok_or_else(|| Error::NoArrays { name: self.name.to_owned(), format: Format::Parquet })
    }

    fn kind(&self, leaf: usize) -> Result<Option<Kind>> {
        Ok(Kind::of(&*self.leaf(leaf)?))
    }

    fn type_name(&self, leaf: usize) -> Result<String> {
        let column = self.leaf(leaf)?;
        Ok(match column.logical_type_ref() {
            Some(logical) => format!("{} ({logical:?})", column.physical_type()),
            None => format!("{} ({})", column.physical_type(), column.converted_type()),
        })
    }

    fn numeric_kind(&self, leaf: usize) -> Result<Kind> {
        let wrong =
            |got| Error::ColumnType { name: self.name.to_owned(), column: self.column_name(leaf), got };
        let column = self.leaf(leaf)?;
        match self.kind(leaf)? {
            Some(Kind::Text) => Err(wrong("text".to_owned())),
            None => Err(wrong(self.type_name(leaf)?)),
            Some(_) if column.path().parts().len() > 1 && column.max_rep_level() == 0 => {
                Err(wrong("a nested structure".to_owned()))
            }
            Some(kind) => Ok(kind),
        }
    }

    fn column_name(&self, leaf: usize) -> String {
        self.leaf(leaf).map(|column| first_part(&column)).unwrap_or_default()
    }

    /// All row groups of a leaf, of which each value takes so many bytes: more than its own where others are read next to it.
    fn read<T>(&self, leaf: usize, value_bytes: usize, extend: Extend<'_, T>) -> Result<Column<T>> {
        let limit = self.bytes.saturating_mul(MAX_EXPANSION).max(MIN_LIMIT);
        let allowed = limit / (value_bytes.max(1) as u64);
        let expansion = || Error::Expansion { name: self.name.to_owned(), file_bytes: self.bytes, limit };
        // A page is unpacked before its values are counted.
        let groups = self.reader.metadata().row_groups().iter();
        let mut unpacked = groups.filter_map(|group| Some(group.columns().get(leaf)?.uncompressed_size()));
        if unpacked.any(|bytes| u64::try_from(bytes).is_ok_and(|bytes| bytes > limit)) {
            return Err(expansion());
        }
        let too_many = Arc::new(AtomicBool::new(false));
        let within_limit = limit_of(allowed, &too_many);
        let descriptor = self.leaf(leaf)?;
        // What a header promises is asked for up to what is allowed, and touched only as values arrive: more of a large file than there is
        // must not end the process.
        let chunks = self.reader.metadata().row_groups().iter().filter_map(|group| group.columns().get(leaf));
        let promised = chunks.map(|chunk| u64::try_from(chunk.num_values()).unwrap_or(0));
        let promised = promised.fold(0, u64::saturating_add);
        let room = usize::try_from(promised.min(allowed)).unwrap_or(usize::MAX);
        let mut column =
            Column::new(descriptor.max_def_level(), room).map_err(|_| self.no_room(leaf, promised))?;
        for group in 0..self.reader.num_row_groups() {
            self.reader
                .get_row_group(group)
                .and_then(|group| {
                    check_chunk(group.metadata().columns().get(leaf), self.bytes)?;
                    group.get_column_page_reader(leaf)
                })
                .and_then(|pages| {
                    let left = allowed.saturating_sub(column.values.len() as u64);
                    let pages = Box::new(CheckedPages::new(pages, limit_of(left, &too_many)));
                    extend(&mut column, get_column_reader(descriptor.clone(), pages), &within_limit)
                })
                .map_err(|error| {
                    if too_many.load(Ordering::Relaxed) {
                        return expansion();
                    }
                    decoder(&error, self.name)
                })?;
        }
        Ok(column)
    }

    fn no_room(&self, leaf: usize, promised: u64) -> Error {
        let column = self.column_name(leaf);
        let reason =
            format!("column `{column}` has {promised} values by its header, more than there is memory for");
        let cause = io::Error::new(io::ErrorKind::OutOfMemory, reason);
        Error::Read { path: self.name.into(), cause }
    }

    /// Columns of numbers as rows.
    fn read_columns<T: Decoded>(&self, leaves: &[usize], kinds: &[Kind]) -> Result<Vec<T>> {
        // One column is read next to the table that it becomes a part of.
        let read = |leaf: usize, kind: Kind| {
            let values = self.read_flat(leaf, leaves.len(), &|column: &mut Column<T>, reader, limit| {
                column.extend_numbers(reader, kind, limit)
            })?;
            check_exact(&values, kind, self.name)?;
            Ok(values)
        };
        let (mut table, width) = (Vec::new(), leaves.len());
        for (at, (&leaf, &kind)) in leaves.iter().zip(kinds).enumerate() {
            let values: Vec<T> = read(leaf, kind)?;
            if width == 1 {
                return Ok(values);
            }
            // Equally many each: as many as the file has rows.
            table.resize(values.len() * width, T::default());
            for (row, value) in table.chunks_exact_mut(width).zip(values) {
                row[at] = value;
            }
        }
        Ok(table)
    }

    /// A column of plain values without nulls, one for each row of the file. `columns` of this length become a table.
    fn read_flat<T>(&self, leaf: usize, columns: usize, extend: Extend<'_, T>) -> Result<Vec<T>> {
        let descriptor = self.leaf(leaf)?;
        let (name, column) = (self.name.to_owned(), self.column_name(leaf));
        if descriptor.max_rep_level() > 0 {
            return Err(Error::ColumnType {
                name,
                column,
                got: "lists and other columns together".to_owned(),
            });
        }
        let read = self.read(leaf, size_of::<T>().saturating_mul(columns), extend)?;
        if let Some(row) = read.levels.null {
            return Err(Error::Null { name, row, column });
        }
        let expected = self.reader.metadata().file_metadata().num_rows();
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        if read.values.len() != expected {
            return Err(Error::ColumnLength { name, column, expected, got: read.values.len() });
        }
        Ok(read.values)
    }

    /// A column of equally long lists; each is a row.
    fn read_lists(&self, leaf: usize, convert: Convert) -> Result<Table> {
        let kind = self.numeric_kind(leaf)?;
        let (shape, numbers) = if kind.fits_f32() {
            let (shape, values) = self.read_rows(leaf, kind)?;
            (shape, Numbers::F32(convert(values, &[kind])))
        } else {
            let (shape, values) = self.read_rows(leaf, kind)?;
            (shape, Numbers::F64(values))
        };
        Ok(Table { shape, numbers, columns: None })
    }

    /// The items of all lists, and how many lists of how many items there are.
    fn read_rows<T: Decoded>(&self, leaf: usize, kind: Kind) -> Result<(Vec<usize>, Vec<T>)> {
        let value_bytes = size_of::<T>() + LIST_ITEM;
        let Column { values, mut levels, .. } =
            self.read(leaf, value_bytes, &|column: &mut Column<T>, reader, limit| {
                column.extend_numbers(reader, kind, limit)
            })?;
        check_exact(&values, kind, self.name)?;
        levels.end_list();
        let (name, column) = (self.name.to_owned(), self.column_name(leaf));
        if let Some(row) = levels.null {
            return Err(Error::Null { name, row, column });
        }
        let expected = levels.length.unwrap_or(0);
        match levels.ragged {
            Some((row, got)) => Err(Error::RaggedList { name, column, row, expected, got }),
            None => Ok((vec![levels.rows, expected], values)),
        }
    }
}

/// Refuses more values than are allowed, and remembers that this was the reason.
fn limit_of(
    allowed: u64,
    too_many: &Arc<AtomicBool>,
) -> impl Fn(usize) -> ParquetResult<()> + Send + 'static {
    let too_many = Arc::clone(too_many);
    move |count| {
        if count as u64 <= allowed {
            return Ok(());
        }
        too_many.store(true, Ordering::Relaxed);
        Err(ParquetError::General(String::new()))
    }
}

/// Whole numbers that double precision does not hold.
fn check_exact<T: Decoded>(values: &[T], kind: Kind, name: &str) -> Result<()> {
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    if !matches!(kind, Kind::SignedInteger | Kind::UnsignedInteger) {
        return Ok(());
    }
    match values.iter().position(|value| value.to_double().abs() >= LIMIT) {
        None => Ok(()),
        Some(at) => {
            Err(Error::BigInteger { name: name.to_owned(), at, got: values[at].to_double().to_string() })
        }
    }
}

fn first_part(column: &ColumnDescriptor) -> String {
    column.path().parts().first().cloned().unwrap_or_default()
}

/// Bytes as pixels where there is nothing else, as for an array of bytes.
fn as_pixels(mut values: Vec<f32>, kinds: &[Kind]) -> Vec<f32> {
    if kinds.iter().all(|&kind| kind == Kind::U8) {
        for value in &mut values {
            *value /= 255.0;
        }
    }
    values
}

fn decoder(error: &ParquetError, name: &str) -> Error {
    Error::Decoder { name: name.to_owned(), format: Format::Parquet, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Compression;
    use parquet::column::page::PageReader;
    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
    use parquet::file::metadata::ParquetMetaDataWriter;
    use parquet::file::properties::{EnabledStatistics, WriterProperties};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    /// One list of many equal numbers, which takes a few hundred bytes.
    fn one_list(length: usize) -> Vec<u8> {
        let schema = "message m { repeated int32 a; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = WriterProperties::builder().set_write_batch_size(1 << 20).build();
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let repetition: Vec<i16> = (0..length).map(|at| i16::from(at > 0)).collect();
        let (values, definition) = (vec![7; length], vec![1; length]);
        column.typed::<Int32Type>().write_batch(&values, Some(&definition), Some(&repetition)).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn a_list_is_refused_before_it_is_unpacked() {
        let bytes = one_list(5000);
        let file = File::open(&bytes, "x").unwrap();
        let pages = |allowed: u64| {
            let too_many = Arc::new(AtomicBool::new(false));
            let pages = file.reader.get_row_group(0).unwrap().get_column_page_reader(0).unwrap();
            let mut pages = CheckedPages::new(pages, limit_of(allowed, &too_many));
            let mut outcome = Ok(());
            while outcome.is_ok() {
                match pages.get_next_page() {
                    Ok(None) => break,
                    Ok(Some(_)) => {}
                    Err(error) => outcome = Err(error),
                }
            }
            (outcome.is_ok(), too_many.load(Ordering::Relaxed))
        };
        assert_eq!(pages(5000), (true, false));
        assert_eq!(pages(4999), (false, true));
    }

    /// A header that claims more values than any machine has memory for.
    #[test]
    fn forged_numbers_of_values_do_not_end_the_process() {
        let honest = one_list(5000);
        let metadata = File::open(&honest, "x").unwrap().reader.metadata().clone();
        let groups = metadata.row_groups().iter().map(|group| {
            let column = group.column(0).clone().into_builder().set_num_values(1 << 55).build().unwrap();
            group.clone().into_builder().set_column_metadata(vec![column]).build().unwrap()
        });
        let groups = groups.collect();
        let metadata = metadata.into_builder().set_row_groups(groups).build();
        let mut forged = honest.clone();
        ParquetMetaDataWriter::new(&mut forged, &metadata).finish().unwrap();
        // A small file gets little room, and as many values as there are.
        let values = |bytes: &[u8]| parse(bytes, None, "x.parquet").unwrap().numbers.len();
        assert_eq!(values(&forged), values(&honest));
        // A huge one would get as much as it claims.
        let huge = File { bytes: u64::MAX, ..File::open(&forged, "x.parquet").unwrap() };
        let error = huge.read_lists(0, as_pixels).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.parquet: cannot be read: column `a` has 36028797018963968 values by its header, more than there is memory for"
        );
    }

    /// One word of 100,000 letters that 2,000 rows have: it is in the file once.
    #[test]
    fn a_bomb_of_one_word_is_an_expansion() {
        let schema = Arc::new(parse_message_type("message m { required binary a (UTF8); }").unwrap());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::None);
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let words = vec![ByteArray::from(vec![b'a'; 100_000]); 2000];
        column.typed::<ByteArrayType>().write_batch(&words, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        assert!(bytes.len() < 32 << 10, "{}", bytes.len());
        let error = labels(&bytes, None, "x.parquet").unwrap_err();
        assert!(matches!(error, Error::Expansion { .. }), "{error}");
    }

    /// More values than 128 MiB hold in a file of some kilobytes.
    #[test]
    fn a_bomb_of_one_list_is_an_expansion() {
        let bytes = one_list((128 << 20) / 8 + 1);
        assert!(bytes.len() < 32 << 10, "{}", bytes.len());
        let error = parse(&bytes, None, "x.parquet").unwrap_err();
        assert!(matches!(error, Error::Expansion { .. }), "{error}");
    }
}
