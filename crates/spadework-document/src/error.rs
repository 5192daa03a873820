//! What can go wrong with a document.

use std::path::PathBuf;

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A file that cannot be read or written, or that is not the document it should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file itself.
    #[error(transparent)]
    File(#[from] spadework_io::Error),
    /// A file that is not a document of the layout requested.
    #[error("{path}: expected a result.json with schema `{schema}`, but {reason}", path = path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// The layout requested.
        schema: &'static str,
        /// What it is instead.
        reason: String,
    },
    /// A file that is not a stage of a score.
    #[error("{path}: {reason}", path = path.display())]
    Stage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}
