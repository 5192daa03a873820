//! Connectivity policies: how a pair of neighbor graphs is made suitable for the eigenproblem.
//!
//! λ_max(L_Y⁺L_X) is finite only if null(L_Y) ⊆ null(L_X): any input edge between two components of the output graph makes
//! it infinite. The paper requires both graphs to be connected and "chooses a proper k". Here that choice is a named policy
//! ([`Connectivity`]), and its outcome is recorded ([`Connection`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::bridges::shortest_bridges;
use super::components::DisjointSets;
use super::construct::{EdgeRule, gaussian, squared_scales};
use super::{Components, ConnectedGraph, Connectivity, Graph, GraphKind, Projection, Weights};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::NeighborLists;
use crate::samples::{Samples, Side};

/// Entries that `grow` allows in one side's neighbor lists (12 bytes each).
const MOST_LIST_ENTRIES: usize = 1 << 29;

/// What was done to connect the graphs. It is part of every result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Connection {
    /// The policy.
    pub policy: Connectivity,
    /// Requested neighbors, k.
    pub requested: usize,
    /// Neighbors used, k' ≥ k; larger only under [`Connectivity::Grow`].
    pub used: usize,
    /// What the input graph needed.
    pub input: SideConnection,
    /// What the output graph needed.
    pub output: SideConnection,
}

/// What one graph needed to be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SideConnection {
    /// Components with the requested neighbors.
    pub components_found: usize,
    /// Edges that the policy `bridge` added.
    pub bridges: usize,
}

impl SideConnection {
    /// A graph that had this many components with the requested neighbors, and got this many bridges.
    pub fn new(components_found: usize, bridges: usize) -> Self {
        Self { components_found, bridges }
    }
}

/// A graph that was connected from the start.
impl Default for SideConnection {
    fn default() -> Self {
        Self::new(1, 0)
    }
}

/// The samples of one side as they are searched: those given, or their projection.
#[derive(Debug, Clone)]
pub(crate) enum SideSamples<'a> {
    /// In the place where their distances are those asked for.
    Given(Arc<Samples<'a>>),
    /// In the coordinates of their principal components.
    Projected(Arc<Projection>),
}

impl SideSamples<'_> {
    /// The samples.
    pub(crate) fn samples(&self) -> &Samples<'_> {
        match self {
            SideSamples::Given(samples) => samples,
            SideSamples::Projected(projection) => projection.samples(),
        }
    }

    /// The projection, where there is one.
    pub(crate) fn projection(&self) -> Option<&Projection> {
        match self {
            SideSamples::Given(_) => None,
            SideSamples::Projected(projection) => Some(projection),
        }
    }
}

/// How the neighbors of some samples are searched for a given k.
pub(crate) type SearchFn<'a> = Box<dyn FnMut(&Samples<'_>, usize) -> Result<NeighborLists> + 'a>;

/// One side of a model with its neighbors, while its graph is made: it searches again where its graph needs longer lists.
pub(crate) struct SearchedSide<'a> {
    side: Side,
    /// The model whose outputs these are, where there are several; errors name it.
    model: Option<&'a str>,
    samples: SideSamples<'a>,
    lists: NeighborLists,
    rule: EdgeRule,
    search: SearchFn<'a>,
    searching: Duration,
}

impl<'a> SearchedSide<'a> {
    /// Searches the neighbors of one side, for k = `neighbors` to begin with.
    pub(crate) fn search(
        side: Side,
        samples: SideSamples<'a>,
        kind: GraphKind,
        neighbors: usize,
        mut search: SearchFn<'a>,
    ) -> Result<Self> {
        let began = Instant::now();
        let lists = search(samples.samples(), neighbors)?;
        Ok(Self { searching: began.elapsed(), ..Self::with_lists(side, samples, kind, lists, search) })
    }

    /// One side whose neighbors are known.
    pub(crate) fn with_lists(
        side: Side,
        samples: SideSamples<'a>,
        kind: GraphKind,
        lists: NeighborLists,
        search: SearchFn<'a>,
    ) -> Self {
        let rule = EdgeRule::of(kind);
        Self { side, model: None, samples, lists, rule, search, searching: Duration::ZERO }
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

    /// The samples as they are searched.
    pub(crate) fn samples(&self) -> &SideSamples<'a> {
        &self.samples
    }

    /// The lists found last.
    pub(crate) fn lists(&self) -> &NeighborLists {
        &self.lists
    }

    /// The lists found last.
    pub(crate) fn into_lists(self) -> NeighborLists {
        self.lists
    }

    /// Time of all searches.
    pub(crate) fn searching(&self) -> Duration {
        self.searching
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
                let (graph, raised) = gaussian(graph.graph(), self.samples.samples(), &scales);
                (ConnectedGraph(Arc::new(graph)), raised)
            }
        }
    }

    /// The graph of k = `neighbors`, connected or not.
    pub(crate) fn graph(&self, neighbors: usize) -> Graph {
        self.rule.graph(&self.lists, neighbors)
    }

    /// Makes the lists long enough for the graph with k = `neighbors`.
    fn extend_to(&mut self, neighbors: usize) -> Result<()> {
        let mut wanted = neighbors;
        while !self.rule.is_covered(&self.lists, neighbors) {
            if wanted.saturating_mul(self.lists.len()) > MOST_LIST_ENTRIES {
                return Err(self.grown_too_far());
            }
            if self.lists.neighbors() < wanted {
                let began = Instant::now();
                let found = (self.search)(self.samples.samples(), wanted);
                self.searching += began.elapsed();
                self.lists = found?;
            }
            wanted = (2 * self.lists.neighbors()).min(self.lists.len() - 1);
        }
        Ok(())
    }

    fn grown_too_far(&self) -> Error {
        self.in_model(Error::GrownTooFar {
            side: self.side,
            neighbors: self.lists.neighbors(),
            samples: self.lists.len(),
            limit: MOST_LIST_ENTRIES,
        })
    }

    fn disconnected(&self, components: &Components, neighbors: usize) -> Error {
        self.in_model(Error::Disconnected {
            side: self.side,
            components: components.count(),
            largest: components.largest(),
            samples: self.lists.len(),
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
        let most = self.lists.len() - 1;
        loop {
            if let Some(found) = smallest_connecting(&self.lists, neighbors) {
                return Ok(found);
            }
            self.extend_to((2 * self.lists.neighbors()).min(most))?;
        }
    }

    /// By doubling k until it connects, then halving the gap: a larger k only adds edges.
    fn smallest_by_bisection(&mut self, neighbors: usize) -> Result<usize> {
        let most = self.lists.len() - 1;
        let (mut too_small, mut enough) = (neighbors - 1, neighbors);
        loop {
            self.extend_to(enough)?;
            if self.rule.is_connected(&self.lists, enough) {
                break;
            }
            // With every other sample for a neighbor only a continuous graph of small δ is still in pieces.
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

/// Any number of sides in the order given, all connected with the same k.
pub(crate) struct ConnectedSides {
    /// Neighbors used, k' ≥ k.
    pub(crate) used: usize,
    pub(crate) sides: Vec<ConnectedSide>,
}

/// One side in one piece, and what it took.
#[derive(Debug)]
pub(crate) struct ConnectedSide {
    pub(crate) graph: ConnectedGraph,
    pub(crate) connection: SideConnection,
}

/// Builds the graph of every side with k = `neighbors` and connects them as the policy says. `grow` takes one k' for all
/// of them, since scores of different k cannot be compared.
pub(crate) fn connect_sides(
    sides: &mut [SearchedSide<'_>],
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
                bridges[at] = shortest_bridges(side.samples.samples(), &found[at], monitor)?;
            }
        }
    }
    let mut connected = Vec::with_capacity(sides.len());
    for (at, graph) in graphs.into_iter().enumerate() {
        let graph = if bridges[at].is_empty() { graph } else { graph.with_edges(&bridges[at]) };
        let graph =
            ConnectedGraph::new(graph).map_err(|components| sides[at].disconnected(&components, used))?;
        let connection = SideConnection::new(found[at].count(), bridges[at].len());
        connected.push(ConnectedSide { graph, connection });
    }
    Ok(ConnectedSides { used, sides: connected })
}
