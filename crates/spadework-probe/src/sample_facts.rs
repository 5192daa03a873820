//! Accuracy, margins and fragility of the samples of a report.

use std::sync::Arc;

use spadework::ModelSet;
use spadework::error::Result;
use spadework::graph::Graph;
use spadework::pipeline::{ComparedModel, Comparison, SpadeReport};
use spadework::samples::{Samples, Side};
use spadework::scores::distances_of_former_neighbors;
use spadework::threads::with_threads;

use crate::accuracy::{are_classes, share_of};
use crate::fragility::{Fragility, SampleSignals};
use crate::margins::Margins;
use crate::neighborhood_overlap::NeighborhoodOverlap;
use crate::probe::Probed;
use crate::smoothness::{ClassResiduals, Smoothness};
use crate::task::{OutputKind, Task};
use crate::unevenness::Unevenness;

/// What is known about the samples in addition to their node scores.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SampleFacts {
    /// The share of the samples that are right; `None` if labels and outputs do not match.
    pub accuracy: Option<f64>,
    /// Which samples are right; `None` likewise.
    pub correct: Option<Vec<bool>>,
    /// The predicted label of every sample; `None` likewise.
    pub predicted: Option<Vec<i64>>,
    /// The margin of every sample; `None` if the outputs are a graph or single numbers.
    pub margins: Option<Margins>,
    /// How many of its input neighbors every sample keeps, with the requested k.
    pub overlap: NeighborhoodOverlap,
    /// How smooth the outputs are over the input graph; `None` if they are a graph, single numbers, or not classes according to
    /// the labels.
    pub smoothness: Option<Smoothness>,
    /// Agreement and roughness as one number with its interval; `None` likewise, and if outputs do not vary within classes.
    pub unevenness: Option<Unevenness>,
    /// How fragile every sample is compared with the others.
    pub fragility: Fragility,
}

impl SampleFacts {
    /// Computes them for the samples of a report.
    ///
    /// # Errors
    /// As [`Fragility::of`].
    ///
    /// ```
    /// use spadework_probe::{FragilityBasis, SampleFacts, SampleSignals};
    /// use spadework::{PairedSamples, Samples, Silent, SpadeParams, evaluate};
    /// let x: Vec<f64> = (0..40).map(f64::from).collect();
    /// let logits: Vec<f64> = x.iter().flat_map(|x| [20.5 - x, x - 20.5]).collect();
    /// let (inputs, outputs) = (Samples::from_f64(40, 1, x)?, Samples::from_f64(40, 2, logits)?);
    /// let params = SpadeParams::default().with_neighbors(4);
    /// let report = evaluate(&PairedSamples::new(inputs.clone(), outputs.clone())?, &params, &Silent)?;
    /// let signals = SampleSignals { inputs: Some(&inputs), outputs: Some(&outputs), ..SampleSignals::default() };
    /// let facts = SampleFacts::of(&report, &signals)?;
    /// assert_eq!(facts.fragility.basis(), FragilityBasis::Reach);
    /// // Both samples at the boundary lead by 1.
    /// assert_eq!(facts.margins.unwrap().ranking()[..2], [20, 21]);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of(report: &SpadeReport, signals: &SampleSignals<'_>) -> Result<Self> {
        let [input, output] = report.graphs_as_asked(signals.inputs, signals.outputs);
        let overlap = NeighborhoodOverlap::between(Arc::clone(&input), &output);
        let metric = report.diagnostics.params.output_metric;
        let kind =
            signals.outputs.map(|outputs| OutputKind::of(signals.task, outputs, signals.labels, metric));
        let embedded = match (kind, signals.outputs) {
            (Some(OutputKind::Embedding), Some(outputs)) => {
                let distances = former_distances(report, [&input, &output], outputs)?;
                Some(Fragility::of_neighborhoods(overlap.samples(), &distances))
            }
            _ => None,
        };
        let classes = match (kind, signals.outputs) {
            (Some(kind), Some(outputs)) => kind.classes(outputs)?,
            _ => None,
        };
        let predicted = match (kind, signals.outputs, signals.labels) {
            (Some(kind), Some(outputs), Some(labels)) => kind.predicted_labels(outputs, labels)?,
            _ => None,
        };
        let correct = predicted.as_ref().zip(signals.labels).map(|(predicted, labels)| {
            predicted.iter().zip(labels).map(|(predicted, label)| predicted == label).collect::<Vec<bool>>()
        });
        let labels = kind.zip(signals.labels).map(|(kind, labels)| kind.labels(labels));
        let signals = SampleSignals {
            outputs: classes.as_deref(),
            labels: labels.as_deref().or(signals.labels),
            ..*signals
        };
        let margins = signals.outputs.map(|outputs| Margins::of(outputs, signals.labels)).transpose()?;
        let accuracy = correct.as_deref().map(share_of);
        let fragility = match embedded {
            Some(embedded) => embedded,
            None => Fragility::of_report(report, &signals)?,
        };
        let residuals = class_outputs(&signals)?.and_then(ClassResiduals::of);
        let smoothness = residuals.as_ref().and_then(|residuals| residuals.smoothness(report.graphs.input()));
        let unevenness = residuals.as_ref().zip(smoothness).and_then(|(residuals, smoothness)| {
            Unevenness::of_residuals(report.graphs.shared_input(), residuals, smoothness)
        });
        Ok(Self {
            accuracy,
            correct,
            predicted,
            margins: margins.flatten(),
            overlap,
            smoothness,
            unevenness,
            fragility,
        })
    }

    /// Computes them for every model of a comparison, in its order. `models` are the compared models. `probed` has the margins
    /// that the probes of each model left, in the same order; it is empty if there were none.
    ///
    /// # Errors
    /// As [`Fragility::of`], with the name of the model.
    pub fn of_comparison(
        comparison: &Comparison,
        models: &ModelSet<'_>,
        labels: Option<&[i64]>,
        probed: &[Option<&Probed>],
        task: Task,
    ) -> Result<Vec<Self>> {
        let facts = |(at, model): (usize, &ComparedModel)| {
            let probe_margins = probed.get(at).copied().flatten().map(Probed::lowest_margins);
            let signals = SampleSignals {
                inputs: models.inputs().samples(),
                outputs: Some(&models.models()[model.given].outputs),
                labels,
                probe_margins: probe_margins.as_deref(),
                task,
            };
            Self::of(&model.report, &signals).map_err(|error| error.in_model(&model.name))
        };
        comparison.models.iter().enumerate().map(facts).collect()
    }
}

/// How far the former neighbors of every sample are from it now, by the distances of the report.
fn former_distances(
    report: &SpadeReport,
    [input, output]: [&Graph; 2],
    outputs: &Samples<'_>,
) -> Result<Vec<f64>> {
    let params = &report.diagnostics.params;
    with_threads(params.threads, || {
        let placed = params.geometry(Side::Output).place(Side::Output, outputs.view())?;
        Ok(distances_of_former_neighbors(input, output, &placed))
    })
}

/// The outputs, unless labels show that they are not classes.
fn class_outputs<'a>(signals: &SampleSignals<'a>) -> Result<Option<&'a Samples<'a>>> {
    match (signals.outputs, signals.labels) {
        (Some(outputs), Some(labels)) if !are_classes(outputs, labels)? => Ok(None),
        (outputs, _) => Ok(outputs),
    }
}
