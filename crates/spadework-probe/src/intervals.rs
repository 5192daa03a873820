//! Confidence intervals in closed form: for shares and means of samples, and for the difference of two models.
//!
//! - A share of independent samples: Wilson's score interval.
//! - A mean of numbers: Student's interval.
//! - Two models on the same samples: [`paired_shares`] (Bonett and Price 2012, "Adjusted Wald confidence interval for a
//!   difference of binomial proportions based on paired data") with McNemar's exact test, and [`paired_means`].
//! - Two models on different samples: [`unpaired_shares`] (Newcombe 1998, "Interval estimation for the difference between
//!   independent proportions", method 10).
//!
//! Intervals describe the choice of samples from the same source. They do not show whether an estimate is biased. A gate only asks
//! whether a model is worse, so its intervals are those of [`Confidence::OneSided`]. Counts of samples are whole numbers, which a
//! normal distribution is not, so these intervals have a continuity correction of half a sample. Without it, some gates between
//! equal models failed in more than 5 % of cases.

/// How certain an interval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confidence {
    /// A 95 % interval, for estimates: the true value is outside in 5 % of cases, on one side or the other.
    #[default]
    TwoSided,
    /// A 90 % interval, for decisions: the true value is beyond each end in 5 % of cases.
    OneSided,
}

impl Confidence {
    /// How often the interval contains the true value.
    pub fn level(self) -> f64 {
        match self {
            Self::TwoSided => 0.95,
            Self::OneSided => 0.9,
        }
    }

    /// How often the truth is below the upper end.
    fn tail(self) -> f64 {
        match self {
            Self::TwoSided => 0.975,
            Self::OneSided => 0.95,
        }
    }

    /// The part of a sample by which the ends of a difference of counts are moved outwards: decisions must not fail too often.
    fn continuity(self) -> f64 {
        match self {
            Self::TwoSided => 0.0,
            Self::OneSided => 0.5,
        }
    }

    /// The quantile of a normal distribution at the tail.
    pub(crate) fn z(self) -> f64 {
        match self {
            Self::TwoSided => 1.959_963_984_540_054,
            Self::OneSided => 1.644_853_626_951_472_2,
        }
    }
}

/// The median of some numbers, which it sorts; none of no numbers.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// A number that was estimated from samples, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Estimated {
    /// The estimate.
    pub estimate: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Samples that it was estimated from.
    pub n: usize,
}

/// What an interval says about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The whole interval is within the limit.
    Kept,
    /// The whole interval is beyond the limit.
    Broken,
    /// The interval contains the limit.
    Open,
}

impl Decision {
    fn at_least(limit: f64, lower: f64, upper: f64) -> Self {
        if lower >= limit {
            Decision::Kept
        } else if upper < limit {
            Decision::Broken
        } else {
            Decision::Open
        }
    }
}

impl Estimated {
    /// Whether it is at least `limit`.
    pub fn is_at_least(&self, limit: f64) -> Decision {
        Decision::at_least(limit, self.lower, self.upper)
    }

    /// An estimate with a standard error, whose interval is Student's with n − 1 degrees of freedom.
    pub fn with_standard_error(estimate: f64, standard_error: f64, n: usize, confidence: Confidence) -> Self {
        // One sample says nothing about others, however small its error seems.
        let half = if n < 2 { f64::INFINITY } else { student(n - 1, confidence) * standard_error };
        Self { estimate, lower: estimate - half, upper: estimate + half, n }
    }

    /// Converts a 95 % interval to another confidence, as for a normal distribution.
    #[must_use]
    pub fn at(self, confidence: Confidence) -> Self {
        let part = confidence.z() / Confidence::TwoSided.z();
        let moved = |end: f64| self.estimate + part * (end - self.estimate);
        Self { lower: moved(self.lower), upper: moved(self.upper), ..self }
    }

    /// An estimate with a known interval.
    pub fn new(estimate: f64, lower: f64, upper: f64, n: usize) -> Self {
        Self { estimate, lower, upper, n }
    }

    /// The same with the interval cut at 0 and 1.
    #[must_use]
    pub fn within_unit(self) -> Self {
        Self { lower: self.lower.max(0.0), upper: self.upper.min(1.0), ..self }
    }
}

/// A model minus its baseline, with a confidence interval: negative if the model is worse.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The difference.
    pub difference: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Confidence of the interval.
    pub confidence: Confidence,
    /// Samples of the model, and of the baseline too if they are paired.
    pub n: usize,
    /// Probability of a difference this large between equal models, one-sided if the confidence is one-sided; none if no test
    /// was made.
    pub p: Option<f64>,
    /// Samples that the baseline gets right and the model does not; none if samples are not paired or are not yes or no.
    pub lost: Option<usize>,
}

impl Difference {
    /// Whether the model is below its baseline by at most `limit`. A model that lost none of the samples that its baseline gets
    /// right has not dropped, however few samples there are: a model must pass its own gate.
    pub fn drops_at_most(&self, limit: f64) -> Decision {
        match self.lost {
            Some(0) => Decision::Kept,
            _ => Decision::at_least(-limit, self.lower, self.upper),
        }
    }
}

/// A share of samples, by Wilson's score interval.
///
/// ```
/// use spadework_probe::intervals::wilson;
/// let share = wilson(43, 100);
/// assert_eq!((share.estimate, share.n), (0.43, 100));
/// assert!(share.lower > 0.33 && share.upper < 0.53);
/// ```
///
/// # Panics
/// When there are no samples, or more successes than samples.
pub fn wilson(successes: usize, n: usize) -> Estimated {
    wilson_at(successes, n, Confidence::TwoSided)
}

/// The same with another confidence.
///
/// # Panics
/// As [`wilson`].
pub fn wilson_at(successes: usize, n: usize, confidence: Confidence) -> Estimated {
    assert!(n > 0 && successes <= n, "{successes} of {n} is not a share");
    let z = confidence.z();
    let (count, share) = (n as f64, successes as f64 / n as f64);
    let shrink = 1.0 + z * z / count;
    let center = (share + z * z / (2.0 * count)) / shrink;
    let half = z * (share * (1.0 - share) / count + z * z / (4.0 * count * count)).sqrt() / shrink;
    // At the ends of the scale the interval ends there too; the roots differ by rounding alone.
    let lower = if successes == 0 { 0.0 } else { center - half };
    let upper = if successes == n { 1.0 } else { center + half };
    Estimated { estimate: share, lower, upper, n }
}

/// Whether a share of which `successes` of `n` samples were seen is at least `limit`: by [`wilson`], and if its interval is below the
/// limit, also by the exact binomial test. Near 1 the interval is too short: 99 of 100 would be below a limit of 99.9 %, although a
/// model whose share is 99.9 % has at most 99 successes in one of ten cases.
///
/// # Panics
/// As [`wilson`].
pub fn share_is_at_least(successes: usize, n: usize, limit: f64) -> Decision {
    /// A model exactly at its limit fails at most this often.
    const FALSE_ALARMS: f64 = 0.05;
    let decision = wilson(successes, n).is_at_least(limit);
    let is_sure = || binomial_tail(successes, n, limit) <= FALSE_ALARMS;
    if decision == Decision::Broken && !is_sure() { Decision::Open } else { decision }
}

/// The share of `true`, as [`wilson`].
///
/// # Panics
/// When there are no samples.
pub fn share(samples: &[bool]) -> Estimated {
    wilson(samples.iter().filter(|&&is| is).count(), samples.len())
}

/// The mean of numbers, by Student's interval.
///
/// # Panics
/// When there are no numbers.
pub fn mean(values: &[f64]) -> Estimated {
    let (mean, standard_error) = mean_and_error(values);
    Estimated::with_standard_error(mean, standard_error, values.len(), Confidence::TwoSided)
}

/// The difference of two shares on the same samples: `model` minus `baseline`.
///
/// # Panics
/// When there are no samples, or not the same number of both.
pub fn paired_shares(baseline: &[bool], model: &[bool]) -> Difference {
    paired_shares_at(baseline, model, Confidence::TwoSided)
}

/// The same with another confidence.
///
/// # Panics
/// As [`paired_shares`].
pub fn paired_shares_at(baseline: &[bool], model: &[bool], confidence: Confidence) -> Difference {
    assert!(baseline.len() == model.len() && !model.is_empty(), "both models on the same samples");
    let pairs = || baseline.iter().zip(model);
    let lost = pairs().filter(|&(&before, &now)| before && !now).count();
    let gained = pairs().filter(|&(&before, &now)| !before && now).count();
    let n = model.len();
    // One imagined sample lost, one gained: without them nothing lost would mean nothing uncertain.
    let part = |count: usize| (count as f64 + 1.0) / (n as f64 + 2.0);
    let center = part(gained) - part(lost);
    let variance = (part(gained) + part(lost) - center * center) / (n as f64 + 2.0);
    let half = confidence.z() * variance.sqrt() + confidence.continuity() / (n as f64 + 2.0);
    Difference {
        difference: (gained as f64 - lost as f64) / n as f64,
        lower: (center - half).max(-1.0),
        upper: (center + half).min(1.0),
        confidence,
        n,
        p: Some(match confidence {
            Confidence::TwoSided => mcnemar(lost, gained),
            Confidence::OneSided => at_least_as_many_lost(lost, gained),
        }),
        lost: Some(lost),
    }
}

/// The difference of two means on the same samples: `model` minus `baseline`, by Student's interval of the differences.
///
/// # Panics
/// When there are no samples, or not the same number of both.
pub fn paired_means(baseline: &[f64], model: &[f64]) -> Difference {
    assert_eq!(baseline.len(), model.len(), "both models on the same samples");
    let differences: Vec<f64> = baseline.iter().zip(model).map(|(before, now)| now - before).collect();
    Difference::of(mean(&differences), Confidence::TwoSided)
}

/// The difference of two shares on different samples: `model` minus `baseline`. Their intervals have this confidence.
pub fn unpaired_shares(baseline: &Estimated, model: &Estimated, confidence: Confidence) -> Difference {
    let difference = model.estimate - baseline.estimate;
    let step = confidence.continuity() * (1.0 / model.n as f64 + 1.0 / baseline.n as f64);
    let below = step + f64::hypot(model.estimate - model.lower, baseline.upper - baseline.estimate);
    let above = step + f64::hypot(model.upper - model.estimate, baseline.estimate - baseline.lower);
    Difference {
        difference,
        lower: (difference - below).max(-1.0),
        upper: (difference + above).min(1.0),
        confidence,
        n: model.n,
        p: None,
        lost: None,
    }
}

impl Difference {
    /// The difference of an estimate that is a mean of differences. Its interval has this confidence.
    pub fn of(estimated: Estimated, confidence: Confidence) -> Self {
        let Estimated { estimate, lower, upper, n } = estimated;
        Self { difference: estimate, lower, upper, confidence, n, p: None, lost: None }
    }
}

/// McNemar's exact test: the two-sided probability of a split of the changed samples that is at least as uneven, if losing and
/// gaining a sample were equally likely.
///
/// ```
/// use spadework_probe::intervals::mcnemar;
/// assert_eq!(mcnemar(5, 0), 2.0 / 32.0);
/// assert_eq!(mcnemar(0, 0), 1.0);
/// ```
pub fn mcnemar(lost: usize, gained: usize) -> f64 {
    let (few, changed) = (lost.min(gained), lost + gained);
    if 2 * few == changed {
        return 1.0;
    }
    (2.0 * binomial_tail(few, changed, 0.5)).min(1.0)
}

/// McNemar's exact test of one side: the probability that of so many samples that changed at least as many were lost.
fn at_least_as_many_lost(lost: usize, gained: usize) -> f64 {
    binomial_tail(gained, lost + gained, 0.5)
}

/// The probability of at most `few` heads in so many tosses of a coin that shows heads with probability `heads`; logarithms, since the
/// terms of a thousand tosses are too small for a double.
fn binomial_tail(few: usize, tosses: usize, heads: f64) -> f64 {
    if heads >= 1.0 {
        return if few < tosses { 0.0 } else { 1.0 };
    }
    let tails = (-heads).ln_1p();
    let mut log_term = tosses as f64 * tails;
    let mut tail = log_term.exp();
    for count in 1..=few {
        log_term += ((tosses - count + 1) as f64 / count as f64).ln() + heads.ln() - tails;
        tail += log_term.exp();
    }
    tail.min(1.0)
}

/// The mean and its standard error, 0 of a single number.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    assert!(!values.is_empty(), "a mean of no numbers");
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// The quantile of Student's distribution at the tail.
///
/// Exact for one degree of freedom and for two; from three on the expansion of Cornish and Fisher, within 0.2 %, and within
/// 1e-5 from twelve on.
fn student(freedom: usize, confidence: Confidence) -> f64 {
    debug_assert!(freedom > 0, "no spread without two samples");
    let (tail, z) = (confidence.tail(), confidence.z());
    match freedom {
        1 => (std::f64::consts::PI * (tail - 0.5)).tan(),
        2 => (2.0 * tail - 1.0) / (2.0 * tail * (1.0 - tail)).sqrt(),
        _ => {
            let v = freedom as f64;
            let terms = [
                z,
                (z.powi(3) + z) / 4.0,
                (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
                (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
                (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z)
                    / 92160.0,
            ];
            terms.iter().rev().fold(0.0, |sum, term| sum / v + term)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_close(found: f64, expected: f64, error: f64) {
        assert!((found - expected).abs() <= error, "{found:.17} instead of {expected:.17}");
    }

    /// By SciPy 1.17: `scipy.stats.binomtest(s, n).proportion_ci(confidence_level, method="wilson")` with 0.95 and, for gates, 0.9.
    #[test]
    fn shares_have_the_intervals_of_scipy() {
        let cases = [
            (0, 10, [0.0, 0.277_532_799_862_889_26], [0.0, 0.212_941_970_083_406_98]),
            (
                43,
                100,
                [0.337_332_985_241_101_1, 0.527_846_104_507_876_8],
                [0.351_469_858_019_358_2, 0.512_218_122_890_286_1],
            ),
            (500, 500, [0.992_375_659_538_447_9, 1.0], [0.994_618_035_370_158_1, 1.0]),
            (
                9920,
                10_000,
                [0.990_055_195_654_451_2, 0.993_566_949_948_802_9],
                [0.990_395_784_949_858_2, 0.993_338_061_583_235_8],
            ),
        ];
        for (successes, n, both_sides, one_side) in cases {
            for (confidence, ends) in [(Confidence::TwoSided, both_sides), (Confidence::OneSided, one_side)] {
                let found = wilson_at(successes, n, confidence);
                is_close(found.lower, ends[0], 1e-14);
                is_close(found.upper, ends[1], 1e-14);
            }
        }
        assert_eq!(share(&[true, false, false]), wilson(1, 3));
        is_close(wilson(1, 3).lower, 0.061_491_944_720_396_26, 1e-14);
        is_close(wilson(1, 3).upper, 0.792_340_399_197_952_3, 1e-14);
    }

    /// The ends of a gate, by SciPy: `t.ppf(0.95, freedom)`, and the formula of Bonett and Price with `norm.ppf(0.95)` and half a sample
    /// more; p by `binomtest(lost, lost + gained, alternative="greater").pvalue`.
    #[test]
    fn gates_have_one_sided_bounds() {
        let expected = [(1, 6.313_751_514_675_037), (2, 2.919_985_580_353_724_2)];
        for (freedom, quantile) in expected {
            is_close(student(freedom, Confidence::OneSided), quantile, 1e-12);
        }
        is_close(student(9, Confidence::OneSided), 1.833_112_932_656_237, 3e-5);
        let lost = |lost: usize, n: usize| -> Vec<bool> { (0..n).map(|at| at >= lost).collect() };
        let found = paired_shares_at(&lost(0, 1000), &lost(6, 1000), Confidence::OneSided);
        is_close(found.lower, -0.011_119_650_667_064_943, 1e-14);
        is_close(found.upper, -0.000_856_397_237_126_674_3, 1e-14);
        is_close(found.p.unwrap(), 1.0 / 64.0, 1e-14);
        assert_eq!(found.confidence.level(), 0.9);
        is_close(at_least_as_many_lost(80, 40), 0.000_165_200_009_195_659, 1e-14);
        assert_eq!((at_least_as_many_lost(0, 3), at_least_as_many_lost(0, 0)), (1.0, 1.0));
        // Of a Student interval, and of a normal one, the halves are in the ratio of the quantiles.
        let narrower = Estimated::new(0.5, 0.5 - 1.959_963_984_540_054, 0.6, 9).at(Confidence::OneSided);
        is_close(narrower.lower, 0.5 - 1.644_853_626_951_472_2, 1e-15);
    }

    /// How often the gate of a drop fails, by the binomial distribution: of 1,000 samples each is lost or gained with these
    /// probabilities.
    fn failures(lost: f64, gained: f64) -> f64 {
        const SAMPLES: usize = 1000;
        let differ = lost + gained;
        let of_changed = |changed: usize| -> f64 {
            let fails = |lost: &usize| -> bool {
                let before: Vec<bool> = (0..SAMPLES).map(|at| at < *lost || at >= changed).collect();
                let now: Vec<bool> = (0..SAMPLES).map(|at| at >= *lost).collect();
                paired_shares_at(&before, &now, Confidence::OneSided).drops_at_most(0.0) == Decision::Broken
            };
            // The more are lost, the surer is the gate: the first number of losses that fails says all.
            let (mut passes, mut broken) = (0, changed + 1);
            while passes + 1 < broken {
                let middle = usize::midpoint(passes, broken);
                if fails(&middle) { broken = middle } else { passes = middle }
            }
            if broken > changed { 0.0 } else { binomial_tail(changed - broken, changed, gained / differ) }
        };
        let mut sum = 0.0;
        let mut before = 0.0;
        for changed in 0..400 {
            let up_to = binomial_tail(changed, SAMPLES, differ);
            sum += (up_to - before) * of_changed(changed);
            before = up_to;
        }
        sum
    }

    /// Whatever part of the samples differs between equal models; and a drop of five points between networks that were trained in
    /// different ways, as ResNet-18 on CIFAR-10, where 15 and 19 % of the samples differ.
    #[test]
    fn drops_are_false_alarms_in_at_most_5_percent_and_seen_in_at_least_95() {
        for differ in [0.002, 0.006, 0.018, 0.05, 0.1, 0.151, 0.186, 0.25, 0.3] {
            let alarms = failures(differ / 2.0, differ / 2.0);
            assert!(alarms <= 0.0475, "{alarms} at {differ}");
        }
        for (differ, right) in [(0.006, 0.99), (0.018, 0.95), (0.151, 0.88), (0.186, 0.9)] {
            let part = 0.05 / right;
            let power = failures(differ / 2.0 + (right - differ / 2.0) * part, differ / 2.0 * (1.0 - part));
            assert!(power >= 0.95, "{power} at {differ}");
        }
    }

    /// By SciPy: `binom.cdf(99, 100, 0.999)` is 0.0952, and `binom.cdf(97, 100, 0.999)` 0.00015, though the intervals of both lie below
    /// 99.9 %.
    #[test]
    fn a_share_near_1_breaks_its_limit_by_the_exact_test() {
        is_close(binomial_tail(980, 1000, 0.99), 0.003_288_359_787_727_489, 1e-12);
        is_close(binomial_tail(99, 100, 0.999), 0.095_207_852_886_290_9, 1e-12);
        assert!(wilson(99, 100).upper < 0.999);
        assert_eq!(share_is_at_least(99, 100, 0.999), Decision::Open);
        assert_eq!(share_is_at_least(97, 100, 0.999), Decision::Broken);
        assert_eq!(share_is_at_least(99, 100, 1.0), Decision::Broken);
        assert_eq!(
            (share_is_at_least(600, 1000, 0.65), share_is_at_least(600, 1000, 0.5)),
            (Decision::Broken, Decision::Kept)
        );
        assert_eq!(share_is_at_least(0, 10, 0.0), Decision::Kept);
    }

    /// By SciPy: `scipy.stats.binomtest(lost, lost + gained).pvalue`.
    #[test]
    fn mcnemar_is_the_binomial_test_of_scipy() {
        for (lost, gained, p) in [
            (0, 0, 1.0),
            (1, 1, 1.0),
            (6, 0, 0.031_25),
            (12, 3, 0.035_156_25),
            (3, 12, 0.035_156_25),
            (80, 40, 0.000_330_400_018_391_318_15),
            (700, 300, 1.766_567_800_794_956_8e-37),
        ] {
            // Logarithms of some hundred terms.
            is_close(mcnemar(lost, gained), p, 1e-11 * p);
        }
    }

    /// The formula of Bonett and Price, in Python, with `scipy.stats.norm.ppf(0.975)`.
    #[test]
    fn paired_shares_have_the_interval_of_their_authors() {
        let of = |lost: usize, gained: usize, n: usize| {
            let baseline: Vec<bool> = (0..n).map(|i| i < lost || i >= lost + gained).collect();
            let model: Vec<bool> = (0..n).map(|i| i >= lost).collect();
            paired_shares(&baseline, &model)
        };
        for (lost, gained, n, lower, upper) in [
            (0, 0, 1000, -0.002_766_275_098_502_351, 0.002_766_275_098_502_351),
            (6, 0, 1000, -0.011_508_136_778_111_862, -0.000_467_911_126_079_756_55),
            (80, 30, 1000, -0.070_369_232_520_365_31, -0.029_431_166_681_231_493),
            (3, 9, 20, -0.040_528_095_219_404_59, 0.585_982_640_673_95),
        ] {
            let found = of(lost, gained, n);
            is_close(found.lower, lower, 1e-14);
            is_close(found.upper, upper, 1e-14);
            assert_eq!((found.lost, found.p), (Some(lost), Some(mcnemar(lost, gained))));
            is_close(found.difference, (gained as f64 - lost as f64) / n as f64, 1e-15);
        }
    }

    /// By statsmodels 0.15: `confint_proportions_2indep(s1, n1, s2, n2, method="newcomb", compare="diff")`.
    #[test]
    fn unpaired_shares_have_the_interval_of_statsmodels() {
        for (model, baseline, lower, upper) in [
            ((430, 500), (400, 500), 0.013_413_741_212_986_982, 0.106_438_265_617_234_46),
            ((10, 10), (0, 10), 0.607_509_350_430_524_1, 1.0),
            ((56, 70), (48, 80), 0.052_431_472_402_364_98, 0.333_872_654_036_906_14),
            ((495, 500), (980, 1000), -0.004_942_777_070_613_986, 0.022_124_721_390_084_51),
        ] {
            let found = unpaired_shares(
                &wilson(baseline.0, baseline.1),
                &wilson(model.0, model.1),
                Confidence::TwoSided,
            );
            is_close(found.lower, lower, 1e-14);
            is_close(found.upper, upper, 1e-14);
        }
        // The same formula in NumPy with `norm.ppf(0.95)`, and half a sample of either side more.
        let at = |successes| wilson_at(successes, 500, Confidence::OneSided);
        let found = unpaired_shares(&at(400), &at(430), Confidence::OneSided);
        is_close(found.lower, 0.018_937_895_811_852_005, 1e-14);
        is_close(found.upper, 0.100_958_967_055_403_89, 1e-14);
    }

    #[test]
    fn an_interval_that_covers_the_limit_decides_nothing() {
        let between = |lower, upper| Estimated::new(0.5, lower, upper, 100).is_at_least(0.8);
        assert_eq!((between(0.8, 0.9), between(0.7, 0.8)), (Decision::Kept, Decision::Open));
        assert_eq!((between(0.7, 0.9), between(0.7, 0.79)), (Decision::Open, Decision::Broken));
        // Two of four lost is more than nothing, but not surely; none lost is no drop at all.
        let all = [true; 4];
        assert_eq!(paired_shares(&all, &[true, true, false, false]).drops_at_most(0.0), Decision::Open);
        assert_eq!(paired_shares(&all, &all).drops_at_most(0.0), Decision::Kept);
        assert_eq!(paired_shares(&[true; 40], &[false; 40]).drops_at_most(0.5), Decision::Broken);
    }

    /// By SciPy: `scipy.stats.t.ppf(0.975, freedom)`.
    #[test]
    fn quantiles_are_those_of_student() {
        for (freedom, expected, error) in [
            (1, 12.706_204_736_174_694, 1e-12),
            (2, 4.302_652_729_749_462, 1e-12),
            (3, 3.182_446_305_283_708, 6e-3),
            (4, 2.776_445_105_197_793_4, 2e-3),
            (9, 2.262_157_162_798_205, 3e-5),
            (29, 2.045_229_642_132_703, 1e-7),
            (9999, 1.960_201_263_621_357, 1e-12),
        ] {
            is_close(student(freedom, Confidence::TwoSided), expected, error);
        }
    }

    /// By SciPy: `scipy.stats.ttest_rel(b, a).confidence_interval()`.
    #[test]
    fn paired_means_have_the_interval_of_scipy() {
        let a = [0.2, 0.4, 0.1, 0.9, 0.5, 0.3, 0.7, 0.6, 0.25, 0.35, 0.15, 0.8];
        let b = [0.1, 0.35, 0.2, 0.7, 0.5, 0.1, 0.65, 0.4, 0.3, 0.2, 0.05, 0.85];
        let found = paired_means(&a, &b);
        is_close(found.difference, -0.070_833_333_333_333_36, 1e-15);
        // As exact as the quantile of eleven degrees of freedom.
        is_close(found.lower, -0.137_826_202_898_595_48, 1e-6);
        is_close(found.upper, -0.003_840_463_768_071_150_6, 1e-6);
        assert_eq!(mean(&[2.0]).upper, f64::INFINITY);
    }
}
