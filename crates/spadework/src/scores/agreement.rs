//! How much two sets of scores of the same samples agree.

use super::{kendall_tau, largest};

/// Agreement of two sets of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// How many of the largest scores of each were compared: `top`, or all if there are fewer.
    pub top: usize,
    /// How many samples are among the largest of both; ties to the lower index.
    pub shared: usize,
    /// Spearman's rank correlation, with mean ranks for equal scores; `None` if all scores of one side are equal, so that
    /// they have no order.
    pub spearman: Option<f64>,
    /// Kendall's τ_b, likewise; see [`kendall_tau`].
    pub kendall: Option<f64>,
}

impl Agreement {
    /// The share of the largest scores that both have in common, 0 to 1. By chance it would be top/n.
    pub fn overlap(&self) -> f64 {
        self.shared as f64 / self.top as f64
    }
}

/// Compares the `top` largest of two sets of scores, and the order of all.
///
/// # Panics
/// When the sets have different lengths, are empty, or `top` is 0.
///
/// ```
/// use spadework::scores::agreement::agreement;
/// let found = agreement(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0], 2);
/// assert_eq!((found.shared, found.overlap()), (1, 0.5));
/// assert_eq!(found.spearman, Some(0.8));
/// ```
pub fn agreement(a: &[f64], b: &[f64], top: usize) -> Agreement {
    assert!(a.len() == b.len() && !a.is_empty() && top > 0, "two scores for every sample");
    let top = top.min(a.len());
    let mut chosen = vec![false; a.len()];
    for index in largest(a, top) {
        chosen[index] = true;
    }
    let shared = largest(b, top).into_iter().filter(|&index| chosen[index]).count();
    Agreement { top, shared, spearman: pearson(&mean_ranks(a), &mean_ranks(b)), kendall: kendall_tau(a, b) }
}

/// Ranks from 1, ascending; equal scores share the mean of their ranks. These are multiples of one half, so they are exact.
pub fn mean_ranks(scores: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let mut ranks = vec![0.0; scores.len()];
    let mut start = 0;
    for group in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let mean = start as f64 + (group.len() + 1) as f64 / 2.0;
        for &index in group {
            ranks[index] = mean;
        }
        start += group.len();
    }
    ranks
}

fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().map(|x| x - mean_a).zip(b.iter().map(|y| y - mean_b)) {
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    (aa > 0.0 && bb > 0.0).then(|| (ab / (aa * bb).sqrt()).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By SciPy: `scipy.stats.spearmanr(a, b).statistic`.
    #[test]
    fn spearman_is_what_scipy_says() {
        let a = [0.3, 1.2, 1.2, 5.0, -1.0, 0.3, 0.3, 9.5, 2.25, 0.0];
        let b = [1.0, 1.5, 0.5, 4.0, 1.0, 0.25, 1.0, 3.0, 4.0, -2.0];
        let found = agreement(&a, &b, 3).spearman.unwrap();
        // Sums of a few halves: only the last division and root round.
        assert!((found - 0.737_5).abs() < 1e-14, "{found:.17}");
    }

    #[test]
    fn order_alone_counts() {
        let a: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 50)).collect();
        let cubes: Vec<f64> = a.iter().map(|v| v.powi(3)).collect();
        let reverse: Vec<f64> = a.iter().map(|v| -v).collect();
        let of = |shared, correlation| Agreement {
            top: 10,
            shared,
            spearman: Some(correlation),
            kendall: Some(correlation),
        };
        assert_eq!(agreement(&a, &cubes, 10), of(10, 1.0));
        assert_eq!(agreement(&a, &reverse, 10), of(0, -1.0));
        assert_eq!(agreement(&a, &reverse, 100).shared, 50);
        let none = agreement(&a, &[1.0; 50], 10);
        assert_eq!((none.spearman, none.kendall), (None, None));
    }
}
