//! From neighbor lists to the graph of one side: which pairs are edges, and their weights.

use super::components::DisjointSets;
use super::{Graph, GraphKind, Weights};
use crate::neighbors::{NeighborLists, squared_distances_between};
use crate::samples::Samples;

/// Which pairs are edges; [`GraphKind`] without what happens before (a projection) and after (sparsification).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum EdgeRule {
    /// Either has the other among its k.
    Union,
    /// Each has the other among its k.
    Mutual,
    /// d(p, q) < δ√(d_k(p) d_k(q)).
    Continuous {
        /// δ.
        delta: f64,
    },
}

impl EdgeRule {
    pub(super) fn of(kind: GraphKind) -> Self {
        match kind {
            GraphKind::Knn | GraphKind::Pca(_) | GraphKind::Sparse(_) => EdgeRule::Union,
            GraphKind::Mutual => EdgeRule::Mutual,
            GraphKind::Continuous { delta } => EdgeRule::Continuous { delta },
        }
    }

    /// Whether the lists hold every edge for k = `neighbors`.
    ///
    /// An edge of a continuous graph is shorter than δ times the larger of its two scales, so it is found if every sample
    /// knows all others within δ times its own; with δ ≤ 1 these are among its k nearest.
    pub(super) fn is_covered(self, lists: &NeighborLists, neighbors: usize) -> bool {
        let known = lists.neighbors();
        if known < neighbors {
            return false;
        }
        match self {
            EdgeRule::Continuous { delta } if delta > 1.0 && known + 1 < lists.len() => {
                (0..lists.len()).all(|p| {
                    let distances = lists.squared_distances_of(p);
                    distances[known - 1] >= delta * delta * distances[neighbors - 1]
                })
            }
            _ => true,
        }
    }

    /// The graph, every edge of weight 1.
    pub(super) fn graph(self, lists: &NeighborLists, neighbors: usize) -> Graph {
        if self == EdgeRule::Union {
            return Graph::from_neighbors(lists, neighbors);
        }
        let is_edge = self.test(lists, neighbors);
        Graph::from_pairs(lists.len(), pairs(lists, self.places(lists, neighbors), &*is_edge))
    }

    /// Whether the graph is in one piece, found without making it.
    pub(super) fn is_connected(self, lists: &NeighborLists, neighbors: usize) -> bool {
        let is_edge = self.test(lists, neighbors);
        let mut sets = DisjointSets::new(lists.len());
        pairs(lists, self.places(lists, neighbors), &*is_edge)
            .any(|(p, q)| sets.join(p, q) && sets.count() == 1)
    }

    /// How far into the lists there may be edges.
    fn places(self, lists: &NeighborLists, neighbors: usize) -> usize {
        match self {
            EdgeRule::Union | EdgeRule::Mutual => neighbors,
            EdgeRule::Continuous { .. } => lists.neighbors(),
        }
    }

    /// Whether a pair of the lists is an edge; asked as (p, place of q in the list of p, q).
    fn test(self, lists: &NeighborLists, neighbors: usize) -> Box<IsEdge<'_>> {
        match self {
            EdgeRule::Union => Box::new(|_, _, _| true),
            // Both have the other, so it is enough to ask the lower.
            EdgeRule::Mutual => Box::new(move |p, place, q| p < q && chooses(lists, q, p, place, neighbors)),
            EdgeRule::Continuous { delta } => {
                let scales = squared_scales(lists, neighbors);
                Box::new(move |p, place, q| {
                    let bound = delta * delta * geometric_mean(scales[p], scales[q]);
                    lists.squared_distances_of(p)[place] < bound
                })
            }
        }
    }
}

type IsEdge<'l> = dyn Fn(usize, usize, usize) -> bool + 'l;

/// Pairs among the first places of the lists that are edges.
fn pairs<'l>(
    lists: &'l NeighborLists,
    places: usize,
    is_edge: &'l IsEdge<'_>,
) -> impl Iterator<Item = (u32, u32)> + Clone + 'l {
    (0..lists.len()).flat_map(move |p| {
        let known = lists.of(p)[..places].iter().enumerate();
        known.filter(move |&(place, &q)| is_edge(p, place, q as usize)).map(move |(_, &q)| (p as u32, q))
    })
}

/// Whether p, which has q at a place of its list, is among the first `neighbors` of q. Lists ascend and a distance is the same
/// from both ends to the last bit, so p can stand among equal distances only.
fn chooses(lists: &NeighborLists, q: usize, p: usize, place: usize, neighbors: usize) -> bool {
    let squared = lists.squared_distances_of(p)[place];
    let (indices, distances) = (&lists.of(q)[..neighbors], &lists.squared_distances_of(q)[..neighbors]);
    let first = distances.partition_point(|&nearer| nearer < squared);
    let equal = distances[first..].iter().take_while(|&&distance| distance == squared).count();
    indices[first..first + equal].contains(&(p as u32))
}

/// √(ab), exact where a = b and where both and the root are whole numbers.
///
/// Two samples that are each other's k-th neighbor stand at equality with δ = 1: a mean that rounds up would join them. The
/// root of a rounded product does not, for √(a·a) is a to the last bit; a product of two roots may.
fn geometric_mean(a: f64, b: f64) -> f64 {
    let product = a * b;
    if a == b {
        a
    } else if product.is_normal() {
        product.sqrt()
    } else {
        // The product has overflowed or lost digits; the roots cannot, and never leave the range between a and b.
        (a.sqrt() * b.sqrt()).clamp(a.min(b), a.max(b))
    }
}

/// d_k² of every sample.
pub(super) fn squared_scales(lists: &NeighborLists, neighbors: usize) -> Vec<f64> {
    (0..lists.len()).map(|p| lists.squared_distances_of(p)[neighbors - 1]).collect()
}

/// A graph with Gaussian weights, and how many of them would have been below [`Weights::LEAST`].
///
/// A sample with k copies of itself has no scale (d_k = 0): the other end's is taken for it. Where neither end has one, copies
/// weigh 1 and others the least.
pub(super) fn gaussian(graph: &Graph, samples: &Samples<'_>, squared_scales: &[f64]) -> (Graph, usize) {
    let weight = |p: u32, q: u32, squared: f64| {
        let scale = |own: u32, other: u32| match squared_scales[own as usize] {
            0.0 => squared_scales[other as usize].sqrt(),
            own => own.sqrt(),
        };
        let exponent = if squared == 0.0 { 0.0 } else { squared / (scale(p, q) * scale(q, p)) };
        (-exponent).exp()
    };
    let ends: Vec<(usize, usize)> = graph.edges().map(|(p, q, _)| (p as usize, q as usize)).collect();
    let lengths = squared_distances_between(samples, &ends);
    let weighed = graph.edges().zip(lengths).map(|((p, q, _), squared)| (p, q, weight(p, q, squared)));
    let weighed: Vec<(u32, u32, f64)> = weighed.collect();
    let raised = weighed.iter().filter(|(.., weight)| *weight < Weights::LEAST).count();
    let weighed: Vec<_> =
        weighed.into_iter().map(|(p, q, weight)| (p, q, weight.max(Weights::LEAST))).collect();
    (Graph::from_weighted_edges(graph.nodes(), &weighed).expect("the same edges, positive weights"), raised)
}

/// The graph of one side from its neighbor lists, connected or not: the edges that `kind` chooses, with their weights.
///
/// A continuous graph of δ > 1 may have edges beyond the k nearest; it only gets those that are in the lists.
///
/// The steps before it ([`project`](super::project)) and after it ([`sparsify`](crate::pipeline::sparsify)) are left to the
/// caller.
///
/// # Panics
/// When the lists are shorter than `neighbors`, or belong to other samples.
///
/// ```
/// use spadework::graph::{GraphKind, Weights, construct};
/// use spadework::neighbors::{ExactSearch, NeighborSearch};
/// use spadework::{Samples, Silent};
/// // 3 stands apart: it chooses 2, but 2 has nearer neighbors.
/// let samples = Samples::from_f64(4, 1, vec![0.0, 1.0, 2.5, 7.0])?;
/// let lists = ExactSearch.search(&samples, 1, &Silent)?;
/// let edges = |kind| construct(&samples, &lists, 1, kind, Weights::Unit).edge_count();
/// assert_eq!((edges(GraphKind::Knn), edges(GraphKind::Mutual)), (3, 1));
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn construct(
    samples: &Samples<'_>,
    lists: &NeighborLists,
    neighbors: usize,
    kind: GraphKind,
    weights: Weights,
) -> Graph {
    assert_eq!(samples.len(), lists.len(), "lists of these samples");
    assert!(neighbors <= lists.neighbors(), "the lists hold {} neighbors", lists.neighbors());
    let graph = EdgeRule::of(kind).graph(lists, neighbors);
    match weights {
        Weights::Unit => graph,
        Weights::Gaussian => gaussian(&graph, samples, &squared_scales(lists, neighbors)).0,
    }
}
