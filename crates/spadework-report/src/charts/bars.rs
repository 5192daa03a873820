//! Horizontal bars with their names and values.

use super::axis::Scale;
use super::{Chart, number, shortened, text};

const WIDTH: f64 = 560.0;
const ROW: f64 = 24.0;
const NAMES: f64 = 120.0;
const VALUES: f64 = 80.0;

/// A bar a row, in the order given.
pub fn bars(name: &'static str, title: &str, rows: &[(String, f64)]) -> Chart {
    let scale = Scale::from_zero(rows.iter().map(|row| row.1), NAMES, WIDTH - VALUES);
    let mut body = String::new();
    for (at, (label, value)) in rows.iter().enumerate() {
        let y = at as f64 * ROW + 4.0;
        let width = (scale.at(*value) - NAMES).max(0.0);
        body += &text(NAMES - 8.0, y + 14.0, "end", "", &shortened(label, 16));
        body += &format!(
            "<rect class=\"bar\" x=\"{NAMES}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"18\" rx=\"2\"/>"
        );
        body += &text(NAMES + width + 6.0, y + 14.0, "start", "faint", &number(*value));
    }
    let described = match (rows.first(), rows.last()) {
        (Some(first), Some(last)) => format!(
            "{} bars, from {} ({}) to {} ({}).",
            rows.len(),
            first.0,
            number(first.1),
            last.0,
            number(last.1)
        ),
        _ => "No bars.".to_owned(),
    };
    let height = rows.len().max(1) as f64 * ROW + 8.0;
    Chart { name, title: title.to_owned(), description: described, width: WIDTH, height, body }
}
