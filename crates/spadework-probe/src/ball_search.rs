//! The search in a ball: which step of length ε reduces a sample's margin most?
//!
//! For a nearly linear model, the smallest margin within ‖x' − x‖₂ ≤ ε is opposite to the gradient g of the margin, at x' =
//! x − ε g/‖g‖. The search keeps an estimate of g and improves it probe by probe. A probe moves the best probe so far a
//! little along one block of numbers, and back onto the ball. Its effect on the margin is one linear equation for g, and the
//! estimate gets the smallest correction that fulfills the equation (Kaczmarz's step). Blocks go from whole channels to
//! single numbers, and parts of the blocks that changed the margin most come first. Every ninth probe goes in the direction
//! of the estimate, as far as the ball and the range of the data allow. A probe that makes the margin smaller is kept.
//!
//! The first two probes follow directions that come from inputs and outputs alone ([`Directions`]). The better of the two is
//! the first estimate.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::batch::Batch;
use crate::block_tree::BlockTree;
use crate::descent::SampleSearch;
use crate::directions::Directions;
use crate::range::Range;

/// How far along a block a copy moves, in radii.
const STEP: f64 = 0.1;
/// Copies along blocks before one that goes where the estimate points.
const BLOCKS_PER_JUMP: usize = 8;
/// Halvings that find how far a direction may be followed.
const HALVINGS: usize = 24;
/// A move that the range of the data cuts down to less than this part of its square says nothing.
const LEAST_MOVE: f64 = 1e-3;

/// What the searches of all samples share.
pub(crate) struct Ball<'a> {
    pub(crate) tree: &'a BlockTree,
    pub(crate) radius: f64,
    pub(crate) range: Range,
}

/// Where the search of one sample stands.
pub(crate) struct BallSearch<'a> {
    ball: &'a Ball<'a>,
    sample: &'a [f32],
    /// The margin of the sample itself.
    clean: f64,
    /// Directions that are still to be tried.
    starts: Vec<Vec<f32>>,
    /// The gradient of the margin, as far as it is known.
    estimate: Vec<f32>,
    /// How far the best copy lies from the sample, and its margin.
    best: Vec<f32>,
    margin: f64,
    /// Blocks that were not tried, the most promising on top.
    frontier: BinaryHeap<Candidate>,
    since_jump: usize,
    tried: Option<Trial>,
}

/// A copy whose margin is not known yet.
struct Trial {
    moved: Vec<f32>,
    kind: TrialKind,
}

enum TrialKind {
    /// Along the estimate that the data give, the negative of this direction.
    Start(Vec<f32>),
    /// Along a block; the best copy was scaled by this much to stay in the ball.
    Block { block: usize, scale: f64 },
    /// Where the estimate points.
    Jump,
}

struct Candidate {
    promise: f64,
    order: u32,
    block: usize,
}

impl<'a> BallSearch<'a> {
    pub(crate) fn all(batch: &'a Batch, ball: &'a Ball<'a>, directions: &Directions) -> Vec<Self> {
        (0..batch.len()).map(|at| Self::new(batch, at, ball, directions)).collect()
    }

    fn new(batch: &'a Batch, at: usize, ball: &'a Ball<'a>, directions: &Directions) -> Self {
        let [first, second] = directions.toward(batch.classes[at], batch.runners_up[at]);
        Self {
            ball,
            sample: batch.row(at),
            clean: batch.margins[at],
            // The last one is tried first.
            starts: vec![second, first],
            estimate: vec![0.0; batch.dim],
            best: vec![0.0; batch.dim],
            margin: batch.margins[at],
            frontier: roots(ball.tree),
            since_jump: 0,
            tried: None,
        }
    }

    fn trial(&mut self) -> Trial {
        if let Some(direction) = self.starts.pop() {
            return Trial { moved: self.farthest(&direction), kind: TrialKind::Start(direction) };
        }
        if self.since_jump == BLOCKS_PER_JUMP {
            self.since_jump = 0;
            let against: Vec<f32> = self.estimate.iter().map(|slope| -slope).collect();
            return Trial { moved: self.farthest(&against), kind: TrialKind::Jump };
        }
        self.since_jump += 1;
        let block = self.next_block();
        self.along_block(block)
    }

    /// The most promising block; from the largest again where all have been tried.
    fn next_block(&mut self) -> usize {
        if self.frontier.is_empty() {
            self.frontier = roots(self.ball.tree);
        }
        self.frontier.pop().expect("a sample has a number, which is a block").block
    }

    /// How far the sample moves along a direction, as far as ball and range allow: numbers that have reached the end of their range
    /// stay there, and the others go on.
    fn farthest(&self, direction: &[f32]) -> Vec<f32> {
        let Ball { radius, range, .. } = *self.ball;
        let length = squares(direction).sqrt();
        if length == 0.0 {
            return vec![0.0; direction.len()];
        }
        let moved = |by: f64| -> Vec<f32> {
            let by = (by / length) as f32;
            let ends = self.sample.iter().zip(direction);
            ends.map(|(&number, slope)| range.clamp(number + by * slope) - number).collect()
        };
        // Numbers that stay leave their share to the others: sixty-four times the radius is enough where one number in 4,096 moves.
        let (mut least, mut most) = (0.0, 64.0 * radius);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(least, most);
            if squares(&moved(middle)) > radius * radius { most = middle } else { least = middle }
        }
        moved(least)
    }

    /// The best copy moved along a block, onto the ball.
    fn along_block(&self, block: usize) -> Trial {
        let Ball { radius, range, .. } = *self.ball;
        let pattern = self.pattern(block);
        let slope: f64 = pattern.iter().map(|&(at, weight)| weight * f64::from(self.estimate[at])).sum();
        // Against the slope; at random where none is known.
        let is_up = if slope == 0.0 { self.ball.tree.order(block).is_multiple_of(2) } else { slope < 0.0 };
        let moved = |sign: f64| {
            let mut moved = self.best.clone();
            for &(at, weight) in &pattern {
                moved[at] += (sign * STEP * radius * weight) as f32;
            }
            let scale = (radius / squares(&moved).sqrt()).min(1.0);
            for (by, number) in moved.iter_mut().zip(self.sample) {
                *by = range.clamp(number + *by * scale as f32) - number;
            }
            (moved, scale)
        };
        let (first, scale) = moved(if is_up { 1.0 } else { -1.0 });
        if self.is_a_move(&first, scale) {
            return Trial { moved: first, kind: TrialKind::Block { block, scale } };
        }
        // The range of the data cuts this off: the other way there is room.
        let (second, scale) = moved(if is_up { -1.0 } else { 1.0 });
        Trial { moved: second, kind: TrialKind::Block { block, scale } }
    }

    fn is_a_move(&self, moved: &[f32], scale: f64) -> bool {
        let step = STEP * self.ball.radius;
        squares(&self.since_best(moved, scale)) > LEAST_MOVE * step * step
    }

    /// A direction of length 1 within a block: halfway between what the estimate has there and a constant.
    fn pattern(&self, block: usize) -> Vec<(usize, f64)> {
        let places: Vec<usize> = self.ball.tree.places(block).collect();
        let estimate = || places.iter().map(|&at| f64::from(self.estimate[at]));
        let (sum, length) =
            (estimate().sum::<f64>(), estimate().map(|slope| slope * slope).sum::<f64>().sqrt());
        let constant = if sum < 0.0 { -1.0 } else { 1.0 } / (places.len() as f64).sqrt();
        let weight = |slope: f64| if length > 0.0 { constant + slope / length } else { constant };
        let weights: Vec<f64> = estimate().map(weight).collect();
        let norm = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        places.iter().copied().zip(weights.into_iter().map(|weight| weight / norm)).collect()
    }

    /// What was moved beyond the best copy, before the whole was scaled.
    fn since_best(&self, moved: &[f32], scale: f64) -> Vec<f32> {
        let scale = scale as f32;
        moved.iter().zip(&self.best).map(|(moved, best)| moved / scale - best).collect()
    }

    /// Corrects the estimate so that the step changes the margin by as much as it did.
    fn correct(&mut self, step: &[f32], change: f64) {
        let length = squares(step);
        let least = LEAST_MOVE * (STEP * self.ball.radius).powi(2);
        if length <= least {
            return;
        }
        let expected: f64 =
            step.iter().zip(&self.estimate).map(|(step, slope)| f64::from(*step) * f64::from(*slope)).sum();
        let by = ((change - expected) / length) as f32;
        self.estimate.iter_mut().zip(step).for_each(|(slope, step)| *slope += by * step);
    }

    /// The first estimate: the direction, as steep as the margin has fallen along it.
    fn begin_with(&mut self, direction: &[f32], moved: &[f32], margin: f64) {
        let along: f64 = direction.iter().zip(moved).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        if margin < self.margin && along > 0.0 {
            let slope = ((margin - self.clean) / along) as f32;
            self.estimate = direction.iter().map(|number| slope * number).collect();
        }
    }

    fn learn_of_block(&mut self, block: usize, scale: f64, moved: &[f32], margin: f64) {
        // Linear: scaling the best copy scales what it has taken.
        let change = (margin - self.clean) / scale - (self.margin - self.clean);
        let step = self.since_best(moved, scale);
        self.correct(&step, change);
        let tree = self.ball.tree;
        let part = |block| Candidate { promise: change.abs(), order: tree.order(block), block };
        self.frontier.extend(tree.parts(block).map(part));
    }
}

impl SampleSearch for BallSearch<'_> {
    type Round = ();

    fn copy(&mut self, (): &()) -> Vec<f32> {
        let trial = self.trial();
        let range = self.ball.range;
        let copy =
            self.sample.iter().zip(&trial.moved).map(|(number, by)| range.clamp(number + by)).collect();
        self.tried = Some(trial);
        copy
    }

    fn learn(&mut self, margin: f64, (): &()) {
        let Some(Trial { moved, kind }) = self.tried.take() else { return };
        match kind {
            TrialKind::Start(direction) => self.begin_with(&direction, &moved, margin),
            TrialKind::Block { block, scale } => self.learn_of_block(block, scale, &moved, margin),
            TrialKind::Jump => {
                let step = self.since_best(&moved, 1.0);
                self.correct(&step, margin - self.margin);
            }
        }
        if margin < self.margin {
            self.margin = margin;
            self.best = moved;
        }
    }
}

fn roots(tree: &BlockTree) -> BinaryHeap<Candidate> {
    tree.roots().map(|block| Candidate { promise: f64::INFINITY, order: tree.order(block), block }).collect()
}

fn squares(numbers: &[f32]) -> f64 {
    numbers.iter().map(|&number| f64::from(number) * f64::from(number)).sum()
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.promise.total_cmp(&other.promise).then(self.order.cmp(&other.order))
    }
}
