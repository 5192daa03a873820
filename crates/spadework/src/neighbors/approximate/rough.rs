//! The distance by which candidates are compared until the end.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::neighbors::{Element, single_squared_distance, squared_distance};

/// Numbers within this range are compared in single precision as they are.
const SANE: std::ops::Range<f64> = 1e-12..1e12;

/// Squared distances in single precision, of numbers scaled where they are so large or small that squares would not fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoughDistance<'a, T> {
    values: &'a [T],
    dim: usize,
    /// What numbers are multiplied by in double precision; `None`: single precision will do.
    unit: Option<f64>,
}

impl<'a, T: Rough> RoughDistance<'a, T> {
    pub(super) fn new(values: &'a [T], dim: usize) -> Self {
        let largest = values.par_iter().map(|value| value.to_f64().abs()).reduce(|| 0.0, f64::max);
        let sane = SANE.contains(&largest) || largest == 0.0;
        // The reciprocal of a subnormal number may be too large; its squares vanish in any case.
        let unit = if sane { None } else { Some(largest.recip().min(1e150)) };
        Self { values, dim, unit }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    #[inline(always)]
    pub(super) fn row(&self, p: u32) -> &'a [T] {
        let p = p as usize;
        &self.values[p * self.dim..(p + 1) * self.dim]
    }

    #[inline(always)]
    pub(super) fn between<S: Simd>(&self, simd: S, p: u32, q: u32) -> f32 {
        T::squared(simd, self.row(p), self.row(q), self.unit)
    }

    /// How far a sample lies along a direction that [`RoughDistance::direction`] gave.
    #[inline(always)]
    pub(super) fn along<S: Simd>(&self, simd: S, p: u32, direction: &[f32]) -> f32 {
        T::along(simd, self.row(p), direction, self.unit)
    }

    /// The way from one sample to another.
    pub(super) fn direction(&self, from: u32, to: u32) -> Vec<f32> {
        let unit = self.unit.unwrap_or(1.0);
        let numbers = self.row(from).iter().zip(self.row(to));
        numbers.map(|(from, to)| ((to.to_f64() - from.to_f64()) * unit) as f32).collect()
    }
}

/// Elements that can be compared in single precision.
pub(super) trait Rough: Element {
    /// ‖a − b‖² in squares of the unit.
    fn squared<S: Simd>(simd: S, a: &[Self], b: &[Self], unit: Option<f64>) -> f32;

    /// The inner product of a row, in the unit, with a direction.
    fn along<S: Simd>(simd: S, row: &[Self], direction: &[f32], unit: Option<f64>) -> f32;
}

impl Rough for f32 {
    #[inline(always)]
    fn squared<S: Simd>(simd: S, a: &[f32], b: &[f32], unit: Option<f64>) -> f32 {
        match unit {
            None => single_squared_distance(simd, a, b),
            Some(unit) => (squared_distance(a, b) * unit * unit) as f32,
        }
    }

    #[inline(always)]
    fn along<S: Simd>(simd: S, row: &[f32], direction: &[f32], unit: Option<f64>) -> f32 {
        if let Some(unit) = unit {
            return product(row, direction, unit);
        }
        let ((row, row_rest), (direction, direction_rest)) =
            (S::as_simd_f32s(row), S::as_simd_f32s(direction));
        let mut sums = simd.splat_f32s(0.0);
        for (&a, &b) in row.iter().zip(direction) {
            sums = simd.mul_add_e_f32s(a, b, sums);
        }
        let rest: f32 = row_rest.iter().zip(direction_rest).map(|(a, b)| a * b).sum();
        simd.reduce_sum_f32s(sums) + rest
    }
}

impl Rough for f64 {
    #[inline(always)]
    fn squared<S: Simd>(_: S, a: &[f64], b: &[f64], unit: Option<f64>) -> f32 {
        let unit = unit.unwrap_or(1.0);
        (squared_distance(a, b) * unit * unit) as f32
    }

    #[inline(always)]
    fn along<S: Simd>(_: S, row: &[f64], direction: &[f32], unit: Option<f64>) -> f32 {
        product(row, direction, unit.unwrap_or(1.0))
    }
}

/// The inner product by way of double precision.
#[inline(always)]
fn product<T: Element>(row: &[T], direction: &[f32], unit: f64) -> f32 {
    row.iter().zip(direction).map(|(value, &along)| value.to_f64() * unit * f64::from(along)).sum::<f64>()
        as f32
}

/// Work on many distances, compiled for each instruction set.
pub(super) trait DistanceWork {
    /// Does it.
    fn run<S: Simd>(self, simd: S);
}

/// Runs work with the best instruction set of the machine.
pub(super) fn dispatch(work: impl DistanceWork) {
    struct Dispatched<W>(W);
    impl<W: DistanceWork> WithSimd for Dispatched<W> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            self.0.run(simd);
        }
    }
    Arch::new().dispatch(Dispatched(work));
}
