//! Which samples are joined in a round of the descent.

use rayon::prelude::*;

use super::lists::{Candidate, CandidateLists};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};

/// Samples that a descent can number: a bit of their numbers says which links are new, and one number says that there is none.
const MOST_SAMPLES: usize = (1 << 31) - 1;

/// Whether a descent can number so many samples.
///
/// # Errors
/// [`Error::TooManySamples`].
pub(super) fn check_samples(samples: usize) -> Result<()> {
    if samples > MOST_SAMPLES {
        return Err(Error::TooManySamples { samples, limit: MOST_SAMPLES });
    }
    Ok(())
}

/// For every sample those it is joined with, nearest first: its own candidates, and samples that have it as theirs; so many
/// at most.
pub(super) struct Joined {
    most: usize,
    links: Vec<Link>,
}

/// A sample that another is joined with, and whether it is so since this round only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    /// One bit of the word, so that there is no number for more than [`MOST_SAMPLES`].
    const FRESH: u32 = 1 << 31;
    /// The last number with that bit, which is not a sample's.
    const NONE: Self = Self(u32::MAX);

    #[inline(always)]
    fn new(sample: u32, is_fresh: bool) -> Self {
        debug_assert!((sample as usize) < MOST_SAMPLES, "checked before the descent");
        Self(if is_fresh { sample | Self::FRESH } else { sample })
    }

    #[inline(always)]
    pub(super) fn sample(self) -> u32 {
        self.0 & !Self::FRESH
    }

    #[inline(always)]
    pub(super) fn is_fresh(self) -> bool {
        self.0 & Self::FRESH != 0
    }
}

impl Joined {
    pub(super) fn new(lists: &CandidateLists, most: usize, last: Option<&Joined>) -> Self {
        let reverse = lists.reversed(most);
        let mut links = vec![Link::NONE; lists.len() * most];
        links.par_chunks_exact_mut(most).enumerate().for_each(|(p, links)| {
            let both = merged(lists.of(p), reverse.of(p));
            for (link, candidate) in links.iter_mut().zip(both) {
                let q = candidate.index();
                let known = last.is_some_and(|last| last.of(p as u32).any(|old| old.sample() == q));
                *link = Link::new(q, !known);
            }
        });
        Self { most, links }
    }

    /// What was written of so many samples; `None` if something else was.
    pub(super) fn read(state: &mut StateReader<'_>, samples: usize) -> Option<Self> {
        let links: Vec<Link> = state.indices()?.into_iter().map(Link).collect();
        let most = links.len() / samples;
        let is_known = |link: &Link| *link == Link::NONE || (link.sample() as usize) < samples;
        let fits = most > 0 && links.len() == most * samples && links.iter().all(is_known);
        fits.then_some(Self { most, links })
    }

    pub(super) fn write(&self, state: &mut StateWriter) {
        state.indices(self.links.iter().map(|link| link.0));
    }

    #[inline(always)]
    pub(super) fn of(&self, p: u32) -> impl Iterator<Item = Link> + '_ {
        let links = &self.links[p as usize * self.most..(p as usize + 1) * self.most];
        links.iter().copied().take_while(|&link| link != Link::NONE)
    }
}

/// Two sorted rows as one, without what stands in both twice.
fn merged<'a>(a: &'a [Candidate], b: &'a [Candidate]) -> impl Iterator<Item = Candidate> + 'a {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let head = |row: &[Candidate], at: usize| row.get(at).copied().unwrap_or(Candidate::NONE);
        let (first, second) = (head(a, i), head(b, j));
        let next = first.min(second);
        i += usize::from(first == next);
        j += usize::from(second == next);
        (next != Candidate::NONE).then_some(next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last sample that has a number is neither taken for another nor for none, new or not; one sample more is refused.
    #[test]
    fn every_sample_that_is_accepted_has_a_link_of_its_own() {
        let last = (MOST_SAMPLES - 1) as u32;
        for is_fresh in [false, true] {
            let link = Link::new(last, is_fresh);
            assert_ne!(link, Link::NONE);
            assert_eq!((link.sample(), link.is_fresh()), (last, is_fresh));
        }
        assert!(check_samples(MOST_SAMPLES).is_ok());
        let (samples, limit) = (MOST_SAMPLES + 1, MOST_SAMPLES);
        assert_eq!(check_samples(samples), Err(Error::TooManySamples { samples, limit }));
    }
}
