//! The result of a comparison as a document: what `compare --json` prints.
//!
//! The fields and their names are an interface: they change only with the number in [`SCHEMA`].

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::error::UnknownWord;
use spadework::pipeline::{ComparedModel, Comparison, Intervals};
use spadework::scores::{Disparity, disparity, label_scores};
use spadework::{SpadeParams, SpadeReport};
use spadework_probe::SampleFacts;

use crate::estimates::DifferenceDocument;
use crate::facts::{FactsDocument, NodeDocument};
use crate::parts::{MadeDocument, MethodDocument, SettingsDocument, SpectrumDocument};
use crate::score::{
    ArrayDocument, CorruptionDocument, GraphDocument, IntervalDocument, LabelDocument, ModelFileDocument,
    NeighborsDocument, PlaceDocument,
};
use crate::stored::StoredDocument;
use spadework_io::Labels;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.compare/4";

/// Several models on the same inputs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompareDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// What the models are ranked by: `robust-accuracy`, `unevenness`, `overlap` or `model-score`.
    #[serde(default = "by_model_score")]
    pub ranked_by: String,
    /// The models, most robust first by that number.
    pub models: Vec<ModelDocument>,
    /// Other numbers that order some models differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disagreement: Vec<DisagreementDocument>,
    /// How much each pair of models agrees on which samples are fragile.
    pub agreement: Vec<AgreementDocument>,
    /// Inputs and method, as fields of the document itself.
    #[serde(flatten)]
    pub settings: SettingsDocument,
    /// What was done to the inputs before, if that was requested.
    pub corruption: Option<CorruptionDocument>,
    /// G_X, which all models share.
    pub input_graph: GraphDocument,
    /// What was compared; only in results that were written to a folder.
    pub data: Option<CompareData>,
    /// Request, notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
    /// Wall-clock seconds.
    pub timings: CompareTimings,
}

/// What was compared.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareData {
    /// The inputs of all models.
    pub inputs: ArrayDocument,
    /// The outputs of every model, most robust first.
    pub outputs: Vec<ArrayDocument>,
    /// The labels, if they were named.
    pub labels: Option<PlaceDocument>,
    /// The names of the samples, if they were named.
    pub ids: Option<PlaceDocument>,
}

/// One model of a comparison.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelDocument {
    /// Its name.
    pub name: String,
    /// One more than the number of models that are significantly more robust: models that cannot be distinguished share it.
    #[serde(default)]
    pub rank: usize,
    /// The file that was run, if the outputs were not given as an array.
    pub file: Option<ModelFileDocument>,
    /// The SPADE score, as fields of the model itself.
    #[serde(flatten)]
    pub spectrum: SpectrumDocument,
    /// Other numbers about the model, as fields of the model itself.
    #[serde(flatten)]
    pub facts: FactsDocument,
    /// Numbers per output.
    pub output_dim: usize,
    /// G_Y.
    pub output_graph: GraphDocument,
    /// Mean node score of every label; empty if no labels were given.
    pub label_scores: Vec<LabelDocument>,
    /// The worst label, if there are labels.
    pub disparity: Option<Disparity>,
    /// Most fragile samples.
    pub top_nodes: Vec<NodeDocument>,
    /// Wall-clock seconds, without what all models share.
    pub total_s: f64,
}

/// How much two models agree on which samples are fragile.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgreementDocument {
    /// The model that is ranked first.
    pub a: String,
    /// The model that is ranked after it.
    pub b: String,
    /// Whether the number that ranks them distinguishes the two models.
    #[serde(default)]
    pub apart: bool,
    /// The first minus the second by the number that ranks them, paired on the same samples; the second minus the first for unevenness, absent for
    /// SPADE scores.
    pub difference: Option<DifferenceDocument>,
    /// Number of most fragile samples of each model that were compared.
    pub top: usize,
    /// Share of them that both have in common, 0 to 1.
    pub top_shared: f64,
    /// Spearman's rank correlation of all node scores; absent if all scores of a model are equal.
    #[serialize_always]
    pub spearman: Option<f64>,
    /// Kendall's rank correlation τ_b of all node scores; absent if all scores of a model are equal.
    #[serialize_always]
    pub kendall: Option<f64>,
    /// Share of the subsamples in which `a` scores below `b`, if an interval was requested.
    pub subsamples_in_order: Option<f64>,
}

impl CompareDocument {
    /// Pairs that cannot be distinguished although their ranks differ: one of them is behind a third model and the other is not.
    pub fn alike_across_ranks(&self) -> impl Iterator<Item = &AgreementDocument> {
        let rank = |name: &str| self.models.iter().find(|model| model.name == name).map(|model| model.rank);
        self.agreement.iter().filter(move |pair| !pair.apart && rank(&pair.a) != rank(&pair.b))
    }
}

/// A number that orders the models differently from the one that ranks them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisagreementDocument {
    /// The number: `robust-accuracy`, `unevenness`, `overlap` or `model-score`.
    pub by: String,
    /// Pairs that it orders the other way around.
    pub pairs: usize,
    /// Pairs that can be distinguished.
    pub of: usize,
    /// The first such pair, in the order of the ranking.
    pub first: [String; 2],
}

/// Of documents from before there was a choice.
fn by_model_score() -> String {
    "model-score".to_owned()
}

/// Wall-clock seconds of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CompareTimings {
    /// Neighbors among the inputs.
    pub neighbors_input_s: f64,
    /// Everything from the call until the document was made; in printed JSON, until the page was written.
    pub total_s: f64,
}

impl StoredDocument for CompareDocument {
    const SCHEMA: &'static str = SCHEMA;
}

impl CompareDocument {
    /// Models and the robust accuracies that probes estimate, most robust first, where that is not the order of SPADE scores.
    pub fn order_by_probes(&self) -> Option<Vec<(&str, f64)>> {
        let estimate = |model: &ModelDocument| model.facts.probe.as_ref()?.robust_accuracy;
        let given: Option<Vec<(&str, f64)>> =
            self.models.iter().map(|model| Some((model.name.as_str(), estimate(model)?))).collect();
        let given = given?;
        let mut ranked = given.clone();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        (ranked != given).then_some(ranked)
    }

    /// Says what subsamples have shown of the SPADE scores.
    pub fn set_intervals(&mut self, found: &Intervals, comparison: &Comparison) {
        let given = |at: usize| comparison.models[at].given;
        for (at, model) in self.models.iter_mut().enumerate() {
            model.facts.interval = Some(IntervalDocument::of(found, given(at)));
        }
        for (pair, compared) in self.agreement.iter_mut().zip(&comparison.agreement) {
            pair.subsamples_in_order = Some(found.part_in_order(given(compared.a), given(compared.b)));
        }
    }

    /// The document of a comparison in its own order, every model with a rank of its own, with the `top` most fragile samples of each model; `facts` are those of the samples by every
    /// model, in the order of the comparison.
    ///
    /// # Errors
    /// When there is not one label per sample.
    pub fn new(
        comparison: &Comparison,
        facts: &[SampleFacts],
        labels: Option<&Labels>,
        top: usize,
    ) -> Result<Self, spadework::Error> {
        let first = &comparison.models[0].report;
        let diagnostics = &first.diagnostics;
        let connection = &diagnostics.connection;
        let name = |at: usize| comparison.models[at].name.clone();
        let agreement = comparison.agreement.iter().map(|pair| AgreementDocument {
            a: name(pair.a),
            b: name(pair.b),
            apart: true,
            difference: None,
            top: pair.agreement.top,
            top_shared: pair.agreement.overlap(),
            spearman: pair.agreement.spearman,
            kendall: pair.agreement.kendall,
            subsamples_in_order: None,
        });
        let model = |(at, (model, facts)): (usize, (&ComparedModel, &SampleFacts))| {
            ModelDocument::new(at + 1, model, facts, labels, top)
        };
        let models = comparison.models.iter().zip(facts).enumerate().map(model);
        let settings = SettingsDocument {
            samples: first.graphs.nodes(),
            input_dim: diagnostics.input_dim,
            neighbors: NeighborsDocument { requested: connection.requested, used: connection.used },
            method: MethodDocument {
                connectivity: connection.policy.to_string(),
                ..(&diagnostics.params).into()
            },
        };
        Ok(Self {
            schema: SCHEMA.to_owned(),
            ranked_by: by_model_score(),
            models: models.collect::<Result<_, spadework::Error>>()?,
            disagreement: Vec::new(),
            agreement: agreement.collect(),
            settings,
            corruption: None,
            input_graph: GraphDocument::of_inputs(first),
            data: None,
            timings: CompareTimings {
                neighbors_input_s: comparison.neighbors_input.as_secs_f64(),
                total_s: comparison.total.as_secs_f64(),
            },
            made: (&diagnostics.params).into(),
        })
    }

    /// The parameters with which the same arrays give the same scores.
    ///
    /// # Errors
    /// When the document holds a word that this version does not know.
    pub fn params(&self) -> Result<SpadeParams, UnknownWord> {
        self.made.request.params()
    }
}

impl ModelDocument {
    fn new(
        rank: usize,
        model: &ComparedModel,
        facts: &SampleFacts,
        labels: Option<&Labels>,
        top: usize,
    ) -> Result<Self, spadework::Error> {
        let report: &SpadeReport = &model.report;
        let label_scores = match labels {
            None => Vec::new(),
            Some(labels) => label_scores(&report.node_scores, labels.ids())?,
        };
        let mut labelled = LabelDocument::named(label_scores.clone(), labels);
        if let Some(labels) = labels {
            LabelDocument::set_overlaps(&mut labelled, labels, facts);
        }
        let mut numbers = FactsDocument::new(report, labels)?;
        numbers.set_facts(facts);
        Ok(Self {
            name: model.name.clone(),
            rank,
            file: None,
            spectrum: report.into(),
            facts: numbers,
            output_dim: report.diagnostics.output_dim,
            output_graph: GraphDocument::of_outputs(report),
            disparity: disparity(&label_scores),
            label_scores: labelled,
            top_nodes: NodeDocument::most_fragile(&report.node_scores, labels, facts, top),
            total_s: report.diagnostics.timings.total.as_secs_f64(),
        })
    }
}
