//! Scores: what the eigenpairs say about the model, its edges, its samples and their labels.

pub mod agreement;
mod contrast;
mod cut;
mod distortion;
mod edge;
mod full_spectrum;
mod label;
mod label_pairs;
mod neighborhoods;
mod node;
mod overlap;
mod ranking;
mod riemannian;
mod spread;

pub use contrast::{BOOTSTRAPS, CONFIDENCE, Contrast, MeanInterval, PERMUTATIONS, draw_others};
pub use cut::{Cut, sparsest_cut};
pub use distortion::{DistanceKind, Distances, Distortion, LargestDistortion, MOST_CANDIDATES};
pub use edge::{EdgeScore, EdgeScores};
pub use label::{LabelScore, label_scores};
pub use label_pairs::{Disparity, LabelPairScore, disparity, label_pair_scores};
pub use neighborhoods::Neighborhoods;
pub use node::{NodeScore, NodeScores};
pub use overlap::{EdgeMean, SampleOverlaps, distances_of_former_neighbors, edge_overlap, label_agreement};
pub use ranking::kendall_tau;
pub use riemannian::{LARGEST, MOST_SAMPLES_FOR_ALL, ReverseScore, RiemannianDistance};
pub use spread::Spread;

use crate::eigen::GeneralizedEigenpairs;

/// The SPADE score of a model, λ_1 = λ_max(L_Y⁺L_X); larger is less robust.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct ModelScore(pub f64);

impl std::fmt::Display for ModelScore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The embedding V_r = [v_1 √λ_1 … v_r √λ_r]: one row of r numbers per sample.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectralEmbedding {
    dim: usize,
    values: Vec<f64>,
}

impl SpectralEmbedding {
    /// Embeds the samples by eigenpairs.
    pub fn from_eigenpairs(pairs: &GeneralizedEigenpairs) -> Self {
        let dim = pairs.len();
        let scales: Vec<f64> = pairs.values().iter().map(|value| value.sqrt()).collect();
        let samples = pairs.vectors()[0].len();
        let mut values = Vec::with_capacity(samples * dim);
        for p in 0..samples {
            values.extend(pairs.vectors().iter().zip(&scales).map(|(vector, scale)| vector[p] * scale));
        }
        Self { dim, values }
    }

    /// An embedding from stored numbers: rows of `dim` numbers, one after the other.
    ///
    /// # Panics
    /// When the values do not fill whole rows.
    pub fn from_rows(dim: usize, values: Vec<f64>) -> Self {
        assert!(dim > 0 && values.len().is_multiple_of(dim), "whole rows of {dim} numbers");
        Self { dim, values }
    }

    /// Numbers per sample, r.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The row of sample `p`.
    pub fn row(&self, p: usize) -> &[f64] {
        &self.values[p * self.dim..(p + 1) * self.dim]
    }

    /// All rows, one after the other.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// Indices of the `count` largest scores, largest first, ties to the lower index.
pub fn largest(scores: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    let larger_first = |&a: &usize, &b: &usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b));
    if count < order.len() {
        order.select_nth_unstable_by(count, larger_first);
        order.truncate(count);
    }
    order.sort_unstable_by(larger_first);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_index() {
        assert_eq!(largest(&[1.0, 3.0, 2.0, 3.0, 3.0], 3), [1, 3, 4]);
        assert_eq!(largest(&[0.0; 4], 2), [0, 1]);
        assert_eq!(largest(&[1.0], 10), [0]);
    }
}
