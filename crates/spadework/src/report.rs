//! What comes out.

use std::time::Duration;

use crate::eigen::{Enclosure, GeneralizedEigenpairs};
use crate::graph::{Connection, GraphPair};
use crate::scores::{
    EdgeScores, LabelPairScore, LabelScore, ModelScore, NodeScores, SpectralEmbedding, label_pair_scores,
    label_scores,
};
use crate::{Result, SpadeParams};

/// Everything [`evaluate`](crate::evaluate) found, and how.
#[derive(Debug, Clone)]
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
    /// Parameters, what was done to connect the graphs, and times.
    pub diagnostics: Diagnostics,
}

impl SpadeReport {
    /// Mean node score of every label.
    ///
    /// # Errors
    /// When there is not one label a sample.
    pub fn label_scores(&self, labels: &[i64]) -> Result<Vec<LabelScore>> {
        label_scores(&self.node_scores, labels)
    }

    /// Mean edge score between every two labels that an edge of the input graph joins.
    ///
    /// # Errors
    /// When there is not one label a sample.
    pub fn label_pair_scores(&self, labels: &[i64]) -> Result<Vec<LabelPairScore>> {
        label_pair_scores(&self.edge_scores, labels)
    }
}

/// How a report came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostics {
    /// The parameters.
    pub params: SpadeParams,
    /// Numbers per input sample.
    pub input_dim: usize,
    /// Numbers per output sample.
    pub output_dim: usize,
    /// What was done to connect the graphs.
    pub connection: Connection,
    /// Input samples with so many exact copies that their neighbours are decided by index alone.
    pub inputs_decided_by_index: usize,
    /// The same for outputs.
    pub outputs_decided_by_index: usize,
    /// Times by stage.
    pub timings: Timings,
}

/// Wall-clock time by stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// Neighbours among the inputs.
    pub neighbors_input: Duration,
    /// Neighbours among the outputs.
    pub neighbors_output: Duration,
    /// Building and connecting the graphs, later searches not counted.
    pub graphs: Duration,
    /// Preconditioner and eigenpairs.
    pub eigen: Duration,
    /// Upper bound of the model score.
    pub enclosure: Duration,
    /// Embedding, edge and node scores.
    pub scores: Duration,
    /// All of it.
    pub total: Duration,
}
