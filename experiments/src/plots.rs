//! Figures that several experiments share.

use spadework_report::Chart;
use spadework_report::figures::{Series, lines};

/// One curve a network over k, or over ε: `rows` has one row a place along, and one value a curve in it.
pub(crate) fn curves(
    name: &'static str,
    title: &str,
    axes: [&str; 2],
    names: impl IntoIterator<Item = String>,
    along: &[f64],
    rows: &[Vec<f64>],
) -> Chart {
    let curve = |(at, name): (usize, String)| Series {
        name,
        points: along.iter().copied().zip(rows.iter().map(|row| row.get(at).copied())).collect(),
    };
    let series: Vec<Series> = names.into_iter().enumerate().map(curve).collect();
    lines(name, title, axes, &series, None)
}

/// Counts as places along an axis.
pub(crate) fn places(counts: &[usize]) -> Vec<f64> {
    counts.iter().map(|&count| count as f64).collect()
}
