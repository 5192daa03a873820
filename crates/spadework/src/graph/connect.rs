//! Connectivity policies: how a pair of neighbour graphs becomes fit for the eigenproblem.
//!
//! λ_max(L_Y⁺L_X) is finite only where null(L_Y) ⊆ null(L_X): any input edge between two components of the output graph
//! makes it infinite. The paper asks connectivity of both graphs and "chooses a proper k"; here that choice has a name
//! ([`Connectivity`]) and leaves a record ([`Connection`]).

use super::bridges::shortest_bridges;
use super::components::DisjointSets;
use super::{Components, ConnectedGraph, Graph, GraphPair};
use crate::neighbors::NeighborLists;
use crate::{Connectivity, Error, Monitor, Result, Samples, Side};

/// Entries that `grow` allows in one side's neighbour lists (12 bytes each).
const MOST_LIST_ENTRIES: usize = 1 << 29;

/// What was done to connect the graphs; part of every result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The policy.
    pub policy: Connectivity,
    /// Neighbours asked for, k.
    pub requested: usize,
    /// Neighbours used, k' ≥ k; larger only under [`Connectivity::Grow`].
    pub used: usize,
    /// What the input graph needed.
    pub input: Mended,
    /// What the output graph needed.
    pub output: Mended,
}

/// What one graph needed to be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mended {
    /// Components with the neighbours asked for.
    pub components_found: usize,
    /// Edges added under [`Connectivity::Bridge`].
    pub bridges: usize,
}

/// One side while its graph is being connected: its samples, its lists, and how to search for longer ones.
pub struct Neighborhood<'a> {
    side: Side,
    samples: &'a Samples<'a>,
    lists: NeighborLists,
    search: &'a mut dyn FnMut(usize) -> Result<NeighborLists>,
}

impl<'a> Neighborhood<'a> {
    /// One side with lists of at least the k asked for, and how to search for longer ones.
    pub fn new(
        side: Side,
        samples: &'a Samples<'a>,
        lists: NeighborLists,
        search: &'a mut dyn FnMut(usize) -> Result<NeighborLists>,
    ) -> Self {
        Self { side, samples, lists, search }
    }

    fn graph(&self, neighbors: usize) -> Graph {
        Graph::from_neighbors(&self.lists, neighbors)
    }

    fn extend_to(&mut self, neighbors: usize) -> Result<()> {
        if self.lists.neighbors() < neighbors {
            self.lists = (self.search)(neighbors)?;
        }
        Ok(())
    }

    fn disconnected(&self, components: &Components, neighbors: usize) -> Error {
        Error::Disconnected {
            side: self.side,
            components: components.count(),
            largest: components.largest(),
            samples: self.samples.len(),
            neighbors,
        }
    }

    /// The smallest k' ≥ k that connects this side, by doubling the lists until some k' within them does.
    fn smallest_connecting(&mut self, neighbors: usize) -> Result<usize> {
        let most = self.samples.len() - 1;
        loop {
            let (found, components) = smallest_connecting(&self.lists, neighbors);
            if let Some(found) = found {
                return Ok(found);
            }
            let longer = (2 * self.lists.neighbors()).min(most);
            if longer.saturating_mul(self.samples.len()) > MOST_LIST_ENTRIES {
                return Err(Error::GrownTooFar {
                    side: self.side,
                    components,
                    neighbors: self.lists.neighbors(),
                    samples: self.samples.len(),
                    limit: MOST_LIST_ENTRIES,
                });
            }
            self.extend_to(longer)?;
        }
    }
}

/// The smallest k' ≥ k within the lists whose union graph is connected, and the components at the end of the search.
fn smallest_connecting(lists: &NeighborLists, neighbors: usize) -> (Option<usize>, usize) {
    let mut sets = DisjointSets::new(lists.len());
    for rank in 0..lists.neighbors() {
        for p in 0..lists.len() {
            sets.join(p as u32, lists.of(p)[rank]);
        }
        if sets.count() == 1 && rank + 1 >= neighbors {
            return (Some(rank + 1), 1);
        }
    }
    (None, sets.count())
}

/// Builds both graphs with k = `neighbors` and connects them as the policy says.
///
/// # Errors
/// [`Error::Disconnected`] under [`Connectivity::Error`]; [`Error::GrownTooFar`] where growing would exhaust the memory.
pub fn connect<'a>(
    mut input: Neighborhood<'a>,
    mut output: Neighborhood<'a>,
    neighbors: usize,
    policy: Connectivity,
    monitor: &dyn Monitor,
) -> Result<(GraphPair, Connection)> {
    let mut graphs = [input.graph(neighbors), output.graph(neighbors)];
    let found = graphs.each_ref().map(Components::of);
    let mut used = neighbors;
    let mut bridges = [Vec::new(), Vec::new()];
    match policy {
        Connectivity::Error => {
            for (side, components) in [&input, &output].into_iter().zip(&found) {
                if components.count() > 1 {
                    return Err(side.disconnected(components, neighbors));
                }
            }
        }
        Connectivity::Grow if found.iter().all(|components| components.count() == 1) => {}
        Connectivity::Grow => {
            used = input.smallest_connecting(neighbors)?.max(output.smallest_connecting(neighbors)?);
            input.extend_to(used)?;
            output.extend_to(used)?;
            graphs = [input.graph(used), output.graph(used)];
        }
        Connectivity::Bridge => {
            bridges = [
                shortest_bridges(input.samples, &found[0], monitor)?,
                shortest_bridges(output.samples, &found[1], monitor)?,
            ];
        }
    }
    let mended = |at: usize| Mended { components_found: found[at].count(), bridges: bridges[at].len() };
    let connection = Connection { policy, requested: neighbors, used, input: mended(0), output: mended(1) };
    let connected = |side: &Neighborhood<'a>, graph: Graph, bridges: &[(u32, u32)]| {
        let graph = if bridges.is_empty() { graph } else { graph.with_edges(bridges) };
        ConnectedGraph::new(graph).map_err(|components| side.disconnected(&components, used))
    };
    let [input_graph, output_graph] = graphs;
    let input_graph = connected(&input, input_graph, &bridges[0])?;
    let output_graph = connected(&output, output_graph, &bridges[1])?;
    Ok((GraphPair::new(input_graph.0, output_graph)?, connection))
}
