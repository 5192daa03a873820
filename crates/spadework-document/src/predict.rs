//! The outputs of a model as a document: what `predict --json` prints. The numbers are in a file.

use serde::Serialize;

use crate::note::Note;
use crate::score::ModelFileDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.predict/2";

/// Outputs that were computed and written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictDocument<'a> {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The file that was written.
    pub out: String,
    /// Shape of the array in it.
    pub shape: &'a [usize],
    /// The model that was run.
    pub model: &'a ModelFileDocument,
    /// Share of the samples whose largest output is that of their label, if the inputs have labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Notes: what a reader must know.
    pub notes: &'a [Note],
    /// Version of the program that wrote it.
    pub version: &'static str,
}
