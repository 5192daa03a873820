//! How many coordinates pay off.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;

use super::RowSource;
use super::axes::principal_axes;
use super::coordinates::{Coordinates, Frame};
use crate::kernels::arch;
use crate::neighbors::{Element, squared_distance};

/// Up to this dimension all coordinates are short enough.
const FEW_DIMENSIONS: usize = 48;
/// Below this many rows anything is fast.
const FEW_ROWS: usize = 1000;
/// Below this many rows, the axes of rows of so many numbers cost more than they save.
const FEW_LONG_ROWS: (usize, usize) = (4096, 8192);
/// Fewest and most axes of the fine coordinates. With ρ they fill whole vector registers.
const FINE_AXES: (usize, usize) = (63, 255);
/// Numbers of a row per fine axis: making the axes costs as their number, and so does not having them as that of the numbers.
const NUMBERS_PER_FINE_AXIS: usize = 6;
/// Numbers of axes that are considered for the coarse coordinates. With ρ they fill whole vector registers.
const COARSE_AXES: [usize; 7] = [23, 31, 47, 63, 95, 127, 191];
/// Rows on which the choice is measured.
const PROBES: usize = 12;

/// Costs in nanoseconds, measured once on a machine with 512-bit vectors; only their ratios matter.
mod cost {
    /// One coordinate of one pair in a matrix product.
    pub(super) const PRODUCT: f64 = 0.012;
    /// Scanning one product.
    pub(super) const SCAN: f64 = 0.3;
    /// Looking at a candidate, and each of its fine coordinates.
    pub(super) const FINE: (f64, f64) = (12.0, 0.08);
    /// Settling a pair; [`Element::SETTLE_NANOSECONDS`](crate::neighbors::Element) says what each of its numbers costs.
    pub(super) const SETTLE: f64 = 40.0;
}

/// What comparing a pair by so many coordinates costs in a whole search, what it leaves to do included. (On 200,000 × 128
/// numbers in clusters the estimate is 13 s, and the search takes 12.)
pub(super) fn pair_nanoseconds(coordinates: usize) -> f64 {
    cost::SCAN + cost::PRODUCT * coordinates as f64
}

/// The short vectors of a search.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) coordinates: Coordinates,
    /// How many of the axes are compared for every pair, the others only for those that these leave; `None` if all
    /// coordinates are compared at once.
    pub(super) coarse_axes: Option<usize>,
    /// Rows of a leaf at most.
    pub(super) leaf_rows: usize,
    /// Leaves in which every row looks for its first radius, in addition to its own.
    pub(super) near_leaves: usize,
}

impl Plan {
    /// A plan for `rows`, by what is `looked_at` in their place: the rows themselves, or shorter ones whose distances never
    /// exceed theirs.
    pub(super) fn new<R: RowSource, L: RowSource>(
        rows: R,
        looked_at: L,
        frame: &Frame,
        neighbors: usize,
    ) -> Self {
        let few = rows.len() < FEW_LONG_ROWS.0 && rows.dim() >= FEW_LONG_ROWS.1;
        if looked_at.dim() <= FEW_DIMENSIONS || rows.len() < FEW_ROWS || few {
            return Self::unrotated(looked_at, frame);
        }
        let axes = principal_axes(looked_at, &frame.center, frame.scale, fine_axes(looked_at.dim()));
        let coordinates = Coordinates::on_axes(looked_at, frame, &axes);
        match best_count(rows, looked_at, &coordinates, neighbors) {
            Some(count) => Self { coordinates, coarse_axes: Some(count), leaf_rows: 256, near_leaves: 8 },
            None => Self::unrotated(looked_at, frame),
        }
    }

    fn unrotated<R: RowSource>(rows: R, frame: &Frame) -> Self {
        // In few dimensions small boxes keep leaves apart; in many nothing does, and looking around costs as the rest.
        let (leaf_rows, near_leaves) = if rows.dim() <= FEW_DIMENSIONS { (128, 6) } else { (256, 2) };
        let coordinates = Coordinates::unrotated(rows, frame);
        Self { coordinates, coarse_axes: None, leaf_rows, near_leaves }
    }
}

/// Fine axes for rows of `dim` numbers: one less than a multiple of 32, for ρ.
fn fine_axes(dim: usize) -> usize {
    let (fewest, most) = FINE_AXES;
    let whole = (dim / NUMBERS_PER_FINE_AXIS).next_multiple_of(32) - 1;
    whole.clamp(fewest, most).min(dim / 2)
}

/// The number of coarse axes that should cost least; `None` if unrotated samples cost less.
fn best_count<R: RowSource, L: RowSource>(
    rows: R,
    looked_at: L,
    fine: &Coordinates,
    neighbors: usize,
) -> Option<usize> {
    let trial = AxesTrial::new(fine);
    let probes = PROBES.min(rows.len());
    let survivors: Vec<Vec<usize>> = (0..probes)
        .into_par_iter()
        .map(|index| {
            let p = index * rows.len() / probes;
            let radius = trial.radius(rows, p, neighbors);
            let mut survivors = trial.survivors(p, radius);
            survivors.push(unrotated_survivors(looked_at, rows.dim(), p, radius / fine.unit, neighbors));
            survivors
        })
        .collect();
    let counts = &trial.counts;
    let mean = |at: usize| survivors.iter().map(|of| of[at] as f64).sum::<f64>() / probes as f64;
    let last = counts.len() - 1;
    let settle = cost::SETTLE + R::Item::SETTLE_NANOSECONDS * rows.dim() as f64;
    let pairs = rows.len() as f64 / 2.0;
    let rotated = |at: usize| {
        pairs * (cost::SCAN + cost::PRODUCT * (counts[at] + 1) as f64)
            + mean(at) * (cost::FINE.0 + cost::FINE.1 * fine.numbers as f64)
            + mean(last) * settle
    };
    // What was spent on the axes so far is spent in either case.
    let unrotated = pairs * (cost::SCAN + cost::PRODUCT * looked_at.dim() as f64) + mean(last + 1) * settle;
    let best = (0..last).min_by(|&a, &b| rotated(a).total_cmp(&rotated(b)))?;
    (rotated(best) < unrotated).then(|| counts[best])
}

/// How many rows all coordinates leave as neighbors of row `p`: of shorter rows than the samples, those within the radius.
fn unrotated_survivors<R: RowSource>(rows: R, dim: usize, p: usize, radius: f64, neighbors: usize) -> usize {
    if rows.dim() == dim {
        return 4 * neighbors;
    }
    let own = rows.row(p);
    let reach = radius + 2.0 * rows.error();
    let near = |&q: &usize| squared_distance(&own, &rows.row(q)) <= reach * reach;
    (0..rows.len()).filter(near).count()
}

/// Counts what the lower bound leaves for several numbers of axes.
struct AxesTrial<'a> {
    fine: &'a Coordinates,
    counts: Vec<usize>,
    /// ρ of every row for each of the counts.
    rests: Vec<f32>,
}

impl<'a> AxesTrial<'a> {
    fn new(fine: &'a Coordinates) -> Self {
        let last = fine.numbers - 1;
        let mut counts: Vec<usize> = COARSE_AXES.into_iter().filter(|&count| count < last).collect();
        counts.push(last);
        let rests = (0..fine.rows())
            .into_par_iter()
            .flat_map_iter(|p| {
                let (row, squared) = (fine.row(p), fine.norm(p).powi(2));
                let mut projected = 0;
                segments(&counts).map(move |segment| {
                    projected += row[segment].iter().map(|&v| i32::from(v).pow(2)).sum::<i32>();
                    (squared - f64::from(projected)).max(0.0).sqrt() as f32
                })
            })
            .collect();
        Self { fine, counts, rests }
    }

    /// ‖a_m − b_m‖² + (ρ_a − ρ_b)² of rows p and q for each number m of axes.
    #[inline(always)]
    fn lower_bounds(&self, p: usize, q: usize, bounds: &mut [f32]) {
        let (a, b) = (self.fine.row(p), self.fine.row(q));
        let rests = |p: usize| &self.rests[p * self.counts.len()..(p + 1) * self.counts.len()];
        let rests = rests(p).iter().zip(rests(q));
        let mut distance = 0;
        for ((bound, segment), (rest_p, rest_q)) in bounds.iter_mut().zip(segments(&self.counts)).zip(rests) {
            let differences = a[segment.clone()].iter().zip(&b[segment]);
            distance += differences.map(|(&a, &b)| (i32::from(a) - i32::from(b)).pow(2)).sum::<i32>();
            *bound = distance as f32 + (rest_p - rest_q) * (rest_p - rest_q);
        }
    }

    /// The lower bounds of row `p` to all others, those for each number of axes together.
    fn bounds(&self, p: usize) -> Vec<f32> {
        let width = self.counts.len();
        let mut bounds = vec![0.0_f32; self.fine.rows() * width];
        arch().dispatch(LowerBounds { trial: self, p, bounds: &mut bounds });
        bounds[p * width..(p + 1) * width].fill(f32::INFINITY);
        bounds
    }

    /// About the distance of row `p` to its last neighbor, and the errors of short vectors, in steps.
    fn radius<R: RowSource>(&self, rows: R, p: usize, neighbors: usize) -> f64 {
        let (width, bounds) = (self.counts.len(), self.bounds(p));
        let finest = |q: usize| bounds[q * width + width - 1];
        let mut nearest: Vec<usize> = (0..rows.len()).collect();
        let tried = (2 * neighbors).min(rows.len() - 1);
        nearest.select_nth_unstable_by(tried - 1, |&a, &b| finest(a).total_cmp(&finest(b)));
        let own = rows.row(p);
        let mut distances: Vec<f64> =
            nearest[..tried].iter().map(|&q| squared_distance(&own, &rows.row(q))).collect();
        distances.sort_unstable_by(f64::total_cmp);
        distances[neighbors - 1].sqrt() * self.fine.unit + 2.0 * self.fine.errors[p]
    }

    /// For each number of axes, how many rows the lower bound leaves within a radius of row `p`.
    fn survivors(&self, p: usize, radius: f64) -> Vec<usize> {
        let (width, bounds) = (self.counts.len(), self.bounds(p));
        let squared_radius = (radius * radius) as f32;
        (0..width)
            .map(|at| bounds.iter().skip(at).step_by(width).filter(|&&bound| bound <= squared_radius).count())
            .collect()
    }
}

/// The lower bounds of one row against all, compiled for each instruction set.
struct LowerBounds<'b, 'a> {
    trial: &'b AxesTrial<'a>,
    p: usize,
    bounds: &'b mut [f32],
}

impl WithSimd for LowerBounds<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (q, bounds) in self.bounds.chunks_exact_mut(self.trial.counts.len()).enumerate() {
            self.trial.lower_bounds(self.p, q, bounds);
        }
    }
}

/// The ranges between consecutive counts.
fn segments(counts: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    counts.iter().scan(0, |first, &count| Some(std::mem::replace(first, count)..count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbors::Rows;

    /// Rows whose first `directions` entries vary a hundred times as much as the others.
    fn rows_along(directions: usize) -> Vec<f32> {
        let noise = |seed: usize| ((seed as f32 * 12.9898).sin() * 43758.547).fract() - 0.5;
        let size = |at: usize| if at % 64 < directions { 100.0 } else { 1.0 };
        (0..2000 * 64).map(|at| noise(at + 1) * size(at)).collect()
    }

    fn plan(values: &[f32]) -> Plan {
        let rows = Rows { values, dim: 64 };
        Plan::new(rows, rows, &Frame::of(rows).expect("not too large"), 10)
    }

    #[test]
    fn few_coordinates_are_used_where_they_pay() {
        let plan = plan(&rows_along(4));
        assert!(plan.coarse_axes.is_some_and(|count| count < plan.coordinates.numbers - 1));
    }

    #[test]
    fn all_coordinates_are_used_where_none_says_more() {
        let plan = plan(&rows_along(64));
        assert!(plan.coarse_axes.is_none() && plan.coordinates.numbers == 64);
    }
}
