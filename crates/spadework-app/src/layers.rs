//! The score over the depth of a network (the paper's A.7).

mod activations;

use std::collections::BTreeMap;
use std::path::Path;

use spadework::SpadeParams;
use spadework::pipeline::{LayerScores, score_layers};
use spadework_document::layers::{Layer, LayersDocument};
use spadework_io::output::{Column, write_npy};
use spadework_io::{Labels, load_announcing};
use spadework_model::{ByLibrary, OnnxModel, RunOptions};
use spadework_report::{Origin, layers_charts, layers_page};

use self::activations::{Activations, HELD_BYTES, chosen_layers};
use crate::failure::{Failure, Subject};
use crate::model_runner;
use crate::observer::{Observer, Session};
use crate::pages::PageRequest;
use crate::result_folder::{FolderRequest, ResultFolder};
use crate::side_view::{Array, SideView};
use crate::tables::{self, TableFormat, TableOf};
use crate::usage::Usage;
use crate::wording::NoteCode;
use crate::{labels, notes, printable, room};

/// Which layers of a network are scored.
#[derive(Debug, Clone)]
pub struct LayersRequest<'a> {
    /// The model file.
    pub model: &'a str,
    /// What it is run on.
    pub inputs: &'a str,
    /// Patterns of names or operators; if empty, all layers that change their numbers.
    pub layers: &'a [String],
    /// How the model is run.
    pub run: RunOptions,
    /// How the layers are scored.
    pub params: SpadeParams,
    /// A folder for the result.
    pub folder: Option<FolderRequest<'a>>,
    /// A page and figures.
    pub page: PageRequest<'a>,
    /// What the page and the document say about where they come from.
    pub origin: Origin,
}

/// Scores the activations of every layer of a network against its inputs.
///
/// # Errors
/// When the request makes no sense, its files cannot be read or written, or no layer has a score.
pub fn layers(request: &LayersRequest<'_>, observer: &dyn Observer) -> Result<LayersDocument, Failure> {
    let LayersRequest { params, run, .. } = request;
    params.check()?;
    let folder = ResultFolder::open(request.folder, &request.page)?;
    let session = Session::new(observer);
    let model = OnnxModel::open(request.model)?;
    let announce = room::about_loading(request.inputs, &session);
    let array = Array::Dataset(load_announcing(request.inputs, session.monitor(), &announce)?);
    let inputs = SideView::of_array(&array)?;
    let (layers, by) = layers_of(request, &model, &inputs, &session)?;
    inputs.check_length()?;
    let Some(samples) = inputs.samples() else { return Err(Usage::UnknownArrays.into()) };
    let dims = layers.iter().map(|layer| layer.dim);
    room::about_layers(&inputs, dims, HELD_BYTES as u64, params, &session)?;
    let mut activations = Activations {
        model: &model,
        layers: &layers,
        sample_shape: inputs.sample_shape(),
        samples,
        options: run,
        monitor: session.monitor(),
        held: BTreeMap::new(),
    };
    let scores =
        score_layers(samples, layers.len(), |layer| activations.of(layer), params, session.monitor())?;
    note_graphs(&scores, &layers, &session);
    let last = layers.last().map(|layer| layer.value.clone()).unwrap_or_default();
    let file = model_runner::document(&model, last, false, run, by.as_ref());
    let mut document = LayersDocument::new(&scores, &layers, file, samples, params);
    spadework_io::check_mapped_files()?;
    document.made.notes = session.notes();
    if scores.layers.iter().all(Result::is_err) {
        return Err(no_scores(request, &layers, scores));
    }
    if folder.is_some() {
        document.made.command.clone_from(&request.origin.command);
    }
    let write = |folder: ResultFolder<'_>| {
        folder.write_document(&document)?;
        write_layers(folder.path(), folder.tables(), &document)?;
        write_nodes(folder.path(), folder.tables(), &scores, &document, inputs.labels())?;
        folder.commit()
    };
    let _lock = folder.map(write).transpose()?;
    request.page.write(|| layers_page(&document, &request.origin), || layers_charts(&document))?;
    Ok(document)
}

/// The layers that were asked for.
fn layers_of(
    request: &LayersRequest<'_>,
    model: &OnnxModel,
    inputs: &SideView<'_>,
    session: &Session<'_>,
) -> Result<(Vec<Layer>, Option<ByLibrary>), Failure> {
    let candidates = chosen_layers(model, request.layers, &request.run)?;
    let values: Vec<&str> = candidates.iter().map(|layer| layer.value.as_str()).collect();
    let prepared = model.prepare(inputs.sample_shape(), &values, &request.run)?;
    model_runner::note_library(model.name(), &prepared, session);
    if prepared.moves_channels() {
        session.note(
            NoteCode::ChannelsMoved,
            format!("{}: the channels of the inputs are moved to where the model expects them", model.name()),
        );
    }
    let with_dims = candidates.into_iter().zip(prepared.dims());
    let (kept, left): (Vec<_>, Vec<_>) = with_dims.partition(|(_, dim)| dim.is_some());
    if !left.is_empty() {
        let names: Vec<String> =
            left.iter().map(|(layer, _)| format!("`{}`", printable(&layer.name))).collect();
        session.note(
            NoteCode::LayersLeftOut,
            format!("skipped, because they do not have one row per sample: {}", names.join(", ")),
        );
    }
    let layers: Vec<Layer> =
        kept.into_iter().filter_map(|(layer, dim)| Some(Layer { dim: dim?, ..layer })).collect();
    if layers.is_empty() {
        return Err(Failure::from(Usage::NoLayerOfRows).about_place(model.name()));
    }
    Ok((layers, prepared.library().cloned()))
}

fn no_scores(request: &LayersRequest<'_>, layers: &[Layer], scores: LayerScores) -> Failure {
    let error = scores.layers.into_iter().find_map(Result::err);
    let failure = error.map_or_else(
        || Failure::from(Usage::NoLayer),
        |error| Failure::of_evaluation(error, &request.params),
    );
    let first = layers.first().map(|layer| layer.name.as_str()).unwrap_or_default();
    failure.about(Subject::Place(format!("{}: no layer has a score, the first (`{first}`)", request.model)))
}

fn note_graphs(scores: &LayerScores, layers: &[Layer], session: &Session<'_>) {
    let scored =
        || scores.layers.iter().zip(layers).filter_map(|(score, layer)| Some((score.as_ref().ok()?, layer)));
    if let Some((first, _)) = scored().next() {
        notes::about_search("inputs", first.diagnostics.input_recall, session);
    }
    for (score, layer) in scored() {
        let whose = format!("layer `{}`", layer.name);
        notes::about_search(&whose, score.diagnostics.output_recall, session);
        let samples = score.node_scores.scores().len();
        notes::about_output_copies(&format!("outputs of {whose}"), &score.diagnostics, samples, session);
    }
    if scores.used > scores.requested {
        session.note(
            NoteCode::NeighborsGrown,
            format!(
                "{} neighbors leave graphs disconnected; {} neighbors connect every graph and are used for all layers",
                scores.requested, scores.used
            ),
        );
    }
    let bridged = scored().filter(|(score, _)| score.diagnostics.connection.output.bridges > 0).count();
    if bridged > 0 {
        session.note(
            NoteCode::Bridges,
            format!(
                "bridges connect the graphs that {} neighbors leave disconnected in {bridged} layers",
                scores.requested
            ),
        );
    }
}

fn write_layers(path: &Path, formats: &[TableFormat], document: &LayersDocument) -> Result<(), Failure> {
    TableOf::rows(&document.layers)
        .counts("depth", |layer| layer.layer.depth)
        .words("name", |layer| layer.layer.name.clone())
        .words("operator", |layer| layer.layer.operator.clone())
        .counts("numbers", |layer| layer.layer.dim)
        .numbers("model_score", |layer| layer.model_score)
        .words("error", |layer| layer.error.clone().unwrap_or_default())
        .write(path, "layers", formats)
}

/// A sample per row, the score in every layer a column; layers without a score have none.
fn write_nodes(
    path: &Path,
    formats: &[TableFormat],
    scores: &LayerScores,
    document: &LayersDocument,
    labels: Option<&Labels>,
) -> Result<(), Failure> {
    let scored: Vec<(String, &[f64])> = document
        .layers
        .iter()
        .zip(&scores.layers)
        .filter_map(|(layer, score)| {
            Some((format!("score_{}", layer.layer.name), score.as_ref().ok()?.node_scores.scores()))
        })
        .collect();
    let indices: Vec<i64> = (0..document.settings.samples as i64).collect();
    let words: Option<Vec<String>> = labels
        .map(|labels| (0..document.settings.samples).map(|index| labels::text(labels, index)).collect());
    let mut columns = vec![("index", Column::I64(&indices))];
    columns.extend(words.as_ref().map(|words| ("label", Column::Utf8(words))));
    columns.extend(scored.iter().map(|(name, scores)| (name.as_str(), Column::F64(scores))));
    tables::write(path, "nodes", formats, &columns)?;
    if formats.contains(&TableFormat::Npy) {
        let rows =
            (0..document.settings.samples).flat_map(|p| scored.iter().map(move |(_, scores)| scores[p]));
        let values: Vec<f64> = rows.collect();
        write_npy(
            &path.join("node_scores.npy"),
            &[document.settings.samples, scored.len()],
            values.as_slice(),
        )?;
    }
    Ok(())
}
