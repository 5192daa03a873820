//! The result of a score as a document: what `--json` prints and `result.json` holds.
//!
//! The fields and their names are an interface: they change only with the number in [`SCHEMA`].

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::eigen::{Enclosure, EnclosureMethod};
use spadework::error::UnknownWord;
use spadework::graph::SideConnection;
use spadework::laplacian::SketchInfo;
use spadework::neighbors::Recall;
use spadework::pipeline::{Construction, INTERVAL_LEVEL, Interval, Intervals, Timings};
use spadework::scores::{Disparity, EdgeScore, LabelPairScore, LabelScore, NodeScores, disparity};
use spadework::{Graph, SpadeParams, SpadeReport};
use spadework_io::Labels;
use spadework_probe::SampleFacts;
use spadework_probe::intervals::wilson;

use crate::Error;
use crate::estimates::ShareDocument;
use crate::facts::{FactsDocument, NodeDocument};
use crate::parts::{MadeDocument, MethodDocument, SourcesDocument, SpectrumDocument};
use crate::stages::Recipe;
use crate::stored::{StoredDocument, read_json, schema_in};
use crate::verdict::VerdictDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.score/4";

/// A scored model.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreDocument {
    /// Name and version of the layout.
    pub schema: String,
    /// The model's name: its file, or what was typed for its outputs.
    pub name: Option<String>,
    /// The answer in sentences; results of older versions do not have it.
    pub verdict: Option<VerdictDocument>,
    /// The SPADE score, as fields of the document itself.
    #[serde(flatten)]
    pub spectrum: SpectrumDocument,
    /// Number of samples.
    pub samples: usize,
    /// Numbers per input; 0 if a graph was given.
    pub input_dim: usize,
    /// Numbers per output; 0 if a graph was given.
    pub output_dim: usize,
    /// Neighbors per sample, k.
    pub neighbors: NeighborsDocument,
    /// How it was scored, as fields of the document itself.
    #[serde(flatten)]
    pub method: MethodDocument,
    /// `davidson`, `power` or `dense`: how the eigenpairs were found; `given` if another program found them.
    #[serde(default)]
    pub solver: String,
    /// How edge and node scores were computed, if all eigenpairs were used.
    pub full_spectrum: Option<SketchInfo>,
    /// Both graphs.
    pub graphs: GraphsDocument,
    /// Other numbers about the model, as fields of the document itself.
    #[serde(flatten)]
    pub facts: FactsDocument,
    /// Mean node score of every label; empty if no labels were given.
    pub label_scores: Vec<LabelDocument>,
    /// Mean edge score between labels: the pairs that an edge of the input graph joins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label_pairs: Vec<LabelPairScore>,
    /// The worst label, if there are labels.
    pub disparity: Option<Disparity>,
    /// Most fragile samples: by fragility for classifiers and embeddings, by node score otherwise (`fragility_basis`).
    pub top_nodes: Vec<NodeDocument>,
    /// Most fragile edges of the input graph.
    pub top_edges: Vec<EdgeScore>,
    /// What was scored, as fields of the document itself.
    #[serde(flatten)]
    pub sources: SourcesDocument,
    /// Request, notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
    /// What it was made from, if it was made stage by stage.
    pub made_from: Option<Recipe>,
    /// Wall-clock seconds by stage.
    pub timings: TimingsDocument,
}

/// A corruption of images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorruptionDocument {
    /// Its name, e.g. `gaussian-noise`.
    pub kind: String,
    /// From 1 to 5.
    pub severity: u8,
    /// Seed of what is random in it.
    pub seed: u64,
    /// Shape of an image, e.g. `3x32x32`.
    pub shape: String,
}

/// Numerical bounds of the SPADE score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NumericalBoundsDocument {
    /// Lower bound.
    pub lower: f64,
    /// Upper bound; null if none was asked for.
    pub upper: Option<f64>,
    /// `residual`, `inertia` or `dense`; `none` if there is no upper bound.
    pub method: String,
    /// Probability that the upper bound holds; 1 if it is proved or computed without randomness.
    pub probability: f64,
}

/// Neighbors per sample; 0 if both graphs were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighborsDocument {
    /// As requested.
    pub requested: usize,
    /// As used; larger if the policy `grow` increased it.
    pub used: usize,
}

/// Both graphs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphsDocument {
    /// G_X.
    pub input: GraphDocument,
    /// G_Y.
    pub output: GraphDocument,
}

/// One graph.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphDocument {
    /// Number of edges.
    pub edges: usize,
    /// Number of components of the scored graph; 1, except for a disconnected input graph that was given.
    pub components: usize,
    /// How it was connected, as fields of the graph itself.
    #[serde(flatten)]
    pub connection: SideConnection,
    /// Samples with so many exact copies that only the index decides which of them are neighbors.
    pub decided_by_index: usize,
    /// Outputs with so many exact copies that their distance at the input decides which of them are neighbors, if there are any.
    pub decided_by_inputs: Option<usize>,
    /// What decides which of equally near outputs are neighbors: `inputs` or `index`; absent if no two outputs are equal.
    pub ties: Option<String>,
    /// How its neighbors were searched; absent if the graph was given.
    pub search: Option<SearchDocument>,
    /// How it was made of its samples, as fields of the graph itself.
    #[serde(flatten)]
    pub construction: Construction,
}

/// How neighbors were searched.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchDocument {
    /// `exact` or `approximate`.
    pub method: String,
    /// Recall: share of the true neighbors that were found.
    pub recall: f64,
    /// Rows on which it was measured, if it was.
    pub measured_rows: Option<usize>,
}

/// Mean node score of one label.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelDocument {
    /// The label.
    pub label: i64,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Mean node score.
    pub score: f64,
    /// Samples with this label.
    pub samples: usize,
    /// Those of them that are right, if that is known.
    pub right: Option<usize>,
    /// Those of them that were probed.
    pub probed: Option<usize>,
    /// Those of the probed samples that are right (of any class, if that is not known) and survived every probe.
    pub survived: Option<usize>,
    /// The neighborhood overlap of its samples: the share of their input neighbors, of any label, that are output neighbors too.
    pub overlap: Option<ShareDocument>,
}

/// A confidence interval of the SPADE score, from half-samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IntervalDocument {
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Nominal level.
    pub level: f64,
    /// Samples in a subsample.
    pub subsample: usize,
    /// Number of subsamples.
    pub repetitions: usize,
    /// Subsamples that needed more neighbors to be connected.
    pub grown: usize,
}

/// Scores to compare a SPADE score with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReferencesDocument {
    /// The score of a model that returns its input: always 1.
    pub identity: f64,
    /// The score of the permuted baseline: the same outputs, randomly permuted.
    pub permuted: f64,
}

/// What was scored.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataDocument {
    /// The inputs.
    pub inputs: ArrayDocument,
    /// The outputs.
    pub outputs: ArrayDocument,
    /// The labels, if they were named.
    pub labels: Option<PlaceDocument>,
    /// The names of the samples, if they were named.
    pub ids: Option<PlaceDocument>,
}

/// Something that a user named, and where.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceDocument {
    /// What the user typed.
    pub array: String,
    /// The folder in which it was typed.
    pub folder: Option<String>,
}

/// An array as it was named, and a digest to recognize it by.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayDocument {
    /// What the user typed.
    pub array: String,
    /// The folder in which it was typed, which a relative path starts from; unknown in documents of older versions.
    pub folder: Option<String>,
    /// Digest of its numbers.
    pub digest: String,
}

/// A model file whose outputs were scored, and how it was run.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelFileDocument {
    /// What the user typed.
    pub file: String,
    /// The folder in which it was typed, which a relative path starts from.
    pub folder: Option<String>,
    /// Digest of the file's bytes.
    pub digest: String,
    /// The value that was used as the outputs.
    pub output: String,
    /// Whether it ends in a softmax.
    pub softmax: bool,
    /// The onnxruntime library that ran it, if it was not the built-in engine.
    pub onnxruntime: Option<String>,
    /// What the user said about the order of an image's numbers.
    pub layout: Option<String>,
    /// Means and then deviations by which the inputs were normalized for the model.
    pub normalize: Option<Vec<f32>>,
}

/// Wall-clock seconds by stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimingsDocument {
    /// Neighbors among the inputs.
    pub neighbors_input_s: f64,
    /// Neighbors among the outputs.
    pub neighbors_output_s: f64,
    /// Graphs and their connection.
    pub graphs_s: f64,
    /// Eigenpairs.
    pub eigen_s: f64,
    /// Numerical bounds of the SPADE score.
    pub numerical_bounds_s: f64,
    /// Scores.
    pub scores_s: f64,
    /// Loading and running the model, if one was run.
    #[serde(default)]
    pub model_s: f64,
    /// Probing it.
    #[serde(default)]
    pub probes_s: f64,
    /// Writing the page and its figures; 0 in the `result.json` that is written before them.
    #[serde(default)]
    pub page_s: f64,
    /// Everything from the call until the document was made; in printed JSON, until the page was written.
    pub total_s: f64,
}

/// The name of the layout of a document, such as [`SCHEMA`].
///
/// # Errors
/// When the file cannot be read or is not a document of ours.
pub fn schema_of(path: &Path) -> Result<String, Error> {
    schema_in(&read_json(path, SCHEMA)?, path, SCHEMA)
}

impl StoredDocument for ScoreDocument {
    const SCHEMA: &'static str = SCHEMA;
}

impl ScoreDocument {
    /// The document of a report, with the `top` most fragile samples and edges.
    ///
    /// # Errors
    /// When there is not one label per sample.
    pub fn new(report: &SpadeReport, labels: Option<&Labels>, top: usize) -> Result<Self, spadework::Error> {
        let diagnostics = &report.diagnostics;
        let connection = &diagnostics.connection;
        let ids = labels.map(Labels::ids);
        let label_scores = ids.map_or(Ok(Vec::new()), |ids| report.label_scores(ids))?;
        let label_pairs = ids.map_or(Ok(Vec::new()), |ids| report.label_pair_scores(ids))?;
        let node = |node| NodeDocument::new(node, labels);
        Ok(Self {
            schema: SCHEMA.to_owned(),
            name: None,
            verdict: None,
            spectrum: report.into(),
            samples: report.graphs.nodes(),
            input_dim: diagnostics.input_dim,
            output_dim: diagnostics.output_dim,
            neighbors: NeighborsDocument { requested: connection.requested, used: connection.used },
            method: MethodDocument {
                connectivity: connection.policy.to_string(),
                ..(&diagnostics.params).into()
            },
            solver: report.eigenpairs.info().method.to_string(),
            full_spectrum: report.full_spectrum,
            graphs: GraphsDocument::new(report),
            facts: FactsDocument::new(report, labels)?,
            disparity: disparity(&label_scores),
            label_scores: LabelDocument::named(label_scores, labels),
            label_pairs,
            top_nodes: report.node_scores.top(top).into_iter().map(node).collect(),
            top_edges: report.edge_scores.top(top),
            sources: SourcesDocument::default(),
            made_from: None,
            timings: diagnostics.timings.into(),
            made: (&diagnostics.params).into(),
        })
    }

    /// Says what is known of the samples and of the labels: accuracy, margins, overlap, and fragility, which is what the samples are listed
    /// by from now on.
    pub fn set_facts(&mut self, facts: &SampleFacts, scores: &NodeScores, labels: Option<&Labels>) {
        self.facts.set_facts(facts);
        if let Some(labels) = labels {
            LabelDocument::set_overlaps(&mut self.label_scores, labels, facts);
        }
        self.top_nodes = NodeDocument::most_fragile(scores, labels, facts, self.top_nodes.len());
    }

    /// Says of every label how many of its samples are right, and how many survive probes; `probe_margins` are the smallest margins of
    /// the samples that were probed.
    pub fn set_label_facts(
        &mut self,
        labels: Option<&Labels>,
        facts: &SampleFacts,
        probe_margins: Option<&[Option<f64>]>,
    ) {
        let Some(labels) = labels else { return };
        let mut places = BTreeMap::new();
        for (at, label) in self.label_scores.iter_mut().enumerate() {
            places.insert(label.label, at);
            label.right = facts.correct.as_ref().map(|_| 0);
            (label.probed, label.survived) = (probe_margins.map(|_| 0), probe_margins.map(|_| 0));
        }
        for (sample, id) in labels.ids().iter().enumerate() {
            let Some(&at) = places.get(id) else { continue };
            let label = &mut self.label_scores[at];
            let is_right = facts.correct.as_ref().is_none_or(|correct| correct[sample]);
            let margin = probe_margins.and_then(|margins| margins[sample]);
            let survived = margin.is_some_and(|margin| margin > 0.0 && is_right);
            let counts = [&mut label.right, &mut label.probed, &mut label.survived];
            for (count, is) in counts.into_iter().zip([is_right, margin.is_some(), survived]) {
                *count = count.map(|count| count + usize::from(is));
            }
        }
    }

    /// The best share that is known of the labels, weakest label first, and what it is; none of a single label.
    pub fn label_shares(&self) -> Option<(&'static str, Vec<(&LabelDocument, ShareDocument)>)> {
        let shares = |of: fn(&LabelDocument) -> Option<ShareDocument>| {
            let mut shares: Vec<_> =
                self.label_scores.iter().filter_map(|label| Some((label, of(label)?))).collect();
            shares.sort_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
            (shares.len() > 1).then_some(shares)
        };
        let survived = shares(LabelDocument::survived_share);
        let survived = survived.map(|shares| ("samples that survive every probe", shares));
        let right = || shares(LabelDocument::accuracy).map(|shares| ("accuracy", shares));
        let kept = || shares(|label| label.overlap).map(|shares| ("neighborhood overlap", shares));
        survived.or_else(right).or_else(kept)
    }

    /// Labels that are weak by the best share that is known, weakest first: at most three, none of which is whole.
    pub fn weakest_labels(&self) -> Option<(&'static str, Vec<(&LabelDocument, ShareDocument)>)> {
        const NAMED: usize = 3;
        let (what, mut shares) = self.label_shares()?;
        shares.retain(|(_, share)| share.estimate < 1.0);
        shares.truncate(NAMED);
        (!shares.is_empty()).then_some((what, shares))
    }

    /// Gives the samples that are listed their names, of the names of all samples.
    pub fn set_ids(&mut self, ids: Option<&[String]>) {
        self.top_nodes =
            std::mem::take(&mut self.top_nodes).into_iter().map(|node| node.named(ids)).collect();
    }

    /// The parameters with which the same arrays give the same scores.
    ///
    /// # Errors
    /// When the document holds a word that this version does not know.
    pub fn params(&self) -> Result<SpadeParams, UnknownWord> {
        self.made.request.params()
    }
}

impl GraphsDocument {
    fn new(report: &SpadeReport) -> Self {
        Self { input: GraphDocument::of_inputs(report), output: GraphDocument::of_outputs(report) }
    }

    /// Edges that the policy `bridge` added to both.
    pub fn bridges(&self) -> usize {
        self.input.connection.bridges + self.output.connection.bridges
    }
}

impl LabelDocument {
    /// Label scores with the names of the labels.
    pub(crate) fn named(scores: Vec<LabelScore>, labels: Option<&Labels>) -> Vec<Self> {
        let named = |score: LabelScore| Self {
            label: score.label,
            name: labels.and_then(|labels| labels.class_name(score.label)).map(str::to_owned),
            score: score.score,
            samples: score.samples,
            right: None,
            probed: None,
            survived: None,
            overlap: None,
        };
        scores.into_iter().map(named).collect()
    }

    /// Says of every label which share of its neighbors its samples keep.
    pub(crate) fn set_overlaps(scores: &mut [Self], labels: &Labels, facts: &SampleFacts) {
        let places: BTreeMap<i64, usize> =
            scores.iter().enumerate().map(|(at, score)| (score.label, at)).collect();
        let groups: Vec<usize> = labels.ids().iter().map(|id| places[id]).collect();
        let found = facts.overlap.of_groups(&groups, scores.len());
        for (score, overlap) in scores.iter_mut().zip(found) {
            score.overlap = overlap.map(Into::into);
        }
    }

    /// Its name, if it has one, its number otherwise.
    pub fn text(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.label.to_string())
    }

    /// The share of the probed samples that survived, where some were probed.
    pub fn survived_share(&self) -> Option<ShareDocument> {
        let (survived, probed) = self.survived.zip(self.probed.filter(|&probed| probed > 0))?;
        Some(wilson(survived, probed).into())
    }

    /// The share of the samples that are right, where that is known.
    pub fn accuracy(&self) -> Option<ShareDocument> {
        Some(wilson(self.right?, self.samples).into())
    }
}

impl GraphDocument {
    pub(crate) fn of_inputs(report: &SpadeReport) -> Self {
        let SpadeReport { graphs, diagnostics, .. } = report;
        Self::new(
            graphs.input(),
            diagnostics.connection.input,
            diagnostics.input_graph,
            diagnostics.inputs_decided_by_index,
            diagnostics.input_recall,
        )
    }

    pub(crate) fn of_outputs(report: &SpadeReport) -> Self {
        let SpadeReport { graphs, diagnostics, .. } = report;
        let decided_by_inputs = diagnostics.outputs_decided_by_inputs;
        Self {
            decided_by_inputs: (decided_by_inputs > 0).then_some(decided_by_inputs),
            ties: diagnostics.ties.map(|ties| ties.to_string()),
            ..Self::new(
                graphs.output(),
                diagnostics.connection.output,
                diagnostics.output_graph,
                diagnostics.outputs_decided_by_index,
                diagnostics.output_recall,
            )
        }
    }

    fn new(
        graph: &Graph,
        mended: SideConnection,
        made: Construction,
        decided_by_index: usize,
        recall: Recall,
    ) -> Self {
        Self {
            edges: graph.edge_count(),
            components: if made.given { mended.components_found } else { 1 },
            connection: mended,
            decided_by_index,
            decided_by_inputs: None,
            ties: None,
            search: (!made.given).then(|| recall.into()),
            construction: made,
        }
    }
}

impl From<Recall> for SearchDocument {
    fn from(recall: Recall) -> Self {
        let (method, measured_rows) = match recall {
            Recall::Exact => ("exact", None),
            Recall::Sampled { rows, .. } => ("approximate", Some(rows)),
        };
        Self { method: method.to_owned(), recall: recall.share(), measured_rows }
    }
}

impl IntervalDocument {
    /// The interval of one model among several.
    pub fn of(intervals: &Intervals, model: usize) -> Self {
        let Interval { lower, upper, .. } = intervals.models[model];
        Self {
            lower,
            upper,
            level: INTERVAL_LEVEL,
            subsample: intervals.size,
            repetitions: intervals.scores.len(),
            grown: intervals.grown,
        }
    }
}

impl From<Enclosure> for NumericalBoundsDocument {
    fn from(enclosure: Enclosure) -> Self {
        let Enclosure { lower, upper, method, probability, .. } = enclosure;
        let upper = (method != EnclosureMethod::None).then_some(upper);
        Self { lower, upper, method: method.to_string(), probability }
    }
}

impl From<Timings> for TimingsDocument {
    fn from(timings: Timings) -> Self {
        Self {
            neighbors_input_s: timings.neighbors_input.as_secs_f64(),
            neighbors_output_s: timings.neighbors_output.as_secs_f64(),
            graphs_s: timings.graphs.as_secs_f64(),
            eigen_s: timings.eigen.as_secs_f64(),
            numerical_bounds_s: timings.enclosure.as_secs_f64(),
            scores_s: timings.scores.as_secs_f64(),
            model_s: 0.0,
            probes_s: 0.0,
            page_s: 0.0,
            total_s: timings.total.as_secs_f64(),
        }
    }
}
