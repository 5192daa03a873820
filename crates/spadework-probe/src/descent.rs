//! The loop of every search: copies of all samples that are left go through the model together, round after round.

use rayon::prelude::*;

use spadework::Samples;

use crate::batch::{Batch, ProbedSample};
use crate::black_box::BlackBox;
use crate::error::Error;

/// The search of one sample, whose copies learn from each other.
pub(crate) trait SampleSearch: Send {
    /// What the copies of a round have in common.
    type Round: Sync;

    /// The next copy.
    fn copy(&mut self, round: &Self::Round) -> Vec<f32>;

    /// Takes in the margin of that copy.
    fn learn(&mut self, margin: f64, round: &Self::Round);
}

/// Searches with a copy of every sample per round. A sample whose margin is gone needs no more of them; it is left out, which changes
/// no other sample. What the last three quarters of the copies have taken is kept: it says what more of them would take.
pub(crate) fn descend<E: From<Error>, M, S: SampleSearch>(
    batch: &Batch,
    searches: Vec<S>,
    rounds: impl Iterator<Item = S::Round>,
    probes: usize,
    model: &mut BlackBox<'_, M>,
) -> Result<Vec<ProbedSample>, E>
where
    M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>,
{
    let mut found = batch.unprobed();
    let mut left: Vec<(usize, S)> = searches.into_iter().enumerate().collect();
    let mut at_quarter = Vec::new();
    for (made, round) in rounds.take(probes).enumerate() {
        if made == probes / 4 {
            at_quarter = found.iter().map(|sample| sample.lowest).collect();
        }
        left.retain(|(at, _)| found[*at].lowest > 0.0);
        if left.is_empty() {
            model.skip_round::<E>()?;
            continue;
        }
        let copies: Vec<Vec<f32>> = left.par_iter_mut().map(|(_, search)| search.copy(&round)).collect();
        let classes: Vec<usize> = left.iter().map(|(at, _)| batch.classes[*at]).collect();
        let margins = model.margins(copies.concat(), batch.dim, &classes)?;
        left.par_iter_mut().zip(&margins).for_each(|((_, search), &margin)| search.learn(margin, &round));
        for ((at, _), margin) in left.iter().zip(margins) {
            let lowest = &mut found[*at].lowest;
            *lowest = lowest.min(margin);
        }
    }
    for (sample, before) in found.iter_mut().zip(at_quarter) {
        sample.late_loss = Some(before - sample.lowest);
    }
    Ok(found)
}
