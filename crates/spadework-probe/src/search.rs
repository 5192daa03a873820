//! Copies that learn from each other: which corner of the box around a sample takes most of its margin?
//!
//! Within the box |x' − x| ≤ ε a model that is nearly linear is worst at a corner, a sign per number. The search begins with all
//! signs positive and turns the signs of one block of numbers round at a time, first all of a channel, then quarters of it,
//! quarters of these and so on; a turn that makes the margin smaller is kept. Large blocks find what low frequencies do with
//! few copies, small ones refine it. Going from large blocks to small ones is the hierarchy of Moon, An and Song (2019),
//! turning signs round by dyadic groups is SignHunter (Al-Dujaili and O'Reilly, 2020); here every block has one turn, and its
//! order within a size is random. No gradient is needed, and no label.
//!
//! A sample whose margin is gone needs no more copies; it is left out, which changes no other sample. What the last three
//! quarters of the copies have taken is kept: it says what more of them would take.

use rayon::prelude::*;

use spadework::Samples;
use spadework::random::{Purpose, stream};

use crate::batch::{Batch, ProbedSample};
use crate::black_box::BlackBox;
use crate::copies::Copies;
use crate::error::Error;
use crate::grid::{Grid, NestedBlocks, PixelBlock};

/// Where the search of one sample stands.
struct SearchState {
    /// Which sample of the batch.
    at: usize,
    /// 1 or −1 a number.
    signs: Vec<i8>,
    margin: f64,
}

/// Searches with at most `probes` copies of every sample.
pub(crate) fn search<E: From<Error>, M>(
    batch: &Batch,
    copies: &Copies,
    probes: usize,
    model: &mut BlackBox<'_, M>,
) -> Result<Vec<ProbedSample>, E>
where
    M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>,
{
    let mut found = batch.unprobed();
    let mut states: Vec<SearchState> = (0..batch.len())
        .map(|at| SearchState { at, signs: vec![1; batch.dim], margin: batch.margins[at] })
        .collect();
    let mut rng = stream(copies.seed, Purpose::ProbeOrder);
    // The first copy turns nothing round.
    let turns = std::iter::once(None).chain(NestedBlocks::new(copies.grid, &mut rng).map(Some));
    let mut at_quarter = Vec::new();
    for (made, turn) in turns.take(probes).enumerate() {
        if made == probes / 4 {
            at_quarter = found.iter().map(|sample| sample.lowest).collect();
        }
        states.retain(|state| found[state.at].lowest > 0.0);
        if states.is_empty() {
            model.skip_round::<E>()?;
            continue;
        }
        let rows: Vec<f32> = states
            .par_iter()
            .flat_map_iter(|state| corner(batch.row(state.at), &state.signs, turn.as_ref(), copies))
            .collect();
        let classes: Vec<usize> = states.iter().map(|state| batch.classes[state.at]).collect();
        let samples: Vec<usize> = states.iter().map(|state| batch.indices[state.at]).collect();
        let margins = model.margins(rows, batch.dim, &classes, &samples)?;
        for (state, margin) in states.iter_mut().zip(margins) {
            let lowest = &mut found[state.at].lowest;
            *lowest = lowest.min(margin);
            match &turn {
                Some(block) if margin < state.margin => {
                    flip(&mut state.signs, block, copies.grid);
                    state.margin = margin;
                }
                Some(_) => {}
                None => state.margin = margin,
            }
        }
    }
    for (sample, before) in found.iter_mut().zip(at_quarter) {
        sample.late_loss = Some(before - sample.lowest);
    }
    Ok(found)
}

/// The corner of the box that the signs name, with those of a block turned round.
fn corner(sample: &[f32], signs: &[i8], turn: Option<&PixelBlock>, copies: &Copies) -> Vec<f32> {
    let step = copies.probe.step(sample.len());
    let mut signs = signs.to_vec();
    if let Some(block) = turn {
        flip(&mut signs, block, copies.grid);
    }
    let moved = |(&number, sign): (&f32, i8)| copies.range.clamp(number + f32::from(sign) * step);
    sample.iter().zip(signs).map(moved).collect()
}

fn flip(signs: &mut [i8], block: &PixelBlock, grid: Grid) {
    grid.places(block).for_each(|place| signs[place] = -signs[place]);
}
