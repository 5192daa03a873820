//! Connected components by union-find.

use super::Graph;

/// The connected components of a graph, numbered by their lowest node.
#[derive(Debug, Clone, PartialEq)]
pub struct Components {
    of_node: Vec<u32>,
    sizes: Vec<usize>,
}

impl Components {
    /// Finds the components of a graph.
    ///
    /// # Complexity
    /// Near-linear in the number of edges.
    pub fn of(graph: &Graph) -> Self {
        let mut sets = DisjointSets::new(graph.nodes());
        for (p, q, _) in graph.edges() {
            sets.join(p, q);
        }
        sets.into_components()
    }

    /// Number of components.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Nodes in each component.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Nodes in the largest component.
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    /// The component of every node.
    pub fn of_node(&self) -> &[u32] {
        &self.of_node
    }
}

/// Union-find over nodes 0..n.
#[derive(Debug, Clone)]
pub(super) struct DisjointSets {
    parent: Vec<u32>,
    count: usize,
}

impl DisjointSets {
    pub(super) fn new(nodes: usize) -> Self {
        Self { parent: (0..nodes as u32).collect(), count: nodes }
    }

    /// Number of sets.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn find(&mut self, node: u32) -> u32 {
        let mut root = node;
        while self.parent[root as usize] != root {
            // Halving the path keeps later look-ups short.
            let grandparent = self.parent[self.parent[root as usize] as usize];
            self.parent[root as usize] = grandparent;
            root = grandparent;
        }
        root
    }

    /// Joins two sets under the lower root; false when they were one already.
    pub(super) fn join(&mut self, p: u32, q: u32) -> bool {
        let (p, q) = (self.find(p), self.find(q));
        if p == q {
            return false;
        }
        self.parent[p.max(q) as usize] = p.min(q);
        self.count -= 1;
        true
    }

    pub(super) fn into_components(mut self) -> Components {
        let mut sizes = Vec::new();
        let mut of_node = vec![0; self.parent.len()];
        for node in 0..self.parent.len() {
            // The root is the lowest node of its set, so it is numbered before the others ask.
            let root = self.find(node as u32) as usize;
            if root == node {
                of_node[node] = sizes.len() as u32;
                sizes.push(0);
            } else {
                of_node[node] = of_node[root];
            }
            sizes[of_node[node] as usize] += 1;
        }
        Components { of_node, sizes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes() {
        let graph = Graph::from_edges(6, &[(4, 1), (5, 4), (2, 3)]).unwrap();
        let components = Components::of(&graph);
        assert_eq!(components.count(), 3);
        assert_eq!(components.of_node(), &[0, 1, 2, 2, 1, 1]);
        assert_eq!(components.sizes(), &[1, 3, 2]);
        assert_eq!(components.largest(), 3);
    }
}
