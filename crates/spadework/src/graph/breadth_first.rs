//! Names by which neighbours lie close together in memory.

use std::collections::VecDeque;

use super::Graph;

/// A name for every node: its place in a walk through the graph, nearest first, from node 0.
///
/// Work that goes along the edges of a large graph spends its time waiting for memory. Under these names the neighbours of a
/// node are mostly near those of the node before, whatever the order in which the samples came.
pub(crate) fn breadth_first_names(graph: &Graph) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let mut names = vec![UNSEEN; graph.nodes()];
    let mut next_name = 0..;
    let mut seen = VecDeque::new();
    for start in 0..graph.nodes() {
        if names[start] != UNSEEN {
            continue;
        }
        seen.push_back(start as u32);
        names[start] = next_name.next().expect("names do not run out");
        while let Some(p) = seen.pop_front() {
            for &q in graph.neighbors(p as usize) {
                if names[q as usize] == UNSEEN {
                    names[q as usize] = next_name.next().expect("names do not run out");
                    seen.push_back(q);
                }
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_by_their_distance_from_the_first() {
        // 0–3, 0–4, 3–2, 4–1 and apart 5–6.
        let graph = Graph::from_edges(7, &[(0, 3), (0, 4), (3, 2), (4, 1), (5, 6)]).unwrap();
        assert_eq!(breadth_first_names(&graph), [0, 4, 3, 1, 2, 5, 6]);
    }
}
