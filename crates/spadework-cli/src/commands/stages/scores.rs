//! `spadework scores`: graphs and eigenpairs of a result become the files that `score --out` writes.

use std::path::{Path, PathBuf};

use spadework::Samples;
use spadework::pipeline::{ModelGraphs, SolvedSpectrum, scores_of};
use spadework::samples::Side;
use spadework::scores::SpectralEmbedding;
use spadework_document::result::{PlaceDocument, ScoreDocument};
use spadework_document::stages::{GraphStage, Recipe};
use spadework_io::{Dataset, Labels, digest, graph_digest, load_labels};

use crate::args_stages::ScoresArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{self, json};
use crate::run::{ResultFolder, Scored, check_label_count, tell_what_was_done};
use crate::stages::{MadeStage, StageFolder};
use crate::stored::{RunAgain, labels_at, stored_array};

pub(crate) fn run(args: &ScoresArgs) -> Result<(), Failure> {
    let console = args.terminal.console();
    let stages = StageFolder::of_result(&args.result, args.replace.force, console);
    let MadeStage { graphs, diagnostics, stage } = stages.any_graphs()?;
    let params = diagnostics.params.clone().with_threads(args.threads);
    let (spectrum, params) = stages.any_spectrum(&graphs, params)?;
    let labels = labels_of(args, stage.as_ref().and_then(|stage| stage.labels.as_ref()))?;
    if let Some(labels) = &labels {
        let source = args.labels.as_deref().unwrap_or("the labels that came with the graphs");
        check_label_count(labels, graphs.nodes(), source)?;
    }
    let without_samples = recipe(args, &graph_digest(graphs.input()), &spectrum, labels.as_ref())?;
    let recipe = |found| without_samples.clone().with("samples", if found { "found" } else { "none" });
    let earlier = Earlier::read(args)?;
    // To read the samples, or to run the model for them, is not worth it for a result that has them or that is refused anyway.
    if let Some(earlier) = &earlier {
        earlier.check(&recipe(earlier.has_samples()))?;
    }
    let is_there = earlier.as_ref().is_some_and(Earlier::has_samples);
    let arrays = if is_there { None } else { arrays_of(stage.as_ref(), args, console) };
    let recipe = recipe(is_there || arrays.is_some());
    if let Some(earlier) = earlier {
        earlier.check(&recipe)?;
        let Earlier { path, document } = earlier;
        console.note(&format!("{}: the scores are there and are not made again", path.display()));
        return Console::data(&if args.terminal.json {
            json(&document)
        } else {
            render::headline(&document)
        });
    }
    let folder = ResultFolder::create(&args.result, &args.tables, &[])?;
    let mut graphs = ModelGraphs::new(graphs, diagnostics);
    graphs.diagnostics.params = params;
    let report = scores_of(graphs, spectrum, &console.monitor())?;
    tell_what_was_done(&report.diagnostics, report.graphs.nodes(), console);
    let scored = Scored::from_stages(report, labels, stage.as_ref(), arrays);
    let mut document = scored.document(args.top, Some(&folder))?;
    document.made_from = Some(recipe);
    folder.write(&scored, &document)?;
    folder.commit()?;
    Console::data(&if args.terminal.json {
        json(&document)
    } else {
        render::score(&document, scored.report.node_scores.scores())
    })
}

/// Labels that are named now, or those that were there when the graphs were made.
fn labels_of(args: &ScoresArgs, then: Option<&PlaceDocument>) -> Result<Option<Labels>, Failure> {
    match (&args.labels, then) {
        (Some(argument), _) => Ok(Some(load_labels(argument)?)),
        (None, Some(place)) => labels_at(place).map(Some),
        (None, None) => Ok(None),
    }
}

/// The arrays that the graphs were made of, for margins and fragility; none where they are not found any more.
fn arrays_of(stage: Option<&GraphStage>, args: &ScoresArgs, console: Console) -> Option<(Dataset, Dataset)> {
    let stage = stage?;
    let data = stage.data.as_ref()?;
    let found = stored_array(None, &data.inputs, Side::Input, stage.corruption.as_ref()).and_then(|inputs| {
        let again = RunAgain { inputs: &inputs, threads: args.threads, console };
        let outputs = again.outputs(None, &data.outputs, stage.model.as_ref())?;
        Ok((inputs, outputs))
    });
    found
        .inspect_err(|failure| {
            let reason = failure.message().unwrap_or_default();
            console.note(&format!(
                "the samples are not found again, and there are no margins without them: {reason}"
            ));
        })
        .ok()
}

/// On what the files of the result depend.
fn recipe(
    args: &ScoresArgs,
    input_graph: &str,
    spectrum: &SolvedSpectrum,
    labels: Option<&Labels>,
) -> Result<Recipe, Failure> {
    let embedding = SpectralEmbedding::from_eigenpairs(&spectrum.eigenpairs);
    let dim = embedding.dim();
    let of_numbers = |rows: usize, dim: usize, values: &[f64]| Samples::from_f64(rows, dim, values.to_vec());
    let embedded = digest(&of_numbers(embedding.values().len() / dim, dim, embedding.values())?);
    let labels = match labels {
        Some(labels) => {
            let ids: Vec<f64> = labels.ids().iter().map(|&id| id as f64).collect();
            digest(&of_numbers(ids.len(), 1, &ids)?)
        }
        None => "none".to_owned(),
    };
    let tables: Vec<&str> = args.tables.iter().map(|format| format.word()).collect();
    Ok(Recipe::new()
        .with("input_graph", input_graph)
        .with("eigenpairs", embedded)
        .with("labels", labels)
        .with("top", args.top)
        .with("tables", tables.join(",")))
}

/// A result that is there already.
struct Earlier {
    path: PathBuf,
    document: ScoreDocument,
}

impl Earlier {
    /// None where there is none, or where it is to be replaced.
    fn read(args: &ScoresArgs) -> Result<Option<Self>, Failure> {
        let path = args.result.join("result.json");
        if !path.exists() || args.replace.force {
            return Ok(None);
        }
        let document = ScoreDocument::read(&path)?;
        Ok(Some(Self { path, document }))
    }

    /// Whether the samples were there when it was made.
    fn has_samples(&self) -> bool {
        self.document.made_from.as_ref().and_then(|made_from| made_from.get("samples")) == Some("found")
    }

    /// Refuses one that was made from something else.
    fn check(&self, recipe: &Recipe) -> Result<(), Failure> {
        match self.document.made_from.as_ref().map(|made_from| made_from.difference(recipe)) {
            Some(None) => Ok(()),
            Some(Some(difference)) => Err(refused(&self.path, &difference.to_string())),
            None => Err(refused(&self.path, "`spadework score` wrote it")),
        }
    }
}

fn refused(path: &Path, difference: &str) -> Failure {
    let message = format!("{}: was made from something else: {difference}", path.display());
    Failure::usage(message).with_hint("--force makes it anew; another folder keeps both")
}
