//! Label scores: which classes are fragile.

use std::collections::BTreeMap;

use super::NodeScores;
use crate::error::{Error, Result};

/// Mean node score of the samples with one label.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LabelScore {
    /// The label.
    pub label: i64,
    /// Mean node score.
    pub score: f64,
    /// Number of samples with this label.
    pub samples: usize,
}

/// The score of every label that occurs, ascending by label.
///
/// # Errors
/// When there is not one label per sample.
pub fn label_scores(nodes: &NodeScores, labels: &[i64]) -> Result<Vec<LabelScore>> {
    if labels.len() != nodes.scores().len() {
        return Err(Error::LabelCount { samples: nodes.scores().len(), labels: labels.len() });
    }
    let mut sums: BTreeMap<i64, (f64, usize)> = BTreeMap::new();
    for (&label, score) in labels.iter().zip(nodes.scores()) {
        let (sum, samples) = sums.entry(label).or_default();
        *sum += score;
        *samples += 1;
    }
    let score = |(label, (sum, samples)): (i64, (f64, usize))| LabelScore {
        label,
        score: sum / samples as f64,
        samples,
    };
    Ok(sums.into_iter().map(score).collect())
}
