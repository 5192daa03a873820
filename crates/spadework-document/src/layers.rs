//! The scores of a network's layers as a document: what `layers --json` prints.
//!
//! The fields and their names are an interface: they change only with the number in [`SCHEMA`].

use std::path::Path;

use serde::{Deserialize, Serialize};
use spadework::pipeline::{LayerScore, LayerScores};
use spadework::{Samples, SpadeParams};

use crate::Error;
use crate::note::Note;
use crate::request::RequestDocument;
use crate::score::{EnclosureDocument, ModelFileDocument, NeighborsDocument, indented_json, read_document};

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.layers/2";

/// A layer of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its place among the nodes that depend on the input, from 1.
    pub depth: usize,
    /// The node's name, or that of its value where it has none.
    pub name: String,
    /// What the node does.
    pub operator: String,
    /// The value that it makes.
    pub value: String,
    /// Numbers per sample.
    pub dim: usize,
}

/// Scores over the depth of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayersDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// The model that was run.
    pub model: ModelFileDocument,
    /// In the order of the file.
    pub layers: Vec<LayerDocument>,
    /// Number of samples.
    pub samples: usize,
    /// Numbers per sample of the inputs.
    pub input_dim: usize,
    /// k, the same for all layers.
    pub neighbors: NeighborsDocument,
    /// How the graphs were made.
    pub graph: String,
    /// What their edges weigh.
    pub weights: String,
    /// Connectivity policy.
    pub connectivity: String,
    /// r.
    pub eigenpairs: usize,
    /// Relative residual asked for.
    pub tolerance: f64,
    /// Seed.
    pub seed: u64,
    /// The graph of the inputs, the same for all layers.
    pub input_graph: LayersInputGraph,
    /// The command that made a result that was written to a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The parameters asked for, from which the result can be made again.
    pub request: RequestDocument,
    /// What a reader of the result must know.
    pub notes: Vec<Note>,
    /// Wall-clock seconds.
    pub timings: LayersTimings,
    /// Version of the program that wrote it.
    pub version: String,
}

/// One layer: its score, or why it has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerDocument {
    /// Its place among the nodes that depend on the input, from 1.
    pub depth: usize,
    /// The node's name.
    pub name: String,
    /// What the node does.
    pub operator: String,
    /// The value that it makes.
    pub value: String,
    /// Numbers per sample.
    pub dim: usize,
    /// λ_1 of its activations against the inputs.
    pub model_score: Option<f64>,
    /// Descending.
    pub eigenvalues: Vec<f64>,
    /// Relative residuals of the eigenpairs.
    pub residuals: Vec<f64>,
    /// Where the score lies for certain, or nearly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enclosure: Option<EnclosureDocument>,
    /// Edges of the graph of its activations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_edges: Option<usize>,
    /// Components with the neighbours asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components_found: Option<usize>,
    /// Bridges added to the graph of its activations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridges: Option<usize>,
    /// Of the scoring, without the making of the activations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Why it has no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The graph of the inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayersInputGraph {
    /// Its edges.
    pub edges: usize,
    /// Components with the neighbours asked for.
    pub components_found: usize,
    /// Bridges added to it.
    pub bridges: usize,
}

/// Wall-clock seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayersTimings {
    /// The search over the inputs.
    pub neighbors_input_s: f64,
    /// All of it.
    pub total_s: f64,
}

impl LayersDocument {
    /// The document of scores; `layers` in their order.
    pub fn new(
        scores: &LayerScores,
        layers: &[Layer],
        model: ModelFileDocument,
        inputs: &Samples<'_>,
        params: &SpadeParams,
    ) -> Self {
        let first = scores.layers.iter().find_map(|score| score.as_ref().ok());
        let mended = first.map(|score| score.diagnostics.connection.input);
        Self {
            schema: SCHEMA.to_owned(),
            model,
            layers: layers.iter().zip(&scores.layers).map(|(layer, score)| of_layer(layer, score)).collect(),
            samples: inputs.len(),
            input_dim: inputs.dim(),
            neighbors: NeighborsDocument { requested: scores.requested, used: scores.used },
            graph: params.graph.to_string(),
            weights: params.weights.to_string(),
            connectivity: params.connectivity.to_string(),
            eigenpairs: params.eigenpairs,
            tolerance: params.tolerance,
            seed: params.seed,
            input_graph: LayersInputGraph {
                edges: first.map_or(0, |score| score.input_edges),
                components_found: mended.map_or(0, |mended| mended.components_found),
                bridges: mended.map_or(0, |mended| mended.bridges),
            },
            timings: LayersTimings {
                neighbors_input_s: scores.neighbors_input.as_secs_f64(),
                total_s: scores.total.as_secs_f64(),
            },
            command: None,
            request: params.into(),
            notes: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Reads `result.json` of a folder made with `layers --out`.
    ///
    /// # Errors
    /// When the file cannot be read or is not such a document.
    pub fn read(path: &Path) -> Result<Self, Error> {
        read_document(path, SCHEMA)
    }

    /// The document as text.
    pub fn to_json(&self) -> String {
        indented_json(self)
    }
}

fn of_layer(layer: &Layer, score: &spadework::Result<LayerScore>) -> LayerDocument {
    let scored = score.as_ref().ok();
    let output = scored.map(|score| score.diagnostics.connection.output);
    LayerDocument {
        depth: layer.depth,
        name: layer.name.clone(),
        operator: layer.operator.clone(),
        value: layer.value.clone(),
        dim: layer.dim,
        model_score: scored.map(|score| score.model_score.0),
        eigenvalues: scored.map(|score| score.eigenvalues.clone()).unwrap_or_default(),
        residuals: scored.map(|score| score.residuals.clone()).unwrap_or_default(),
        enclosure: scored.map(|score| score.enclosure.into()),
        output_edges: scored.map(|score| score.output_edges),
        components_found: output.map(|output| output.components_found),
        bridges: output.map(|output| output.bridges),
        seconds: scored.map(|score| score.diagnostics.timings.total.as_secs_f64()),
        error: score.as_ref().err().map(ToString::to_string),
    }
}
