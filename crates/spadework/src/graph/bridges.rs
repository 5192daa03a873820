//! The shortest edges that join the components of a graph.
//!
//! Borůvka's rounds: every part except the largest takes its shortest edge to another part, until one part is left. Nearby
//! samples are grouped into balls. Two samples are at least as far apart as their balls, so the shortest edge of a part so
//! far rules out most pairs of balls.
//!
//! In many dimensions balls rule out nothing. In that case, once there are few parts, a single pass over all pairs of samples finds
//! the shortest edge between every two parts ([`closest_pairs`]), and Kruskal's algorithm builds the forest from these edges.

use std::sync::atomic::{AtomicU64, Ordering};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::Components;
use super::components::DisjointSets;
use crate::error::Result;
use crate::kernels::arch;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::{
    Element, Pair as Bridge, RowSource, closest_pairs, shorter, squared_by, squared_distance, with_rows,
};
use crate::samples::{Norm, Samples};

/// Samples of a ball at most.
const BALL_SAMPLES: usize = 64;
/// Parts from which on the shortest edges of every two are kept: at most half a million.
const FEW_PARTS: usize = 1024;
/// Up to so many numbers of a sample, balls rule out most pairs.
const LOW_DIMENSIONS: usize = 16;
/// Up to so many samples, all pairs can be looked at: some minutes of one core, for a thousand numbers each.
const MOST_SAMPLES: usize = 1 << 18;
/// Allowed for the rounding of distances to centres, as a part of them.
const ROUNDING: f64 = 1e-9;

/// The shortest edges that join all components: a minimum spanning forest over them, ties to the lower nodes.
pub(super) fn shortest_bridges(
    samples: &Samples<'_>,
    components: &Components,
    monitor: &dyn Monitor,
) -> Result<Vec<(u32, u32)>> {
    if components.count() == 1 {
        return Ok(Vec::new());
    }
    let norm = samples.norm();
    with_rows!(samples, rows => forest(rows, norm, components, FEW_PARTS, monitor))
}

/// Edges of equal length are ordered by their nodes, so the forest is unique.
fn forest<R: RowSource>(
    rows: R,
    norm: Norm,
    components: &Components,
    few_parts: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<(u32, u32)>> {
    let by_pairs = norm == Norm::Euclidean && rows.dim() > LOW_DIMENSIONS && rows.len() <= MOST_SAMPLES;
    let mut balls = None;
    let mut bridges = Vec::new();
    let mut part_of: Vec<u32> = components.of_node().to_vec();
    let mut sizes = components.sizes().to_vec();
    while sizes.len() > 1 {
        if by_pairs
            && sizes.len() <= few_parts
            && let Some(mut pairs) = closest_pairs(rows, &part_of, sizes.len(), monitor)?
        {
            pairs.sort_unstable_by(shorter);
            join_parts(&pairs, &part_of, sizes.len(), &mut bridges);
            break;
        }
        let balls = match &mut balls {
            Some(balls) => balls,
            none => none.insert(Balls::new(rows, norm, monitor)?),
        };
        let shortest = shortest_of_parts(balls, &part_of, &sizes, monitor)?;
        let sets = join_parts(&shortest, &part_of, sizes.len(), &mut bridges);
        let merged = sets.into_components();
        let mut merged_sizes = vec![0; merged.count()];
        for (part, size) in sizes.iter().enumerate() {
            merged_sizes[merged.of_node()[part] as usize] += size;
        }
        sizes = merged_sizes;
        for part in &mut part_of {
            *part = merged.of_node()[*part as usize];
        }
    }
    bridges.sort_unstable();
    Ok(bridges)
}

/// Takes the edges that join parts which the edges before have not joined.
fn join_parts(
    edges: &[Bridge],
    part_of: &[u32],
    parts: usize,
    bridges: &mut Vec<(u32, u32)>,
) -> DisjointSets {
    let mut sets = DisjointSets::new(parts);
    for &(_, p, q) in edges {
        if sets.join(part_of[p as usize], part_of[q as usize]) {
            bridges.push((p, q));
        }
    }
    sets
}

/// The shortest edge that leaves each part, the largest part excepted: the others reach it, and not asking its nodes is
/// what makes a few stray samples cheap.
fn shortest_of_parts<R: RowSource>(
    balls: &Balls<R>,
    part_of: &[u32],
    sizes: &[usize],
    monitor: &dyn Monitor,
) -> Result<Vec<Bridge>> {
    let largest = (0..sizes.len()).max_by_key(|&part| (sizes[part], std::cmp::Reverse(part))).unwrap_or(0);
    let round = Round {
        balls,
        part_of,
        largest: largest as u32,
        only_part: balls.all.iter().map(|ball| only_part(&ball.samples, part_of)).collect(),
        shortest: sizes.iter().map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect(),
    };
    let found = (0..balls.all.len())
        .into_par_iter()
        .map(|ball| {
            check_cancelled(monitor)?;
            Ok(round.leaving(ball))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut shortest: Vec<Option<Bridge>> = vec![None; sizes.len()];
    for (part, bridge) in found.into_iter().flatten() {
        let best = &mut shortest[part as usize];
        if best.as_ref().is_none_or(|best| shorter(&bridge, best).is_lt()) {
            *best = Some(bridge);
        }
    }
    Ok(shortest.into_iter().flatten().collect())
}

/// The part that all of some samples belong to.
fn only_part(samples: &[u32], part_of: &[u32]) -> Option<u32> {
    let first = part_of[samples[0] as usize];
    samples.iter().all(|&p| part_of[p as usize] == first).then_some(first)
}

/// One round of Borůvka's.
struct Round<'a, R> {
    balls: &'a Balls<R>,
    part_of: &'a [u32],
    largest: u32,
    /// For every ball the part that all of its samples belong to, where there is one.
    only_part: Vec<Option<u32>>,
    /// Bits of the squared length of the shortest edge that each part has so far. Other threads may lower it at any time: a
    /// value that is out of date is only larger.
    shortest: Vec<AtomicU64>,
}

impl<R: RowSource> Round<'_, R> {
    fn shortest(&self, part: u32) -> f64 {
        f64::from_bits(self.shortest[part as usize].load(Ordering::Relaxed))
    }

    /// Edges from samples of a ball to other parts, at least the shortest of all of each part.
    fn leaving(&self, ball: usize) -> Vec<(u32, Bridge)> {
        if self.only_part[ball] == Some(self.largest) {
            return Vec::new();
        }
        let of_same_part =
            |other: usize| self.only_part[ball].is_some() && self.only_part[other] == self.only_part[ball];
        let mut others: Vec<(f64, usize)> = (0..self.balls.all.len())
            .filter(|&other| !of_same_part(other))
            .map(|other| (self.balls.gap(ball, other), other))
            .collect();
        // Near ones first: what they give rules out the others.
        others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        arch().dispatch(Leaving { round: self, samples: &self.balls.all[ball].samples, others: &others })
    }
}

/// The loop of [`Round::leaving`], compiled for each instruction set.
struct Leaving<'r, 'a, R> {
    round: &'r Round<'a, R>,
    samples: &'r [u32],
    /// Balls by how far they are at least, nearest first.
    others: &'r [(f64, usize)],
}

impl<R: RowSource> WithSimd for Leaving<'_, '_, R> {
    type Output = Vec<(u32, Bridge)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self { round, samples, others } = self;
        let mut found = Vec::new();
        for &p in samples {
            let part = round.part_of[p as usize];
            if part == round.largest {
                continue;
            }
            let a = round.balls.rows.row(p as usize);
            for &(gap, other) in others {
                if gap * gap > round.shortest(part) {
                    break;
                }
                if round.only_part[other] == Some(part) {
                    continue;
                }
                for &q in &round.balls.all[other].samples {
                    if round.part_of[q as usize] == part {
                        continue;
                    }
                    let b = round.balls.rows.row(q as usize);
                    if R::Item::least_squared_by(round.balls.norm, simd, &a, &b) > round.shortest(part) {
                        continue;
                    }
                    let squared = squared_by(round.balls.norm, &a, &b);
                    if squared <= round.shortest(part) {
                        round.shortest[part as usize].fetch_min(squared.to_bits(), Ordering::Relaxed);
                        keep_shorter(&mut found, part, (squared, p.min(q), p.max(q)));
                    }
                }
            }
        }
        found
    }
}

/// Keeps one edge per part: where many have the same length, all of them would fill the memory.
#[inline(always)]
fn keep_shorter(found: &mut Vec<(u32, Bridge)>, part: u32, bridge: Bridge) {
    match found.iter_mut().find(|(of, _)| *of == part) {
        Some((_, best)) if shorter(&bridge, best).is_lt() => *best = bridge,
        Some(_) => {}
        None => found.push((part, bridge)),
    }
}

/// All samples in balls of near ones.
struct Balls<R> {
    rows: R,
    /// What edges are measured by; balls are Euclidean, whatever it is.
    norm: Norm,
    all: Vec<Ball>,
}

/// Samples that are no further than the radius from the centre.
struct Ball {
    samples: Vec<u32>,
    center: Vec<f64>,
    radius: f64,
}

impl<R: RowSource> Balls<R> {
    fn new(rows: R, norm: Norm, monitor: &dyn Monitor) -> Result<Self> {
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        Ok(Self { rows, norm, all: split(rows, &mut order, monitor)? })
    }

    /// A lower bound of the distance between samples of two balls; 0 or no number where there is none.
    fn gap(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.all[a], &self.all[b]);
        let between = squared_distance(&a.center, &b.center).sqrt();
        // Squares below the smallest normal number are lost.
        let lost = (self.rows.dim() as f64 * f64::MIN_POSITIVE).sqrt();
        let gap = between * (1.0 - ROUNDING) - (a.radius + b.radius + 4.0 * lost) * (1.0 + ROUNDING);
        (gap * self.norm.least_per_euclidean(self.rows.dim()) * (1.0 - ROUNDING)).max(0.0)
    }
}

/// Splits samples at the median along the way from one sample to the furthest from it, until balls are small.
fn split<R: RowSource>(rows: R, samples: &mut [u32], monitor: &dyn Monitor) -> Result<Vec<Ball>> {
    check_cancelled(monitor)?;
    if samples.len() <= BALL_SAMPLES {
        return Ok(vec![Ball::around(rows, samples)]);
    }
    let from = rows.row(samples[0] as usize);
    let distance = |&p: &u32| (squared_distance(&from, &rows.row(p as usize)), p);
    let furthest = samples
        .par_iter()
        .with_min_len(1024)
        .map(distance)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let to = rows.row(furthest.map_or(samples[0], |(_, p)| p) as usize);
    let mut places: Vec<(f64, u32)> = samples
        .par_iter()
        .with_min_len(1024)
        .map(|&p| {
            let row = rows.row(p as usize);
            let numbers = row.iter().zip(from.iter().zip(to.iter()));
            (numbers.map(|(x, (from, to))| x.to_f64() * (to.to_f64() - from.to_f64())).sum(), p)
        })
        .collect();
    let middle = places.len() / 2;
    places.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (sample, place) in samples.iter_mut().zip(&places) {
        *sample = place.1;
    }
    drop(places);
    let (left, right) = samples.split_at_mut(middle);
    let (left, right) = rayon::join(|| split(rows, left, monitor), || split(rows, right, monitor));
    let mut balls = left?;
    balls.extend(right?);
    Ok(balls)
}

impl Ball {
    fn around<R: RowSource>(rows: R, samples: &[u32]) -> Self {
        let mut center = vec![0.0; rows.dim()];
        for &p in samples {
            for (sum, value) in center.iter_mut().zip(rows.row(p as usize).iter()) {
                *sum += value.to_f64() / samples.len() as f64;
            }
        }
        let distance = |&p: &u32| {
            let row: Vec<f64> = rows.row(p as usize).iter().map(|value| value.to_f64()).collect();
            squared_distance(&row, &center).sqrt()
        };
        let radius = samples.iter().map(distance).fold(0.0, f64::max);
        Self { samples: samples.to_vec(), center, radius }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Silent;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Kruskal's algorithm over all pairs of different components, by the same order of edges.
    fn by_all_pairs(
        values: &[f32],
        dim: usize,
        norm: Norm,
        part_of: &[u32],
        parts: usize,
    ) -> Vec<(u32, u32)> {
        let row = |p: u32| &values[p as usize * dim..(p as usize + 1) * dim];
        let nodes = part_of.len() as u32;
        let mut edges: Vec<Bridge> = (0..nodes)
            .flat_map(|p| (p + 1..nodes).map(move |q| (p, q)))
            .filter(|&(p, q)| part_of[p as usize] != part_of[q as usize])
            .map(|(p, q)| (squared_by(norm, row(p), row(q)), p, q))
            .collect();
        edges.sort_unstable_by(shorter);
        let mut sets = DisjointSets::new(parts);
        let mut forest: Vec<(u32, u32)> = edges
            .into_iter()
            .filter(|&(_, p, q)| sets.join(part_of[p as usize], part_of[q as usize]))
            .map(|(_, p, q)| (p, q))
            .collect();
        forest.sort_unstable();
        forest
    }

    /// Components that are paths through the samples of each part.
    fn components(part_of: &[u32], parts: usize) -> Components {
        let mut sets = DisjointSets::new(part_of.len());
        let mut last = vec![None; parts];
        for (p, &part) in part_of.iter().enumerate() {
            if let Some(before) = last[part as usize].replace(p as u32) {
                sets.join(before, p as u32);
            }
        }
        sets.into_components()
    }

    #[test]
    fn bridges_are_those_of_all_pairs() {
        // Far clusters, overlapping ones, parts mixed at random, and a grid on which most distances are equal.
        for (case, (spread, grid)) in
            [(30.0, false), (1.0, false), (0.0, false), (0.0, true)].into_iter().enumerate()
        {
            let (nodes, dim, parts) = (700, 5, 9);
            let mut rng = ChaCha8Rng::seed_from_u64(case as u64);
            let part_of: Vec<u32> = (0..nodes)
                .map(|p| if p < parts { p as u32 } else { rng.random_range(0..parts as u32) })
                .collect();
            let values: Vec<f32> = (0..nodes * dim)
                .map(|at| {
                    let value =
                        rng.random::<f32>() + spread * (part_of[at / dim] * (at % dim) as u32 % 7) as f32;
                    if grid { (4.0 * value).floor() } else { value }
                })
                .collect();
            let components = components(&part_of, parts);
            for norm in [Norm::Euclidean, Norm::Manhattan, Norm::Chebyshev] {
                let samples = Samples::from_f32(nodes, dim, values.as_slice()).expect("finite numbers");
                let samples = samples.with_norm(norm).expect("small numbers");
                let found = shortest_bridges(&samples, &components, &Silent).expect("nothing stops it");
                let expected = by_all_pairs(&values, dim, norm, components.of_node(), parts);
                assert_eq!(found, expected, "case {case}, {norm:?}");
            }
        }
    }

    /// In more dimensions, all pairs are looked at: with parts of all sizes, many equal distances, in every precision, and after some of
    /// Borůvka's rounds.
    #[test]
    fn bridges_in_many_dimensions_are_those_of_all_pairs() {
        let (nodes, dim) = (700, 40);
        for (case, (parts, steps)) in
            [(2, 0.0), (9, 0.0), (9, 2.0), (120, 2.0), (300, 8.0), (690, 0.0)].into_iter().enumerate()
        {
            let mut rng = ChaCha8Rng::seed_from_u64(case as u64);
            // The last part is the largest by far.
            let part_of: Vec<u32> = (0..nodes)
                .map(|p| if p < parts { p } else { rng.random_range(0..3 * parts).min(parts - 1) } as u32)
                .collect();
            let values: Vec<f32> = (0..nodes * dim)
                .map(|at| {
                    let value = rng.random::<f32>() + (part_of[at / dim] % 5) as f32 / 5.0;
                    if steps > 0.0 { (steps * value).floor() } else { value }
                })
                .collect();
            let components = components(&part_of, parts);
            let expected = by_all_pairs(&values, dim, Norm::Euclidean, components.of_node(), parts);
            let doubles: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
            let singles = Samples::from_f32(nodes, dim, values.as_slice()).expect("finite numbers");
            let doubles = Samples::from_f64(nodes, dim, doubles).expect("finite numbers");
            for samples in [&singles, &doubles] {
                for few_parts in [FEW_PARTS, 4] {
                    let found = with_rows!(samples, rows => forest(rows, Norm::Euclidean, &components, few_parts, &Silent));
                    assert_eq!(found.expect("nothing stops it"), expected, "case {case}, {few_parts}");
                }
            }
        }
    }
}
