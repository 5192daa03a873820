//! Summary statistics of numbers.

use serde::{Deserialize, Serialize};

/// Mean and quantiles of numbers.
///
/// A quantile between two numbers is interpolated linearly, as NumPy does by default (type 7 of Hyndman and Fan 1996).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub least: f64,
    /// 5 % lie below.
    pub p5: f64,
    /// 25 % lie below.
    pub p25: f64,
    /// Half lie below.
    pub median: f64,
    /// 75 % lie below.
    pub p75: f64,
    /// 95 % lie below.
    pub p95: f64,
    /// The largest.
    pub largest: f64,
}

impl Spread {
    /// The spread of some numbers; `None` if there are none.
    ///
    /// ```
    /// use spadework::scores::Spread;
    /// let spread = Spread::of(&[4.0, 1.0, 2.0, 3.0]).unwrap();
    /// assert_eq!((spread.least, spread.p25, spread.median, spread.largest), (1.0, 1.75, 2.5, 4.0));
    /// ```
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let quantile = |part: f64| {
            let place = part * (sorted.len() - 1) as f64;
            let below = place.floor() as usize;
            let above = (below + 1).min(sorted.len() - 1);
            sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
        };
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            least: sorted[0],
            p5: quantile(0.05),
            p25: quantile(0.25),
            median: quantile(0.5),
            p75: quantile(0.75),
            p95: quantile(0.95),
            largest: sorted[sorted.len() - 1],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.quantile([3, -1, 4, 1.5, -5, 9, 2.6], [.05, .25, .5, .75, .95])` (NumPy 2).
    #[test]
    fn quantiles_are_those_of_numpy() {
        let spread = Spread::of(&[3.0, -1.0, 4.0, 1.5, -5.0, 9.0, 2.6]).unwrap();
        let found = [spread.p5, spread.p25, spread.median, spread.p75, spread.p95];
        for (found, expected) in found.into_iter().zip([-3.8, 0.25, 2.6, 3.5, 7.5]) {
            // One product and one sum: some units of rounding.
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
        assert!((spread.mean - 14.1 / 7.0).abs() < 1e-15);
        assert_eq!((spread.least, spread.largest), (-5.0, 9.0));
    }

    #[test]
    fn one_number_is_all_its_quantiles() {
        let spread = Spread::of(&[2.0]).unwrap();
        assert_eq!(
            [spread.mean, spread.least, spread.p5, spread.median, spread.p95, spread.largest],
            [2.0; 6]
        );
        assert_eq!(Spread::of(&[]), None);
    }
}
