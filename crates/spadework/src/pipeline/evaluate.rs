//! The method, top to bottom (the paper's Figure 1).

use super::keeper::{KeepNothing, Keeper};
use super::manifold::ManifoldPair;
use super::params::SpadeParams;
use super::report::SpadeReport;
use super::steps::{graphs_step, scores_step, spectrum_step};
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::threads::with_threads;

/// Scores a model from its inputs and outputs.
///
/// Each side is given as samples ([`PairedSamples`](crate::PairedSamples)), as a graph that was made elsewhere
/// ([`GraphPair`](crate::GraphPair)), or one side as samples and the other as a graph ([`ManifoldPair`]). If both are graphs,
/// `neighbors`, `graph`, `weights` and `connectivity` are ignored.
///
/// # Errors
/// When the parameters do not fit the data, the graphs cannot be connected as requested, the eigenpairs do not converge, or
/// the monitor stops the run.
///
/// # Complexity
/// O(n²d) for the neighbors, in matrix products; near-linear in nk for the rest.
///
/// ```
/// use spadework::{PairedSamples, Samples, Silent, SpadeParams, evaluate};
/// // Forty points on a circle go in; the "model" cuts the circle open at one place.
/// let angle = |i: usize| i as f64 / 40.0 * std::f64::consts::TAU;
/// let inputs: Vec<f64> = (0..40).flat_map(|i| [angle(i).cos(), angle(i).sin()]).collect();
/// let outputs: Vec<f64> = (0..40).map(angle).collect();
/// let samples = PairedSamples::new(Samples::from_f64(40, 2, inputs)?, Samples::from_f64(40, 1, outputs)?)?;
/// let report = evaluate(&samples, &SpadeParams::default().with_neighbors(2), &Silent)?;
/// // The most fragile edge joins the two sides of the cut.
/// let edge = report.edge_scores.top(1)[0];
/// assert_eq!((edge.p, edge.q), (0, 39));
/// # Ok::<(), spadework::Error>(())
/// ```
///
/// From graphs:
///
/// ```
/// use spadework::graph::{ConnectedGraph, generators};
/// use spadework::{GraphPair, Silent, SpadeParams, evaluate};
/// let line = ConnectedGraph::new(generators::path(40)).unwrap();
/// let graphs = GraphPair::new(generators::cycle(40), line)?;
/// let report = evaluate(graphs, &SpadeParams::default(), &Silent)?;
/// assert!((report.model_score.0 - 40.0).abs() < 1e-6);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn evaluate<'a>(
    sides: impl Into<ManifoldPair<'a>>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SpadeReport> {
    evaluate_with(&sides.into(), params, &KeepNothing, monitor)
}

/// As [`evaluate`], with a keeper that may supply results of an earlier run, and stores those of this one.
///
/// # Errors
/// As [`evaluate`], and whatever the keeper returns.
pub fn evaluate_with<K: Keeper>(
    sides: &ManifoldPair<'_>,
    params: &SpadeParams,
    keeper: &K,
    monitor: &dyn Monitor,
) -> Result<SpadeReport, K::Error> {
    // What concerns later steps is checked before the search, which may take hours.
    params.check_sides(sides)?;
    with_threads(params.threads, || {
        // (a) The manifolds: a connected graph of each side.
        let graphs = graphs_step(sides, params, keeper, monitor)?;

        // (b) The dominant generalized eigenpairs of L_X v = λ L_Y v, and how certain λ_1 is.
        let spectrum = spectrum_step(&graphs.graphs, params, keeper, monitor)?;
        check_cancelled(monitor)?;

        // (c) Scores of the model, of the edges and of the samples.
        Ok(scores_step(graphs, spectrum, monitor)?)
    })
}
