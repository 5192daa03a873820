//! `spadework select`: the ids of the most fragile samples, or of those that moved.

use std::num::NonZeroUsize;

use spadework_app::{
    ArraySource, By, MovedRequest, OutputSource, ScoreRequest, SelectRequest, json, moved, select,
};

use crate::args_select::SelectArgs;
use crate::console::Console;
use crate::failure::Failure;

pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    let formats = args.output.formats(Some(&args.graphs));
    let folder = args.output.folder(&formats);
    let (top, console) = (args.top.map(NonZeroUsize::get), Console::new(&args.output));
    if let Some(against) = &args.against {
        let request = MovedRequest {
            data: args.model.data(&args.corruption),
            against: OutputSource::Array(ArraySource::Named(against)),
            params: args.model.params(),
            top,
            folder,
        };
        let found = moved(&request, &console.monitor())?;
        return Console::data(&printed(args, &found.indices, &found.table, || json(&found.document)));
    }
    let score = args.model.score(&args.corruption, folder, 0);
    let request = SelectRequest {
        score: ScoreRequest { probes: args.probe.probes(), ..score }.with_ids(args.ids.ids.as_deref()),
        top,
        by: args.by.map_or(By::Auto, Into::into),
    };
    let found = select(&request, &console.monitor())?;
    Console::data(&printed(args, &found.indices, &found.table, || json(&found.document)))
}

/// What goes to stdout: the document, the table, or the ids alone.
fn printed(args: &SelectArgs, indices: &[usize], table: &str, json: impl FnOnce() -> String) -> String {
    if args.output.json {
        json()
    } else if args.scores {
        table.to_owned()
    } else {
        indices.iter().map(|index| format!("{index}\n")).collect()
    }
}
