//! One network, layer after layer (the paper's A.7): the score of every layer's activations against the same inputs.
//!
//! Where does the network become fragile? Scores with different k cannot be compared, so, as in
//! [`compare`](crate::pipeline::compare), one k serves all layers: the smallest k' ≥ k with which the inputs and every layer are
//! connected, under [`Connectivity::Grow`](crate::graph::Connectivity::Grow). But the activations of all layers together are too
//! large for memory. So each layer is scored in turn, with the k' that it needs by itself. The largest of these is used for
//! all; layers that were scored with fewer neighbors are requested and scored again. The inputs are searched once.

use std::time::{Duration, Instant};

use super::graphs::{
    KnownInputs, ModelSides, SearchedOutputs, placed, placed_inputs, search_fn, searched_inputs,
};
use super::params::SpadeParams;
use super::report::{Diagnostics, SpadeReport};
use super::resumed_spectrum::report_of;
use crate::eigen::Enclosure;
use crate::error::{Error, Result};
use crate::graph::{Connection, SearchedSide, SideConnection, SideSamples};
use crate::monitor::Monitor;
use crate::neighbors::NeighborLists;
use crate::samples::{Samples, Side};
use crate::scores::{ModelScore, NodeScores};
use crate::threads::with_threads;

/// The layers of a network, in the order in which they were given.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LayerScores {
    /// The outcome of each layer. A layer without a score says why, and does not affect the others.
    pub layers: Vec<Result<LayerScore>>,
    /// Requested neighbors, k.
    pub requested: usize,
    /// Neighbors used for all layers, k' ≥ k.
    pub used: usize,
    /// Time of the neighbor search among the inputs, which all layers share.
    pub neighbors_input: Duration,
    /// Total time, including that of computing the activations.
    pub total: Duration,
}

/// The results of a layer: those of [`evaluate`](crate::pipeline::evaluate) for its activations, without graphs and eigenvectors.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LayerScore {
    /// λ_1; larger is less robust.
    pub model_score: ModelScore,
    /// Bounds of the model score.
    pub enclosure: Enclosure,
    /// λ_1 ≥ … ≥ λ_r.
    pub eigenvalues: Vec<f64>,
    /// Relative residual of each eigenpair.
    pub residuals: Vec<f64>,
    /// Scores of the samples.
    pub node_scores: NodeScores,
    /// Edges of the input graph.
    pub input_edges: usize,
    /// Edges of the graph of the activations.
    pub output_edges: usize,
    /// What was done to connect the graphs, and times.
    pub diagnostics: Diagnostics,
}

impl From<SpadeReport> for LayerScore {
    fn from(report: SpadeReport) -> Self {
        Self {
            model_score: report.model_score,
            enclosure: report.enclosure,
            eigenvalues: report.eigenpairs.values().to_vec(),
            residuals: report.eigenpairs.residuals().to_vec(),
            node_scores: report.node_scores,
            input_edges: report.graphs.input().edge_count(),
            output_edges: report.graphs.output().edge_count(),
            diagnostics: report.diagnostics,
        }
    }
}

/// Scores every layer of a network against the inputs, on one input graph and with one k.
///
/// `activations` returns the activations of a layer by its number. It is called once per layer, in order, and again if a
/// later layer needs more neighbors. Only one layer is in memory at a time, and the [`LayerScore`] of every layer is kept.
///
/// # Errors
/// Errors of `activations`, errors about the inputs, and when the monitor stops the run. An error about one layer is the
/// outcome of that layer.
///
/// ```
/// use spadework::{Error, Samples, Silent, SpadeParams};
/// use spadework::pipeline::score_layers;
/// // Forty points on a circle; the first layer turns it, the second cuts it open.
/// let angle = |i: usize| i as f64 / 40.0 * std::f64::consts::TAU;
/// let circle = |turn: f64| (0..40).flat_map(|i| [(angle(i) + turn).cos(), (angle(i) + turn).sin()]).collect::<Vec<_>>();
/// let inputs = Samples::from_f64(40, 2, circle(0.0))?;
/// let activations = |layer: usize| match layer {
///     0 => Samples::from_f64(40, 2, circle(1.0)),
///     _ => Samples::from_f64(40, 1, (0..40).map(angle).collect::<Vec<_>>()),
/// };
/// let params = SpadeParams::default().with_neighbors(2);
/// let scores = score_layers::<Error>(&inputs, 2, activations, &params, &Silent)?;
/// let score = |layer: usize| scores.layers[layer].as_ref().unwrap().model_score.0;
/// assert!(score(0) < score(1));
/// # Ok::<(), Error>(())
/// ```
pub fn score_layers<'a, E: From<Error> + Send>(
    inputs: &Samples<'_>,
    layers: usize,
    activations: impl FnMut(usize) -> Result<Samples<'a>, E> + Send,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<LayerScores, E> {
    params.check_for(inputs.len())?;
    if inputs.all_equal() {
        return Err(Error::AllEqual { side: Side::Input, samples: inputs.len() }.into());
    }
    with_threads(params.threads, || Ok(score_here(inputs, layers, activations, params, monitor)))?
}

/// The layers in the current thread pool.
fn score_here<'a, E: From<Error>>(
    inputs: &Samples<'_>,
    layers: usize,
    mut activations: impl FnMut(usize) -> Result<Samples<'a>, E>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<LayerScores, E> {
    let began = Instant::now();
    let samples = placed_inputs(inputs, params, None, monitor)?;
    let side = searched_inputs(samples.clone(), params, None, monitor)?;
    let mut input = SharedInputs {
        dim: inputs.dim(),
        samples,
        decided_by_index: side.lists().samples_among_copies().count(),
        searching: side.searching(),
        lists: side.into_lists(),
    };

    let mut outcomes = Vec::with_capacity(layers);
    for layer in 0..layers {
        outcomes.push(outcome(input.score(&activations(layer)?, params.neighbors, params, monitor))?);
    }
    let used_by =
        |outcome: &Result<LayerScore>| outcome.as_ref().ok().map(|report| report.diagnostics.connection.used);
    let used = outcomes.iter().filter_map(used_by).fold(params.neighbors, usize::max);
    for (layer, scored) in outcomes.iter_mut().enumerate() {
        let Ok(before) = scored else { continue };
        let found = before.diagnostics.connection;
        if found.used < used {
            let again = input.score(&activations(layer)?, used, params, monitor);
            *scored = outcome(again.map(|report| with_components_of(report, found)))?;
        }
    }
    for report in outcomes.iter_mut().flatten() {
        let diagnostics = &mut report.diagnostics;
        diagnostics.params = params.clone();
        diagnostics.connection.requested = params.neighbors;
    }
    Ok(LayerScores {
        layers: outcomes,
        requested: params.neighbors,
        used,
        neighbors_input: input.searching,
        total: began.elapsed(),
    })
}

/// Whatever stops one layer is its outcome; a wish to stop is the end of all.
fn outcome(scored: Result<SpadeReport>) -> Result<Result<LayerScore>> {
    match scored {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        scored => Ok(scored.map(LayerScore::from)),
    }
}

/// The report with the components that the requested k left, not those of the larger k.
fn with_components_of(mut report: SpadeReport, found: Connection) -> SpadeReport {
    let with = |now: SideConnection, found: SideConnection| SideConnection {
        components_found: found.components_found,
        ..now
    };
    let connection = &mut report.diagnostics.connection;
    connection.input = with(connection.input, found.input);
    connection.output = with(connection.output, found.output);
    report
}

/// The inputs, which all layers share, with the longest lists searched so far.
struct SharedInputs<'a> {
    dim: usize,
    samples: SideSamples<'a>,
    lists: NeighborLists,
    decided_by_index: usize,
    searching: Duration,
}

impl SharedInputs<'_> {
    fn score(
        &mut self,
        outputs: &Samples<'_>,
        neighbors: usize,
        params: &SpadeParams,
        monitor: &dyn Monitor,
    ) -> Result<SpadeReport> {
        let samples = self.lists.len();
        if outputs.len() != samples {
            return Err(Error::ShapeMismatch { input_rows: samples, output_rows: outputs.len() });
        }
        if outputs.all_equal() {
            return Err(Error::AllEqual { side: Side::Output, samples });
        }
        let began = Instant::now();
        let params = params.clone().with_neighbors(neighbors);
        let (placed, known) = (placed(Side::Output, outputs, &params)?, self.samples.clone());
        let output = SearchedOutputs::search(outputs.dim(), placed, Some(&known), &params, None, monitor)?;
        let search = search_fn(Side::Input, None, &params, None, monitor);
        let lists = self.lists.clone();
        let inputs = KnownInputs {
            dim: self.dim,
            decided_by_index: self.decided_by_index,
            side: SearchedSide::with_lists(Side::Input, known, params.graph, lists, search),
        };
        let mut sides = ModelSides::of_searched(inputs, output);
        let made = sides.make(neighbors, &params, monitor);
        if let Some(side) = sides.into_inputs() {
            self.searching += side.searching();
            self.lists = side.into_lists();
        }
        let mut report = report_of(made?.of_model(0, &params)?, monitor)?;
        report.diagnostics.timings.total = began.elapsed();
        Ok(report)
    }
}
