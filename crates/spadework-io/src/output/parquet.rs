//! Parquet files with named columns.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::OutputFile;
use crate::error::{Error, Format, Result};

/// Rows written at a time: what a reader has to hold of each column.
const GROUP: usize = 1 << 20;

/// A column to be written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Column<'a> {
    /// Integers.
    I64(&'a [i64]),
    /// Double precision.
    F64(&'a [f64]),
    /// Words.
    Utf8(&'a [String]),
}

impl Column<'_> {
    /// Number of rows.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        match self {
            Column::I64(values) => values.len(),
            Column::F64(values) => values.len(),
            Column::Utf8(values) => values.len(),
        }
    }

    fn field(&self, name: &str) -> ParquetResult<TypePtr> {
        let (physical, logical) = match self {
            Column::I64(_) => (Physical::INT64, None),
            Column::F64(_) => (Physical::DOUBLE, None),
            Column::Utf8(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    }

    fn write(&self, start: usize, end: usize, writer: &mut SerializedColumnWriter<'_>) -> ParquetResult<()> {
        match self {
            Column::I64(values) => writer.typed::<Int64Type>().write_batch(&values[start..end], None, None),
            Column::F64(values) => writer.typed::<DoubleType>().write_batch(&values[start..end], None, None),
            Column::Utf8(values) => {
                let words: Vec<ByteArray> =
                    values[start..end].iter().map(|word| ByteArray::from(word.as_str())).collect();
                writer.typed::<ByteArrayType>().write_batch(&words, None, None)
            }
        }
        .map(|_| ())
    }
}

/// Writes columns of equal length, in the order given.
///
/// # Errors
/// When the columns differ in length, or the file cannot be written.
pub fn write_parquet(path: &Path, columns: &[(&str, Column<'_>)]) -> Result<()> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    if let Some((name, column)) = columns.iter().find(|(_, column)| column.len() != rows) {
        let (column, got) = ((*name).to_owned(), column.len());
        return Err(Error::OutputColumn { path: path.to_owned(), column, expected: rows, got });
    }
    let file = OutputFile::create(path)?;
    let encoder = |error: ParquetError| Error::Encoder {
        path: path.to_owned(),
        format: Format::Parquet,
        reason: error.to_string(),
    };
    encode(file, rows, columns).map_err(encoder)?.commit()
}

fn encode(file: OutputFile, rows: usize, columns: &[(&str, Column<'_>)]) -> ParquetResult<OutputFile> {
    let fields = columns.iter().map(|(name, column)| column.field(name)).collect::<ParquetResult<_>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    for start in (0..rows).step_by(GROUP) {
        let end = rows.min(start + GROUP);
        let mut group = writer.next_row_group()?;
        for (_, column) in columns {
            let mut target = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("fewer columns than the schema has".to_owned()))?;
            column.write(start, end, &mut target)?;
            target.close()?;
        }
        group.close()?;
    }
    writer.into_inner()
}
