//! Rows as searches read them: in place if searches are compiled for their type, and otherwise converted to single
//! precision, exactly, a few at a time.

use std::borrow::Cow;
use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::distance::{LANES, add_squared_differences, add_squared_differences_to_each, folded};
use super::{Element, squared_by};
use crate::kernels::arch;
use crate::samples::{Norm, Samples, Values};

/// Rows that are looked at one by one or in blocks: samples, or what was made of them.
pub(crate) trait RowSource: Copy + Send + Sync {
    /// What the rows are made of.
    type Item: Element;

    fn len(&self) -> usize;

    /// Numbers of a row.
    fn dim(&self) -> usize;

    /// Some rows, one after the other.
    fn block(&self, rows: Range<usize>) -> Cow<'_, [Self::Item]>;

    #[inline(always)]
    fn row(&self, p: usize) -> Cow<'_, [Self::Item]> {
        self.block(p..p + 1)
    }

    /// One number of a row.
    #[inline(always)]
    fn number(&self, p: usize, column: usize) -> f64 {
        self.row(p)[column].to_f64()
    }

    /// How far a row may be from the one it stands for; distances between those never exceed the distances of the samples.
    fn error(&self) -> f64 {
        0.0
    }

    /// No number is larger than this, by size.
    fn most(&self) -> f64 {
        (0..self.len()).into_par_iter().map(|p| Self::Item::most(&self.row(p))).reduce(|| 0.0, f64::max)
    }
}

/// The numbers of some samples, row after row, in memory as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) dim: usize,
}

impl<T: Element> RowSource for Rows<'_, T> {
    type Item = T;

    fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    #[inline(always)]
    fn dim(&self) -> usize {
        self.dim
    }

    #[inline(always)]
    fn block(&self, rows: Range<usize>) -> Cow<'_, [T]> {
        Cow::Borrowed(&self.values[rows.start * self.dim..rows.end * self.dim])
    }
}

/// Samples in a precision that holds all their numbers. Where they are of that precision, nothing is copied; otherwise what is
/// asked for is, and no more.
macro_rules! in_precision {
    ($name:ident, $type:ty, $method:ident, $about:literal) => {
        #[doc = $about]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name<'a> {
            values: &'a Values<'a>,
            dim: usize,
        }

        impl<'a> $name<'a> {
            pub(crate) fn of(samples: &'a Samples<'_>) -> Self {
                Self { values: samples.values(), dim: samples.dim() }
            }
        }

        impl RowSource for $name<'_> {
            type Item = $type;

            fn len(&self) -> usize {
                self.values.len() / self.dim
            }

            #[inline(always)]
            fn dim(&self) -> usize {
                self.dim
            }

            #[inline]
            fn block(&self, rows: Range<usize>) -> Cow<'_, [$type]> {
                self.values.$method(rows.start * self.dim..rows.end * self.dim)
            }

            #[inline]
            fn number(&self, p: usize, column: usize) -> f64 {
                self.values.get(p * self.dim + column)
            }
        }
    };
}
in_precision!(Singles, f32, singles, "Samples of single precision, or of a type that it holds.");
in_precision!(Doubles, f64, doubles, "Samples of any type.");

/// Evaluates an expression with the rows of samples. It is compiled for bytes, single and double precision: every further type
/// would add as much code as all others.
macro_rules! with_rows {
    ($samples:expr, $rows:ident => $body:expr) => {
        match $samples.values() {
            $crate::samples::Values::U8(values) => {
                let $rows = $crate::neighbors::Rows { values: &values[..], dim: $samples.dim() };
                $body
            }
            $crate::samples::Values::F64(_) => {
                let $rows = $crate::neighbors::Doubles::of($samples);
                $body
            }
            _ => {
                let $rows = $crate::neighbors::Singles::of($samples);
                $body
            }
        }
    };
}
pub(crate) use with_rows;

/// Evaluates an expression with the rows of two samples, which may be of different types.
macro_rules! with_both_rows {
    ($first:expr, $second:expr, ($a:ident, $b:ident) => $body:expr) => {
        match ($first.values(), $second.values()) {
            ($crate::samples::Values::U8(a), $crate::samples::Values::U8(b)) => {
                let $a = $crate::neighbors::Rows { values: &a[..], dim: $first.dim() };
                let $b = $crate::neighbors::Rows { values: &b[..], dim: $second.dim() };
                $body
            }
            ($crate::samples::Values::F64(_), _) | (_, $crate::samples::Values::F64(_)) => {
                let ($a, $b) =
                    ($crate::neighbors::Doubles::of($first), $crate::neighbors::Doubles::of($second));
                $body
            }
            _ => {
                let ($a, $b) =
                    ($crate::neighbors::Singles::of($first), $crate::neighbors::Singles::of($second));
                $body
            }
        }
    };
}
pub(crate) use with_both_rows;

/// ‖x_p − x_q‖² of two samples, exactly as the searches compute it.
pub fn squared_distance_between(samples: &Samples<'_>, p: usize, q: usize) -> f64 {
    let norm = samples.norm();
    with_rows!(samples, rows => squared_in_widest(norm, &rows.row(p), &rows.row(q)))
}

/// [`squared_by`] in the widest registers that there are: long rows take long, and callers that are not compiled for an instruction
/// set would take several times as long.
fn squared_in_widest<T: Element>(norm: Norm, a: &[T], b: &[T]) -> f64 {
    arch().dispatch(SquaredBy { norm, a, b })
}

/// Numbers of a row that are looked at together, of long rows: those of all rows of many pairs stay in the caches. Pages of memory have as
/// many bytes.
const SLICE: usize = 4096;
/// Pairs of the same row that are looked at together at most.
const TOGETHER: usize = 4;

/// ‖x_p − x_q‖² of some pairs of samples, exactly as the searches compute it. If the numbers have to be fetched, for example from a
/// mapped file, consecutive pairs of the same row cost less.
pub fn squared_distances_between(samples: &Samples<'_>, pairs: &[(usize, usize)]) -> Vec<f64> {
    /// Enough that most of what is read of a row serves several pairs.
    const PAIRS: usize = 1 << 10;
    let norm = samples.norm();
    with_rows!(samples, rows => {
        let of_some = |pairs: &[(usize, usize)]| match norm {
            Norm::Euclidean => squared_distances_of(rows, pairs),
            _ => pairs.iter().map(|&(p, q)| squared_in_widest(norm, &rows.row(p), &rows.row(q))).collect(),
        };
        pairs.par_chunks(PAIRS).flat_map_iter(of_some).collect()
    })
}

/// The squared Euclidean distances of some pairs of rows, in the widest registers that there are. Pairs that share a row should follow
/// each other.
///
/// All pairs are looked at slice by slice, so that what they share is read from the caches.
pub(crate) fn squared_distances_of<R: RowSource>(rows: R, pairs: &[(usize, usize)]) -> Vec<f64> {
    let mut sums = vec![[0.0; LANES]; pairs.len()];
    for first in (0..rows.dim()).step_by(SLICE) {
        let slice = first..rows.dim().min(first + SLICE);
        arch().dispatch(AddSlices { rows, pairs, slice, sums: &mut sums });
    }
    sums.into_iter().map(folded).collect()
}

/// Adds a slice of every pair to its sums, compiled for each instruction set.
struct AddSlices<'a, R> {
    rows: R,
    pairs: &'a [(usize, usize)],
    slice: Range<usize>,
    sums: &'a mut [[f64; LANES]],
}

impl<R: RowSource> WithSimd for AddSlices<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, pairs, slice, sums } = self;
        if !R::Item::HAS_PARTS {
            for (&(p, q), sums) in pairs.iter().zip(sums) {
                add_squared_differences(sums, &rows.row(p)[slice.clone()], &rows.row(q)[slice.clone()]);
            }
            return;
        }
        let own = vec![0.0; slice.len().next_multiple_of(LANES)];
        let mut slices = Slices { rows, slice, own, others: [[0.0; PIECE]; TOGETHER] };
        let mut left = sums;
        for of_row in pairs.chunk_by(|a, b| a.0 == b.0) {
            let (sums, rest) = left.split_at_mut(of_row.len());
            left = rest;
            slices.begin(of_row[0].0);
            let (of_row, sums) = slices.add_in_groups::<S, TOGETHER>(simd, of_row, sums);
            let (of_row, sums) = slices.add_in_groups::<S, { TOGETHER / 2 }>(simd, of_row, sums);
            slices.add_in_groups::<S, 1>(simd, of_row, sums);
        }
    }
}

/// Numbers of a slice that are looked at together: those of a row and of [`TOGETHER`] others stay in the nearest cache.
const PIECE: usize = 512;

/// A slice of some rows in double precision, with zeros behind its last number: squares of zero change no sum.
struct Slices<R> {
    rows: R,
    slice: Range<usize>,
    own: Vec<f64>,
    others: [[f64; PIECE]; TOGETHER],
}

impl<R: RowSource> Slices<R> {
    /// The row that is compared with others from now on.
    #[inline(always)]
    fn begin(&mut self, p: usize) {
        to_doubles(&self.rows.row(p)[self.slice.clone()], &mut self.own);
    }

    /// Adds what the slice of the row and those of others differ in, `N` others at a time; returns the pairs that are left.
    #[inline(always)]
    fn add_in_groups<'p, 's, S: Simd, const N: usize>(
        &mut self,
        simd: S,
        pairs: &'p [(usize, usize)],
        sums: &'s mut [[f64; LANES]],
    ) -> (&'p [(usize, usize)], &'s mut [[f64; LANES]]) {
        let ((groups, pairs), (group_sums, sums)) = (pairs.as_chunks::<N>(), sums.as_chunks_mut::<N>());
        for (group, sums) in groups.iter().zip(group_sums) {
            self.add(simd, group, sums);
        }
        (pairs, sums)
    }

    #[inline(always)]
    fn add<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        pairs: &[(usize, usize); N],
        sums: &mut [[f64; LANES]; N],
    ) {
        let Self { rows, slice, own, others } = self;
        let other_rows = pairs.map(|(_, q)| rows.row(q));
        for first in slice.clone().step_by(PIECE) {
            let piece = first..slice.end.min(first + PIECE);
            let (at, length) = (first - slice.start, piece.len().next_multiple_of(LANES));
            for (other, row) in others.iter_mut().zip(&other_rows) {
                to_doubles(&row[piece.clone()], &mut other[..length]);
            }
            let pieces = std::array::from_fn(|other| &others[other][..length]);
            add_squared_differences_to_each(simd, sums, &own[at..at + length], pieces);
        }
    }
}

/// Bytes as numbers, followed by zeros: a loop of its own over many of them fills whole registers.
#[inline(always)]
fn to_doubles<T: Element>(row: &[T], target: &mut [f64]) {
    let (numbers, rest) = target.split_at_mut(row.len());
    for (target, number) in numbers.iter_mut().zip(row) {
        *target = number.to_f64();
    }
    rest.fill(0.0);
}

struct SquaredBy<'a, T> {
    norm: Norm,
    a: &'a [T],
    b: &'a [T],
}

impl<T: Element> WithSimd for SquaredBy<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        squared_by(self.norm, self.a, self.b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Kernels, with_kernels};
    use crate::neighbors::squared_distance;

    /// Runs of every length around those that are looked at together, rows longer than a slice, and pairs out of order.
    #[test]
    fn distances_of_many_pairs_are_those_of_each() {
        let (len, dim) = (12, 2 * SLICE + 13);
        let pixels: Vec<u8> = (0..len * dim).map(|at| (at * at % 251) as u8).collect();
        let numbers: Vec<f32> = pixels.iter().map(|&pixel| f32::from(pixel).sin()).collect();
        let all: Vec<(usize, usize)> = (0..len).rev().flat_map(|p| (0..p).map(move |q| (p, q))).collect();
        for samples in
            [Samples::from_u8(len, dim, pixels).unwrap(), Samples::from_f32(len, dim, numbers).unwrap()]
        {
            let rows = samples.values().all_singles();
            let row = |p: usize| &rows[p * dim..(p + 1) * dim];
            for kernels in Kernels::available() {
                let together = with_kernels(kernels, || squared_distances_between(&samples, &all)).unwrap();
                for (&(p, q), together) in all.iter().zip(together) {
                    assert_eq!(together, squared_distance_between(&samples, p, q), "{p}, {q} on {kernels}");
                    assert_eq!(together, squared_distance(row(p), row(q)), "{p}, {q} on {kernels}");
                }
            }
        }
    }
}
