//! The neighbors of one sample after the other.

use pulp::{NullaryFnOnce, Simd, WithSimd};
use std::ops::Range;

use super::kernel::{Extents, WIDTH, squared_distances};
use super::nearest::{Key, Nearest, key};
use super::tree::Tree;
use crate::neighbors::distance::LANES;

/// What was found, and what it took.
#[derive(Debug)]
pub(super) struct QueryAnswer {
    /// Neighbors of one sample after the other, nearest first.
    pub(super) keys: Vec<Key>,
    pub(super) effort: Effort,
}

/// What was looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Effort {
    /// Leaves and blocks of boxes.
    pub(super) blocks: usize,
    /// Blocks whose boxes are leaves.
    pub(super) lowest_nodes: usize,
}

impl Effort {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { blocks: self.blocks + other.blocks, lowest_nodes: self.lowest_nodes + other.lowest_nodes }
    }
}

/// The search for the neighbors of the samples at some places, compiled for each instruction set.
#[derive(Debug, Clone)]
pub(super) struct TreeQuery<'a> {
    pub(super) tree: &'a Tree,
    pub(super) places: Range<usize>,
    pub(super) neighbors: usize,
}

impl WithSimd for TreeQuery<'_> {
    type Output = QueryAnswer;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> QueryAnswer {
        match self.tree.dim() % LANES {
            0 => simd.vectorize(TreeQueryWithRest::<_, 0>(simd, self)),
            1 => simd.vectorize(TreeQueryWithRest::<_, 1>(simd, self)),
            2 => simd.vectorize(TreeQueryWithRest::<_, 2>(simd, self)),
            3 => simd.vectorize(TreeQueryWithRest::<_, 3>(simd, self)),
            4 => simd.vectorize(TreeQueryWithRest::<_, 4>(simd, self)),
            5 => simd.vectorize(TreeQueryWithRest::<_, 5>(simd, self)),
            6 => simd.vectorize(TreeQueryWithRest::<_, 6>(simd, self)),
            _ => simd.vectorize(TreeQueryWithRest::<_, 7>(simd, self)),
        }
    }
}

/// The same, with the number of coordinates modulo [`LANES`] known to the compiler.
struct TreeQueryWithRest<'a, S, const REST: usize>(S, TreeQuery<'a>);

impl<S: Simd, const REST: usize> NullaryFnOnce for TreeQueryWithRest<'_, S, REST> {
    type Output = QueryAnswer;

    #[inline(always)]
    fn call(self) -> QueryAnswer {
        let Self(simd, TreeQuery { tree, places, neighbors }) = self;
        let mut keys = Vec::with_capacity(places.len() * neighbors);
        let mut effort = Effort::default();
        let mut walk = Walk::<S, REST> {
            simd,
            tree,
            coordinates: vec![0.0; tree.dim()],
            sample: 0,
            nearest: Nearest::new(neighbors),
            open: Vec::new(),
            climbed: 0,
            own: 0,
        };
        for place in places {
            walk.start(place);
            while let Some(step) = walk.next_step() {
                effort.blocks += 1;
                match step {
                    Step::Leaf { leaf } => walk.scan(leaf),
                    Step::Block { level, block, without } => {
                        effort.lowest_nodes += usize::from(level == 0);
                        walk.open(level, block, without);
                    }
                }
            }
            walk.nearest.take_into(&mut keys);
        }
        QueryAnswer { keys, effort }
    }
}

/// A box still to be looked into.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// No sample in it comes before this.
    bound: Key,
    level: u32,
    node: u32,
}

/// What to look at next.
enum Step {
    Leaf { leaf: usize },
    Block { level: usize, block: usize, without: Option<usize> },
}

/// The way of one sample's search through the tree: its own leaf, what is near in the node above, in the one above that,
/// and so on.
struct Walk<'a, S, const REST: usize> {
    simd: S,
    tree: &'a Tree,
    coordinates: Vec<f64>,
    sample: u32,
    nearest: Nearest,
    /// Boxes below the present node, those to be looked into first last.
    open: Vec<Open>,
    /// Levels climbed so far.
    climbed: usize,
    /// The node of that level that the sample lies in.
    own: usize,
}

impl<S: Simd, const REST: usize> Walk<'_, S, REST> {
    #[inline(always)]
    fn start(&mut self, place: usize) {
        let (leaf, at) = (place / WIDTH, place % WIDTH);
        let (points, samples) = self.tree.leaf(leaf);
        self.sample = samples[at];
        for (value, points) in self.coordinates.iter_mut().zip(points) {
            *value = points[at];
        }
        (self.climbed, self.own) = (0, leaf);
        self.open.push(Open { bound: Key::MIN, level: 0, node: leaf as u32 });
    }

    #[inline(always)]
    fn next_step(&mut self) -> Option<Step> {
        while let Some(Open { bound, level, node }) = self.open.pop() {
            if bound < self.nearest.worst() {
                let (level, node) = (level as usize, node as usize);
                return Some(match level.checked_sub(1) {
                    None => Step::Leaf { leaf: node },
                    Some(below) => Step::Block { level: below, block: node, without: None },
                });
            }
        }
        let (level, own) = (self.climbed, self.own);
        if level == self.tree.height() {
            return None;
        }
        (self.climbed, self.own) = (level + 1, own / WIDTH);
        Some(Step::Block { level, block: own / WIDTH, without: Some(own % WIDTH) })
    }

    /// Keeps what is near in a leaf.
    #[inline(always)]
    fn scan(&mut self, leaf: usize) {
        let (points, samples) = self.tree.leaf(leaf);
        let distances = self.squared_distances(points);
        let mut near = not_further(&distances, self.nearest.worst_distance());
        while near != 0 {
            let at = near.trailing_zeros() as usize;
            near &= near - 1;
            let key = key(distances[at], samples[at]);
            if key < self.nearest.worst() && samples[at] != self.sample {
                self.nearest.insert(key);
            }
        }
    }

    /// Opens the boxes of a block that may hold a neighbor.
    #[inline(always)]
    fn open(&mut self, level: usize, block: usize, without: Option<usize>) {
        let (boxes, lowest) = self.tree.block(level, block);
        let distances = self.squared_distances(boxes);
        let mut near = not_further(&distances, self.nearest.worst_distance());
        if let Some(at) = without {
            near &= !(1 << at);
        }
        let bottom = self.open.len();
        while near != 0 {
            let at = near.trailing_zeros() as usize;
            near &= near - 1;
            let node = (block * WIDTH + at) as u32;
            self.insert_open(
                bottom,
                Open { bound: key(distances[at], lowest[at]), level: level as u32, node },
            );
        }
    }

    /// Sorts a box in among those above `bottom`.
    #[inline(always)]
    fn insert_open(&mut self, bottom: usize, open: Open) {
        self.open.push(open);
        let siblings = &mut self.open[bottom..];
        let mut at = siblings.len() - 1;
        while at > 0 && siblings[at - 1].bound < open.bound {
            siblings[at] = siblings[at - 1];
            at -= 1;
        }
        siblings[at] = open;
    }

    #[inline(always)]
    fn squared_distances<E: Extents>(&self, extents: &[E]) -> [f64; WIDTH] {
        squared_distances::<REST, S, E>(self.simd, &self.coordinates, extents)
    }
}

/// A bit for every distance that does not exceed `most`.
#[inline(always)]
fn not_further(distances: &[f64; WIDTH], most: f64) -> u32 {
    let mut bits = 0;
    for (at, &distance) in distances.iter().enumerate() {
        bits |= u32::from(distance <= most) << at;
    }
    bits
}
