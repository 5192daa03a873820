//! Figures as SVG, for the page and for papers.
//!
//! Every chart has one function. On the page its colors come from the page's style, so that it follows the theme; as a file
//! it contains [`COLORS`]. Text from users always goes through [`escape`].

mod axis;
mod bars;
mod heat_map;
mod histogram;
mod intervals;
mod legend;
mod lines;
mod pairs;
mod scatter;
mod steps;

pub use bars::bars;
pub(crate) use heat_map::{Cell, heat_map};
pub(crate) use histogram::histogram;
pub(crate) use intervals::{Estimate, intervals};
pub use lines::{AxisNames, Band, Series, lines};
pub use pairs::pairs;
pub use scatter::scatter;
pub(crate) use steps::{Step, steps};

/// Colors of classes and series, distinguishable for people with any kind of color vision (after Okabe and Ito, and darker
/// and lighter shades of the same hues beyond the first eight).
pub(crate) const CATEGORIES: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c6d1f", "#7f7f7f", "#5e3c99",
    "#b2df8a", "#8b0000", "#004d40",
];

/// The classes that charts use, as a file has them; the page's style has the same classes.
const COLORS: &str = "text{font-family:'DejaVu Sans',Verdana,sans-serif;font-size:12px;fill:#1d2733}\
.faint{fill:#5b6773}.grid{stroke:#d5dbe1;stroke-width:1}.axis{stroke:#5b6773;stroke-width:1}.bar{fill:#0072b2}\
.cell-text{font-size:9px}.band{fill:#0072b2;fill-opacity:.12}.curve{fill:none;stroke-width:2}.whisker{stroke-width:2}";

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The name of its file, without an ending.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub title: String,
    /// A description for readers who cannot see it.
    pub description: String,
    width: f64,
    height: f64,
    body: String,
}

impl Chart {
    /// The figure as part of a page.
    pub(crate) fn inline(&self) -> String {
        // Where a screen is much narrower, the style lets the chart scroll rather than shrink its letters.
        let width = format!(" style=\"--width:{}\"", self.width.ceil());
        self.wrapped("", &format!("{width} role=\"img\" aria-label=\"{}\"", escape(&self.alternative())))
    }

    /// The figure as a file of its own.
    pub(crate) fn standalone(&self) -> String {
        let style = format!("<style>{COLORS}</style><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
        let size = format!(" width=\"{}\" height=\"{}\"", self.width, self.height);
        let described =
            format!("<title>{}</title><desc>{}</desc>", escape(&self.title), escape(&self.description));
        self.wrapped(&format!("{described}{style}"), &size)
    }

    fn alternative(&self) -> String {
        format!("{}. {}", self.title, self.description)
    }

    fn wrapped(&self, before: &str, attributes: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\"{attributes}>{before}{}</svg>",
            self.width, self.height, self.body
        )
    }
}

/// Text escaped for XML and HTML, in elements and in attributes.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML has no way to write these.
            control if control.is_control() && !matches!(control, '\n' | '\t') => safe.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// A text element.
fn text(x: f64, y: f64, anchor: &str, class: &str, content: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
        escape(content)
    )
}

/// Names longer than a chart has room for end in an ellipsis.
fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A number as charts write it: up to four significant digits.
pub fn number(value: f64) -> String {
    spadework_document::words::with_digits(value, 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_text() {
        assert_eq!(escape("<script>\"&'"), "&lt;script&gt;&quot;&amp;&#39;");
        assert_eq!(escape("a\u{0}b"), "a\u{fffd}b");
    }

    #[test]
    fn numbers_have_up_to_four_digits() {
        let written = [41.466_79, 0.108_66, 1234.567, 0.0, 1.5e-7, 12_345_678.0, 75.0, 200.0].map(number);
        assert_eq!(written, ["41.47", "0.1087", "1235", "0", "1.50e-7", "1.23e7", "75", "200"]);
    }

    #[test]
    fn a_file_is_well_formed_and_a_page_is_described() {
        let chart = bars("labels", "Labels & more", &[("<a>".to_owned(), 1.0), ("b".to_owned(), 2.0)]);
        let tree = resvg::usvg::Tree::from_str(&chart.standalone(), &resvg::usvg::Options::default());
        assert!(tree.is_ok());
        assert!(chart.inline().contains("aria-label=\"Labels &amp; more."));
        assert!(!chart.standalone().contains("<a>"));
    }
}
