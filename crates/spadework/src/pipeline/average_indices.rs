//! Numbers about a scored model as a whole, in addition to the SPADE score. They average over directions, edges and
//! neighborhoods, whereas λ_1 only concerns the worst direction.

use serde::{Deserialize, Serialize};

use super::report::SpadeReport;
use crate::error::Result;
use crate::graph::geodesic_distances;
use crate::laplacian::{Estimate, Laplacian, LaplacianSolver, trace_of_product};
use crate::monitor::{Monitor, Stage};
use crate::random::{Purpose, drawn, stream};
use crate::samples::PairedSamples;
use crate::scores::{DistanceKind, Distances, Distortion, Neighborhoods, Spread};
use crate::threads::with_threads;

/// Input edges whose distortion is measured; all if there are fewer.
pub const INDEX_EDGES: usize = 256;
/// Samples whose neighborhoods are ranked; all if there are fewer.
pub const INDEX_ROWS: usize = 256;

/// Panels of four random vectors behind the mean eigenvalue.
const PANELS: usize = 16;

/// Averages over a scored model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AverageIndices {
    /// The mean of all n − 1 eigenvalues of L_Y⁺L_X, tr(L_Y⁺L_X)/(n − 1): by how much the model pulls neighbors apart on average
    /// over all directions. It equals m/(n − 1) times the mean effective resistance, at the output, of the m input edges.
    pub mean_eigenvalue: Estimate,
    /// Edges of the input graph that were drawn for the distortions.
    pub edges: usize,
    /// Distortion γ of these edges by hops: the hops at the output, since there is one hop at the input.
    pub geodesic: Spread,
    /// Distortion γ of these edges by effective resistance; absent if a disconnected input graph was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resistance: Option<Spread>,
    /// Trustworthiness and continuity; absent if a side was given as a graph, or if k is half the number of samples or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighborhoods: Option<Neighborhoods>,
}

impl AverageIndices {
    /// Finds the indices of a scored model; k, seed and threads are those it was scored with. `samples` are its samples, if
    /// neither side was given as a graph.
    ///
    /// # Errors
    /// [`Error::NotConverged`](crate::error::Error::NotConverged), [`Error::Cancelled`](crate::error::Error::Cancelled).
    ///
    /// ```
    /// use spadework::graph::{ConnectedGraph, GraphPair, generators};
    /// use spadework::{Silent, SpadeParams, evaluate};
    /// use spadework::pipeline::AverageIndices;
    /// // Of the ring's 40 edges, 39 are edges of the line too; the last one is 39 hops long there.
    /// let line = ConnectedGraph::new(generators::path(40)).unwrap();
    /// let graphs = GraphPair::new(generators::cycle(40), line)?;
    /// let report = evaluate(graphs, &SpadeParams::default(), &Silent)?;
    /// let indices = AverageIndices::of(&report, None, &Silent)?;
    /// assert_eq!((indices.geodesic.median, indices.geodesic.largest), (1.0, 39.0));
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of(
        report: &SpadeReport,
        samples: Option<&PairedSamples<'_>>,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        with_threads(report.diagnostics.params.threads, || Self::here(report, samples, monitor))
    }

    fn here(
        report: &SpadeReport,
        samples: Option<&PairedSamples<'_>>,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        monitor.begin(Stage::Distances);
        let (graphs, seed) = (&report.graphs, report.diagnostics.params.seed);
        let (output, output_exponent) = Laplacian::near_one(graphs.output());
        let (input, input_exponent) = Laplacian::near_one(graphs.input());
        let solver = LaplacianSolver::new(output, seed);
        let trace = trace_of_product(&solver, input.graph(), PANELS, seed, monitor)?;
        let trace = trace.times_power_of_two(output_exponent - input_exponent);
        let edges = random_edges(report);
        let hops = geodesic_distances(graphs.output(), &edges, monitor)?;
        // The output graph is connected, so that there is a path for every edge.
        let hops: Vec<f64> = hops.into_iter().flatten().map(f64::from).collect();
        let ranked = samples.map(|samples| {
            let neighbors = report.diagnostics.connection.used;
            let params = &report.diagnostics.params;
            let placed = params.placed_pair(samples)?;
            Neighborhoods::of(&placed, neighbors, INDEX_ROWS, seed, params.ties, monitor)
        });
        Ok(Self {
            mean_eigenvalue: trace.scaled(1.0 / (graphs.nodes() - 1) as f64),
            edges: edges.len(),
            geodesic: Spread::of(&hops).expect("an input graph has an edge"),
            resistance: resistance_distortion(report, &edges, monitor)?,
            neighborhoods: ranked.transpose()?.flatten(),
        })
    }
}

fn random_edges(report: &SpadeReport) -> Vec<(u32, u32)> {
    let edges = report.edge_scores.edges();
    let rng = &mut stream(report.diagnostics.params.seed, Purpose::MeasuredEdges);
    drawn((0..edges.len()).collect(), INDEX_EDGES, rng).into_iter().map(|at| edges[at]).collect()
}

fn resistance_distortion(
    report: &SpadeReport,
    edges: &[(u32, u32)],
    monitor: &dyn Monitor,
) -> Result<Option<Spread>> {
    if report.graphs.check_input_connected().is_err() {
        return Ok(None);
    }
    let distances = Distances::new(&report.graphs, report.diagnostics.params.seed)?;
    let measured = distances.of_pairs(DistanceKind::Resistance, edges, monitor)?;
    Ok(Spread::of(&measured.iter().map(Distortion::ratio).collect::<Vec<_>>()))
}
