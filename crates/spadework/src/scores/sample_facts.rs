//! What stands beside the node scores of the samples.

use super::{Fragility, Margins, SampleSignals, accuracy};
use crate::{Result, SpadeReport};

/// What is known of the samples beside their node scores.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleFacts {
    /// The part of the samples that are right; `None` where labels and outputs do not go together.
    pub accuracy: Option<f64>,
    /// The lead of every sample's class; `None` where the outputs are a graph or single numbers.
    pub margins: Option<Margins>,
    /// How fragile every sample is beside the others.
    pub fragility: Fragility,
}

impl SampleFacts {
    /// Finds them for the samples of a report.
    ///
    /// # Errors
    /// As [`Fragility::of`].
    ///
    /// ```
    /// use spadework::scores::{FragilityBasis, SampleFacts, SampleSignals};
    /// use spadework::{PairedSamples, Samples, Silent, SpadeParams, evaluate};
    /// let x: Vec<f64> = (0..40).map(f64::from).collect();
    /// let logits: Vec<f64> = x.iter().flat_map(|x| [20.5 - x, x - 20.5]).collect();
    /// let (inputs, outputs) = (Samples::from_f64(40, 1, x)?, Samples::from_f64(40, 2, logits)?);
    /// let params = SpadeParams { neighbors: 4, ..SpadeParams::default() };
    /// let report = evaluate(&PairedSamples::new(inputs.clone(), outputs.clone())?, &params, &Silent)?;
    /// let signals = SampleSignals { inputs: Some(&inputs), outputs: Some(&outputs), ..SampleSignals::default() };
    /// let facts = SampleFacts::of(&report, &signals)?;
    /// assert_eq!(facts.fragility.basis(), FragilityBasis::Reach);
    /// // Both samples at the boundary lead by 1.
    /// assert_eq!(facts.margins.unwrap().ranking()[..2], [20, 21]);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of(report: &SpadeReport, signals: &SampleSignals<'_>) -> Result<Self> {
        let margins = signals.outputs.map(|outputs| Margins::of(outputs, signals.labels)).transpose()?;
        let accuracy = match (signals.outputs, signals.labels) {
            (Some(outputs), Some(labels)) => accuracy(outputs, labels)?,
            _ => None,
        };
        Ok(Self { accuracy, margins: margins.flatten(), fragility: report.fragility(signals)? })
    }
}
