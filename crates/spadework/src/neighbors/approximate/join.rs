//! Rounds that only use heads: all samples joined with the same sample are compared with each other, sixteen at once.
//!
//! A pair is compared once for every sample that both are joined with. That is several times as often as needed. But it is
//! far cheaper than searching the lists of each sample for samples not yet compared, which are scattered over the memory.

use rayon::prelude::*;

use super::links::{Joined, Link};
use super::lists::{Candidate, CandidateLists, insert};
use super::rough::ShortDistance;
use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::lanes::{Lanes, LanesTask, dispatch};

/// Samples around which others meet before their findings are taken over.
const MEETINGS_AT_ONCE: usize = 1 << 16;
/// Meetings that a task takes at a time.
const TASK_MEETINGS: usize = 256;

/// Takes into every list what meetings bring that is nearer than the last of its `wanted` first candidates. Around samples
/// that are joined with the same as in the last round nothing new is met.
pub(super) fn meet(
    distance: &ShortDistance,
    lists: &mut CandidateLists,
    joined: &Joined,
    wanted: usize,
    monitor: &dyn Monitor,
) -> Result<()> {
    let middles: Vec<u32> =
        (0..lists.len() as u32).into_par_iter().filter(|&p| joined.of(p).any(Link::is_fresh)).collect();
    for middles in middles.chunks(MEETINGS_AT_ONCE) {
        let found: Vec<Vec<(u32, Candidate)>> = middles
            .par_chunks(TASK_MEETINGS)
            .map(|middles| {
                check_cancelled(monitor)?;
                Ok(dispatch(Meetings { distance, lists, joined, wanted, middles }))
            })
            .collect::<Result<_>>()?;
        for (p, candidate) in found.into_iter().flatten() {
            insert(lists.row_mut(p as usize), candidate);
        }
    }
    Ok(())
}

/// Finds new candidates of those that are joined with some samples.
struct Meetings<'a> {
    distance: &'a ShortDistance,
    lists: &'a CandidateLists,
    joined: &'a Joined,
    wanted: usize,
    middles: &'a [u32],
}

impl LanesTask for Meetings<'_> {
    type Output = Vec<(u32, Candidate)>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<(u32, Candidate)> {
        let Self { distance, lists, joined, wanted, middles } = self;
        let (mut found, mut members, mut near) = (Vec::new(), Vec::new(), Vec::new());
        for &middle in middles {
            members.clear();
            members.extend(joined.of(middle).filter(|link| link.is_fresh()).map(Link::sample));
            let fresh = members.len();
            members.extend(joined.of(middle).filter(|link| !link.is_fresh()).map(Link::sample));
            // Those that have it as a candidate need not be candidates of it.
            members.push(middle);
            let packed = distance.packed(members.iter().copied());
            for (at, &p) in members.iter().enumerate() {
                let row = &lists.of(p as usize)[..wanted];
                // Two that were there in the last round have met.
                let others = if at < fresh { members.len() } else { fresh };
                let limit = row[wanted - 1].distance() as i32;
                packed.first_within(lanes, others, distance.head(p), limit, &mut near);
                for &(place, squared) in &near {
                    let candidate = Candidate::new(squared as f32, members[place]);
                    if place != at && row.binary_search(&candidate).is_err() {
                        found.push((p, candidate));
                    }
                }
            }
        }
        found
    }
}
