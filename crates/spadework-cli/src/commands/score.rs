//! `spadework score`: one model, or new samples against one.

use spadework::{SUBSAMPLES, SpadeParams, intervals, permuted_score};
use spadework_io::result::{IntervalDocument, ReferencesDocument, ScoreDocument};

use super::new_samples;
use crate::args::ScoreArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render;
use crate::render::json;
use crate::run::{ResultFolder, Scored};

pub(crate) fn run(args: &ScoreArgs) -> Result<(), Failure> {
    if let Some(reference) = &args.reference.reference {
        return new_samples::run(args, reference);
    }
    check_sense(args)?;
    let folder = ResultFolder::from_args(&args.output, &args.graphs.save_graphs)?;
    let console = Console::new(&args.output);
    let scored = Scored::from_corrupted(&args.model, &args.corruption, console)?;
    let mut document = scored.document(args.top, folder.as_ref())?;
    add_certainty(args, &scored, console, &mut document)?;
    if let Some(folder) = folder {
        folder.write(&scored, &document)?;
        folder.commit()?;
    }
    if args.output.json { Console::data(&json(&document)) } else { Console::data(&render::score(&document)) }
}

/// An interval needs samples to draw from.
fn check_sense(args: &ScoreArgs) -> Result<(), Failure> {
    let graph_given = args.model.input_graph.is_some() || args.model.output_graph.is_some();
    if args.certainty.interval && graph_given {
        return Err(Failure::usage(
            "--interval draws from the samples of both sides, but a graph is given in place of one",
        ));
    }
    Ok(())
}

/// The interval and the reference points, where asked for.
fn add_certainty(
    args: &ScoreArgs,
    scored: &Scored,
    console: Console,
    document: &mut ScoreDocument,
) -> Result<(), Failure> {
    let monitor = console.monitor();
    let params = SpadeParams { neighbors: document.neighbors.used, ..args.model.params() };
    if args.certainty.references {
        let permuted = permuted_score(&scored.report.graphs, &params, &monitor)?;
        document.references = Some(ReferencesDocument { identity: 1.0, permuted });
    }
    if let (true, Some(set)) = (args.certainty.interval, scored.as_set()?) {
        let found = intervals(&set, &[document.model_score], SUBSAMPLES, &params, &monitor)?;
        tell_what_subsamples_needed(found.grown, document.neighbors.used, console);
        document.interval = Some(IntervalDocument::of(&found, 0));
    }
    Ok(())
}

pub(crate) fn tell_what_subsamples_needed(grown: usize, neighbors: usize, console: Console) {
    if grown > 0 {
        console.note(&format!(
            "{grown} of {SUBSAMPLES} subsamples needed more than {neighbors} neighbors to be connected: the interval is \
             less certain"
        ));
    }
}
