//! `spadework check`: a gate for continuous integration.

use std::path::Path;

use serde::Serialize;
use spadework_document::result::ScoreDocument;

use crate::args::{CheckArgs, CheckRules};
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{json, number};
use crate::run::{ResultFolder, Scored};

/// Samples and edges named in the result of a check.
const TOP: usize = 10;

/// One limit and whether it was kept.
#[derive(Debug, Serialize)]
struct Verdict {
    rule: &'static str,
    limit: f64,
    passed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_score: Option<f64>,
}

#[derive(Debug, Serialize)]
struct CheckDocument<'a> {
    schema: &'static str,
    passed: bool,
    model_score: f64,
    rules: &'a [Verdict],
    result: &'a ScoreDocument,
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    // The baseline first: a wrong file should not cost a run.
    let baseline = args.rules.baseline.as_deref().map(ScoreDocument::read).transpose()?;
    let folder = ResultFolder::from_args(&args.output, &args.graphs.save_graphs)?;
    let scored = Scored::from_corrupted(&args.model, &args.corruption, Console::new(&args.output))?;
    let document = scored.document(TOP, folder.as_ref())?;
    if let (Some(path), Some(baseline)) = (&args.rules.baseline, &baseline) {
        check_comparable(path, baseline, &document)?;
    }
    let verdicts = verdicts(&args.rules, baseline.as_ref(), document.model_score);
    if let Some(folder) = folder {
        folder.write(&scored, &document)?;
        folder.commit()?;
    }
    let passed = verdicts.iter().all(|verdict| verdict.passed);
    Console::data(&if args.output.json {
        to_json(&document, &verdicts)
    } else {
        to_text(&document, &verdicts)
    })?;
    if passed { Ok(()) } else { Err(Failure::gate()) }
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
    let Some(reason) = reason else { return Ok(()) };
    Err(Failure::usage(format!("{}: the baseline must have {reason}", path.display())).with_hint(
        "make the baseline anew with `spadework score --out DIR`, the same inputs, --neighbors, --graph, --weights and --connectivity",
    ))
}

/// How the baseline's graphs were made, where that is not how ours were.
fn made_otherwise(baseline: &ScoreDocument, document: &ScoreDocument) -> Option<String> {
    let facts = [
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

fn verdicts(rules: &CheckRules, baseline: Option<&ScoreDocument>, score: f64) -> Vec<Verdict> {
    let max_score = rules.max_score.map(|limit| Verdict {
        rule: "max-score",
        limit,
        passed: score <= limit,
        baseline_score: None,
    });
    let max_regression = baseline.map(|baseline| {
        let limit = baseline.model_score * (1.0 + rules.max_regression.unwrap_or(0.0));
        // Two runs of the same data agree to the residual, not to the last digit.
        let passed = score <= limit * (1.0 + baseline.tolerance.min(1e-6));
        Verdict { rule: "max-regression", limit, passed, baseline_score: Some(baseline.model_score) }
    });
    max_score.into_iter().chain(max_regression).collect()
}

fn to_text(document: &ScoreDocument, verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts {
        let word = if verdict.passed { "pass" } else { "FAIL" };
        let relation = if verdict.passed { "within" } else { "above" };
        let (score, limit) = (number(document.model_score), number(verdict.limit));
        let baseline = verdict.baseline_score.map(|score| format!(" (baseline {})", number(score)));
        let baseline = baseline.unwrap_or_default();
        text.push_str(&format!(
            "{word}  {}: model score {score} is {relation} {limit}{baseline}\n",
            verdict.rule
        ));
    }
    text
}

fn to_json(document: &ScoreDocument, verdicts: &[Verdict]) -> String {
    let check = CheckDocument {
        schema: "spadework.check/1",
        passed: verdicts.iter().all(|verdict| verdict.passed),
        model_score: document.model_score,
        rules: verdicts,
        result: document,
    };
    json(&check)
}
