//! `spadework select`: the ids of the most fragile samples.

use std::num::NonZeroUsize;

use spadework_app::{ScoreRequest, SelectRequest, json, select};

use crate::args::SelectArgs;
use crate::console::Console;
use crate::failure::Failure;

pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    let formats = args.output.formats(Some(&args.graphs));
    let score = args.model.score(&args.corruption, args.output.folder(&formats), 0);
    let request = SelectRequest {
        score: ScoreRequest { probes: args.probe.probes(), ..score }.with_ids(args.ids.ids.as_deref()),
        top: args.top.map(NonZeroUsize::get),
        by: args.by.into(),
    };
    let selected = select(&request, &Console::new(&args.output).monitor())?;
    Console::data(&if args.output.json {
        json(&selected.document)
    } else if args.scores {
        selected.table
    } else {
        selected.indices.iter().map(|index| format!("{index}\n")).collect()
    })
}
