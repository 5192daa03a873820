//! The outcome of a gate as a document: what `check --json` prints.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::estimates::{DifferenceDocument, ShareDocument};
use crate::note::Note;
use crate::score::ScoreDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.check/5";

/// What all gates together decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// `fail` if a gate failed, else `undecided` if one is undecided, else `pass`.
    pub outcome: Outcome,
    /// Whether the command ends with exit code 0: no gate failed, and none is undecided if that counts as failed.
    pub passed: bool,
    /// What an undecided gate counts as: `pass` or `fail`.
    pub undecided: Outcome,
    /// Every gate.
    pub gates: Vec<GateDocument>,
    /// Samples that the baseline gets right and this model does not (or that survived there and not here, if both
    /// models were probed), the most fragile ones; none without a baseline that has the same samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_failures: Vec<usize>,
    /// The names of these samples, if samples have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_failure_ids: Vec<String>,
    /// What these samples lost: `survived` or `accuracy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_failures_by: Option<GatedNumber>,
    /// Notes about the gates; notes about the result are in `result`.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// SPADE score λ_1; larger is less robust.
    pub model_score: f64,
    /// What was scored.
    pub result: ScoreDocument,
}

/// What a gate decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The whole interval is within the limit.
    Pass,
    /// The whole interval is beyond the limit.
    Fail,
    /// The interval contains the limit.
    Undecided,
}

/// What a gate is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GatedNumber {
    /// Estimated robust accuracy.
    RobustAccuracy,
    /// Samples that survived every probe.
    Survived,
    /// Clean accuracy.
    Accuracy,
    /// Neighborhood overlap.
    Overlap,
    /// SPADE score λ_1.
    ModelScore,
}

/// One limit, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateDocument {
    /// The option that set it: `min-robust-accuracy`, `min-survived`, `min-accuracy`, `min-overlap`, `max-score`, `max-drop` or
    /// `max-regression`.
    pub gate: String,
    /// Which number it limits.
    pub number: GatedNumber,
    /// What it decided.
    pub outcome: Outcome,
    /// The smallest share, the largest drop or the largest SPADE score allowed.
    pub limit: f64,
    /// What it rests on, as fields of the gate itself.
    #[serde(flatten)]
    pub found: GateFindings,
}

/// The numbers that a gate rests on.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GateFindings {
    /// The share that was found, with its interval; none for the SPADE score.
    pub share: Option<ShareDocument>,
    /// The SPADE score, if the gate is about it.
    pub score: Option<f64>,
    /// The share or the SPADE score of the baseline.
    pub baseline: Option<f64>,
    /// The model minus its baseline, with the interval that decides about a drop.
    pub difference: Option<DifferenceDocument>,
    /// Whether both models were compared on the same samples, sample by sample.
    pub paired: Option<bool>,
    /// Why the gate is undecided, if the interval is not the reason.
    pub reason: Option<String>,
}

impl Outcome {
    /// That of several gates: the worst.
    pub fn of_all(outcomes: impl IntoIterator<Item = Self>) -> Self {
        outcomes.into_iter().fold(Outcome::Pass, |all, one| match (all, one) {
            (Outcome::Fail, _) | (_, Outcome::Fail) => Outcome::Fail,
            (Outcome::Undecided, _) | (_, Outcome::Undecided) => Outcome::Undecided,
            (Outcome::Pass, Outcome::Pass) => Outcome::Pass,
        })
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Undecided => "undecided",
        }
    }
}
