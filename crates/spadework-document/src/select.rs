//! Selected samples as a document: what `select --json` prints.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::facts::NodeDocument;
use crate::parts::{MadeDocument, SelectionDocument};
use crate::probe::ProbeDocument;
use crate::score::ModelFileDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.select/3";

/// The samples that were selected, most fragile first.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// SPADE score λ_1; larger is less robust.
    pub model_score: f64,
    /// Number of samples.
    pub samples: usize,
    /// What they are ranked by: `fragility`, `margin`, `overlap` or `node`.
    pub by: String,
    /// Which samples were selected, as fields of the document itself.
    #[serde(flatten)]
    pub selection: SelectionDocument,
    /// The same samples with their numbers.
    pub nodes: Vec<NodeDocument>,
    /// What the fragility uses.
    #[serialize_always]
    pub fragility_basis: Option<String>,
    /// Results of the probes, if requested.
    pub probe: Option<ProbeDocument>,
    /// The model that was run, if the outputs were not given as an array.
    pub model: Option<ModelFileDocument>,
    /// Request, notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
}
