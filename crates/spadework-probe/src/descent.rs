//! The loop of every search: in every round, the probes of all remaining samples go through the model together.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use crate::batch::{Batch, Chance, ProbedSample};
use crate::black_box::{BlackBox, RunRows};
use crate::chances::{Outlook, Resisting, is_settled};
use crate::error::Error;
use crate::kind::ProbeNorm;
use crate::pilots::{PilotLosses, choose};

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
    /// Probes of a pilot.
    pub(crate) pilot_probes: usize,
    /// The search of all samples ends where what is open about the share that resists is at most this.
    pub(crate) precision: Option<f64>,
    /// In which norm.
    pub(crate) norm: ProbeNorm,
    /// What for.
    pub(crate) goal: Goal,
}

/// What a search is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The chance of every sample, by its own probes and those of pilots.
    Chances,
    /// A probe that breaks each sample, any of which may have been a pilot.
    Variants,
}

impl Effort {
    /// After how many probes stock is taken, all of them last.
    fn stocks(&self) -> Vec<usize> {
        let doubled = std::iter::successors(Some(FIRST_STOCK), |stock| Some(2 * stock));
        doubled.take_while(|&stock| stock < self.probes).chain([self.probes]).collect()
    }

    /// Rounds of probes, at most: those of pilots come before those of the others go on.
    pub(crate) fn rounds(&self) -> usize {
        match self.goal {
            Goal::Chances => self.pilot_probes + self.probes - self.stocks()[0],
            Goal::Variants => self.pilot_probes,
        }
    }
}

/// Searches with a probe of every sample per round. After the first few probes, pilots are chosen among the survivors and searched to their end. Then the
/// others go on, until they are lost or likely enough to resist. Leaving a sample out changes no other sample but by what pilots say.
pub(crate) fn descend<E: From<Error>, M: RunRows<E>, S: SampleSearch>(
    batch: &Batch,
    searches: Vec<S>,
    rounds: impl Iterator<Item = S::Round>,
    effort: Effort,
    model: &mut BlackBox<'_, M>,
) -> Result<Vec<ProbedSample>, E> {
    let rounds: Vec<S::Round> = rounds.take(effort.pilot_probes).collect();
    let mut progress = Progress::new(batch, effort);
    let mut left: Vec<(usize, S)> = searches.into_iter().enumerate().collect();
    let stocks = effort.stocks();
    match effort.goal {
        Goal::Variants => progress.search(&mut left, &rounds, 0..effort.pilot_probes, model)?,
        Goal::Chances => {
            progress.search(&mut left, &rounds, 0..stocks[0], model)?;
            progress.choose_pilots();
            let (mut pilots, mut others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|(at, _)| progress.is_pilot[*at]);
            progress.search(&mut pilots, &rounds, stocks[0]..effort.pilot_probes, model)?;
            progress.end_pilots();
            for (from, to) in stocks.iter().zip(&stocks[1..]) {
                progress.take_stock(*from);
                progress.search(&mut others, &rounds, *from..*to, model)?;
            }
            progress.take_stock(effort.probes);
        }
    }
    Ok(progress.found)
}

/// What was found of every sample, and which of them are still searched.
struct Progress<'a> {
    batch: &'a Batch,
    effort: Effort,
    found: Vec<ProbedSample>,
    is_pilot: Vec<bool>,
    /// What pilots say, once they have been searched.
    pilots: Option<PilotLosses>,
    /// The smallest margin of every sample. That of a pilot goes on to fall where it is lost, unlike what was found of it, which ends with
    /// the probe that broke it.
    deepest: Vec<f64>,
    /// The same after every number of probes that is asked for later.
    after: BTreeMap<usize, Vec<f64>>,
}

impl<'a> Progress<'a> {
    fn new(batch: &'a Batch, effort: Effort) -> Self {
        let ends = effort.stocks().into_iter().chain([effort.pilot_probes]);
        let marks = ends.flat_map(|end| [end / 4, end / 2, end]);
        Self {
            batch,
            effort,
            found: batch.unprobed(),
            is_pilot: vec![false; batch.len()],
            pilots: None,
            deepest: batch.margins.clone(),
            after: marks.map(|mark| (mark, batch.margins.clone())).collect(),
        }
    }

    /// Searches these samples, all pilots or none, as far as they are open, from one number of probes to another.
    fn search<E: From<Error>, M: RunRows<E>, S: SampleSearch>(
        &mut self,
        left: &mut Vec<(usize, S)>,
        rounds: &[S::Round],
        probes: Range<usize>,
        model: &mut BlackBox<'_, M>,
    ) -> Result<(), E> {
        let are_pilots = left.first().is_some_and(|(at, _)| self.is_pilot[*at]);
        for made in probes {
            left.retain(|(at, _)| self.is_open(*at));
            if left.is_empty() {
                model.skip_round::<E>()?;
            } else {
                let margins = next_margins(self.batch, left, &rounds[made], model)?;
                for ((at, _), margin) in left.iter().zip(margins) {
                    self.take(*at, margin);
                }
            }
            self.mark(made + 1, are_pilots);
        }
        Ok(())
    }

    /// Lost samples need no more probes, and neither do those whose search has ended; pilots go on.
    fn is_open(&self, at: usize) -> bool {
        self.is_pilot[at] || (self.found[at].holds() && self.found[at].chance.is_none())
    }

    fn take(&mut self, at: usize, margin: f64) {
        self.deepest[at] = self.deepest[at].min(margin);
        let sample = &mut self.found[at];
        if sample.holds() {
            sample.lowest = sample.lowest.min(margin);
        }
    }

    /// Keeps where these samples are after so many probes, if that is asked for later.
    fn mark(&mut self, made: usize, are_pilots: bool) {
        let Some(kept) = self.after.get_mut(&made) else { return };
        for (at, kept) in kept.iter_mut().enumerate() {
            if self.is_pilot[at] == are_pilots {
                *kept = self.deepest[at];
            }
        }
    }

    fn choose_pilots(&mut self) {
        let held = self.found.iter().enumerate().filter(|(_, sample)| sample.holds());
        for pilot in choose(held.map(|(at, sample)| (at, sample.stability())).collect()) {
            self.is_pilot[pilot] = true;
        }
    }

    /// The searches of the pilots are at their end.
    fn end_pilots(&mut self) {
        let pilots: Vec<usize> = (0..self.found.len()).filter(|&at| self.is_pilot[at]).collect();
        let of_pilots = |all: &[f64]| pilots.iter().map(|&at| all[at]).collect::<Vec<f64>>();
        let losses = PilotLosses {
            margins: of_pilots(&self.batch.margins),
            lowest: self.after.iter().map(|(&probes, all)| (probes, of_pilots(all))).collect(),
            probes: self.effort.pilot_probes,
        };
        if !pilots.is_empty() {
            let outlook = losses.outlook(losses.probes);
            for at in pilots {
                self.found[at] = self.ended(at, losses.probes, Some(&outlook));
            }
            self.pilots = Some(losses);
        }
    }

    /// Takes stock after so many probes: which samples need no more?
    fn take_stock(&mut self, made: usize) {
        let outlook = self.pilots.as_ref().map(|pilots| pilots.outlook(made));
        let ended: Vec<ProbedSample> =
            (0..self.found.len()).map(|at| self.ended(at, made, outlook.as_ref())).collect();
        let is_over = outlook.is_some_and(|outlook| outlook.is_over());
        let is_last = made == self.effort.probes || is_over || self.is_precise(&ended);
        for (sample, ended) in self.found.iter_mut().zip(ended) {
            if is_last || ended.chance.is_some_and(|chance| is_settled(&chance)) {
                *sample = ended;
            }
        }
    }

    /// A sample as it is if its search ends here. Without pilots no sample survives, and no chance is asked for.
    fn ended(&self, at: usize, made: usize, outlook: Option<&Outlook>) -> ProbedSample {
        let sample = self.found[at];
        if sample.chance.is_some() {
            return sample;
        }
        let late_loss = self.after[&(made / 4)][at] - self.deepest[at];
        let chance = match outlook {
            Some(outlook) if sample.holds() => outlook.chance(&sample, self.effort.norm),
            _ => Chance::default(),
        };
        ProbedSample { late_loss: Some(late_loss), chance: Some(chance), ..sample }
    }

    /// Whether the share that resists is known as precisely as was asked for, as far as pilots can tell.
    fn is_precise(&self, ended: &[ProbedSample]) -> bool {
        let resisting = Resisting::of(ended.iter());
        self.effort
            .precision
            .zip(resisting)
            .is_some_and(|(precision, resisting)| resisting.open_share(ended.len()) <= precision)
    }
}

/// The margins of the next probe of every sample, which their searches learn from.
fn next_margins<E: From<Error>, M: RunRows<E>, S: SampleSearch>(
    batch: &Batch,
    left: &mut [(usize, S)],
    round: &S::Round,
    model: &mut BlackBox<'_, M>,
) -> Result<Vec<f64>, E> {
    let probes: Vec<Vec<f32>> = left.par_iter_mut().map(|(_, search)| search.copy(round)).collect();
    let classes: Vec<usize> = left.iter().map(|(at, _)| batch.classes[*at]).collect();
    let samples: Vec<usize> = left.iter().map(|(at, _)| batch.indices[*at]).collect();
    let margins = model.margins(probes.concat(), batch.dim, &classes, &samples)?;
    left.par_iter_mut().zip(&margins).for_each(|((_, search), &margin)| search.learn(margin, round));
    Ok(margins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_taken_after_twice_as_many_probes_each() {
        let effort = |probes| Effort {
            probes,
            pilot_probes: 8 * probes,
            precision: None,
            norm: ProbeNorm::Linf,
            goal: Goal::Chances,
        };
        assert_eq!(
            (effort(400).stocks(), effort(256).stocks()),
            (vec![64, 128, 256, 400], vec![64, 128, 256])
        );
        assert_eq!((effort(64).stocks(), effort(1).stocks()), (vec![64], vec![1]));
        assert_eq!((effort(256).rounds(), effort(10).rounds()), (2048 + 192, 80));
    }
}
