//! The method, top to bottom (the paper's Figure 1).

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::eigen::{EigenParams, EigenProblem, Enclosure, GeneralizedEigenpairs};
use crate::graph::{
    Components, ConnectedGraph, Connection, GraphKind, GraphPair, Mended, Neighborhood, Projection, Settled,
    project, settle, sparsify,
};
use crate::laplacian::SketchParams;
use crate::monitor::check_cancelled;
use crate::neighbors::{NeighborLists, NeighborSearch, Recall, search_by};
use crate::report::{Construction, Diagnostics, SpadeReport, Timings};
use crate::scores::{EdgeScores, ModelScore, NodeScores, SpectralEmbedding};
use crate::{
    Manifold, ManifoldPair, Monitor, PairedSamples, Result, Samples, Side, SpadeParams, Spectrum, Stage,
    with_threads,
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
    match (manifolds.input(), manifolds.output()) {
        (Manifold::Graph(_), Manifold::Graph(_)) => params.check_for_graphs(manifolds.len())?,
        _ => params.check_for(manifolds.len())?,
    }
    with_threads(params.threads, || evaluate_here(manifolds, params, monitor))
}

/// The method in the current thread pool.
fn evaluate_here(
    pair: &ManifoldPair<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    let began = Instant::now();
    let mut timings = Timings::default();

    // (a) The manifolds: a connected graph of each side.
    let Manifolds { graphs, connection, constructions, decided_by_index, recall } =
        manifolds(pair, params, monitor, &mut timings)?;

    // (b) The dominant generalized eigenpairs of L_X v = λ L_Y v, and how certain λ_1 is.
    let (eigenpairs, enclosure) = spectrum(&graphs, params, monitor, &mut timings)?;
    check_cancelled(monitor)?;

    // (c) Scores of the model, of the edges and of the samples.
    monitor.begin(Stage::Scores);
    let scoring = Instant::now();
    let model_score = ModelScore(eigenpairs.values()[0]);
    let embedding = SpectralEmbedding::from_eigenpairs(&eigenpairs);
    let (edge_scores, full_spectrum) = match params.spectrum {
        Spectrum::Leading => (EdgeScores::from_embedding(graphs.input(), &embedding), None),
        Spectrum::Full { error } => {
            let sketch = SketchParams { error, seed: params.seed, ..SketchParams::default() };
            let (scores, info) = EdgeScores::of_full_spectrum(&graphs, &sketch, monitor)?;
            (scores, Some(info))
        }
    };
    let node_scores = NodeScores::from_edges(graphs.input(), &edge_scores);
    timings.scores = scoring.elapsed();
    timings.total = began.elapsed();

    let diagnostics = Diagnostics {
        params: params.clone(),
        input_dim: samples_of(pair.input()).map_or(0, Samples::dim),
        output_dim: samples_of(pair.output()).map_or(0, Samples::dim),
        input_graph: constructions[0],
        output_graph: constructions[1],
        connection,
        inputs_decided_by_index: decided_by_index[0],
        outputs_decided_by_index: decided_by_index[1],
        input_recall: recall[0],
        output_recall: recall[1],
        timings,
    };
    Ok(SpadeReport {
        model_score,
        enclosure,
        eigenpairs,
        embedding,
        graphs,
        edge_scores,
        node_scores,
        full_spectrum,
        diagnostics,
    })
}

/// Step (a): the graphs, and what it took to make them. What is in pairs has the input first.
struct Manifolds {
    graphs: GraphPair,
    connection: Connection,
    constructions: [Construction; 2],
    /// Samples whose neighbours are decided by index, among the inputs and among the outputs.
    decided_by_index: [usize; 2],
    /// How many of the true neighbours were found, among the inputs and among the outputs.
    recall: [Recall; 2],
}

fn manifolds(
    pair: &ManifoldPair<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    timings: &mut Timings,
) -> Result<Manifolds> {
    let began = Instant::now();
    let mut constructions = [Construction::default(); 2];
    let projection = projected_inputs(pair.input(), params.graph, monitor, &mut constructions[0])?;
    let projected_in = began.elapsed();
    let samples = [
        projection.as_ref().map(Projection::samples).or(samples_of(pair.input())),
        samples_of(pair.output()),
    ];
    let stages = [Stage::NeighborsInput, Stage::NeighborsOutput];
    let searches: [_; 2] =
        std::array::from_fn(|at| Some(Search::new(samples[at]?, stages[at], params, monitor)));
    let searched = || searches.iter().flatten().map(|search| search.took.get()).sum::<Duration>();

    let mut decided_by_index = [0; 2];
    let mut recall = [Recall::Exact; 2];
    let mut sides = Vec::with_capacity(2);
    for (at, side) in [Side::Input, Side::Output].into_iter().enumerate() {
        let Some(search) = &searches[at] else { continue };
        let lists = search.run(params.neighbors)?;
        decided_by_index[at] = lists.samples_decided_by_index();
        recall[at] = lists.recall();
        sides.push(Neighborhood::new(side, search.samples, lists, |k| search.run(k)).with_kind(params.graph));
    }

    let (connecting, searched_before) = (Instant::now(), searched());
    let Settled { used, graphs } = settle(&mut sides, params.neighbors, params.connectivity, monitor)?;
    let mut settled = graphs.into_iter().zip(&sides);
    let mut mended = [Mended { components_found: 1, bridges: 0 }; 2];
    let mut finished = |at: usize| {
        let ((graph, needed), side) = settled.next().expect("one graph for every side with samples");
        mended[at] = needed;
        finish(graph, side, used, params, monitor, &mut constructions[at])
    };
    let input = match pair.input() {
        Manifold::Samples(_) => finished(0)?.into_graph(),
        Manifold::Graph(graph) => graph.clone(),
    };
    let output = match pair.output() {
        Manifold::Samples(_) => finished(1)?,
        Manifold::Graph(graph) => ConnectedGraph::new(graph.clone()).expect("checked when it was paired"),
    };
    for (at, manifold) in [pair.input(), pair.output()].into_iter().enumerate() {
        if let Manifold::Graph(graph) = manifold {
            constructions[at].given = true;
            mended[at].components_found = Components::of(graph).count();
        }
    }
    // Where both graphs are given, nobody asked for neighbours.
    let [requested, used] = if sides.is_empty() { [0, 0] } else { [params.neighbors, used] };
    let connection =
        Connection { policy: params.connectivity, requested, used, input: mended[0], output: mended[1] };
    let [took_input, took_output] =
        searches.each_ref().map(|search| search.as_ref().map(|search| search.took.get()));
    timings.neighbors_input = took_input.unwrap_or_default();
    timings.neighbors_output = took_output.unwrap_or_default();
    // Searches that `grow` repeats count as searches.
    timings.graphs = projected_in + (connecting.elapsed() + searched_before).saturating_sub(searched());
    Ok(Manifolds {
        graphs: GraphPair::new(input, output)?,
        connection,
        constructions,
        decided_by_index,
        recall,
    })
}

fn samples_of<'a>(manifold: &Manifold<'a>) -> Option<&'a Samples<'a>> {
    match manifold {
        Manifold::Samples(samples) => Some(samples),
        Manifold::Graph(_) => None,
    }
}

/// The inputs in the coordinates of their principal components, where the kind of graph asks for it. Outputs are left as
/// they are: a model has few of them, and they are what is to be judged.
fn projected_inputs(
    input: &Manifold<'_>,
    kind: GraphKind,
    monitor: &dyn Monitor,
    construction: &mut Construction,
) -> Result<Option<Projection>> {
    let (Manifold::Samples(samples), GraphKind::Pca(dimensions)) = (input, kind) else { return Ok(None) };
    monitor.begin(Stage::Graphs);
    let projection = project(samples, dimensions, monitor)?;
    construction.dimensions = Some(projection.dimensions());
    construction.explained = Some(projection.explained());
    Ok(Some(projection))
}

/// Weighs a connected graph and thins it out, as the parameters say.
fn finish(
    graph: ConnectedGraph,
    side: &Neighborhood<'_>,
    used: usize,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    construction: &mut Construction,
) -> Result<ConnectedGraph> {
    let (graph, raised) = side.weigh(graph, used, params.weights);
    construction.weights_raised = raised;
    let GraphKind::Sparse(target) = params.graph else { return Ok(graph) };
    monitor.begin(Stage::Graphs);
    let (sparse, info) = sparsify(&graph, target, params.seed, monitor)?;
    construction.sparsifier = Some(info);
    Ok(sparse)
}

/// Step (b).
fn spectrum(
    graphs: &GraphPair,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    timings: &mut Timings,
) -> Result<(GeneralizedEigenpairs, Enclosure)> {
    monitor.begin(Stage::Eigenpairs);
    let solving = Instant::now();
    let problem = EigenProblem::new(graphs, params.seed);
    let eigen_params = EigenParams {
        eigenpairs: params.eigenpairs,
        tolerance: params.tolerance,
        seed: params.seed,
        method: params.solver,
        ..EigenParams::default()
    };
    let eigenpairs = problem.dominant_eigenpairs(&eigen_params, monitor)?;
    timings.eigen = solving.elapsed();
    monitor.begin(Stage::Enclosure);
    let enclosing = Instant::now();
    let enclosure = problem.enclose(&eigenpairs, params.certainty, params.seed, monitor)?;
    timings.enclosure = enclosing.elapsed();
    Ok((eigenpairs, enclosure))
}

/// A neighbour search that knows its stage and how long it took.
struct Search<'a> {
    samples: &'a Samples<'a>,
    stage: Stage,
    method: Box<dyn NeighborSearch>,
    monitor: &'a dyn Monitor,
    took: Cell<Duration>,
}

impl<'a> Search<'a> {
    fn new(samples: &'a Samples<'a>, stage: Stage, params: &SpadeParams, monitor: &'a dyn Monitor) -> Self {
        let method = search_by(params.search, params.seed);
        Self { samples, stage, method, monitor, took: Cell::default() }
    }

    fn run(&self, neighbors: usize) -> Result<NeighborLists> {
        self.monitor.begin(self.stage);
        let began = Instant::now();
        let lists = self.method.search(self.samples, neighbors, self.monitor);
        self.took.set(self.took.get() + began.elapsed());
        lists
    }
}
