//! `spadework select`: the ids of the most fragile samples, or of those that moved.

use std::num::NonZeroUsize;

use spadework_app::{
    ArraySource, By, MovedRequest, OutputSource, ScoreRequest, SelectRequest, json, moved, select,
};

use crate::args_select::SelectArgs;
use crate::console::Console;
use crate::failure::Failure;

pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    let formats = args.scored.output.formats(Some(&args.scored.graphs));
    let folder = args.scored.output.folder(&formats);
    let (top, console) = (args.top.map(NonZeroUsize::get), Console::new(&args.scored.output));
    if let Some(against) = &args.against {
        let request = MovedRequest {
            data: args.scored.model.data(&args.scored.corruption),
            against: OutputSource::Array(ArraySource::Named(against)),
            params: args.scored.model.params(),
            top,
            folder,
        };
        let found = moved(&request, &console.monitor())?;
        return Console::data(&printed(args, &found.indices, &found.table, || json(&found.document)));
    }
    let score = args.scored.model.score(&args.scored.corruption, folder, 0);
    let request = SelectRequest {
        score: ScoreRequest { probes: args.probe.probes(), ..score }.with_ids(args.scored.ids.ids.as_deref()),
        top,
        by: args.by.map_or(By::Auto, Into::into),
    };
    let found = select(&request, &console.monitor())?;
    Console::data(&printed(args, &found.indices, &found.table, || json(&found.document)))
}

/// What goes to stdout: the document, the table, or the ids alone.
fn printed(args: &SelectArgs, indices: &[usize], table: &str, json: impl FnOnce() -> String) -> String {
    if args.scored.output.json {
        json()
    } else if args.scores {
        table.to_owned()
    } else {
        indices.iter().map(|index| format!("{index}\n")).collect()
    }
}
