//! An approximate search that continues where an earlier one was interrupted.
//!
//! A part is stored after every tree and every round: the true neighbors of the rows whose recall is measured, the candidates,
//! which samples were joined, and the progress of the search. Everything else follows from the samples and the seed.

use super::ApproximateSearch;
use super::links::Joined;
use super::lists::CandidateLists;
use super::recall::Truth;
use crate::checkpoint::{Resumable, StateReader, StateWriter, Work};
use crate::monitor::Monitor;
use crate::samples::Samples;

/// Which distances candidates are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparedBy {
    /// Short copies of the samples.
    Short,
    /// The samples as they are.
    Full,
}

/// How far a search has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) compared_by: ComparedBy,
    /// Trees whose leaves have been compared.
    pub(super) trees: u64,
    /// How often lists have become longer.
    pub(super) extensions: u64,
    /// Rounds with lists of this length; all that there can be where the last one changed little.
    pub(super) rounds: u64,
}

impl Step {
    pub(super) fn first(compared_by: ComparedBy) -> Self {
        Self { compared_by, trees: 0, extensions: 0, rounds: 0 }
    }
}

/// What there is after some steps.
pub(super) struct Reached {
    pub(super) step: Step,
    pub(super) lists: CandidateLists,
    /// Who was joined with whom in the last round.
    pub(super) last: Option<Joined>,
}

/// A search whose parts are kept where the monitor has a place for them.
pub(super) struct Unfinished<'a>(Resumable<'a>);

impl<'a> Unfinished<'a> {
    pub(super) fn new(
        search: &ApproximateSearch,
        samples: &'a Samples<'a>,
        neighbors: usize,
        monitor: &'a dyn Monitor,
    ) -> Self {
        let ApproximateSearch { seed, recall } = search;
        let parameters = format!("descent, k = {neighbors}, seed {seed}, recall {recall}");
        Self(Resumable::new(Work::new("neighbors", samples, parameters), monitor.checkpoints()))
    }

    /// What an earlier search of so many samples left.
    pub(super) fn stored(&self, samples: usize, neighbors: usize) -> Option<(Truth, Option<Reached>)> {
        let stored = self.0.stored()?;
        let mut state = StateReader::new(&stored);
        let truth = Truth::read(&mut state, samples, neighbors)?;
        if state.is_at_end() {
            return Some((truth, None));
        }
        let [is_full, trees, extensions, rounds] = state.some_counts()?;
        let compared_by = if is_full == 1 { ComparedBy::Full } else { ComparedBy::Short };
        let lists = CandidateLists::read(&mut state, samples)?;
        let last = if state.is_at_end() { None } else { Some(Joined::read(&mut state, samples)?) };
        let step = Step { compared_by, trees, extensions, rounds };
        state.is_at_end().then_some((truth, Some(Reached { step, lists, last })))
    }

    /// Keeps what is known before there are candidates, if it is time to.
    pub(super) fn keep_truth_if_due(&self, truth: &Truth) {
        self.0.keep_if_due(|| {
            let mut state = StateWriter::default();
            truth.write(&mut state);
            state.into_bytes()
        });
    }

    /// Keeps what there is, if it is time to.
    pub(super) fn keep_if_due(
        &self,
        truth: &Truth,
        step: Step,
        lists: &CandidateLists,
        last: Option<&Joined>,
    ) {
        self.0.keep_if_due(|| {
            let mut state = StateWriter::default();
            truth.write(&mut state);
            let is_full = u64::from(step.compared_by == ComparedBy::Full);
            state.counts([is_full, step.trees, step.extensions, step.rounds].into_iter());
            lists.write(&mut state);
            if let Some(last) = last {
                last.write(&mut state);
            }
            state.into_bytes()
        });
    }
}
