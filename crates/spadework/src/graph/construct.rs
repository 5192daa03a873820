//! From neighbour lists to the graph of one side: which pairs are edges, and what they weigh.

use rayon::prelude::*;

use super::{Graph, GraphKind, Weights};
use crate::Samples;
use crate::neighbors::{NeighborLists, distance_between, ordered};

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
        match self {
            EdgeRule::Union => Graph::from_neighbors(lists, neighbors),
            EdgeRule::Mutual => {
                chosen_pairs(lists, |p, rank, q| rank < neighbors && chooses(lists, q, p, rank, neighbors))
            }
            EdgeRule::Continuous { delta } => {
                let scales = squared_scales(lists, neighbors);
                chosen_pairs(lists, |p, rank, q| {
                    // Roots first: a product of two squares may overflow.
                    let bound = delta * delta * (scales[p].sqrt() * scales[q].sqrt());
                    lists.squared_distances_of(p)[rank] < bound
                })
            }
        }
    }
}

/// Pairs of the lists that are edges; asked as (p, place of q in the list of p, q).
fn chosen_pairs(lists: &NeighborLists, is_edge: impl Fn(usize, usize, usize) -> bool + Copy) -> Graph {
    let of_sample = |p: usize| {
        let chosen = lists.of(p).iter().enumerate();
        chosen.filter(move |&(rank, &q)| is_edge(p, rank, q as usize)).map(move |(_, &q)| (p as u32, q))
    };
    Graph::from_pairs(lists.len(), (0..lists.len()).flat_map(of_sample))
}

/// Whether p, which has q at place `rank`, is among the first `neighbors` of q. Lists are sorted and a distance is the same
/// from both ends to the last bit, so p can stand at one place only.
fn chooses(lists: &NeighborLists, q: usize, p: usize, rank: usize, neighbors: usize) -> bool {
    let sought = (lists.squared_distances_of(p)[rank], p as u32);
    let (indices, distances) = (lists.of(q), lists.squared_distances_of(q));
    let (mut low, mut high) = (0, neighbors);
    while low < high {
        let middle = low.midpoint(high);
        match ordered(&(distances[middle], indices[middle]), &sought) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    false
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
    let weight = |p: u32, q: u32| {
        let squared = distance_between(samples, p as usize, q as usize);
        let scale = |own: u32, other: u32| match squared_scales[own as usize] {
            0.0 => squared_scales[other as usize].sqrt(),
            own => own.sqrt(),
        };
        let exponent = if squared == 0.0 { 0.0 } else { squared / (scale(p, q) * scale(q, p)) };
        (-exponent).exp()
    };
    let edges: Vec<(u32, u32)> = graph.edges().map(|(p, q, _)| (p, q)).collect();
    let weighed: Vec<(u32, u32, f64)> = edges.par_iter().map(|&(p, q)| (p, q, weight(p, q))).collect();
    let raised = weighed.iter().filter(|(.., weight)| *weight < Weights::LEAST).count();
    let weighed: Vec<_> =
        weighed.into_iter().map(|(p, q, weight)| (p, q, weight.max(Weights::LEAST))).collect();
    (Graph::from_weighted_edges(graph.nodes(), &weighed).expect("the same edges, positive weights"), raised)
}

/// The graph of one side as its lists give it, connected or not: the edges that `kind` chooses, weighed.
///
/// A continuous graph of δ > 1 may have edges beyond the k nearest; of these it has those that the lists hold.
///
/// What comes before ([`project`](super::project)) and after ([`sparsify`](super::sparsify)) is for the caller.
///
/// # Panics
/// When the lists are shorter than `neighbors`, or are of other samples.
///
/// ```
/// use spadework::graph::{GraphKind, Weights, construct};
/// use spadework::neighbors::{ExactSearch, NeighborSearch};
/// use spadework::{Samples, Silent};
/// // 3 stands apart: it chooses 2, but 2 has nearer neighbours.
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
    assert!(neighbors <= lists.neighbors(), "the lists hold {} neighbours", lists.neighbors());
    let graph = EdgeRule::of(kind).graph(lists, neighbors);
    match weights {
        Weights::Unit => graph,
        Weights::Gaussian => gaussian(&graph, samples, &squared_scales(lists, neighbors)).0,
    }
}
