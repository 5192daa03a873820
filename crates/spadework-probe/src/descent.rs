//! The loop of every search: copies of all samples that are left go through the model together, round after round.

use std::collections::BTreeMap;

use rayon::prelude::*;

use spadework::Samples;

use crate::batch::{Batch, ProbedSample};
use crate::black_box::BlackBox;
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

/// A sample is given up as stable where the last three quarters of its copies have taken less than this part of what is left: chosen
/// so that hardly any of them would have been lost later (`docs/probes.md`).
const STABLE: f64 = 1.0 / 8.0;
/// Copies before which no search ends early.
const LEAST_COPIES: usize = 64;

/// How long a search goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    /// Copies of a sample, at most.
    pub(crate) probes: usize,
    /// The search of all samples ends where what is open about the share that resists is at most this.
    pub(crate) precision: Option<f64>,
}

impl Effort {
    /// After how many copies a search may end: an eighth, a quarter and half of them, and all.
    fn ends(&self) -> impl Iterator<Item = usize> {
        let probes = self.probes;
        [8, 4, 2]
            .into_iter()
            .map(move |part| probes / part)
            .filter(|&end| end >= LEAST_COPIES)
            .chain([probes])
    }
}

/// Searches with a copy of every sample per round. A sample whose margin is gone, or hardly changes any more, needs no more of them; it is
/// left out, which changes no other sample. What the last three quarters of its copies have taken is kept: it says what more of them
/// would take.
pub(crate) fn descend<E: From<Error>, M, S: SampleSearch>(
    batch: &Batch,
    searches: Vec<S>,
    rounds: impl Iterator<Item = S::Round>,
    effort: Effort,
    model: &mut BlackBox<'_, M>,
) -> Result<Vec<ProbedSample>, E>
where
    M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>,
{
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
        let margins = model.margins(copies.concat(), batch.dim, &classes)?;
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
        let late = |sample: &ProbedSample, before: f64| before - sample.lowest;
        let is_last = made == self.effort.probes || self.is_precise(&before);
        for (sample, before) in self.found.iter_mut().zip(before) {
            let loss = late(sample, before);
            let has_ended = is_last || (sample.lowest > 0.0 && loss <= STABLE * sample.lowest);
            if sample.late_loss.is_none() && has_ended {
                sample.late_loss = Some(loss);
            }
        }
    }

    /// Whether the share that resists is known as precisely as was asked for, as far as more copies could tell.
    fn is_precise(&self, before: &[f64]) -> bool {
        let Some(precision) = self.effort.precision else { return false };
        let so_far: Vec<ProbedSample> = self
            .found
            .iter()
            .zip(before)
            .map(|(sample, before)| ProbedSample {
                late_loss: sample.late_loss.or(Some(before - sample.lowest)),
                ..*sample
            })
            .collect();
        let resisting = Resisting::of(so_far.iter());
        resisting.is_some_and(|resisting| resisting.open_share(so_far.len()) <= precision)
    }
}
