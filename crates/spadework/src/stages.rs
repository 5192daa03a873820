//! The method in stages, for callers that keep what each of them makes: [`graphs_of`](crate::graphs_of) is step (a),
//! [`spectrum_of`] step (b), [`scores_of`] step (c). One after the other they are [`evaluate`](crate::evaluate), bit by bit.

use std::time::{Duration, Instant};

use crate::eigen::{EigenProblem, Enclosure, GeneralizedEigenpairs};
use crate::evaluate::eigen_params;
use crate::graph::GraphPair;
use crate::laplacian::SketchParams;
use crate::report::{Diagnostics, SpadeReport};
use crate::scores::{EdgeScores, ModelScore, NodeScores, SpectralEmbedding};
use crate::{Monitor, Result, SpadeParams, Spectrum, Stage, with_threads};

/// What step (b) finds.
#[derive(Debug, Clone)]
pub struct SolvedSpectrum {
    /// The eigenpairs.
    pub eigenpairs: GeneralizedEigenpairs,
    /// Bounds of λ_1.
    pub enclosure: Enclosure,
    /// Time that the eigenpairs took.
    pub eigen: Duration,
    /// Time that the bounds took.
    pub enclosing: Duration,
}

/// Solves L_X v = λ L_Y v for the largest eigenpairs and encloses λ_1: step (b) of [`evaluate`](crate::evaluate).
///
/// What concerns the making of graphs has nothing to say here.
///
/// # Errors
/// When the parameters do not fit the graphs, the eigenpairs do not converge, or the monitor stops the run.
pub fn spectrum_of(
    graphs: &GraphPair,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SolvedSpectrum> {
    params.check_for_graphs(graphs.nodes())?;
    with_threads(params.threads, || solve(graphs, params, monitor))
}

/// Encloses λ_1 around eigenpairs that were found elsewhere.
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
        monitor.begin(Stage::Enclosure);
        let began = Instant::now();
        let problem = EigenProblem::new(graphs, params.seed);
        let enclosure = problem.enclose(&eigenpairs, params.certainty, params.seed, monitor)?;
        Ok(SolvedSpectrum { eigenpairs, enclosure, eigen: Duration::ZERO, enclosing: began.elapsed() })
    })
}

/// Scores the model, the edges and the samples by a spectrum: step (c) of [`evaluate`](crate::evaluate).
///
/// The parameters are those of `diagnostics`. The total time becomes the sum of all stages.
///
/// # Errors
/// With [`Spectrum::Full`], when a solve does not converge; when the monitor stops the run.
pub fn scores_of(
    graphs: GraphPair,
    diagnostics: Diagnostics,
    spectrum: SolvedSpectrum,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    with_threads(diagnostics.params.threads, || {
        let mut report = score(graphs, diagnostics, spectrum, monitor)?;
        let timings = &mut report.diagnostics.timings;
        timings.total = timings.neighbors_input
            + timings.neighbors_output
            + timings.graphs
            + timings.eigen
            + timings.enclosure
            + timings.scores;
        Ok(report)
    })
}

/// Step (b), on the threads of the caller.
pub(crate) fn solve(
    graphs: &GraphPair,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SolvedSpectrum> {
    monitor.begin(Stage::Eigenpairs);
    let solving = Instant::now();
    let problem = EigenProblem::new(graphs, params.seed);
    let eigenpairs = problem.dominant_eigenpairs(&eigen_params(params), monitor)?;
    let eigen = solving.elapsed();
    monitor.begin(Stage::Enclosure);
    let enclosing = Instant::now();
    let enclosure = problem.enclose(&eigenpairs, params.certainty, params.seed, monitor)?;
    Ok(SolvedSpectrum { eigenpairs, enclosure, eigen, enclosing: enclosing.elapsed() })
}

/// Step (c), on the threads of the caller. The total time is the caller's to tell.
pub(crate) fn score(
    graphs: GraphPair,
    mut diagnostics: Diagnostics,
    spectrum: SolvedSpectrum,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    let SolvedSpectrum { eigenpairs, enclosure, eigen, enclosing } = spectrum;
    let params = &diagnostics.params;
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
    diagnostics.timings.eigen = eigen;
    diagnostics.timings.enclosure = enclosing;
    diagnostics.timings.scores = scoring.elapsed();
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
