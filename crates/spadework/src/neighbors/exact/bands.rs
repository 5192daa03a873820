//! A lower bound of what the numbers that were not read yet add to the distance of a pair.
//!
//! The distances of long rows are computed slice by slice. Sums over blocks of numbers ([`super::pooling`]) bound the distance of
//! any band of blocks from below. So slices that were read count in full, and the others by their sums. Most pairs that the sums
//! alone do not rule out are ruled out after a part of their numbers was read.

use std::ops::Range;

use super::coordinates::Coordinates;

/// How the numbers of a row and the sums over their blocks correspond: band i of the one makes band i of the other, and the bands
/// make the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BandLayout {
    /// Numbers of a band.
    pub(super) numbers: usize,
    /// Sums of a band.
    pub(super) sums: usize,
}

impl BandLayout {
    /// Whole bands that have at least so many numbers together.
    pub(super) fn of_at_least(self, numbers: usize) -> Self {
        let bands = numbers.div_ceil(self.numbers);
        Self { numbers: bands * self.numbers, sums: bands * self.sums }
    }
}

/// The sums over the blocks of all rows, as short vectors in the order of the leaves.
#[derive(Debug)]
pub(super) struct Bands {
    sums: Coordinates,
    slice: BandLayout,
}

impl Bands {
    /// Slices of at least so many numbers.
    pub(super) fn new(sums: Coordinates, layout: BandLayout, slice_numbers: usize) -> Self {
        Self { sums, slice: layout.of_at_least(slice_numbers) }
    }

    /// Numbers of a slice.
    pub(super) fn slice_numbers(&self) -> usize {
        self.slice.numbers
    }

    /// ‖ẑ_p − ẑ_q‖² over all slices.
    #[inline(always)]
    pub(super) fn squared_distance(&self, p: usize, q: usize) -> i32 {
        self.over(p, q, 0..self.sums.numbers)
    }

    /// ‖ẑ_p − ẑ_q‖² over one slice.
    #[inline(always)]
    pub(super) fn squared_distance_in(&self, p: usize, q: usize, slice: usize) -> i32 {
        let first = (slice * self.slice.sums).min(self.sums.numbers);
        self.over(p, q, first..(first + self.slice.sums).min(self.sums.numbers))
    }

    /// A plain loop, compiled for the instruction set of the caller. Squared distances of short vectors fit 31 bits.
    #[inline(always)]
    fn over(&self, p: usize, q: usize, sums: Range<usize>) -> i32 {
        let mut squared = 0_i32;
        for (&a, &b) in self.sums.row(p)[sums.clone()].iter().zip(&self.sums.row(q)[sums]) {
            let difference = i32::from(a) - i32::from(b);
            squared = squared.wrapping_add(difference.wrapping_mul(difference));
        }
        squared
    }

    /// The squared distance of two samples over some slices, at least, where that of their short vectors is `squared`.
    #[inline(always)]
    pub(super) fn least_squared_distance(&self, p: usize, q: usize, squared: i32) -> f64 {
        let error = self.sums.errors[p] + self.sums.errors[q];
        let distance = (f64::from(squared.max(0)).sqrt() - error).max(0.0) / self.sums.unit;
        distance * distance * (1.0 - 1e-10)
    }
}
