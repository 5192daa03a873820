//! Pilots: a few samples of a network whose search is much longer than that of the others.
//!
//! How much more of its margin a sample would lose in a longer search varies greatly between networks, but little between the samples of one
//! network. So a few of the samples that survive the first probes get eight times as many probes as the others, even if they lose their class on
//! the way. What they lose during these probes shows what the others would lose.

use std::collections::BTreeMap;

use crate::chances::{Outlook, part};
use crate::intervals::median;

/// Pilots, at most, and survivors per pilot where there are fewer.
const MOST_PILOTS: usize = 8;
const SURVIVORS_PER_PILOT: usize = 8;
/// Probes of a pilot per probe of another sample, at most.
const TIMES_AS_MANY: usize = 8;
/// Probes of a pilot per number of a sample, at most: two rounds over all blocks of numbers, so that there is hardly anything left to try.
const PROBES_PER_NUMBER: usize = 4;
/// Pilots are denser among the samples that have least left, of which it is open whether they resist: the share of the samples before them is this power of
/// the share of the pilots before them.
const TOWARD_WEAK: f64 = 1.5;

/// How many of so many survivors are pilots.
pub(crate) fn pilots_among(survivors: usize) -> usize {
    MOST_PILOTS.min(survivors.div_ceil(SURVIVORS_PER_PILOT))
}

/// Probes of a pilot, where other samples of `dim` numbers have at most `probes`.
pub(crate) fn pilot_probes(probes: usize, dim: usize) -> usize {
    let most = probes.saturating_mul(TIMES_AS_MANY).min(dim.saturating_mul(PROBES_PER_NUMBER));
    most.max(probes)
}

/// Which of some survivors are pilots, given the share of its margin that each has left.
pub(crate) fn choose(mut survivors: Vec<(usize, f64)>) -> Vec<usize> {
    survivors.sort_by(|(a, left), (b, right)| left.total_cmp(right).then(a.cmp(b)));
    let (count, pilots) = (survivors.len(), pilots_among(survivors.len()));
    let place = |pilot: usize| {
        let before = ((pilot as f64 + 0.5) / pilots as f64).powf(TOWARD_WEAK);
        (before * count as f64) as usize
    };
    let mut chosen: Vec<usize> = (0..pilots).map(|pilot| survivors[place(pilot)].0).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// What was left of the margins of the pilots after some numbers of probes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PilotLosses {
    /// The margin of every pilot.
    pub(crate) margins: Vec<f64>,
    /// The smallest margin of every pilot by probes.
    pub(crate) lowest: BTreeMap<usize, Vec<f64>>,
    /// Probes of a pilot.
    pub(crate) probes: usize,
}

impl PilotLosses {
    /// What they say about a sample that survives so many probes.
    pub(crate) fn outlook(&self, probes: usize) -> Outlook {
        let growth = |from: usize| {
            let mut growths: Vec<f64> =
                (0..self.margins.len()).map(|pilot| self.growth(pilot, from)).collect();
            median(&mut growths).unwrap_or(0.0)
        };
        Outlook { further: growth(probes), late: growth(self.probes / 2), pilots: self.margins.len() }
    }

    /// The logarithm of how many times as much a pilot has lost in the end as after so many probes.
    fn growth(&self, pilot: usize, from: usize) -> f64 {
        let lost =
            |probes: usize| part(self.margins[pilot] - self.lowest[&probes][pilot], self.margins[pilot]);
        lost(self.probes) - lost(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pilots_are_few_and_mostly_weak() {
        assert_eq!([0, 1, 8, 9, 57, 64, 5000].map(pilots_among), [0, 1, 1, 2, 8, 8, 8]);
        assert_eq!((pilot_probes(256, 784), pilot_probes(256, 24), pilot_probes(20, 24)), (2048, 256, 96));
        let survivors = |count: usize| (0..count).map(|at| (at, 1.0 - at as f64 / count as f64)).collect();
        assert_eq!(choose(survivors(0)), Vec::<usize>::new());
        for count in 1..200 {
            assert_eq!(choose(survivors(count)).len(), pilots_among(count), "{count}");
        }
        // The last samples have least left.
        let chosen = choose(survivors(960));
        assert_eq!(chosen.iter().filter(|&&at| at >= 480).count(), 5, "{chosen:?}");
        assert!(chosen[0] < 120, "some of the strong ones are there too: {chosen:?}");
    }

    /// From 64 to 512 probes, three pilots lose twice, four and eight times as much, and go on where they are lost; from 256 on twice, twice and
    /// eight times.
    #[test]
    fn an_outlook_is_the_median_of_the_pilots() {
        let lowest = [(64, [0.9, 0.9, -0.5]), (256, [0.9, 0.8, -0.5]), (512, [0.8, 0.6, -11.0])];
        let lowest = lowest.into_iter().map(|(probes, lowest)| (probes, lowest.to_vec())).collect();
        let losses = PilotLosses { margins: vec![1.0; 3], lowest, probes: 512 };
        let Outlook { further, late, pilots } = losses.outlook(64);
        assert_eq!(pilots, 3);
        assert!((further - 4.0_f64.ln()).abs() < 1e-12, "{further}");
        assert!((late - 2.0_f64.ln()).abs() < 1e-12, "{late}");
        assert!(losses.outlook(512).further.abs() < 1e-12);
    }
}
