//! Embeddings of the samples as a document: what `embed --json` prints.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::parts::MadeDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.embed/2";

/// Coordinates of the samples from both graphs and from the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedDocument {
    /// Name and version of the layout.
    pub schema: String,
    /// Number of samples.
    pub samples: usize,
    /// Dimensions of every embedding.
    pub dims: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// By the input graph, by the output graph, and by both.
    pub embeddings: Vec<EmbeddingDocument>,
    /// Request, notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
}

/// One set of coordinates.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingDocument {
    /// `input`, `output` or `generalized`.
    pub of: String,
    /// One eigenvalue per dimension.
    pub eigenvalues: Vec<f64>,
    /// Relative residual of each eigenpair.
    pub residuals: Vec<f64>,
    /// One row per sample; absent if they are in a file.
    pub coordinates: Option<Vec<Vec<f64>>>,
}
