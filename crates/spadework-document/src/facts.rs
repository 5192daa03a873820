//! What is known of a model in addition to its score, as a part of documents.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::pipeline::AverageIndices;
use spadework::scores::{NodeScore, NodeScores, edge_overlap, label_agreement};
use spadework::{GraphPair, SpadeReport};
use spadework_probe::{SampleFacts, Unevenness};

use crate::estimates::{EstimatesDocument, ShareDocument};
use crate::margins::MarginsDocument;
use crate::probe::{OutputChangeDocument, ProbeDocument};
use crate::score::{IntervalDocument, ReferencesDocument};
use crate::variants::VariantsDocument;
use spadework_io::Labels;

/// Numbers about a model other than its score; numbers that were not requested or cannot be known are absent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FactsDocument {
    /// Shares of samples with their confidence intervals: what a verdict rests on.
    #[serde(default)]
    pub estimates: EstimatesDocument,
    /// Share of the samples whose largest output is that of their label, if the labels are classes of the outputs.
    pub accuracy: Option<f64>,
    /// 95 % confidence interval of the SPADE score, from half-samples, if requested.
    pub interval: Option<IntervalDocument>,
    /// Scores to compare with, if requested: the permuted baseline and the identity.
    pub references: Option<ReferencesDocument>,
    /// Neighborhood overlap: the share of input edges that are output edges too, with the requested k; larger is more robust.
    pub overlap: Option<f64>,
    /// The share of input edges whose two samples get the same predicted class, if outputs are classes; larger is more robust.
    pub agreement: Option<f64>,
    /// How much outputs vary along input edges within a class, relative to their variation within classes; smaller is
    /// more robust.
    pub roughness: Option<f64>,
    /// Roughness plus the share of input edges whose two samples get different classes; smaller is more robust. Absent if the outputs
    /// are not classes, or do not vary within classes.
    pub unevenness: Option<f64>,
    /// Share of the edges that join equal labels, if there are labels.
    pub label_agreement: Option<LabelAgreementDocument>,
    /// Margins of the samples, if the outputs have at least two numbers.
    pub margins: Option<MarginsDocument>,
    /// What the fragility uses: `node scores`, `neighborhood overlap and distances` (embeddings), `margins and slopes` or `margins, slopes and probes`.
    pub fragility_basis: Option<String>,
    /// More indices, if requested.
    pub indices: Option<AverageIndices>,
    /// Results of the probes, if requested.
    pub probe: Option<ProbeDocument>,
    /// How far probes changed the outputs of a regressor, if requested.
    pub output_change: Option<OutputChangeDocument>,
    /// Results of the variants of `--probe-with`, if requested.
    pub variants: Option<VariantsDocument>,
}

/// Share of the edges that join equal labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LabelAgreementDocument {
    /// Of the input graph.
    pub input: f64,
    /// Of the output graph.
    pub output: f64,
}

/// Which sample it is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleDocument {
    /// The sample, counted from 0.
    pub index: usize,
    /// Its name, if samples have names.
    pub id: Option<String>,
    /// Its label, if there are labels.
    pub label: Option<i64>,
}

/// A sample and its score.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeDocument {
    /// Which sample, as fields of the document itself.
    #[serde(flatten)]
    pub sample: SampleDocument,
    /// Its score.
    pub score: f64,
    /// Its margin, if the outputs have at least two numbers.
    pub margin: Option<f64>,
    /// From 0 to 1: the share of the samples that are less fragile.
    pub fragility: Option<f64>,
    /// The share of its input neighbors that are its output neighbors too; absent if it has no input neighbors.
    pub overlap: Option<f64>,
}

impl FactsDocument {
    /// What a report and labels say by themselves.
    pub(crate) fn new(report: &SpadeReport, labels: Option<&Labels>) -> Result<Self, spadework::Error> {
        Ok(Self {
            overlap: Some(edge_overlap(&report.graphs)),
            label_agreement: LabelAgreementDocument::of(&report.graphs, labels)?,
            ..Self::default()
        })
    }

    /// Whether the model was run on changed samples: by probes or by variants of the user's.
    pub fn was_tried(&self) -> bool {
        self.probe.is_some() || self.output_change.is_some() || self.variants.is_some()
    }

    /// Says what is known of the samples.
    pub(crate) fn set_facts(&mut self, facts: &SampleFacts) {
        self.accuracy = facts.accuracy;
        let overlap = facts.overlap.estimate();
        self.overlap = Some(overlap.estimate);
        self.estimates.accuracy = facts.accuracy.and_then(|part| ShareDocument::of_part(part, overlap.n));
        self.estimates.overlap = Some(overlap.into());
        self.agreement = facts.smoothness.map(|smooth| smooth.agreement);
        self.roughness = facts.smoothness.and_then(|smooth| smooth.roughness);
        let unevenness = facts.unevenness.as_ref().map(Unevenness::estimate);
        self.unevenness = unevenness.map(|found| found.estimate);
        self.estimates.unevenness = unevenness.map(Into::into);
        self.margins = facts.margins.as_ref().map(Into::into);
        self.fragility_basis = Some(facts.fragility.basis().to_string());
    }

    /// Says what probes have shown.
    pub fn set_probe(&mut self, probe: ProbeDocument) {
        self.estimates.set_probe(&probe);
        self.probe = Some(probe);
    }
}

impl SampleDocument {
    /// One of the samples that have these names and labels.
    pub fn new(index: usize, ids: Option<&[String]>, labels: Option<&Labels>) -> Self {
        let id = ids.map(|ids| ids[index].clone());
        Self { index, id, label: labels.map(|labels| labels.ids()[index]) }
    }
}

impl NodeDocument {
    /// A sample of its score and its label.
    pub fn new(node: NodeScore, labels: Option<&Labels>) -> Self {
        let NodeScore { index, score, .. } = node;
        let sample = SampleDocument::new(index, None, labels);
        Self { sample, score, margin: None, fragility: None, overlap: None }
    }

    /// The same with its name, of the names of all samples.
    #[must_use]
    pub fn named(self, ids: Option<&[String]>) -> Self {
        let id = ids.map(|ids| ids[self.sample.index].clone());
        Self { sample: SampleDocument { id, ..self.sample }, ..self }
    }

    /// Puts its margin, its fragility and its overlap next to the score.
    pub fn set_facts(&mut self, facts: &SampleFacts) {
        let index = self.sample.index;
        self.margin = facts.margins.as_ref().map(|margins| margins.values()[index]);
        self.fragility = Some(facts.fragility.values()[index]);
        self.overlap = Some(facts.overlap.samples().shares()[index]).filter(|share| !share.is_nan());
    }

    /// The `top` most fragile samples with everything that is known of them.
    pub(crate) fn most_fragile(
        scores: &NodeScores,
        labels: Option<&Labels>,
        facts: &SampleFacts,
        top: usize,
    ) -> Vec<Self> {
        let node = |index: usize| {
            let mut node = Self::new(scores.of(index), labels);
            node.set_facts(facts);
            node
        };
        facts.fragility.ranking().into_iter().take(top).map(node).collect()
    }
}

impl LabelAgreementDocument {
    /// That of both graphs; none without labels.
    fn of(graphs: &GraphPair, labels: Option<&Labels>) -> Result<Option<Self>, spadework::Error> {
        let Some(labels) = labels else { return Ok(None) };
        let agreement = |graph| label_agreement(graph, labels.ids());
        Ok(Some(Self { input: agreement(graphs.input())?, output: agreement(graphs.output())? }))
    }
}
