//! Estimates with their confidence intervals, as a part of documents.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework_probe::intervals::{Confidence, Difference, Estimated, wilson};

use crate::probe::ProbeDocument;

/// A number that was estimated from samples, most often a share of them, with its 95 % confidence interval.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ShareDocument {
    /// The estimate: from 0 to 1 if it is a share.
    pub estimate: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Samples that it was estimated from.
    pub n: usize,
    /// Model evaluations per sample, on average, if the model was probed.
    pub queries: Option<u64>,
}

/// Numbers that were estimated from samples, shares unless they say otherwise; those that cannot be known are absent.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EstimatesDocument {
    /// Samples that are right.
    pub accuracy: Option<ShareDocument>,
    /// Estimated robust accuracy: probed samples that are expected to stay right (keep their class, without labels) under an attack of the same size.
    pub robust_accuracy: Option<ShareDocument>,
    /// Probed samples that are right and survived every probe: an upper bound of the robust accuracy on these samples.
    pub survived: Option<ShareDocument>,
    /// Neighborhood overlap: input neighbors that are output neighbors too, with the requested k.
    pub overlap: Option<ShareDocument>,
    /// Unevenness: roughness plus the share of input neighbors of different classes. Not a share; smaller is more robust.
    pub unevenness: Option<ShareDocument>,
}

/// The first of two models minus the second, as shares: positive if the first is more robust. For unevenness, which is not a share, it is the second
/// minus the first.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DifferenceDocument {
    /// The difference.
    pub difference: f64,
    /// Lower end of its confidence interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Level of the interval: 0.95, or 0.9 in gates, where each end is a one-sided 95 % bound.
    #[serde(default = "usual_level")]
    pub level: f64,
    /// Samples that both models were given.
    pub n: usize,
    /// McNemar's exact p, if samples are right or wrong: two-sided, or one-sided in gates.
    pub p: Option<f64>,
    /// Samples that are right for the baseline and wrong for the model, if samples are paired and right or wrong.
    pub lost: Option<usize>,
}

/// Of documents from before there was a choice.
fn usual_level() -> f64 {
    Confidence::default().level()
}

impl ShareDocument {
    /// A share that is known as a fraction of `n` samples; none of no samples.
    pub fn of_part(part: f64, n: usize) -> Option<Self> {
        (n > 0).then(|| wilson((part * n as f64).round() as usize, n).into())
    }

    /// The same after so many model evaluations of all samples.
    #[must_use]
    pub(crate) fn with_evaluations(self, evaluations: u64) -> Self {
        Self { queries: Some(evaluations / (self.n as u64).max(1)), ..self }
    }
}

impl From<Estimated> for ShareDocument {
    fn from(estimated: Estimated) -> Self {
        let Estimated { estimate, lower, upper, n, .. } = estimated;
        Self { estimate, lower, upper, n, queries: None }
    }
}

impl From<Difference> for DifferenceDocument {
    fn from(found: Difference) -> Self {
        let Difference { difference, lower, upper, confidence, n, p, lost, .. } = found;
        Self { difference, lower, upper, level: confidence.level(), n, p, lost }
    }
}

impl EstimatesDocument {
    /// Adds what probes have shown.
    pub(crate) fn set_probe(&mut self, probe: &ProbeDocument) {
        let share = |part: f64| {
            ShareDocument::of_part(part, probe.samples).map(|share| share.with_evaluations(probe.evaluations))
        };
        // The interval of the estimate also covers what the end of the search leaves open.
        let estimated = probe.estimate.map(|found| ShareDocument {
            estimate: found.estimate,
            lower: found.lower,
            upper: found.upper,
            n: found.n,
            queries: Some(found.queries.round() as u64),
        });
        self.robust_accuracy = estimated.or_else(|| probe.robust_accuracy.and_then(share));
        self.survived = share(probe.survived);
    }
}
