//! The eigenpairs of two graphs as a document: what `eigen --json` prints. The vectors are in a file.

use serde::{Deserialize, Serialize};

use crate::parts::SpectrumDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.eigen/3";

/// Eigenvalues and how they were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EigenDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// Eigenvalues and the bounds of the first, as fields of the document itself.
    #[serde(flatten)]
    pub spectrum: SpectrumDocument,
    /// How the eigenpairs were found.
    pub solver: String,
    /// Iterations of an iterative method.
    pub iterations: usize,
    /// Version of the program that wrote it.
    pub version: String,
}
