//! The chance that a sample resists the strongest attack, estimated from a search, and how many samples resist in all.
//!
//! A search reduces the margin of a sample by some factor. The pilots ([`crate::pilots`]) show by what further factor a longer search would reduce
//! it. Both are logarithms, so their sum describes the effect of a long search on this sample. What pilots still lose at the end shows how far a long
//! search is from the strongest attack. The log odds are a weighted sum of these two quantities. The weights were fitted to the accuracy of networks
//! under attack, on some sources, and are reported on others (`docs/probes.md`).
//!
//! The estimate is the sum of the chances. Its interval has three parts, which add as independent errors do: the error of pilots in either direction,
//! as large as it was on other networks; the variance of whether samples with these chances resist; and the uncertainty from the choice of samples,
//! by Wilson's interval.

use crate::batch::{Chance, ProbedSample};
use crate::intervals::{Confidence, Estimated, wilson};
use crate::kind::ProbeNorm;

/// Parts of the margin below this are as good as none.
const LEAST_PART: f64 = 0.01;
/// The variance of whether a survivor resists, however sure its chance seems.
const LEAST_VARIANCE: f64 = 0.02;
/// A sample of this chance needs no more probes.
const SETTLED: f64 = 0.98;
/// Where a long search takes no more than this further, more probes are of no use: a logarithm.
const OVER: f64 = 0.005;

/// How chances follow from what searches show.
struct Weights {
    /// The logarithmic odds of a sample whose whole margin a long search takes.
    whole: f64,
    /// Per logarithm of the part that a long search takes.
    taken: f64,
    /// Per logarithm of how many times as much pilots have lost in the end as after half of their probes.
    late: f64,
    /// How far the logarithm of the part may be off, however many pilots there are.
    off: f64,
}

const LINF: Weights = Weights { whole: -0.5, taken: -19.5, late: -47.0, off: 0.1 };
const L2: Weights = Weights { whole: 0.2, taken: -13.6, late: -28.0, off: 0.25 };
/// How much pilots of one network differ: so far a single one may be off, and several as much less as their root.
const PILOT_OFF: f64 = 0.2;

/// What pilots say about a sample that has survived some probes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outlook {
    /// The logarithm of how many times as much a long search takes of its margin.
    pub(crate) further: f64,
    /// The logarithm of how many times as much the pilots have lost in the end as after half of their probes.
    pub(crate) late: f64,
    /// The number of pilots behind this.
    pub(crate) pilots: usize,
}

/// The logarithm of the part of a margin that is lost.
pub(crate) fn part(loss: f64, margin: f64) -> f64 {
    (loss / margin).max(LEAST_PART).ln()
}

impl Outlook {
    /// The chance of a sample that has survived.
    pub(crate) fn chance(&self, sample: &ProbedSample, norm: ProbeNorm) -> Chance {
        let Weights { whole, taken, late, off } = match norm {
            ProbeNorm::Linf => LINF,
            ProbeNorm::L2 => L2,
        };
        let lost = part(sample.margin - sample.lowest, sample.margin) + self.further;
        let chance = |off: f64| {
            let odds = whole + taken * (lost + off) + late * self.late;
            1.0 / (1.0 + (-odds).exp())
        };
        let off = off.hypot(PILOT_OFF / (self.pilots.max(1) as f64).sqrt());
        let [expected, least, most] = [0.0, off, -off].map(chance);
        Chance { expected, least, most, taken: lost, late: self.late }
    }

    /// Whether more probes take nothing more.
    pub(crate) fn is_over(&self) -> bool {
        self.further <= OVER
    }
}

/// Whether a sample resists so likely that it needs no more probes.
pub(crate) fn is_settled(chance: &Chance) -> bool {
    chance.expected >= SETTLED
}

/// How many samples would resist.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Resisting {
    /// Those that survived the search: all that can.
    survived: usize,
    /// The sum of all chances, as they are and where the pilots mislead either way.
    expected: f64,
    least: f64,
    most: f64,
    /// The variance of how many resist, if chances are right.
    variance: f64,
}

impl Resisting {
    /// Counts them among searched samples; none if probes were random.
    pub(crate) fn of<'a>(samples: impl Iterator<Item = &'a ProbedSample>) -> Option<Self> {
        let mut found = Self::default();
        for sample in samples {
            let chance = sample.chance?;
            if sample.holds() {
                found.survived += 1;
                found.variance += (chance.expected * (1.0 - chance.expected)).max(LEAST_VARIANCE);
            }
            found.expected += chance.expected;
            found.least += chance.least;
            found.most += chance.most;
        }
        Some(found)
    }

    /// How many are expected to resist.
    pub(crate) fn expected(&self) -> usize {
        self.expected.round() as usize
    }

    /// How far the share of `n` samples may be too large and too small, for all that pilots could tell.
    fn open_shares(&self, n: usize) -> [f64; 2] {
        [self.expected - self.least, self.most - self.expected].map(|count| count / n as f64)
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
        let by_chance = Confidence::TwoSided.z() * self.variance.sqrt() / n as f64;
        let below = (sampled.estimate - sampled.lower).hypot(too_large).hypot(by_chance);
        let above = (sampled.upper - sampled.estimate).hypot(too_small).hypot(by_chance);
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

    fn sample(lowest: f64, [least, expected, most]: [f64; 3]) -> ProbedSample {
        let (late_loss, chance) = (Some(0.0), Some(Chance { expected, least, most, ..Chance::default() }));
        ProbedSample { index: 0, class: 0, margin: 1.0, lowest, scatter: None, late_loss, chance }
    }

    #[test]
    fn chances_add_up() {
        let samples = [
            sample(-0.1, [0.0; 3]),
            sample(0.5, [0.5, 0.75, 0.875]),
            sample(0.75, [0.25, 0.75, 1.0]),
            sample(1.0, [1.0; 3]),
        ];
        let found = Resisting::of(samples.iter()).unwrap();
        let variance = 2.0 * 0.75 * 0.25 + LEAST_VARIANCE;
        assert_eq!(found, Resisting { survived: 3, expected: 2.5, least: 1.75, most: 2.875, variance });
        assert_eq!((found.expected(), found.open_share(4)), (3, 0.1875));
        assert_eq!(Resisting::of([ProbedSample { chance: None, ..samples[0] }].iter()), None);
    }

    /// What a search has taken lowers the chance, and so does what it would take further, and what pilots lose last.
    #[test]
    fn chances_follow_losses() {
        for norm in [ProbeNorm::Linf, ProbeNorm::L2] {
            let of = |left: f64, further: f64, late: f64, pilots: usize| {
                Outlook { further, late, pilots }.chance(&sample(left, [0.0; 3]), norm)
            };
            assert!(is_settled(&of(0.95, 0.1, 0.01, 12)) && of(0.1, 0.5, 0.1, 12).expected < 0.02, "{norm}");
            assert_eq!(
                [0.0, 0.1].map(|further| Outlook { further, late: 0.0, pilots: 1 }.is_over()),
                [true, false]
            );
            let middle = of(0.4, 0.2, 0.01, 12);
            assert!(middle.least < middle.expected && middle.expected < middle.most, "{norm}");
            assert!(middle.expected < of(0.5, 0.2, 0.01, 12).expected, "{norm}");
            assert!(middle.expected < of(0.4, 0.1, 0.01, 12).expected, "{norm}");
            assert!(middle.expected < of(0.4, 0.2, 0.0, 12).expected, "{norm}");
            // A factor is a factor, whether the search of the sample or that of the pilots has found it.
            assert!(
                (middle.expected - of(1.0 - 0.6 * 0.2_f64.exp(), 0.0, 0.01, 12).expected).abs() < 1e-12,
                "{norm}"
            );
            assert_eq!((middle.taken, middle.late), (0.6_f64.ln() + 0.2, 0.01), "{norm}");
            // Few pilots say less.
            let few = of(0.4, 0.2, 0.01, 1);
            assert!(few.least < middle.least && few.most > middle.most, "{norm}");
            // Nothing moves this margin.
            assert!(of(1.0, 0.0, 0.0, 1).least > 0.999, "{norm}");
        }
    }

    /// Errors of sampling and of extrapolation add as squares do, and no end leaves what is possible.
    #[test]
    fn intervals_are_of_both_errors() {
        let found = Resisting { survived: 60, expected: 50.0, least: 40.0, most: 57.5, variance: 4.0 };
        let (estimated, sampled) = (found.estimated(100), wilson(50, 100));
        // Two samples are a standard deviation, and 1.96 of these leave out 5 %.
        let by_chance = (1.959_963_984_540_054_f64 * 0.02).powi(2);
        let lower = 0.5 - ((0.5 - sampled.lower).powi(2) + 0.01 + by_chance).sqrt();
        let upper = 0.5 + ((0.5 - sampled.lower).powi(2) + 0.075_f64.powi(2) + by_chance).sqrt();
        assert_eq!((estimated.estimate, estimated.n), (0.5, 100));
        assert!((estimated.lower - lower).abs() < 1e-12, "{estimated:?}");
        assert!((estimated.upper - upper).abs() < 1e-12, "{estimated:?}");
        assert!(estimated.upper < wilson(60, 100).upper);
        let certain = Resisting { survived: 50, expected: 50.0, least: 50.0, most: 50.0, variance: 0.0 };
        assert_eq!(
            (certain.estimated(100).lower, certain.estimated(100).upper),
            (sampled.lower, sampled.upper)
        );
        let none = Resisting::default().estimated(100);
        assert_eq!((none.lower, none.upper), (0.0, wilson(0, 100).upper));
    }
}
