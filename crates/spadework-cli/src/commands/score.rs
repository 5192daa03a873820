//! `spadework score`: one model, or new samples against one.

use spadework::pipeline::{AverageIndices, SUBSAMPLES, intervals, permuted_score};
use spadework::threads::with_threads;
use spadework_document::result::{IntervalDocument, ReferencesDocument, ScoreDocument};
use spadework_report::{ScoredModel, score_charts, score_page};

use super::new_samples;
use crate::args::ScoreArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::pages::{Places, inputs_of, this_call};
use crate::render;
use crate::render::json;
use crate::run::{ResultFolder, Scored, tell_of_guesses};
use crate::stages::StageFolder;

pub(crate) fn run(args: &ScoreArgs) -> Result<(), Failure> {
    if let Some(reference) = &args.reference.reference {
        return new_samples::run(args, reference);
    }
    check_sense(args)?;
    let folder = ResultFolder::from_args(&args.output, &args.graphs.save_graphs)?;
    let places = Places::from_args(&args.page)?;
    let console = Console::new(&args.output);
    let stages = args.output.out.as_deref().map(|out| StageFolder::of_score(out, console));
    let mut scored =
        Scored::in_stages(&args.model, &args.corruption, Some(&args.probe), stages.as_ref(), console)?;
    scored.probe(&args.probe, &args.model, args.top, console)?;
    let mut document = scored.document(args.top, folder.as_ref())?;
    tell_of_guesses(&document.beside, document.output_dim, "", console);
    add_certainty(args, &scored, console, &mut document)?;
    add_indices(args, &scored, console, &mut document)?;
    if let Some(folder) = folder {
        folder.write(&scored, &document)?;
        folder.commit()?;
    }
    if let Some(stages) = stages {
        stages.remove();
    }
    write_page(args, places, &scored, &document, console)?;
    if args.output.json {
        Console::data(&json(&document))
    } else {
        Console::data(&render::score(&document, scored.report.node_scores.scores()))
    }
}

/// The page and the figures, where asked for.
fn write_page(
    args: &ScoreArgs,
    places: Places<'_>,
    scored: &Scored,
    document: &ScoreDocument,
    console: Console,
) -> Result<(), Failure> {
    let monitor = console.monitor();
    let arrays = scored.arrays();
    let samples = arrays
        .map(|(inputs, outputs)| Ok::<_, Failure>((inputs.samples()?, outputs.samples()?)))
        .transpose()?;
    let model = ScoredModel {
        document,
        report: &scored.report,
        labels: scored.labels.as_ref(),
        inputs: arrays.zip(samples.as_ref()).map(|((data, _), (inputs, _))| inputs_of(data, inputs)),
        outputs: samples.as_ref().map(|(_, outputs)| outputs),
        columns: scored.facts()?.into(),
    };
    with_threads(args.model.method.general.threads, || {
        places.write(|| score_page(&model, &this_call(), &monitor), || score_charts(&model, &monitor))
    })
}

/// An interval needs samples to draw from, a graph of probes copies that are noise.
fn check_sense(args: &ScoreArgs) -> Result<(), Failure> {
    args.probe.check()?;
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
    let params = args.model.params().with_neighbors(document.neighbors.used);
    if args.certainty.references {
        let permuted = permuted_score(&scored.report.graphs, &params, &monitor)?;
        document.beside.references = Some(ReferencesDocument { identity: 1.0, permuted });
    }
    if let (true, Some(set)) = (args.certainty.interval, scored.as_set()?) {
        let found = intervals(&set, &[document.model_score], SUBSAMPLES, &params, &monitor)?;
        tell_what_subsamples_needed(found.grown, document.neighbors.used, console);
        document.beside.interval = Some(IntervalDocument::of(&found, 0));
    }
    Ok(())
}

/// The indices, where asked for.
fn add_indices(
    args: &ScoreArgs,
    scored: &Scored,
    console: Console,
    document: &mut ScoreDocument,
) -> Result<(), Failure> {
    if args.certainty.indices {
        let samples = scored.paired()?;
        let found = AverageIndices::of(&scored.report, samples.as_ref(), &console.monitor())?;
        document.beside.indices = Some(found.into());
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
