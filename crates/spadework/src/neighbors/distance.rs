//! The one distance that decides: every search settles its winners with it, so that all agree to the last bit.

use pulp::Simd;

use crate::samples::{Norm, Samples, Values};

/// A number that samples are made of.
pub(crate) trait Element: Copy + Send + Sync + PartialOrd + 'static {
    /// The same number in double precision; exact.
    fn to_f64(self) -> f64;

    /// A lower bound of [`squared_distance`] at a fraction of its cost; 0 where there is none.
    fn least_squared_distance<S: Simd>(simd: S, a: &[Self], b: &[Self]) -> f64;

    /// The same for the other norms, squared.
    fn least_squared_by<S: Simd>(norm: Norm, simd: S, a: &[Self], b: &[Self]) -> f64;
}

impl Element for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

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
            Norm::Manhattan => single_moduli(a, b, single_sum),
            Norm::Chebyshev => single_moduli(a, b, single_larger),
        });
        let error = (2 * (a.len() + 4)) as f64 / f64::from(1_u32 << 24);
        let least = (distance * (1.0 - error)).max(0.0);
        if (1e-30..1e30).contains(&distance) { least * least } else { 0.0 }
    }
}

impl Element for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

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

/// Independent partial sums: enough for a vector unit, and part of the definition, since it fixes the order of
/// summation and with it the last bits.
pub(crate) const LANES: usize = 8;

/// ‖a − b‖² in double precision.
///
/// Differences, squares and sums are rounded one by one in a fixed order (no fused multiply-add), so the value does not
/// depend on the machine.
#[inline(always)]
pub(crate) fn squared_distance<T: Element>(a: &[T], b: &[T]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let mut lanes = [0.0_f64; LANES];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        add_squares(&mut lanes, a.map(T::to_f64), b.map(T::to_f64));
    }
    // A square of zero changes no sum, and whole chunks are what vectorises.
    add_squares(&mut lanes, padded(a_rest), padded(b_rest));
    folded(lanes)
}

/// The sum of all lanes.
#[inline(always)]
pub(super) fn folded(lanes: [f64; LANES]) -> f64 {
    // Keeps the compiler from breaking the whole loop into the pairs of this sum.
    let [s0, s1, s2, s3, s4, s5, s6, s7] = std::hint::black_box(lanes);
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

/// ‖x_p − x_q‖² of two samples, as the searches have it.
pub fn squared_distance_between(samples: &Samples<'_>, p: usize, q: usize) -> f64 {
    let dim = samples.dim();
    let (p, q) = (p * dim..(p + 1) * dim, q * dim..(q + 1) * dim);
    match samples.values() {
        Values::F32(values) => squared_by(samples.norm(), &values[p], &values[q]),
        Values::F64(values) => squared_by(samples.norm(), &values[p], &values[q]),
    }
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
    add_moduli(&mut lanes, padded(a_rest), padded(b_rest), fold);
    let [s0, s1, s2, s3, s4, s5, s6, s7] = std::hint::black_box(lanes);
    fold(fold(fold(s0, s4), fold(s2, s6)), fold(fold(s1, s5), fold(s3, s7)))
}

#[inline(always)]
fn add_moduli(lanes: &mut [f64; LANES], a: [f64; LANES], b: [f64; LANES], fold: impl Fn(f64, f64) -> f64) {
    for lane in 0..LANES {
        lanes[lane] = fold(lanes[lane], (a[lane] - b[lane]).abs());
    }
}

#[inline(always)]
fn sum(a: f64, b: f64) -> f64 {
    a + b
}

/// As a comparison, which is one instruction; there is no NaN to take care of.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
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

/// Numbers in single precision that are folded side by side: four registers of eight.
const SINGLE_LANES: usize = 32;

/// The moduli of all differences in single precision, folded lane by lane; 0 must change nothing. Plain loops, which are compiled for
/// the instruction set of the caller.
#[inline(always)]
fn single_moduli(a: &[f32], b: &[f32], fold: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
    let mut lanes = [0.0_f32; SINGLE_LANES];
    let (a_chunks, a_rest) = a.as_chunks::<SINGLE_LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<SINGLE_LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..SINGLE_LANES {
            lanes[lane] = fold(lanes[lane], (a[lane] - b[lane]).abs());
        }
    }
    for (lane, (a, b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane = fold(*lane, (a - b).abs());
    }
    let mut width = SINGLE_LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = fold(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn single_sum(a: f32, b: f32) -> f32 {
    a + b
}

#[inline(always)]
fn single_larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
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

    struct Least<'a> {
        norm: Norm,
        a: &'a [f32],
        b: &'a [f32],
    }

    impl pulp::WithSimd for Least<'_> {
        type Output = f64;

        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            f32::least_squared_by(self.norm, simd, self.a, self.b)
        }
    }

    #[test]
    fn both_directions_agree_to_the_bit() {
        let a: Vec<f64> = (0..19).map(|i| f64::from(i).sin()).collect();
        let b: Vec<f64> = (0..19).map(|i| f64::from(i).cos()).collect();
        assert_eq!(squared_distance(&a, &b).to_bits(), squared_distance(&b, &a).to_bits());
    }
}
