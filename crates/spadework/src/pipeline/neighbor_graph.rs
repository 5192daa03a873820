//! A neighbor graph by itself, for numbers that do not need a connected graph.

use super::params::SpadeParams;
use crate::error::Result;
use crate::graph::Graph;
use crate::monitor::{Monitor, Stage};
use crate::neighbors::search_by;
use crate::samples::{Samples, Side};
use crate::threads::with_threads;

/// The graph that connects two outputs if either is among the k nearest of the other, by the metric of the outputs and with the
/// requested k. It may be disconnected.
///
/// # Errors
/// When k is not less than the number of samples, and [`Error::Cancelled`](crate::Error::Cancelled).
///
/// ```
/// use spadework::pipeline::neighbor_graph;
/// use spadework::samples::Metric;
/// use spadework::{Samples, Silent, SpadeParams};
/// let samples = Samples::from_f64(4, 1, vec![0.0, 1.0, 10.0, 11.0])?;
/// let graph = neighbor_graph(&samples, &SpadeParams::default().with_neighbors(1), &Silent)?;
/// assert_eq!(graph.edges().map(|(p, q, _)| (p, q)).collect::<Vec<_>>(), [(0, 1), (2, 3)]);
/// let directions = Samples::from_f64(4, 2, vec![1.0, 0.1, 2.0, 2.5, 9.0, 0.8, 0.5, 0.6])?;
/// let params = SpadeParams::default().with_neighbors(1).with_output_metric(Metric::Cosine);
/// let graph = neighbor_graph(&directions, &params, &Silent)?;
/// assert_eq!(graph.edges().map(|(p, q, _)| (p, q)).collect::<Vec<_>>(), [(0, 2), (1, 3)]);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn neighbor_graph(samples: &Samples<'_>, params: &SpadeParams, monitor: &dyn Monitor) -> Result<Graph> {
    monitor.begin(Stage::NeighborsOutput);
    with_threads(params.threads, || {
        let samples = params.geometry(Side::Output).place(Side::Output, samples.view())?;
        let lists = search_by(params.search, params.seed).search(&samples, params.neighbors, monitor)?;
        lists.check_resolved(Side::Output, &samples)?;
        Ok(Graph::from_neighbors(&lists, params.neighbors))
    })
}
