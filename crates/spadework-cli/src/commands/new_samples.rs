//! `spadework score --reference`: new samples against a scored model.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use spadework::pipeline::{NewScores, Reference};
use spadework::samples::{Side, Values};
use spadework::scores::{NodeScore, SpectralEmbedding};
use spadework::{Monitor, PairedSamples};
use spadework_document::result::ScoreDocument;
use spadework_io::output::{Column, write_bytes, write_npy};
use spadework_io::{Dataset, Labels, load, load_labels};

use crate::args::{ScoreArgs, TableFormat};
use crate::args_many::ReferenceArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{counted, json, number, printable, table};
use crate::render_graphs::is_plain;
use crate::run::{ResultFolder, label_text};
use crate::sides::Sides;
use crate::stored::{RunAgain, folder_of, stored_array};
use crate::tables;

const INPUTS_HINT: &str = "--reference-inputs says where the inputs of the reference are now";
const OUTPUTS_HINT: &str = "--reference-outputs says where the outputs of the reference are now";
const MAKE_ANEW: &str = "make the folder anew with `spadework score --out DIR`";

#[derive(Debug, Serialize)]
struct NewSamplesDocument {
    schema: &'static str,
    samples: usize,
    reference: ReferenceDocument,
    known: usize,
    averaged: usize,
    /// New samples that lie apart from the reference, by their inputs and by their outputs.
    far_inputs: usize,
    far_outputs: usize,
    top_nodes: Vec<NewNode>,
    total_s: f64,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct ReferenceDocument {
    result: String,
    model_score: f64,
    samples: usize,
    neighbors: usize,
    eigenpairs: usize,
}

#[derive(Debug, Serialize)]
struct NewNode {
    index: usize,
    score: f64,
    /// Part of the reference samples with a lower score.
    quantile: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

pub(crate) fn run(args: &ScoreArgs, result: &Path) -> Result<(), Failure> {
    let result = folder_of(result);
    check_places(args, result)?;
    let folder = ResultFolder::from_args(&args.output, &[])?;
    let console = Console::new(&args.output);
    let stored = Stored::read(args, result, console)?;
    let Some((inputs, outputs)) = Sides::load(&args.model, &args.corruption, console)?.into_arrays() else {
        unreachable!("the command line takes no graph with --reference")
    };
    let labels = match &args.model.labels {
        Some(argument) => Some(load_labels(argument)?),
        None => inputs.labels().cloned(),
    };
    let began = Instant::now();
    let monitor = console.monitor();
    let scores = stored
        .reference(args, &monitor)?
        .score(&inputs.few_samples()?, &outputs.few_samples()?, &monitor)
        .map_err(|error| with_files(error, &inputs, &outputs))?;
    check_labels(args, labels.as_ref(), &scores)?;
    tell_what_was_done(&stored.document, &scores, console);
    let document = document(args, result, &stored.document, &scores, labels.as_ref(), began);
    if let Some(folder) = folder {
        write(&folder, &document, &scores, labels.as_ref())?;
        folder.commit()?;
    }
    if args.output.json { Console::data(&json(&document)) } else { Console::data(&to_text(&document)) }
}

/// The scores of new samples in the folder of the reference would leave no reference for the next ones.
fn check_places(args: &ScoreArgs, result: &Path) -> Result<(), Failure> {
    let Some(out) = &args.output.out else { return Ok(()) };
    match (out.canonicalize(), result.canonicalize()) {
        (Ok(place), Ok(reference)) if place == reference => Err(Failure::usage(format!(
            "--out {} is the folder of --reference {}, which would be overwritten",
            out.display(),
            result.display()
        ))),
        _ => Ok(()),
    }
}

/// A scored model as it lies in a folder, with the arrays it was made of.
struct Stored {
    document: ScoreDocument,
    embedding: SpectralEmbedding,
    inputs: Dataset,
    outputs: Dataset,
}

impl Stored {
    fn read(args: &ScoreArgs, folder: &Path, console: Console) -> Result<Self, Failure> {
        if !folder.is_dir() {
            let message = format!("{}: expected a folder made with `score --out`", folder.display());
            return Err(Failure::usage(message));
        }
        let document = ScoreDocument::read(&folder.join("result.json"))?;
        check_fit(folder, &document)?;
        let Some(data) = &document.data else {
            let message = format!("{}: result.json does not say what was scored", folder.display());
            return Err(Failure::usage(message).with_hint(MAKE_ANEW));
        };
        let embedding = read_embedding(folder, &document)?;
        let ReferenceArgs { reference_inputs, reference_outputs, .. } = &args.reference;
        let corruption = document.corruption.as_ref();
        let inputs = stored_array(reference_inputs.as_deref(), &data.inputs, Side::Input, corruption)
            .map_err(|failure| failure.with_hint(INPUTS_HINT))?;
        let threads = args.model.method.general.threads;
        let run_again = RunAgain { inputs: &inputs, threads, console };
        let outputs = run_again
            .outputs(reference_outputs.as_deref(), &data.outputs, document.model.as_ref())
            .map_err(|failure| failure.with_hint(OUTPUTS_HINT))?;
        Ok(Self { document, embedding, inputs, outputs })
    }

    fn reference(&self, args: &ScoreArgs, monitor: &dyn Monitor) -> Result<Reference<'_>, Failure> {
        let samples = PairedSamples::new(self.inputs.samples()?, self.outputs.samples()?)?;
        // `check_fit` has seen that the graphs are those of the defaults.
        let params = args.model.method.params(self.document.neighbors.used);
        let eigenvalues = self.document.eigenvalues.clone();
        Ok(Reference::new(samples, eigenvalues, self.embedding.clone(), &params, monitor)?)
    }
}

/// New samples join kNN graphs of unit weights, and are scored by the embedding.
fn check_fit(folder: &Path, document: &ScoreDocument) -> Result<(), Failure> {
    let ScoreDocument { graph, weights, graphs, full_spectrum, .. } = document;
    let reason = if graphs.input.given || graphs.output.given {
        "its graphs were given, so that it is not known how new samples would join them".to_owned()
    } else if !is_plain(graph, weights) {
        format!(
            "new samples join knn graphs of unit weights, but its graphs are {graph} with {weights} weights"
        )
    } else if full_spectrum.is_some() {
        "its scores are made of all eigenpairs, those of new samples of the largest ones".to_owned()
    } else {
        return Ok(());
    };
    let message = format!("{}: is no reference for new samples: {reason}", folder.display());
    Err(Failure::usage(message).with_hint(MAKE_ANEW))
}

fn read_embedding(folder: &Path, document: &ScoreDocument) -> Result<SpectralEmbedding, Failure> {
    let path = folder.join("embedding.npy");
    let array =
        load(&path.display().to_string()).map_err(|error| Failure::from(error).with_hint(MAKE_ANEW))?;
    let expected = [document.samples, document.eigenvalues.len()];
    let samples = array.samples()?;
    match samples.values() {
        Values::F64(values) if array.shape() == expected => {
            Ok(SpectralEmbedding::from_rows(expected[1], values.to_vec()))
        }
        _ => {
            let message = format!(
                "{}: expected {} × {} numbers of double precision, got shape {:?}",
                path.display(),
                expected[0],
                expected[1],
                array.shape()
            );
            Err(Failure::usage(message).with_hint(MAKE_ANEW))
        }
    }
}

/// A mismatch with the reference concerns one file or both.
fn with_files(error: spadework::Error, inputs: &Dataset, outputs: &Dataset) -> Failure {
    let file = match &error {
        spadework::Error::ReferenceDim { side: Side::Input, .. } => inputs.name().to_owned(),
        spadework::Error::ReferenceDim { side: Side::Output, .. } => outputs.name().to_owned(),
        spadework::Error::ShapeMismatch { .. } => format!("{} and {}", inputs.name(), outputs.name()),
        _ => return error.into(),
    };
    Failure::from(error).about(&file)
}

fn check_labels(args: &ScoreArgs, labels: Option<&Labels>, scores: &NewScores) -> Result<(), Failure> {
    let samples = scores.quantiles.len();
    match labels {
        Some(labels) if labels.len() != samples => {
            let source = args.model.labels.as_deref().or(args.model.inputs.as_deref()).unwrap_or_default();
            let error = spadework::Error::LabelCount { samples, labels: labels.len() };
            Err(Failure::usage(format!("{source}: {error}")))
        }
        _ => Ok(()),
    }
}

fn tell_what_was_done(reference: &ScoreDocument, scores: &NewScores, console: Console) {
    if scores.averaged > 0 {
        console.note(&format!(
            "{} of {} entries of eigenvectors are means over output neighbors: the eigenvalues are too close to 1 to say more",
            scores.averaged,
            scores.embedding.values().len()
        ));
    }
    let samples = scores.quantiles.len();
    for (side, far) in [("inputs", &scores.far_inputs), ("outputs", &scores.far_outputs)] {
        if let Some(first) = far.first() {
            console.note(&format!(
                "the {side} of {} of {} are far from the reference (the first: sample {first}), farther from the nearest \
                 reference sample than any reference sample from its {} nearest: these scores are extrapolated",
                far.len(),
                counted(samples, "new sample"),
                reference.neighbors.used
            ));
        }
    }
    if reference.graphs.input.bridges + reference.graphs.output.bridges > 0 {
        console.note("the bridges of the reference are no neighbors of new samples");
    }
}

fn document(
    args: &ScoreArgs,
    result: &Path,
    reference: &ScoreDocument,
    scores: &NewScores,
    labels: Option<&Labels>,
    began: Instant,
) -> NewSamplesDocument {
    let node = |NodeScore { index, score, .. }| NewNode {
        index,
        score,
        quantile: scores.quantiles[index],
        label: labels.map(|labels| label_text(labels, index)),
    };
    NewSamplesDocument {
        schema: "spadework.new-samples/1",
        samples: scores.quantiles.len(),
        reference: ReferenceDocument {
            result: result.display().to_string(),
            model_score: reference.model_score,
            samples: reference.samples,
            neighbors: reference.neighbors.used,
            eigenpairs: reference.eigenpairs,
        },
        known: scores.known,
        averaged: scores.averaged,
        far_inputs: scores.far_inputs.len(),
        far_outputs: scores.far_outputs.len(),
        top_nodes: scores.node_scores.top(args.top).into_iter().map(node).collect(),
        total_s: began.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION"),
    }
}

/// result.json and the table of samples: index, label, score, rank, quantile.
fn write(
    folder: &ResultFolder<'_>,
    document: &NewSamplesDocument,
    scores: &NewScores,
    labels: Option<&Labels>,
) -> Result<(), Failure> {
    let (path, formats) = (folder.path(), folder.tables());
    write_bytes(&path.join("result.json"), json(document).as_bytes())?;
    let samples = scores.quantiles.len();
    let indices: Vec<i64> = (0..samples as i64).collect();
    let ranks: Vec<i64> = scores.node_scores.ranks().into_iter().map(|rank| rank as i64).collect();
    let words: Vec<String> = match labels {
        None => vec![String::new(); samples],
        Some(labels) => (0..samples).map(|index| label_text(labels, index)).collect(),
    };
    let columns = [
        ("index", Column::I64(&indices)),
        ("label", Column::Utf8(&words)),
        ("score", Column::F64(scores.node_scores.scores())),
        ("rank", Column::I64(&ranks)),
        ("quantile", Column::F64(&scores.quantiles)),
    ];
    tables::write(path, "nodes", formats, &columns)?;
    if formats.contains(&TableFormat::Npy) {
        write_npy(&path.join("node_scores.npy"), &[samples], scores.node_scores.scores())?;
    }
    Ok(())
}

fn to_text(document: &NewSamplesDocument) -> String {
    let NewSamplesDocument { reference, samples, known, top_nodes, .. } = document;
    let labelled = top_nodes.iter().any(|node| node.label.is_some());
    let mut header = vec!["rank", "sample", "score", "above"];
    header.extend(labelled.then_some("label"));
    let rows = top_nodes.iter().enumerate().map(|(rank, node)| {
        let mut row = vec![
            (rank + 1).to_string(),
            node.index.to_string(),
            number(node.score),
            format!("{:.1} %", 100.0 * node.quantile),
        ];
        row.extend(node.label.as_deref().map(printable));
        row
    });
    format!(
        "new samples   {samples}, {known} of them samples of the reference\n\
         reference     {} samples, model score {}, {}, {}\n\n\
         most fragile new samples (above: the part of the reference that scores lower)\n{}\n\
         seconds: {:.3}\n",
        reference.samples,
        number(reference.model_score),
        counted(reference.neighbors, "neighbor"),
        counted(reference.eigenpairs, "eigenpair"),
        table(&header, rows),
        document.total_s,
    )
}
