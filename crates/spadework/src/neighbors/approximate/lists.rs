//! Candidates of every sample, nearest first, in one flat array.

use rayon::prelude::*;

use crate::checkpoint::{StateReader, StateWriter};

/// A candidate in one word, so that words compare as (distance, index): the bits of a non-negative number are in the order
/// of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate(u64);

impl Candidate {
    /// After every real candidate.
    pub(super) const NONE: Self = Self(u64::MAX);

    #[inline(always)]
    pub(super) fn new(distance: f32, index: u32) -> Self {
        debug_assert!(distance >= 0.0, "distances are not negative");
        Self(u64::from(distance.to_bits()) << 32 | u64::from(index))
    }

    /// The same pair as a candidate of the other sample.
    #[inline(always)]
    pub(super) fn seen_from(self, other: u32) -> Self {
        Self(self.0 >> 32 << 32 | u64::from(other))
    }

    /// Its distance; of a place that is not filled infinity.
    #[inline(always)]
    pub(super) fn distance(self) -> f32 {
        // What stands for no candidate is not a number, and the other operand is taken.
        f32::from_bits((self.0 >> 32) as u32).min(f32::INFINITY)
    }

    #[inline(always)]
    pub(super) fn index(self) -> u32 {
        self.0 as u32
    }
}

/// As many candidates for every sample; places that are not filled hold [`Candidate::NONE`].
#[derive(Debug, Clone)]
pub(super) struct CandidateLists {
    length: usize,
    candidates: Vec<Candidate>,
}

impl CandidateLists {
    pub(super) fn new(samples: usize, length: usize) -> Self {
        Self { length, candidates: vec![Candidate::NONE; samples * length] }
    }

    /// Lists of so many samples that were written; `None` if something else was.
    pub(super) fn read(state: &mut StateReader<'_>, samples: usize) -> Option<Self> {
        let candidates: Vec<Candidate> = state.counts()?.into_iter().map(Candidate).collect();
        let length = candidates.len() / samples;
        let is_known =
            |candidate: &Candidate| *candidate == Candidate::NONE || (candidate.index() as usize) < samples;
        let fits = length > 0 && candidates.len() == length * samples && candidates.iter().all(is_known);
        fits.then_some(Self { length, candidates })
    }

    pub(super) fn write(&self, state: &mut StateWriter) {
        state.counts(self.candidates.iter().map(|candidate| candidate.0));
    }

    pub(super) fn len(&self) -> usize {
        self.candidates.len() / self.length
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    pub(super) fn of(&self, p: usize) -> &[Candidate] {
        &self.candidates[p * self.length..(p + 1) * self.length]
    }

    pub(super) fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, Candidate> {
        self.candidates.chunks_exact_mut(self.length)
    }

    pub(super) fn row_mut(&mut self, p: usize) -> &mut [Candidate] {
        &mut self.candidates[p * self.length..(p + 1) * self.length]
    }

    /// Takes the rows of some samples from lists that hold these alone, in this order.
    pub(super) fn take_over(&mut self, samples: &[u32], rows: &Self) {
        for (place, &p) in samples.iter().enumerate() {
            self.row_mut(p as usize).copy_from_slice(rows.of(place));
        }
    }

    /// For every sample the samples that have it as a candidate, the nearest of them, `most` at most.
    pub(super) fn reversed(&self, most: usize) -> Self {
        let filled = |p: usize| self.of(p).iter().take_while(|&&candidate| candidate != Candidate::NONE);
        let mut ends = vec![0_usize; self.len() + 1];
        for p in 0..self.len() {
            filled(p).for_each(|candidate| ends[candidate.index() as usize + 1] += 1);
        }
        for q in 0..self.len() {
            ends[q + 1] += ends[q];
        }
        // Each row is filled from its start, so that its end is where the next began.
        let mut held = vec![Candidate::NONE; ends[self.len()]];
        for p in 0..self.len() {
            for candidate in filled(p) {
                let place = &mut ends[candidate.index() as usize];
                held[*place] = candidate.seen_from(p as u32);
                *place += 1;
            }
        }
        let mut rows = Vec::with_capacity(self.len());
        let (mut rest, mut start) = (held.as_mut_slice(), 0);
        for &end in &ends[..self.len()] {
            let (row, others) = rest.split_at_mut(end - start);
            rows.push(row);
            (rest, start) = (others, end);
        }
        let mut reverse = Self::new(self.len(), most);
        reverse.candidates.par_chunks_exact_mut(most).zip(rows).for_each(|(target, row)| {
            row.sort_unstable();
            let kept = row.len().min(target.len());
            target[..kept].copy_from_slice(&row[..kept]);
        });
        reverse
    }

    /// The samples that are candidates of `p`.
    pub(super) fn indices_of(&self, p: usize) -> impl Iterator<Item = u32> + '_ {
        let filled = self.of(p).iter().take_while(|&&candidate| candidate != Candidate::NONE);
        filled.map(|candidate| candidate.index())
    }

    /// The same candidates with room for more.
    pub(super) fn extend_to(&mut self, length: usize) {
        let mut longer = Self::new(self.len(), length);
        for (p, row) in longer.rows_mut().enumerate() {
            row[..self.length].copy_from_slice(self.of(p));
        }
        *self = longer;
    }
}

/// Puts a candidate into a sorted row unless it is there already or too far.
#[inline(always)]
pub(super) fn insert(row: &mut [Candidate], candidate: Candidate) {
    let last = row.len() - 1;
    if candidate >= row[last] {
        return;
    }
    let place = row.partition_point(|held| *held < candidate);
    if row[place] != candidate {
        row.copy_within(place..last, place + 1);
        row[place] = candidate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_ordered_by_distance_then_index() {
        let ordered = [(0.0, 7), (1e-40, 3), (0.5, 1), (0.5, 2), (f32::INFINITY, 0)];
        let candidates = ordered.map(|(distance, index)| Candidate::new(distance, index));
        assert!(candidates.is_sorted());
        assert!(candidates.iter().all(|candidate| *candidate < Candidate::NONE));
        assert_eq!(candidates.map(Candidate::distance), ordered.map(|(distance, _)| distance));
        assert_eq!(Candidate::NONE.distance(), f32::INFINITY);
    }

    #[test]
    fn a_row_keeps_the_nearest_once() {
        let mut row = [Candidate::NONE; 3];
        for (distance, index) in [(3.0, 1), (1.0, 2), (2.0, 3), (1.0, 2), (9.0, 4), (0.5, 5)] {
            insert(&mut row, Candidate::new(distance, index));
        }
        assert_eq!(row.map(Candidate::index), [5, 2, 3]);
    }

    #[test]
    fn reversing_names_those_that_hold_a_sample() {
        let mut lists = CandidateLists::new(3, 2);
        insert(lists.row_mut(0), Candidate::new(1.0, 2));
        insert(lists.row_mut(1), Candidate::new(0.5, 2));
        let reverse = lists.reversed(2);
        assert_eq!(reverse.indices_of(2).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(reverse.indices_of(0).count(), 0);
    }
}
