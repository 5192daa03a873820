//! Results as documents: what `--json` prints and a folder of results holds.
//!
//! One module per document, plain data for serde with versioned layouts (`spadework.score/1`, …), and what it takes to restore
//! the parameters of a result. The fields and their names are an interface: they change only with the number in the name of
//! the layout. [`stages`] holds the files between the stages of a score.

pub mod beside;
pub mod comparison;
pub mod distortion;
mod error;
pub mod indices;
pub mod layers;
pub mod probe;
pub mod result;
pub mod stages;
pub mod sweep;

pub use error::{Error, Result};
