//! What a reader of a result must know in addition to its numbers.

use serde::{Deserialize, Serialize};

/// One note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it is about, for programs: `approximate-search`, `neighbors-grown` and so on.
    pub code: String,
    /// What it says, for people.
    pub message: String,
}
