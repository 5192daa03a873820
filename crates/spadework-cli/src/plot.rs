//! A line over a few labelled points, as SVG.

use crate::render::number_short;

/// Width of the picture, and the height of the part with the line.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 320.0;
/// Room for the numbers at the left, the title above, the names below.
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const BELOW: f64 = 150.0;
/// Names that are longer are cut, so that they stay within the room below.
const LONGEST_NAME: usize = 22;

/// One point; a value that is missing leaves a gap.
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) value: Option<f64>,
}

/// Values over their positions, on a logarithmic axis: scores are compared by their ratio.
pub(crate) fn line(title: &str, axis: &str, points: &[Point]) -> String {
    let values: Vec<f64> =
        points.iter().filter_map(|point| point.value).filter(|value| *value > 0.0).collect();
    let scale = Scale::of(&values);
    let step = (WIDTH - LEFT - 24.0) / points.len().max(1) as f64;
    let x = |at: usize| LEFT + (at as f64 + 0.5) * step;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {total}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n\
         <text transform=\"translate(14 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        escaped(title),
        escaped(axis),
        total = TOP + HEIGHT + BELOW,
        middle = TOP + HEIGHT / 2.0,
    );
    for tick in scale.ticks() {
        let y = scale.y(tick);
        svg.push_str(&format!(
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            WIDTH - 24.0,
            LEFT - 8.0,
            y + 4.0,
            number_short(tick)
        ));
    }
    svg.push_str(&segments(points, &scale, &x));
    // Where there are more names than room, some are left out.
    let every = (14.0 / step).ceil().max(1.0) as usize;
    for (at, point) in points.iter().enumerate() {
        if let Some(value) = point.value.filter(|value| *value > 0.0) {
            svg.push_str(&format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"#1f5fa8\"><title>{}: {}</title></circle>\n",
                x(at),
                scale.y(value),
                escaped(&point.name),
                number_short(value)
            ));
        }
        if at % every == 0 {
            svg.push_str(&format!(
                "<text transform=\"translate({:.1} {}) rotate(-60)\" text-anchor=\"end\">{}</text>\n",
                x(at) + 4.0,
                TOP + HEIGHT + 16.0,
                escaped(&shortened(&point.name))
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// The line, in one piece from gap to gap.
fn segments(points: &[Point], scale: &Scale, x: &dyn Fn(usize) -> f64) -> String {
    let mut path = String::new();
    let mut pen_is_down = false;
    for (at, point) in points.iter().enumerate() {
        match point.value.filter(|value| *value > 0.0) {
            None => pen_is_down = false,
            Some(value) => {
                let command = if pen_is_down { 'L' } else { 'M' };
                path.push_str(&format!("{command}{:.1} {:.1}", x(at), scale.y(value)));
                pen_is_down = true;
            }
        }
    }
    format!("<path d=\"{path}\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"2\"/>\n")
}

/// A logarithmic axis from a round number below the least value to one above the largest.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: &[f64]) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        if values.is_empty() {
            return Self { low: 1.0, high: 10.0 };
        }
        let low = rounds(least).0;
        let high = rounds(most).1;
        Self { low, high: if high > low { high } else { 10.0 * low } }
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        TOP + HEIGHT * (1.0 - part)
    }

    /// 1, 2 and 5 times the powers of ten.
    fn ticks(&self) -> Vec<f64> {
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let all = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
        all.filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001).collect()
    }
}

/// The numbers 1, 2 or 5 times a power of ten at and below, and at and above a value.
fn rounds(value: f64) -> (f64, f64) {
    let power = 10_f64.powi(value.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let below = steps.iter().copied().filter(|step| *step <= value).fold(power, f64::max);
    let above = steps.iter().copied().filter(|step| *step >= value).fold(10.0 * power, f64::min);
    (below, above)
}

fn shortened(name: &str) -> String {
    match name.chars().count() {
        // The end of a name says more than its beginning: /layer1/layer1.0/conv1/Conv.
        length if length > LONGEST_NAME => {
            format!("…{}", name.chars().skip(length - LONGEST_NAME).collect::<String>())
        }
        _ => name.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    let printable = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    printable.collect::<String>().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, value: Option<f64>) -> Point {
        Point { name: name.to_owned(), value }
    }

    #[test]
    fn a_gap_lifts_the_pen() {
        let points = [point("a", Some(1.0)), point("b", Some(10.0)), point("c", None), point("d", Some(3.0))];
        let svg = line("title", "score", &points);
        assert_eq!((svg.matches('M').count(), svg.matches("<circle").count()), (2, 3));
        // The ends of the axis are at the ends of the picture.
        assert!(
            svg.contains(&format!("cy=\"{:.1}\"", TOP + HEIGHT)) && svg.contains(&format!("cy=\"{TOP:.1}\""))
        );
    }

    #[test]
    fn names_are_text_and_nothing_else() {
        let svg = line("<script>", "a & b", &[point("<b>\n", Some(2.0))]);
        assert!(
            svg.contains("&lt;script&gt;") && svg.contains("a &amp; b") && svg.contains("&lt;b&gt; "),
            "{svg}"
        );
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let scale = Scale::of(&[3.0, 41.0]);
        assert_eq!((scale.low, scale.high), (2.0, 50.0));
        assert_eq!(scale.ticks(), [2.0, 5.0, 10.0, 20.0, 50.0]);
        let single = Scale::of(&[5.0]);
        assert!(single.high > single.low);
        assert!(Scale::of(&[]).y(1.0).is_finite());
    }
}
