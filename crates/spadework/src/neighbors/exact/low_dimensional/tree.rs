//! Samples sorted into full leaves, and boxes around leaves, around boxes, up to one block of boxes.

use super::kernel::{BoxBounds, Points, WIDTH};
use crate::neighbors::{Element, RowSource, with_rows};
use crate::samples::Samples;

/// From this many rows on, two halves are sorted by two threads.
const PARALLEL_ROWS: usize = 4096;
/// Rows at most that the spread of a coordinate is measured on.
const MEASURED_ROWS: usize = 256;

/// Stands where a leaf or a block is not full; no sample has this index.
pub(super) const NO_SAMPLE: u32 = u32::MAX;
/// Samples below a node whose boxes are leaves.
pub(super) const NODE_SAMPLES: usize = WIDTH * WIDTH;

/// A tree without pointers. Samples have places; leaf i holds places wi to w(i + 1) with w = [`WIDTH`], and node i of a
/// level holds nodes wi to w(i + 1) of the level below.
#[derive(Debug)]
pub(super) struct Tree {
    dim: usize,
    len: usize,
    /// Leaf after leaf, coordinate after coordinate; where there is no sample, infinity.
    points: Vec<Points>,
    /// Indices of the samples, leaf after leaf.
    samples: Vec<[u32; WIDTH]>,
    /// Boxes of the leaves, then of the nodes above them; the last level is one block.
    levels: Vec<Level>,
}

/// Boxes of one level, in blocks of those that have one parent.
#[derive(Debug)]
struct Level {
    /// Block after block, coordinate after coordinate.
    boxes: Vec<BoxBounds>,
    /// Lowest index of the samples in every box.
    lowest: Vec<[u32; WIDTH]>,
}

impl Tree {
    pub(super) fn of(samples: &Samples<'_>) -> Self {
        with_rows!(samples, rows => Self::new(rows))
    }

    fn new<R: RowSource>(rows: R) -> Self {
        let (dim, leaves) = (rows.dim(), rows.len().div_ceil(WIDTH));
        let mut points = vec![[f64::INFINITY; WIDTH]; leaves * dim];
        let mut samples = vec![[NO_SAMPLE; WIDTH]; leaves];
        for (place, p) in sorted(rows).into_iter().enumerate() {
            let (leaf, at) = (place / WIDTH, place % WIDTH);
            samples[leaf][at] = p;
            for (points, value) in points[leaf * dim..].iter_mut().zip(rows.row(p as usize).iter()) {
                points[at] = value.to_f64();
            }
        }
        let mut level = Level::around(dim, &samples, points.iter().map(|points| (points, points)));
        let mut levels = Vec::new();
        while level.lowest.len() > 1 {
            let boxes = level.boxes.iter().map(|boxes| (&boxes.lows, &boxes.highs));
            let above = Level::around(dim, &level.lowest, boxes);
            levels.push(std::mem::replace(&mut level, above));
        }
        levels.push(level);
        Self { dim, len: rows.len(), points, samples, levels }
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// Number of samples.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The place of every sample.
    pub(super) fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.len];
        for (place, &p) in self.samples.as_flattened()[..self.len].iter().enumerate() {
            places[p as usize] = place as u32;
        }
        places
    }

    /// Number of levels of boxes.
    pub(super) fn height(&self) -> usize {
        self.levels.len()
    }

    /// The boxes of one block of a level, coordinate after coordinate, and the lowest index in each.
    #[inline(always)]
    pub(super) fn block(&self, level: usize, block: usize) -> (&[BoxBounds], &[u32; WIDTH]) {
        let level = &self.levels[level];
        (&level.boxes[block * self.dim..(block + 1) * self.dim], &level.lowest[block])
    }

    /// A leaf's points, coordinate after coordinate, and their samples.
    #[inline(always)]
    pub(super) fn leaf(&self, leaf: usize) -> (&[Points], &[u32; WIDTH]) {
        (&self.points[leaf * self.dim..(leaf + 1) * self.dim], &self.samples[leaf])
    }
}

impl Level {
    /// Boxes around groups of samples or boxes, whose extents come group after group, coordinate after coordinate.
    fn around<'a>(
        dim: usize,
        groups: &[[u32; WIDTH]],
        mut extents: impl Iterator<Item = (&'a Points, &'a Points)>,
    ) -> Self {
        let blocks = groups.len().div_ceil(WIDTH);
        // A box that is not there is infinitely far away.
        let nowhere = BoxBounds { lows: [f64::INFINITY; WIDTH], highs: [f64::INFINITY; WIDTH] };
        let mut level = Self { boxes: vec![nowhere; blocks * dim], lowest: vec![[NO_SAMPLE; WIDTH]; blocks] };
        for (group, indices) in groups.iter().enumerate() {
            let (block, at) = (group / WIDTH, group % WIDTH);
            let filled = indices.iter().filter(|&&index| index != NO_SAMPLE).count();
            level.lowest[block][at] = indices.iter().copied().fold(NO_SAMPLE, u32::min);
            for (intervals, (lows, highs)) in
                level.boxes[block * dim..][..dim].iter_mut().zip(extents.by_ref())
            {
                intervals.lows[at] = lows[..filled].iter().copied().fold(f64::INFINITY, f64::min);
                intervals.highs[at] = highs[..filled].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            }
        }
        level
    }
}

/// The rows in an order in which every leaf, and every node, is full but the last.
fn sorted<R: RowSource>(rows: R) -> Vec<u32> {
    let mut keyed: Vec<(f64, u32)> = (0..rows.len() as u32).map(|p| (0.0, p)).collect();
    split(rows, &mut keyed);
    keyed.into_iter().map(|(_, p)| p).collect()
}

/// Splits at about the median of the coordinate that varies most, until a leaf is left.
fn split<R: RowSource>(rows: R, members: &mut [(f64, u32)]) {
    if members.len() <= WIDTH {
        return;
    }
    // The largest nodes that are smaller than all members together.
    let mut unit = WIDTH;
    while unit * WIDTH < members.len() {
        unit *= WIDTH;
    }
    let middle = members.len().div_ceil(unit).div_ceil(2) * unit;
    let column = most_varying(rows, members);
    for (key, p) in members.iter_mut() {
        *key = rows.number(*p as usize, column);
    }
    members.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (low, high) = members.split_at_mut(middle);
    if low.len() >= PARALLEL_ROWS {
        rayon::join(|| split(rows, low), || split(rows, high));
    } else {
        split(rows, low);
        split(rows, high);
    }
}

/// The coordinate of largest variance, measured on some of the rows. Any would keep the result right.
fn most_varying<R: RowSource>(rows: R, members: &[(f64, u32)]) -> usize {
    let step = members.len().div_ceil(MEASURED_ROWS);
    let measured = members.iter().step_by(step);
    let count = measured.len() as f64;
    let (mut sums, mut squares) = (vec![0.0; rows.dim()], vec![0.0; rows.dim()]);
    let origin = rows.row(members[0].1 as usize);
    for &(_, p) in measured {
        let row = rows.row(p as usize);
        let numbers = row.iter().zip(origin.iter());
        for ((sum, square), (value, origin)) in sums.iter_mut().zip(&mut squares).zip(numbers) {
            let value = value.to_f64() - origin.to_f64();
            *sum += value;
            *square += value * value;
        }
    }
    let variance = |column: usize| squares[column] - sums[column] * sums[column] / count;
    (0..rows.dim()).max_by(|&a, &b| variance(a).total_cmp(&variance(b))).unwrap_or(0)
}
