//! Cache lines of numbers, and the squared distance of samples that are made of them.

use crate::neighbors::exact::coordinates::squared_norm;
use crate::neighbors::lanes::{LANES, Lanes, pair};

/// Numbers of 16 bits that fill a cache line.
pub(super) const BLOCK: usize = 32;
/// Numbers of a line that also holds a squared norm, which takes the room of two.
pub(super) const BESIDE_NORM: usize = BLOCK - 2;

/// A cache line of numbers: what is looked at most must not lie across two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Block(pub(super) [i16; BLOCK]);

impl Block {
    pub(super) const ZERO: Self = Self([0; BLOCK]);

    /// The last two numbers are one of 32 bits.
    #[inline(always)]
    pub(super) fn norm(&self) -> i32 {
        let [.., low, high] = self.0;
        i32::from(high) << 16 | i32::from(low as u16)
    }

    /// A head of some numbers.
    #[cfg(test)]
    pub(super) fn of(numbers: &[i16]) -> Self {
        let mut block = [Self::ZERO];
        fill(&mut block, numbers);
        block[0]
    }

    /// Pairs of numbers, a word for each; the last is the norm.
    #[inline(always)]
    pub(super) fn words(&self) -> [i32; LANES] {
        std::array::from_fn(|at| pair(self.0[2 * at], self.0[2 * at + 1]))
    }

    pub(super) fn set_norm(&mut self, norm: i32) {
        (self.0[BLOCK - 2], self.0[BLOCK - 1]) = (norm as i16, (norm >> 16) as i16);
    }
}

/// Numbers from the start of some blocks, and their squared norm at the end.
pub(super) fn fill(blocks: &mut [Block], numbers: &[i16]) {
    for (block, numbers) in blocks.iter_mut().zip(numbers.chunks(BLOCK)) {
        block.0[..numbers.len()].copy_from_slice(numbers);
    }
    if let Some(last) = blocks.last_mut() {
        last.set_norm(squared_norm(numbers));
    }
}

/// ‖a − b‖² of numbers that end in their squared norms.
#[inline(always)]
pub(super) fn squared_difference<L: Lanes>(lanes: L, a: &[Block], b: &[Block]) -> i32 {
    let ([.., a_last], [.., b_last]) = (a, b) else { return 0 };
    let mut sums = lanes.splat(0);
    for (a, b) in a.iter().zip(b) {
        sums = lanes.add_pair_products(sums, lanes.load_pairs(&a.0), lanes.load_pairs(&b.0));
    }
    // The two norms were multiplied too, as if they were coordinates.
    let of_norms = |at: usize| i32::from(a_last.0[at]).wrapping_mul(i32::from(b_last.0[at]));
    let product = lanes.total(sums).wrapping_sub(of_norms(BLOCK - 2)).wrapping_sub(of_norms(BLOCK - 1));
    a_last.norm() + b_last.norm() - 2 * product
}
