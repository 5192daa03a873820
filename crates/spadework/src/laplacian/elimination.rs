//! A graph while its nodes are eliminated one after the other.
//!
//! Every edge is in the list of its earlier end, as (later end, weight), and edges between the same nodes are added up
//! when that end's turn comes. Lists are created and removed all the time, and on large graphs every access to one
//! misses the cache. So a list is a chain of blocks, each a cache line with five edges. Blocks that were read are
//! reused at once, so the memory allocated at the start is always enough. The node itself stores how full the first
//! block of its chain is, so adding an edge waits for nothing.

use crate::graph::Graph;

/// End of a chain, and the position of a node outside the star.
const NONE: u32 = u32::MAX;
/// Edges of a block.
const BLOCK_EDGES: usize = 5;

/// A neighbor of the node that is eliminated: weight of the edge, and the neighbor's place in the order.
pub(super) type Ray = (f64, u32);

/// The graph of the nodes that are left. Nodes go by their places in the order of elimination.
pub(super) struct Elimination {
    lists: Vec<List>,
    blocks: Vec<EdgeBlock>,
    /// First of the chain of blocks that are free.
    free: u32,
}

/// The edges of a node to later ones.
#[derive(Clone, Copy)]
struct List {
    /// First block of the chain.
    first: u32,
    /// Edges in the first block; the others are full.
    edges_in_first: u32,
    /// Where this node stands in the star that is being taken. It is here for being looked up together with the list.
    position: u32,
}

/// Five edges in a line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct EdgeBlock {
    next: u32,
    to: [u32; BLOCK_EDGES],
    weights: [f64; BLOCK_EDGES],
}

impl Elimination {
    /// All of a graph; `order` holds the node at every place.
    pub(super) fn new(graph: &Graph, order: &[u32]) -> Self {
        let mut place_of = vec![0; order.len()];
        for (place, &p) in order.iter().enumerate() {
            place_of[p as usize] = place as u32;
        }
        let most_blocks = graph.edge_count() / BLOCK_EDGES + graph.nodes();
        let mut elimination = Self {
            // A full block that is not there makes the first edge begin a chain.
            lists: vec![
                List { first: NONE, edges_in_first: BLOCK_EDGES as u32, position: NONE };
                order.len()
            ],
            blocks: Vec::with_capacity(most_blocks),
            free: NONE,
        };
        for (place, &p) in order.iter().enumerate() {
            let weights = graph.weights(p as usize);
            for (at, &q) in graph.neighbors(p as usize).iter().enumerate() {
                let other = place_of[q as usize];
                if other as usize > place {
                    elimination.add(place as u32, other, weights.map_or(1.0, |weights| weights[at]));
                }
            }
        }
        elimination
    }

    /// Adds an edge between two places.
    pub(super) fn add(&mut self, a: u32, b: u32, weight: f64) {
        let (earlier, later) = (a.min(b), a.max(b));
        let list = self.lists[earlier as usize];
        let (first, at) = if list.edges_in_first as usize == BLOCK_EDGES {
            (self.free_block(list.first), 0)
        } else {
            (list.first, list.edges_in_first)
        };
        let block = &mut self.blocks[first as usize];
        block.to[at as usize] = later;
        block.weights[at as usize] = weight;
        let list = &mut self.lists[earlier as usize];
        (list.first, list.edges_in_first) = (first, at + 1);
    }

    /// A block to be written, before `next` in a chain.
    fn free_block(&mut self, next: u32) -> u32 {
        let block = self.free;
        if block == NONE {
            self.blocks.push(EdgeBlock { next, to: [NONE; BLOCK_EDGES], weights: [0.0; BLOCK_EDGES] });
            return (self.blocks.len() - 1) as u32;
        }
        self.free = std::mem::replace(&mut self.blocks[block as usize].next, next);
        block
    }

    /// Takes all edges of a place into `star`, one for each neighbor, by ascending weight.
    pub(super) fn take_star(&mut self, place: u32, star: &mut Vec<Ray>) {
        star.clear();
        let List { first: mut at, edges_in_first: mut edges, .. } = self.lists[place as usize];
        while at != NONE {
            let block = &mut self.blocks[at as usize];
            for (&to, &weight) in block.to[..edges as usize].iter().zip(&block.weights) {
                let position = &mut self.lists[to as usize].position;
                match *position {
                    NONE => {
                        *position = star.len() as u32;
                        star.push((weight, to));
                    }
                    held => star[held as usize].0 += weight,
                }
            }
            let next = std::mem::replace(&mut block.next, self.free);
            self.free = at;
            (at, edges) = (next, BLOCK_EDGES as u32);
        }
        for &(_, to) in &*star {
            self.lists[to as usize].position = NONE;
        }
        star.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generators;

    /// Weights by neighbor, so that stars can be compared whatever their order.
    fn sorted(star: &[Ray]) -> Vec<(u32, f64)> {
        let mut rays: Vec<_> = star.iter().map(|&(weight, to)| (to, weight)).collect();
        rays.sort_by_key(|&(to, _)| to);
        rays
    }

    #[test]
    fn lists_of_any_length_come_back_with_parallel_edges_added_up() {
        // Node 0 is joined to all: at place 0 its list takes several blocks, the last one not full.
        let star = generators::star(13);
        let order: Vec<u32> = (0..13).collect();
        let mut elimination = Elimination::new(&star, &order);
        elimination.add(7, 0, 2.0);
        elimination.add(0, 12, 0.5);
        let mut taken = Vec::new();
        elimination.take_star(0, &mut taken);
        let weight = |to| match to {
            7 => 3.0,
            12 => 1.5,
            _ => 1.0,
        };
        assert_eq!(sorted(&taken), (1..13).map(|to| (to, weight(to))).collect::<Vec<_>>());
        assert!(taken.is_sorted_by(|a, b| a.0 <= b.0), "{taken:?}");
        elimination.take_star(1, &mut taken);
        assert!(taken.is_empty());
    }

    #[test]
    fn blocks_that_were_read_are_used_again() {
        // Stars grow large here: read and written all in all are many times the edges at the start.
        let edges: Vec<_> = (0..300).flat_map(|p| [1, 7, 50, 91].map(|step| (p, (p + step) % 300))).collect();
        let graph = Graph::from_edges(300, &edges).unwrap();
        let order: Vec<u32> = (0..300).collect();
        let mut elimination = Elimination::new(&graph, &order);
        let mut star = Vec::new();
        for place in 0..300 {
            elimination.take_star(place, &mut star);
            for pair in star.windows(2) {
                elimination.add(pair[0].1, pair[1].1, 1.0);
            }
        }
        // There are never more edges than at the start, and every node has at most one block that is not full.
        let most = graph.edge_count() / BLOCK_EDGES + graph.nodes();
        assert!(elimination.blocks.len() <= most, "{} blocks, {most} at most", elimination.blocks.len());
    }
}
