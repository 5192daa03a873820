//! Tables in the formats that a request asks for.

use std::path::Path;

use spadework::error::Readable;
use spadework_io::output::{Column, write_bytes, write_parquet};

use crate::failure::Failure;

/// Formats of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// nodes.csv, edges.csv and so on.
    Csv,
    /// nodes.parquet, edges.parquet and so on.
    Parquet,
    /// Plain arrays.
    Npy,
}

impl TableFormat {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            TableFormat::Csv => "csv",
            TableFormat::Parquet => "parquet",
            TableFormat::Npy => "npy",
        }
    }
}

/// A table made of rows of something, column by column.
pub(crate) struct TableOf<'a, T> {
    rows: &'a [T],
    columns: Vec<(&'static str, OwnedColumn)>,
}

enum OwnedColumn {
    Counts(Vec<i64>),
    Numbers(Vec<f64>),
    Words(Vec<String>),
}

impl OwnedColumn {
    fn view(&self) -> Column<'_> {
        match self {
            OwnedColumn::Counts(counts) => Column::I64(counts),
            OwnedColumn::Numbers(numbers) => Column::F64(numbers),
            OwnedColumn::Words(words) => Column::Utf8(words),
        }
    }
}

impl<'a, T> TableOf<'a, T> {
    pub(crate) fn rows(rows: &'a [T]) -> Self {
        Self { rows, columns: Vec::new() }
    }

    pub(crate) fn counts(self, name: &'static str, of: impl Fn(&T) -> usize) -> Self {
        let counts = self.rows.iter().map(|row| of(row) as i64).collect();
        self.with(name, OwnedColumn::Counts(counts))
    }

    /// Numbers, some of which may not be there.
    pub(crate) fn numbers<N: Into<Option<f64>>>(self, name: &'static str, of: impl Fn(&T) -> N) -> Self {
        let numbers = self.rows.iter().map(|row| of(row).into().unwrap_or(f64::NAN)).collect();
        self.with(name, OwnedColumn::Numbers(numbers))
    }

    pub(crate) fn words(self, name: &'static str, of: impl Fn(&T) -> String) -> Self {
        let words = self.rows.iter().map(of).collect();
        self.with(name, OwnedColumn::Words(words))
    }

    fn with(mut self, name: &'static str, column: OwnedColumn) -> Self {
        self.columns.push((name, column));
        self
    }

    /// Writes it, as [`write`] does.
    pub(crate) fn write(self, folder: &Path, name: &str, formats: &[TableFormat]) -> Result<(), Failure> {
        let columns: Vec<_> = self.columns.iter().map(|(name, column)| (*name, column.view())).collect();
        write(folder, name, formats, &columns)
    }
}

/// Writes named columns of one length as CSV and Parquet, where those are among the formats. A number that does not exist
/// (NaN) is an empty field of CSV.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    formats: &[TableFormat],
    columns: &[(&str, Column<'_>)],
) -> Result<(), Failure> {
    for format in formats {
        match format {
            TableFormat::Csv => {
                write_bytes(&folder.join(format!("{name}.csv")), to_csv(columns).as_bytes())?;
            }
            TableFormat::Parquet => write_parquet(&folder.join(format!("{name}.parquet")), columns)?,
            TableFormat::Npy => {}
        }
    }
    Ok(())
}

fn to_csv(columns: &[(&str, Column<'_>)]) -> String {
    let line = |fields: Vec<String>| format!("{}\n", fields.join(","));
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let mut text = line(columns.iter().map(|(name, _)| csv_field(name)).collect());
    for row in 0..rows {
        text.push_str(&line(columns.iter().map(|(_, column)| field(column, row)).collect()));
    }
    text
}

/// A field of CSV, quoted where it must be. Text that a spreadsheet would evaluate as a formula (`=cmd|…`) gets an apostrophe in
/// front, as spreadsheets mark text. In Parquet it is unchanged.
pub fn csv_field(text: &str) -> String {
    let text = if is_formula(text) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Text in Markdown, in a table or outside: a bar would end its cell, a `#412` would become a link to an issue, and a `<` might begin
/// a tag.
pub fn markdown_field(text: &str) -> String {
    text.replace('|', "\\|").replace('#', "&#35;").replace('<', "&lt;")
}

/// Whether a spreadsheet would compute a cell. A number is one, and means no harm.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err()
}

fn field(column: &Column<'_>, row: usize) -> String {
    match column {
        Column::I64(values) => values[row].to_string(),
        Column::F64(values) if values[row].is_nan() => String::new(),
        Column::F64(values) => Readable(values[row]).to_string(),
        Column::Utf8(values) => csv_field(&values[row]),
        // A kind that this program does not write.
        _ => String::new(),
    }
}
