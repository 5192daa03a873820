//! Label pairs: which two classes the model pulls apart, and how unevenly fragility is spread over
//! the labels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EdgeScores, LabelScore};
use crate::error::{Error, Result};

/// Mean score of the input edges between two labels, or within one label if both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LabelPairScore {
    /// The lower label.
    pub a: i64,
    /// The upper label, or the same.
    pub b: i64,
    /// Mean edge score.
    pub score: f64,
    /// Number of edges between them.
    pub edges: usize,
}

/// The upper triangle of the label-pair matrix: every pair of labels that an edge of the input graph joins, ascending.
///
/// A pair that is missing has no edge: no sample of one label has a neighbor of the other.
///
/// # Errors
/// When a sample of an edge has no label.
pub fn label_pair_scores(edges: &EdgeScores, labels: &[i64]) -> Result<Vec<LabelPairScore>> {
    let last = edges.edges().iter().map(|&(_, q)| q as usize).max().unwrap_or(0);
    if last >= labels.len() {
        return Err(Error::LabelCount { samples: last + 1, labels: labels.len() });
    }
    let mut sums: BTreeMap<(i64, i64), (f64, usize)> = BTreeMap::new();
    for (&(p, q), score) in edges.edges().iter().zip(edges.scores()) {
        let (a, b) = (labels[p as usize], labels[q as usize]);
        let (sum, count) = sums.entry((a.min(b), a.max(b))).or_default();
        *sum += score;
        *count += 1;
    }
    let pair = |((a, b), (sum, edges)): ((i64, i64), (f64, usize))| LabelPairScore {
        a,
        b,
        score: sum / edges as f64,
        edges,
    };
    Ok(sums.into_iter().map(pair).collect())
}

/// How unevenly fragility is spread over the labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Disparity {
    /// The label with the largest score; ties to the lower label.
    pub worst: i64,
    /// Its score as a multiple of the mean of all label scores, each label counted once: 1 if all labels have the same
    /// score, at most the number of labels.
    pub ratio: f64,
}

/// The worst label and how far it is above the mean; `None` without labels.
pub fn disparity(labels: &[LabelScore]) -> Option<Disparity> {
    let first = labels.first()?;
    let worst =
        labels.iter().fold(first, |worst, label| if label.score > worst.score { label } else { worst });
    let mean = labels.iter().map(|label| label.score).sum::<f64>() / labels.len() as f64;
    let ratio = if mean > 0.0 { worst.score / mean } else { 1.0 };
    Some(Disparity { worst: worst.label, ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_label_and_the_mean() {
        let of = |scores: &[f64]| {
            let label = |(label, &score): (i64, &f64)| LabelScore { label, score, samples: 1 };
            disparity(&(0..).zip(scores).map(label).collect::<Vec<_>>())
        };
        assert_eq!(of(&[1.0, 4.0, 4.0, 3.0]), Some(Disparity { worst: 1, ratio: 4.0 / 3.0 }));
        assert_eq!(of(&[2.0, 2.0]), Some(Disparity { worst: 0, ratio: 1.0 }));
        assert_eq!(of(&[0.0]), Some(Disparity { worst: 0, ratio: 1.0 }));
        assert_eq!(of(&[]), None);
    }
}
