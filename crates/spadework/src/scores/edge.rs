//! Edge scores (the paper's Definition 6).

use serde::{Deserialize, Serialize};

use super::{SpectralEmbedding, largest};
use crate::graph::Graph;

/// ‖V_rᵀ(e_p − e_q)‖² = Σ_i λ_i (v_i(p) − v_i(q))² for every edge of the input graph, in the order of
/// [`Graph::edges`].
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeScores {
    edges: Vec<(u32, u32)>,
    scores: Vec<f64>,
}

/// One edge and its score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EdgeScore {
    /// The sample with the lower index.
    pub p: u32,
    /// The sample with the higher index.
    pub q: u32,
    /// Its score.
    pub score: f64,
}

impl EdgeScores {
    /// Scores the edges of the input graph by an embedding.
    pub fn from_embedding(input: &Graph, embedding: &SpectralEmbedding) -> Self {
        let edges: Vec<_> = input.edges().map(|(p, q, _)| (p, q)).collect();
        let score = |&(p, q): &(u32, u32)| {
            let rows = embedding.row(p as usize).iter().zip(embedding.row(q as usize));
            rows.map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let scores = edges.iter().map(score).collect();
        Self { edges, scores }
    }

    /// Scores that were computed for the edges of an input graph.
    pub(super) fn new(edges: Vec<(u32, u32)>, scores: Vec<f64>) -> Self {
        debug_assert_eq!(edges.len(), scores.len(), "one score per edge");
        Self { edges, scores }
    }

    /// Number of edges.
    #[expect(clippy::len_without_is_empty, reason = "a graph of samples has edges")]
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// The edges (p, q), p < q, ascending.
    pub fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    /// Their scores, in the same order.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The `count` edges of largest score, largest first, ties to the lower nodes.
    pub fn top(&self, count: usize) -> Vec<EdgeScore> {
        let entry =
            |at: usize| EdgeScore { p: self.edges[at].0, q: self.edges[at].1, score: self.scores[at] };
        largest(&self.scores, count).into_iter().map(entry).collect()
    }
}
