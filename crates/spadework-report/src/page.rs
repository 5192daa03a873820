//! What all pages have in common: the frame, tables, and data for the script.

use askama::Template;
use serde::Serialize;
use spadework_document::Note;
use spadework_document::words::{percent, short};

use crate::charts::Chart;
use crate::error::Result;
use crate::explorer::Explorer;
use crate::provenance::Fact;

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");

/// A table with a name, under which a reader can save it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) caption: String,
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<TableCell>>,
}

/// A cell of a table: what people read, and what a saved table has where that is a number with more digits.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TableCell {
    pub(crate) text: String,
    pub(crate) exact: Option<f64>,
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self { text, exact: None }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<usize> for TableCell {
    fn from(count: usize) -> Self {
        count.to_string().into()
    }
}

impl TableCell {
    /// A number in three digits.
    pub(crate) fn number(value: f64) -> Self {
        Self { text: short(value), exact: Some(value) }
    }

    /// A share in percent; saved as the share.
    pub(crate) fn share(part: f64) -> Self {
        Self { text: percent(part), exact: Some(part) }
    }
}

impl Table {
    /// The table without columns that say nothing in any row.
    pub(crate) fn without_empty_columns(self) -> Self {
        let says = |column: usize| {
            self.rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.text.is_empty()))
        };
        let kept: Vec<usize> = (0..self.header.len()).filter(|&column| says(column)).collect();
        let header = kept.iter().map(|&column| self.header[column]).collect();
        let of_row = |row: &Vec<TableCell>| kept.iter().map(|&column| row[column].clone()).collect();
        Self { header, rows: self.rows.iter().map(of_row).collect(), ..self }
    }
}

/// What is around the content of every page.
pub(crate) struct Frame {
    pub(crate) title: String,
    /// What was looked at, in a line.
    pub(crate) subtitle: String,
    /// The sections, as links.
    pub(crate) contents: Vec<Section>,
    /// What a reader must know besides the numbers.
    pub(crate) notes: Vec<Note>,
    pub(crate) style: &'static str,
    pub(crate) script: &'static str,
    /// JSON that cannot end the element it stands in.
    pub(crate) data: String,
    pub(crate) provenance: Vec<Fact>,
    pub(crate) version: String,
}

impl Frame {
    pub(crate) fn new(title: String, provenance: Vec<Fact>, version: &str) -> Self {
        Self {
            title,
            subtitle: String::new(),
            contents: Vec::new(),
            notes: Vec::new(),
            style: STYLE,
            script: SCRIPT,
            data: "null".to_owned(),
            provenance,
            version: version.to_owned(),
        }
    }

    /// The same with data for the script.
    pub(crate) fn with_explorer(self, explorer: Option<&Explorer>) -> Self {
        Self { data: explorer.map_or(self.data, as_script_data), ..self }
    }

    /// The same with a line below the title.
    pub(crate) fn with_subtitle(self, subtitle: String) -> Self {
        Self { subtitle, ..self }
    }

    /// The same with a list of its sections; those that are not there are left out.
    pub(crate) fn with_contents(self, sections: &[(&'static str, &'static str, bool)]) -> Self {
        let there = sections.iter().filter(|(.., is_there)| *is_there);
        Self { contents: there.map(|&(id, name, _)| Section { id, name }).collect(), ..self }
    }

    /// The same with notes; the same note about several samples or models is shown once.
    pub(crate) fn with_notes(self, notes: &[Note]) -> Self {
        let mut shown: Vec<Note> = Vec::new();
        for note in notes {
            if !shown.contains(note) {
                shown.push(note.clone());
            }
        }
        Self { notes: shown, ..self }
    }
}

/// A section of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
}

/// JSON for a `<script>` element: no `<` may stand in it, or a hostile label could end the element; nor may the two line
/// separators that JSON allows and older scripts do not.
fn as_script_data<T: Serialize>(value: &T) -> String {
    // Strings, numbers and lists of them: this cannot fail.
    let json = serde_json::to_string(value).expect("plain data");
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A number for a headline: what it is, how sure it is, and a bar where it is a share.
#[derive(Debug, Clone)]
pub(crate) struct Headline {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Its interval; empty if there is none.
    pub(crate) range: String,
    /// From 0 to 100 %, as a drawing; empty if it is no share.
    pub(crate) bar: String,
    pub(crate) note: String,
    /// Whether better evidence is there: it is written smaller.
    pub(crate) is_minor: bool,
}

/// A chart with its heading, as it stands in a page.
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) drawing: String,
}

impl Figure {
    pub(crate) fn new(chart: &Chart) -> Self {
        Self { title: chart.title.clone(), drawing: chart.inline() }
    }
}

/// A page of a verdict, charts and one table.
#[derive(Template)]
#[template(path = "curve.html")]
pub(crate) struct CurvePage {
    pub(crate) frame: Frame,
    pub(crate) verdict: String,
    /// What it rests on.
    pub(crate) limits: Vec<String>,
    pub(crate) charts: Vec<Figure>,
    pub(crate) values: Table,
}

pub(crate) fn filled(template: &impl Template) -> Result<String> {
    Ok(template.render()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_say_nothing_are_left_out() {
        let row = |cells: [&str; 3]| cells.map(TableCell::from).to_vec();
        let table = Table {
            header: vec!["a", "b", "c"],
            rows: vec![row(["1", "", ""]), row(["2", "", "x"])],
            ..Table::default()
        };
        let table = table.without_empty_columns();
        assert_eq!(table.header, ["a", "c"]);
        assert_eq!(table.rows, [["1", ""], ["2", "x"]].map(|row| row.map(TableCell::from).to_vec()));
    }

    #[test]
    fn data_cannot_end_its_element() {
        let data = as_script_data(&["</script><script>alert(1)</script>", "\u{2028}"]);
        assert!(!data.contains('<') && !data.contains('\u{2028}'));
        let back: Vec<String> = serde_json::from_str(&data).unwrap();
        assert_eq!(back[0], "</script><script>alert(1)</script>");
    }
}
