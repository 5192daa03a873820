//! One network, layer after layer (the paper's A.7): the score of every layer's activations against the same inputs.
//!
//! Where along the network does it become fragile? Scores of different k cannot be compared, so, as in
//! [`compare`](crate::compare), one k serves all layers: the smallest k' ≥ k with which the inputs and every layer are
//! connected, under [`Connectivity::Grow`](crate::Connectivity::Grow). But the layers of a network are too large to be held
//! together. So each is scored as it comes, with the k' that it needs by itself; the largest of these is that of all, and
//! those that were scored with less are asked for again. The inputs are searched once.

use std::time::{Duration, Instant};

use crate::evaluate::{Manifolds, report_of};
use crate::graph::{Connection, GraphPair, Mended, Neighborhood};
use crate::report::{Diagnostics, SpadeReport, Timings};
use crate::side::{MadeGraphs, Search, make_graphs, projected_inputs};
use crate::{
    Enclosure, Error, ModelScore, Monitor, NeighborLists, NodeScores, Result, Samples, Side, SpadeParams,
    with_threads,
};

/// The layers of a network, in the order in which they were given.
#[derive(Debug, Clone)]
pub struct LayerScores {
    /// What became of each layer: a layer that has no score says why, and the others have theirs all the same.
    pub layers: Vec<Result<LayerScore>>,
    /// Neighbours asked for, k.
    pub requested: usize,
    /// Neighbours used for all layers, k' ≥ k.
    pub used: usize,
    /// Time of the neighbour search among the inputs, which all layers share.
    pub neighbors_input: Duration,
    /// Time of all of it, the making of the activations included.
    pub total: Duration,
}

/// What is kept of a layer: what [`evaluate`](crate::evaluate) says of its activations, without graphs and eigenvectors.
#[derive(Debug, Clone)]
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
/// `activations` gives the activations of a layer by its number; each is asked for once, in order, and once more where a
/// later layer needs more neighbours. One is held at a time, and of every layer its [`LayerScore`].
///
/// # Errors
/// What `activations` returns, and what concerns the inputs or stops the run. What is wrong with one layer is that layer's
/// outcome.
///
/// ```
/// use spadework::{Error, Samples, Silent, SpadeParams, score_layers};
/// // Forty points on a circle; the first layer turns it, the second cuts it open.
/// let angle = |i: usize| i as f64 / 40.0 * std::f64::consts::TAU;
/// let circle = |turn: f64| (0..40).flat_map(|i| [(angle(i) + turn).cos(), (angle(i) + turn).sin()]).collect::<Vec<_>>();
/// let inputs = Samples::from_f64(40, 2, circle(0.0))?;
/// let activations = |layer: usize| match layer {
///     0 => Samples::from_f64(40, 2, circle(1.0)),
///     _ => Samples::from_f64(40, 1, (0..40).map(angle).collect::<Vec<_>>()),
/// };
/// let params = SpadeParams { neighbors: 2, ..SpadeParams::default() };
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
    let projection = projected_inputs(inputs, params.graph, monitor)?;
    let searched = projection.as_ref().map_or(inputs, |projection| projection.samples());
    let search = Search::new(searched, Side::Input, params, monitor);
    let lists = search.run(params.neighbors)?;
    let decided_by_index = lists.samples_decided_by_index();
    let mut input = InputSide { samples: searched, search: &search, lists, decided_by_index };

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
        diagnostics.input_dim = inputs.dim();
        diagnostics.connection.requested = params.neighbors;
        if let Some(projection) = &projection {
            diagnostics.input_graph = diagnostics.input_graph.of_projection(projection);
        }
    }
    Ok(LayerScores {
        layers: outcomes,
        requested: params.neighbors,
        used,
        neighbors_input: search.took(),
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

/// The report with the components that the k asked for left, not those of the larger k.
fn with_components_of(mut report: SpadeReport, found: Connection) -> SpadeReport {
    let with = |mended: Mended, found: Mended| Mended { components_found: found.components_found, ..mended };
    let connection = &mut report.diagnostics.connection;
    connection.input = with(connection.input, found.input);
    connection.output = with(connection.output, found.output);
    report
}

/// The inputs with the longest lists searched so far.
struct InputSide<'a> {
    samples: &'a Samples<'a>,
    search: &'a Search<'a>,
    lists: NeighborLists,
    decided_by_index: usize,
}

impl InputSide<'_> {
    fn score(
        &mut self,
        outputs: &Samples<'_>,
        neighbors: usize,
        params: &SpadeParams,
        monitor: &dyn Monitor,
    ) -> Result<SpadeReport> {
        if outputs.len() != self.samples.len() {
            return Err(Error::ShapeMismatch { input_rows: self.samples.len(), output_rows: outputs.len() });
        }
        if outputs.all_equal() {
            return Err(Error::AllEqual { side: Side::Output, samples: outputs.len() });
        }
        let began = Instant::now();
        let params = SpadeParams { neighbors, ..params.clone() };
        let search = Search::new(outputs, Side::Output, &params, monitor);
        let output = search.begin(Side::Output, &params)?;
        let output_decided = output.lists().samples_decided_by_index();
        let longer = |k: usize| self.search.run(k);
        let input =
            Neighborhood::new(Side::Input, self.samples, self.lists.clone(), longer).with_kind(params.graph);
        let mut sides = [input, output];
        let MadeGraphs { used, sides: made } = make_graphs(&mut sides, neighbors, &params, monitor)?;
        let lists = sides[0].lists().clone();
        drop(sides);
        self.lists = lists;
        let [input, output] =
            <[_; 2]>::try_from(made).unwrap_or_else(|_| unreachable!("as many graphs as sides"));
        let manifolds = Manifolds {
            graphs: GraphPair::new(input.graph.into_graph(), output.graph)?,
            dims: [self.samples.dim(), outputs.dim()],
            connection: Connection {
                policy: params.connectivity,
                requested: neighbors,
                used,
                input: input.mended,
                output: output.mended,
            },
            constructions: [input.made, output.made],
            decided_by_index: [self.decided_by_index, output_decided],
            recall: [input.recall, output.recall],
        };
        let timings = Timings { neighbors_output: search.took(), ..Timings::default() };
        let mut report = report_of(manifolds, &params, monitor, timings)?;
        report.diagnostics.timings.total = began.elapsed();
        Ok(report)
    }
}
