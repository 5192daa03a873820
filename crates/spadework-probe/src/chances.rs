//! The chance that a sample resists the strongest attack, by what a search has shown, and how many samples resist in all.
//!
//! A search takes a part of the margin of a sample. How likely it is that an attack takes the rest shows in three numbers: the part of the margin
//! that the search has taken, the part that the last three quarters of its probes have taken, and how many numbers of the sample there are per
//! probe. The logarithmic odds are a weighted sum of their logarithms. The weights were fitted to the accuracy of networks under attack, on some
//! sources, and are reported on others (`docs/probes.md`).
//!
//! The estimate is the sum of the chances. Its interval goes from the samples that would resist a loss of [`LARGEST`] times the late one to most of
//! those that survived the search ([`MOST_SPARED`]). What the samples leave open about others of their kind, by Wilson's interval, adds to it as independent errors do.

use crate::batch::ProbedSample;
use crate::intervals::{Estimated, wilson};
use crate::kind::ProbeNorm;

/// Parts of the margin below this are as good as none.
const LEAST_PART: f64 = 0.01;
/// The largest loss beyond the search that the interval allows for, in late losses.
const LARGEST: f64 = 5.0;
/// The part of the survivors that are not expected to resist which the interval allows for: chances are rarely all wrong.
const MOST_SPARED: f64 = 0.75;
/// A sample needs no more probes where its late loss is at most this part of what is left.
const STABLE: f64 = 1.0 / 16.0;
/// Weights of 1, of what the search has taken, of what its last three quarters have taken, and of numbers per probe.
const LINF_WEIGHTS: [f64; 4] = [-20.25, -1.2, -15.1, -3.6];
/// The same in L2, where all samples that they were fitted on had as many numbers per probe: the last weight is that of L∞.
const L2_WEIGHTS: [f64; 4] = [-7.3, -6.4, -4.8, -3.6];

/// Whether the margin of a sample is left and hardly changes any more.
pub(crate) fn is_stable(sample: &ProbedSample) -> bool {
    sample.holds() && sample.late_loss.is_some_and(|loss| loss <= STABLE * sample.lowest)
}

/// The chance of a sample that has survived a search with so many of its numbers per probe; `late_loss` is what the last three quarters of the
/// probes have taken.
pub(crate) fn chance(sample: &ProbedSample, late_loss: f64, numbers_per_probe: f64, norm: ProbeNorm) -> f64 {
    let weights = match norm {
        ProbeNorm::Linf => LINF_WEIGHTS,
        ProbeNorm::L2 => L2_WEIGHTS,
    };
    let part = |loss: f64| (loss / sample.margin).max(LEAST_PART).ln();
    let parts = [1.0, part(sample.margin - sample.lowest), part(late_loss), numbers_per_probe.ln()];
    let odds: f64 = weights.iter().zip(parts).map(|(weight, part)| weight * part).sum();
    1.0 / (1.0 + (-odds).exp())
}

/// How many samples would resist.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Resisting {
    /// Those that survived the search: all that can.
    survived: usize,
    /// The sum of all chances.
    expected: f64,
    /// Those that resist in any case.
    least: usize,
}

impl Resisting {
    /// Counts them among searched samples; none where probes were random.
    pub(crate) fn of<'a>(samples: impl Iterator<Item = &'a ProbedSample>) -> Option<Self> {
        let mut found = Self::default();
        for sample in samples {
            let (chance, late_loss) = (sample.chance?, sample.late_loss?);
            found.survived += usize::from(sample.holds());
            found.expected += chance;
            found.least += usize::from(sample.holds() && sample.lowest > LARGEST * late_loss);
        }
        Some(found)
    }

    /// How many are expected to resist.
    pub(crate) fn expected(&self) -> usize {
        self.expected.round() as usize
    }

    /// How far the share of `n` samples may be too large and too small, for all that more probes could tell.
    fn open_shares(&self, n: usize) -> [f64; 2] {
        let share = |count: f64| count.max(0.0) / n as f64;
        [share(self.expected - self.least as f64), share(self.survived as f64 - self.expected)]
    }

    /// The larger of the two.
    pub(crate) fn open_share(&self, n: usize) -> f64 {
        let [above, below] = self.open_shares(n);
        above.max(below)
    }

    /// The share of `n` samples that would resist, with a 95 % interval of sampling and extrapolation together.
    pub(crate) fn estimated(&self, n: usize) -> Estimated {
        let sampled = wilson(self.expected(), n);
        let [too_large, too_small] = self.open_shares(n);
        let below = (sampled.estimate - sampled.lower).hypot(too_large);
        let above = (sampled.upper - sampled.estimate).hypot(MOST_SPARED * too_small);
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

    fn sample(lowest: f64, late_loss: f64, chance: f64) -> ProbedSample {
        let (late_loss, chance) = (Some(late_loss), Some(chance));
        ProbedSample { index: 0, class: 0, margin: 1.0, lowest, scatter: None, late_loss, chance }
    }

    #[test]
    fn chances_add_up() {
        let samples = [(-0.1, 0.2, 0.0), (0.5, 0.2, 0.75), (0.75, 0.125, 0.75), (1.0, 0.0, 1.0)];
        let samples = samples.map(|(lowest, late_loss, chance)| sample(lowest, late_loss, chance));
        let found = Resisting::of(samples.iter()).unwrap();
        assert_eq!(found, Resisting { survived: 3, expected: 2.5, least: 2 });
        assert_eq!((found.expected(), found.open_share(4)), (3, 0.125));
        assert_eq!(Resisting::of([ProbedSample { chance: None, ..samples[0] }].iter()), None);
        assert_eq!(samples.map(|sample| is_stable(&sample)), [false, false, false, true]);
    }

    /// What a search has taken lowers the chance, above all what it has taken last; more probes that take as much leave more of it.
    #[test]
    fn chances_follow_losses() {
        for norm in [ProbeNorm::Linf, ProbeNorm::L2] {
            let of = |left: f64, late: f64, probes: f64| {
                chance(&sample(left, late, 0.0), late, 784.0 / probes, norm)
            };
            assert!(of(0.95, 0.01, 64.0) > 0.98 && of(0.1, 0.6, 256.0) < 0.02, "{norm}");
            assert!(
                of(0.6, 0.2, 128.0) < of(0.7, 0.2, 128.0) && of(0.6, 0.2, 128.0) < of(0.6, 0.1, 128.0),
                "{norm}"
            );
            assert!(of(0.6, 0.2, 128.0) < of(0.6, 0.2, 256.0), "{norm}");
            // Nothing moves this margin.
            assert!(of(1.0, 0.0, 64.0) > 0.999, "{norm}");
        }
    }

    /// Errors of sampling and of extrapolation add as squares do, and no end leaves what is possible.
    #[test]
    fn intervals_are_of_both_errors() {
        let found = Resisting { survived: 60, expected: 50.0, least: 40 };
        let (estimated, sampled) = (found.estimated(100), wilson(50, 100));
        let lower = 0.5 - ((0.5 - sampled.lower).powi(2) + 0.01).sqrt();
        let upper = 0.5 + ((0.5 - sampled.lower).powi(2) + 0.075_f64.powi(2)).sqrt();
        assert_eq!((estimated.estimate, estimated.n), (0.5, 100));
        assert!((estimated.lower - lower).abs() < 1e-12, "{estimated:?}");
        assert!((estimated.upper - upper).abs() < 1e-12, "{estimated:?}");
        assert!(estimated.upper < wilson(60, 100).upper);
        let certain = Resisting { survived: 50, expected: 50.0, least: 50 }.estimated(100);
        assert_eq!((certain.lower, certain.upper), (sampled.lower, sampled.upper));
        let none = Resisting::default().estimated(100);
        assert_eq!((none.lower, none.upper), (0.0, wilson(0, 100).upper));
    }
}
