//! What stands beside the node score of every sample: its margin and its fragility.

use spadework::probe::Probed;
use spadework::scores::{Fragility, Margins, SampleSignals};
use spadework::{Samples, SpadeReport};
use spadework_io::Labels;

use crate::args::By;
use crate::failure::Failure;

/// Margins and fragility of all samples.
#[derive(Debug)]
pub(crate) struct SampleFacts {
    /// None where the outputs are a graph or single numbers.
    pub(crate) margins: Option<Margins>,
    pub(crate) fragility: Fragility,
}

impl SampleFacts {
    /// What a report, its samples as far as they are at hand, labels and probes say.
    pub(crate) fn of(
        report: &SpadeReport,
        inputs: Option<&Samples<'_>>,
        outputs: Option<&Samples<'_>>,
        labels: Option<&Labels>,
        probed: Option<&Probed>,
    ) -> Result<Self, Failure> {
        let labels = labels.map(Labels::ids);
        let probe_margins = probed.map(|probed| {
            let mut margins = vec![None; probed.inputs()];
            for sample in &probed.samples {
                margins[sample.index] = Some(sample.lowest);
            }
            margins
        });
        let margins = outputs.map(|outputs| Margins::of(outputs, labels)).transpose()?.flatten();
        let signals = SampleSignals { inputs, outputs, labels, probe_margins: probe_margins.as_deref() };
        Ok(Self { margins, fragility: report.fragility(&signals)? })
    }

    /// Margins as a column: NaN, an empty field of CSV, where there are none.
    pub(crate) fn margin_column(&self) -> Vec<f64> {
        let nothing = || vec![f64::NAN; self.fragility.values().len()];
        self.margins.as_ref().map_or_else(nothing, |margins| margins.values().to_vec())
    }

    /// All samples, most fragile first.
    pub(crate) fn ranking(&self, by: By, report: &SpadeReport) -> Result<Vec<usize>, Failure> {
        match (by, &self.margins) {
            (By::Node, _) => {
                let top = report.node_scores.top(report.graphs.nodes());
                Ok(top.into_iter().map(|node| node.index).collect())
            }
            (By::Fragility, _) => Ok(self.fragility.ranking()),
            (By::Margin, Some(margins)) => Ok(margins.ranking()),
            (By::Margin, None) => Err(Failure::usage(
                "--by margin needs --outputs or --model with at least two numbers a sample, one a class",
            )),
        }
    }
}
