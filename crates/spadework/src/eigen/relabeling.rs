//! Relabels the nodes of large graphs, so that neighbors are close together in memory.

use super::{GeneralizedEigenpairs, largest_entry};
use crate::graph::{Graph, GraphPair, breadth_first_labels};

/// From this many nodes on, where a panel outgrows the caches, what the relabeling takes is won back by the products with the
/// Laplacians.
const WORTHWHILE_NODES: usize = 250_000;

/// Whether graphs of so many nodes are relabeled.
pub(crate) fn relabels(nodes: usize) -> bool {
    nodes >= WORTHWHILE_NODES
}

/// A label for every node: node p of the graphs given is node `self.0[p]` of those relabeled.
#[derive(Debug)]
pub(super) struct Relabeling(Vec<u32>);

impl Relabeling {
    /// Labels by the output graph, products with which are the most frequent.
    pub(super) fn of(graphs: &GraphPair) -> Self {
        Self(breadth_first_labels(graphs.output()))
    }

    /// The same if that is worthwhile.
    pub(super) fn where_worthwhile(graphs: &GraphPair) -> Option<Self> {
        relabels(graphs.nodes()).then(|| Self::of(graphs))
    }

    pub(super) fn relabel(&self, graph: &Graph) -> Graph {
        graph.relabeled(&self.0)
    }

    /// Eigenpairs of the graphs given as those of the graphs relabeled.
    pub(super) fn relabel_pairs(&self, pairs: &GeneralizedEigenpairs) -> GeneralizedEigenpairs {
        let mut pairs = pairs.clone();
        for vector in vectors_of(&mut pairs) {
            let given = vector.clone();
            for (&label, entry) in self.0.iter().zip(given) {
                vector[label as usize] = entry;
            }
        }
        pairs
    }

    /// Eigenpairs of the graphs relabeled as those of the graphs given. Which entry is the first among equals may be another
    /// one then, and with it the sign.
    pub(super) fn pairs_as_given(&self, mut pairs: GeneralizedEigenpairs) -> GeneralizedEigenpairs {
        for vector in vectors_of(&mut pairs) {
            let given: Vec<f64> = self.0.iter().map(|&label| vector[label as usize]).collect();
            let sign = 1.0_f64.copysign(largest_entry(&given));
            *vector = given.into_iter().map(|entry| sign * entry).collect();
        }
        pairs
    }
}

/// All vectors, those of guards included.
fn vectors_of(pairs: &mut GeneralizedEigenpairs) -> impl Iterator<Item = &mut Vec<f64>> {
    pairs.vectors.iter_mut().chain(pairs.guards.iter_mut().map(|pair| &mut pair.vector))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eigen::{Certainty, EigenInfo, EigenMethod, EigenParams, EigenProblem};
    use crate::graph::{ConnectedGraph, generators};
    use crate::monitor::Silent;

    /// A weighted grid against a grid with chords, both of 600 nodes.
    fn graphs() -> GraphPair {
        let grid = generators::grid(20, 30);
        let edges: Vec<_> = grid.edges().map(|(p, q, _)| (p, q, 1.0 + f64::from((3 * p + q) % 7))).collect();
        let input = Graph::from_weighted_edges(600, &edges).unwrap();
        let mut edges: Vec<_> = grid.edges().map(|(p, q, _)| (p, q)).collect();
        edges.extend((0..600).map(|p| (p, (17 * p + 91) % 600)).filter(|(p, q)| p != q));
        GraphPair::new(input, ConnectedGraph::new(Graph::from_edges(600, &edges).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn relabeling_inside_changes_no_result() {
        let graphs = graphs();
        let params = EigenParams { eigenpairs: 3, method: EigenMethod::Davidson, ..EigenParams::default() };
        let given = EigenProblem::with_relabeling(&graphs, 0, None);
        let expected = given.dominant_eigenpairs(&params, &Silent).unwrap();
        let relabeling = Relabeling::of(&graphs);
        assert!(relabeling.0.iter().zip(0..).any(|(&label, p)| label != p));
        let relabeled = EigenProblem::with_relabeling(&graphs, 0, Some(relabeling));
        let pairs = relabeled.dominant_eigenpairs(&params, &Silent).unwrap();
        for pair in 0..3 {
            assert!((pairs.values[pair] / expected.values[pair] - 1.0).abs() < 1e-10);
            // Eigenvectors are right to about the residual over the gap to the next eigenvalue.
            let errors = pairs.vectors[pair].iter().zip(&expected.vectors[pair]).map(|(a, b)| (a - b).abs());
            assert!(errors.fold(0.0, f64::max) < 1e-4, "vector {pair}");
        }
        // Each problem takes the pairs of the other: they are of the graphs given.
        for (problem, pairs) in [(&relabeled, &expected), (&given, &pairs)] {
            for certainty in [Certainty::Probable, Certainty::Certified] {
                let enclosure = problem.enclose(pairs, certainty, 0, &Silent).unwrap();
                let largest = expected.values[0];
                assert!(enclosure.lower <= largest * (1.0 + 1e-12) && largest <= enclosure.upper);
                assert!(enclosure.upper < largest * (1.0 + 1e-4), "{enclosure:?}");
            }
        }
    }

    #[test]
    fn signs_follow_the_order_of_the_nodes_given() {
        let info = EigenInfo { method: EigenMethod::Davidson, iterations: 1 };
        let (values, residuals, guards) = (vec![1.0], vec![0.0], Vec::new());
        let vectors = vec![vec![0.5, 2.0, -2.0]];
        let pairs = GeneralizedEigenpairs { values, vectors, residuals, info, guards };
        // Node 0 becomes 2, node 1 becomes 0 and node 2 becomes 1.
        let relabeling = Relabeling(vec![2, 0, 1]);
        let given = relabeling.pairs_as_given(pairs);
        assert_eq!(given.vectors, [[2.0, -0.5, -2.0]]);
        assert_eq!(relabeling.relabel_pairs(&given).vectors, [[-0.5, -2.0, 2.0]]);
    }
}
