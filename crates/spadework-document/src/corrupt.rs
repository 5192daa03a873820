//! Corrupted images as a document: what `corrupt --json` prints. The images are in a file.

use serde::Serialize;

use crate::score::CorruptionDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.corrupt/1";

/// Images that were corrupted and written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorruptDocument {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The images, as the user named them.
    pub inputs: String,
    /// The file that was written.
    pub out: String,
    /// Number of images.
    pub samples: usize,
    /// What was done to them.
    pub corruption: CorruptionDocument,
    /// Mean change of the values, which are between 0 and 1.
    pub mean_change: f64,
    /// Largest change of a value.
    pub largest_change: f64,
    /// Version of the program that wrote it.
    pub version: &'static str,
}
