//! `spadework check`: a gate for continuous integration.

use spadework_app::{BaselineRequest, CheckRequest, Limits, ScoreRequest, Voice, check, gate_lines, json};

use crate::args::ScoredArgs;
use crate::args_check::{CheckArgs, CheckRules, Undecided};
use crate::console::Console;
use crate::failure::Failure;

/// Samples and edges named in the result of a check.
const TOP: usize = 10;

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let ScoredArgs { model, corruption, output, graphs } = &args.scored;
    let formats = output.formats(Some(graphs));
    let mut score = model.score(corruption, output.folder(&formats), TOP).with_ids(args.ids.ids.as_deref());
    score.data.task = args.task.task.into();
    let rules = &args.rules;
    let request = CheckRequest {
        score: ScoreRequest { probes: args.probe.probes(), ..score },
        limits: rules.limits(),
        baseline: rules.baseline(),
        undecided_fails: rules.undecided == Undecided::Fail,
        junit: rules.junit.as_deref(),
        summary: rules.summary.as_deref(),
    };
    let checked = check(&request, &Console::new(output).monitor())?;
    let document = &checked.document;
    Console::data(&if output.terminal.json { json(document) } else { gate_lines(document, Voice::Command) })?;
    if document.passed { Ok(()) } else { Err(Failure::gate()) }
}

impl CheckRules {
    fn limits(&self) -> Limits {
        Limits {
            min_robust_accuracy: self.min_robust_accuracy,
            min_survived: self.min_survived,
            min_accuracy: self.min_accuracy,
            min_overlap: self.min_overlap,
            max_score: self.max_score,
        }
    }

    fn baseline(&self) -> Option<BaselineRequest<'_>> {
        let path = self.baseline.as_deref()?;
        let (max_drop, max_regression) = (self.max_drop.unwrap_or(0.0), self.max_regression);
        Some(BaselineRequest { path, max_drop, max_regression })
    }
}
