//! The candidates of one sample while a search runs over the others.

use super::ordered;

/// Bounds of one squared distance, up to a constant of the row: it lies between `lower` and `upper`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounded {
    pub(super) lower: f32,
    pub(super) upper: f32,
    pub(super) index: u32,
}

/// Keeps every sample that may still be among the k nearest of one row, and no more than a few k of them.
///
/// Two kinds are held: `pending` ones, known by bounds only, and `settled` ones, the best k whose true distance is
/// known. A sample whose lower bound exceeds k other upper bounds is out. Where the bounds are too wide to decide (all
/// distances alike), the pending ones are settled, so memory stays bounded whatever the data.
#[derive(Debug)]
pub(super) struct Candidates {
    neighbors: usize,
    /// No sample whose lower bound is above this can be among the k nearest.
    threshold: f32,
    pending: Vec<Bounded>,
    settled: Vec<(f64, u32)>,
}

impl Candidates {
    pub(super) fn new(neighbors: usize) -> Self {
        Self {
            neighbors,
            threshold: f32::INFINITY,
            pending: Vec::with_capacity(Self::capacity(neighbors)),
            settled: Vec::new(),
        }
    }

    /// Pending candidates at which the list is thinned out: large enough that thinning is rare.
    fn capacity(neighbors: usize) -> usize {
        4 * neighbors + 64
    }

    pub(super) fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Adds a candidate whose lower bound is within the threshold. `settle` gives the true squared distance of an
    /// index and an upper bound of it in the units of the bounds.
    pub(super) fn push(&mut self, candidate: Bounded, settle: &impl Fn(u32) -> (f64, f32)) {
        self.pending.push(candidate);
        if self.pending.len() < Self::capacity(self.neighbors) {
            return;
        }
        self.tighten();
        if self.pending.len() > Self::capacity(self.neighbors) / 2 {
            self.settle(settle);
        }
    }

    /// Lowers the threshold to the k-th smallest upper bound and drops what lies above it.
    fn tighten(&mut self) {
        if self.pending.len() < self.neighbors {
            return;
        }
        let (_, kth, _) =
            self.pending.select_nth_unstable_by(self.neighbors - 1, |a, b| a.upper.total_cmp(&b.upper));
        self.threshold = self.threshold.min(kth.upper);
        let threshold = self.threshold;
        self.pending.retain(|candidate| candidate.lower <= threshold);
    }

    /// Replaces bounds by true distances and keeps the best k.
    fn settle(&mut self, settle: &impl Fn(u32) -> (f64, f32)) {
        self.settled
            .extend(self.pending.drain(..).map(|candidate| (settle(candidate.index).0, candidate.index)));
        if self.settled.len() > self.neighbors {
            self.settled.select_nth_unstable_by(self.neighbors - 1, ordered);
            self.settled.truncate(self.neighbors);
        }
        if self.settled.len() == self.neighbors {
            let worst = self.settled.iter().copied().max_by(ordered).map_or(0, |(_, index)| index);
            self.threshold = self.threshold.min(settle(worst).1);
        }
    }

    /// The k nearest, in order.
    pub(super) fn finish(mut self, settle: &impl Fn(u32) -> (f64, f32)) -> Vec<(f64, u32)> {
        self.tighten();
        self.settle(settle);
        self.settled.sort_unstable_by(ordered);
        self.settled
    }
}
