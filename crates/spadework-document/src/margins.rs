//! Margins of a scored model, as a part of its document.

use serde::{Deserialize, Serialize};
use spadework::scores::Spread;
use spadework_probe::Margins;

/// By how much a classifier's decisions lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MarginsDocument {
    /// `labeled`: the output of a sample's label less the largest other. `predicted`: the largest output less the second.
    pub kind: String,
    /// How they are spread.
    #[serde(flatten)]
    pub spread: Spread,
}

impl From<&Margins> for MarginsDocument {
    fn from(margins: &Margins) -> Self {
        Self { kind: margins.kind().to_string(), spread: margins.spread() }
    }
}
