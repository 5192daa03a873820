//! Scales and their ticks.

use super::{number, text};

/// How values map to a length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    /// Between two ticks.
    step: f64,
    /// Where the low and the high end are drawn.
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale whose ends are whole steps, so that its first and last ticks lie on them.
    pub(super) fn rounded(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = extent(values);
        let step = step(low, high);
        Self { low: (low / step).floor() * step, high: (high / step).ceil() * step, step, from, to }
    }

    /// A scale from 0.
    pub(super) fn from_zero(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        Self::rounded(values.chain([0.0]), from, to)
    }

    /// A scale that ends where the values end.
    pub(super) fn tight(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = extent(values);
        Self { low, high, step: step(low, high), from, to }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values within the scale, about five.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step - 1e-9).ceil() as i64;
        let last = (self.high / self.step + 1e-9).floor() as i64;
        (first..=last).map(|at| at as f64 * self.step).collect()
    }
}

/// Least and largest of the finite values, never equal.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    if low < high {
        return (low, high);
    }
    let room = if low == 0.0 { 1.0 } else { 0.5 * low.abs() };
    (low - room, high + room)
}

/// 1, 2 or 5 times a power of ten, about a fifth of the range.
fn step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let multiple = [1.0, 2.0, 5.0].into_iter().find(|multiple| multiple * power >= rough).unwrap_or(10.0);
    multiple * power
}

/// Ticks below a plot, with lines through it from `top` to `bottom`.
pub(super) fn at_bottom(scale: &Scale, top: f64, bottom: f64, label: &str) -> String {
    let mut drawn = String::new();
    for tick in scale.ticks() {
        let x = scale.at(tick);
        drawn += &format!("<path class=\"grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>");
        drawn += &text(x, bottom + 16.0, "middle", "faint", &number(tick));
    }
    drawn += &text(f64::midpoint(scale.from, scale.to), bottom + 34.0, "middle", "", label);
    drawn
}

/// Ticks to the left of a plot, with lines through it from `left` to `right`.
pub(super) fn at_left(scale: &Scale, left: f64, right: f64, label: &str) -> String {
    let mut drawn = String::new();
    for tick in scale.ticks() {
        let y = scale.at(tick);
        drawn += &format!("<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>");
        drawn += &text(left - 6.0, y + 4.0, "end", "faint", &number(tick));
    }
    drawn += &text(4.0, scale.to - 10.0, "start", "", label);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let scale = Scale::rounded([18.5, 41.5].into_iter(), 0.0, 100.0);
        assert_eq!(scale.ticks(), [15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0]);
        assert_eq!((scale.at(15.0), scale.at(45.0)), (0.0, 100.0));
    }

    #[test]
    fn equal_values_and_none_have_a_scale() {
        for values in [vec![], vec![0.0], vec![7.0, 7.0], vec![f64::NAN]] {
            let scale = Scale::tight(values.iter().copied(), 0.0, 1.0);
            assert!(scale.at(0.5).is_finite() && !scale.ticks().is_empty(), "{values:?}");
        }
    }
}
