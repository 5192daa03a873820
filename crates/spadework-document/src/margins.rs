//! Margins of a scored model, as a part of its document.

use serde::{Deserialize, Serialize};
use spadework::scores::Spread;
use spadework_probe::Margins;

/// Margins of a classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MarginsDocument {
    /// `labeled`: the output of a sample's label minus the largest other output. `predicted`: the largest output minus the second largest.
    pub kind: String,
    /// Their distribution.
    #[serde(flatten)]
    pub spread: Spread,
}

impl From<&Margins> for MarginsDocument {
    fn from(margins: &Margins) -> Self {
        Self { kind: margins.kind().to_string(), spread: margins.spread() }
    }
}
