//! Rows sorted into leaves of near samples.

use rayon::prelude::*;

use super::coordinates::Coordinates;
use crate::neighbors::single_squared_distance;

/// Coordinates that rows are sorted and boxed by: more cost more than they tell.
const BOXED: usize = 16;

/// Leaves of consecutive rows in a new order, each with the box its short vectors lie in.
#[derive(Debug)]
pub(super) struct Leaves {
    order: Vec<u32>,
    /// Leaf i holds rows `starts[i]..starts[i + 1]` of the order.
    starts: Vec<usize>,
    boxes: Vec<Vec<(f32, f32)>>,
    /// Means of each leaf's short vectors.
    centers: Vec<Vec<f32>>,
}

impl Leaves {
    /// Splits the rows at the median of their widest coordinate until at most `leaf_rows` are left together.
    pub(super) fn new(coordinates: &Coordinates, leaf_rows: usize) -> Self {
        let mut order: Vec<u32> = (0..coordinates.rows() as u32).collect();
        let mut leaves = Self { order: Vec::new(), starts: vec![0], boxes: Vec::new(), centers: Vec::new() };
        leaves.split(coordinates, &mut order, leaf_rows);
        leaves.order = order;
        leaves
    }

    fn split(&mut self, coordinates: &Coordinates, rows: &mut [u32], leaf_rows: usize) {
        let bounds = bounding_box(coordinates, rows);
        if rows.len() <= leaf_rows {
            self.starts.push(self.starts[self.starts.len() - 1] + rows.len());
            self.boxes.push(bounds);
            self.centers.push(mean(coordinates, rows));
            return;
        }
        let width = |at: usize| bounds[at].1 - bounds[at].0;
        let widest = (0..bounds.len()).max_by(|&a, &b| width(a).total_cmp(&width(b))).unwrap_or(0);
        let key = |p: &u32| coordinates.row(*p as usize)[widest];
        let middle = rows.len() / 2;
        rows.select_nth_unstable_by(middle, |p, q| key(p).total_cmp(&key(q)).then(p.cmp(q)));
        let (near, far) = rows.split_at_mut(middle);
        self.split(coordinates, near, leaf_rows);
        self.split(coordinates, far, leaf_rows);
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Number of leaves.
    pub(super) fn count(&self) -> usize {
        self.boxes.len()
    }

    /// The row at every place of the order.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Places of a leaf's rows.
    pub(super) fn rows(&self, leaf: usize) -> std::ops::Range<usize> {
        self.starts[leaf]..self.starts[leaf + 1]
    }

    /// For every leaf, the later leaves that are compared with it first: pairs in which one is among the `count` nearest of
    /// the other, by their centres.
    pub(super) fn nearest_pairs(&self, count: usize) -> Vec<Vec<usize>> {
        let nearest: Vec<Vec<usize>> =
            (0..self.count()).into_par_iter().map(|leaf| self.nearest(leaf, count)).collect();
        let mut pairs = vec![Vec::new(); self.count()];
        for (leaf, others) in nearest.into_iter().enumerate() {
            for other in others {
                pairs[leaf.min(other)].push(leaf.max(other));
            }
        }
        for later in &mut pairs {
            later.sort_unstable();
            later.dedup();
        }
        pairs
    }

    /// A leaf and the `count` others whose centres are nearest.
    fn nearest(&self, leaf: usize, count: usize) -> Vec<usize> {
        let distance = |other: usize| single_squared_distance(&self.centers[leaf], &self.centers[other]);
        let mut others: Vec<(f32, usize)> = (0..self.count()).map(|other| (distance(other), other)).collect();
        let kept = (count + 1).min(others.len());
        others.select_nth_unstable_by(kept - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        others[..kept].iter().map(|&(_, other)| other).collect()
    }

    /// A lower bound of the squared distance between short vectors of two leaves.
    pub(super) fn squared_gap(&self, a: usize, b: usize) -> f64 {
        // In double precision differences of single ones are as good as exact.
        let difference = |a: f32, b: f32| f64::from(a) - f64::from(b);
        let gap =
            |(a, b): (&(f32, f32), &(f32, f32))| difference(a.0, b.1).max(difference(b.0, a.1)).max(0.0);
        self.boxes[a].iter().zip(&self.boxes[b]).map(gap).map(|gap| gap * gap).sum()
    }
}

fn mean(coordinates: &Coordinates, rows: &[u32]) -> Vec<f32> {
    let mut mean = vec![0.0; coordinates.dim];
    for &p in rows {
        for (mean, value) in mean.iter_mut().zip(coordinates.row(p as usize)) {
            *mean += value / rows.len() as f32;
        }
    }
    mean
}

fn bounding_box(coordinates: &Coordinates, rows: &[u32]) -> Vec<(f32, f32)> {
    let mut bounds = vec![(f32::INFINITY, f32::NEG_INFINITY); coordinates.dim.min(BOXED)];
    for &p in rows {
        for ((low, high), &value) in bounds.iter_mut().zip(coordinates.row(p as usize)) {
            (*low, *high) = (low.min(value), high.max(value));
        }
    }
    bounds
}
