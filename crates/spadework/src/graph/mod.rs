//! Graphs: G_X and G_Y as sorted compressed rows.

mod breadth_first;
mod bridges;
mod components;
mod connect;
mod connectivity;
mod construct;
pub mod generators;
mod geodesic;
mod kind;
mod project;

pub(crate) use breadth_first::breadth_first_labels;
pub use components::Components;
pub(crate) use connect::{ConnectedSide, ConnectedSides, SearchFn, SearchedSide, SideSamples, connect_sides};
pub use connect::{Connection, SideConnection};
pub use connectivity::Connectivity;
pub use construct::construct;
pub use geodesic::{geodesic_distances, geodesic_distances_from};
pub use kind::{Dimensions, GraphKind, Sparsity, Weights};
pub use project::{Projection, project};

use std::sync::Arc;

use crate::checkpoint::Identity;
use crate::error::{Error, Result};
use crate::neighbors::NeighborLists;
use crate::scaling::scaled;

/// An undirected graph with positive weights.
///
/// Invariants: no loops, no repeated edges, both directions of every edge stored, rows sorted by node.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Row p holds entries `row_starts[p]..row_starts[p + 1]`.
    row_starts: Vec<usize>,
    columns: Vec<u32>,
    weights: EntryWeights,
}

/// Weights of the entries of a [`Graph`]; unit weights cost nothing.
#[derive(Debug, Clone, PartialEq)]
enum EntryWeights {
    Unit,
    Each(Vec<f64>),
}

impl Graph {
    /// The union graph of neighbor lists: p–q is an edge if either has the other among its first `neighbors`.
    ///
    /// # Panics
    /// When the lists are shorter than `neighbors`.
    pub fn from_neighbors(lists: &NeighborLists, neighbors: usize) -> Self {
        assert!(neighbors <= lists.neighbors(), "the lists hold {} neighbors", lists.neighbors());
        let chosen = |p: usize| lists.of(p)[..neighbors].iter().copied();
        let pairs = (0..lists.len()).flat_map(|p| chosen(p).map(move |q| (p as u32, q)));
        Self::from_pairs(lists.len(), pairs)
    }

    /// A graph of unit weights from pairs of nodes in any order, possibly repeated or reversed.
    fn from_pairs(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut row_starts = vec![0_usize; nodes + 1];
        for (p, q) in pairs.clone() {
            row_starts[p as usize + 1] += 1;
            row_starts[q as usize + 1] += 1;
        }
        for p in 0..nodes {
            row_starts[p + 1] += row_starts[p];
        }
        let mut next = row_starts.clone();
        let mut columns = vec![0_u32; row_starts[nodes]];
        for (p, q) in pairs {
            for (from, to) in [(p as usize, q), (q as usize, p)] {
                columns[next[from]] = to;
                next[from] += 1;
            }
        }
        sort_and_deduplicate(&mut row_starts, &mut columns);
        Self { row_starts, columns, weights: EntryWeights::Unit }
    }

    /// A graph of unit weights. Edges may be given in either direction and more than once.
    ///
    /// # Errors
    /// When an edge is a loop or names a node that does not exist.
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Result<Self> {
        for (index, &(p, q)) in edges.iter().enumerate() {
            check_edge(nodes, index, (p, q, 1.0))?;
        }
        Ok(Self::from_pairs(nodes, edges.iter().copied()))
    }

    /// A weighted graph; the weights of repeated edges are added.
    ///
    /// # Errors
    /// As [`Graph::from_edges`], and when a weight is not positive and finite.
    pub fn from_weighted_edges(nodes: usize, edges: &[(u32, u32, f64)]) -> Result<Self> {
        let mut entries = Vec::with_capacity(2 * edges.len());
        for (index, &edge) in edges.iter().enumerate() {
            check_edge(nodes, index, edge)?;
            let (p, q, weight) = edge;
            entries.extend([(p, q, weight), (q, p, weight)]);
        }
        entries.sort_by_key(|&(p, q, _)| (p, q));
        entries.dedup_by(|later, kept| {
            let same = (later.0, later.1) == (kept.0, kept.1);
            if same {
                kept.2 += later.2;
            }
            same
        });
        if let Some(&(p, q, weight)) = entries.iter().find(|(.., weight)| !weight.is_finite()) {
            let index = edges.iter().position(|&(a, b, _)| (a, b) == (p, q) || (b, a) == (p, q)).unwrap_or(0);
            return Err(Error::BadEdge { index, p, q, weight, nodes });
        }
        let mut row_starts = vec![0; nodes + 1];
        for &(p, ..) in &entries {
            row_starts[p as usize + 1] += 1;
        }
        for p in 0..nodes {
            row_starts[p + 1] += row_starts[p];
        }
        let columns = entries.iter().map(|&(_, q, _)| q).collect();
        let weights = EntryWeights::Each(entries.iter().map(|&(.., weight)| weight).collect());
        Ok(Self { row_starts, columns, weights })
    }

    /// The same graph with more edges of unit weight.
    pub(crate) fn with_edges(&self, more: &[(u32, u32)]) -> Self {
        debug_assert_eq!(self.weights, EntryWeights::Unit, "only neighbor graphs are joined");
        let pairs = self.edges().map(|(p, q, _)| (p, q)).chain(more.iter().copied());
        Self::from_pairs(self.nodes(), pairs)
    }

    /// The same graph with its nodes renumbered: node p becomes `labels[p]`, a permutation.
    pub(crate) fn relabeled(&self, labels: &[u32]) -> Self {
        let mut nodes_by_label = vec![0_u32; labels.len()];
        for (p, &label) in labels.iter().enumerate() {
            nodes_by_label[label as usize] = p as u32;
        }
        let mut row_starts = Vec::with_capacity(labels.len() + 1);
        row_starts.push(0);
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut entry_weights = Vec::with_capacity(if self.is_unit() { 0 } else { self.columns.len() });
        let mut row = Vec::new();
        for p in nodes_by_label {
            let relabeled = self.neighbors(p as usize).iter().map(|&q| labels[q as usize]);
            match self.weights(p as usize) {
                None => {
                    let start = columns.len();
                    columns.extend(relabeled);
                    columns[start..].sort_unstable();
                }
                Some(weights) => {
                    row.extend(relabeled.zip(weights.iter().copied()));
                    row.sort_unstable_by_key(|&(label, _)| label);
                    columns.extend(row.iter().map(|&(label, _)| label));
                    entry_weights.extend(row.drain(..).map(|(_, weight)| weight));
                }
            }
            row_starts.push(columns.len());
        }
        let weights = if self.is_unit() { EntryWeights::Unit } else { EntryWeights::Each(entry_weights) };
        Self { row_starts, columns, weights }
    }

    /// The largest weight of an edge; 1 where there are no edges.
    pub(crate) fn largest_weight(&self) -> f64 {
        match &self.weights {
            EntryWeights::Unit => 1.0,
            EntryWeights::Each(weights) => weights.iter().copied().reduce(f64::max).unwrap_or(1.0),
        }
    }

    /// The same graph with its weights times 2^exponent.
    pub(crate) fn scaled(&self, exponent: i32) -> Self {
        let one_by_one = |weights: &[f64]| weights.iter().map(|&weight| scaled(weight, exponent)).collect();
        let weights = match &self.weights {
            EntryWeights::Unit => EntryWeights::Each(one_by_one(&vec![1.0; self.columns.len()])),
            EntryWeights::Each(weights) => EntryWeights::Each(one_by_one(weights)),
        };
        Self { row_starts: self.row_starts.clone(), columns: self.columns.clone(), weights }
    }

    /// Whether all weights are 1.
    pub fn is_unit(&self) -> bool {
        self.weights == EntryWeights::Unit
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Number of edges, each counted once.
    pub fn edge_count(&self) -> usize {
        self.columns.len() / 2
    }

    /// The neighbors of node `p`, ascending.
    pub fn neighbors(&self, p: usize) -> &[u32] {
        &self.columns[self.row_starts[p]..self.row_starts[p + 1]]
    }

    /// Weights of the edges to [`Graph::neighbors`], in the same order; `None` if all are 1.
    pub fn weights(&self, p: usize) -> Option<&[f64]> {
        match &self.weights {
            EntryWeights::Unit => None,
            EntryWeights::Each(weights) => Some(&weights[self.row_starts[p]..self.row_starts[p + 1]]),
        }
    }

    /// Sum of the weights at node `p`.
    pub fn weighted_degree(&self, p: usize) -> f64 {
        match self.weights(p) {
            None => self.neighbors(p).len() as f64,
            Some(weights) => weights.iter().sum(),
        }
    }

    /// Whether both nodes of every pair are there.
    pub(crate) fn check_pairs(&self, pairs: &[(u32, u32)]) -> Result<()> {
        let nodes = self.nodes();
        let stranger = pairs.iter().position(|&(p, q)| p.max(q) as usize >= nodes);
        stranger.map_or(Ok(()), |index| {
            let (p, q) = pairs[index];
            Err(Error::BadPair { index, p, q, nodes })
        })
    }

    /// Every edge (p, q, weight) once, with p < q, ascending.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, f64)> + Clone + '_ {
        (0..self.nodes()).flat_map(move |p| {
            let weights = self.weights(p);
            let above = self.neighbors(p).partition_point(|&q| q as usize <= p);
            self.neighbors(p)[above..]
                .iter()
                .enumerate()
                .map(move |(at, &q)| (p as u32, q, weights.map_or(1.0, |weights| weights[above + at])))
        })
    }
}

impl Identity for Graph {
    fn feed(&self, take: &mut dyn FnMut(&[u8])) {
        take(&(self.nodes() as u64).to_le_bytes());
        take(&(self.edge_count() as u64).to_le_bytes());
        for (p, q, weight) in self.edges() {
            take(&(u64::from(p) << 32 | u64::from(q)).to_le_bytes());
            take(&weight.to_le_bytes());
        }
    }
}

fn check_edge(nodes: usize, index: usize, (p, q, weight): (u32, u32, f64)) -> Result<()> {
    let inside = (p as usize) < nodes && (q as usize) < nodes;
    if inside && p != q && weight > 0.0 && weight.is_finite() {
        return Ok(());
    }
    Err(Error::BadEdge { index, p, q, weight, nodes })
}

/// Sorts every row, drops repetitions and closes the gaps.
fn sort_and_deduplicate(row_starts: &mut [usize], columns: &mut Vec<u32>) {
    let mut kept = 0;
    let mut start = 0;
    for p in 0..row_starts.len() - 1 {
        let end = row_starts[p + 1];
        columns[start..end].sort_unstable();
        let row_start = kept;
        for at in start..end {
            if kept == row_start || columns[kept - 1] != columns[at] {
                columns[kept] = columns[at];
                kept += 1;
            }
        }
        row_starts[p + 1] = kept;
        start = end;
    }
    columns.truncate(kept);
    columns.shrink_to_fit();
}

/// A connected graph: the null space of its Laplacian is spanned by the constant vector.
///
/// Copies share the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectedGraph(Arc<Graph>);

impl ConnectedGraph {
    /// Checks that the graph is connected.
    ///
    /// # Errors
    /// Its components, when there are several.
    pub fn new(graph: impl Into<Arc<Graph>>) -> std::result::Result<Self, Components> {
        let graph = graph.into();
        let components = Components::of(&graph);
        if components.count() == 1 { Ok(Self(graph)) } else { Err(components) }
    }

    /// The graph itself.
    pub fn graph(&self) -> &Graph {
        &self.0
    }

    /// The graph itself, shared.
    pub fn shared(&self) -> Arc<Graph> {
        Arc::clone(&self.0)
    }

    /// The graph itself, copied only if others share it.
    pub fn into_graph(self) -> Graph {
        Arc::unwrap_or_clone(self.0)
    }

    /// The same graph with its nodes renumbered: node p becomes `labels[p]`, a permutation.
    fn relabeled(&self, labels: &[u32]) -> Self {
        Self(Arc::new(self.0.relabeled(labels)))
    }
}

/// Input and output graph over the same nodes, for which λ_max(L_Y⁺L_X) is finite: the output graph is connected.
///
/// The two sides have names because λ_max(L_Y⁺L_X) and λ_max(L_X⁺L_Y) differ. Copies, and pairs of the same input graph, share
/// their graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphPair {
    input: Arc<Graph>,
    output: ConnectedGraph,
}

impl GraphPair {
    /// Pairs the graphs.
    ///
    /// # Errors
    /// When they have different numbers of nodes.
    pub fn new(input: impl Into<Arc<Graph>>, output: ConnectedGraph) -> Result<Self> {
        let input = input.into();
        if input.nodes() != output.graph().nodes() {
            return Err(Error::GraphMismatch { input: input.nodes(), output: output.graph().nodes() });
        }
        Ok(Self { input, output })
    }

    /// G_X.
    pub fn input(&self) -> &Graph {
        &self.input
    }

    /// G_X, shared.
    pub fn shared_input(&self) -> Arc<Graph> {
        Arc::clone(&self.input)
    }

    /// G_Y.
    pub fn output(&self) -> &Graph {
        self.output.graph()
    }

    /// G_Y, shared.
    pub fn shared_output(&self) -> Arc<Graph> {
        self.output.shared()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.input.nodes()
    }

    /// Checks that the input graph is connected too, which distances in it require.
    ///
    /// # Errors
    /// [`Error::InputDisconnected`].
    pub fn check_input_connected(&self) -> Result<()> {
        self.connected_input().map(|_| ())
    }

    /// The input graph, if it is connected.
    ///
    /// # Errors
    /// [`Error::InputDisconnected`].
    pub fn connected_input(&self) -> Result<ConnectedGraph> {
        ConnectedGraph::new(self.shared_input()).map_err(|components| Error::InputDisconnected {
            components: components.count(),
            largest: components.largest(),
            nodes: self.nodes(),
        })
    }

    /// The output graph, with the proof that it is connected.
    pub fn connected_output(&self) -> &ConnectedGraph {
        &self.output
    }

    /// Why scores of these graphs leave the range of numbers.
    pub(crate) fn weight_range(&self) -> Error {
        Error::WeightRange { input: self.input.largest_weight(), output: self.output().largest_weight() }
    }

    /// The pair with its sides exchanged, for λ_max(L_X⁺L_Y).
    ///
    /// # Errors
    /// [`Error::InputDisconnected`].
    pub fn reversed(&self) -> Result<Self> {
        Self::new(self.output.shared(), self.connected_input()?)
    }

    /// The same input graph with the nodes of the output graph renumbered.
    pub(crate) fn with_outputs_relabeled(&self, labels: &[u32]) -> Self {
        Self { input: self.shared_input(), output: self.output.relabeled(labels) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_edges_stand_once() {
        let graph = Graph::from_edges(4, &[(2, 0), (0, 1), (1, 0), (0, 2), (3, 2)]).unwrap();
        assert_eq!(graph.neighbors(0), &[1, 2]);
        assert_eq!(graph.neighbors(2), &[0, 3]);
        let edges: Vec<_> = graph.edges().collect();
        assert_eq!(edges, [(0, 1, 1.0), (0, 2, 1.0), (2, 3, 1.0)]);
        assert_eq!(graph.edge_count(), 3);
    }

    #[test]
    fn weights_of_repeated_edges_are_added() {
        let graph = Graph::from_weighted_edges(3, &[(0, 1, 1.5), (1, 0, 0.5), (2, 1, 4.0)]).unwrap();
        assert_eq!(graph.weights(1), Some(&[2.0, 4.0][..]));
        assert_eq!(graph.weighted_degree(1), 6.0);
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1, 2.0), (1, 2, 4.0)]);
    }

    #[test]
    fn other_labels_are_another_order_of_the_nodes() {
        let labels = [2, 0, 3, 1];
        let edges = [(0, 1, 1.5), (1, 2, 2.0), (2, 3, 4.0), (0, 3, 8.0)];
        let relabeled = edges.map(|(p, q, w)| (labels[p as usize], labels[q as usize], w));
        let weighted = |edges| ConnectedGraph::new(Graph::from_weighted_edges(4, edges).unwrap()).unwrap();
        assert_eq!(weighted(&edges).relabeled(&labels), weighted(&relabeled));
        let unit = |edges: [(u32, u32, f64); 4]| {
            ConnectedGraph::new(Graph::from_edges(4, &edges.map(|(p, q, _)| (p, q))).unwrap()).unwrap()
        };
        assert_eq!(unit(edges).relabeled(&labels), unit(relabeled));
    }

    #[test]
    fn refuses_loops_strangers_and_bad_weights() {
        for edge in [(1, 1, 1.0), (0, 3, 1.0), (0, 1, 0.0), (0, 1, f64::NAN)] {
            let error = Graph::from_weighted_edges(3, &[(0, 1, 1.0), edge]).unwrap_err();
            assert!(matches!(error, Error::BadEdge { index: 1, .. }), "{edge:?}");
        }
        // Each weight is a number, and their sum is not.
        let error = Graph::from_weighted_edges(3, &[(1, 2, 1.0), (0, 1, 1e308), (1, 0, 1e308)]).unwrap_err();
        assert!(matches!(error, Error::BadEdge { index: 1, weight: f64::INFINITY, .. }), "{error}");
    }
}
