//! An order of nodes in which neighbors are close together in memory.

use super::Graph;

/// A label for every node: its place in a walk through the graph, nearest first, from node 0.
///
/// Work that goes along the edges of a large graph spends its time waiting for memory. Under these labels the neighbors of a
/// node are mostly near those of the node before, whatever the order in which the samples came.
pub(crate) fn breadth_first_labels(graph: &Graph) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let mut labels = vec![UNSEEN; graph.nodes()];
    // Nodes in the order of their labels; those from `at` on have not been left yet.
    let mut walk = Vec::with_capacity(graph.nodes());
    let mut at = 0;
    for start in 0..graph.nodes() as u32 {
        if labels[start as usize] == UNSEEN {
            labels[start as usize] = walk.len() as u32;
            walk.push(start);
        }
        while at < walk.len() {
            for &q in graph.neighbors(walk[at] as usize) {
                if labels[q as usize] == UNSEEN {
                    labels[q as usize] = walk.len() as u32;
                    walk.push(q);
                }
            }
            at += 1;
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_labeled_by_their_distance_from_the_first() {
        // 0–3, 0–4, 3–2, 4–1 and apart 5–6.
        let graph = Graph::from_edges(7, &[(0, 3), (0, 4), (3, 2), (4, 1), (5, 6)]).unwrap();
        assert_eq!(breadth_first_labels(&graph), [0, 4, 3, 1, 2, 5, 6]);
    }
}
