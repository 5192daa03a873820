//! What two graphs have in common, counted: indices that need no eigenvectors.

use crate::error::{Error, Result};
use crate::graph::{Graph, GraphPair};

use super::largest;

/// The share of the input graph's edges that are edges of the output graph too: how many neighbors stay
/// neighbors.
///
/// Between models of different kinds, it tracked robust accuracy more closely than the SPADE score did
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

/// The neighborhood overlap of every sample: the share of its neighbors in one graph that are its neighbors in another.
///
/// The mean over the samples, each weighted by its number of neighbors, is [`edge_overlap`].
#[derive(Debug, Clone, PartialEq)]
pub struct SampleOverlaps {
    shares: Vec<f64>,
}

impl SampleOverlaps {
    /// Those of the input neighbors that are output neighbors too.
    pub fn of(graphs: &GraphPair) -> Self {
        Self::between(graphs.input(), graphs.output())
    }

    /// Those of the neighbors in `before` that are neighbors in `after` too.
    ///
    /// # Panics
    /// When the graphs have different numbers of nodes.
    pub fn between(before: &Graph, after: &Graph) -> Self {
        assert_eq!(before.nodes(), after.nodes(), "two graphs of the same samples");
        let share = |p: usize| {
            let (neighbors, others) = (before.neighbors(p), after.neighbors(p));
            let stay = neighbors.iter().filter(|q| others.binary_search(q).is_ok());
            // NaN without neighbors, in a graph that was given with isolated nodes.
            stay.count() as f64 / neighbors.len() as f64
        };
        Self { shares: (0..before.nodes()).map(share).collect() }
    }

    /// One share per sample, from 0 to 1; NaN for a sample without neighbors.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// All samples, smallest share first, ties to the lower index; samples without neighbors come last.
    pub fn ranking(&self) -> Vec<usize> {
        let moved = |share: &f64| if share.is_nan() { f64::NEG_INFINITY } else { -share };
        largest(&self.shares.iter().map(moved).collect::<Vec<_>>(), self.shares.len())
    }
}

/// A mean over the edges of a graph, of numbers that its nodes have.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EdgeMean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl EdgeMean {
    /// The mean of one number per node, each node weighted by its number of neighbors; NaN counts as no number.
    ///
    /// Overlaps of neighbors depend on each other: an edge that stays counts for both of its ends. So the error is not that of
    /// independent numbers. With w_p = d_p / Σ d and e_p = w_p (v_p − mean), it is the root of Σ_p e_p² + Σ_{p~q} e_p e_q,
    /// where p~q are both directions of every edge, and never less than that of independent numbers.
    ///
    /// # Panics
    /// When there is not one number per node.
    pub fn of(graph: &Graph, values: &[f64]) -> Self {
        assert_eq!(graph.nodes(), values.len(), "one number per node");
        let degree = |p: usize| if values[p].is_nan() { 0.0 } else { graph.neighbors(p).len() as f64 };
        let total: f64 = (0..values.len()).map(degree).sum();
        let weighted = |p: usize, value: f64| if value.is_nan() { 0.0 } else { degree(p) / total * value };
        // Divided once, in the end: parts that are rounded one by one can add up to more than all of it.
        let counted = |p: usize, value: f64| if value.is_nan() { 0.0 } else { degree(p) * value };
        let mean: f64 = values.iter().enumerate().map(|(p, &value)| counted(p, value)).sum::<f64>() / total;
        let errors: Vec<f64> =
            values.iter().enumerate().map(|(p, &value)| weighted(p, value - mean)).collect();
        let own: f64 = errors.iter().map(|error| error * error).sum();
        let shared: f64 = graph.edges().map(|(p, q, _)| 2.0 * errors[p as usize] * errors[q as usize]).sum();
        Self { mean, standard_error: (own + shared.max(0.0)).sqrt() }
    }
}

/// The share of a graph's edges whose two samples have the same label.
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

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        Graph::from_edges(nodes, edges).unwrap()
    }

    /// Counted by hand: a ring of four without one edge keeps one of two neighbors at its ends, and all elsewhere.
    #[test]
    fn samples_keep_the_neighbors_that_one_counts() {
        let ring = graph(5, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
        let path = graph(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        let found = SampleOverlaps::between(&ring, &path);
        assert_eq!(found.shares()[..4], [0.5, 1.0, 1.0, 0.5]);
        assert!(found.shares()[4].is_nan());
        assert_eq!(found.ranking(), [0, 3, 1, 2, 4]);
        // Three of four edges stay.
        let mean = EdgeMean::of(&ring, found.shares());
        assert_eq!(mean.mean, 0.75);
        // e = (−1, 1, 1, −1)/16; squares add up to 4/256, products over the edges 01, 12, 23, 03 to −1 + 1 − 1 + 1 = 0.
        assert_eq!(mean.standard_error, (4.0_f64 / 256.0).sqrt());
    }

    /// Edges that stay or go together at both ends: a ring of two halves, one kept. The products of neighbors add what the
    /// independent error leaves out.
    #[test]
    fn what_neighbors_share_counts_for_the_error() {
        let ring = graph(8, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (0, 7)]);
        let values = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let found = EdgeMean::of(&ring, &values);
        // e = ±1/16; eight squares, and six products of equal signs less two of unequal, twice.
        assert_eq!((found.mean, found.standard_error), (0.5, ((8.0 + 2.0 * 4.0) / 256.0_f64).sqrt()));
    }

    /// Stars of every size up to 60: degrees whose parts of all degrees are no binary fractions.
    #[test]
    fn rounding_makes_no_more_than_all_of_them() {
        for leaves in 1..60 {
            let edges: Vec<(u32, u32)> = (1..=leaves).map(|leaf| (0, leaf)).collect();
            let star = graph(leaves as usize + 1, &edges);
            let found = EdgeMean::of(&star, SampleOverlaps::between(&star, &star).shares());
            assert_eq!((found.mean, found.standard_error), (1.0, 0.0), "{leaves}");
        }
    }

    /// Of the four edges of a ring with labels 0, 0, 1, 1, two join equals.
    #[test]
    fn labels_agree_within_their_groups() {
        let ring = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]).unwrap();
        assert_eq!(label_agreement(&ring, &[0, 0, 1, 1]).unwrap(), 0.5);
        assert_eq!(label_agreement(&ring, &[7; 4]).unwrap(), 1.0);
        assert!(matches!(label_agreement(&ring, &[0; 3]), Err(Error::LabelCount { samples: 4, labels: 3 })));
    }
}
