//! What all pages have in common: the frame, tables, and data for the script.

use askama::Template;
use serde::Serialize;

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
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The table without columns that say nothing in any row.
    pub(crate) fn without_empty_columns(self) -> Self {
        let says =
            |column: usize| self.rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.is_empty()));
        let kept: Vec<usize> = (0..self.header.len()).filter(|&column| says(column)).collect();
        let header = kept.iter().map(|&column| self.header[column]).collect();
        let of_row = |row: &Vec<String>| kept.iter().map(|&column| row[column].clone()).collect();
        Self { header, rows: self.rows.iter().map(of_row).collect(), ..self }
    }
}

/// What is around the content of every page.
pub(crate) struct Frame {
    pub(crate) title: String,
    pub(crate) style: &'static str,
    pub(crate) script: &'static str,
    /// JSON that cannot end the element it stands in.
    pub(crate) data: String,
    pub(crate) provenance: Vec<Fact>,
    pub(crate) version: String,
}

impl Frame {
    pub(crate) fn new(
        title: String,
        explorer: Option<&Explorer>,
        provenance: Vec<Fact>,
        version: &str,
    ) -> Self {
        let data = explorer.map_or_else(|| "null".to_owned(), as_script_data);
        Self { title, style: STYLE, script: SCRIPT, data, provenance, version: version.to_owned() }
    }
}

/// JSON for a `<script>` element: no `<` may stand in it, or a hostile label could end the element; nor may the two line
/// separators that JSON allows and older scripts do not.
fn as_script_data<T: Serialize>(value: &T) -> String {
    // Strings, numbers and lists of them: this cannot fail.
    let json = serde_json::to_string(value).expect("plain data");
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A number for a headline, with a line that says what it is.
#[derive(Debug, Clone)]
pub(crate) struct Headline {
    pub(crate) value: String,
    pub(crate) name: &'static str,
    pub(crate) note: String,
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
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = Table {
            header: vec!["a", "b", "c"],
            rows: vec![row(["1", "", ""]), row(["2", "", "x"])],
            ..Table::default()
        };
        let table = table.without_empty_columns();
        assert_eq!(table.header, ["a", "c"]);
        assert_eq!(table.rows, [["1", ""], ["2", "x"]]);
    }

    #[test]
    fn data_cannot_end_its_element() {
        let data = as_script_data(&["</script><script>alert(1)</script>", "\u{2028}"]);
        assert!(!data.contains('<') && !data.contains('\u{2028}'));
        let back: Vec<String> = serde_json::from_str(&data).unwrap();
        assert_eq!(back[0], "</script><script>alert(1)</script>");
    }
}
