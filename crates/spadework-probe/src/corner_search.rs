//! The search in a box: which corner of the box reduces a sample's margin most?
//!
//! Within the box |x' − x| ≤ ε, the margin of a nearly linear model is smallest at a corner: one sign per number. The search
//! begins with all signs positive and flips the signs of one block of numbers at a time: first a whole channel, then
//! quarters of it, quarters of these and so on. A flip that makes the margin smaller is kept. Large blocks find
//! low-frequency changes with few probes, and small blocks refine them. The hierarchy of blocks is that of Moon, An and Song
//! (2019). Flipping the signs of dyadic groups is SignHunter (Al-Dujaili and O'Reilly, 2020). Here every block is tried
//! once, and blocks of one size come in random order. No gradient is needed, and no label.
//!
//! Columns of a category have no sign: flipping a block that contains such columns chooses the last of them. Single columns
//! come at the end, so every category is tried.

use crate::batch::Batch;
use crate::columns::Corner;
use crate::copies::Copies;
use crate::descent::SampleSearch;
use crate::grid::PixelBlock;

/// Where the search of one sample stands.
pub(crate) struct CornerSearch<'a> {
    copies: &'a Copies,
    sample: &'a [f32],
    corner: Corner,
    margin: f64,
}

impl<'a> CornerSearch<'a> {
    pub(crate) fn all(batch: &'a Batch, copies: &'a Copies) -> Vec<Self> {
        let search = |at: usize| Self {
            copies,
            sample: batch.row(at),
            corner: copies.corner(vec![1; batch.dim]),
            margin: batch.margins[at],
        };
        (0..batch.len()).map(search).collect()
    }
}

impl SampleSearch for CornerSearch<'_> {
    /// The block whose signs are turned; none in the first round.
    type Round = Option<PixelBlock>;

    fn copy(&mut self, turn: &Option<PixelBlock>) -> Vec<f32> {
        self.copies.at(&self.turned(turn.as_ref()), self.sample)
    }

    fn learn(&mut self, margin: f64, turn: &Option<PixelBlock>) {
        match turn {
            Some(block) if margin < self.margin => {
                self.corner = self.turned(Some(block));
                self.margin = margin;
            }
            Some(_) => {}
            None => self.margin = margin,
        }
    }
}

impl CornerSearch<'_> {
    fn turned(&self, block: Option<&PixelBlock>) -> Corner {
        let mut corner = self.corner.clone();
        if let Some(block) = block {
            corner.turn(self.copies.grid.places(block), self.copies.columns.as_ref());
        }
        corner
    }
}
