//! The reverse Weibull distribution of maxima, fitted by maximum likelihood.
//!
//! A maximum X of many values that are bounded by `a` has the distribution P(X ≤ x) = exp(−((a − x)/s)^c) for x ≤ a. For a
//! given endpoint a the other two parameters are the ordinary Weibull fit of the distances a − x: the shape c is the root of
//! Σ y^c ln y / Σ y^c − 1/c − mean ln y, which rises in c, and s^c = mean y^c. So only a search over a remains. It cannot
//! miss the maximum, as a search over three parameters from one start can (for example SciPy's `weibull_max.fit`).
//!
//! For c < 1 the likelihood is infinite at a = max x, so only maxima in the interior with c > 1 count (Smith 1985). Data
//! with a light tail have none: the likelihood rises without limit as a grows.

/// A fitted distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReverseWeibull {
    /// a, the largest value there can be.
    pub endpoint: f64,
    /// c.
    pub shape: f64,
    /// s.
    pub scale: f64,
    /// ln of the likelihood of the values.
    pub log_likelihood: f64,
    /// The largest distance between the fitted and the empirical distribution (Kolmogorov and Smirnov).
    pub distance: f64,
}

/// Endpoints are searched at max + (max − min) · e^t for t in this range.
const RANGE: (f64, f64) = (-9.0, 6.0);
const STEPS: usize = 60;

impl ReverseWeibull {
    /// The most likely distribution of these maxima; none if the likelihood has no maximum with c > 1.
    pub fn fit(maxima: &[f64]) -> Option<Self> {
        let (low, high) = maxima
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
        let spread = high - low;
        if maxima.len() < 3 || !(spread > 0.0 && spread.is_finite()) {
            return None;
        }
        // In units of the spread, measured from the largest value down.
        let distances: Vec<f64> = maxima.iter().map(|x| (high - x) / spread).collect();
        let at = |t: f64| Profile::at(&distances, t.exp());
        let step = (RANGE.1 - RANGE.0) / STEPS as f64;
        let grid: Vec<f64> = (0..=STEPS).map(|i| at(RANGE.0 + i as f64 * step).log_likelihood).collect();
        let best = (1..STEPS)
            .filter(|&i| grid[i] > grid[i - 1] && grid[i] >= grid[i + 1])
            .map(|i| golden(&at, RANGE.0 + (i - 1) as f64 * step, RANGE.0 + (i + 1) as f64 * step))
            .filter(|profile| profile.shape > 1.0)
            .max_by(|p, q| p.log_likelihood.total_cmp(&q.log_likelihood))?;
        let mut fitted = Self {
            endpoint: high + best.beyond * spread,
            shape: best.shape,
            scale: best.scale * spread,
            log_likelihood: best.log_likelihood - maxima.len() as f64 * spread.ln(),
            distance: 0.0,
        };
        fitted.distance = fitted.distance_to(maxima);
        Some(fitted)
    }

    /// P(X ≤ x).
    pub fn cumulative(&self, x: f64) -> f64 {
        if x >= self.endpoint { 1.0 } else { (-((self.endpoint - x) / self.scale).powf(self.shape)).exp() }
    }

    fn distance_to(&self, values: &[f64]) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        let gap = |(i, &x): (usize, &f64)| {
            let fitted = self.cumulative(x);
            (fitted - i as f64 / n).max((i + 1) as f64 / n - fitted)
        };
        sorted.iter().enumerate().map(gap).fold(0.0, f64::max)
    }

    /// How likely a distance this large would be if the values came from the fitted distribution: Kolmogorov's series with
    /// Stephens' correction. The fit is to the same values, so this is optimistic. Below 0.05 it is a bad fit.
    pub fn p_value(&self, count: usize) -> f64 {
        let root = (count as f64).sqrt();
        let t = self.distance * (root + 0.12 + 0.11 / root);
        let term = |k: i32| (-2.0 * f64::from(k * k) * t * t).exp() * if k % 2 == 1 { 2.0 } else { -2.0 };
        (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
    }
}

/// The best distribution for one endpoint.
#[derive(Debug, Clone, Copy)]
struct Profile {
    /// The endpoint beyond the largest value.
    beyond: f64,
    shape: f64,
    scale: f64,
    log_likelihood: f64,
}

impl Profile {
    fn at(distances: &[f64], beyond: f64) -> Self {
        let n = distances.len() as f64;
        // In units of the largest distance, so that powers neither overflow nor all vanish.
        let unit = 1.0 + beyond;
        let logs: Vec<f64> = distances.iter().map(|d| ((d + beyond) / unit).ln()).collect();
        let mean_log = logs.iter().sum::<f64>() / n;
        let shape = shape_of(&logs, mean_log);
        let mean_power = logs.iter().map(|log| (shape * log).exp()).sum::<f64>() / n;
        let scale = unit * (mean_power.ln() / shape).exp();
        let log_likelihood =
            n * (shape.ln() - shape * scale.ln() + (shape - 1.0) * (mean_log + unit.ln()) - 1.0);
        Self { beyond, shape, scale, log_likelihood }
    }
}

/// The root of Σ y^c ln y / Σ y^c − 1/c − mean ln y, by halving ln c.
fn shape_of(logs: &[f64], mean_log: f64) -> f64 {
    let slope = |c: f64| {
        let (mut powers, mut weighted) = (0.0, 0.0);
        for log in logs {
            let power = (c * log).exp();
            powers += power;
            weighted += power * log;
        }
        weighted / powers - 1.0 / c - mean_log
    };
    let (mut low, mut high) = (1e-3_f64.ln(), 1e6_f64.ln());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if slope(middle.exp()) < 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp()
}

/// The largest profile between two points, by golden sections.
fn golden(at: &impl Fn(f64) -> Profile, mut low: f64, mut high: f64) -> Profile {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (at(left), at(right));
    for _ in 0..50 {
        if at_left.log_likelihood > at_right.log_likelihood {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = at(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = at(right);
        }
    }
    if at_left.log_likelihood > at_right.log_likelihood { at_left } else { at_right }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of a known distribution give it back.
    #[test]
    fn quantiles_give_their_distribution_back() {
        let quantile = |i: usize| 7.0 - 2.0 * (-((i as f64 + 0.5) / 2000.0).ln()).powf(1.0 / 3.0);
        let maxima: Vec<f64> = (0..2000).map(quantile).collect();
        let fitted = ReverseWeibull::fit(&maxima).unwrap();
        // Midpoint quantiles are a sample without noise; what is left is their discreteness, of order 1/n in the tails.
        assert!((fitted.endpoint - 7.0).abs() < 0.02, "{fitted:?}");
        assert!((fitted.shape - 3.0).abs() < 0.05, "{fitted:?}");
        assert!((fitted.scale - 2.0).abs() < 0.02, "{fitted:?}");
        assert!(fitted.distance < 0.002 && fitted.p_value(2000) > 0.99, "{fitted:?}");
    }

    #[test]
    fn values_without_a_fit_have_none() {
        assert_eq!(ReverseWeibull::fit(&[1.0, 1.0, 1.0]), None);
        assert_eq!(ReverseWeibull::fit(&[1.0, 2.0]), None);
        assert_eq!(ReverseWeibull::fit(&[1.0, f64::INFINITY, 2.0, 3.0]), None);
        // Exponential below their endpoint: the likelihood is largest at the largest value itself.
        let spiked: Vec<f64> = (0..500).map(|i| -((i as f64 + 0.5) / 500.0).ln().abs().powf(2.0)).collect();
        assert_eq!(ReverseWeibull::fit(&spiked), None);
    }
}
