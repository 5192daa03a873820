//! The eigenpairs of two graphs as a document: what `eigen --json` prints. The vectors are in a file.

use serde::{Deserialize, Serialize};

use crate::score::EnclosureDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.eigen/1";

/// Eigenvalues and how they were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EigenDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// λ_1 ≥ … ≥ λ_r.
    pub eigenvalues: Vec<f64>,
    /// Relative residual of each eigenpair.
    pub residuals: Vec<f64>,
    /// Bounds of λ_1.
    pub enclosure: EnclosureDocument,
    /// How the eigenpairs were found.
    pub solver: String,
    /// Iterations of an iterative method.
    pub iterations: usize,
    /// Version of the program that wrote it.
    pub version: String,
}
