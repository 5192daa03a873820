//! Rows sorted into leaves of near samples.

use rayon::prelude::*;

use super::coordinates::Coordinates;
use super::panels::PACKED_ROWS;

/// Coordinates that rows are sorted and boxed by: more cost more than they tell.
const BOXED: usize = 16;
/// Coordinates that tell which leaves are near each other.
const CENTERED: usize = 64;

/// Leaves of consecutive rows in a new order, each with the box its short vectors lie in.
#[derive(Debug)]
pub(super) struct Leaves {
    order: Vec<u32>,
    /// Leaf i holds rows `starts[i]..starts[i + 1]` of the order.
    starts: Vec<usize>,
    boxes: Vec<Vec<(i16, i16)>>,
    /// Means of each leaf's first coordinates.
    centers: Vec<Vec<f32>>,
}

impl Leaves {
    /// Splits the rows at about the median of their widest coordinate until at most `leaf_rows` are left together. All
    /// leaves begin at multiples of [`PACKED_ROWS`], which `leaf_rows` must not be less than.
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
        let width = |at: usize| i32::from(bounds[at].1) - i32::from(bounds[at].0);
        let widest = (0..bounds.len()).max_by_key(|&at| width(at)).unwrap_or(0);
        let key = |p: &u32| coordinates.row(*p as usize)[widest];
        let middle = (rows.len() / 2).next_multiple_of(PACKED_ROWS);
        rows.select_nth_unstable_by_key(middle, |p| (key(p), *p));
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

    /// For every leaf, itself and the `count` others whose centres are nearest, or more where these hold too few rows;
    /// ascending.
    pub(super) fn surroundings(&self, count: usize, fewest_rows: usize) -> Vec<Vec<usize>> {
        let surroundings = |leaf: usize| {
            let mut near = self.nearest(leaf, count);
            let mut wider = count;
            while near.iter().map(|&near| self.rows(near).len()).sum::<usize>() < fewest_rows {
                wider *= 2;
                near = self.nearest(leaf, wider);
            }
            near.sort_unstable();
            near
        };
        (0..self.count()).into_par_iter().map(surroundings).collect()
    }

    /// A leaf and the `count` others whose centres are nearest.
    fn nearest(&self, leaf: usize, count: usize) -> Vec<usize> {
        let distance = |other: usize| {
            let differences = self.centers[leaf].iter().zip(&self.centers[other]);
            differences.map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
        };
        // Other leaves may have the same centre; the leaf itself comes first all the same.
        let key = |other: usize| if other == leaf { -1.0 } else { distance(other) };
        let mut others: Vec<(f32, usize)> = (0..self.count()).map(|other| (key(other), other)).collect();
        let kept = (count + 1).min(others.len());
        others.select_nth_unstable_by(kept - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        others[..kept].iter().map(|&(_, other)| other).collect()
    }

    /// A lower bound of the squared distance between short vectors of two leaves.
    pub(super) fn squared_gap(&self, a: usize, b: usize) -> f64 {
        let difference = |a: i16, b: i16| i64::from(a) - i64::from(b);
        let gap = |(a, b): (&(i16, i16), &(i16, i16))| difference(a.0, b.1).max(difference(b.0, a.1)).max(0);
        let squared: i64 = self.boxes[a].iter().zip(&self.boxes[b]).map(gap).map(|gap| gap * gap).sum();
        squared as f64
    }
}

fn mean(coordinates: &Coordinates, rows: &[u32]) -> Vec<f32> {
    let mut mean = vec![0.0; coordinates.numbers.min(CENTERED)];
    for &p in rows {
        for (mean, &value) in mean.iter_mut().zip(coordinates.row(p as usize)) {
            *mean += f32::from(value) / rows.len() as f32;
        }
    }
    mean
}

fn bounding_box(coordinates: &Coordinates, rows: &[u32]) -> Vec<(i16, i16)> {
    let mut bounds = vec![(i16::MAX, i16::MIN); coordinates.numbers.min(BOXED)];
    for &p in rows {
        for ((low, high), &value) in bounds.iter_mut().zip(coordinates.row(p as usize)) {
            (*low, *high) = (value.min(*low), value.max(*high));
        }
    }
    bounds
}
