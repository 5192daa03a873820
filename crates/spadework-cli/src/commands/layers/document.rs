//! The scores of layers as a document.

use serde::Serialize;
use spadework::{LayerScores, Samples, SpadeParams};
use spadework_io::result::{EnclosureDocument, ModelFileDocument, NeighborsDocument};

use super::activations::Layer;

/// `spadework layers --json`.
#[derive(Debug, Serialize)]
pub(super) struct LayersDocument {
    pub(super) schema: &'static str,
    pub(super) model: ModelFileDocument,
    /// In the order of the file.
    pub(super) layers: Vec<LayerDocument>,
    pub(super) samples: usize,
    pub(super) input_dim: usize,
    /// k, the same for all layers.
    pub(super) neighbors: NeighborsDocument,
    graph: String,
    weights: String,
    connectivity: String,
    eigenpairs: usize,
    tolerance: f64,
    seed: u64,
    input_graph: InputGraph,
    timings: LayersTimings,
    version: &'static str,
}

/// One layer: its score, or why it has none.
#[derive(Debug, Serialize)]
pub(super) struct LayerDocument {
    /// Its place among the nodes that depend on the input, from 1.
    pub(super) depth: usize,
    pub(super) name: String,
    pub(super) operator: String,
    value: String,
    /// Numbers a sample.
    pub(super) dim: usize,
    pub(super) model_score: Option<f64>,
    eigenvalues: Vec<f64>,
    residuals: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enclosure: Option<EnclosureDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_edges: Option<usize>,
    /// Components with the neighbours asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) components_found: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bridges: Option<usize>,
    /// Of the scoring, without the making of the activations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

#[derive(Debug, Serialize)]
struct InputGraph {
    edges: usize,
    components_found: usize,
    bridges: usize,
}

#[derive(Debug, Serialize)]
struct LayersTimings {
    neighbors_input_s: f64,
    total_s: f64,
}

impl LayersDocument {
    pub(super) fn new(
        scores: &LayerScores,
        layers: &[Layer],
        model: ModelFileDocument,
        inputs: &Samples<'_>,
        params: &SpadeParams,
    ) -> Self {
        let first = scores.layers.iter().find_map(|score| score.as_ref().ok());
        let mended = first.map(|score| score.diagnostics.connection.input);
        Self {
            schema: "spadework.layers/1",
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
            input_graph: InputGraph {
                edges: first.map_or(0, |score| score.input_edges),
                components_found: mended.map_or(0, |mended| mended.components_found),
                bridges: mended.map_or(0, |mended| mended.bridges),
            },
            timings: LayersTimings {
                neighbors_input_s: scores.neighbors_input.as_secs_f64(),
                total_s: scores.total.as_secs_f64(),
            },
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

fn of_layer(layer: &Layer, score: &spadework::Result<spadework::LayerScore>) -> LayerDocument {
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
