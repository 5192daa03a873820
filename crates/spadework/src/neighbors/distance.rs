//! The one distance that decides: every search computes its final lists with it, so all searches agree to the last bit.

use std::ops::Add;

use pulp::Simd;

use super::lanes::Lanes;
use crate::samples::{Norm, Number};

/// A number that samples are made of.
pub(crate) trait Element: Number + Send + Sync + PartialOrd + 'static {
    /// The same number in double precision; exact.
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.number()
    }

    /// What [`Element::in_units`] counts.
    const UNIT: f64 = 1.0;

    /// The number as so many units, in single precision.
    #[inline(always)]
    fn in_units(self) -> f32 {
        self.to_f64() as f32
    }

    /// What looking at one more number of a pair costs, about.
    const SETTLE_NANOSECONDS: f64 = 0.1;

    /// Whether [`Element::part`] says all but the last digits of a distance.
    const HAS_PARTS: bool = false;

    /// A lower bound of [`squared_distance`] at a fraction of its cost; 0 if there is none.
    fn least_squared_distance<S: Simd>(simd: S, a: &[Self], b: &[Self]) -> f64;

    /// The same for the other norms, squared.
    fn least_squared_by<S: Simd>(norm: Norm, simd: S, a: &[Self], b: &[Self]) -> f64;

    /// Σ (a − b)² of some numbers in whole units. The sums over the parts of two rows make one over all, from which
    /// [`Element::bounds`] knows their distance.
    fn part<L: Lanes>(_lanes: L, _a: &[Self], _b: &[Self]) -> u64 {
        unreachable!("only where there are parts")
    }

    /// Bounds of [`squared_distance`] of rows of `dim` numbers from the sum of their parts; the same twice where it is known.
    fn bounds(_sum: u64, _dim: usize) -> (f64, f64) {
        unreachable!("only where there are parts")
    }

    /// No number is larger than this, by size.
    fn most(values: &[Self]) -> f64 {
        values.iter().fold(0.0, largest_size)
    }
}

#[inline(always)]
fn largest_size<T: Element>(most: f64, value: &T) -> f64 {
    let size = value.to_f64().abs();
    if size > most { size } else { most }
}

impl Element for f32 {
    /// A sum of squares in single precision. Every difference, square and addition errs by at most u of its result, and
    /// nothing cancels, so the whole errs by at most (d + 4)u of it; twice that is allowed for. Where numbers are so small
    /// or large that this does not hold, the bound says nothing.
    #[inline(always)]
    fn least_squared_distance<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f64 {
        let distance = f64::from(single_squared_distance(simd, a, b));
        let error = (2 * (a.len() + 4)) as f64 / f64::from(1_u32 << 24);
        if (1e-30..1e30).contains(&distance) { (distance * (1.0 - error)).max(0.0) } else { 0.0 }
    }

    /// As above: nothing cancels in a sum of moduli, and a largest one errs by u alone.
    #[inline(always)]
    fn least_squared_by<S: Simd>(norm: Norm, simd: S, a: &[f32], b: &[f32]) -> f64 {
        let distance = f64::from(match norm {
            Norm::Euclidean => return Self::least_squared_distance(simd, a, b),
            Norm::Manhattan => single_moduli_sum(simd, a, b),
            Norm::Chebyshev => single_largest_modulus(simd, a, b),
        });
        let error = (2 * (a.len() + 4)) as f64 / f64::from(1_u32 << 24);
        let least = (distance * (1.0 - error)).max(0.0);
        if (1e-30..1e30).contains(&distance) { least * least } else { 0.0 }
    }
}

impl Element for f64 {
    /// Single precision would have to be made first.
    #[inline(always)]
    fn least_squared_distance<S: Simd>(_: S, _: &[f64], _: &[f64]) -> f64 {
        0.0
    }

    #[inline(always)]
    fn least_squared_by<S: Simd>(_: Norm, _: S, _: &[f64], _: &[f64]) -> f64 {
        0.0
    }
}

impl Element for u8 {
    const UNIT: f64 = 1.0 / 255.0;
    const SETTLE_NANOSECONDS: f64 = 0.04;
    const HAS_PARTS: bool = true;

    #[inline(always)]
    fn in_units(self) -> f32 {
        f32::from(self)
    }

    #[inline(always)]
    fn least_squared_distance<S: Simd>(_: S, a: &[u8], b: &[u8]) -> f64 {
        Self::bounds(integer_squared_distance(a, b), a.len()).0
    }

    /// The sum of the moduli and the largest one are integers as well. Each number is at most 2⁻²⁵ from x/255, so a difference errs
    /// by at most 2⁻²⁴; the last factor allows for sums in double precision.
    #[inline(always)]
    fn least_squared_by<S: Simd>(norm: Norm, simd: S, a: &[u8], b: &[u8]) -> f64 {
        let (distance, erring) = match norm {
            Norm::Euclidean => return Self::least_squared_distance(simd, a, b),
            Norm::Manhattan => (integer_moduli_sum(a, b) as f64, a.len() as f64),
            Norm::Chebyshev => (f64::from(integer_largest_modulus(a, b)), 1.0),
        };
        let error = erring / f64::from(1_u32 << 24);
        (distance / 255.0 - error).max(0.0).powi(2) * (1.0 - 1e-9)
    }

    #[inline(always)]
    fn part<L: Lanes>(lanes: L, a: &[u8], b: &[u8]) -> u64 {
        /// Registers of bytes whose squares a lane can add up.
        const PIECE: usize = 1 << 12;
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
        let mut total = integer_squared_distance(a_rest, b_rest);
        for (a, b) in a.chunks(PIECE).zip(b.chunks(PIECE)) {
            // Two sums, so that no addition waits for the one before.
            let ((a_pairs, a), (b_pairs, b)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
            let (mut even, mut odd) = (lanes.splat(0), lanes.splat(0));
            for (a, b) in a_pairs.iter().zip(b_pairs) {
                even = lanes.add_byte_squares(even, &a[0], &b[0]);
                odd = lanes.add_byte_squares(odd, &a[1], &b[1]);
            }
            for (a, b) in a.iter().zip(b) {
                even = lanes.add_byte_squares(even, a, b);
            }
            for sum in lanes.store(lanes.add(even, odd)) {
                total += u64::from(sum.unsigned_abs());
            }
        }
        total
    }

    /// The squared distance of the bytes is an integer and exact. Each number is at most 2⁻²⁵ from x/255, so the root of the
    /// distance errs by at most 2⁻²⁴√d, and its sum in double precision by a part that the last factor allows for.
    #[inline(always)]
    fn bounds(sum: u64, dim: usize) -> (f64, f64) {
        if sum == 0 {
            return (0.0, 0.0);
        }
        let distance = (sum as f64).sqrt() / 255.0;
        let error = (dim as f64).sqrt() / f64::from(1_u32 << 24);
        let least = (distance - error).max(0.0).powi(2) * (1.0 - 1e-9);
        (least, (distance + error).powi(2) * (1.0 + 1e-9))
    }

    fn most(_: &[u8]) -> f64 {
        1.0
    }
}

// Sums over bytes are plain loops: the sum of an iterator is a function of its own, which is not compiled for the instruction set of
// the caller and takes four times as long.

/// Σ (a − b)² of bytes.
#[inline(always)]
fn integer_squared_distance(a: &[u8], b: &[u8]) -> u64 {
    /// Squares of which as many fit 31 bits.
    const PIECE: usize = 1 << 15;
    let mut total = 0;
    for (a, b) in a.chunks(PIECE).zip(b.chunks(PIECE)) {
        let mut sum = 0_i32;
        for (&a, &b) in a.iter().zip(b) {
            // Differences of 16 bits, so that one instruction multiplies and adds pairs of them.
            let difference = i16::from(a).wrapping_sub(i16::from(b));
            sum = sum.wrapping_add(i32::from(difference).wrapping_mul(i32::from(difference)));
        }
        total += u64::from(sum.unsigned_abs());
    }
    total
}

/// Σ |a − b| of bytes.
#[inline(always)]
fn integer_moduli_sum(a: &[u8], b: &[u8]) -> u64 {
    /// Moduli of which as many fit 32 bits.
    const PIECE: usize = 1 << 24;
    let mut total = 0;
    for (a, b) in a.chunks(PIECE).zip(b.chunks(PIECE)) {
        let mut sum = 0_u32;
        for (&a, &b) in a.iter().zip(b) {
            sum = sum.wrapping_add(u32::from(a.abs_diff(b)));
        }
        total += u64::from(sum);
    }
    total
}

/// max |a − b| of bytes.
#[inline(always)]
fn integer_largest_modulus(a: &[u8], b: &[u8]) -> u8 {
    let mut largest = 0;
    for (&a, &b) in a.iter().zip(b) {
        largest = largest.max(a.abs_diff(b));
    }
    largest
}

/// Independent partial sums: enough for a vector unit, and part of the definition, since it fixes the order of
/// summation and with it the last bits.
pub(crate) const LANES: usize = 8;

/// ‖a − b‖² in double precision, of rows that may be kept in different precisions.
///
/// Differences, squares and sums are rounded one by one in a fixed order (no fused multiply-add), so the value does not
/// depend on the machine.
#[inline(always)]
pub(crate) fn squared_distance<A: Element, B: Element>(a: &[A], b: &[B]) -> f64 {
    let mut lanes = [0.0_f64; LANES];
    add_squared_differences(&mut lanes, a, b);
    folded(lanes)
}

/// The sums of [`squared_distance`] before they are folded. Rows may be added in pieces: all but the last must have a multiple of
/// [`LANES`] numbers.
#[inline(always)]
pub(super) fn add_squared_differences<A: Element, B: Element>(lanes: &mut [f64; LANES], a: &[A], b: &[B]) {
    debug_assert_eq!(a.len(), b.len());
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    // In registers while the loop runs.
    let mut sums = *lanes;
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        add_squares(&mut sums, a.map(A::to_f64), b.map(B::to_f64));
    }
    // A square of zero changes no sum, and whole chunks are what vectorises.
    add_squares(&mut sums, padded(a_rest), padded(b_rest));
    *lanes = sums;
}

/// The same for one row and several others: no sum waits for the one before. All have as many numbers, a multiple of [`LANES`].
///
/// Registers are named, because compilers do not find them in the order of these sums.
#[inline(always)]
pub(super) fn add_squared_differences_to_each<S: Simd, const N: usize>(
    simd: S,
    lanes: &mut [[f64; LANES]; N],
    row: &[f64],
    others: [&[f64]; N],
) {
    // Registers that hold the sums of a row; those that are not needed are never looked at.
    let registers = LANES / S::F64_LANES;
    let mut sums = [[simd.splat_f64s(0.0); LANES]; N];
    for (sums, lanes) in sums.iter_mut().zip(&*lanes) {
        sums[..registers].copy_from_slice(S::as_simd_f64s(lanes).0);
    }
    let (row, _) = S::as_simd_f64s(row);
    let others = others.map(|other| &S::as_simd_f64s(other).0[..row.len()]);
    for first in (0..row.len()).step_by(registers) {
        for register in 0..registers {
            let own = row[first + register];
            for other in 0..N {
                let difference = simd.sub_f64s(own, others[other][first + register]);
                let square = simd.mul_f64s(difference, difference);
                sums[other][register] = simd.add_f64s(sums[other][register], square);
            }
        }
    }
    for (sums, lanes) in sums.iter().zip(lanes) {
        S::as_mut_simd_f64s(lanes).0.copy_from_slice(&sums[..registers]);
    }
}

/// The sum of all lanes.
#[inline(always)]
pub(super) fn folded(lanes: [f64; LANES]) -> f64 {
    // Keeps the compiler from breaking the whole loop into the pairs of this sum.
    let [s0, s1, s2, s3, s4, s5, s6, s7] = std::hint::black_box(lanes);
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

/// The square of ‖a − b‖ by any norm, in double precision and a fixed order. Squares order numbers as these do, to the last bit,
/// so that everything that goes by squared distances goes for every norm.
#[inline(always)]
pub(crate) fn squared_by<T: Element>(norm: Norm, a: &[T], b: &[T]) -> f64 {
    let distance = match norm {
        Norm::Euclidean => return squared_distance(a, b),
        Norm::Manhattan => folded_moduli(a, b, sum),
        Norm::Chebyshev => folded_moduli(a, b, larger),
    };
    distance * distance
}

/// The moduli of all differences, folded lane by lane; 0 must change nothing.
#[inline(always)]
fn folded_moduli<T: Element>(a: &[T], b: &[T], fold: impl Fn(f64, f64) -> f64 + Copy) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let mut lanes = [0.0_f64; LANES];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        add_moduli(&mut lanes, a.map(T::to_f64), b.map(T::to_f64), fold);
    }
    // Moduli of zero change nothing.
    if !a_rest.is_empty() {
        add_moduli(&mut lanes, padded(a_rest), padded(b_rest), fold);
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = std::hint::black_box(lanes);
    fold(fold(fold(s0, s4), fold(s2, s6)), fold(fold(s1, s5), fold(s3, s7)))
}

/// Columns of that many rows, one after the other: what [`squared_by_columns`] compares with a row.
pub(super) const TILE: usize = 64;

/// [`squared_by`] of a row and each of the rows of a tile, by a norm other than the Euclidean one, bit by bit: the same lanes in the same order,
/// but of many rows at once. Short rows fill no register by themselves.
#[inline(always)]
pub(super) fn squared_by_columns(norm: Norm, row: &[f64], columns: &[f64], squared: &mut [f64; TILE]) {
    match norm {
        Norm::Euclidean => unreachable!("it has other searches"),
        Norm::Manhattan => folded_columns(row, columns, squared, sum),
        Norm::Chebyshev => folded_columns(row, columns, squared, larger),
    }
}

#[inline(always)]
fn folded_columns(
    row: &[f64],
    columns: &[f64],
    squared: &mut [f64; TILE],
    fold: impl Fn(f64, f64) -> f64 + Copy,
) {
    let mut lanes = [[0.0_f64; TILE]; LANES];
    for (at, (&number, column)) in row.iter().zip(columns.as_chunks::<TILE>().0).enumerate() {
        let lane = &mut lanes[at % LANES];
        for other in 0..TILE {
            lane[other] = fold(lane[other], (number - column[other]).abs());
        }
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = &lanes;
    for at in 0..TILE {
        let even = fold(fold(s0[at], s4[at]), fold(s2[at], s6[at]));
        let distance = fold(even, fold(fold(s1[at], s5[at]), fold(s3[at], s7[at])));
        squared[at] = distance * distance;
    }
}

#[inline(always)]
fn add_moduli(lanes: &mut [f64; LANES], a: [f64; LANES], b: [f64; LANES], fold: impl Fn(f64, f64) -> f64) {
    for lane in 0..LANES {
        lanes[lane] = fold(lanes[lane], (a[lane] - b[lane]).abs());
    }
}

#[inline(always)]
fn sum<T: Add<Output = T>>(a: T, b: T) -> T {
    a + b
}

/// As a comparison, which is one instruction; there is no NaN to take care of.
#[inline(always)]
fn larger<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

#[inline(always)]
fn add_squares(lanes: &mut [f64; LANES], a: [f64; LANES], b: [f64; LANES]) {
    for lane in 0..LANES {
        let difference = a[lane] - b[lane];
        lanes[lane] += difference * difference;
    }
}

/// The last, incomplete chunk, filled up with zeros.
#[inline(always)]
fn padded<T: Element>(rest: &[T]) -> [f64; LANES] {
    let mut chunk = [0.0; LANES];
    for (entry, &value) in chunk.iter_mut().zip(rest) {
        *entry = value.to_f64();
    }
    chunk
}

/// ‖a − b‖² in single precision, summed in an order that depends on the machine.
#[inline(always)]
pub(crate) fn single_squared_distance<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (S::as_simd_f32s(a), S::as_simd_f32s(b));
    let ((a_groups, a), (b_groups, b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    // Independent partial sums: no addition waits for the one before.
    let [mut s0, mut s1, mut s2, mut s3] = [simd.splat_f32s(0.0); 4];
    let add_square = |sum: S::f32s, a: S::f32s, b: S::f32s| {
        let difference = simd.sub_f32s(a, b);
        simd.mul_add_e_f32s(difference, difference, sum)
    };
    for (&[a0, a1, a2, a3], &[b0, b1, b2, b3]) in a_groups.iter().zip(b_groups) {
        s0 = add_square(s0, a0, b0);
        s1 = add_square(s1, a1, b1);
        s2 = add_square(s2, a2, b2);
        s3 = add_square(s3, a3, b3);
    }
    for (&a, &b) in a.iter().zip(b) {
        s0 = add_square(s0, a, b);
    }
    let sum = simd.add_f32s(simd.add_f32s(s0, s1), simd.add_f32s(s2, s3));
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b)).sum();
    simd.reduce_sum_f32s(sum) + rest
}

/// Σ|a − b| in single precision, summed in an order that depends on the machine.
#[inline(always)]
fn single_moduli_sum<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let (moduli, rest) = single_moduli(simd, a, b, |sum, modulus| simd.add_f32s(sum, modulus));
    simd.reduce_sum_f32s(moduli) + rest.sum::<f32>()
}

/// max|a − b| in single precision.
#[inline(always)]
fn single_largest_modulus<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let (moduli, rest) = single_moduli(simd, a, b, |most, modulus| simd.max_f32s(most, modulus));
    rest.fold(simd.reduce_max_f32s(moduli), larger)
}

/// The moduli of the differences in single precision, folded lane by lane from 0, and those that fill no register.
#[inline(always)]
fn single_moduli<'a, S: Simd>(
    simd: S,
    a: &'a [f32],
    b: &'a [f32],
    fold: impl Fn(S::f32s, S::f32s) -> S::f32s,
) -> (S::f32s, impl Iterator<Item = f32> + 'a) {
    let ((a, a_rest), (b, b_rest)) = (S::as_simd_f32s(a), S::as_simd_f32s(b));
    let ((a_pairs, a), (b_pairs, b)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
    // Independent results: no addition waits for the one before.
    let [mut first, mut second] = [simd.splat_f32s(0.0); 2];
    let modulus = |a: S::f32s, b: S::f32s| simd.abs_f32s(simd.sub_f32s(a, b));
    for (&[a0, a1], &[b0, b1]) in a_pairs.iter().zip(b_pairs) {
        first = fold(first, modulus(a0, b0));
        second = fold(second, modulus(a1, b1));
    }
    for (&a, &b) in a.iter().zip(b) {
        first = fold(first, modulus(a, b));
    }
    (fold(first, second), a_rest.iter().zip(b_rest).map(|(a, b)| (a - b).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact() {
        let a: Vec<f32> = (0..37).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..37).map(|i| (i * i % 11) as f32).collect();
        let exact: i64 = (0..37_i64).map(|i| (i - i * i % 11).pow(2)).sum();
        assert_eq!(squared_distance(&a, &b), exact as f64);
    }

    #[test]
    fn other_norms_are_exact_on_integers_and_bounded_from_below() {
        let a: Vec<f32> = (0..37).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..37).map(|i| (i * i % 11) as f32).collect();
        let moduli = || (0..37_i64).map(|i| (i - i * i % 11).abs());
        let expected = [(Norm::Manhattan, moduli().sum::<i64>()), (Norm::Chebyshev, moduli().max().unwrap())];
        for (norm, distance) in expected {
            let squared = (distance * distance) as f64;
            assert_eq!(squared_by(norm, &a, &b), squared, "{norm:?}");
            let least = crate::kernels::arch().dispatch(Least { norm, a: &a, b: &b });
            assert!(least <= squared && least > 0.999 * squared, "{norm:?}: {least} and {squared}");
        }
    }

    #[test]
    fn distances_of_bytes_are_bounded_closely_from_below_by_every_norm() {
        // From almost equal rows to rows that differ in every number, and lengths around those of vector registers.
        for (dim, spread) in [(1, 255), (7, 2), (37, 255), (784, 3), (3072, 255)] {
            let a: Vec<u8> = (0..dim).map(|i| (i * 89 % 251) as u8).collect();
            let b: Vec<u8> = (0..dim).map(|i| a[i].wrapping_add((i * i % spread) as u8)).collect();
            for norm in [Norm::Euclidean, Norm::Manhattan, Norm::Chebyshev] {
                let squared = squared_by(norm, &a, &b);
                let least = crate::kernels::arch().dispatch(Least { norm, a: &a, b: &b });
                assert!(least <= squared, "{norm:?}, {dim} bytes: {least} and {squared}");
                assert!(least >= 0.999 * squared, "{norm:?}, {dim} bytes: {least} and {squared}");
            }
        }
    }

    struct Least<'a, T> {
        norm: Norm,
        a: &'a [T],
        b: &'a [T],
    }

    impl<T: Element> pulp::WithSimd for Least<'_, T> {
        type Output = f64;

        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            T::least_squared_by(self.norm, simd, self.a, self.b)
        }
    }

    #[test]
    fn both_directions_agree_to_the_bit() {
        let a: Vec<f64> = (0..19).map(|i| f64::from(i).sin()).collect();
        let b: Vec<f64> = (0..19).map(|i| f64::from(i).cos()).collect();
        assert_eq!(squared_distance(&a, &b).to_bits(), squared_distance(&b, &a).to_bits());
    }
}
