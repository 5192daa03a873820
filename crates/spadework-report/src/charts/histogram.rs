//! The distribution of values, on a logarithmic axis.

use super::axis::{self, Scale};
use super::{Chart, number, text};

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = HEIGHT - 44.0;
const BINS: usize = 40;
/// Values below this part of the largest go into the lowest bin: scores reach down to rounding errors.
const LEAST: f64 = 1e-6;

/// Counts of values by size. Bins are equally wide in the logarithm, since scores spread over many powers of ten.
pub(crate) fn histogram(name: &'static str, title: &str, values: &[f64]) -> Chart {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let floor = values
        .iter()
        .copied()
        .filter(|&value| value > LEAST * largest)
        .fold(largest, f64::min)
        .max(f64::MIN_POSITIVE);
    let span = (largest / floor).ln().max(f64::MIN_POSITIVE);
    let mut counts = [0usize; BINS];
    for &value in values {
        let place = (value.max(floor) / floor).ln() / span * BINS as f64;
        counts[(place as usize).min(BINS - 1)] += 1;
    }
    let across = |share: f64| LEFT + share * (WIDTH - LEFT - 12.0);
    let up = Scale::from_zero(counts.iter().map(|&count| count as f64), BOTTOM, TOP);
    let mut body = axis::at_left(&up, LEFT, WIDTH - 12.0, "samples");
    for (bin, &count) in counts.iter().enumerate() {
        let (from, to) = (across(bin as f64 / BINS as f64), across((bin + 1) as f64 / BINS as f64));
        let y = up.at(count as f64);
        body += &format!(
            "<rect class=\"bar\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{} to {}: {count} \
             samples</title></rect>",
            to - from - 1.0,
            BOTTOM - y,
            number(floor * (span * bin as f64 / BINS as f64).exp()),
            number(floor * (span * (bin + 1) as f64 / BINS as f64).exp()),
        );
    }
    body += &powers(floor, largest, span, across);
    body += &text(f64::midpoint(LEFT, WIDTH), HEIGHT - 8.0, "middle", "", "score (logarithmic)");
    let description = format!("{} values from {} to {}.", values.len(), number(floor), number(largest));
    Chart { name, title: title.to_owned(), description, width: WIDTH, height: HEIGHT, body }
}

/// Ticks at powers of ten.
fn powers(floor: f64, largest: f64, span: f64, across: impl Fn(f64) -> f64) -> String {
    if largest <= 0.0 {
        return String::new();
    }
    let (first, last) = (floor.log10().ceil() as i32, largest.log10().floor() as i32);
    let tick = |power: i32| {
        let value = 10f64.powi(power);
        let x = across((value / floor).ln() / span);
        let mark = format!("<path class=\"axis\" d=\"M{x:.1} {BOTTOM}v5\"/>");
        mark + &text(x, BOTTOM + 18.0, "middle", "faint", &number(value))
    };
    (first..=last).map(tick).collect()
}
