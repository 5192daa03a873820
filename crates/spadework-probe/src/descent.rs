//! The loop of every search: copies of all samples that are left go through the model together, round after round.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::batch::{Batch, ProbedSample, STABLE};
use crate::black_box::{BlackBox, RunRows};
use crate::error::Error;
use crate::resisting::Resisting;

/// The search of one sample, whose copies learn from each other.
pub(crate) trait SampleSearch: Send {
    /// What the copies of a round have in common.
    type Round: Sync;

    /// The next copy.
    fn copy(&mut self, round: &Self::Round) -> Vec<f32>;

    /// Takes in the margin of that copy.
    fn learn(&mut self, margin: f64, round: &Self::Round);
}

/// Copies before which no sample is left out as stable.
const LEAST_COPIES: usize = 64;
/// Copies before which a search does not end as precise: with fewer, intervals have covered too little (`docs/probes.md`).
const LEAST_PRECISE: usize = 200;
/// Copies after which a search of four times as many is expected to take as much again as its last three quarters have; with fewer it
/// takes more, in proportion.
const ENOUGH_COPIES: usize = 400;

/// How long a search goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    /// Copies of a sample, at most.
    pub(crate) probes: usize,
    /// The search of all samples ends where what is open about the share that resists is at most this.
    pub(crate) precision: Option<f64>,
    /// Copies that try every block of numbers once.
    pub(crate) blocks: usize,
}

impl Effort {
    pub(crate) fn new(probes: usize, precision: Option<f64>) -> Self {
        Self { probes, precision, blocks: ENOUGH_COPIES }
    }

    /// The same for a search that has tried everything after so many copies.
    #[must_use]
    pub(crate) fn over(self, blocks: usize) -> Self {
        Self { blocks, ..self }
    }

    /// After how many copies a search may end: an eighth, a quarter and half of them, and all.
    fn ends(&self) -> impl Iterator<Item = usize> {
        let probes = self.probes;
        [8, 4, 2]
            .into_iter()
            .map(move |part| probes / part)
            .filter(|&end| end >= LEAST_COPIES)
            .chain([probes])
    }

    /// What an attack is expected to take beyond a search that ends after so many copies, in losses of their last three quarters.
    fn further(&self, copies: usize) -> f64 {
        (self.blocks.min(ENOUGH_COPIES) as f64 / copies as f64).max(1.0)
    }
}

/// Searches with a copy of every sample per round. A sample whose margin is gone, or hardly changes any more, needs no more of them; it is
/// left out, which changes no other sample. What the last three quarters of its copies have taken is kept: it says what more of them
/// would take.
pub(crate) fn descend<E: From<Error>, M: RunRows<E>, S: SampleSearch>(
    batch: &Batch,
    searches: Vec<S>,
    rounds: impl Iterator<Item = S::Round>,
    effort: Effort,
    model: &mut BlackBox<'_, M>,
) -> Result<Vec<ProbedSample>, E> {
    let mut progress = Progress::new(batch, effort);
    let mut left: Vec<(usize, S)> = searches.into_iter().enumerate().collect();
    for (made, round) in rounds.take(effort.probes).enumerate() {
        progress.after(made);
        left.retain(|(at, _)| progress.is_open(*at));
        if left.is_empty() {
            model.skip_round::<E>()?;
            continue;
        }
        let copies: Vec<Vec<f32>> = left.par_iter_mut().map(|(_, search)| search.copy(&round)).collect();
        let classes: Vec<usize> = left.iter().map(|(at, _)| batch.classes[*at]).collect();
        let samples: Vec<usize> = left.iter().map(|(at, _)| batch.indices[*at]).collect();
        let margins = model.margins(copies.concat(), batch.dim, &classes, &samples)?;
        left.par_iter_mut().zip(&margins).for_each(|((_, search), &margin)| search.learn(margin, &round));
        for ((at, _), margin) in left.iter().zip(margins) {
            progress.take(*at, margin);
        }
    }
    progress.after(effort.probes);
    Ok(progress.found)
}

/// What was found of every sample, and which of them are still searched.
struct Progress {
    found: Vec<ProbedSample>,
    effort: Effort,
    /// The smallest margins after a quarter of the copies of every end that is still to come.
    at_quarter: BTreeMap<usize, Vec<f64>>,
}

impl Progress {
    fn new(batch: &Batch, effort: Effort) -> Self {
        Self { found: batch.unprobed(), effort, at_quarter: BTreeMap::new() }
    }

    /// Lost samples need no more copies, and neither do those whose search has ended.
    fn is_open(&self, at: usize) -> bool {
        self.found[at].lowest > 0.0 && self.found[at].late_loss.is_none()
    }

    fn take(&mut self, at: usize, margin: f64) {
        let lowest = &mut self.found[at].lowest;
        *lowest = lowest.min(margin);
    }

    /// Takes stock after so many copies.
    fn after(&mut self, made: usize) {
        if self.effort.ends().any(|end| end / 4 == made) {
            self.at_quarter.insert(made, self.found.iter().map(|sample| sample.lowest).collect());
        }
        if !self.effort.ends().any(|end| end == made) {
            return;
        }
        let before = self.at_quarter.remove(&(made / 4)).expect("a quarter comes before the whole");
        let ended = self.ended(&before, made);
        let is_last = made == self.effort.probes || self.is_precise(&ended, made);
        for (sample, ended) in self.found.iter_mut().zip(ended) {
            let is_stable = ended.lowest > 0.0 && ended.late_loss <= Some(STABLE * ended.lowest);
            if is_last || is_stable {
                *sample = ended;
            }
        }
    }

    /// The samples as they are if the search ends here; `before` are their margins after a quarter of the copies.
    fn ended(&self, before: &[f64], made: usize) -> Vec<ProbedSample> {
        let further = self.effort.further(made);
        let ended = |(sample, before): (&ProbedSample, &f64)| {
            let loss = before - sample.lowest;
            match sample.late_loss {
                Some(_) => *sample,
                None => ProbedSample { late_loss: Some(loss), further_loss: Some(further * loss), ..*sample },
            }
        };
        self.found.iter().zip(before).map(ended).collect()
    }

    /// Whether the share that resists is known as precisely as was asked for, as far as more copies could tell.
    fn is_precise(&self, ended: &[ProbedSample], made: usize) -> bool {
        let Some(precision) = self.effort.precision.filter(|_| made >= LEAST_PRECISE) else { return false };
        let resisting = Resisting::of(ended.iter());
        resisting.is_some_and(|resisting| resisting.open_share(ended.len()) <= precision)
    }
}
