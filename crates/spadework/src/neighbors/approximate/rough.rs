//! The distances by which candidates are compared until the end.

use pulp::Simd;
use rayon::prelude::*;

use crate::neighbors::exact::coordinates::{Frame, Rotation, squared_norm};
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

    /// At most what [`Distance::between`] is, at a fraction of its cost; not negative.
    fn bound<L: Lanes>(&self, lanes: L, p: u32, q: u32) -> i32;

    /// Something that grows with the distance of two samples, of which the bound is known; not negative.
    fn between<L: Lanes>(&self, lanes: L, p: u32, q: u32, bound: i32) -> f32;

    /// The way from one sample to another.
    fn direction(&self, from: u32, to: u32) -> Self::Direction;

    /// How far a sample lies along a direction.
    fn along<L: Lanes>(&self, lanes: L, p: u32, direction: &Self::Direction) -> f32;
}

/// Numbers of 16 bits that fill a cache line.
const BLOCK: usize = 32;
/// Numbers of a line beside a squared norm, which takes the room of two.
const BESIDE_NORM: usize = BLOCK - 2;
/// Samples that are rotated together.
const ROWS_AT_ONCE: usize = 256;

/// A cache line of numbers: what is looked at most must not lie across two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Block([i16; BLOCK]);

impl Block {
    const ZERO: Self = Self([0; BLOCK]);

    /// The last two numbers are one of 32 bits.
    #[inline(always)]
    fn norm(&self) -> i32 {
        let [.., low, high] = self.0;
        i32::from(high) << 16 | i32::from(low as u16)
    }

    fn set_norm(&mut self, norm: i32) {
        (self.0[BLOCK - 2], self.0[BLOCK - 1]) = (norm as i16, (norm >> 16) as i16);
    }
}

/// Squared distances between samples rounded to 16 bits a number, which is half the memory traffic of single precision,
/// and rotated to their principal axes, which is less still: most pairs that are too far differ enough in their first
/// coordinates, and these fill one cache line, the head of a sample, with their squared norm.
#[derive(Debug)]
pub(super) struct ShortDistance {
    heads: Vec<Block>,
    /// What the heads leave, in so many blocks a sample, and its squared norm at the end of the last.
    tails: Vec<Block>,
    tail_blocks: usize,
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
        Some(Self::rotated(rows, &frame))
    }

    fn rotated<T: Element>(rows: Rows<'_, T>, frame: &Frame) -> Self {
        let dim = rows.dim;
        let tail_blocks = if dim <= BESIDE_NORM { 0 } else { (dim - BESIDE_NORM + 2).div_ceil(BLOCK) };
        let rotation = Rotation::to_principal_axes(rows, frame);
        let mut heads = vec![Block::ZERO; rows.len()];
        let mut tails = vec![Block::ZERO; rows.len() * tail_blocks];
        // Chunks of nothing cannot be counted: where there are no tails, there is an empty one a sample.
        let tail_chunks = tails.par_chunks_mut(ROWS_AT_ONCE * tail_blocks.max(1));
        let mut tail_chunks: Vec<&mut [Block]> = tail_chunks.collect();
        tail_chunks.resize_with(rows.len().div_ceil(ROWS_AT_ONCE), Default::default);
        heads
            .par_chunks_mut(ROWS_AT_ONCE)
            .zip(tail_chunks)
            .zip(rows.values.par_chunks(ROWS_AT_ONCE * dim))
            .for_each(|((heads, tails), rows)| {
                for (at, numbers) in rotation.steps(rows).chunks_exact(dim).enumerate() {
                    let (head, tail) = numbers.split_at(dim.min(BESIDE_NORM));
                    fill(&mut heads[at..=at], head);
                    fill(&mut tails[at * tail_blocks..(at + 1) * tail_blocks], tail);
                }
            });
        Self { heads, tails, tail_blocks }
    }

    /// Puts the samples in another order: the one at `order[i]` comes to place i.
    pub(super) fn permute(&mut self, order: &[u32]) {
        self.heads = order.iter().map(|&p| self.heads[p as usize]).collect();
        self.tails = order.iter().flat_map(|&p| self.tail(p)).copied().collect();
    }

    #[inline(always)]
    fn tail(&self, p: u32) -> &[Block] {
        &self.tails[p as usize * self.tail_blocks..(p as usize + 1) * self.tail_blocks]
    }
}

/// Numbers from the start of some blocks, and their squared norm at the end.
fn fill(blocks: &mut [Block], numbers: &[i16]) {
    for (block, numbers) in blocks.iter_mut().zip(numbers.chunks(BLOCK)) {
        block.0[..numbers.len()].copy_from_slice(numbers);
    }
    if let Some(last) = blocks.last_mut() {
        last.set_norm(squared_norm(numbers));
    }
}

/// ‖a − b‖² of numbers that end in their squared norms.
#[inline(always)]
fn squared_difference<L: Lanes>(lanes: L, a: &[Block], b: &[Block]) -> i32 {
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

impl Distance for ShortDistance {
    type Direction = (Block, Vec<Block>);

    fn len(&self) -> usize {
        self.heads.len()
    }

    #[inline(always)]
    fn bound<L: Lanes>(&self, lanes: L, p: u32, q: u32) -> i32 {
        let head = |p: u32| std::slice::from_ref(&self.heads[p as usize]);
        squared_difference(lanes, head(p), head(q))
    }

    #[inline(always)]
    fn between<L: Lanes>(&self, lanes: L, p: u32, q: u32, bound: i32) -> f32 {
        (bound + squared_difference(lanes, self.tail(p), self.tail(q))) as f32
    }

    fn direction(&self, from: u32, to: u32) -> (Block, Vec<Block>) {
        // Half of the way: all of it might not fit 16 bits.
        let half = |from: &Block, to: &Block| Block(std::array::from_fn(|at| to.0[at] / 2 - from.0[at] / 2));
        let mut head = half(&self.heads[from as usize], &self.heads[to as usize]);
        let mut tail: Vec<Block> =
            self.tail(from).iter().zip(self.tail(to)).map(|(from, to)| half(from, to)).collect();
        // Norms are no part of the way.
        head.set_norm(0);
        if let Some(last) = tail.last_mut() {
            last.set_norm(0);
        }
        (head, tail)
    }

    #[inline(always)]
    fn along<L: Lanes>(&self, lanes: L, p: u32, (head, tail): &(Block, Vec<Block>)) -> f32 {
        let own = &self.heads[p as usize];
        let mut sums =
            lanes.add_pair_products(lanes.splat(0), lanes.load_pairs(&own.0), lanes.load_pairs(&head.0));
        for (own, tail) in self.tail(p).iter().zip(tail) {
            sums = lanes.add_pair_products(sums, lanes.load_pairs(&own.0), lanes.load_pairs(&tail.0));
        }
        lanes.total(sums) as f32
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
    fn bound<L: Lanes>(&self, _: L, _: u32, _: u32) -> i32 {
        0
    }

    #[inline(always)]
    fn between<L: Lanes>(&self, lanes: L, p: u32, q: u32, _: i32) -> f32 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbors::exact::lanes::{LanesTask, dispatch};

    /// Bounds and distances of all pairs.
    struct AllPairs<'a>(&'a ShortDistance);

    impl LanesTask for AllPairs<'_> {
        type Output = Vec<(u32, u32, i32, f32)>;

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Self::Output {
            let mut all = Vec::new();
            for p in 0..self.0.len() as u32 {
                for q in 0..p {
                    let bound = self.0.bound(lanes, p, q);
                    all.push((p, q, bound, self.0.between(lanes, p, q, bound)));
                }
            }
            all
        }
    }

    /// Rows that differ most in three directions, none of which is an axis.
    fn values(rows: usize, dim: usize) -> Vec<f64> {
        let number = |p: usize, i: usize| ((p * 31 + i * i) as f64 * 0.7).sin();
        let wave = |p: usize, i: usize| {
            (0..3).map(|wave| number(p, wave) * ((i * (wave + 1)) as f64 * 0.3).cos()).sum::<f64>()
        };
        (0..rows * dim)
            .map(|at| 5.0 * wave(at / dim, at % dim) + 0.1 * number(at / dim, at % dim + 7))
            .collect()
    }

    /// Fewer numbers than a head has, as many, one and some more, and more than one block of a tail.
    #[test]
    fn distances_are_those_of_the_samples_up_to_rounding() {
        for dim in [1, 7, 30, 31, 60, 61, 100] {
            let values = values(120, dim);
            let rows = Rows { values: &values, dim };
            let frame = Frame::of(rows).expect("not too large");
            let mut distance = ShortDistance::rotated(rows, &frame);
            let order: Vec<u32> = (0..120).map(|at| at * 7 % 120).collect();
            distance.permute(&order);
            for (p, q, bound, between) in dispatch(AllPairs(&distance)) {
                let row = |p: u32| rows.row(order[p as usize] as usize);
                let want = squared_distance(row(p), row(q)).sqrt() * frame.unit();
                // Half a step a number in each sample, and single precision in the rotation.
                let rounding = (dim as f64).sqrt() + 1.0;
                assert!((f64::from(between).sqrt() - want).abs() <= rounding, "{dim}: {between} and {want}");
                // Single precision may round the distance down, by a part in 2²⁴.
                assert!(
                    bound >= 0 && f64::from(bound) <= f64::from(between) * (1.0 + 1e-7),
                    "{dim}: {bound}"
                );
            }
        }
    }

    #[test]
    fn first_coordinates_tell_most_of_a_distance() {
        let values = values(120, 100);
        let rows = Rows { values: &values, dim: 100 };
        let distance = ShortDistance::rotated(rows, &Frame::of(rows).expect("not too large"));
        let far = dispatch(AllPairs(&distance)).into_iter().filter(|pair| pair.3 > 1e6);
        // Three directions have nearly all of the variance, and a head has room for thirty.
        assert!(far.clone().count() > 1000 && far.clone().all(|(_, _, bound, all)| bound as f32 > 0.9 * all));
    }

    #[test]
    fn places_along_a_direction_are_inner_products() {
        struct Along<'a>(&'a ShortDistance, &'a (Block, Vec<Block>));
        impl LanesTask for Along<'_> {
            type Output = Vec<f32>;

            #[inline(always)]
            fn run<L: Lanes>(self, lanes: L) -> Vec<f32> {
                (0..self.0.len() as u32).map(|p| self.0.along(lanes, p, self.1)).collect()
            }
        }
        for dim in [20, 64] {
            let values = values(120, dim);
            let rows = Rows { values: &values, dim };
            let frame = Frame::of(rows).expect("not too large");
            let distance = ShortDistance::rotated(rows, &frame);
            let places = dispatch(Along(&distance, &distance.direction(3, 17)));
            let way = |p: usize| -> f64 {
                (0..dim)
                    .map(|i| (rows.row(17)[i] - rows.row(3)[i]) / 2.0 * (rows.row(p)[i] - rows.row(3)[i]))
                    .sum::<f64>()
                    * frame.unit().powi(2)
            };
            // Places are measured from the centre, so that their differences are compared. Each number is off by a step
            // or so, and the others are up to 22,000.
            for p in 0..120 {
                let off = (f64::from(places[p] - places[3]) - way(p)).abs();
                assert!(
                    off < 2.0 * 22_000.0 * (dim as f64).sqrt() * 2.0,
                    "{dim}: sample {p} is off by {off}"
                );
            }
        }
    }
}
