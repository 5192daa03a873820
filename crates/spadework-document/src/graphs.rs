//! One model on graphs made in every way, as a document: what `graphs --json` prints.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::parts::{MadeDocument, SpectrumDocument};
use crate::score::{GraphsDocument, ModelFileDocument};

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.graphs/4";

/// SPADE scores of one model on graphs of every kind.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstructionsDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// Number of samples.
    pub samples: usize,
    /// Numbers per input.
    pub input_dim: usize,
    /// Numbers per output.
    pub output_dim: usize,
    /// Neighbors per sample, k.
    pub neighbors: usize,
    /// Samples compared by `top_shared`.
    pub top: usize,
    /// One row per kind of graph, knn with unit weights first.
    pub constructions: Vec<ConstructionDocument>,
    /// The model that was run for the outputs.
    pub model: Option<ModelFileDocument>,
    /// Request, notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
}

/// One kind of graph: its result, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstructionDocument {
    /// Kind of graph.
    pub graph: String,
    /// Kind of edge weights.
    pub weights: String,
    /// Its result.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// Result of one kind of graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Scores.
    Scored(Box<ConstructionScores>),
    /// No score, and why.
    Failed {
        /// What went wrong.
        error: String,
    },
}

/// Scores on one kind of graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstructionScores {
    /// Eigenvalues with their residuals and the SPADE score with its numerical bounds.
    #[serde(flatten)]
    pub spectrum: SpectrumDocument,
    /// k that was used.
    pub neighbors_used: usize,
    /// Both graphs.
    pub graphs: GraphsDocument,
    /// Kendall's rank correlation of the node scores with those on knn graphs; absent if these have no score or if all scores of
    /// one side are equal.
    pub kendall_tau: Option<f64>,
    /// The share of the most fragile samples in common with those.
    pub top_shared: Option<f64>,
}
