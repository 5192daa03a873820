//! A search that continues where an earlier one was interrupted.
//!
//! A part has the lists of all rows, and which leaves are done. Leaves are marked before the lists are copied, so the lists contain
//! everything that the marked leaves found. They may contain more; these candidates are found again and not added twice. They only
//! make radii smaller than they were at that point, so the search ends with the same lists.

use std::sync::atomic::{AtomicBool, Ordering};

use super::best::Candidate;
use super::tiles::Tiles;
use crate::checkpoint::{Resumable, StateReader, StateWriter, Work};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::RowSource;
use crate::samples::Samples;

/// Which leaves are done.
pub(super) struct LeavesDone {
    /// Searched among the leaves near them.
    near: Vec<AtomicBool>,
    /// Compared with all later leaves.
    compared: Vec<AtomicBool>,
}

impl LeavesDone {
    fn none_of(leaves: usize) -> Self {
        let none = || (0..leaves).map(|_| AtomicBool::new(false)).collect();
        Self { near: none(), compared: none() }
    }

    /// Searches near a leaf unless that is done.
    pub(super) fn unless_near(&self, leaf: usize, search: impl FnOnce() -> Result<()>) -> Result<()> {
        unless(&self.near[leaf], search)
    }

    /// Compares a leaf with later ones unless that is done.
    pub(super) fn unless_compared(&self, leaf: usize, compare: impl FnOnce() -> Result<()>) -> Result<()> {
        unless(&self.compared[leaf], compare)
    }
}

fn unless(done: &AtomicBool, work: impl FnOnce() -> Result<()>) -> Result<()> {
    if !done.load(Ordering::Acquire) {
        work()?;
        done.store(true, Ordering::Release);
    }
    Ok(())
}

/// A search whose parts are kept where the monitor has a place for them.
pub(super) struct Unfinished<'a>(Resumable<'a>);

impl<'a> Unfinished<'a> {
    pub(super) fn new(samples: &'a Samples<'a>, neighbors: usize, monitor: &'a dyn Monitor) -> Self {
        let work = Work::new("neighbors", samples, format!("pairs of leaves, k = {neighbors}"));
        Self(Resumable::new(work, monitor.checkpoints()))
    }

    /// Gives the search what an earlier one has found; which leaves are then done.
    pub(super) fn take_up<R: RowSource>(&self, tiles: &mut Tiles<R>) -> LeavesDone {
        let stored = self.0.stored();
        let done = stored.and_then(|stored| restored(&stored, tiles));
        done.unwrap_or_else(|| LeavesDone::none_of(tiles.leaf_count()))
    }

    pub(super) fn keep_if_due<R: RowSource>(&self, tiles: &Tiles<R>, done: &LeavesDone) {
        self.0.keep_if_due(|| state(tiles, done));
    }
}

/// What the lists and the marks depend on besides the samples: how these were sorted into leaves.
fn layout<R: RowSource>(tiles: &Tiles<R>) -> impl ExactSizeIterator<Item = u32> + use<R> {
    let ends = (0..tiles.leaf_count()).map(|leaf| tiles.leaves.rows(leaf).end as u32);
    let layout: Vec<u32> = tiles.leaves.order().iter().copied().chain(ends).collect();
    layout.into_iter()
}

fn state<R: RowSource>(tiles: &Tiles<R>, done: &LeavesDone) -> Vec<u8> {
    // Before the lists are copied.
    let marks = [&done.near, &done.compared]
        .map(|marks| marks.iter().map(|mark| u32::from(mark.load(Ordering::Acquire))).collect::<Vec<_>>());
    let mut state = StateWriter::default();
    state.indices(layout(tiles));
    for marks in marks {
        state.indices(marks.into_iter());
    }
    let found: Vec<Vec<Candidate>> =
        (0..tiles.leaves.order().len()).map(|p| tiles.best.found_by(p)).collect();
    let all = found.as_slice().concat();
    state.indices(found.iter().map(|found| found.len() as u32));
    state.indices(all.iter().map(|candidate| candidate.index));
    state.doubles(&all.iter().map(|candidate| candidate.least).collect::<Vec<_>>());
    state.doubles(&all.iter().map(|candidate| candidate.most).collect::<Vec<_>>());
    state.into_bytes()
}

/// Fills the lists; `None`, with nothing changed, where the state is of another layout.
fn restored<R: RowSource>(state: &[u8], tiles: &mut Tiles<R>) -> Option<LeavesDone> {
    let mut state = StateReader::new(state);
    if !state.indices()?.into_iter().eq(layout(tiles)) {
        return None;
    }
    let (near, compared) = (state.indices()?, state.indices()?);
    let (lengths, indices) = (state.indices()?, state.indices()?);
    let (least, most) = (state.doubles()?, state.doubles()?);
    let (leaves, samples) = (tiles.leaf_count(), tiles.leaves.order().len());
    let listed: usize = lengths.iter().map(|&length| length as usize).sum();
    let fits = [near.len(), compared.len()] == [leaves; 2]
        && lengths.len() == samples
        && [indices.len(), least.len(), most.len()] == [listed; 3]
        && state.is_at_end();
    if !fits {
        return None;
    }
    let bounds = least.into_iter().zip(most);
    let mut found = bounds.zip(indices).map(|((least, most), index)| Candidate { least, most, index });
    for (p, length) in lengths.into_iter().enumerate() {
        tiles.best.restore(p, found.by_ref().take(length as usize).collect());
    }
    let marked = |marks: Vec<u32>| marks.into_iter().map(|mark| AtomicBool::new(mark == 1)).collect();
    (0..leaves).filter(|&leaf| near[leaf] == 1).for_each(|leaf| tiles.refresh_reach(leaf));
    Some(LeavesDone { near: marked(near), compared: marked(compared) })
}
