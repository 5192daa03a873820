//! The distances by which candidates are compared until the end.

use pulp::Simd;
use rayon::prelude::*;

use crate::neighbors::exact::coordinates::{Coordinates, Frame, squared_norm};
use crate::neighbors::exact::lanes::Lanes;
use crate::neighbors::{Element, Rows, single_squared_distance, squared_distance};

/// Numbers within this range are compared in single precision as they are.
const SANE: std::ops::Range<f64> = 1e-12..1e12;
/// Beyond this dimension samples are compared where they are: a copy, though short, may not fit the memory.
const MOST_COPIED: usize = 512;
/// Steps that the distance to a neighbour must have for each that rounding may move it by, as a rule.
const RESOLUTION: f64 = 100.0;

/// A way of comparing samples that is good enough to choose candidates.
pub(super) trait Distance: Sync {
    /// A way from one sample to another.
    type Direction: Sync;

    /// Number of samples.
    fn len(&self) -> usize;

    /// Something that grows with the distance of two samples; not negative.
    fn between<L: Lanes>(&self, lanes: L, p: u32, q: u32) -> f32;

    /// The way from one sample to another.
    fn direction(&self, from: u32, to: u32) -> Self::Direction;

    /// How far a sample lies along a direction.
    fn along<L: Lanes>(&self, lanes: L, p: u32, direction: &Self::Direction) -> f32;
}

/// Squared distances between samples rounded to 16 bits a number: half the memory traffic of single precision.
#[derive(Debug)]
pub(super) struct ShortDistance {
    coordinates: Coordinates,
    squared_norms: Vec<i32>,
}

impl ShortDistance {
    /// `None` where 16 bits say too little of more than some samples, whose k-th neighbours are as far as these, or where
    /// the copy would be too large.
    pub(super) fn new<T: Element>(rows: Rows<'_, T>, mut squared_radii: Vec<f64>) -> Option<Self> {
        if rows.dim > MOST_COPIED {
            return None;
        }
        let frame = Frame::of(rows)?;
        let low = squared_radii.len() / 20;
        let (_, &mut near, _) = squared_radii.select_nth_unstable_by(low, f64::total_cmp);
        // Rounding moves each of d differences by a sixth of a step squared, in the mean.
        let rounding = (rows.dim as f64 / 6.0).sqrt();
        if near.sqrt() * frame.unit() < RESOLUTION * rounding {
            return None;
        }
        let coordinates = Coordinates::unrotated(rows, &frame);
        let squared_norms =
            (0..rows.len()).into_par_iter().map(|p| squared_norm(coordinates.row(p))).collect();
        Some(Self { coordinates, squared_norms })
    }

    /// Puts the samples in another order: the one at `order[i]` comes to place i.
    pub(super) fn permute(&mut self, order: &[u32]) {
        self.coordinates.permute(order);
        self.squared_norms = order.iter().map(|&p| self.squared_norms[p as usize]).collect();
    }
}

/// The inner product of two rows of 16-bit numbers that fill whole registers.
#[inline(always)]
fn short_product<L: Lanes>(lanes: L, a: &[i16], b: &[i16]) -> i32 {
    let ((a, _), (b, _)) = (a.as_chunks(), b.as_chunks());
    let mut sums = lanes.splat(0);
    for (a, b) in a.iter().zip(b) {
        sums = lanes.add_pair_products(sums, lanes.load_pairs(a), lanes.load_pairs(b));
    }
    lanes.total(sums)
}

impl Distance for ShortDistance {
    type Direction = Vec<i16>;

    fn len(&self) -> usize {
        self.squared_norms.len()
    }

    #[inline(always)]
    fn between<L: Lanes>(&self, lanes: L, p: u32, q: u32) -> f32 {
        let (p, q) = (p as usize, q as usize);
        let product = short_product(lanes, self.coordinates.row(p), self.coordinates.row(q));
        (self.squared_norms[p] + self.squared_norms[q] - 2 * product) as f32
    }

    fn direction(&self, from: u32, to: u32) -> Vec<i16> {
        let numbers = self.coordinates.row(from as usize).iter().zip(self.coordinates.row(to as usize));
        // Half of the way: all of it might not fit 16 bits.
        numbers.map(|(&from, &to)| to / 2 - from / 2).collect()
    }

    #[inline(always)]
    fn along<L: Lanes>(&self, lanes: L, p: u32, direction: &Vec<i16>) -> f32 {
        short_product(lanes, self.coordinates.row(p as usize), direction) as f32
    }
}

/// Squared distances of the samples where they are, in single precision, of numbers scaled where they are so large or small that squares would not fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct FullDistance<'a, T> {
    rows: Rows<'a, T>,
    /// What numbers are multiplied by in double precision; `None`: single precision will do.
    unit: Option<f64>,
}

impl<'a, T: Rough> FullDistance<'a, T> {
    pub(super) fn new(rows: Rows<'a, T>) -> Self {
        let largest = rows.values.par_iter().map(|value| value.to_f64().abs()).reduce(|| 0.0, f64::max);
        let sane = SANE.contains(&largest) || largest == 0.0;
        // The reciprocal of a subnormal number may be too large; its squares vanish in any case.
        let unit = if sane { None } else { Some(largest.recip().min(1e150)) };
        Self { rows, unit }
    }

    #[inline(always)]
    fn row(&self, p: u32) -> &'a [T] {
        self.rows.row(p as usize)
    }
}

impl<T: Rough> Distance for FullDistance<'_, T> {
    type Direction = Vec<f32>;

    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn between<L: Lanes>(&self, lanes: L, p: u32, q: u32) -> f32 {
        T::squared(lanes, self.row(p), self.row(q), self.unit)
    }

    fn direction(&self, from: u32, to: u32) -> Vec<f32> {
        let unit = self.unit.unwrap_or(1.0);
        let numbers = self.row(from).iter().zip(self.row(to));
        numbers.map(|(from, to)| ((to.to_f64() - from.to_f64()) * unit) as f32).collect()
    }

    #[inline(always)]
    fn along<L: Lanes>(&self, lanes: L, p: u32, direction: &Vec<f32>) -> f32 {
        T::along(lanes, self.row(p), direction, self.unit)
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
