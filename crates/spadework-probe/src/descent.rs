//! The loop of every search: probes of all samples that are left go through the model together, round after round.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::batch::{Batch, ProbedSample};
use crate::black_box::{BlackBox, RunRows};
use crate::chances::{Resisting, chance, is_stable};
use crate::error::Error;
use crate::kind::ProbeNorm;

/// The search of one sample, whose probes learn from each other.
pub(crate) trait SampleSearch: Send {
    /// What the probes of a round have in common.
    type Round: Sync;

    /// The next probe.
    fn copy(&mut self, round: &Self::Round) -> Vec<f32>;

    /// Takes in the margin of that probe.
    fn learn(&mut self, margin: f64, round: &Self::Round);
}

/// Probes after which a search first takes stock; then after twice as many, and so on.
const FIRST_STOCK: usize = 64;

/// How long a search goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    /// Probes of a sample, at most.
    pub(crate) probes: usize,
    /// The search of all samples ends where what is open about the share that resists is at most this.
    pub(crate) precision: Option<f64>,
    /// In which norm.
    pub(crate) norm: ProbeNorm,
}

impl Effort {
    /// After how many probes stock is taken, all of them last.
    fn stocks(&self) -> Vec<usize> {
        let doubled = std::iter::successors(Some(FIRST_STOCK), |stock| Some(2 * stock));
        doubled.take_while(|&stock| stock < self.probes).chain([self.probes]).collect()
    }
}

/// Searches with a probe of every sample per round. From time to time it takes stock: a sample that is lost, or whose margin hardly
/// changes any more, needs no more probes. Leaving it out changes no other sample.
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
        let probes: Vec<Vec<f32>> = left.par_iter_mut().map(|(_, search)| search.copy(&round)).collect();
        let classes: Vec<usize> = left.iter().map(|(at, _)| batch.classes[*at]).collect();
        let samples: Vec<usize> = left.iter().map(|(at, _)| batch.indices[*at]).collect();
        let margins = model.margins(probes.concat(), batch.dim, &classes, &samples)?;
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
    /// Numbers per sample.
    dim: usize,
    stocks: Vec<usize>,
    effort: Effort,
    /// The smallest margins after a quarter of the probes of every stock that is still to come.
    at_quarter: BTreeMap<usize, Vec<f64>>,
}

impl Progress {
    fn new(batch: &Batch, effort: Effort) -> Self {
        let (found, stocks) = (batch.unprobed(), effort.stocks());
        Self { found, dim: batch.dim, stocks, effort, at_quarter: BTreeMap::new() }
    }

    /// Lost samples need no more probes, and neither do those whose search has ended.
    fn is_open(&self, at: usize) -> bool {
        self.found[at].lowest > 0.0 && self.found[at].late_loss.is_none()
    }

    fn take(&mut self, at: usize, margin: f64) {
        let lowest = &mut self.found[at].lowest;
        *lowest = lowest.min(margin);
    }

    /// Takes stock after so many probes, where it is time to.
    fn after(&mut self, made: usize) {
        if self.stocks.iter().any(|stock| stock / 4 == made) {
            self.at_quarter.insert(made, self.found.iter().map(|sample| sample.lowest).collect());
        }
        if !self.stocks.contains(&made) {
            return;
        }
        // Two stocks may have the same quarter, those of 64 and 65 probes for example.
        let before = self.at_quarter.get(&(made / 4)).expect("a quarter comes before the whole");
        let ended: Vec<ProbedSample> =
            self.found.iter().zip(before).map(|(sample, &before)| self.ended(sample, before, made)).collect();
        let is_last = self.stocks.last() == Some(&made) || self.is_precise(&ended);
        for (sample, ended) in self.found.iter_mut().zip(ended) {
            if is_last || is_stable(&ended) {
                *sample = ended;
            }
        }
    }

    /// A sample as it is if its search ends here; `before` is its margin after a quarter of the probes.
    fn ended(&self, sample: &ProbedSample, before: f64, made: usize) -> ProbedSample {
        if sample.late_loss.is_some() {
            return *sample;
        }
        let late_loss = before - sample.lowest;
        let numbers_per_probe = self.dim as f64 / made as f64;
        let chance =
            if sample.holds() { chance(sample, late_loss, numbers_per_probe, self.effort.norm) } else { 0.0 };
        ProbedSample { late_loss: Some(late_loss), chance: Some(chance), ..*sample }
    }

    /// Whether the share that resists is known as precisely as was asked for, as far as more probes could tell.
    fn is_precise(&self, ended: &[ProbedSample]) -> bool {
        let resisting = Resisting::of(ended.iter());
        self.effort
            .precision
            .zip(resisting)
            .is_some_and(|(precision, resisting)| resisting.open_share(ended.len()) <= precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_taken_after_twice_as_many_probes_each() {
        let stocks = |probes| Effort { probes, precision: None, norm: ProbeNorm::Linf }.stocks();
        assert_eq!((stocks(400), stocks(256)), (vec![64, 128, 256, 400], vec![64, 128, 256]));
        assert_eq!((stocks(64), stocks(1)), (vec![64], vec![1]));
    }
}
