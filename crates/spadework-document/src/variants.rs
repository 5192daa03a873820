//! What variants that a program of the user's made have shown, as a part of documents.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::Error;
use spadework_probe::{Varied, VariedSample, VariedSummary};

use crate::estimates::ShareDocument;

/// A model that was run on variants of its samples.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantsDocument {
    /// The program that made them, as the user typed it.
    pub script: String,
    /// Variants per sample that were made.
    pub variants: usize,
    /// Whether these are fewer than requested, because the share that keeps its class was known precisely enough.
    pub stopped_early: bool,
    /// Samples that were probed.
    pub samples: usize,
    /// Rows that went through the model.
    pub evaluations: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// Share of the probed samples that are right, if the labels are classes of the outputs.
    pub accuracy: Option<f64>,
    /// Share of the variants that keep the class of their sample.
    pub kept: ShareDocument,
    /// Share of the probed samples that survived: right (of any class, without labels) on every variant.
    pub survived: ShareDocument,
    /// Samples that have another class on some variant.
    pub changed: usize,
    /// Those of them that change most often.
    pub top_changed: Vec<FlippedDocument>,
}

/// A sample that has another class on some variant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlippedDocument {
    /// The sample, counted from 0.
    pub index: usize,
    /// On how many variants it has another class.
    pub flips: usize,
    /// The first of them, counted from 0.
    pub first_flip: usize,
    /// Its margin: the output of its class minus the largest other output.
    pub margin: f64,
    /// Its margin on the worst variant.
    pub probe_margin: f64,
}

impl VariantsDocument {
    /// The document of what was found, with the `top` samples that change most often; `labels` are those of all samples.
    ///
    /// # Errors
    /// When there is not one label per sample.
    pub fn new(script: &str, varied: &Varied, labels: Option<&[i64]>, top: usize) -> Result<Self, Error> {
        let VariedSummary { accuracy, kept, survived, .. } = varied.summary(labels)?;
        let changed = varied.changed();
        let flipped = |sample: &VariedSample| FlippedDocument {
            index: sample.index,
            flips: sample.flips,
            first_flip: sample.first_flip.unwrap_or_default(),
            margin: sample.margin,
            probe_margin: sample.lowest,
        };
        let share = |found| ShareDocument::from(found).with_evaluations(varied.evaluations);
        Ok(Self {
            script: script.to_owned(),
            variants: varied.variants,
            stopped_early: varied.stopped_early(),
            samples: varied.samples.len(),
            evaluations: varied.evaluations,
            seed: varied.params.seed,
            accuracy,
            kept: share(kept),
            survived: share(survived),
            changed: changed.len(),
            top_changed: changed.iter().take(top).map(flipped).collect(),
        })
    }
}
