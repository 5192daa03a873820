//! Curves over a common axis.

use super::axis::{self, Scale};
use super::{CATEGORIES, Chart, escape, number, shortened, text};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 30.0;
const PLOT: f64 = 240.0;
const LEGEND: f64 = 130.0;

/// A curve; a point without a value interrupts it.
#[derive(Debug, Clone)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Places along the axis, ascending, with their values.
    pub points: Vec<(f64, Option<f64>)>,
}

/// A marked stretch of the axis.
#[derive(Debug, Clone, Copy)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// Names of the horizontal and the vertical axis.
pub type AxisNames<'a> = [&'a str; 2];

/// Colored curves, with a legend if there are several.
pub fn lines(
    name: &'static str,
    title: &str,
    [along, up]: AxisNames<'_>,
    series: &[Series],
    band: Option<Band>,
) -> Chart {
    let legend = if series.len() > 1 { LEGEND } else { 16.0 };
    let (right, bottom) = (WIDTH - legend, TOP + PLOT);
    let points = || series.iter().flat_map(|series| &series.points);
    let horizontal = Scale::tight(points().map(|point| point.0), LEFT, right);
    let vertical = Scale::rounded(points().filter_map(|point| point.1), bottom, TOP);
    let mut body = String::new();
    if let Some(Band { from, to }) = band {
        // A stretch of a single point is still to be seen.
        let (from, to) = (horizontal.at(from) - 5.0, horizontal.at(to) + 5.0);
        body += &format!(
            "<rect class=\"band\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{PLOT}\"/>",
            to - from
        );
    }
    body += &axis::at_left(&vertical, LEFT, right, up);
    body += &axis::at_bottom(&horizontal, TOP, bottom, along);
    for (at, series) in series.iter().enumerate() {
        let color = CATEGORIES[at % CATEGORIES.len()];
        body += &curve(series, color, &horizontal, &vertical);
        if legend == LEGEND {
            let y = TOP + 10.0 + at as f64 * 18.0;
            body += &format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{color}\"/>",
                right + 12.0,
                y - 10.0
            );
            body += &text(right + 30.0, y, "start", "", &shortened(&series.name, 14));
        }
    }
    let height = (bottom + 44.0).max(TOP + 20.0 + series.len() as f64 * 18.0);
    Chart { name, title: title.to_owned(), description: described(series), width: WIDTH, height, body }
}

fn curve(series: &Series, color: &str, horizontal: &Scale, vertical: &Scale) -> String {
    let mut path = String::new();
    let mut dots = String::new();
    let mut pen = 'M';
    for &(along, value) in &series.points {
        let Some(value) = value else {
            pen = 'M';
            continue;
        };
        let (x, y) = (horizontal.at(along), vertical.at(value));
        path += &format!("{pen}{x:.1} {y:.1}");
        pen = 'L';
        dots += &format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{color}\"><title>{}</title></circle>",
            escape(&format!("{} at {}: {}", series.name, number(along), number(value)))
        );
    }
    format!("<path class=\"curve\" stroke=\"{color}\" d=\"{path}\"/>{dots}")
}

fn described(series: &[Series]) -> String {
    let of_one = |series: &Series| {
        let mut values = series.points.iter().filter_map(|point| point.1);
        match (values.next(), values.next_back()) {
            (Some(first), Some(last)) => {
                format!("{} from {} to {}", series.name, number(first), number(last))
            }
            (Some(only), None) => format!("{} {}", series.name, number(only)),
            _ => format!("{} without values", series.name),
        }
    };
    format!("{}.", series.iter().map(of_one).collect::<Vec<_>>().join("; "))
}
