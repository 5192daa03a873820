//! How many samples would resist an attack that goes on where a search has ended, and how sure that is.
//!
//! The last three quarters of a search have taken a loss from the margin of a sample. A search of four times as many copies would take
//! about as much again, since blocks of half the side are four times as many; one that ends after fewer than 400 copies would take more
//! ([`ProbedSample::further_loss`]). A sample is expected to resist where more than that is left. Attacks may take less than that or more.
//! The interval goes from the samples that would resist a loss three times as large to those that survived the search: over networks of
//! several sources it has covered the accuracy under attack about as often as a 95 % interval should (`docs/probes.md`). What the
//! samples leave open about others of their kind, by Wilson's interval, adds to it as independent errors do.

use crate::batch::ProbedSample;
use crate::intervals::{Estimated, wilson};

/// The largest loss beyond the search that the interval allows for, in those that are expected.
const LARGEST: f64 = 3.0;

/// Samples that would resist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Resisting {
    /// Those that survived the search: all that can, if it has found all that there is to find.
    survived: usize,
    expected: usize,
    /// If it has found little of it.
    least: usize,
}

impl Resisting {
    /// Counts them among searched samples; none where copies were random.
    pub(crate) fn of<'a>(samples: impl Iterator<Item = &'a ProbedSample>) -> Option<Self> {
        let mut found = Self::default();
        for sample in samples {
            found.survived += usize::from(sample.holds());
            found.expected += usize::from(sample.resists()?);
            found.least += usize::from(sample.resists_times(LARGEST)?);
        }
        Some(found)
    }

    /// How far the share of `n` samples may be off, for all that more copies could tell.
    pub(crate) fn open_share(&self, n: usize) -> f64 {
        (self.expected - self.least).max(self.survived - self.expected) as f64 / n as f64
    }

    /// The share of `n` samples that would resist, with a 95 % interval of sampling and extrapolation together.
    pub(crate) fn estimated(&self, n: usize) -> Estimated {
        let share = |count: usize| count as f64 / n as f64;
        let sampled = wilson(self.expected, n);
        let below = (sampled.estimate - sampled.lower).hypot(share(self.expected - self.least));
        let above = (sampled.upper - sampled.estimate).hypot(share(self.survived - self.expected));
        // No attack leaves more than survived the search.
        let most = wilson(self.survived, n).upper;
        Estimated {
            lower: (sampled.estimate - below).max(0.0),
            upper: (sampled.estimate + above).min(most),
            ..sampled
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(lowest: f64, late_loss: Option<f64>) -> ProbedSample {
        ProbedSample {
            index: 0,
            class: 0,
            margin: 1.0,
            lowest,
            scatter: None,
            late_loss,
            further_loss: late_loss,
        }
    }

    #[test]
    fn losses_decide_who_resists() {
        // Lost; left with less than half, once, twice and four times the loss; left alone.
        let left = [-0.1, 0.04, 0.07, 0.2, 0.4, 1.0];
        let samples: Vec<ProbedSample> =
            left.iter().map(|&left| sample(left, Some(if left == 1.0 { 0.0 } else { 0.1 }))).collect();
        let found = Resisting::of(samples.iter()).unwrap();
        assert_eq!(found, Resisting { survived: 5, expected: 3, least: 2 });
        assert_eq!(found.open_share(6), 2.0 / 6.0);
        assert_eq!(Resisting::of([sample(1.0, None)].iter()), None);
    }

    /// Ten times the loss is left: whatever is expected to come, the sample is stable.
    #[test]
    fn stable_samples_resist() {
        let stable = ProbedSample { further_loss: Some(4.0), ..sample(1.0, Some(0.1)) };
        let open = ProbedSample { further_loss: Some(4.0), ..sample(1.0, Some(0.2)) };
        let found = Resisting::of([stable, open].iter()).unwrap();
        assert_eq!(found, Resisting { survived: 2, expected: 1, least: 1 });
    }

    /// Errors of sampling and of extrapolation add as squares do, and no end leaves what is possible.
    #[test]
    fn intervals_are_of_both_errors() {
        let found = Resisting { survived: 60, expected: 50, least: 40 };
        let (estimated, sampled) = (found.estimated(100), wilson(50, 100));
        let expected = 0.5 - ((0.5 - sampled.lower).powi(2) + 0.01).sqrt();
        assert_eq!((estimated.estimate, estimated.n), (0.5, 100));
        assert!((estimated.lower - expected).abs() < 1e-12, "{estimated:?}");
        assert!((estimated.upper - (1.0 - expected)).abs() < 1e-12, "{estimated:?}");
        assert!(estimated.upper < wilson(60, 100).upper);
        let certain = Resisting { survived: 50, expected: 50, least: 50 }.estimated(100);
        assert_eq!((certain.lower, certain.upper), (sampled.lower, sampled.upper));
        let none = Resisting::default().estimated(100);
        assert_eq!((none.lower, none.upper), (0.0, wilson(0, 100).upper));
    }
}
