//! The neighbor graphs of the requested k, if the scored graphs have a larger k.
//!
//! Under [`Connectivity::Grow`](crate::graph::Connectivity::Grow) k grows until every graph is connected. The eigenproblem needs
//! connected graphs. The neighborhood overlap does not, and overlaps with k = 90 and k = 10 cannot be compared.

use std::sync::Arc;

use rayon::prelude::*;

use super::report::SpadeReport;
use crate::graph::{Graph, GraphKind};
use crate::neighbors::{TiedNeighbor, Ties, squared_distance_between};
use crate::samples::{Samples, Side};

impl SpadeReport {
    /// The input and the output graph with the requested k: those of the report, unless k had to grow.
    ///
    /// The k nearest samples are among the k' > k nearest, so they are found in the graphs of the report without a search. That
    /// holds for plain neighbor graphs of samples; graphs of another kind, and sides without samples, are returned as they are.
    pub fn graphs_as_asked(
        &self,
        inputs: Option<&Samples<'_>>,
        outputs: Option<&Samples<'_>>,
    ) -> [Arc<Graph>; 2] {
        let connection = self.diagnostics.connection;
        let scored = [self.graphs.shared_input(), self.graphs.shared_output()];
        let has_grown = connection.used > connection.requested;
        let (Some(inputs), Some(outputs)) = (inputs, outputs) else { return scored };
        let params = &self.diagnostics.params;
        if !has_grown || params.graph != GraphKind::Knn {
            return scored;
        }
        // The distances of the report: those of another metric, or of standardized columns, order neighbors otherwise.
        let inputs = params.geometry(Side::Input).place(Side::Input, inputs.view());
        let outputs = params.geometry(Side::Output).place(Side::Output, outputs.view());
        let (Ok(inputs), Ok(outputs)) = (inputs, outputs) else { return scored };
        let deciding = Some(&inputs).filter(|_| self.diagnostics.ties == Some(Ties::Inputs));
        let neighbors = connection.requested;
        [
            Arc::new(nearest_only(&scored[0], &inputs, None, neighbors)),
            Arc::new(nearest_only(&scored[1], &outputs, deciding, neighbors)),
        ]
    }
}

/// The graph of the k nearest samples, taken from that of more; ties go to the nearer of the samples that decide, if there are some,
/// then to the lower index, as in every search.
fn nearest_only(
    graph: &Graph,
    samples: &Samples<'_>,
    deciding: Option<&Samples<'_>>,
    neighbors: usize,
) -> Graph {
    let nearest = |p: usize| {
        let distance = |samples: &Samples<'_>, q: u32| squared_distance_between(samples, p, q as usize);
        let neighbor = |&q: &u32| TiedNeighbor {
            squared: distance(samples, q),
            decides: deciding.map_or(0.0, |deciding| distance(deciding, q)),
            index: q,
        };
        let mut others: Vec<TiedNeighbor> = graph.neighbors(p).iter().map(neighbor).collect();
        others.sort_unstable_by(TiedNeighbor::order);
        others.truncate(neighbors);
        let edge = move |other: TiedNeighbor| (other.index.min(p as u32), other.index.max(p as u32));
        others.into_iter().map(edge).collect::<Vec<_>>()
    };
    let mut edges: Vec<(u32, u32)> = (0..graph.nodes()).into_par_iter().flat_map_iter(nearest).collect();
    edges.par_sort_unstable();
    edges.dedup();
    Graph::from_edges(graph.nodes(), &edges).expect("edges of a graph over the same nodes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Connectivity;
    use crate::monitor::Silent;
    use crate::pipeline::evaluate;
    use crate::samples::{Metric, Standardize};
    use crate::{PairedSamples, SpadeParams};

    fn line(values: &[f64]) -> Samples<'static> {
        Samples::from_f64(values.len(), 1, values.to_vec()).unwrap()
    }

    /// Two groups of five, far apart: k = 2 leaves two components, and k grows to 5. What is asked for are the two nearest.
    #[test]
    fn neighbors_of_the_k_asked_for_are_found_among_more() {
        let positions = [0.0, 1.0, 2.1, 3.3, 4.6, 100.0, 101.0, 102.1, 103.3, 104.6];
        let squares: Vec<f64> = positions.iter().map(|x| x * x / 50.0).collect();
        let (inputs, outputs) = (line(&positions), line(&squares));
        let pair = PairedSamples::new(inputs.clone(), outputs.clone()).unwrap();
        let params = SpadeParams::default().with_neighbors(2).with_connectivity(Connectivity::Grow);
        let report = evaluate(&pair, &params, &Silent).unwrap();
        assert!(report.diagnostics.connection.used > 2);
        let [input, output] = report.graphs_as_asked(Some(&inputs), Some(&outputs));
        let of_group = [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)];
        let expected: Vec<(u32, u32)> =
            of_group.into_iter().chain(of_group.map(|(p, q)| (p + 5, q + 5))).collect();
        let edges = |graph: &Graph| graph.edges().map(|(p, q, _)| (p, q)).collect::<Vec<_>>();
        assert_eq!(edges(&input), expected);
        assert_eq!(output.nodes(), 10);
        let params = params.with_input_metric(Metric::Chebyshev).with_standardize(Standardize::Standard);
        let report = evaluate(&pair, &params, &Silent).unwrap();
        let [same, _] = report.graphs_as_asked(Some(&inputs), Some(&outputs));
        assert_eq!(edges(&same), expected, "in one dimension every metric orders neighbors alike");
        let [unknown, _] = report.graphs_as_asked(None, Some(&outputs));
        assert_eq!(edges(&unknown), edges(report.graphs.input()));
    }
}
