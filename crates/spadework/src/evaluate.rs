//! The method, top to bottom (the paper's Figure 1).

use std::time::{Duration, Instant};

use crate::eigen::EigenParams;
use crate::findings::{Findings, shared_projection};
use crate::graph::{Connection, GraphPair, Projection};
use crate::monitor::check_cancelled;
use crate::neighbors::Recall;
use crate::report::{Construction, Diagnostics, SpadeReport, Timings};
use crate::side::{MadeGraph, MadeGraphs, MadeInput, Search, make_graphs};
use crate::stages::{score, solve};
use crate::{
    Manifold, ManifoldPair, Monitor, PairedSamples, Result, Samples, Side, SpadeParams, with_threads,
};

/// Scores a model from its inputs and outputs.
///
/// # Errors
/// When the parameters do not fit the data, the graphs cannot be connected as asked, the eigenpairs do not converge, or
/// the monitor stops the run.
///
/// # Complexity
/// O(n²d) for the neighbours, in matrix products; near-linear in nk for the rest.
///
/// ```
/// use spadework::{PairedSamples, Samples, Silent, SpadeParams, evaluate};
/// // Forty points on a circle go in; the "model" cuts the circle open at one place.
/// let angle = |i: usize| i as f64 / 40.0 * std::f64::consts::TAU;
/// let inputs: Vec<f64> = (0..40).flat_map(|i| [angle(i).cos(), angle(i).sin()]).collect();
/// let outputs: Vec<f64> = (0..40).map(angle).collect();
/// let samples = PairedSamples::new(Samples::from_f64(40, 2, inputs)?, Samples::from_f64(40, 1, outputs)?)?;
/// let params = SpadeParams { neighbors: 2, ..SpadeParams::default() };
/// let report = evaluate(&samples, &params, &Silent)?;
/// // The most fragile edge joins the two sides of the cut.
/// let edge = report.edge_scores.top(1)[0];
/// assert_eq!((edge.p, edge.q), (0, 39));
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn evaluate(
    samples: &PairedSamples<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    evaluate_manifolds(&samples.into(), params, monitor)
}

/// Scores a model from graphs of its inputs and outputs that were made elsewhere.
///
/// `neighbors`, `graph`, `weights` and `connectivity` have nothing to say here.
///
/// # Errors
/// As [`evaluate`].
///
/// ```
/// use spadework::graph::{ConnectedGraph, GraphPair, generators};
/// use spadework::{Silent, SpadeParams, evaluate_graphs};
/// let line = ConnectedGraph::new(generators::path(40)).unwrap();
/// let graphs = GraphPair::new(generators::cycle(40), line)?;
/// let report = evaluate_graphs(graphs, &SpadeParams::default(), &Silent)?;
/// assert!((report.model_score.0 - 40.0).abs() < 1e-6);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn evaluate_graphs(
    graphs: GraphPair,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    evaluate_manifolds(&graphs.into(), params, monitor)
}

/// Scores a model of which each side is given as samples or as a graph.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_manifolds(
    manifolds: &ManifoldPair<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    evaluate_sharing(manifolds, params, None, monitor)
}

/// Makes the graphs of a model and stops there: step (a) of [`evaluate`].
///
/// What concerns the spectrum and the scores has nothing to say here.
///
/// # Errors
/// As [`evaluate`].
pub fn graphs_of(
    manifolds: &ManifoldPair<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<(GraphPair, Diagnostics)> {
    check_params(manifolds, &SpadeParams { eigenpairs: 1, ..params.clone() })?;
    with_threads(params.threads, || {
        let began = Instant::now();
        let mut timings = Timings::default();
        let made = self::manifolds(manifolds, params, None, monitor, &mut timings)?;
        timings.total = began.elapsed();
        Ok(made.with_diagnostics(params, timings))
    })
}

fn check_params(manifolds: &ManifoldPair<'_>, params: &SpadeParams) -> Result<()> {
    match (manifolds.input(), manifolds.output()) {
        (Manifold::Graph(_), Manifold::Graph(_)) => params.check_for_graphs(manifolds.len()),
        _ => params.check_for(manifolds.len()),
    }
}

/// The method, with lists and projections of earlier calls where there are some.
pub(crate) fn evaluate_sharing(
    manifolds: &ManifoldPair<'_>,
    params: &SpadeParams,
    findings: Option<&Findings>,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    check_params(manifolds, params)?;
    with_threads(params.threads, || {
        let began = Instant::now();
        let mut timings = Timings::default();

        // (a) The manifolds: a connected graph of each side.
        let made = self::manifolds(manifolds, params, findings, monitor, &mut timings)?;

        // (b) The spectrum and (c) the scores.
        let mut report = report_of(made, params, monitor, timings)?;
        report.diagnostics.timings.total = began.elapsed();
        Ok(report)
    })
}

/// Steps (b) and (c), from the graphs of one model to its report. The total time is the caller's to tell.
pub(crate) fn report_of(
    manifolds: Manifolds,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    timings: Timings,
) -> Result<SpadeReport> {
    let (graphs, diagnostics) = manifolds.with_diagnostics(params, timings);

    // (b) The dominant generalized eigenpairs of L_X v = λ L_Y v, and how certain λ_1 is.
    let solved = solve(&graphs, params, monitor)?;
    check_cancelled(monitor)?;

    // (c) Scores of the model, of the edges and of the samples.
    score(graphs, diagnostics, solved, monitor)
}

/// Step (a): the graphs, and what it took to make them. What is in pairs has the input first.
pub(crate) struct Manifolds {
    pub(crate) graphs: GraphPair,
    /// Numbers per sample; 0 where a graph was given.
    pub(crate) dims: [usize; 2],
    pub(crate) connection: Connection,
    pub(crate) constructions: [Construction; 2],
    /// Samples whose neighbours are decided by index.
    pub(crate) decided_by_index: [usize; 2],
    /// How many of the true neighbours were found.
    pub(crate) recall: [Recall; 2],
}

impl Manifolds {
    fn with_diagnostics(self, params: &SpadeParams, timings: Timings) -> (GraphPair, Diagnostics) {
        let Manifolds { graphs, dims, connection, constructions, decided_by_index, recall } = self;
        let diagnostics = Diagnostics {
            params: params.clone(),
            input_dim: dims[0],
            output_dim: dims[1],
            input_graph: constructions[0],
            output_graph: constructions[1],
            connection,
            inputs_decided_by_index: decided_by_index[0],
            outputs_decided_by_index: decided_by_index[1],
            input_recall: recall[0],
            output_recall: recall[1],
            timings,
        };
        (graphs, diagnostics)
    }
}

fn manifolds(
    pair: &ManifoldPair<'_>,
    params: &SpadeParams,
    findings: Option<&Findings>,
    monitor: &dyn Monitor,
    timings: &mut Timings,
) -> Result<Manifolds> {
    const SIDES: [Side; 2] = [Side::Input, Side::Output];
    let given = [pair.input(), pair.output()];
    let began = Instant::now();
    let projection = match pair.input() {
        Manifold::Samples(inputs) => shared_projection(inputs, params.graph, findings, monitor)?,
        Manifold::Graph(_) => None,
    };
    let projection = projection.as_deref();
    let projected_in = began.elapsed();
    let samples =
        [projection.map(Projection::samples).or(samples_of(pair.input())), samples_of(pair.output())];
    let searches: [_; 2] = std::array::from_fn(|at| {
        Some(Search::new(samples[at]?, SIDES[at], params, monitor).sharing(findings))
    });
    let took = |at: usize| searches[at].as_ref().map_or(Duration::ZERO, Search::took);

    let mut decided_by_index = [0; 2];
    let mut sides = Vec::with_capacity(2);
    for at in 0..2 {
        let Some(search) = &searches[at] else { continue };
        let side = search.begin(SIDES[at], params)?;
        decided_by_index[at] = side.lists().samples_decided_by_index();
        sides.push(side);
    }

    let (connecting, searched_before) = (Instant::now(), took(0) + took(1));
    let MadeGraphs { used, sides: made } = make_graphs(&mut sides, params.neighbors, params, monitor)?;
    let mut made = made.into_iter();
    let mut next = || made.next().expect("one graph for every side with samples");
    let input = match pair.input() {
        Manifold::Samples(_) => next().into_input(projection),
        Manifold::Graph(graph) => MadeInput::given(graph),
    };
    let output = match pair.output() {
        Manifold::Samples(_) => next(),
        Manifold::Graph(graph) => MadeGraph::given(graph),
    };
    // Where both graphs are given, nobody asked for neighbours.
    let [requested, used] = if sides.is_empty() { [0, 0] } else { [params.neighbors, used] };
    let connection = Connection {
        policy: params.connectivity,
        requested,
        used,
        input: input.mended,
        output: output.mended,
    };
    timings.neighbors_input = took(0);
    timings.neighbors_output = took(1);
    // Searches that `grow` repeats count as searches.
    timings.graphs =
        projected_in + (connecting.elapsed() + searched_before).saturating_sub(took(0) + took(1));
    Ok(Manifolds {
        graphs: GraphPair::new(input.graph, output.graph)?,
        dims: given.map(|side| samples_of(side).map_or(0, Samples::dim)),
        connection,
        constructions: [input.made, output.made],
        decided_by_index,
        recall: [input.recall, output.recall],
    })
}

fn samples_of<'a>(manifold: &Manifold<'a>) -> Option<&'a Samples<'a>> {
    match manifold {
        Manifold::Samples(samples) => Some(samples),
        Manifold::Graph(_) => None,
    }
}

/// What of the parameters concerns the eigenproblem.
pub(crate) fn eigen_params(params: &SpadeParams) -> EigenParams {
    EigenParams {
        eigenpairs: params.eigenpairs,
        tolerance: params.tolerance,
        seed: params.seed,
        method: params.solver,
        ..EigenParams::default()
    }
}
