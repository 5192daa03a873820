//! How well one sequence of numbers follows another: rank correlations with their uncertainty, and how well a score tells
//! two groups apart.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework::scores::agreement::agreement;
use spadework::scores::kendall_tau;
use spadework_probe::intervals::{Confidence, Estimated};

/// Samples drawn with replacement for an interval.
pub(crate) const BOOTSTRAPS: usize = 2000;

/// Spearman's rank correlation, ties sharing their mean rank; `None` where all numbers of one side are equal.
pub(crate) fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 { None } else { agreement(a, b, 1).spearman }
}

/// Kendall's τ_b.
pub(crate) fn kendall(a: &[f64], b: &[f64]) -> Option<f64> {
    kendall_tau(a, b)
}

/// Spearman's correlation of `a` and `b` once what both share with `given` is taken out (Kendall 1942):
/// (ρ_ab − ρ_ac ρ_bc)/√((1 − ρ_ac²)(1 − ρ_bc²)).
pub(crate) fn partial_spearman(a: &[f64], b: &[f64], given: &[f64]) -> Option<f64> {
    let (ab, ac, bc) = (spearman(a, b)?, spearman(a, given)?, spearman(b, given)?);
    let scale = ((1.0 - ac * ac) * (1.0 - bc * bc)).sqrt();
    (scale > 1e-12).then(|| ((ab - ac * bc) / scale).clamp(-1.0, 1.0))
}

/// The 95 % percentile interval of Spearman's correlation when pairs are drawn with replacement (Efron 1979). `None` where
/// fewer than half of the draws have an order.
pub(crate) fn spearman_interval(a: &[f64], b: &[f64], seed: u64) -> Option<(f64, f64)> {
    bootstrapped(a.len(), seed, |drawn| spearman(&chosen(a, drawn), &chosen(b, drawn)))
}

/// The same where members of a group belong together: groups are drawn with replacement, each with all of its members.
pub(crate) fn spearman_interval_of_groups(
    a: &[f64],
    b: &[f64],
    groups: &[&str],
    seed: u64,
) -> Option<(f64, f64)> {
    let mut names = groups.to_vec();
    names.sort_unstable();
    names.dedup();
    let members = |name: &str| (0..groups.len()).filter(|&at| groups[at] == name).collect::<Vec<usize>>();
    let members: Vec<Vec<usize>> = names.into_iter().map(members).collect();
    bootstrapped(members.len(), seed, |drawn| {
        let drawn: Vec<usize> = drawn.iter().flat_map(|&group| members[group].iter().copied()).collect();
        spearman(&chosen(a, &drawn), &chosen(b, &drawn))
    })
}

/// The 95 % percentile interval of the area under the curve when members of both groups are drawn with replacement.
pub(crate) fn auroc_interval(scores: &[f64], group: &[bool], seed: u64) -> Option<(f64, f64)> {
    bootstrapped(scores.len(), seed, |drawn| {
        let members: Vec<bool> = drawn.iter().map(|&at| group[at]).collect();
        auroc(&chosen(scores, drawn), &members)
    })
}

fn chosen(values: &[f64], places: &[usize]) -> Vec<f64> {
    places.iter().map(|&at| values[at]).collect()
}

/// The middle 95 % of a number over draws of `count` places with replacement; `None` where fewer than half of the draws have it.
fn bootstrapped(count: usize, seed: u64, number: impl Fn(&[usize]) -> Option<f64>) -> Option<(f64, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = Vec::with_capacity(BOOTSTRAPS);
    for _ in 0..BOOTSTRAPS {
        let drawn: Vec<usize> = (0..count).map(|_| rng.random_range(0..count)).collect();
        found.extend(number(&drawn));
    }
    if found.len() < BOOTSTRAPS / 2 {
        return None;
    }
    found.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| found[((found.len() - 1) as f64 * share).round() as usize];
    Some((at(0.025), at(0.975)))
}

/// The area under the curve: the probability that a random member of the group scores higher than a random other one, ties
/// counting half (Mann and Whitney 1947). `None` where one of the two is empty.
pub(crate) fn auroc(scores: &[f64], group: &[bool]) -> Option<f64> {
    let members = group.iter().filter(|&&member| member).count();
    let others = group.len() - members;
    if members == 0 || others == 0 {
        return None;
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let (mut wins, mut others_below) = (0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let of_group = tied.iter().filter(|&&at| group[at]).count() as f64;
        let rest = tied.len() as f64 - of_group;
        wins += of_group * (others_below + rest / 2.0);
        others_below += rest;
    }
    Some(wins / (members as f64 * others as f64))
}

/// The share of members among the `top` highest scores, or among all where there are fewer; ties to the lower index.
pub(crate) fn precision_at(scores: &[f64], group: &[bool], top: usize) -> Option<f64> {
    let highest = spadework_nn::highest(scores, top);
    let members = highest.iter().filter(|&&at| group[at]).count();
    (!highest.is_empty()).then(|| members as f64 / highest.len() as f64)
}

/// Mean and standard deviation (of a sample, n − 1; 0 of a single number).
pub(crate) fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let freedom = values.len().saturating_sub(1).max(1);
    Some((mean, (squares / freedom as f64).sqrt()))
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The difference of two ways of training that were judged on the same images with the same seeds, with 95 % intervals: for
/// other images and these seeds, for other seeds and these images, and for both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paired {
    pub(crate) by_images: Estimated,
    pub(crate) by_seeds: Estimated,
    pub(crate) overall: Estimated,
}

/// One way less another; for every seed whether each image was classified rightly. `None` where there is nothing to compare.
///
/// Images and seeds are crossed factors: the variance of the mean is at most that by images plus that by seeds (their
/// interaction is in both). Degrees of freedom by Satterthwaite (1946), rounded down.
///
/// # Panics
/// When seeds or images of the two are not the same in number.
pub(crate) fn paired(one: &[&[bool]], other: &[&[bool]]) -> Option<Paired> {
    assert_eq!(one.len(), other.len(), "both with the same seeds");
    let images = one.first().map_or(0, |flags| flags.len());
    let (mut of_images, mut of_seeds) = (vec![0.0; images], Vec::with_capacity(one.len()));
    for (one, other) in one.iter().zip(other) {
        assert!(one.len() == images && other.len() == images, "both on the same images");
        let differences = one.iter().zip(*other).map(|(&one, &other)| f64::from(one) - f64::from(other));
        let mut total = 0.0;
        for (of_image, difference) in of_images.iter_mut().zip(differences) {
            *of_image += difference;
            total += difference;
        }
        of_seeds.push(total / images as f64);
    }
    for sum in &mut of_images {
        *sum /= one.len() as f64;
    }
    let (difference, by_images) = mean_and_variance(&of_images)?;
    let (_, by_seeds) = mean_and_variance(&of_seeds)?;
    let interval = |variance: f64, n: usize| {
        Estimated::with_standard_error(difference, variance.sqrt(), n, Confidence::TwoSided)
    };
    Some(Paired {
        by_images: interval(by_images, images),
        by_seeds: interval(by_seeds, one.len()),
        overall: interval(
            by_images + by_seeds,
            if one.len() < 2 { 1 } else { samples_of_sum((by_images, images), (by_seeds, one.len())) },
        ),
    })
}

/// The mean and the variance of the mean.
fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    let (mean, deviation) = mean_and_deviation(values)?;
    Some((mean, deviation * deviation / values.len() as f64))
}

/// As many samples as would estimate the sum of two variances as well as both together do.
fn samples_of_sum((a, of_a): (f64, usize), (b, of_b): (f64, usize)) -> usize {
    let part = |variance: f64, n: usize| variance * variance / (n as f64 - 1.0);
    let freedom = (a + b).powi(2) / (part(a, of_a) + part(b, of_b));
    // Where nothing varies there is nothing to estimate: the smaller of both.
    if freedom.is_finite() { freedom.floor() as usize + 1 } else { of_a.min(of_b) }
}

/// Whether every number is smaller than the one before.
pub(crate) fn falls(values: &[f64]) -> bool {
    values.is_sorted_by(|a, b| a > b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 10] = [0.3, 1.2, 1.2, 5.0, -1.0, 0.3, 0.3, 9.5, 2.25, 0.0];
    const B: [f64; 10] = [1.0, 1.5, 0.5, 4.0, 1.0, 0.25, 1.0, 3.0, 4.0, -2.0];
    const C: [f64; 10] = [2.0, 1.0, 0.0, 3.0, 5.0, 0.5, 1.5, 2.5, 2.0, -1.0];
    const GROUP: [bool; 10] = [false, true, false, true, false, false, true, true, false, false];

    /// By SciPy and scikit-learn: `spearmanr(a, b)`, `kendalltau(a, b)`, `roc_auc_score(group, a)`, and for the partial
    /// correlation the residuals of ranks after a least squares fit on the ranks of c. A few sums and a root: 1e-12.
    #[test]
    fn values_are_those_of_scipy() {
        let close = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?} for {expected}");
        };
        close(spearman(&A, &B), 0.737_5);
        close(kendall(&A, &B), 0.585_365_853_658_536_6);
        close(auroc(&A, &GROUP), 0.812_5);
        close(partial_spearman(&A, &B, &C), 0.826_321_256_033_634_7);
    }

    /// A score that orders as the group does wins always, its reverse never, a constant half of the time.
    #[test]
    fn areas_have_their_extremes() {
        let group = [false, false, true, true];
        assert_eq!(auroc(&[1.0, 2.0, 3.0, 4.0], &group), Some(1.0));
        assert_eq!(auroc(&[4.0, 3.0, 2.0, 1.0], &group), Some(0.0));
        assert_eq!(auroc(&[1.0; 4], &group), Some(0.5));
        assert_eq!(auroc(&[1.0; 4], &[true; 4]), None);
        assert_eq!(precision_at(&[1.0, 4.0, 3.0, 2.0], &group, 2), Some(0.5));
    }

    #[test]
    fn nothing_is_left_where_the_third_explains_everything() {
        assert_eq!(partial_spearman(&A, &B, &A), None);
        assert_eq!(spearman(&A, &[1.0; 10]), None);
    }

    /// For pairs of correlation ρ the standard error of a correlation is about (1 − ρ²)/√n.
    #[test]
    fn intervals_hold_the_value_and_have_its_width() {
        let a: Vec<f64> = (0..400).map(f64::from).collect();
        let b: Vec<f64> = (0..400).map(|i| f64::from(i) + 400.0 * f64::from(i * 173 % 400) / 400.0).collect();
        let rho = spearman(&a, &b).unwrap();
        let (low, high) = spearman_interval(&a, &b, 1).unwrap();
        let width = 2.0 * 1.96 * (1.0 - rho * rho) / 20.0;
        assert!(low < rho && rho < high, "{low} {rho} {high}");
        // The formula is for normal pairs; these are not, so a factor of two is granted.
        assert!((high - low) / width < 2.0 && width / (high - low) < 2.0, "{low} {rho} {high} {width}");
    }

    /// Ten pairs, each four times: as forty pairs of their own they have half the interval that ten groups have. An area has the interval of
    /// its own bootstrap.
    #[test]
    fn copies_in_a_group_count_once() {
        let four = |values: &[f64]| values.iter().flat_map(|&value| [value; 4]).collect::<Vec<f64>>();
        let names: Vec<String> = (0..10).flat_map(|at| vec![at.to_string(); 4]).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let width = |interval: Option<(f64, f64)>| interval.map(|(low, high)| high - low).unwrap();
        let of_groups = width(spearman_interval_of_groups(&four(&A), &four(&B), &names, 1));
        let alone = width(spearman_interval(&four(&A), &four(&B), 1));
        assert!((of_groups / width(spearman_interval(&A, &B, 1)) - 1.0).abs() < 0.1, "{of_groups}");
        assert!((1.4..3.0).contains(&(of_groups / alone)), "{of_groups} {alone}");
        let (low, high) = auroc_interval(&A, &GROUP, 1).unwrap();
        assert!(low < 0.812_5 && high > 0.812_5 && high <= 1.0, "{low} {high}");
    }

    /// Three seeds, twelve images, by NumPy and SciPy: d = one − other, variances `d.mean(0).var(ddof=1)/12` and
    /// `d.mean(1).var(ddof=1)/3`, quantiles `t.ppf(0.975, freedom)` with 11, 2 and ⌊12.04⌋ degrees of freedom. Our quantiles are
    /// within 0.2 % from three degrees on, 1e-5 from twelve on.
    #[test]
    fn pairs_have_the_intervals_of_scipy() {
        let flags = |text: &str| text.bytes().map(|byte| byte == b'1').collect::<Vec<bool>>();
        let one = ["111101111011", "111111110011", "111101111111"].map(flags);
        let other = ["110101011011", "101111010011", "110100011110"].map(flags);
        let found = paired(&one.each_ref().map(Vec::as_slice), &other.each_ref().map(Vec::as_slice)).unwrap();
        let is = |found: Estimated, lower: f64, upper: f64, error: f64| {
            assert!((found.estimate - 2.0 / 9.0).abs() < 1e-12, "{found:?}");
            assert!((found.lower - lower).abs() < error && (found.upper - upper).abs() < error, "{found:?}");
        };
        is(found.by_images, 0.013_665_949_857_953, 0.430_778_494_586_491, 5e-4);
        is(found.by_seeds, -0.016_814_040_541_637, 0.461_258_484_986_081, 1e-9);
        is(found.overall, -0.017_101_254_866_939, 0.461_545_699_311_383, 1e-5);
    }

    /// Arms that are right on the same images differ by nothing, however uncertain each of them is; and one seed says nothing
    /// about others.
    #[test]
    fn equal_arms_differ_by_nothing_and_one_seed_leaves_everything_open() {
        let flags: Vec<bool> = (0..40).map(|at| at % 3 == 0).collect();
        let same = paired(&[&flags, &flags], &[&flags, &flags]).unwrap();
        assert_eq!((same.overall.lower, same.overall.upper), (0.0, 0.0));
        let alone = paired(&[&flags], &[&[false; 40]]).unwrap();
        assert!(alone.by_images.lower > 0.0 && alone.overall.lower == f64::NEG_INFINITY, "{alone:?}");
        assert_eq!(paired(&[], &[]), None);
    }

    #[test]
    fn small_things() {
        assert_eq!(mean_and_deviation(&[1.0, 3.0]), Some((2.0, 2.0_f64.sqrt())));
        assert_eq!(mean_and_deviation(&[5.0]), Some((5.0, 0.0)));
        assert!(falls(&[3.0, 2.0]) && !falls(&[2.0, 2.0]));
    }
}
