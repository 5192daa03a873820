//! Blocks within blocks: every channel of an image, its quarters, their quarters and so on down to single numbers.

use spadework::random::{Purpose, draw, stream};

use crate::grid::{Grid, PixelBlock};

/// Nested blocks. Those of a row of numbers are halves of each other.
pub(crate) struct BlockTree {
    grid: Grid,
    blocks: Vec<Node>,
}

struct Node {
    block: PixelBlock,
    /// Where its parts lie among the blocks.
    parts: std::ops::Range<usize>,
    /// Which of two equally promising blocks comes first, at random.
    order: u32,
}

impl BlockTree {
    pub(crate) fn new(grid: Grid, seed: u64) -> Self {
        let mut blocks: Vec<Node> = grid.blocks(grid.side()).map(Node::new).collect();
        let mut at = 0;
        while at < blocks.len() {
            let first = blocks.len();
            let parts = blocks[at].block.parts();
            blocks.extend(parts.into_iter().map(Node::new));
            blocks[at].parts = first..blocks.len();
            at += 1;
        }
        let mut order: Vec<u32> = (0..blocks.len() as u32).collect();
        let count = order.len();
        draw(&mut order, count, &mut stream(seed, Purpose::ProbeOrder));
        blocks.iter_mut().zip(order).for_each(|(node, order)| node.order = order);
        Self { grid, blocks }
    }

    /// The largest blocks, one per channel.
    pub(crate) fn roots(&self) -> std::ops::Range<usize> {
        0..self.grid.channels
    }

    /// The parts of a block; none of a single number.
    pub(crate) fn parts(&self, block: usize) -> std::ops::Range<usize> {
        self.blocks[block].parts.clone()
    }

    /// Which of two equally promising blocks comes first.
    pub(crate) fn order(&self, block: usize) -> u32 {
        self.blocks[block].order
    }

    /// The places of a block's numbers in a sample.
    pub(crate) fn places(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        self.grid.places(&self.blocks[block].block)
    }
}

impl Node {
    fn new(block: PixelBlock) -> Self {
        Self { block, parts: 0..0, order: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::ChannelOrder;

    /// The parts of every block cover it once, and the smallest blocks are single numbers.
    #[test]
    fn parts_cover_their_block_once() {
        for grid in [
            Grid { channels: 2, height: 5, width: 7, order: ChannelOrder::Last },
            Grid { channels: 1, height: 1, width: 13, order: ChannelOrder::First },
        ] {
            let tree = BlockTree::new(grid, 3);
            let mut singles = 0;
            for block in 0..tree.blocks.len() {
                let mut own: Vec<usize> = tree.places(block).collect();
                own.sort_unstable();
                let parts = tree.parts(block);
                if parts.is_empty() {
                    assert_eq!(own.len(), 1);
                    singles += 1;
                } else {
                    let mut covered: Vec<usize> =
                        parts.flat_map(|part| tree.places(part).collect::<Vec<_>>()).collect();
                    covered.sort_unstable();
                    assert_eq!(own, covered);
                }
            }
            assert_eq!(singles, grid.dim().unwrap());
            assert_eq!(tree.roots().flat_map(|root| tree.places(root).collect::<Vec<_>>()).count(), singles);
        }
    }
}
