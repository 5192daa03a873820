//! Samples whose neighborhoods changed from one model's outputs to another's: what `select --moved --json` prints.

use serde::{Deserialize, Serialize};

use crate::estimates::ShareDocument;
use crate::facts::SampleDocument;
use crate::parts::{SelectionDocument, WrittenDocument};

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.moved/1";

/// The samples whose neighbors changed most, first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MovedDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// The old outputs, as the user named them.
    pub outputs: String,
    /// The new outputs, as the user named them.
    pub against: String,
    /// Number of samples.
    pub samples: usize,
    /// Neighbors per sample, k.
    pub neighbors: usize,
    /// The distance between outputs: `euclidean`, `cosine`, `manhattan` or `chebyshev`.
    pub metric: String,
    /// The share of the former neighbors that are still neighbors, over all samples.
    pub overlap: ShareDocument,
    /// Which samples were selected, as fields of the document itself.
    #[serde(flatten)]
    pub selection: SelectionDocument,
    /// The same samples with their numbers.
    pub nodes: Vec<MovedNodeDocument>,
    /// Seed of an approximate search.
    pub seed: u64,
    /// Notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub written: WrittenDocument,
}

/// A sample and the share of its neighbors that it kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MovedNodeDocument {
    /// Which sample, as fields of the document itself.
    #[serde(flatten)]
    pub sample: SampleDocument,
    /// The share of its former neighbors that are still its neighbors.
    pub overlap: f64,
    /// The mean distance to its former neighbors divided by the mean distance to its new neighbors, both in the new outputs. Of samples
    /// with equal overlaps, the one with the largest ratio comes first. Absent if the new neighbors are exact copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_ratio: Option<f64>,
}
