//! `spadework check`: a gate for continuous integration.

use spadework_app::{CheckRequest, check, json};
use spadework_document::check::CheckDocument;

use crate::args::CheckArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::number;

/// Samples and edges named in the result of a check.
const TOP: usize = 10;

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let formats = args.output.formats(Some(&args.graphs));
    let request = CheckRequest {
        score: args.model.score(&args.corruption, args.output.folder(&formats), TOP),
        max_score: args.rules.max_score,
        baseline: args.rules.baseline.as_deref(),
        max_regression: args.rules.max_regression.unwrap_or(0.0),
    };
    let checked = check(&request, &Console::new(&args.output).monitor())?;
    let document = &checked.document;
    Console::data(&if args.output.json { json(document) } else { to_text(document) })?;
    if document.passed { Ok(()) } else { Err(Failure::gate()) }
}

fn to_text(document: &CheckDocument) -> String {
    let mut text = String::new();
    for verdict in &document.rules {
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
