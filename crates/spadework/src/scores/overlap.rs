//! What two graphs have in common, counted: indices that need no eigenvectors.

use crate::error::{Error, Result};
use crate::graph::{Graph, GraphPair};

/// The part of the input graph's edges that are edges of the output graph too: how many neighbors stay neighbors.
///
/// Between models of different kinds it has followed robust accuracy more closely than the model score
/// (`docs/what-the-scores-mean.md`); larger is more robust.
///
/// ```
/// use spadework::scores::edge_overlap;
/// use spadework::{Graph, GraphPair};
/// use spadework::graph::ConnectedGraph;
/// let ring = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3), (0, 3)])?;
/// let path = ConnectedGraph::new(Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)])?).unwrap();
/// assert_eq!(edge_overlap(&GraphPair::new(ring, path)?), 0.75);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn edge_overlap(graphs: &GraphPair) -> f64 {
    let (input, output) = (graphs.input(), graphs.output());
    let common = input.edges().filter(|&(p, q, _)| output.neighbors(p as usize).binary_search(&q).is_ok());
    common.count() as f64 / input.edge_count() as f64
}

/// The part of a graph's edges whose two samples carry the same label.
///
/// # Errors
/// When there is not one label per sample.
pub fn label_agreement(graph: &Graph, labels: &[i64]) -> Result<f64> {
    if labels.len() != graph.nodes() {
        return Err(Error::LabelCount { samples: graph.nodes(), labels: labels.len() });
    }
    let same = graph.edges().filter(|&(p, q, _)| labels[p as usize] == labels[q as usize]);
    Ok(same.count() as f64 / graph.edge_count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the four edges of a ring with labels 0, 0, 1, 1, two join equals.
    #[test]
    fn labels_agree_within_their_groups() {
        let ring = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]).unwrap();
        assert_eq!(label_agreement(&ring, &[0, 0, 1, 1]).unwrap(), 0.5);
        assert_eq!(label_agreement(&ring, &[7; 4]).unwrap(), 1.0);
        assert!(matches!(label_agreement(&ring, &[0; 3]), Err(Error::LabelCount { samples: 4, labels: 3 })));
    }
}
