//! `spadework layers`: the score over the depth of a network (the paper's A.7).

mod activations;

use std::path::Path;

use spadework::pipeline::{LayerScores, score_layers};
use spadework_document::layers::{Layer, LayersDocument};
use spadework_io::Dataset;
use spadework_io::load;
use spadework_io::output::{Column, write_bytes, write_npy};
use spadework_model::{OnnxModel, RunOptions};
use spadework_report::{layers_charts, layers_page};

use self::activations::{Activations, chosen_layers};
use crate::args::TableFormat;
use crate::args_model::LayersArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::model_runner::{document, sample_shape};
use crate::pages::{Places, this_call};
use crate::render::{json, number, printable, table};
use crate::run::{ResultFolder, label_text, tell_what_was_missed};
use crate::stored::command_line;
use crate::tables;

pub(crate) fn run(args: &LayersArgs) -> Result<(), Failure> {
    let params = args.method.params(args.neighbors);
    params.check()?;
    let folder = ResultFolder::from_args(&args.output, &[])?;
    let places = Places::from_args(&args.page)?;
    let console = Console::new(&args.output);
    let options = args.feed.options();
    let model = OnnxModel::open(&args.model)?;
    let inputs = load(&args.inputs)?;
    let layers = layers(args, &model, &inputs, &options, console)?;
    let samples = inputs.samples()?;
    let monitor = console.monitor();
    let mut activations = Activations::new(&model, &layers, &inputs, &options, &monitor)?;
    let scores = score_layers(&samples, layers.len(), |layer| activations.of(layer), &params, &monitor)?;
    drop(monitor);
    tell_what_was_done(&scores, &layers, console);
    let file = document(&model, last_value(&layers), false, &options);
    let mut document = LayersDocument::new(&scores, &layers, file, &samples, &params);
    if scores.layers.iter().all(Result::is_err) {
        let (layer, error) = (&layers[0], scores.layers.into_iter().find_map(Result::err));
        let failure = error.map_or_else(
            || Failure::usage("there is no layer"),
            |error| Failure::of_evaluation(error, &params),
        );
        return Err(
            failure.about(&format!("{}: no layer has a score, the first (`{}`)", args.model, layer.name))
        );
    }
    if let Some(folder) = folder {
        document.command = Some(command_line());
        write(&folder, &scores, &document, &inputs)?;
        folder.commit()?;
    }
    places.write(|| layers_page(&document, &this_call()), || Ok(layers_charts(&document)))?;
    Console::data(&if args.output.json { json(&document) } else { to_text(&document) })
}

/// The layers that were asked for.
fn layers(
    args: &LayersArgs,
    model: &OnnxModel,
    inputs: &Dataset,
    options: &RunOptions,
    console: Console,
) -> Result<Vec<Layer>, Failure> {
    let candidates = chosen_layers(model, &args.layers, options)?;
    let values: Vec<&str> = candidates.iter().map(|layer| layer.value.as_str()).collect();
    let prepared = model.prepare(sample_shape(inputs), &values, options)?;
    if prepared.moves_channels() {
        console.note(&format!(
            "{}: the channels of the inputs are moved to where the model wants them",
            model.name()
        ));
    }
    let dims = prepared.dims();
    let with_dims = candidates.into_iter().zip(dims);
    let (kept, left): (Vec<_>, Vec<_>) = with_dims.partition(|(_, dim)| dim.is_some());
    if !left.is_empty() {
        let names: Vec<String> =
            left.iter().map(|(layer, _)| format!("`{}`", printable(&layer.name))).collect();
        console.note(&format!("left out, since they do not make one row a sample: {}", names.join(", ")));
    }
    let layers: Vec<Layer> =
        kept.into_iter().filter_map(|(layer, dim)| Some(Layer { dim: dim?, ..layer })).collect();
    if layers.is_empty() {
        return Err(Failure::usage(format!("{}: no layer makes one row a sample", model.name())));
    }
    Ok(layers)
}

fn last_value(layers: &[Layer]) -> String {
    layers.last().map(|layer| layer.value.clone()).unwrap_or_default()
}

/// What a reader of the scores must know, beside them.
fn tell_what_was_done(scores: &LayerScores, layers: &[Layer], console: Console) {
    let scored =
        || scores.layers.iter().zip(layers).filter_map(|(score, layer)| Some((score.as_ref().ok()?, layer)));
    if let Some((first, _)) = scored().next() {
        tell_what_was_missed("inputs", first.diagnostics.input_recall, console);
    }
    for (score, layer) in scored() {
        tell_what_was_missed(&format!("layer `{}`", layer.name), score.diagnostics.output_recall, console);
    }
    if scores.used > scores.requested {
        console.note(&format!(
            "{} neighbors leave graphs in pieces; {} neighbors connect every graph and are used for all layers",
            scores.requested, scores.used
        ));
    }
    let bridged = scored().filter(|(score, _)| score.diagnostics.connection.output.bridges > 0).count();
    if bridged > 0 {
        console.note(&format!(
            "bridges join what {} neighbors leave in pieces in {bridged} layers",
            scores.requested
        ));
    }
}

fn to_text(document: &LayersDocument) -> String {
    let heading = ["#", "layer", "operator", "numbers", "score", "components", "seconds", ""];
    let rows = document.layers.iter().map(|layer| {
        let dash = || "-".to_owned();
        vec![
            layer.depth.to_string(),
            printable(&layer.name),
            printable(&layer.operator),
            layer.dim.to_string(),
            layer.model_score.map_or_else(dash, number),
            layer.components_found.map_or_else(dash, |components| components.to_string()),
            layer.seconds.map_or_else(dash, |seconds| format!("{seconds:.2}")),
            layer.error.clone().unwrap_or_default(),
        ]
    });
    format!(
        "model       {}\nsamples     {}, {} numbers in\nneighbors   {} for all layers\n\n{}",
        document.model.file,
        document.samples,
        document.input_dim,
        document.neighbors.used,
        table(&heading, rows)
    )
}

/// result.json, and the tables of layers and of samples.
fn write(
    folder: &ResultFolder<'_>,
    scores: &LayerScores,
    document: &LayersDocument,
    inputs: &Dataset,
) -> Result<(), Failure> {
    let (path, formats) = (folder.path(), folder.tables());
    write_bytes(&path.join("result.json"), json(document).as_bytes())?;
    write_layers(path, formats, document)?;
    write_nodes(path, formats, scores, document, inputs)
}

fn write_layers(path: &Path, formats: &[TableFormat], document: &LayersDocument) -> Result<(), Failure> {
    let layers = &document.layers;
    let depths: Vec<i64> = layers.iter().map(|layer| layer.depth as i64).collect();
    let names: Vec<String> = layers.iter().map(|layer| layer.name.clone()).collect();
    let operators: Vec<String> = layers.iter().map(|layer| layer.operator.clone()).collect();
    let dims: Vec<i64> = layers.iter().map(|layer| layer.dim as i64).collect();
    let scores: Vec<f64> = layers.iter().map(|layer| layer.model_score.unwrap_or(f64::NAN)).collect();
    let errors: Vec<String> = layers.iter().map(|layer| layer.error.clone().unwrap_or_default()).collect();
    let columns = [
        ("depth", Column::I64(&depths)),
        ("name", Column::Utf8(&names)),
        ("operator", Column::Utf8(&operators)),
        ("numbers", Column::I64(&dims)),
        ("model_score", Column::F64(&scores)),
        ("error", Column::Utf8(&errors)),
    ];
    tables::write(path, "layers", formats, &columns)
}

/// A sample a row, the score in every layer a column; layers without a score have none.
fn write_nodes(
    path: &Path,
    formats: &[TableFormat],
    scores: &LayerScores,
    document: &LayersDocument,
    inputs: &Dataset,
) -> Result<(), Failure> {
    let scored: Vec<(String, &[f64])> = document
        .layers
        .iter()
        .zip(&scores.layers)
        .filter_map(|(layer, score)| {
            Some((format!("score_{}", layer.name), score.as_ref().ok()?.node_scores.scores()))
        })
        .collect();
    let indices: Vec<i64> = (0..document.samples as i64).collect();
    let words: Option<Vec<String>> =
        inputs.labels().map(|labels| (0..document.samples).map(|index| label_text(labels, index)).collect());
    let mut columns = vec![("index", Column::I64(&indices))];
    columns.extend(words.as_ref().map(|words| ("label", Column::Utf8(words))));
    columns.extend(scored.iter().map(|(name, scores)| (name.as_str(), Column::F64(scores))));
    tables::write(path, "nodes", formats, &columns)?;
    if formats.contains(&TableFormat::Npy) {
        let rows = (0..document.samples).flat_map(|p| scored.iter().map(move |(_, scores)| scores[p]));
        let values: Vec<f64> = rows.collect();
        write_npy(&path.join("node_scores.npy"), &[document.samples, scored.len()], values.as_slice())?;
    }
    Ok(())
}
