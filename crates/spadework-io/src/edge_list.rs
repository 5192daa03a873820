//! Edges from a file or from a matrix in memory, and the graph that they form.

use spadework::Graph;
use spadework::error::Readable;

use crate::error::{Error, Result};

/// Nodes that any file may claim; beyond, half as many entries must be there, as every edge has two ends.
const FREE_NODES: u64 = 1 << 20;

/// A graph from a file, and what was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedGraph {
    /// The graph.
    pub graph: Graph,
    /// Entries on the diagonal, which are not edges.
    pub loops: usize,
    /// Entries of weight 0, which are not edges.
    pub zeros: usize,
}

/// A graph from a matrix in memory, given by its entries (row, column, weight); the rules are those of [`load_graph`](crate::load_graph).
///
/// # Errors
/// When an entry lies outside the matrix, a weight is negative or not finite, or no edge is left. Messages begin with
/// `name`.
pub fn graph_of_entries(
    name: &str,
    nodes: usize,
    entries: impl IntoIterator<Item = (u64, u64, f64)>,
) -> Result<LoadedGraph> {
    let mut edges = EdgeList::new(name, None);
    edges.set_shape(nodes as u64, nodes as u64)?;
    for (row, column, weight) in entries {
        edges.push(row, column, weight, || format!("row {row}, column {column}"))?;
    }
    edges.finish()
}

/// Edges as they come out of a file.
pub(crate) struct EdgeList<'a> {
    name: &'a str,
    nodes: Option<usize>,
    /// (lower node, upper node, weight).
    edges: Vec<(u32, u32, f64)>,
    loops: usize,
    zeros: usize,
}

impl<'a> EdgeList<'a> {
    pub(crate) fn new(name: &'a str, nodes: Option<usize>) -> Self {
        Self { name, nodes, edges: Vec::new(), loops: 0, zeros: 0 }
    }

    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    pub(crate) fn wrong(&self, place: String, expected: &'static str, got: String) -> Error {
        Error::GraphEntry { name: self.name.to_owned(), place, expected, got }
    }

    pub(crate) fn misshapen(&self, expected: String, got: String) -> Error {
        Error::GraphShape { name: self.name.to_owned(), expected, got }
    }

    /// What a matrix says about its size.
    pub(crate) fn set_shape(&mut self, rows: u64, columns: u64) -> Result<()> {
        if rows != columns {
            let expected = "the matrix of a graph must be square".to_owned();
            return Err(self.misshapen(expected, format!("{rows} × {columns}")));
        }
        if let Some(nodes) = self.nodes.filter(|&nodes| nodes as u64 != rows) {
            let expected = format!("the graph must have one node per sample ({nodes})");
            return Err(self.misshapen(expected, rows.to_string()));
        }
        if rows >= u64::from(u32::MAX) {
            return Err(
                self.misshapen(format!("a graph must have fewer than {} nodes", u32::MAX), rows.to_string())
            );
        }
        self.nodes = Some(rows as usize);
        Ok(())
    }

    pub(crate) fn push(&mut self, p: u64, q: u64, weight: f64, place: impl Fn() -> String) -> Result<()> {
        let limit = self.nodes.map_or(u64::from(u32::MAX), |nodes| nodes as u64);
        if p.max(q) >= limit {
            let got = p.max(q).to_string();
            return Err(match self.nodes {
                Some(_) => self.wrong(place(), "a node must be below the number of samples", got),
                None => self.wrong(place(), "a node must be below 4294967295", got),
            });
        }
        if !(weight >= 0.0 && weight.is_finite()) {
            let got = Readable(weight).to_string();
            return Err(self.wrong(place(), "a weight must be positive and finite", got));
        }
        if p == q {
            self.loops += 1;
        } else if weight == 0.0 {
            self.zeros += 1;
        } else {
            self.edges.push((p.min(q) as u32, p.max(q) as u32, weight));
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<LoadedGraph> {
        let Some(largest) = self.edges.iter().map(|&(_, q, _)| q).max() else {
            return Err(Error::NoEdges { name: self.name.to_owned() });
        };
        let nodes = self.nodes.unwrap_or(largest as usize + 1);
        if nodes as u64 > FREE_NODES.max(2 * self.edges.len() as u64) {
            let expected = format!("{nodes} nodes must have at least half as many edges");
            return Err(self.misshapen(expected, self.edges.len().to_string()));
        }
        self.edges.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        self.edges.dedup_by_key(|&mut (p, q, _)| (p, q));
        let graph = if self.edges.iter().all(|&(.., weight)| weight == 1.0) {
            Graph::from_edges(nodes, &self.edges.iter().map(|&(p, q, _)| (p, q)).collect::<Vec<_>>())
        } else {
            Graph::from_weighted_edges(nodes, &self.edges)
        };
        let graph = graph.map_err(|cause| Error::Samples { name: self.name.to_owned(), cause })?;
        Ok(LoadedGraph { graph, loops: self.loops, zeros: self.zeros })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_in_memory_follow_the_rules_of_files() {
        let entries = [(0, 1, 2.0), (1, 0, 3.0), (2, 2, 1.0), (1, 2, 0.0), (1, 2, 1.0)];
        let LoadedGraph { graph, loops, zeros } = graph_of_entries("g", 3, entries).unwrap();
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1, 3.0), (1, 2, 1.0)]);
        assert_eq!((loops, zeros), (1, 1));
        let message = |entries: &[(u64, u64, f64)]| {
            graph_of_entries("g", 3, entries.iter().copied()).unwrap_err().to_string()
        };
        assert_eq!(message(&[]), "g: a graph must have at least one edge, got none");
        assert_eq!(
            message(&[(0, 3, 1.0)]),
            "g: row 0, column 3: a node must be below the number of samples, got 3"
        );
        assert_eq!(
            message(&[(0, 1, -1.0)]),
            "g: row 0, column 1: a weight must be positive and finite, got -1"
        );
    }
}
