//! Tables: rows of numbers and words, as JSON keeps them and as Markdown shows them.

use serde::Serialize;
use serde_json::Value;
use spadework::scores::MeanInterval;
use spadework_report::figures::number;

/// A table. A cell is a number, a word, or null where nothing is known.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Table {
    pub(crate) fn new<W: Into<String>>(
        caption: impl Into<String>,
        header: impl IntoIterator<Item = W>,
    ) -> Self {
        let header = header.into_iter().map(Into::into).collect();
        Self { caption: caption.into(), header, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When it is not as long as the header, which would be our mistake.
    pub(crate) fn row(&mut self, cells: Vec<Value>) {
        assert_eq!(cells.len(), self.header.len(), "a cell for every column of `{}`", self.caption);
        self.rows.push(cells);
    }

    /// The table as GitHub's Markdown, numbers to the right.
    pub(crate) fn markdown(&self) -> String {
        let numeric = |column: usize| {
            self.rows.iter().map(|row| &row[column]).filter(|cell| !cell.is_null()).all(Value::is_number)
        };
        let rules = (0..self.header.len()).map(|column| if numeric(column) { "---:" } else { "---" });
        let line = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
        };
        let mut text = line(&mut self.header.iter().cloned());
        text += &line(&mut rules.map(str::to_owned));
        for row in &self.rows {
            text += &line(&mut row.iter().map(shown));
        }
        text
    }
}

/// A mean with the ends of its interval, as parts keep it.
pub(crate) type Spread = [f64; 3];

pub(crate) fn spread(of: MeanInterval) -> Spread {
    [of.mean, of.lower, of.upper]
}

/// The cell next to a mean.
pub(crate) fn range([_, low, high]: Spread) -> Value {
    format!("{} to {}", number(low), number(high)).into()
}

/// A cell as people read it: up to four digits, counts as they are.
fn shown(cell: &Value) -> String {
    match cell {
        Value::Null => "–".to_owned(),
        Value::String(words) => words.clone(),
        Value::Number(count) if count.is_u64() => count.to_string(),
        Value::Number(value) => number(value.as_f64().unwrap_or(f64::NAN)),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_shown_as_people_read_them() {
        let mut table = Table::new("caption", ["name", "count", "value"]);
        table.row(vec![json!("a|b"), json!(12_345), json!(1.234_567)]);
        table.row(vec![json!("c"), Value::Null, json!(null)]);
        let expected =
            "| name | count | value |\n| --- | ---: | ---: |\n| a\\|b | 12345 | 1.235 |\n| c | – | – |\n";
        assert_eq!(table.markdown(), expected);
    }
}
