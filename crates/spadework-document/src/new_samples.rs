//! New samples against a scored model, as a document: what `score --reference --json` prints.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::parts::WrittenDocument;
use crate::request::DistancesDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.new-samples/2";

/// New samples that were scored by a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewSamplesDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// Number of new samples.
    pub samples: usize,
    /// The reference.
    pub reference: ReferenceDocument,
    /// New samples that equal a sample of the reference.
    pub known: usize,
    /// Entries of eigenvectors that are means over output neighbors.
    pub averaged: usize,
    /// New samples whose inputs are far from the reference.
    pub far_inputs: usize,
    /// New samples whose outputs are far from the reference.
    pub far_outputs: usize,
    /// Most fragile new samples.
    pub top_nodes: Vec<NewNodeDocument>,
    /// Notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub written: WrittenDocument,
    /// Wall-clock seconds.
    pub total_s: f64,
}

/// The scored model that new samples were scored against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceDocument {
    /// Its folder.
    pub result: String,
    /// SPADE score λ_1.
    pub model_score: f64,
    /// Number of its samples.
    pub samples: usize,
    /// Neighbors per sample, k.
    pub neighbors: usize,
    /// Number of eigenpairs, r.
    pub eigenpairs: usize,
    /// How distances are taken, of new samples too, as fields of the reference itself.
    #[serde(flatten)]
    pub distances: DistancesDocument,
}

/// A new sample and its score.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewNodeDocument {
    /// The sample, counted from 0.
    pub index: usize,
    /// Its score.
    pub score: f64,
    /// Share of the reference samples with a lower score.
    pub quantile: f64,
    /// Its label in words, if there are labels.
    pub label: Option<String>,
}
