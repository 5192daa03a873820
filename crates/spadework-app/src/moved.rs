//! The samples whose neighbors changed most between two models, for example after an upgrade of an embedder.

use std::sync::Arc;

use spadework::error::Readable;
use spadework::pipeline::neighbor_graph;
use spadework::samples::Side;
use spadework::scores::distances_of_former_neighbors;
use spadework::threads::with_threads;
use spadework::{Samples, SpadeParams};
use spadework_document::SelectionDocument;
use spadework_document::facts::SampleDocument;
use spadework_document::moved::{MovedDocument, MovedNodeDocument, SCHEMA};
use spadework_io::Labels;
use spadework_io::output::{optional_field, write_bytes};
use spadework_probe::NeighborhoodOverlap;

use crate::data::{ModelData, OutputSource};
use crate::failure::Failure;
use crate::labels;
use crate::model_runner::ModelRunner;
use crate::observer::{Observer, Session};
use crate::result_folder::{FolderRequest, ResultFolder};
use crate::side_view::SideView;
use crate::sides::{Inputs, Outputs};
use crate::tables::csv_field;
use crate::usage::Usage;

/// Samples that are listed where the request names no number.
const DEFAULT_TOP: usize = 100;

/// A request to find the samples that moved.
#[derive(Debug, Clone)]
pub struct MovedRequest<'a> {
    /// The inputs, the old model, the labels.
    pub data: ModelData<'a>,
    /// The new model.
    pub against: OutputSource<'a>,
    /// Neighbors per sample, and how they are searched.
    pub params: SpadeParams,
    /// How many samples; 100, or all if there are fewer, by default.
    pub top: Option<usize>,
    /// A folder for the result.
    pub folder: Option<FolderRequest<'a>>,
}

/// The samples that moved.
#[derive(Debug, Clone)]
pub struct Moved {
    /// The samples. Those that kept the smallest share of their neighbors come first; among equal shares, those that are now farthest from
    /// their former neighbors.
    pub indices: Vec<usize>,
    /// The samples with label, overlap, distance ratio and rank, as CSV with a header.
    pub table: String,
    /// All of it as a document.
    pub document: MovedDocument,
}

/// Finds the samples whose neighbors changed most.
///
/// The neighbors are those of the requested k. The graphs need not be connected, and no eigenpairs are computed.
///
/// # Errors
/// When the request makes no sense, or its files cannot be read or written.
pub fn moved(request: &MovedRequest<'_>, observer: &dyn Observer) -> Result<Moved, Failure> {
    request.params.check()?;
    let folder = request.folder.map(ResultFolder::create).transpose()?;
    let session = Session::new(observer);
    let MovedRequest { data, params, .. } = request;
    let inputs = Inputs::load(&data.inputs, data.corruption, params, &session)?;
    let given = inputs.view()?;
    let runner = ModelRunner::new(&data.run, params, given.array(), &session);
    let before = Outputs::load(&data.outputs, given.array(), &runner)?;
    let after = Outputs::load(&request.against, given.array(), &runner)?;
    let (before, after) = (before.view()?, after.view()?);
    let (Some(old), Some(new)) = (before.samples(), after.samples()) else {
        return Err(Usage::MovedGraph.into());
    };
    before.check_length()?;
    after.check_length()?;
    request.check_samples(old, new)?;
    let with_inputs = given.array().and_then(SideView::labels);
    let labels = labels::load(data.labels.as_ref(), with_inputs)?;
    if let Some(labels) = &labels {
        labels::check_count(labels.len(), old.len(), None)?;
    }
    let ids = labels::ids(data.ids, old.len(), &session)?;
    // To the search both are outputs alike.
    let graph = |view: &SideView<'_>, samples| {
        let graph = neighbor_graph(samples, params, session.monitor());
        graph.map_err(|error| Failure::from(error).naming_array(view.file_name(), |_| view.file_name()))
    };
    let (old_graph, new_graph) = (Arc::new(graph(&before, old)?), graph(&after, new)?);
    let ratios = with_threads(params.threads, || -> Result<Vec<f64>, Failure> {
        let placed = params.geometry(Side::Output).place(Side::Output, new.view())?;
        Ok(distances_of_former_neighbors(&old_graph, &new_graph, &placed))
    })?;
    let overlap = NeighborhoodOverlap::between(old_graph, &new_graph);
    let mut indices = overlap.samples().ranking(&ratios);
    indices.truncate(request.top.unwrap_or(DEFAULT_TOP));
    let names = [before.name().to_owned(), after.name().to_owned()];
    let known = KnownOfSamples { labels: labels.as_ref(), ids: ids.as_deref() };
    let document = document(request, names, (&overlap, &ratios), known, &indices, &session);
    let table = table(&document, known);
    spadework_io::check_mapped_files()?;
    if let Some(folder) = folder {
        folder.write_document(&document)?;
        write_bytes(&folder.path().join("selected.csv"), table.as_bytes())?;
        folder.commit()?;
    }
    Ok(Moved { indices: document.selection.indices.clone(), table, document })
}

impl MovedRequest<'_> {
    fn check_samples(&self, before: &Samples<'_>, after: &Samples<'_>) -> Result<(), Failure> {
        let (before, after) = (before.len(), after.len());
        match self.top {
            _ if before != after => Err(Usage::MovedSamples { before, after }.into()),
            Some(top) if top > before => Err(Usage::TooManySelected { samples: before, top }.into()),
            _ => Ok(()),
        }
    }
}

/// What is known about the samples in addition to their neighbors.
#[derive(Clone, Copy)]
struct KnownOfSamples<'a> {
    labels: Option<&'a Labels>,
    ids: Option<&'a [String]>,
}

fn document(
    request: &MovedRequest<'_>,
    [outputs, against]: [String; 2],
    (overlap, ratios): (&NeighborhoodOverlap, &[f64]),
    known: KnownOfSamples<'_>,
    indices: &[usize],
    session: &Session<'_>,
) -> MovedDocument {
    let shares = overlap.samples().shares();
    let node = |&index: &usize| MovedNodeDocument {
        sample: SampleDocument::new(index, known.ids, known.labels),
        overlap: shares[index],
        distance_ratio: Some(ratios[index]).filter(|ratio| ratio.is_finite()),
    };
    MovedDocument {
        schema: SCHEMA.to_owned(),
        outputs,
        against,
        samples: shares.len(),
        neighbors: request.params.neighbors,
        metric: request.params.output_metric.to_string(),
        overlap: overlap.estimate().into(),
        selection: SelectionDocument::new(indices, known.ids),
        nodes: indices.iter().map(node).collect(),
        seed: request.params.seed,
        written: session.notes().into(),
    }
}

/// index, id where samples have names, label, overlap, `distance_ratio`, rank.
fn table(document: &MovedDocument, known: KnownOfSamples<'_>) -> String {
    let mut table =
        format!("index{},label,overlap,distance_ratio,rank\n", if known.ids.is_some() { ",id" } else { "" });
    for (at, node) in document.nodes.iter().enumerate() {
        let label = known.labels.map(|labels| csv_field(&labels::text(labels, node.sample.index)));
        let label = label.unwrap_or_default();
        let id = node.sample.id.as_ref().map_or_else(String::new, |id| format!(",{}", csv_field(id)));
        let ratio = optional_field(node.distance_ratio.map(Readable));
        table.push_str(&format!(
            "{}{id},{label},{},{ratio},{}\n",
            node.sample.index,
            Readable(node.overlap),
            at + 1
        ));
    }
    table
}
