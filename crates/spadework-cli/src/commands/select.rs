//! `spadework select`: the ids of the most fragile samples, or of those that moved.

use std::num::NonZeroUsize;

use spadework_app::{
    ArraySource, By, IdSource, ModelData, MovedRequest, OutputSource, ScoreRequest, SelectRequest, json,
    moved, printable, select,
};

use crate::args_select::SelectArgs;
use crate::console::Console;
use crate::failure::Failure;

pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    let formats = args.scored.output.formats(Some(&args.scored.graphs));
    let folder = args.scored.output.folder(&formats);
    let (top, console) = (args.top.map(NonZeroUsize::get), Console::new(&args.scored.output));
    let ids = args.ids.ids.as_deref();
    if let Some(against) = &args.against {
        let ids = ids.map(IdSource::Named);
        let request = MovedRequest {
            data: ModelData { ids, ..args.scored.model.data(&args.scored.corruption) },
            against: OutputSource::Array(ArraySource::Named(against)),
            params: args.scored.model.scoring.params(),
            top,
            folder,
        };
        let found = moved(&request, &console.monitor())?;
        let document = &found.document;
        let listed = listed(&found.indices, document.selection.ids.as_deref());
        return Console::data(&printed(args, listed, &found.table, || json(document)));
    }
    let mut score = args.scored.model.score(&args.scored.corruption, folder, 0).with_ids(ids);
    score.data.task = args.task.task.into();
    let request = SelectRequest {
        score: ScoreRequest { probes: args.probe.probes_or(&args.script), ..score },
        top,
        by: args.by.map_or(By::Auto, Into::into),
    };
    let found = select(&request, &console.monitor())?;
    let listed = listed(&found.indices, found.document.selection.ids.as_deref());
    Console::data(&printed(args, listed, &found.table, || json(&found.document)))
}

/// A sample per line: its name where samples have names, its index otherwise.
fn listed(indices: &[usize], ids: Option<&[String]>) -> String {
    match ids {
        Some(ids) => ids.iter().map(|id| format!("{}\n", printable(id))).collect(),
        None => indices.iter().map(|index| format!("{index}\n")).collect(),
    }
}

/// What goes to stdout: the document, the table, or the list.
fn printed(args: &SelectArgs, listed: String, table: &str, json: impl FnOnce() -> String) -> String {
    if args.scored.output.terminal.json {
        json()
    } else if args.scores {
        table.to_owned()
    } else {
        listed
    }
}
