//! Graphs with known answers, for tests and examples.

use super::Graph;

/// 0–1–…–(n−1).
///
/// # Panics
/// When `nodes` is 0. The other functions of this module panic likewise.
pub fn path(nodes: usize) -> Graph {
    from_known_edges(nodes, (1..nodes as u32).map(|q| (q - 1, q)))
}

/// The path with its ends joined.
///
/// # Panics
/// With fewer than three nodes.
pub fn cycle(nodes: usize) -> Graph {
    assert!(nodes >= 3, "a cycle needs three nodes");
    from_known_edges(nodes, (0..nodes as u32).map(|p| (p, (p + 1) % nodes as u32)))
}

/// Node 0 joined to all others.
pub fn star(nodes: usize) -> Graph {
    from_known_edges(nodes, (1..nodes as u32).map(|q| (0, q)))
}

/// Every pair joined, K_n.
pub fn complete(nodes: usize) -> Graph {
    let n = nodes as u32;
    from_known_edges(nodes, (0..n).flat_map(move |p| (p + 1..n).map(move |q| (p, q))))
}

/// A grid of `rows × columns`, node (i, j) at i·columns + j.
pub fn grid(rows: usize, columns: usize) -> Graph {
    let at = move |i: usize, j: usize| (i * columns + j) as u32;
    let right = (0..rows).flat_map(move |i| (1..columns).map(move |j| (at(i, j - 1), at(i, j))));
    let down = (1..rows).flat_map(move |i| (0..columns).map(move |j| (at(i - 1, j), at(i, j))));
    from_known_edges(rows * columns, right.chain(down))
}

fn from_known_edges(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Graph {
    assert!(nodes > 0, "a graph needs a node");
    Graph::from_pairs(nodes, edges)
}
