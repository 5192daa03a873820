//! Pairs of shares: what was predicted over what came true.

use super::axis::{self, Scale};
use super::{AxisNames, CATEGORIES, Chart, legend};

const LEFT: f64 = 60.0;
const TOP: f64 = 30.0;
const SIDE: f64 = 400.0;

/// Points of several kinds, each with a share from 0 to 1 along and one up. They are equal on the diagonal.
pub fn pairs(
    name: &'static str,
    title: &str,
    [along, up]: AxisNames<'_>,
    kinds: &[(String, Vec<[f64; 2]>)],
) -> Chart {
    let (right, bottom) = (LEFT + SIDE, TOP + SIDE);
    let ends = [0.0, 1.0];
    let across = Scale::tight(ends.into_iter(), LEFT, right);
    let upward = Scale::tight(ends.into_iter(), bottom, TOP);
    let mut body = axis::at_left(&upward, LEFT, right, up) + &axis::at_bottom(&across, TOP, bottom, along);
    body += &format!("<path class=\"axis\" d=\"M{LEFT} {bottom}L{right} {TOP}\"/>");
    for (at, (_, points)) in kinds.iter().enumerate() {
        let color = CATEGORIES[at % CATEGORIES.len()];
        body += &format!("<g fill=\"{color}\" fill-opacity=\".6\">");
        for [x, y] in points {
            let (x, y) = (across.at(x.clamp(0.0, 1.0)), upward.at(y.clamp(0.0, 1.0)));
            body += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
        }
        body += "</g>";
    }
    let names = kinds.iter().map(|(kind, _)| kind.as_str());
    body += &legend::of_dots(names, right + 14.0, TOP + 10.0);
    let all = || kinds.iter().flat_map(|(_, points)| points);
    let above = all().filter(|[x, y]| y > x).count();
    let description = format!("{} points, {above} of them above the diagonal.", all().count());
    let (width, height) = (right + legend::WIDTH, bottom + 44.0);
    Chart { name, title: title.to_owned(), description, width, height, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The corners of the plot are (60, 430) and (460, 30).
    #[test]
    fn points_lie_where_their_shares_are() {
        let kinds = [("a".to_owned(), vec![[0.0, 0.0], [0.5, 0.75]]), ("b".to_owned(), vec![[1.0, 1.5]])];
        let chart = pairs("pairs", "Pairs", ["truth", "estimate"], &kinds);
        for point in ["cx=\"60.0\" cy=\"430.0\"", "cx=\"260.0\" cy=\"130.0\"", "cx=\"460.0\" cy=\"30.0\""] {
            assert!(chart.body.contains(point), "{point} is not in {}", chart.body);
        }
        assert_eq!(chart.description, "3 points, 2 of them above the diagonal.");
    }
}
