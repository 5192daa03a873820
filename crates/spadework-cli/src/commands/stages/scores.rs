//! `spadework scores`: graphs and eigenpairs of a result become the files that `score --out` writes.

use spadework_app::{LabelSource, ScoresStageRequest, StagedScores, TableFormat, json, make_scores};

use crate::args_stages::ScoresArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render_score;
use crate::requests::command_line;

pub(crate) fn run(args: &ScoresArgs) -> Result<(), Failure> {
    let tables: Vec<TableFormat> = args.tables.formats.iter().map(|&format| format.into()).collect();
    let request = ScoresStageRequest {
        result: &args.result,
        labels: args.labels.as_deref().map(LabelSource::Named),
        top: args.top,
        tables: &tables,
        threads: args.threads,
        command: Some(command_line()),
        force: args.stage.force,
    };
    let staged = make_scores(&request, &args.stage.terminal.console().monitor())?;
    Console::data(&match &staged {
        StagedScores::Kept(document) if args.stage.terminal.json => json(document),
        StagedScores::Kept(document) => render_score::answer(document),
        StagedScores::Made(scored) if args.stage.terminal.json => json(&scored.document),
        StagedScores::Made(scored) => {
            render_score::score(&scored.document, scored.report.node_scores.scores())
        }
    })
}
