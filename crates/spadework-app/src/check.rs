//! A gate for continuous integration.

use std::path::Path;

use spadework_document::check::{CheckDocument, SCHEMA, VerdictDocument};
use spadework_document::score::ScoreDocument;

use crate::failure::Failure;
use crate::observer::Observer;
use crate::result_folder::ResultFolder;
use crate::score::{Addition, ScoreRequest, Scored, score_and};
use crate::usage::Usage;

/// What is checked.
#[derive(Debug, Clone)]
pub struct CheckRequest<'a> {
    /// The model.
    pub score: ScoreRequest<'a>,
    /// Fail when the model score is above this.
    pub max_score: Option<f64>,
    /// A `result.json` of an earlier run.
    pub baseline: Option<&'a Path>,
    /// Fail when the model score exceeds the baseline's by more than this share of it.
    pub max_regression: f64,
}

/// A model and whether it passed. A gate that failed is a result, not a [`Failure`]: everything that was found is there.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The model.
    pub scored: Scored,
    /// The rules and whether each was kept.
    pub document: CheckDocument,
}

/// Scores a model and compares it with its limits.
///
/// # Errors
/// As [`score`](crate::score), and when the baseline cannot be read or is not comparable.
pub fn check(request: &CheckRequest<'_>, observer: &dyn Observer) -> Result<Checked, Failure> {
    // The baseline first: a wrong file should not cost a run.
    let baseline = request.baseline.map(ScoreDocument::read).transpose()?;
    let gate = Gate { request, baseline: request.baseline.zip(baseline.as_ref()) };
    let (scored, rules) = score_and(&request.score, gate, observer)?;
    let document = CheckDocument {
        schema: SCHEMA.to_owned(),
        passed: rules.iter().all(|rule| rule.passed),
        model_score: scored.document.model_score,
        rules,
        result: scored.document.clone(),
    };
    Ok(Checked { scored, document })
}

struct Gate<'a> {
    request: &'a CheckRequest<'a>,
    baseline: Option<(&'a Path, &'a ScoreDocument)>,
}

impl Addition for Gate<'_> {
    type Found = Vec<VerdictDocument>;

    fn finish(self, scored: &Scored, _: Option<&ResultFolder<'_>>) -> Result<Self::Found, Failure> {
        if let Some((path, baseline)) = self.baseline {
            check_comparable(path, baseline, &scored.document)?;
        }
        Ok(verdicts(self.request, self.baseline.map(|(_, baseline)| baseline), scored.document.model_score))
    }
}

/// Scores of other data, another k or graphs mended otherwise say nothing about a regression.
fn check_comparable(path: &Path, baseline: &ScoreDocument, document: &ScoreDocument) -> Result<(), Failure> {
    let facts = [
        ("samples", baseline.samples, document.samples),
        ("numbers per input", baseline.input_dim, document.input_dim),
        ("neighbors", baseline.neighbors.used, document.neighbors.used),
    ];
    let different = facts.into_iter().find(|(_, theirs, ours)| theirs != ours);
    let reason = different
        .map(|(fact, theirs, ours)| format!("the same {fact} ({ours}), got {theirs}"))
        .or_else(|| made_otherwise(baseline, document))
        .or_else(|| mended_otherwise(baseline, document));
    match reason {
        None => Ok(()),
        Some(reason) => Err(Failure::from(Usage::Baseline { reason }).about_file(path)),
    }
}

/// How the baseline's graphs were made, where that is not how ours were.
fn made_otherwise(baseline: &ScoreDocument, document: &ScoreDocument) -> Option<String> {
    let [theirs, ours] = [baseline, document].map(|document| document.request.distances());
    let facts = [
        ("distances", &theirs, &ours),
        ("kind of graph", &baseline.graph, &document.graph),
        ("weights", &baseline.weights, &document.weights),
    ];
    let different = facts.into_iter().find(|(_, theirs, ours)| theirs != ours);
    let different = different.map(|(fact, theirs, ours)| format!("the same {fact} ({ours}), got {theirs}"));
    different.or_else(|| corrupted_otherwise(baseline, document))
}

/// What was done to the baseline's inputs, where that is not what was done to ours.
fn corrupted_otherwise(baseline: &ScoreDocument, document: &ScoreDocument) -> Option<String> {
    let words = |document: &ScoreDocument| {
        document.corruption.as_ref().map_or_else(
            || "none".to_owned(),
            |corruption| format!("{}:{}, seed {}", corruption.kind, corruption.severity, corruption.seed),
        )
    };
    (baseline.corruption != document.corruption)
        .then(|| format!("the same corruption ({}), got {}", words(document), words(baseline)))
}

/// How the baseline's graphs were connected, where that is not how ours were. The policy does not matter where it had
/// nothing to do.
fn mended_otherwise(baseline: &ScoreDocument, document: &ScoreDocument) -> Option<String> {
    let bridges = |d: &ScoreDocument| d.graphs.input.bridges + d.graphs.output.bridges;
    let is_mended = |d: &ScoreDocument| d.neighbors.used > d.neighbors.requested || bridges(d) > 0;
    let (theirs, ours) = (&baseline.connectivity, &document.connectivity);
    if theirs != ours && (is_mended(baseline) || is_mended(document)) {
        return Some(format!("the same connectivity policy ({ours}), got {theirs}"));
    }
    match (bridges(baseline), bridges(document)) {
        (0, ours @ 1..) => Some(format!("bridges where this run has them ({ours}), got none")),
        (theirs @ 1.., 0) => Some(format!("no bridges where this run has none, got {theirs}")),
        _ => None,
    }
}

fn verdicts(
    request: &CheckRequest<'_>,
    baseline: Option<&ScoreDocument>,
    score: f64,
) -> Vec<VerdictDocument> {
    let max_score = request.max_score.map(|limit| VerdictDocument {
        rule: "max-score".to_owned(),
        limit,
        passed: score <= limit,
        baseline_score: None,
    });
    let max_regression = baseline.map(|baseline| {
        let limit = baseline.model_score * (1.0 + request.max_regression);
        // Two runs of the same data agree to the residual, not to the last digit.
        let passed = score <= limit * (1.0 + baseline.tolerance.min(1e-6));
        let baseline_score = Some(baseline.model_score);
        VerdictDocument { rule: "max-regression".to_owned(), limit, passed, baseline_score }
    });
    max_score.into_iter().chain(max_regression).collect()
}
