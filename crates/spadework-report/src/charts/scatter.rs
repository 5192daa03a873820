//! Points in the plane, colored by class.

use super::axis::Scale;
use super::{CATEGORIES, Chart, legend};

const SIDE: f64 = 420.0;
const MARGIN: f64 = 12.0;

/// Points with the position of their class in `names`; without names all have one color.
///
/// # Panics
/// When there are fewer classes than points.
pub fn scatter(
    name: &'static str,
    title: &str,
    points: &[[f64; 2]],
    classes: Option<(&[u16], &[String])>,
) -> Chart {
    let across = Scale::tight(points.iter().map(|point| point[0]), MARGIN, SIDE - MARGIN);
    let up = Scale::tight(points.iter().map(|point| point[1]), SIDE - MARGIN, MARGIN);
    let kinds = classes.map_or(1, |(_, names)| names.len());
    let mut body = String::new();
    // One group per color, so that the color is written once and not with every point.
    for kind in 0..kinds {
        body += &format!("<g fill=\"{}\" fill-opacity=\".7\">", CATEGORIES[kind % CATEGORIES.len()]);
        for (at, point) in points.iter().enumerate() {
            if classes.is_none_or(|(of, _)| usize::from(of[at]) == kind) {
                let (x, y) = (across.at(point[0]), up.at(point[1]));
                body += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.6\"/>");
            }
        }
        body += "</g>";
    }
    let mut width = SIDE;
    if let Some((_, names)) = classes {
        width += legend::WIDTH;
        body += &legend::of_dots(names.iter().map(String::as_str), SIDE + 10.0, 20.0);
    }
    let description = format!("{} samples by their first two coordinates.", points.len());
    Chart { name, title: title.to_owned(), description, width, height: SIDE, body }
}
