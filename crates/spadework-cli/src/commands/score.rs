//! `spadework score`: one model, or new samples against one.

use spadework_app::{ScoreRequest, json, score};

use super::new_samples;
use crate::args::ScoreArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render_score;

pub(crate) fn run(args: &ScoreArgs) -> Result<(), Failure> {
    if let Some(reference) = &args.reference.reference {
        return new_samples::run(args, reference);
    }
    let formats = args.scored.output.formats(Some(&args.scored.graphs));
    let mut request = ScoreRequest {
        extras: args.certainty.extras(),
        probes: args.probe.probes(),
        page: args.page.request(),
        ..args.scored.model.score(&args.scored.corruption, args.scored.output.folder(&formats), args.top)
    }
    .with_ids(args.scored.ids.ids.as_deref());
    request.data.task = args.task.task.into();
    let scored = score(&request, &Console::new(&args.scored.output).monitor())?;
    Console::data(&if args.scored.output.json {
        json(&scored.document)
    } else {
        render_score::score(&scored.document, scored.report.node_scores.scores())
    })
}
