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
    /// λ_1; larger is less robust.
    pub model_score: f64,
    /// Number of samples.
    pub samples: usize,
    /// By what they are ranked: `fragility`, `margin`, `overlap` or `node`.
    pub by: String,
    /// Which samples were selected, as fields of the document itself.
    #[serde(flatten)]
    pub selection: SelectionDocument,
    /// The same with what is known of each.
    pub nodes: Vec<NodeDocument>,
    /// What the fragility is made of.
    #[serialize_always]
    pub fragility_basis: Option<String>,
    /// What probes have shown, where asked for.
    pub probe: Option<ProbeDocument>,
    /// The model that was run, where outputs were not given as an array.
    pub model: Option<ModelFileDocument>,
    /// How it came about, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
}
