//! Connectivity policies: how a pair of neighbour graphs becomes fit for the eigenproblem.
//!
//! λ_max(L_Y⁺L_X) is finite only where null(L_Y) ⊆ null(L_X): any input edge between two components of the output graph
//! makes it infinite. The paper asks connectivity of both graphs and "chooses a proper k"; here that choice has a name
//! ([`Connectivity`]) and leaves a record ([`Connection`]).

use super::bridges::shortest_bridges;
use super::components::DisjointSets;
use super::construct::{EdgeRule, gaussian, squared_scales};
use super::{Components, ConnectedGraph, Graph, GraphKind, GraphPair, Weights};
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
    /// The model whose outputs these are, where there are several; errors name it.
    model: Option<&'a str>,
    samples: &'a Samples<'a>,
    lists: NeighborLists,
    rule: EdgeRule,
    search: Box<dyn FnMut(usize) -> Result<NeighborLists> + 'a>,
}

impl<'a> Neighborhood<'a> {
    /// One side with lists of at least the k asked for, and how to search for longer ones.
    pub fn new(
        side: Side,
        samples: &'a Samples<'a>,
        lists: NeighborLists,
        search: impl FnMut(usize) -> Result<NeighborLists> + 'a,
    ) -> Self {
        Self { side, model: None, samples, lists, rule: EdgeRule::Union, search: Box::new(search) }
    }

    /// The same side with the edges that a kind of graph chooses.
    #[must_use]
    pub fn with_kind(self, kind: GraphKind) -> Self {
        Self { rule: EdgeRule::of(kind), ..self }
    }

    /// The same side as that of one model among several.
    pub(crate) fn of_model(self, model: &'a str) -> Self {
        Self { model: Some(model), ..self }
    }

    /// An error of this side, which names the model where there are several.
    pub(crate) fn in_model(&self, error: Error) -> Error {
        match self.model {
            None => error,
            Some(model) => error.in_model(model),
        }
    }

    /// The lists found last.
    pub(crate) fn lists(&self) -> &NeighborLists {
        &self.lists
    }

    /// Weighs the graph of this side by the lists of k = `neighbors`; also counts the weights that were raised to the least.
    pub(crate) fn weigh(
        &self,
        graph: ConnectedGraph,
        neighbors: usize,
        weights: Weights,
    ) -> (ConnectedGraph, usize) {
        match weights {
            Weights::Unit => (graph, 0),
            Weights::Gaussian => {
                let scales = squared_scales(&self.lists, neighbors);
                let (graph, raised) = gaussian(&graph.0, self.samples, &scales);
                (ConnectedGraph(graph), raised)
            }
        }
    }

    fn graph(&self, neighbors: usize) -> Graph {
        self.rule.graph(&self.lists, neighbors)
    }

    /// Makes the lists long enough for the graph with k = `neighbors`.
    fn extend_to(&mut self, neighbors: usize) -> Result<()> {
        let mut wanted = neighbors;
        while !self.rule.is_covered(&self.lists, neighbors) {
            if wanted.saturating_mul(self.samples.len()) > MOST_LIST_ENTRIES {
                return Err(self.grown_too_far());
            }
            if self.lists.neighbors() < wanted {
                self.lists = (self.search)(wanted)?;
            }
            wanted = (2 * self.lists.neighbors()).min(self.samples.len() - 1);
        }
        Ok(())
    }

    fn grown_too_far(&self) -> Error {
        self.in_model(Error::GrownTooFar {
            side: self.side,
            neighbors: self.lists.neighbors(),
            samples: self.samples.len(),
            limit: MOST_LIST_ENTRIES,
        })
    }

    fn disconnected(&self, components: &Components, neighbors: usize) -> Error {
        self.in_model(Error::Disconnected {
            side: self.side,
            components: components.count(),
            largest: components.largest(),
            samples: self.samples.len(),
            neighbors,
        })
    }

    /// The smallest k' ≥ k that connects this side.
    fn smallest_connecting(&mut self, neighbors: usize) -> Result<usize> {
        match self.rule {
            EdgeRule::Union => self.smallest_within_lists(neighbors),
            EdgeRule::Mutual | EdgeRule::Continuous { .. } => self.smallest_by_bisection(neighbors),
        }
    }

    /// By doubling the lists until some k' within them connects.
    fn smallest_within_lists(&mut self, neighbors: usize) -> Result<usize> {
        let most = self.samples.len() - 1;
        loop {
            if let Some(found) = smallest_connecting(&self.lists, neighbors) {
                return Ok(found);
            }
            self.extend_to((2 * self.lists.neighbors()).min(most))?;
        }
    }

    /// By doubling k until it connects, then halving the gap: a larger k only adds edges.
    fn smallest_by_bisection(&mut self, neighbors: usize) -> Result<usize> {
        let most = self.samples.len() - 1;
        let (mut too_small, mut enough) = (neighbors - 1, neighbors);
        loop {
            self.extend_to(enough)?;
            if self.rule.is_connected(&self.lists, enough) {
                break;
            }
            // With every other sample for a neighbour only a continuous graph of small δ is still in pieces.
            if enough == most {
                return Err(self.disconnected(&Components::of(&self.graph(enough)), enough));
            }
            (too_small, enough) = (enough, (2 * enough).min(most));
        }
        while enough - too_small > 1 {
            let middle = too_small.midpoint(enough);
            if self.rule.is_connected(&self.lists, middle) {
                enough = middle;
            } else {
                too_small = middle;
            }
        }
        Ok(enough)
    }
}

/// The smallest k' ≥ k within the lists whose union graph is connected.
fn smallest_connecting(lists: &NeighborLists, neighbors: usize) -> Option<usize> {
    let mut sets = DisjointSets::new(lists.len());
    (0..lists.neighbors()).map(|rank| rank + 1).find(|&k| {
        for p in 0..lists.len() {
            sets.join(p as u32, lists.of(p)[k - 1]);
        }
        sets.count() == 1 && k >= neighbors
    })
}

/// Builds both graphs with k = `neighbors` and connects them as the policy says.
///
/// # Errors
/// [`Error::Disconnected`] under [`Connectivity::Error`]; [`Error::GrownTooFar`] where growing would exhaust the memory.
///
/// # Panics
/// Never: two sides give two graphs.
pub fn connect<'a>(
    input: Neighborhood<'a>,
    output: Neighborhood<'a>,
    neighbors: usize,
    policy: Connectivity,
    monitor: &dyn Monitor,
) -> Result<(GraphPair, Connection)> {
    let ConnectedSides { used, sides } = connect_sides(&mut [input, output], neighbors, policy, monitor)?;
    let [input, output] = <[ConnectedSide; 2]>::try_from(sides).expect("as many graphs as there are sides");
    let connection =
        Connection { policy, requested: neighbors, used, input: input.mended, output: output.mended };
    Ok((GraphPair::new(input.graph.into_graph(), output.graph)?, connection))
}

/// Any number of sides in the order given, all connected with the same k.
pub(crate) struct ConnectedSides {
    /// Neighbours used, k' ≥ k.
    pub(crate) used: usize,
    pub(crate) sides: Vec<ConnectedSide>,
}

/// One side in one piece, and what it took.
#[derive(Debug)]
pub(crate) struct ConnectedSide {
    pub(crate) graph: ConnectedGraph,
    pub(crate) mended: Mended,
}

/// Builds the graph of every side with k = `neighbors` and connects them as the policy says. `grow` takes one k' for all
/// of them, since scores of different k cannot be compared.
pub(crate) fn connect_sides(
    sides: &mut [Neighborhood<'_>],
    neighbors: usize,
    policy: Connectivity,
    monitor: &dyn Monitor,
) -> Result<ConnectedSides> {
    sides.iter_mut().try_for_each(|side| side.extend_to(neighbors))?;
    let mut graphs: Vec<Graph> = sides.iter().map(|side| side.graph(neighbors)).collect();
    let found: Vec<Components> = graphs.iter().map(Components::of).collect();
    let mut used = neighbors;
    let mut bridges = vec![Vec::new(); sides.len()];
    match policy {
        Connectivity::Error => {
            for (side, components) in sides.iter().zip(&found) {
                if components.count() > 1 {
                    return Err(side.disconnected(components, neighbors));
                }
            }
        }
        Connectivity::Grow if found.iter().all(|components| components.count() == 1) => {}
        Connectivity::Grow => {
            for side in &mut *sides {
                used = used.max(side.smallest_connecting(neighbors)?);
            }
            sides.iter_mut().try_for_each(|side| side.extend_to(used))?;
            graphs = sides.iter().map(|side| side.graph(used)).collect();
        }
        Connectivity::Bridge => {
            for (at, side) in sides.iter().enumerate() {
                bridges[at] = shortest_bridges(side.samples, &found[at], monitor)?;
            }
        }
    }
    let mut connected = Vec::with_capacity(sides.len());
    for (at, graph) in graphs.into_iter().enumerate() {
        let graph = if bridges[at].is_empty() { graph } else { graph.with_edges(&bridges[at]) };
        let graph =
            ConnectedGraph::new(graph).map_err(|components| sides[at].disconnected(&components, used))?;
        let mended = Mended { components_found: found[at].count(), bridges: bridges[at].len() };
        connected.push(ConnectedSide { graph, mended });
    }
    Ok(ConnectedSides { used, sides: connected })
}
