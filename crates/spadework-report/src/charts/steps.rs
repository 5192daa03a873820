//! Values over named steps, such as scores over the layers of a network.

use super::{CATEGORIES, Chart, escape, number, text};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 260.0;
/// Room for the numbers at the left, the name of the axis above, the names of the steps below.
const LEFT: f64 = 60.0;
const TOP: f64 = 30.0;
const BELOW: f64 = 130.0;
const RIGHT: f64 = WIDTH - 16.0;
/// Names that are longer are cut, so that they stay within the room below.
const LONGEST_NAME: usize = 20;

/// One step; a value that is missing leaves a gap.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) value: Option<f64>,
}

impl Step {
    /// Values that a logarithmic axis can show.
    fn positive_value(&self) -> Option<f64> {
        self.value.filter(|value| *value > 0.0 && value.is_finite())
    }
}

/// A line over the steps, on a logarithmic axis: scores are compared by their ratio.
pub(crate) fn steps(name: &'static str, title: &str, axis: &str, steps: &[Step]) -> Chart {
    let values: Vec<f64> = steps.iter().filter_map(Step::positive_value).collect();
    let scale = Scale::of(&values);
    let room = (RIGHT - LEFT) / steps.len().max(1) as f64;
    let x = |at: usize| LEFT + (at as f64 + 0.5) * room;
    let mut body = text(4.0, TOP - 12.0, "start", "", axis);
    for tick in scale.ticks() {
        let y = scale.y(tick);
        body += &format!("<path class=\"grid\" d=\"M{LEFT:.1} {y:.1}H{RIGHT:.1}\"/>");
        body += &text(LEFT - 6.0, y + 4.0, "end", "faint", &number(tick));
    }
    body += &line(steps, &scale, x);
    body += &names(steps, room, x);
    Chart {
        name,
        title: title.to_owned(),
        description: described(steps),
        width: WIDTH,
        height: TOP + HEIGHT + BELOW,
        body,
    }
}

/// The line, in one piece from gap to gap, and its points.
fn line(steps: &[Step], scale: &Scale, x: impl Fn(usize) -> f64) -> String {
    let (mut path, mut dots, mut pen) = (String::new(), String::new(), 'M');
    let color = CATEGORIES[0];
    for (at, step) in steps.iter().enumerate() {
        let Some(value) = step.positive_value() else {
            pen = 'M';
            continue;
        };
        let (x, y) = (x(at), scale.y(value));
        path += &format!("{pen}{x:.1} {y:.1}");
        pen = 'L';
        dots += &format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{color}\"><title>{}</title></circle>",
            escape(&format!("{}: {}", step.name, number(value)))
        );
    }
    format!("<path class=\"curve\" stroke=\"{color}\" d=\"{path}\"/>{dots}")
}

/// The names below; where there are more than room, some are left out.
fn names(steps: &[Step], room: f64, x: impl Fn(usize) -> f64) -> String {
    let every = (14.0 / room).ceil().max(1.0) as usize;
    let name = |(at, step): (usize, &Step)| {
        format!(
            "<text transform=\"translate({:.1} {:.1}) rotate(-60)\" text-anchor=\"end\">{}</text>",
            x(at) + 4.0,
            TOP + HEIGHT + 16.0,
            escape(&ending(&step.name))
        )
    };
    steps.iter().enumerate().step_by(every).map(name).collect()
}

fn described(steps: &[Step]) -> String {
    let shown = || steps.iter().filter_map(|step| Some((&step.name, step.positive_value()?)));
    match (shown().next(), shown().next_back()) {
        (Some((first, from)), Some((last, to))) => {
            format!("From {} at {first} to {} at {last}.", number(from), number(to))
        }
        _ => "Without values.".to_owned(),
    }
}

/// The end of a name says more than its beginning: /layer1/layer1.0/conv1/Conv.
fn ending(name: &str) -> String {
    match name.chars().count() {
        length if length > LONGEST_NAME => {
            format!("…{}", name.chars().skip(length - LONGEST_NAME).collect::<String>())
        }
        _ => name.to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, value: Option<f64>) -> Step {
        Step { name: name.to_owned(), value }
    }

    #[test]
    fn a_gap_lifts_the_pen() {
        let points = [step("a", Some(1.0)), step("b", Some(10.0)), step("c", None), step("d", Some(3.0))];
        let drawn = line(&points, &Scale::of(&[1.0, 10.0, 3.0]), |at| at as f64);
        assert_eq!((drawn.matches('M').count(), drawn.matches("<circle").count()), (2, 3));
        // The ends of the axis are at the ends of the picture.
        assert!(drawn.contains(&format!("cy=\"{:.1}\"", TOP + HEIGHT)));
        assert!(drawn.contains(&format!("cy=\"{TOP:.1}\"")));
    }

    #[test]
    fn names_are_text_and_nothing_else() {
        let chart = steps("layers", "<script>", "a & b", &[step("<b>", Some(2.0))]);
        assert!(chart.standalone().contains("&lt;b&gt;") && !chart.standalone().contains("<b>"));
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
