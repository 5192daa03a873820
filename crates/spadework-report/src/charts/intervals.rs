//! Estimates with their uncertainty, one per row.

use spadework_document::words::short;

use super::axis::{self, Scale};
use super::{CATEGORIES, Chart, escape, shortened, text};

/// Narrow enough for a phone, where a chart is as wide as the screen and its letters shrink with it.
const WIDTH: f64 = 440.0;
const ROW: f64 = 28.0;
const TOP: f64 = 8.0;
/// Room for names: as much as the longest needs, between these.
const NAMES: (f64, f64) = (60.0, 190.0);
/// A letter of a name, a little more than the mean of DejaVu Sans.
const LETTER: f64 = 7.5;
/// Room for the values and their ranges at the right: as much as the longest needs, between these.
const VALUES: (f64, f64) = (56.0, 176.0);

/// A value, and the range it may lie in.
#[derive(Debug, Clone)]
pub(crate) struct Estimate {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) range: Option<(f64, f64)>,
}

/// A dot and a whisker per row, in the order given, on a scale of their own: it begins where they begin, so that differences
/// between large values are seen too.
pub(crate) fn intervals(name: &'static str, title: &str, along: &str, rows: &[Estimate]) -> Chart {
    let ends = rows.iter().flat_map(|row| {
        let (low, high) = row.range.unwrap_or((row.value, row.value));
        [low, row.value, high]
    });
    let names = (longest(rows.iter().map(|row| row.name.as_str())) + 16.0).clamp(NAMES.0, NAMES.1);
    let all_written: Vec<String> = rows.iter().map(written).collect();
    let values = longest(all_written.iter().map(String::as_str)).clamp(VALUES.0, VALUES.1);
    let right = WIDTH - values - 12.0;
    let bottom = TOP + rows.len() as f64 * ROW;
    let scale = Scale::rounded(ends, names, right);
    let mut body = axis::at_bottom(&scale, TOP, bottom, along);
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + (at as f64 + 0.5) * ROW;
        let most_letters = ((names - 16.0) / LETTER) as usize;
        body += &text(names - 8.0, y + 4.0, "end", "", &shortened(&row.name, most_letters));
        body += &mark(row, &scale, y);
        body += &text(right + 12.0, y + 4.0, "start", "faint", &written(row));
    }
    let each = rows.iter().map(|row| format!("{} {}", row.name, written(row)));
    let description = format!("{}.", each.collect::<Vec<_>>().join(", "));
    Chart { name, title: title.to_owned(), description, width: WIDTH, height: bottom + 44.0, body }
}

fn mark(row: &Estimate, scale: &Scale, y: f64) -> String {
    let color = CATEGORIES[0];
    let whisker = row.range.map_or_else(String::new, |(low, high)| {
        let (from, to) = (scale.at(low), scale.at(high));
        format!("<path class=\"whisker\" stroke=\"{color}\" d=\"M{from:.1} {y:.1}H{to:.1}\"/>")
    });
    format!(
        "<g><title>{}</title>{whisker}<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{color}\"/></g>",
        escape(&format!("{}: {}", row.name, written(row))),
        scale.at(row.value)
    )
}

/// The room that the longest of these texts needs.
fn longest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    texts.map(|text| text.chars().count()).max().unwrap_or(0) as f64 * LETTER
}

/// The value, and its range where there is one.
fn written(row: &Estimate) -> String {
    match row.range {
        Some((low, high)) => format!("{} ({} – {})", short(row.value), short(low), short(high)),
        None => short(row.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that differ by a hundredth of their size are apart by most of the chart.
    #[test]
    fn the_scale_shows_differences() {
        let at = |value: f64| Estimate { name: "m".to_owned(), value, range: None };
        let chart = intervals("i", "I", "number", &[at(98.0), at(99.0)]).standalone();
        let places: Vec<f64> = chart
            .split("cx=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert!(places[1] - places[0] > 200.0, "{places:?}");
    }

    #[test]
    fn ranges_are_written() {
        let row = Estimate { name: "m".to_owned(), value: 43.21, range: Some((38.04, 48.0)) };
        assert!(intervals("i", "I", "number", &[row]).standalone().contains("43.2 (38 – 48)"));
    }
}
