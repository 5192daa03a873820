//! The outcome of a gate as a document: what `check --json` prints.

use serde::{Deserialize, Serialize};

use crate::score::ScoreDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.check/2";

/// What the gate decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whether every rule is kept.
    pub passed: bool,
    /// λ_1; larger is less robust.
    pub model_score: f64,
    /// Every rule.
    pub rules: Vec<VerdictDocument>,
    /// What was scored.
    pub result: ScoreDocument,
}

/// One limit and whether it was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictDocument {
    /// `max-score` or `max-regression`.
    pub rule: String,
    /// The largest score allowed.
    pub limit: f64,
    /// Whether the score is within it.
    pub passed: bool,
    /// The score of the baseline that the limit comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_score: Option<f64>,
}
