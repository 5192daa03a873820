//! What the colors of a chart stand for.

use super::{CATEGORIES, shortened, text};

/// Room that a legend takes at the right of a chart.
pub(super) const WIDTH: f64 = 130.0;
/// Names that it has room for.
const MOST: usize = 22;
const ROW: f64 = 18.0;

/// A dot and a name for each kind, one below the other: the centers of the dots at `left`, the first name at `top`.
pub(super) fn of_dots<'a>(names: impl Iterator<Item = &'a str>, left: f64, top: f64) -> String {
    let mut body = String::new();
    for (at, name) in names.take(MOST).enumerate() {
        let y = top + at as f64 * ROW;
        let color = CATEGORIES[at % CATEGORIES.len()];
        body += &format!("<circle cx=\"{left:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"{color}\"/>", y - 4.0);
        body += &text(left + 12.0, y, "start", "", &shortened(name, 14));
    }
    body
}
