//! Horizontal bars with their names and values.

use super::axis::Scale;
use super::{Chart, number, shortened, text};

const ROW: f64 = 24.0;
/// The longest bar.
const BARS: f64 = 360.0;
const VALUES: f64 = 80.0;
/// Room for names: as much as the longest needs, between these.
const NAMES: (f64, f64) = (120.0, 420.0);
/// The part of the room that stays free next to a name.
const GAP: f64 = 8.0;
/// A letter of a name, a little more than the mean of DejaVu Sans.
const LETTER: f64 = 7.5;

/// One bar per row, in the order given.
pub fn bars(name: &'static str, title: &str, rows: &[(String, f64)]) -> Chart {
    let longest = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let names = (longest as f64 * LETTER + 2.0 * GAP).clamp(NAMES.0, NAMES.1);
    let most_letters = ((names - 2.0 * GAP) / LETTER) as usize;
    let scale = Scale::from_zero(rows.iter().map(|row| row.1), names, names + BARS);
    let mut body = String::new();
    for (at, (label, value)) in rows.iter().enumerate() {
        let y = at as f64 * ROW + 4.0;
        let width = (scale.at(*value) - names).max(0.0);
        body += &text(names - GAP, y + 14.0, "end", "", &shortened(label, most_letters));
        body += &format!(
            "<rect class=\"bar\" x=\"{names}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"18\" rx=\"2\"/>"
        );
        body += &text(names + width + 6.0, y + 14.0, "start", "faint", &number(*value));
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
    let width = names + BARS + VALUES;
    Chart { name, title: title.to_owned(), description: described, width, height, body }
}
