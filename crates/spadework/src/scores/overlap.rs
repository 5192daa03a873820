//! What two graphs have in common: indices that need no eigenvectors.

use std::cmp::Ordering;

use crate::error::{Error, Result};
use crate::graph::{Graph, GraphPair};
use crate::neighbors::squared_distances_between;
use crate::samples::Samples;

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
    /// The share of input neighbors that are output neighbors too.
    pub fn of(graphs: &GraphPair) -> Self {
        Self::between(graphs.input(), graphs.output())
    }

    /// The share of neighbors in `before` that are neighbors in `after` too.
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

    /// All samples, smallest share first. Among equal shares, the sample with the largest number in `of_equal_shares` comes first; further
    /// ties go to the lower index. NaN comes last in both orders.
    ///
    /// # Panics
    /// When there is not one number per sample.
    pub fn ranking(&self, of_equal_shares: &[f64]) -> Vec<usize> {
        assert_eq!(self.shares.len(), of_equal_shares.len(), "one number per sample");
        let mut order: Vec<usize> = (0..self.shares.len()).collect();
        // Stable: what is equal in both stays in the order of the index.
        order.sort_by(|&a, &b| {
            nan_last(self.shares[a], self.shares[b], f64::total_cmp)
                .then_with(|| nan_last(of_equal_shares[a], of_equal_shares[b], |a, b| b.total_cmp(a)))
        });
        order
    }
}

fn nan_last(a: f64, b: f64, order: impl Fn(&f64, &f64) -> Ordering) -> Ordering {
    a.is_nan().cmp(&b.is_nan()).then_with(|| if a.is_nan() { Ordering::Equal } else { order(&a, &b) })
}

/// How far the former neighbors of every sample are from it now: their mean distance, divided by that of its present neighbors. 1 if none
/// has changed.
///
/// The distances are those of `now`, which must already be placed ([`Geometry`](crate::samples::Geometry)). Infinite if the present
/// neighbors are exact copies and former ones are not; NaN if all are copies, or if there are no neighbors.
///
/// ```
/// use spadework::scores::distances_of_former_neighbors;
/// use spadework::{Graph, Samples};
/// let before = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)])?;
/// let after = Graph::from_edges(4, &[(0, 1), (0, 2), (2, 3)])?;
/// let now = Samples::from_f64(4, 1, vec![0.0, 1.0, -1.0, -3.0])?;
/// // Sample 1 had neighbors at distances 1 and 2, and has one at distance 1.
/// assert_eq!(distances_of_former_neighbors(&before, &after, &now), [1.0, 1.5, 4.0 / 3.0, 1.0]);
/// # Ok::<(), spadework::Error>(())
/// ```
///
/// # Panics
/// When the graphs do not have a node per sample.
pub fn distances_of_former_neighbors(before: &Graph, after: &Graph, now: &Samples<'_>) -> Vec<f64> {
    assert_eq!((before.nodes(), after.nodes()), (now.len(), now.len()), "two graphs of these samples");
    let means = |graph: &Graph| -> Vec<f64> {
        let all = 0..graph.nodes();
        let pairs: Vec<(usize, usize)> =
            all.clone().flat_map(|p| graph.neighbors(p).iter().map(move |&q| (p, q as usize))).collect();
        let mut squared = squared_distances_between(now, &pairs).into_iter();
        let mean = |p: usize| {
            let count = graph.neighbors(p).len();
            squared.by_ref().take(count).map(f64::sqrt).sum::<f64>() / count as f64
        };
        all.map(mean).collect()
    };
    means(before).into_iter().zip(means(after)).map(|(former, present)| former / present).collect()
}

/// A mean over the edges of a graph of numbers of its nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EdgeMean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl EdgeMean {
    /// The mean of one number per node, each node weighted by its number of neighbors; NaN is left out.
    ///
    /// Overlaps of neighbors depend on each other: an edge that stays counts for both of its ends. So the error is not that of
    /// independent numbers. With w_p = d_p / Σ d and e_p = w_p (v_p − mean), it is the square root of Σ_p e_p² + Σ_{p~q} e_p
    /// e_q, where p~q are both directions of every edge, and at least that of independent numbers.
    ///
    /// # Panics
    /// When there is not one number per node.
    pub fn of(graph: &Graph, values: &[f64]) -> Self {
        Self::of_groups(graph, values, &vec![0; values.len()], 1)[0]
    }

    /// The same for groups of nodes; `groups` says which of `count` groups every node belongs to. The weight of a node counts all of its
    /// neighbors, but only edges within its group contribute to the error.
    ///
    /// # Panics
    /// When there is not one number and one group per node, or a group is not below `count`.
    pub fn of_groups(graph: &Graph, values: &[f64], groups: &[usize], count: usize) -> Vec<Self> {
        assert_eq!(graph.nodes(), values.len(), "one number per node");
        assert_eq!(graph.nodes(), groups.len(), "one group per node");
        let degree = |p: usize| graph.neighbors(p).len() as f64;
        let known = || (0..values.len()).filter(|&p| !values[p].is_nan());
        let (mut totals, mut means) = (vec![0.0; count], vec![0.0; count]);
        for p in known() {
            totals[groups[p]] += degree(p);
            means[groups[p]] += degree(p) * values[p];
        }
        // Divided once, in the end: parts that are rounded one by one can add up to more than all of it.
        means.iter_mut().zip(&totals).for_each(|(mean, total)| *mean /= total);
        let (mut errors, mut own, mut shared) = (vec![0.0; values.len()], vec![0.0; count], vec![0.0; count]);
        for p in known() {
            let group = groups[p];
            errors[p] = degree(p) / totals[group] * (values[p] - means[group]);
            own[group] += errors[p] * errors[p];
        }
        for (p, q, _) in graph.edges().filter(|&(p, q, _)| groups[p as usize] == groups[q as usize]) {
            shared[groups[p as usize]] += 2.0 * errors[p as usize] * errors[q as usize];
        }
        let error = |group: usize| (own[group] + f64::max(shared[group], 0.0)).sqrt();
        (0..count).map(|group| Self { mean: means[group], standard_error: error(group) }).collect()
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
        assert_eq!(found.ranking(&[0.0; 5]), [0, 3, 1, 2, 4]);
        // Equal shares by the other number, NaN last.
        assert_eq!(found.ranking(&[1.0, f64::NAN, 0.5, 2.0, 9.0]), [3, 0, 2, 1, 4]);
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

    /// The same ring of two halves as two groups: each is all equal. Three nodes as a group of their own have no neighbors among each other.
    #[test]
    fn groups_have_their_own_means() {
        let ring = graph(8, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (0, 7)]);
        let values = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, f64::NAN];
        let halves = EdgeMean::of_groups(&ring, &values, &[0, 0, 0, 0, 1, 1, 1, 1], 2);
        let numbers = |found: &EdgeMean| (found.mean, found.standard_error);
        assert_eq!(halves.iter().map(numbers).collect::<Vec<_>>(), [(1.0, 0.0), (0.0, 0.0)]);
        // Nodes 0, 2 and 5: e = (1/9, 1/9, −2/9), and no products.
        let apart = EdgeMean::of_groups(&ring, &values, &[1, 0, 1, 0, 0, 1, 0, 0], 2)[1];
        assert!((apart.mean - 2.0 / 3.0).abs() < 1e-15);
        assert!((apart.standard_error - (6.0_f64 / 81.0).sqrt()).abs() < 1e-15);
        assert!(EdgeMean::of_groups(&ring, &values, &[0, 0, 0, 0, 0, 0, 0, 1], 2)[1].mean.is_nan());
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
