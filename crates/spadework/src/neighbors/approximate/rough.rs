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
    pub(super) fn between(&self, p: u32, q: u32) -> f32 {
        T::squared(self.row(p), self.row(q), self.unit)
    }

    /// How far a sample lies along a direction that [`RoughDistance::direction`] gave.
    #[inline(always)]
    pub(super) fn along(&self, p: u32, direction: &[f32]) -> f32 {
        match self.unit {
            None => product(self.row(p), direction, |value| value.to_f64() as f32),
            Some(unit) => product(self.row(p), direction, |value| (value.to_f64() * unit) as f32),
        }
    }

    /// The way from one sample to another.
    pub(super) fn direction(&self, from: u32, to: u32) -> Vec<f32> {
        let unit = self.unit.unwrap_or(1.0);
        let numbers = self.row(from).iter().zip(self.row(to));
        numbers.map(|(from, to)| ((to.to_f64() - from.to_f64()) * unit) as f32).collect()
    }
}

/// The inner product, in a fixed order of summation.
#[inline(always)]
fn product<T: Rough>(row: &[T], direction: &[f32], single: impl Fn(T) -> f32) -> f32 {
    const LANES: usize = 16;
    let mut lanes = [0.0_f32; LANES];
    let ((rows, row_rest), (directions, direction_rest)) =
        (row.as_chunks::<LANES>(), direction.as_chunks::<LANES>());
    for (row, direction) in rows.iter().zip(directions) {
        for lane in 0..LANES {
            lanes[lane] += single(row[lane]) * direction[lane];
        }
    }
    let rest: f32 = row_rest.iter().zip(direction_rest).map(|(&value, along)| single(value) * along).sum();
    lanes.iter().sum::<f32>() + rest
}

/// Elements whose squared distances can be had in single precision.
pub(super) trait Rough: Element {
    /// ‖a − b‖² in squares of the unit.
    fn squared(a: &[Self], b: &[Self], unit: Option<f64>) -> f32;
}

impl Rough for f32 {
    #[inline(always)]
    fn squared(a: &[f32], b: &[f32], unit: Option<f64>) -> f32 {
        match unit {
            None => single_squared_distance(a, b),
            Some(unit) => (squared_distance(a, b) * unit * unit) as f32,
        }
    }
}

impl Rough for f64 {
    #[inline(always)]
    fn squared(a: &[f64], b: &[f64], unit: Option<f64>) -> f32 {
        let unit = unit.unwrap_or(1.0);
        (squared_distance(a, b) * unit * unit) as f32
    }
}

/// Work on many distances, compiled for each instruction set.
pub(super) trait DistanceWork {
    /// Does it.
    fn run(self);
}

/// Runs work with the best instruction set of the machine.
pub(super) fn dispatch(work: impl DistanceWork) {
    struct Dispatched<W>(W);
    impl<W: DistanceWork> WithSimd for Dispatched<W> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            self.0.run();
        }
    }
    Arch::new().dispatch(Dispatched(work));
}
