//! Estimates with their uncertainty, one a row.

use super::axis::{self, Scale};
use super::{CATEGORIES, Chart, number, shortened, text};

const WIDTH: f64 = 560.0;
const ROW: f64 = 28.0;
const NAMES: f64 = 130.0;
const TOP: f64 = 8.0;

/// A value, and the range it may lie in.
#[derive(Debug, Clone)]
pub(crate) struct Estimate {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) range: Option<(f64, f64)>,
}

/// A dot and a whisker a row, in the order given.
pub(crate) fn intervals(name: &'static str, title: &str, along: &str, rows: &[Estimate]) -> Chart {
    let ends = rows.iter().flat_map(|row| {
        let (low, high) = row.range.unwrap_or((row.value, row.value));
        [low, row.value, high]
    });
    let bottom = TOP + rows.len() as f64 * ROW;
    let scale = Scale::from_zero(ends, NAMES, WIDTH - 24.0);
    let mut body = axis::below(&scale, TOP, bottom, along);
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + (at as f64 + 0.5) * ROW;
        body += &text(NAMES - 8.0, y + 4.0, "end", "", &shortened(&row.name, 18));
        let color = CATEGORIES[0];
        if let Some((low, high)) = row.range {
            body += &format!(
                "<path class=\"whisker\" stroke=\"{color}\" d=\"M{:.1} {y:.1}H{:.1}\"/>",
                scale.at(low),
                scale.at(high)
            );
        }
        body +=
            &format!("<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{color}\"/>", scale.at(row.value));
    }
    let each = rows.iter().map(|row| format!("{} {}", row.name, number(row.value)));
    let description = format!("{}.", each.collect::<Vec<_>>().join(", "));
    Chart { name, title: title.to_owned(), description, width: WIDTH, height: bottom + 44.0, body }
}
