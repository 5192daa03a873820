//! The steps of the method, for [`evaluate`](super::evaluate) and for callers that run them one by one: [`graphs_of`] is step
//! (a), [`spectrum_of`] step (b), [`scores_of`] step (c). Together they give the result of [`evaluate`](super::evaluate), bit by
//! bit.

use std::time::{Duration, Instant};

use super::graphs::ModelSides;
use super::keeper::Keeper;
use super::manifold::ManifoldPair;
use super::params::{SpadeParams, Spectrum};
use super::report::{ModelGraphs, SolvedSpectrum, SpadeReport};
use super::search_cache::SearchCache;
use crate::eigen::{EigenProblem, GeneralizedEigenpairs};
use crate::error::Result;
use crate::graph::GraphPair;
use crate::laplacian::SketchParams;
use crate::monitor::{Monitor, Stage};
use crate::scores::{EdgeScores, ModelScore, NodeScores, SpectralEmbedding};
use crate::threads::with_threads;

/// Makes the graphs of a model: step (a) of [`evaluate`](super::evaluate).
///
/// Parameters of the spectrum and of the scores are ignored.
///
/// # Errors
/// As [`evaluate`](super::evaluate), and whatever the keeper returns.
pub fn graphs_of<K: Keeper>(
    sides: &ManifoldPair<'_>,
    params: &SpadeParams,
    keeper: &K,
    monitor: &dyn Monitor,
) -> Result<ModelGraphs, K::Error> {
    params.clone().with_eigenpairs(1).check_sides(sides)?;
    with_threads(params.threads, || graphs_step(sides, params, keeper, monitor))
}

/// Solves L_X v = λ L_Y v for the largest eigenpairs and bounds λ_1: step (b) of [`evaluate`](super::evaluate).
///
/// Parameters of the graphs are ignored.
///
/// # Errors
/// When the parameters do not fit the graphs, the eigenpairs do not converge, or the monitor stops the run, and whatever the
/// keeper returns.
pub fn spectrum_of<K: Keeper>(
    graphs: &GraphPair,
    params: &SpadeParams,
    keeper: &K,
    monitor: &dyn Monitor,
) -> Result<SolvedSpectrum, K::Error> {
    params.check_for_graphs(graphs.nodes())?;
    with_threads(params.threads, || spectrum_step(graphs, params, keeper, monitor))
}

/// Numerical bounds of λ_1 from eigenpairs that were found elsewhere.
///
/// # Errors
/// As [`EigenProblem::enclose`].
pub fn spectrum_around(
    graphs: &GraphPair,
    eigenpairs: GeneralizedEigenpairs,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SolvedSpectrum> {
    with_threads(params.threads, || {
        let problem = EigenProblem::new(graphs, params.seed);
        enclosed(&problem, eigenpairs, Duration::ZERO, params, monitor)
    })
}

/// Scores the model, the edges and the samples by a spectrum: step (c) of [`evaluate`](super::evaluate).
///
/// The parameters are those of the diagnostics.
///
/// # Errors
/// With [`Spectrum::Full`], when a solve does not converge; when the monitor stops the run.
pub fn scores_of(
    graphs: ModelGraphs,
    spectrum: SolvedSpectrum,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    with_threads(graphs.diagnostics.params.threads, || scores_step(graphs, spectrum, monitor))
}

/// Step (a), on the threads of the caller.
pub(super) fn graphs_step<K: Keeper>(
    sides: &ManifoldPair<'_>,
    params: &SpadeParams,
    keeper: &K,
    monitor: &dyn Monitor,
) -> Result<ModelGraphs, K::Error> {
    if let Some(mut known) = keeper.stored_graphs(sides, params)? {
        // Graphs of an earlier run know the parameters that concerned them.
        known.diagnostics.params = params.clone();
        return Ok(known);
    }
    let made = made_graphs(sides, params, None, monitor)?;
    keeper.keep_graphs(sides, params, &made)?;
    Ok(made)
}

/// Step (a), with lists and projections of earlier runs where there are some.
pub(super) fn made_graphs(
    sides: &ManifoldPair<'_>,
    params: &SpadeParams,
    cache: Option<&SearchCache>,
    monitor: &dyn Monitor,
) -> Result<ModelGraphs> {
    let mut sides = ModelSides::of_pair(sides, params, cache, monitor)?;
    let made = sides.make(params.neighbors, params, monitor)?;
    let mut graphs = made.of_model(0, params)?;
    graphs.diagnostics.timings.neighbors_input = made.input_searching();
    graphs.diagnostics.timings.graphs = sides.projecting() + made.making();
    Ok(graphs)
}

/// Step (b), on the threads of the caller.
pub(super) fn spectrum_step<K: Keeper>(
    graphs: &GraphPair,
    params: &SpadeParams,
    keeper: &K,
    monitor: &dyn Monitor,
) -> Result<SolvedSpectrum, K::Error> {
    if let Some(known) = keeper.stored_spectrum(graphs, params)? {
        return Ok(known);
    }
    let solved = solved(graphs, params, monitor)?;
    keeper.keep_spectrum(graphs, params, &solved)?;
    Ok(solved)
}

/// The largest eigenpairs of L_X v = λ L_Y v, and bounds of λ_1.
pub(super) fn solved(
    graphs: &GraphPair,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SolvedSpectrum> {
    monitor.begin(Stage::Eigenpairs);
    let began = Instant::now();
    let problem = EigenProblem::new(graphs, params.seed);
    let eigenpairs = problem.dominant_eigenpairs(&params.eigen_params(), monitor)?;
    enclosed(&problem, eigenpairs, began.elapsed(), params, monitor)
}

fn enclosed(
    problem: &EigenProblem<'_>,
    eigenpairs: GeneralizedEigenpairs,
    eigen_time: Duration,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SolvedSpectrum> {
    monitor.begin(Stage::Enclosure);
    let began = Instant::now();
    let enclosure = problem.enclose(&eigenpairs, params.certainty, params.seed, monitor)?;
    Ok(SolvedSpectrum { eigenpairs, enclosure, eigen_time, enclosure_time: began.elapsed() })
}

/// Step (c), on the threads of the caller.
pub(super) fn scores_step(
    graphs: ModelGraphs,
    spectrum: SolvedSpectrum,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    let ModelGraphs { graphs, mut diagnostics } = graphs;
    let SolvedSpectrum { eigenpairs, enclosure, eigen_time, enclosure_time } = spectrum;
    let params = &diagnostics.params;
    monitor.begin(Stage::Scores);
    let began = Instant::now();
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
    check_range(&graphs, &edge_scores)?;
    let node_scores = NodeScores::from_edges(graphs.input(), &edge_scores);
    let timings = &mut diagnostics.timings;
    timings.eigen = eigen_time;
    timings.enclosure = enclosure_time;
    timings.scores = began.elapsed();
    timings.total = timings.sum();
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

/// Some edge has a positive score where λ_1 is positive, so one that is lost shows in the largest.
fn check_range(graphs: &GraphPair, scores: &EdgeScores) -> Result<()> {
    let largest = scores
        .scores()
        .iter()
        .copied()
        .fold(0.0, |largest: f64, score| if score.is_nan() { f64::INFINITY } else { largest.max(score) });
    if largest.is_normal() { Ok(()) } else { Err(graphs.weight_range()) }
}
