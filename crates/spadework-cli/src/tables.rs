//! Tables in the formats that the user asked for.

use std::path::Path;

use spadework_io::Labels;
use spadework_io::output::{Column, CsvTable, optional_field, write_bytes, write_parquet};
use spadework_io::result::{LabelDocument, LabelPairDocument};

use crate::args::TableFormat;
use crate::failure::Failure;

/// Writes named columns of one length as CSV and Parquet, where those are among the formats. A number that is not there
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
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let mut table = CsvTable::new(columns.iter().map(|(name, _)| name));
    for row in 0..rows {
        table.row(columns.iter().map(|(_, column)| field(column, row)));
    }
    table.into_text()
}

/// A number, or nothing where there is none (NaN).
pub(crate) fn number_field(value: f64) -> String {
    optional_field(Some(value).filter(|value| !value.is_nan()))
}

fn field(column: &Column<'_>, row: usize) -> String {
    match column {
        Column::I64(values) => values[row].to_string(),
        Column::F64(values) => number_field(values[row]),
        Column::Utf8(values) => values[row].clone(),
        // A kind that this program does not write.
        _ => String::new(),
    }
}

/// labels: label, score, samples.
pub(crate) fn write_labels(
    folder: &Path,
    formats: &[TableFormat],
    labels: &Labels,
    scores: &[LabelDocument],
) -> Result<(), Failure> {
    let words: Vec<String> = scores.iter().map(|score| word(labels, score.label)).collect();
    let means: Vec<f64> = scores.iter().map(|score| score.score).collect();
    let samples: Vec<i64> = scores.iter().map(|score| score.samples as i64).collect();
    let columns =
        [("label", Column::Utf8(&words)), ("score", Column::F64(&means)), ("samples", Column::I64(&samples))];
    write(folder, "labels", formats, &columns)
}

/// label_pairs: a, b, score, edges.
pub(crate) fn write_label_pairs(
    folder: &Path,
    formats: &[TableFormat],
    labels: &Labels,
    pairs: &[LabelPairDocument],
) -> Result<(), Failure> {
    let a: Vec<String> = pairs.iter().map(|pair| word(labels, pair.a)).collect();
    let b: Vec<String> = pairs.iter().map(|pair| word(labels, pair.b)).collect();
    let means: Vec<f64> = pairs.iter().map(|pair| pair.score).collect();
    let edges: Vec<i64> = pairs.iter().map(|pair| pair.edges as i64).collect();
    let columns = [
        ("a", Column::Utf8(&a)),
        ("b", Column::Utf8(&b)),
        ("score", Column::F64(&means)),
        ("edges", Column::I64(&edges)),
    ];
    write(folder, "label_pairs", formats, &columns)
}

/// A label in words: the name of its class where it has one, its number otherwise.
fn word(labels: &Labels, id: i64) -> String {
    labels.class_name(id).map_or_else(|| id.to_string(), str::to_owned)
}
