//! Geodesic distances: hops along a shortest path, by breadth-first search.
//!
//! Every edge is one hop, whatever its weight: weights say how strongly two samples are connected, not how far apart they
//! are, and the paper's geodesic distance is that of graphs with unit weights.
//!
//! Pairs are grouped by one of their ends, and the searches from different ends run in parallel. A search stops when it has
//! reached all other ends of its group, so pairs that are close together (most edges) cost little.

use rayon::prelude::*;

use super::Graph;
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};

/// Hops between the nodes of every pair, in the order of the pairs; `None` if no path connects them.
///
/// # Errors
/// [`Error::BadPair`](crate::error::Error::BadPair) when a pair names a node that does not exist;
/// [`Error::Cancelled`](crate::error::Error::Cancelled).
///
/// # Complexity
/// At most one search per node that is the first of a pair, each O(m) for m edges; n numbers of memory per thread.
///
/// ```
/// use spadework::graph::{generators, geodesic_distances};
/// let ring = generators::cycle(10);
/// let hops = geodesic_distances(&ring, &[(0, 3), (0, 9), (2, 7)], &spadework::Silent)?;
/// assert_eq!(hops, [Some(3), Some(1), Some(5)]);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn geodesic_distances(
    graph: &Graph,
    pairs: &[(u32, u32)],
    monitor: &dyn Monitor,
) -> Result<Vec<Option<u32>>> {
    graph.check_pairs(pairs)?;
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&at| pairs[at].0);
    let groups: Vec<&[usize]> = order.chunk_by(|&a, &b| pairs[a].0 == pairs[b].0).collect();
    let found = groups
        .into_par_iter()
        .map_init(
            || BreadthFirst::new(graph),
            |search, group| {
                check_cancelled(monitor)?;
                let targets: Vec<u32> = group.iter().map(|&at| pairs[at].1).collect();
                let hops = search.run(pairs[group[0]].0, &targets);
                Ok(group.iter().copied().zip(hops).collect::<Vec<_>>())
            },
        )
        .collect::<Result<Vec<_>>>()?;
    let mut distances = vec![None; pairs.len()];
    for (at, hops) in found.into_iter().flatten() {
        distances[at] = hops;
    }
    Ok(distances)
}

/// Hops from one node to every other; `None` if there is no path.
///
/// # Panics
/// When the graph has no such node.
pub fn geodesic_distances_from(graph: &Graph, source: u32) -> Vec<Option<u32>> {
    let all: Vec<u32> = (0..graph.nodes() as u32).collect();
    BreadthFirst::new(graph).run(source, &all)
}

/// Breadth-first searches that share their memory.
struct BreadthFirst<'g> {
    graph: &'g Graph,
    /// Hops from the source; `UNSEEN` elsewhere.
    hops: Vec<u32>,
    /// Nodes in the order in which they were met.
    met: Vec<u32>,
}

const UNSEEN: u32 = u32::MAX;

impl<'g> BreadthFirst<'g> {
    fn new(graph: &'g Graph) -> Self {
        Self { graph, hops: vec![UNSEEN; graph.nodes()], met: Vec::new() }
    }

    fn run(&mut self, source: u32, targets: &[u32]) -> Vec<Option<u32>> {
        self.hops[source as usize] = 0;
        self.met.push(source);
        let is_open = |hops: &[u32]| targets.iter().any(|&target| hops[target as usize] == UNSEEN);
        let (mut next, mut level_end) = (0, 1);
        while next < self.met.len() && (next < level_end || is_open(&self.hops)) {
            if next == level_end {
                level_end = self.met.len();
            }
            let p = self.met[next] as usize;
            for &q in self.graph.neighbors(p) {
                if self.hops[q as usize] == UNSEEN {
                    self.hops[q as usize] = self.hops[p] + 1;
                    self.met.push(q);
                }
            }
            next += 1;
        }
        let found = targets
            .iter()
            .map(|&target| Some(self.hops[target as usize]).filter(|&hops| hops != UNSEEN))
            .collect();
        for p in self.met.drain(..) {
            self.hops[p as usize] = UNSEEN;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::generators;
    use super::*;
    use crate::error::Error;
    use crate::monitor::Silent;

    #[test]
    fn on_a_grid_hops_are_the_sum_of_both_ways() {
        let grid = generators::grid(7, 9);
        for source in [0, 31, 62] {
            for (target, hops) in geodesic_distances_from(&grid, source).into_iter().enumerate() {
                let (row, column) = (source as usize / 9, source as usize % 9);
                let want = row.abs_diff(target / 9) + column.abs_diff(target % 9);
                assert_eq!(hops, Some(want as u32), "{source} to {target}");
            }
        }
    }

    #[test]
    fn no_path_is_no_distance() {
        let graph = Graph::from_edges(5, &[(0, 1), (3, 4)]).unwrap();
        let hops = geodesic_distances(&graph, &[(0, 1), (1, 4), (2, 2), (4, 3)], &Silent).unwrap();
        assert_eq!(hops, [Some(1), None, Some(0), Some(1)]);
    }

    #[test]
    fn a_weight_does_not_lengthen_an_edge() {
        let graph = Graph::from_weighted_edges(3, &[(0, 1, 0.1), (1, 2, 30.0)]).unwrap();
        assert_eq!(geodesic_distances(&graph, &[(0, 2)], &Silent).unwrap(), [Some(2)]);
    }

    #[test]
    fn a_stranger_is_refused() {
        let error = geodesic_distances(&generators::path(4), &[(0, 1), (1, 4)], &Silent).unwrap_err();
        assert_eq!(error, Error::BadPair { index: 1, p: 1, q: 4, nodes: 4 });
    }
}
