//! The method, top to bottom (the paper's Figure 1).

use std::time::{Duration, Instant};

use crate::eigen::{EigenParams, EigenProblem, Enclosure, GeneralizedEigenpairs};
use crate::graph::{Connection, GraphPair, Neighborhood, connect};
use crate::laplacian::SketchParams;
use crate::monitor::check_cancelled;
use crate::neighbors::{NeighborLists, NeighborSearch, Recall, search_by};
use crate::report::{Diagnostics, SpadeReport, Timings};
use crate::scores::{EdgeScores, ModelScore, NodeScores, SpectralEmbedding};
use crate::{Monitor, PairedSamples, Result, Samples, Side, SpadeParams, Spectrum, Stage, with_threads};

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
    with_threads(params.threads, || evaluate_here(samples, params, monitor))
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
    let Manifolds { graphs, connection, decided_by_index, recall } =
        manifolds(samples, params, monitor, &mut timings)?;

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
        input_dim: samples.input().dim(),
        output_dim: samples.output().dim(),
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

/// Step (a): the graphs, and what it took to make them.
struct Manifolds {
    graphs: GraphPair,
    connection: Connection,
    /// Samples whose neighbours are decided by index, among the inputs and among the outputs.
    decided_by_index: [usize; 2],
    /// How many of the true neighbours were found, among the inputs and among the outputs.
    recall: [Recall; 2],
}

fn manifolds(
    samples: &PairedSamples<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    timings: &mut Timings,
) -> Result<Manifolds> {
    let mut search_input = Search::new(samples.input(), Stage::NeighborsInput, params, monitor);
    let mut search_output = Search::new(samples.output(), Stage::NeighborsOutput, params, monitor);
    let input_lists = search_input.run(params.neighbors)?;
    let output_lists = search_output.run(params.neighbors)?;
    let decided_by_index = [input_lists.samples_decided_by_index(), output_lists.samples_decided_by_index()];
    let recall = [input_lists.recall(), output_lists.recall()];
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
    Ok(Manifolds { graphs, connection, decided_by_index, recall })
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
    took: Duration,
}

impl<'a> Search<'a> {
    fn new(samples: &'a Samples<'a>, stage: Stage, params: &SpadeParams, monitor: &'a dyn Monitor) -> Self {
        let method = search_by(params.search, params.seed);
        Self { samples, stage, method, monitor, took: Duration::ZERO }
    }

    fn run(&mut self, neighbors: usize) -> Result<NeighborLists> {
        self.monitor.begin(self.stage);
        let began = Instant::now();
        let lists = self.method.search(self.samples, neighbors, self.monitor);
        self.took += began.elapsed();
        lists
    }
}
