//! How the numbers of a sample are arranged.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use spadework::random::draw;

/// The order of channels and pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChannelOrder {
    /// All pixels of the first channel, then all of the next.
    First,
    /// Pixel after pixel, each with its channels.
    Last,
}

/// The numbers of a sample as an image; a row of numbers is an image of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Numbers per pixel.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// The order of channels and pixels.
    pub order: ChannelOrder,
}

/// A rectangle of one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PixelBlock {
    channel: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl PixelBlock {
    /// Its quarters, or halves where it is a line; none of a single number.
    pub(crate) fn parts(&self) -> Vec<PixelBlock> {
        let halves = |side: &Range<usize>| {
            let middle = (side.start + side.end).div_ceil(2);
            if side.len() > 1 { vec![side.start..middle, middle..side.end] } else { vec![side.clone()] }
        };
        if self.rows.len() * self.columns.len() <= 1 {
            return Vec::new();
        }
        let columns = halves(&self.columns);
        halves(&self.rows)
            .into_iter()
            .flat_map(|rows| {
                columns.iter().map(move |columns| PixelBlock {
                    channel: self.channel,
                    rows: rows.clone(),
                    columns: columns.clone(),
                })
            })
            .collect()
    }
}

impl Grid {
    /// A row of numbers, of which only neighboring ones belong together.
    pub fn line(dim: usize) -> Self {
        Self { channels: 1, height: 1, width: dim, order: ChannelOrder::First }
    }

    /// Numbers in a sample; none if there are more than can be counted.
    pub fn dim(&self) -> Option<usize> {
        self.channels.checked_mul(self.height)?.checked_mul(self.width)
    }

    /// Where a channel of a pixel lies among the numbers of a sample.
    pub(crate) fn place(&self, channel: usize, row: usize, column: usize) -> usize {
        match self.order {
            ChannelOrder::First => (channel * self.height + row) * self.width + column,
            ChannelOrder::Last => (row * self.width + column) * self.channels + channel,
        }
    }

    /// The longer of the two sides.
    pub(crate) fn side(&self) -> usize {
        self.height.max(self.width)
    }

    /// All blocks of one side, channel by channel, row by row.
    pub(crate) fn blocks(&self, side: usize) -> impl Iterator<Item = PixelBlock> + use<> {
        let Self { channels, height, width, .. } = *self;
        let cut = move |length: usize| {
            (0..length).step_by(side).map(move |start| start..(start + side).min(length))
        };
        (0..channels).flat_map(move |channel| {
            cut(height).flat_map(move |rows| {
                cut(width).map(move |columns| PixelBlock { channel, rows: rows.clone(), columns })
            })
        })
    }

    /// The places of a block's numbers.
    pub(crate) fn places(&self, block: &PixelBlock) -> impl Iterator<Item = usize> {
        let channel = block.channel;
        block
            .rows
            .clone()
            .flat_map(move |row| block.columns.clone().map(move |column| self.place(channel, row, column)))
    }
}

/// Blocks from the largest to the smallest, each side half of the one before, those of one side in random order; and again
/// from the largest, without end.
pub(crate) struct NestedBlocks<'r> {
    grid: Grid,
    rng: &'r mut ChaCha8Rng,
    side: usize,
    /// Those of the present side that are still to come.
    left: Vec<PixelBlock>,
}

impl<'r> NestedBlocks<'r> {
    pub(crate) fn new(grid: Grid, rng: &'r mut ChaCha8Rng) -> Self {
        Self { grid, rng, side: 0, left: Vec::new() }
    }
}

impl Iterator for NestedBlocks<'_> {
    type Item = PixelBlock;

    fn next(&mut self) -> Option<PixelBlock> {
        if self.left.is_empty() {
            self.side = if self.side <= 1 { self.grid.side() } else { self.side.div_ceil(2) };
            self.left = self.grid.blocks(self.side).collect();
            let count = self.left.len();
            draw(&mut self.left, count, self.rng);
        }
        self.left.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spadework::random::{Purpose, stream};

    /// Every number lies in exactly one block of a side, whatever the order of channels and however the side divides.
    #[test]
    fn blocks_cover_every_number_once() {
        for order in [ChannelOrder::First, ChannelOrder::Last] {
            let grid = Grid { channels: 3, height: 5, width: 7, order };
            for side in 1..9 {
                let mut places: Vec<usize> =
                    grid.blocks(side).flat_map(|block| grid.places(&block).collect::<Vec<_>>()).collect();
                places.sort_unstable();
                assert_eq!(places, (0..105).collect::<Vec<_>>(), "side {side}");
            }
        }
    }

    /// An image of 7 × 7: 1 block of side 7, 4 of 4, 16 of 2, 49 of 1, and again.
    #[test]
    fn blocks_shrink_and_begin_again() {
        let grid = Grid { channels: 1, height: 7, width: 7, order: ChannelOrder::First };
        let sizes: Vec<usize> = NestedBlocks::new(grid, &mut stream(0, Purpose::ProbeOrder))
            .take(71)
            .map(|block| block.rows.len().max(block.columns.len()))
            .collect();
        assert_eq!(sizes[0], 7);
        assert!(sizes[1..5].iter().all(|&size| size >= 3) && sizes[1..5].contains(&4));
        assert!(sizes[5..21].iter().all(|&size| size <= 2));
        assert!(sizes[21..70].iter().all(|&size| size == 1));
        assert_eq!(sizes[70], 7);
    }
}
