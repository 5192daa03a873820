//! The approximate distances by which candidates are compared during the search.

use std::borrow::Cow;

use pulp::Simd;
use rayon::prelude::*;

use super::block::{BESIDE_NORM, BLOCK, Block, fill, squared_difference};
use super::lists::{Candidate, CandidateLists, insert};
use super::packed::{Near, Packed};
use crate::neighbors::exact::coordinates::{Frame, Rotation};
use crate::neighbors::lanes::Lanes;
use crate::neighbors::{Element, RowSource, single_squared_distance, squared_distance};

/// Numbers within this range are compared in single precision as they are.
const SANE: std::ops::Range<f64> = 1e-12..1e12;
/// Beyond this dimension samples are compared where they are: a copy, though short, may not fit the memory.
pub(super) const MOST_COPIED: usize = 512;
/// Steps that the distance to a neighbor must have for each that rounding may move it by, as a rule.
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

    /// Samples of a leaf, all of which are compared with each other, at most: as many as are cheap to compare.
    fn leaf_samples(&self) -> usize;

    /// Itself where samples are compared by their heads alone.
    fn heads_alone(&self) -> Option<&ShortDistance> {
        None
    }

    /// Takes into the row of every sample of a leaf those of the others that are near enough.
    fn compare_leaf<L: Lanes>(&self, lanes: L, leaf: &[u32], rows: &mut CandidateLists);

    /// A bound from below for the squared distance of two samples, between which there is this.
    fn least_squared_distance(&self, between: f32) -> f64;

    /// The way from one sample to another.
    fn direction(&self, from: u32, to: u32) -> Self::Direction;

    /// How far a sample lies along a direction.
    fn along<L: Lanes>(&self, lanes: L, p: u32, direction: &Self::Direction) -> f32;
}

/// Samples of a leaf.
const LEAF_SAMPLES: usize = 128;
/// Samples of a leaf where heads are all that is compared. Sixteen pairs at once cost little compared with splitting the samples
/// and going through their lists, and leaves of 512 hold 97 % of the neighbors where those of 128 hold 89 %.
const HEAD_LEAF_SAMPLES: usize = 512;
/// Samples that are rotated together.
const ROWS_AT_ONCE: usize = 256;

/// Squared distances between samples rounded to 16 bits per number, which is half the memory traffic of single precision,
/// and rotated to their principal axes, which is less still: most pairs that are too far differ enough in their first
/// coordinates, and these fill one cache line, the head of a sample, with their squared norm.
#[derive(Debug)]
pub(super) struct ShortDistance {
    heads: Vec<Block>,
    /// What the heads leave, in so many blocks per sample, and its squared norm at the end of the last.
    tails: Vec<Block>,
    tail_blocks: usize,
    /// Factor from the samples' units to steps.
    unit: f64,
    /// What rounding may move the distance of two samples by, in steps.
    rounding: f64,
}

impl ShortDistance {
    /// `None` if the numbers are too large to be rotated, or the copy would be.
    pub(super) fn new<R: RowSource>(rows: R) -> Option<Self> {
        if rows.dim() > MOST_COPIED {
            return None;
        }
        Some(Self::rotated(rows, &Frame::of(rows)?))
    }

    /// Whether 16 bits say enough of all but a few samples, if the k-th neighbors of some are as far as these.
    pub(super) fn resolves(&self, dim: usize, mut squared_radii: Vec<f64>) -> bool {
        let low = squared_radii.len() / 20;
        let (_, &mut near, _) = squared_radii.select_nth_unstable_by(low, f64::total_cmp);
        // Rounding moves each of d differences by a sixth of a step squared, in the mean.
        near.sqrt() * self.unit >= RESOLUTION * (dim as f64 / 6.0).sqrt()
    }

    /// Compares samples by their heads alone from now on.
    pub(super) fn drop_tails(&mut self) {
        (self.tails, self.tail_blocks) = (Vec::new(), 0);
    }

    /// The heads of some samples.
    pub(super) fn packed(&self, samples: impl ExactSizeIterator<Item = u32>) -> Packed {
        Packed::new(samples.map(|p| self.head(p)))
    }

    #[inline(always)]
    pub(super) fn head(&self, p: u32) -> &Block {
        &self.heads[p as usize]
    }

    /// At least the squared distance of the heads of two samples that are within a squared distance of each other.
    pub(super) fn head_limit(&self, squared_distance: f64) -> i32 {
        // What does not fit is cut to the largest number.
        (squared_distance.sqrt() * self.unit + self.rounding).powi(2).ceil() as i32
    }

    fn rotated<R: RowSource>(rows: R, frame: &Frame) -> Self {
        let dim = rows.dim();
        let tail_blocks = if dim <= BESIDE_NORM { 0 } else { (dim - BESIDE_NORM + 2).div_ceil(BLOCK) };
        let rotation = Rotation::to_principal_axes(rows, frame);
        let mut heads = vec![Block::ZERO; rows.len()];
        let mut tails = vec![Block::ZERO; rows.len() * tail_blocks];
        // Chunks of nothing cannot be counted: where there are no tails, there is an empty one per sample.
        let tail_chunks = tails.par_chunks_mut(ROWS_AT_ONCE * tail_blocks.max(1));
        let mut tail_chunks: Vec<&mut [Block]> = tail_chunks.collect();
        tail_chunks.resize_with(rows.len().div_ceil(ROWS_AT_ONCE), Default::default);
        heads.par_chunks_mut(ROWS_AT_ONCE).zip(tail_chunks).enumerate().for_each(
            |(chunk, (heads, tails))| {
                let block = rows.block(chunk * ROWS_AT_ONCE..chunk * ROWS_AT_ONCE + heads.len());
                for (at, numbers) in rotation.steps(&block).chunks_exact(dim).enumerate() {
                    let (head, tail) = numbers.split_at(dim.min(BESIDE_NORM));
                    fill(&mut heads[at..=at], head);
                    fill(&mut tails[at * tail_blocks..(at + 1) * tail_blocks], tail);
                }
            },
        );
        // Half a step a number in each sample, and single precision in the rotation.
        let rounding = (dim as f64).sqrt() + 1.0;
        Self { heads, tails, tail_blocks, unit: frame.unit(), rounding }
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

impl Distance for ShortDistance {
    type Direction = (Block, Vec<Block>);

    fn len(&self) -> usize {
        self.heads.len()
    }

    #[inline(always)]
    fn bound<L: Lanes>(&self, lanes: L, p: u32, q: u32) -> i32 {
        let head = |p| std::slice::from_ref(self.head(p));
        squared_difference(lanes, head(p), head(q))
    }

    #[inline(always)]
    fn between<L: Lanes>(&self, lanes: L, p: u32, q: u32, bound: i32) -> f32 {
        (bound + squared_difference(lanes, self.tail(p), self.tail(q))) as f32
    }

    fn leaf_samples(&self) -> usize {
        if self.tail_blocks == 0 { HEAD_LEAF_SAMPLES } else { LEAF_SAMPLES }
    }

    fn heads_alone(&self) -> Option<&ShortDistance> {
        (self.tail_blocks == 0).then_some(self)
    }

    #[inline(always)]
    fn compare_leaf<L: Lanes>(&self, lanes: L, leaf: &[u32], rows: &mut CandidateLists) {
        let packed = self.packed(leaf.iter().copied());
        let last = rows.length() - 1;
        let mut near: Vec<Near> = Vec::new();
        for (at, &p) in leaf.iter().enumerate() {
            let row = rows.row_mut(at);
            packed.within(lanes, self.head(p), row[last].distance() as i32, &mut near);
            if near.len() > row.len() {
                // The nearest first, so that the others are soon too far.
                near.select_nth_unstable_by_key(last, |&(_, bound)| bound);
            }
            for &(place, bound) in &near {
                if place != at && bound as f32 <= row[last].distance() {
                    let q = leaf[place];
                    insert(row, Candidate::new(self.between(lanes, p, q, bound), q));
                }
            }
        }
    }

    fn least_squared_distance(&self, between: f32) -> f64 {
        // The bound is rounded down: single precision may have been rounded up.
        let steps = f64::from(between).sqrt() * (1.0 - 1e-6) - self.rounding;
        (steps.max(0.0) / self.unit).powi(2)
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
pub(super) struct FullDistance<R> {
    rows: R,
    /// What numbers are multiplied by in double precision; `None`: single precision will do.
    unit: Option<f64>,
}

impl<R: RowSource<Item: Rough>> FullDistance<R> {
    pub(super) fn new(rows: R) -> Self {
        let largest = rows.most();
        let sane = SANE.contains(&largest) || largest == 0.0;
        // The reciprocal of a subnormal number may be too large; its squares vanish in any case.
        let unit = if sane { None } else { Some(largest.recip().min(1e150)) };
        Self { rows, unit }
    }

    #[inline(always)]
    fn row(&self, p: u32) -> Cow<'_, [R::Item]> {
        self.rows.row(p as usize)
    }
}

impl<R: RowSource<Item: Rough>> Distance for FullDistance<R> {
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
        R::Item::squared(lanes, &self.row(p), &self.row(q), self.unit)
    }

    fn leaf_samples(&self) -> usize {
        LEAF_SAMPLES
    }

    /// Distances are costly here, so each is taken once for both of its samples.
    #[inline(always)]
    fn compare_leaf<L: Lanes>(&self, lanes: L, leaf: &[u32], rows: &mut CandidateLists) {
        for (at, &p) in leaf.iter().enumerate() {
            for (other, &q) in leaf[..at].iter().enumerate() {
                let distance = self.between(lanes, p, q, 0);
                insert(rows.row_mut(at), Candidate::new(distance, q));
                insert(rows.row_mut(other), Candidate::new(distance, p));
            }
        }
    }

    /// None: single precision is compared again.
    fn least_squared_distance(&self, _: f32) -> f64 {
        0.0
    }

    fn direction(&self, from: u32, to: u32) -> Vec<f32> {
        let unit = self.unit.unwrap_or(1.0);
        let (from, to) = (self.row(from), self.row(to));
        let numbers = from.iter().zip(to.iter());
        numbers.map(|(from, to)| ((to.to_f64() - from.to_f64()) * unit) as f32).collect()
    }

    #[inline(always)]
    fn along<L: Lanes>(&self, lanes: L, p: u32, direction: &Vec<f32>) -> f32 {
        R::Item::along(lanes, &self.row(p), direction, self.unit)
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

/// Elements that are not of single precision themselves.
macro_rules! rough_by_doubles {
    ($($type:ty),*) => {$(
        impl Rough for $type {
            #[inline(always)]
            fn squared<S: Simd>(_: S, a: &[$type], b: &[$type], unit: Option<f64>) -> f32 {
                let unit = unit.unwrap_or(1.0);
                (squared_distance(a, b) * unit * unit) as f32
            }

            #[inline(always)]
            fn along<S: Simd>(_: S, row: &[$type], direction: &[f32], unit: Option<f64>) -> f32 {
                product(row, direction, unit.unwrap_or(1.0))
            }
        }
    )*};
}
rough_by_doubles!(f64, u8);

/// The inner product by way of double precision.
#[inline(always)]
fn product<T: Element>(row: &[T], direction: &[f32], unit: f64) -> f32 {
    row.iter().zip(direction).map(|(value, &along)| value.to_f64() * unit * f64::from(along)).sum::<f64>()
        as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbors::Rows;
    use crate::neighbors::lanes::{LanesTask, dispatch};

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
                let want = squared_distance(&row(p), &row(q)).sqrt() * frame.unit();
                // Half a step a number in each sample, and single precision in the rotation.
                let rounding = (dim as f64).sqrt() + 1.0;
                assert!((f64::from(between).sqrt() - want).abs() <= rounding, "{dim}: {between} and {want}");
                let squared = (want / frame.unit()).powi(2);
                assert!(distance.least_squared_distance(between) <= squared, "{dim}: {between} and {want}");
                assert!(distance.head_limit(squared) >= bound, "{dim}: {bound} and {want}");
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
