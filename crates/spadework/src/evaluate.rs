//! The method, top to bottom (the paper's Figure 1).

use std::time::{Duration, Instant};

use crate::eigen::{EigenParams, EigenProblem, Enclosure, GeneralizedEigenpairs};
use crate::graph::{Connection, GraphPair, Neighborhood, connect};
use crate::monitor::check_cancelled;
use crate::neighbors::{ExactSearch, NeighborLists, NeighborSearch};
use crate::report::{Diagnostics, SpadeReport, Timings};
use crate::scores::{EdgeScores, ModelScore, NodeScores, SpectralEmbedding};
use crate::{Error, Monitor, PairedSamples, Result, Samples, Side, SpadeParams, Stage};

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
    params.check_for(samples.len())?;
    in_pool(params, || evaluate_here(samples, params, monitor))?
}

/// Runs work on the threads asked for.
pub(crate) fn in_pool<T: Send>(params: &SpadeParams, work: impl FnOnce() -> T + Send) -> Result<T> {
    match params.threads {
        None => Ok(work()),
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build()
            .map_err(|_| Error::Threads { threads: threads.get() })
            .map(|pool| pool.install(work)),
    }
}

/// The method in the current thread pool.
fn evaluate_here(
    samples: &PairedSamples<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    let began = Instant::now();
    let mut timings = Timings::default();

    // (a) The manifolds: a connected neighbour graph of each side.
    let manifolds = manifolds(samples, params, monitor, &mut timings)?;

    // (b) The spectrum and (c) the scores.
    let mut report = report_of(manifolds, params, monitor, timings)?;
    report.diagnostics.timings.total = began.elapsed();
    Ok(report)
}

/// Steps (b) and (c), from the graphs of one model to its report. The total time is the caller's to tell.
pub(crate) fn report_of(
    manifolds: Manifolds,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    mut timings: Timings,
) -> Result<SpadeReport> {
    let Manifolds { graphs, dims, connection, decided_by_index } = manifolds;

    // (b) The dominant generalized eigenpairs of L_X v = λ L_Y v, and how certain λ_1 is.
    let (eigenpairs, enclosure) = spectrum(&graphs, params, monitor, &mut timings)?;
    check_cancelled(monitor)?;

    // (c) Scores of the model, of the edges and of the samples.
    monitor.begin(Stage::Scores);
    let scoring = Instant::now();
    let model_score = ModelScore(eigenpairs.values()[0]);
    let embedding = SpectralEmbedding::from_eigenpairs(&eigenpairs);
    let edge_scores = EdgeScores::from_embedding(graphs.input(), &embedding);
    let node_scores = NodeScores::from_edges(graphs.input(), &edge_scores);
    timings.scores = scoring.elapsed();

    let diagnostics = Diagnostics {
        params: params.clone(),
        input_dim: dims[0],
        output_dim: dims[1],
        connection,
        inputs_decided_by_index: decided_by_index[0],
        outputs_decided_by_index: decided_by_index[1],
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
        diagnostics,
    })
}

/// Step (a): the graphs, and what it took to make them.
pub(crate) struct Manifolds {
    pub(crate) graphs: GraphPair,
    /// Numbers per input and per output.
    pub(crate) dims: [usize; 2],
    pub(crate) connection: Connection,
    /// Samples whose neighbours are decided by index, among the inputs and among the outputs.
    pub(crate) decided_by_index: [usize; 2],
}

fn manifolds(
    samples: &PairedSamples<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    timings: &mut Timings,
) -> Result<Manifolds> {
    let mut search_input = Search::new(samples.input(), Stage::NeighborsInput, monitor);
    let mut search_output = Search::new(samples.output(), Stage::NeighborsOutput, monitor);
    let input_lists = search_input.run(params.neighbors)?;
    let output_lists = search_output.run(params.neighbors)?;
    let decided_by_index = [input_lists.samples_decided_by_index(), output_lists.samples_decided_by_index()];
    let connecting = Instant::now();
    let searched_before = search_input.took + search_output.took;
    let (graphs, connection) = connect(
        Neighborhood::new(Side::Input, samples.input(), input_lists, &mut |k| search_input.run(k)),
        Neighborhood::new(Side::Output, samples.output(), output_lists, &mut |k| search_output.run(k)),
        params.neighbors,
        params.connectivity,
        monitor,
    )?;
    timings.neighbors_input = search_input.took;
    timings.neighbors_output = search_output.took;
    // Searches that `grow` repeats count as searches.
    timings.graphs =
        (connecting.elapsed() + searched_before).saturating_sub(search_input.took + search_output.took);
    let dims = [samples.input().dim(), samples.output().dim()];
    Ok(Manifolds { graphs, dims, connection, decided_by_index })
}

/// What of the parameters concerns the eigenproblem.
pub(crate) fn eigen_params(params: &SpadeParams) -> EigenParams {
    EigenParams {
        eigenpairs: params.eigenpairs,
        tolerance: params.tolerance,
        seed: params.seed,
        ..EigenParams::default()
    }
}

/// Step (b).
pub(crate) fn spectrum(
    graphs: &GraphPair,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    timings: &mut Timings,
) -> Result<(GeneralizedEigenpairs, Enclosure)> {
    monitor.begin(Stage::Eigenpairs);
    let solving = Instant::now();
    let problem = EigenProblem::new(graphs, params.seed);
    let eigenpairs = problem.dominant_eigenpairs(&eigen_params(params), monitor)?;
    timings.eigen = solving.elapsed();
    monitor.begin(Stage::Enclosure);
    let enclosing = Instant::now();
    let enclosure = problem.enclose(&eigenpairs, params.certainty, params.seed, monitor)?;
    timings.enclosure = enclosing.elapsed();
    Ok((eigenpairs, enclosure))
}

/// A neighbour search that knows its stage and how long it took.
pub(crate) struct Search<'a> {
    samples: &'a Samples<'a>,
    stage: Stage,
    monitor: &'a dyn Monitor,
    pub(crate) took: Duration,
}

impl<'a> Search<'a> {
    pub(crate) fn new(samples: &'a Samples<'a>, stage: Stage, monitor: &'a dyn Monitor) -> Self {
        Self { samples, stage, monitor, took: Duration::ZERO }
    }

    pub(crate) fn run(&mut self, neighbors: usize) -> Result<NeighborLists> {
        self.monitor.begin(self.stage);
        let began = Instant::now();
        let lists = ExactSearch.search(self.samples, neighbors, self.monitor);
        self.took += began.elapsed();
        lists
    }
}
