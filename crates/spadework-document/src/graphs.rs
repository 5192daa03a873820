//! One model on graphs made in every way, as a document: what `graphs --json` prints.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::parts::{MadeDocument, SpectrumDocument};
use crate::score::{GraphsDocument, ModelFileDocument};

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.graphs/3";

/// A model on graphs made in every way.
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
    /// k.
    pub neighbors: usize,
    /// Samples compared by `top_overlap`.
    pub top: usize,
    /// One row for every way, knn with unit weights first.
    pub constructions: Vec<ConstructionDocument>,
    /// The model that was run for the outputs.
    pub model: Option<ModelFileDocument>,
    /// How it came about, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
}

/// One way of making graphs: what came of it, or why nothing did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstructionDocument {
    /// How the graphs are made of their samples.
    pub graph: String,
    /// What their edges weigh.
    pub weights: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// What came of one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Scores.
    Scored(Box<ConstructionScores>),
    /// None, and why.
    Failed {
        /// What went wrong.
        error: String,
    },
}

/// The scores of one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstructionScores {
    /// The model score, as fields of the way itself.
    #[serde(flatten)]
    pub spectrum: SpectrumDocument,
    /// k that was used.
    pub neighbors_used: usize,
    /// Both graphs.
    pub graphs: GraphsDocument,
    /// Agreement of the node scores with those on knn graphs; none where these have no score, and no order where all scores of
    /// one side are equal.
    pub kendall_tau: Option<f64>,
    /// The share of the most fragile samples in common with those.
    pub top_overlap: Option<f64>,
}
