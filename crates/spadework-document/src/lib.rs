//! Results as documents: what `--json` prints and result folders contain.
//!
//! There is one module per document, with plain data for serde and a versioned layout (`spadework.score/4`, …). The fields and their
//! names are an interface: they change only with the number in the name of the layout. A document says what was requested
//! ([`RequestDocument`], from which the result can be computed again), what was done, what was found, and what a reader must know
//! about it ([`Note`]). [`stages`] has the documents inside the files between the stages of a score.

pub mod attack;
pub mod check;
pub mod clever;
pub mod comparison;
pub mod corrupt;
pub mod data;
pub mod distortion;
pub mod eigen;
pub mod embed;
mod error;
pub mod estimates;
pub mod facts;
pub mod graphs;

pub mod layers;
pub mod margins;
pub mod model;
pub mod moved;
pub mod new_samples;
mod note;
mod parts;
pub mod plan;
pub mod predict;
pub mod probe;
mod request;
pub mod score;
pub mod select;
pub mod stages;
mod stored;
pub mod sweep;
pub mod train;
pub mod variants;
pub mod verdict;
pub mod words;

pub use error::{Error, Result};
pub use note::Note;
pub use parts::{
    MadeDocument, MethodDocument, SelectionDocument, SettingsDocument, SourcesDocument, SpectrumDocument,
    WrittenDocument,
};
pub use request::{DistancesDocument, RequestDocument, solver_named};
pub use stored::{StoredDocument, is_other_version};
