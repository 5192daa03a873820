//! The scores of a network's layers as a document: what `layers --json` prints.
//!
//! The fields and their names are an interface: they change only with the number in [`SCHEMA`].

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::graph::SideConnection;
use spadework::pipeline::{LayerScore, LayerScores};
use spadework::{Samples, SpadeParams};

use crate::parts::{MadeDocument, SettingsDocument};
use crate::score::{ModelFileDocument, NeighborsDocument, NumericalBoundsDocument};
use crate::stored::StoredDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.layers/3";

/// A layer of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its place among the nodes that depend on the input, from 1.
    pub depth: usize,
    /// The node's name, or the name of its value if it has none.
    pub name: String,
    /// Operator of the node.
    pub operator: String,
    /// The value that it returns.
    pub value: String,
    /// Numbers per sample.
    pub dim: usize,
}

/// Scores over the depth of a network.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayersDocument {
    /// Name and version of the layout.
    pub schema: String,
    /// The model that was run.
    pub model: ModelFileDocument,
    /// In the order of the file.
    pub layers: Vec<LayerDocument>,
    /// Inputs and method, as fields of the document itself.
    #[serde(flatten)]
    pub settings: SettingsDocument,
    /// The graph of the inputs, the same for all layers.
    pub input_graph: LayersInputGraph,
    /// Request, notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
    /// Wall-clock seconds.
    pub timings: LayersTimings,
}

/// One layer: its score, or why it has none.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerDocument {
    /// Which one, as fields of the document itself.
    #[serde(flatten)]
    pub layer: Layer,
    /// λ_1 of its activations against the inputs.
    #[serialize_always]
    pub model_score: Option<f64>,
    /// Eigenvalues, descending.
    pub eigenvalues: Vec<f64>,
    /// Relative residuals of the eigenpairs.
    pub residuals: Vec<f64>,
    /// Numerical bounds of the score.
    pub numerical_bounds: Option<NumericalBoundsDocument>,
    /// Edges of the graph of its activations.
    pub output_edges: Option<usize>,
    /// Components with the requested neighbors.
    pub components_found: Option<usize>,
    /// Bridges added to the graph of its activations.
    pub bridges: Option<usize>,
    /// Wall-clock seconds of scoring, without computing the activations.
    pub seconds: Option<f64>,
    /// Why it has no score.
    pub error: Option<String>,
}

/// The graph of the inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayersInputGraph {
    /// Its edges.
    pub edges: usize,
    /// How it was connected, as fields of the document itself.
    #[serde(flatten)]
    pub connection: SideConnection,
}

/// Wall-clock seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayersTimings {
    /// The search over the inputs.
    pub neighbors_input_s: f64,
    /// All of it.
    pub total_s: f64,
}

impl StoredDocument for LayersDocument {
    const SCHEMA: &'static str = SCHEMA;
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
        let settings = SettingsDocument {
            samples: inputs.len(),
            input_dim: inputs.dim(),
            neighbors: NeighborsDocument { requested: scores.requested, used: scores.used },
            method: params.into(),
        };
        Self {
            schema: SCHEMA.to_owned(),
            model,
            layers: layers.iter().zip(&scores.layers).map(|(layer, score)| of_layer(layer, score)).collect(),
            settings,
            input_graph: LayersInputGraph {
                edges: first.map_or(0, |score| score.input_edges),
                connection: mended.unwrap_or(SideConnection::new(0, 0)),
            },
            timings: LayersTimings {
                neighbors_input_s: scores.neighbors_input.as_secs_f64(),
                total_s: scores.total.as_secs_f64(),
            },
            made: params.into(),
        }
    }
}

fn of_layer(layer: &Layer, score: &spadework::Result<LayerScore>) -> LayerDocument {
    let scored = score.as_ref().ok();
    let output = scored.map(|score| score.diagnostics.connection.output);
    LayerDocument {
        layer: layer.clone(),
        model_score: scored.map(|score| score.model_score.0),
        eigenvalues: scored.map(|score| score.eigenvalues.clone()).unwrap_or_default(),
        residuals: scored.map(|score| score.residuals.clone()).unwrap_or_default(),
        numerical_bounds: scored.map(|score| score.enclosure.into()),
        output_edges: scored.map(|score| score.output_edges),
        components_found: output.map(|output| output.components_found),
        bridges: output.map(|output| output.bridges),
        seconds: scored.map(|score| score.diagnostics.timings.total.as_secs_f64()),
        error: score.as_ref().err().map(ToString::to_string),
    }
}
