//! `spadework score`: one model, or new samples against one.

use spadework_app::{ScoreRequest, json, plan, score};

use super::new_samples;
use crate::args::ScoreArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::{render_plan, render_score, render_table};

pub(crate) fn run(args: &ScoreArgs) -> Result<(), Failure> {
    if let Some(reference) = &args.reference.reference {
        return new_samples::run(args, reference);
    }
    let formats = args.scored.output.formats(Some(&args.scored.graphs));
    let mut request = ScoreRequest {
        extras: args.judged.certainty.extras(),
        probes: args.judged.probe.probes_or(&args.script),
        page: args.judged.page.request(),
        ..args.scored.model.score(&args.scored.corruption, args.scored.output.folder(&formats), args.top)
    }
    .with_ids(args.judged.ids.ids.as_deref());
    request.params = args.bounds.apply(request.params);
    request.data.task = args.judged.task.task.into();
    if args.plan {
        let document = plan(&request, &Console::new(&args.scored.output).monitor())?;
        return Console::data(&if args.scored.output.terminal.json {
            json(&document)
        } else {
            render_plan::plan(&document)
        });
    }
    let scored = score(&request, &Console::new(&args.scored.output).monitor())?;
    let document = &scored.document;
    Console::data(&match args.table.table {
        _ if args.scored.output.terminal.json => json(document),
        Some(format) => render_table::of_score(document, format),
        None => render_score::score(document, scored.report.node_scores.scores()),
    })
}
