//! NN-descent: samples joined with the same sample are likely neighbors.

use std::mem;

use rayon::prelude::*;

use super::join;
use super::links::Joined;
use super::lists::{Candidate, CandidateLists, insert};
use super::rough::Distance;
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::lanes::{LANES, Lanes, LanesTask, dispatch};

/// Rounds of one descent at most.
pub(super) const MOST_ROUNDS: u64 = 12;
/// A descent ends where a round changes a smaller part of the k nearest than this.
const LEAST_CHANGE: f64 = 0.0005;
/// Candidates beyond the k nearest for which meetings are searched: where heads alone are compared, true neighbors may
/// stand a little behind. In lists that have grown it is more: half of them.
const MEETING_SPARE: usize = 6;
/// Samples that a task takes at a time.
const TASK_SAMPLES: usize = 256;

/// Rounds in which every sample looks at two steps of the graph of candidates.
pub(super) struct Descent<'a, D> {
    distance: &'a D,
    /// Near samples stand together, so that what one needs is in the cache for the next.
    order: &'a [u32],
    /// The k that is wanted in the end; lists are longer.
    neighbors: usize,
    /// Who was joined with whom in the last round: two steps that were there then have been looked at.
    last: Option<Joined>,
}

impl<'a, D: Distance> Descent<'a, D> {
    pub(super) fn new(distance: &'a D, order: &'a [u32], neighbors: usize, last: Option<Joined>) -> Self {
        Self { distance, order, neighbors, last }
    }

    /// Who was joined with whom in the last round.
    pub(super) fn last(&self) -> Option<&Joined> {
        self.last.as_ref()
    }

    /// One round; whether it changed so little that it is the last.
    pub(super) fn take_round(&mut self, lists: &mut CandidateLists, monitor: &dyn Monitor) -> Result<bool> {
        let joined = Joined::new(lists, self.links(lists.length()), self.last.as_ref());
        let after = self.round(lists, &joined, monitor)?;
        let before = mem::replace(lists, after);
        self.last = Some(joined);
        Ok(changed(&before, lists, self.neighbors) < LEAST_CHANGE)
    }

    /// Samples that one is joined with, where lists are so long.
    fn links(&self, length: usize) -> usize {
        match self.distance.heads_alone() {
            // Some more, as meetings are cheap, so that they fill groups of lanes with the one they are joined with.
            Some(_) => (length * 5 / 4 + 1).next_multiple_of(LANES) - 1,
            None => length,
        }
    }

    fn round(
        &self,
        lists: &CandidateLists,
        joined: &Joined,
        monitor: &dyn Monitor,
    ) -> Result<CandidateLists> {
        if let Some(heads) = self.distance.heads_alone() {
            let wanted = (self.neighbors + MEETING_SPARE).max(lists.length() / 2).min(lists.length());
            let mut after = lists.clone();
            join::meet(heads, &mut after, joined, wanted, monitor)?;
            return Ok(after);
        }
        let tasks: Vec<CandidateLists> = self
            .order
            .par_chunks(TASK_SAMPLES)
            .map(|samples| {
                check_cancelled(monitor)?;
                let mut found = CandidateLists::new(samples.len(), lists.length());
                dispatch(Task { distance: self.distance, samples, lists, joined, found: &mut found });
                Ok(found)
            })
            .collect::<Result<_>>()?;
        let mut after = CandidateLists::new(lists.len(), lists.length());
        for (samples, task) in self.order.chunks(TASK_SAMPLES).zip(tasks) {
            after.take_over(samples, &task);
        }
        Ok(after)
    }
}

/// The part of the k nearest that were not there before.
fn changed(before: &CandidateLists, after: &CandidateLists, neighbors: usize) -> f64 {
    let fresh = |p: usize| {
        let old = before.of(p);
        after.of(p)[..neighbors].iter().filter(|candidate| old.binary_search(candidate).is_err()).count()
    };
    let fresh: usize = (0..after.len()).into_par_iter().map(fresh).sum();
    fresh as f64 / (after.len() * neighbors) as f64
}

/// One task of a round.
struct Task<'a, D> {
    distance: &'a D,
    samples: &'a [u32],
    lists: &'a CandidateLists,
    joined: &'a Joined,
    found: &'a mut CandidateLists,
}

impl<D: Distance> LanesTask for Task<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { distance, samples, lists, joined, found } = self;
        let mut seen = Seen::new();
        let mut others = Vec::new();
        let mut bounds = Vec::new();
        for (&p, row) in samples.iter().zip(found.rows_mut()) {
            row.copy_from_slice(lists.of(p as usize));
            seen.clear();
            for q in lists.indices_of(p as usize) {
                seen.add(q);
            }
            others.clear();
            for first in joined.of(p) {
                // Those that have p as a candidate need not be candidates of p.
                look_at(p, first.sample(), &mut seen, &mut others);
                for second in joined.of(first.sample()) {
                    if first.is_fresh() || second.is_fresh() {
                        look_at(p, second.sample(), &mut seen, &mut others);
                    }
                }
            }
            take_nearer(lanes, distance, p, &others, &mut bounds, row);
        }
    }
}

/// Notes `q` as one to be compared with `p`, unless it has been seen.
#[inline(always)]
fn look_at(p: u32, q: u32, seen: &mut Seen, others: &mut Vec<u32>) {
    // What was seen may be forgotten, so that `p` is not among it.
    if q != p && seen.add(q) {
        others.push(q);
    }
}

/// Takes those of the others into the row of `p` that are near enough. Their bounds come first, for all of them: no step of
/// that waits for another, so that many samples are on their way from the memory at once.
// A function and not a closure: a closure is not compiled for the instruction set that was dispatched to.
#[inline(always)]
fn take_nearer<L: Lanes, D: Distance>(
    lanes: L,
    distance: &D,
    p: u32,
    others: &[u32],
    bounds: &mut Vec<i32>,
    row: &mut [Candidate],
) {
    bounds.clear();
    bounds.resize(others.len(), 0);
    for (bound, &q) in bounds.iter_mut().zip(others) {
        *bound = distance.bound(lanes, p, q);
    }
    for (&bound, &q) in bounds.iter().zip(others) {
        if bound as f32 <= row[row.len() - 1].distance() {
            insert(row, Candidate::new(distance.between(lanes, p, q, bound), q));
        }
    }
}

/// The samples that were looked at for one sample. Samples share slots, so one may be forgotten: it is then looked at
/// twice, which changes nothing.
struct Seen {
    slots: Box<[u32; 1 << Self::SLOT_BITS]>,
}

impl Seen {
    /// So many that they leave the inner cache some room.
    const SLOT_BITS: u32 = 12;

    fn new() -> Self {
        Self { slots: Box::new([u32::MAX; 1 << Self::SLOT_BITS]) }
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.slots.fill(u32::MAX);
    }

    /// Whether the sample had not been seen.
    #[inline(always)]
    fn add(&mut self, q: u32) -> bool {
        // Multiplying by 2³²/φ spreads neighboring numbers over the slots.
        let slot = q.wrapping_mul(0x9E37_79B9) >> (u32::BITS - Self::SLOT_BITS);
        mem::replace(&mut self.slots[slot as usize], q) != q
    }
}
