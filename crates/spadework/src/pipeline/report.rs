//! The report: everything that an evaluation finds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::params::SpadeParams;
use super::sparsify::SparsifierInfo;
use crate::eigen::{Enclosure, GeneralizedEigenpairs, basis_bytes, relabels};
use crate::error::Result;
use crate::graph::{Connection, GraphPair};
use crate::laplacian::SketchInfo;
use crate::neighbors::{Recall, Ties};
use crate::scores::{
    EdgeScores, LabelPairScore, LabelScore, ModelScore, NodeScores, SpectralEmbedding, label_pair_scores,
    label_scores,
};

/// Everything [`evaluate`](crate::pipeline::evaluate) found, and how.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SpadeReport {
    /// λ_1; larger is less robust.
    pub model_score: ModelScore,
    /// Bounds of the model score.
    pub enclosure: Enclosure,
    /// The eigenpairs.
    pub eigenpairs: GeneralizedEigenpairs,
    /// The embedding V_r.
    pub embedding: SpectralEmbedding,
    /// Both graphs.
    pub graphs: GraphPair,
    /// Scores of the input graph's edges.
    pub edge_scores: EdgeScores,
    /// Scores of the samples.
    pub node_scores: NodeScores,
    /// How the edge scores were obtained, if they are those of the full spectrum
    /// ([`Spectrum::Full`](crate::pipeline::Spectrum::Full)).
    pub full_spectrum: Option<SketchInfo>,
    /// Parameters, what was done to connect the graphs, and times.
    pub diagnostics: Diagnostics,
}

impl SpadeReport {
    /// Mean node score of every label.
    ///
    /// # Errors
    /// When there is not one label per sample.
    pub fn label_scores(&self, labels: &[i64]) -> Result<Vec<LabelScore>> {
        label_scores(&self.node_scores, labels)
    }

    /// Mean edge score between every two labels that an edge of the input graph joins.
    ///
    /// # Errors
    /// When there is not one label per sample.
    pub fn label_pair_scores(&self, labels: &[i64]) -> Result<Vec<LabelPairScore>> {
        label_pair_scores(&self.edge_scores, labels)
    }
}

/// The result of step (a): the graphs of a model, and how they were made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelGraphs {
    /// Both graphs.
    pub graphs: GraphPair,
    /// Parameters, what was done to connect the graphs, and times.
    pub diagnostics: Diagnostics,
}

impl ModelGraphs {
    /// Graphs that were made earlier.
    pub fn new(graphs: GraphPair, diagnostics: Diagnostics) -> Self {
        Self { graphs, diagnostics }
    }
}

/// The result of step (b).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SolvedSpectrum {
    /// The eigenpairs.
    pub eigenpairs: GeneralizedEigenpairs,
    /// Bounds of λ_1.
    pub enclosure: Enclosure,
    /// Time that the eigenpairs took.
    pub eigen_time: Duration,
    /// Time that the bounds took.
    pub enclosure_time: Duration,
}

impl SolvedSpectrum {
    /// A spectrum that was found earlier; its times are 0 until they are set.
    pub fn new(eigenpairs: GeneralizedEigenpairs, enclosure: Enclosure) -> Self {
        Self { eigenpairs, enclosure, eigen_time: Duration::ZERO, enclosure_time: Duration::ZERO }
    }
}

/// How a report was computed.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Diagnostics {
    /// The parameters.
    pub params: SpadeParams,
    /// Numbers per input sample; 0 if a graph was given.
    pub input_dim: usize,
    /// Numbers per output sample; 0 if a graph was given.
    pub output_dim: usize,
    /// How the input graph was made.
    pub input_graph: Construction,
    /// How the output graph was made.
    pub output_graph: Construction,
    /// What was done to connect the graphs.
    pub connection: Connection,
    /// Input samples with so many exact copies that their neighbors are decided by index alone.
    pub inputs_decided_by_index: usize,
    /// The same for outputs.
    pub outputs_decided_by_index: usize,
    /// Output samples with so many exact copies that their neighbors are decided by distance at the input.
    pub outputs_decided_by_inputs: usize,
    /// What decides between equally near outputs; none if no two outputs are equal, or if a graph was given.
    pub ties: Option<Ties>,
    /// The recall of the neighbors among the inputs; exact if a graph was given.
    pub input_recall: Recall,
    /// The same for outputs.
    pub output_recall: Recall,
    /// Times by stage.
    pub timings: Timings,
}

/// How one graph was made, in addition to what [`SpadeParams`] says.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Construction {
    /// Whether the caller gave the graph; then nothing else was done to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given: bool,
    /// Principal components the samples were projected to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<usize>,
    /// Share of the variance that they explain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<f64>,
    /// Gaussian weights that were raised to the smallest allowed weight.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weights_raised: usize,
    /// What a sparsified graph was made from, and how closely it approximates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparsifier: Option<SparsifierInfo>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Approximate number of bytes that graphs, eigenpairs and scores of this many samples take; of no eigenpairs, graphs alone. The
/// constants are derived from what docs/benchmarks.md says of eigenpairs (70,000 samples with two and with ten, 200,000 with two)
/// and of a million samples, all with k = 10.
pub fn bytes_after_search(samples: usize, neighbors: usize, eigenpairs: usize) -> usize {
    /// Per neighbor: lists, both graphs, and scores of edges.
    const EDGE: usize = 45;
    /// Per neighbor, while eigenpairs are found: the preconditioner.
    const FACTOR: usize = 20;
    /// Per neighbor: copies of both graphs with other labels, where there are.
    const RELABELED: usize = 13;
    /// Vectors in use at a time, beside the basis.
    const VECTORS: usize = 200;
    // More than there are samples are refused.
    let (neighbors, eigenpairs) = (neighbors.min(samples), eigenpairs.min(samples));
    let graphs = neighbors * EDGE;
    if eigenpairs == 0 {
        return samples.saturating_mul(graphs);
    }
    let copies = if relabels(samples) { neighbors * RELABELED } else { 0 };
    samples.saturating_mul(graphs + copies + neighbors * FACTOR + VECTORS + basis_bytes(eigenpairs))
}

/// Wall-clock time by stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Timings {
    /// Neighbors among the inputs.
    pub neighbors_input: Duration,
    /// Neighbors among the outputs.
    pub neighbors_output: Duration,
    /// Building and connecting the graphs, without later searches.
    pub graphs: Duration,
    /// Preconditioner and eigenpairs.
    pub eigen: Duration,
    /// Upper bound of the model score.
    pub enclosure: Duration,
    /// Embedding, edge and node scores.
    pub scores: Duration,
    /// All of these.
    pub total: Duration,
}

impl Timings {
    /// All stages together.
    pub(super) fn sum(&self) -> Duration {
        self.neighbors_input + self.neighbors_output + self.graphs + self.eigen + self.enclosure + self.scores
    }
}
