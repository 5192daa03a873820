//! Node scores (the paper's Definition 7).

use super::{EdgeScores, largest};
use crate::graph::Graph;

/// For every sample, the mean score of its edges in the input graph: a mean over its neighbors, not a sum.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeScores(Vec<f64>);

/// One sample and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NodeScore {
    /// The sample.
    pub index: usize,
    /// Its score.
    pub score: f64,
}

impl NodeScores {
    /// Averages edge scores over the edges of each node; a node without edges scores 0.
    pub fn from_edges(input: &Graph, edges: &EdgeScores) -> Self {
        let mut sums = vec![0.0; input.nodes()];
        for (&(p, q), score) in edges.edges().iter().zip(edges.scores()) {
            sums[p as usize] += score;
            sums[q as usize] += score;
        }
        for (p, sum) in sums.iter_mut().enumerate() {
            *sum /= input.neighbors(p).len().max(1) as f64;
        }
        Self(sums)
    }

    /// Scores that were computed in another way, one per sample.
    pub fn from_scores(scores: Vec<f64>) -> Self {
        Self(scores)
    }

    /// The scores, one per sample.
    pub fn scores(&self) -> &[f64] {
        &self.0
    }

    /// The score of one sample.
    ///
    /// # Panics
    /// When there is no such sample.
    pub fn of(&self, index: usize) -> NodeScore {
        NodeScore { index, score: self.0[index] }
    }

    /// The `count` samples with the largest scores, most fragile first, ties to the lower index.
    pub fn top(&self, count: usize) -> Vec<NodeScore> {
        largest(&self.0, count).into_iter().map(|index| self.of(index)).collect()
    }

    /// The rank of every sample, 1 for the most fragile; ties to the lower index.
    pub fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![0; self.0.len()];
        for (rank, index) in largest(&self.0, self.0.len()).into_iter().enumerate() {
            ranks[index] = rank + 1;
        }
        ranks
    }
}
