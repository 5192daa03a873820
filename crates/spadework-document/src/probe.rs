//! What probes have shown, as a part of documents.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::Error;
use spadework::scores::{Spread, largest};
use spadework_probe::{OutputChange, ProbeSummary, Probed, ProbedOutputs, ProbedSample};

use crate::words::{SetOfColumns, attack, grouped};

/// How many of the weakest samples a document lists.
const WEAKEST: usize = 8;

/// A probed model.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeDocument {
    /// Size and kind of the perturbations, e.g. `linf:0.1:search`.
    pub probe: String,
    /// Probes per sample, at most; pilots of a search have more.
    pub probes: usize,
    /// Samples that were probed.
    pub samples: usize,
    /// Rows that went through the model.
    pub evaluations: u64,
    /// How many times the radius every column of the inputs could move, if radii were given.
    pub radii: Option<Vec<f64>>,
    /// The category that every column of the inputs belongs to, 0 for none, if categories were given.
    pub categories: Option<Vec<usize>>,
    /// Seed of everything random.
    pub seed: u64,
    /// Share of the probed samples that are right, if the labels are classes of the outputs.
    pub accuracy: Option<f64>,
    /// Share of the probed samples that survived: right (of any class, without labels) on every probe. An upper bound of the robust accuracy.
    pub survived: f64,
    /// Estimated robust accuracy: the share that an attack of this size is expected to leave, extrapolated from a search.
    pub robust_accuracy: Option<f64>,
    /// The same with its 95 % confidence interval, which covers the choice of samples and the end of the search.
    pub estimate: Option<ProbeEstimateDocument>,
    /// Mean share of the margin that the worst probe leaves; larger is more robust.
    pub stability: f64,
    /// Median of the margin divided by its root mean square change, for random probes.
    pub margin_ratio: Option<f64>,
    /// Samples that are right and lose their class on a probe.
    #[serde(default)]
    pub changed: usize,
    /// Those of them with the largest margins.
    #[serde(default)]
    pub top_changed: Vec<ChangedDocument>,
    /// Those of them with the smallest margins, smallest first.
    #[serde(default)]
    pub weakest: Vec<ChangedDocument>,
}

/// The accuracy under attack that a search estimates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProbeEstimateDocument {
    /// The estimate, from 0 to 1.
    pub estimate: f64,
    /// Lower end of its 95 % interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Samples that were probed.
    pub n: usize,
    /// Rows that went through the model per sample, on average.
    pub queries: f64,
}

/// A sample that loses its class on a probe.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangedDocument {
    /// The sample, counted from 0.
    pub index: usize,
    /// Its margin: the output of its class minus the largest other output.
    pub margin: f64,
    /// Its margin on the worst probe: 0 or less.
    pub probe_margin: f64,
}

impl ProbeDocument {
    /// How many probes a sample had, in words.
    pub fn probes_each(&self) -> String {
        let probes = format!("{} probes each", grouped(self.probes));
        // Only a search has an estimate, an early end, and pilots.
        if self.estimate.is_some() { format!("up to {probes}, and more for a few pilots") } else { probes }
    }

    /// What an attacker may do, in words.
    pub fn attack(&self) -> String {
        let columns = SetOfColumns { radii: self.radii.is_some(), categories: self.categories.is_some() };
        attack(&self.probe, columns)
    }

    /// The samples that a page shows next to the probes that broke them.
    pub fn shown_broken(&self) -> Vec<usize> {
        self.top_changed.iter().chain(&self.weakest).map(|sample| sample.index).collect()
    }

    /// The document of what was probed, with `top` samples that changed; `labels` are those of all samples.
    ///
    /// # Errors
    /// When there is not one label per sample.
    pub fn new(probed: &Probed, labels: Option<&[i64]>, top: usize) -> Result<Self, Error> {
        let ProbeSummary { accuracy, survived, robust_accuracy, estimated, stability, margin_ratio, .. } =
            probed.summary(labels)?;
        let queries = probed.evaluations as f64 / probed.samples.len() as f64;
        let estimate = estimated.map(|found| ProbeEstimateDocument {
            estimate: found.estimate,
            lower: found.lower,
            upper: found.upper,
            n: found.n,
            queries,
        });
        let changed = probed.changed(labels)?;
        let document = |sample: &ProbedSample| ChangedDocument {
            index: sample.index,
            margin: sample.margin,
            probe_margin: sample.lowest,
        };
        Ok(Self {
            probe: probed.params.probe.to_string(),
            probes: probed.params.probes,
            samples: probed.samples.len(),
            evaluations: probed.evaluations,
            radii: probed.params.radii.as_deref().map(Into::into),
            categories: probed.params.categories.as_deref().map(Into::into),
            seed: probed.params.seed,
            accuracy,
            survived,
            robust_accuracy,
            estimate,
            stability,
            margin_ratio,
            changed: changed.len(),
            top_changed: changed.iter().take(top).map(document).collect(),
            weakest: changed.iter().rev().take(WEAKEST).map(document).collect(),
        })
    }
}

/// How far probes changed the outputs of a regressor, in standard deviations: lower bounds of what an attack can do.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputChangeDocument {
    /// Size and kind of the perturbations, e.g. `linf:0.1:search`.
    pub probe: String,
    /// Probes per sample.
    pub probes: usize,
    /// Samples that were probed.
    pub samples: usize,
    /// Rows that went through the model.
    pub evaluations: u64,
    /// How many times the radius every column of the inputs could move, if radii were given.
    pub radii: Option<Vec<f64>>,
    /// The category that every column of the inputs belongs to, 0 for none, if categories were given.
    pub categories: Option<Vec<usize>>,
    /// Seed of everything random.
    pub seed: u64,
    /// The standard deviation of the targets, or of the outputs: the unit of the changes.
    pub spread: f64,
    /// Whose standard deviation it is: `targets` if numeric labels were given, `outputs` otherwise.
    #[serde(default)]
    pub unit: SpreadOf,
    /// The median over the samples of the largest change found.
    pub median: f64,
    /// 95 % of the samples change less.
    pub p95: f64,
    /// The samples that change most.
    pub top: Vec<MovedDocument>,
}

/// Whose standard deviation is the unit of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpreadOf {
    /// Of the targets.
    Targets,
    /// Of the outputs; also of documents that do not say.
    #[default]
    Outputs,
}

impl SpreadOf {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            SpreadOf::Targets => "targets",
            SpreadOf::Outputs => "outputs",
        }
    }
}

/// A sample and how far its outputs changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MovedDocument {
    /// The sample, counted from 0.
    pub index: usize,
    /// The largest change found.
    pub change: f64,
}

impl OutputChangeDocument {
    /// What an attacker may do, in words.
    pub fn attack(&self) -> String {
        let columns = SetOfColumns { radii: self.radii.is_some(), categories: self.categories.is_some() };
        attack(&self.probe, columns)
    }

    /// The document of what was probed, with the `top` samples that change most; `unit` says whose spread the changes are in.
    pub fn new(probed: &ProbedOutputs, unit: SpreadOf, top: usize) -> Self {
        let changes: Vec<f64> = probed.samples.iter().map(|sample| sample.change).collect();
        let spread = Spread::of(&changes);
        let moved = |at: usize| {
            let OutputChange { index, change, .. } = probed.samples[at];
            MovedDocument { index, change }
        };
        Self {
            probe: probed.params.probe.to_string(),
            probes: probed.params.probes,
            samples: probed.samples.len(),
            evaluations: probed.evaluations,
            radii: probed.params.radii.as_deref().map(Into::into),
            categories: probed.params.categories.as_deref().map(Into::into),
            seed: probed.params.seed,
            spread: probed.spread,
            unit,
            median: spread.map_or(0.0, |spread| spread.median),
            p95: spread.map_or(0.0, |spread| spread.p95),
            top: largest(&changes, top.min(changes.len())).into_iter().map(moved).collect(),
        }
    }
}
