//! Tables as CSV text; the crate `csv` quotes fields that need it.

use std::fmt::{Display, Write};

/// A table in memory: a header, then rows with the same number of fields; lines end with `\n`.
///
/// ```
/// use spadework_io::output::CsvTable;
///
/// let mut table = CsvTable::new(["index", "label"]);
/// table.row([&0 as &dyn std::fmt::Display, &"cat, or dog"]);
/// assert_eq!(table.into_text(), "index,label\n0,\"cat, or dog\"\n");
/// ```
#[derive(Debug)]
pub struct CsvTable {
    writer: csv::Writer<Vec<u8>>,
    /// The text of one field, kept between fields.
    field: String,
}

impl CsvTable {
    /// A table with these columns and no rows.
    pub fn new<F: Display>(header: impl IntoIterator<Item = F>) -> Self {
        let mut table = Self { writer: csv::Writer::from_writer(Vec::new()), field: String::new() };
        table.row(header);
        table
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When it does not have as many fields as the header.
    pub fn row<F: Display>(&mut self, fields: impl IntoIterator<Item = F>) {
        for field in fields {
            self.field.clear();
            write!(self.field, "{field}").expect("text can be written to memory");
            self.writer.write_field(&self.field).expect("a field can be written to memory");
        }
        self.writer.write_record(None::<&[u8]>).expect("every row has as many fields as the header");
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        let bytes = self.writer.into_inner().unwrap_or_else(|_| unreachable!("memory can be written to"));
        String::from_utf8(bytes).unwrap_or_else(|_| unreachable!("fields are text"))
    }
}

/// The field of a value that may be missing: empty if it is.
pub fn optional_field<T: Display>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut table = CsvTable::new(["word", "number"]);
        for word in ["cat", "a,\"b\"", "two\nlines", "", " blank "] {
            table.row([&word as &dyn Display, &0.25]);
        }
        table.row([optional_field(Some(1)), optional_field(None::<f64>)]);
        let expected =
            "word,number\ncat,0.25\n\"a,\"\"b\"\"\",0.25\n\"two\nlines\",0.25\n,0.25\n blank ,0.25\n1,\n";
        assert_eq!(table.into_text(), expected);
    }

    #[test]
    #[should_panic(expected = "as many fields as the header")]
    fn a_row_of_another_length_is_a_mistake() {
        CsvTable::new(["a", "b"]).row([1]);
    }
}
