//! Requests that make no sense, or that do not fit their files.

use std::path::PathBuf;

use spadework::error::Readable;
use spadework::samples::Side;
use spadework_document::stages::Difference;
use spadework_document::{comparison, is_other_version, layers, score, sweep};

use crate::wording::{Hint, Voice};

/// What needs dense inputs and is refused for sparse rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedsDense {
    /// An option, by its name.
    Option(&'static str),
    /// A sweep, with any options.
    Sweep,
}

/// What is wrong with a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are explained by the messages they appear in")]
pub enum Usage {
    /// An interval where a side is a graph.
    IntervalOfGraph,
    /// An interval where the inputs of several models are a graph.
    IntervalOfInputGraph,
    /// Models that are to be ranked by robust accuracy, without probes that estimate it.
    RankedWithoutProbes,
    /// Models that are to be ranked by robust accuracy, one of which is given by its outputs.
    RankedUnprobed { model: String },
    /// Models that are to be ranked by unevenness, one of which has no classes.
    RankedWithoutClasses { model: String },
    /// A probe that can turn every sample into any other.
    RadiusBeyondInputs { probe: String, radius: f64, lowest: f64, largest: f64 },
    /// A program that does not make variants as required.
    Script { reason: String },
    /// Variants of the samples of a model that is not a classifier.
    VariantsWithoutClasses,
    /// A label that is not the position of an output, although the outputs are said to be classes.
    LabelBeyondOutputs { row: usize, label: String, classes: usize },
    /// Probes of an embedding.
    ProbedEmbedding,
    /// Fractions as labels of a model whose outputs are classes.
    FractionsAsClasses,
    /// A corruption of inputs that are a graph.
    CorruptionOfGraph,
    /// A projection of inputs that are a graph.
    ProjectionOfGraph,
    /// An option that would make sparse inputs dense, or that does not exist for them.
    SparseInputs { by: NeedsDense },
    /// Work that needs the numbers of both sides, one of which is a graph or sparse.
    RowsNeeded { by: &'static str },
    /// A model that would be run on a graph, or on sparse rows.
    ModelOnGraph { file: String },
    /// A model whose output for a sample depends on the other samples of the batch.
    MixedBatch { file: String, sample: usize },
    /// Models of the same name.
    RepeatedModel { name: String },
    /// Probes that do not affect how samples are selected.
    ProbeWithoutFragility { by: &'static str },
    /// A selection by margins that are not known.
    NoMargins,
    /// `--moved` for outputs that are a graph.
    MovedGraph,
    /// A plan where a side is a graph.
    PlanOfGraph { side: Side },
    /// Two outputs for different numbers of samples.
    MovedSamples { before: usize, after: usize },
    /// More samples than exist.
    TooManySelected { samples: usize, top: usize },
    /// A sweep with all eigenpairs, which are only for edge and node scores.
    FullSpectrumOfSweep,
    /// More top edges than there are other edges to compare with.
    TooManyEdges { edges: usize, top: usize },
    /// A pair that is not a pair of samples.
    NoPair { samples: usize, p: u32, q: u32 },
    /// More dimensions than samples allow.
    TooManyDimensions { samples: usize, dims: usize },
    /// More dimensions than there are eigenvalues.
    TooFewEigenvalues { positive: usize, dims: usize },
    /// No layer matches.
    NoLayerMatches { patterns: String },
    /// No layer depends on the input alone.
    NoLayerOfInput { input: String },
    /// No layer has one row per sample.
    NoLayerOfRows,
    /// No layer at all.
    NoLayer,
    /// A gate on a number that needs probes.
    GateWithoutProbe { gate: &'static str },
    /// A gate on an estimate that needs a search.
    GateWithoutSearch,
    /// A gate on a number that is not known.
    NothingToGate { gate: &'static str },
    /// A baseline that is not comparable.
    Baseline { reason: String },
    /// An array other than the one that a result was made from.
    OtherArray { side: Side, array: String, digest: String, found: String },
    /// A model other than the one that a result was made from.
    OtherModel { digest: String },
    /// The digest of an array or a model is from another version, so it cannot be compared.
    OutdatedDigest { reason: String },
    /// A corruption that this version does not know.
    UnknownCorruption { reason: String },
    /// A result that does not say which arrays it was made from.
    UnknownArrays,
    /// A document that is not a result of the commands that have pages.
    NoPageOf { schema: String },
    /// A document with a word that this version does not know.
    UnknownWord { reason: String },
    /// A result whose arrays give another score.
    OtherScore { then: f64, now: f64 },
    /// Arrays that are not those of a result in memory.
    OtherArrays { then: f64, now: f64 },
    /// A text that is not a document.
    NoDocument { reason: String },
    /// A result folder that would overwrite its reference.
    OverwritesReference { out: PathBuf, reference: PathBuf },
    /// A reference that is not a folder.
    NoResultFolder,
    /// A reference that does not say what was scored.
    NoDataOfReference,
    /// A result that new samples cannot be scored against.
    NoReference { reason: String },
    /// An embedding of another shape.
    EmbeddingShape { expected: [usize; 2], got: Vec<usize> },
    /// A stage that was made from something else.
    OtherStage { reason: OtherStage },
    /// A folder with parts of another probe.
    OtherProbe { difference: String },
    /// A stage file that is incomplete.
    BrokenStage { reason: String },
    /// A folder without graphs.
    NoGraphs { input: PathBuf, output: PathBuf },
    /// A folder without eigenpairs.
    NoEigenpairs,
    /// Eigenpairs of other graphs.
    EigenpairsOfOtherGraphs,
    /// Eigenpairs of graphs whose digest is of another version.
    OutdatedEigenpairs { reason: String },
}

/// How a stage differs from the requested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherStage {
    /// In something that it was made from.
    Differs(Difference),
    /// Another program wrote it.
    OfAnotherProgram,
    /// `spadework score` wrote it as a whole.
    OfScore,
}

impl Usage {
    pub(crate) fn hint(&self) -> Option<Hint> {
        Some(match self {
            Usage::RepeatedModel { .. } => Hint::NameModels,
            Usage::ProbeWithoutFragility { .. } => Hint::ByFragility,
            Usage::Baseline { .. } => Hint::MakeBaseline,
            Usage::NothingToGate { .. } | Usage::LabelBeyondOutputs { .. } => Hint::GiveLabels,
            Usage::NoDataOfReference | Usage::NoReference { .. } | Usage::EmbeddingShape { .. } => {
                Hint::MakeReference
            }
            Usage::OtherStage { .. } | Usage::BrokenStage { .. } => Hint::ReplaceStage,
            Usage::OtherProbe { .. } => Hint::AnotherFolder,
            Usage::NoLayerMatches { .. } | Usage::NoLayerOfInput { .. } => Hint::ListLayers,
            Usage::NoGraphs { .. } => Hint::MakeGraphs,
            Usage::NoEigenpairs => Hint::FindEigenpairs,
            Usage::EigenpairsOfOtherGraphs | Usage::OutdatedEigenpairs { .. } => Hint::FindEigenpairsAgain,
            Usage::OutdatedDigest { .. } => Hint::ScoreAgain,
            _ => return None,
        })
    }

    /// The message in the words of a front end.
    #[expect(clippy::too_many_lines, reason = "one line or two per variant, all of one kind")]
    pub fn text(&self, voice: Voice) -> String {
        let command = voice == Voice::Command;
        match self {
            Usage::IntervalOfGraph if command => {
                "--interval needs the samples of both sides, but one side is given as a graph".to_owned()
            }
            Usage::IntervalOfInputGraph if command => {
                "--interval needs the samples of both sides, but --input-graph is given instead of --inputs"
                    .to_owned()
            }
            Usage::IntervalOfGraph | Usage::IntervalOfInputGraph => {
                "`interval` needs the samples of both sides, but one side is given as a graph".to_owned()
            }
            Usage::RankedWithoutProbes if command => {
                "--rank-by robust-accuracy needs probes that estimate it: pass --probe linf:EPS, e.g. linf:8/255".to_owned()
            }
            Usage::RankedWithoutProbes => "rank_by=\"robust-accuracy\" needs probes of models that can be run, which the command \
                                           `spadework compare --probe` makes; arrays are ranked by \"unevenness\""
                .to_owned(),
            Usage::RankedUnprobed { model } => format!(
                "--rank-by robust-accuracy needs every model as a file that can be run, but model `{model}` is given by its \
                 outputs; --rank-by overlap compares them all"
            ),
            Usage::RankedWithoutClasses { model } if command => format!(
                "--rank-by unevenness needs outputs that are classes and vary within a class, but those of model `{model}` \
                 do not; --rank-by overlap compares them all"
            ),
            Usage::RankedWithoutClasses { model } => format!(
                "rank_by=\"unevenness\" needs outputs that are classes and vary within a class, but those of model \
                 `{model}` do not; \"overlap\" compares them all"
            ),
            Usage::RadiusBeyondInputs { probe, radius, lowest, largest } => {
                let gray = if *largest <= 1.0 && *radius <= 255.0 {
                    let radius = Readable(*radius);
                    format!(" For {radius} of 255 gray levels, write {}:{radius}/255", probe.split(':').next().unwrap_or_default())
                } else {
                    String::new()
                };
                let [radius, lowest, largest] = [radius, lowest, largest].map(|number| Readable(*number));
                format!(
                    "the radius of {} is {radius}, but the inputs only range from {lowest} to {largest}: every sample could become \
                     any other.{gray}",
                    voice.name("probe")
                )
            }
            Usage::ProbedEmbedding => format!(
                "probes need a classifier or a regressor, but these outputs count as an embedding: {} says so, the labels are \
                 not classes of the outputs, or there are no labels and all rows have the length 1 or are compared by cosine \
                 distance. If the outputs are classes, pass {}. Compare two embeddings by their overlap",
                voice.argument("task", "embedding"),
                voice.argument("task", "classes")
            ),
            Usage::FractionsAsClasses => format!(
                "labels must be integers or words, because the outputs of the model are classes, got fractions; for a model \
                 that predicts numbers, pass {}",
                voice.argument("task", "regression")
            ),
            Usage::VariantsWithoutClasses => format!(
                "{} counts how often samples change their class, but the outputs of the model do not look like classes; if they are, pass {}",
                voice.name("probe_with"),
                voice.argument("task", "classes")
            ),
            Usage::CorruptionOfGraph => {
                "--corruption changes the inputs, but --input-graph is given instead".to_owned()
            }
            Usage::ProjectionOfGraph if command => {
                "--graph pca: projects the inputs, but --input-graph is given instead".to_owned()
            }
            Usage::ProjectionOfGraph => {
                "graph=\"pca:…\" projects the inputs, but `input_graph` is given instead".to_owned()
            }
            Usage::SparseInputs { by: NeedsDense::Option(option) } => format!(
                "{} needs dense rows, but these are sparse; save them as an array (.toarray()), or leave it out",
                voice.name(option)
            ),
            Usage::SparseInputs { by: NeedsDense::Sweep } => format!(
                "a sweep makes a graph for every k and needs dense rows, but these are sparse; save them as an array (.toarray()), or score \
                 one k at a time with {}",
                voice.subject("neighbors")
            ),
            Usage::RowsNeeded { by } => {
                format!("{by} needs dense rows of numbers on both sides, but a graph or sparse rows are given")
            }
            Usage::ModelOnGraph { file } => format!(
                "{file}: a model is run on dense rows of numbers, but a graph or sparse rows are given; run it elsewhere and pass its \
                 outputs"
            ),
            Usage::MixedBatch { file, sample } => format!(
                "{file}: the output for a sample must depend on that sample alone, but sample {sample} (counted from 0) has another output when it is run by itself: the model mixes the samples of a batch, or draws random numbers"
            ),
            Usage::LabelBeyondOutputs { row, label, classes } => format!(
                "labels must be positions of the {classes} outputs, counted from 0, got {label} at row {row} (counted from 0)"
            ),
            Usage::RepeatedModel { name } => {
                format!("models must have names that differ, got `{name}` twice")
            }
            Usage::ProbeWithoutFragility { by } => {
                format!("--probe only affects fragility, but --by is `{by}`")
            }
            Usage::NoMargins => {
                "--by margin needs --outputs or --model with at least two numbers per sample, one per class".to_owned()
            }
            Usage::MovedGraph => {
                "--moved compares the outputs of two models, but --output-graph is given instead of the first".to_owned()
            }
            Usage::PlanOfGraph { side } => format!(
                "--plan scores some of the samples, but the {side}s are a graph; pass an array"
            ),
            Usage::MovedSamples { before, after } => format!(
                "{} and {} must be outputs for the same samples, got {before} and {after} of them",
                voice.subject("outputs"),
                voice.subject("against")
            ),
            Usage::TooManySelected { samples, top } => {
                format!("{} must be at most the number of samples ({samples}), got {top}", voice.subject("top"))
            }
            Usage::FullSpectrumOfSweep => {
                "--eigenpairs all computes edge and node scores, but a sweep only has SPADE scores".to_owned()
            }
            Usage::TooManyEdges { edges, top } => format!(
                "{} must be at most half the number of input edges ({edges}), so that the same number of random edges can be drawn, got {top}",
                voice.subject("top")
            ),
            Usage::NoPair { samples, p, q } => {
                let pair = voice.subject(if voice == Voice::Python { "pairs" } else { "pair" });
                format!("{pair} must name two different samples below {samples}, got {p},{q}")
            }
            Usage::TooManyDimensions { samples, dims } => {
                format!("--dims must be smaller than the number of samples ({samples}), got {dims}")
            }
            Usage::TooFewEigenvalues { positive, dims } => {
                format!("--dims must be at most the number of positive eigenvalues ({positive}), got {dims}")
            }
            Usage::NoLayerMatches { patterns } => format!("no layer matches --layers {patterns}"),
            Usage::NoLayerOfInput { input } => format!("no layer depends on input `{input}` alone"),
            Usage::NoLayerOfRows => "no layer makes one row per sample".to_owned(),
            Usage::NoLayer => "there is no layer".to_owned(),
            Usage::GateWithoutProbe { gate } => format!(
                "{} needs a model that is probed: pass {} and {}",
                voice.name(gate),
                voice.name("model"),
                voice.argument("probe", "linf:EPS")
            ),
            Usage::GateWithoutSearch => format!(
                "{} needs a probe of the kind `search`, the default: only a search estimates the accuracy under attack",
                voice.name("min_robust_accuracy")
            ),
            Usage::NothingToGate { gate } => format!(
                "{} needs labels that are the classes of the outputs, but the accuracy is not known here",
                voice.subject(gate)
            ),
            Usage::Baseline { reason } => format!("the baseline must have {reason}"),
            Usage::OtherArray { side, array, digest, found } => format!(
                "must be the {side}s that the result was made from ({array}, digest {digest}), got digest {found}"
            ),
            Usage::OtherModel { digest } => {
                format!("must be the model that the result was made from (digest {digest}), got none or another")
            }
            Usage::OutdatedDigest { reason } => format!("the result was made from it, but {reason}"),
            Usage::UnknownCorruption { reason } => {
                format!("the corruption of the result cannot be made again: {reason}")
            }
            Usage::UnknownArrays => {
                "the result does not say which arrays it was made from, or was made from graphs".to_owned()
            }
            Usage::NoPageOf { schema } => no_page_of(schema),
            Usage::Script { reason }
            | Usage::UnknownWord { reason }
            | Usage::BrokenStage { reason }
            | Usage::OutdatedEigenpairs { reason } => reason.clone(),
            Usage::OtherScore { then, now } => {
                let [then, now] = [then, now].map(|score| Readable(*score));
                format!("has SPADE score {then}, but its arrays give {now}: score again")
            }
            Usage::OtherArrays { then, now } => format!(
                "inputs and outputs must be those of the report, whose SPADE score is {}, got {}",
                Readable(*then),
                Readable(*now)
            ),
            Usage::NoDocument { reason } => format!("not a document: {reason}"),
            Usage::OverwritesReference { out, reference } => format!(
                "--out {} is the folder of --reference {}, which would be overwritten",
                out.display(),
                reference.display()
            ),
            Usage::NoResultFolder => "expected a folder made with `score --out`".to_owned(),
            Usage::NoDataOfReference => "result.json does not say what was scored".to_owned(),
            Usage::NoReference { reason } => format!("cannot be a reference for new samples: {reason}"),
            Usage::EmbeddingShape { expected, got } => format!(
                "expected {} × {} numbers of double precision, got shape {got:?}",
                expected[0], expected[1]
            ),
            Usage::OtherStage { reason } => format!("was made from something else: {reason}"),
            Usage::OtherProbe { difference } => format!("holds another probe: {difference}"),
            Usage::NoGraphs { input, output } => {
                format!("{} and {}: expected two graphs", input.display(), output.display())
            }
            Usage::NoEigenpairs => "expected eigenpairs".to_owned(),
            Usage::EigenpairsOfOtherGraphs => "was computed for other graphs than those in the same folder".to_owned(),
        }
    }
}

impl std::fmt::Display for OtherStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OtherStage::Differs(difference) => difference.fmt(f),
            OtherStage::OfAnotherProgram => f.write_str("another program wrote it"),
            OtherStage::OfScore => f.write_str("`spadework score` wrote it"),
        }
    }
}

/// A document without a page; one that only another version could read is named as such.
fn no_page_of(schema: &str) -> String {
    let known = [score::SCHEMA, comparison::SCHEMA, sweep::SCHEMA, layers::SCHEMA];
    let version = if known.into_iter().any(|known| is_other_version(schema, known)) {
        ", of another version of spadework: make the result again"
    } else {
        ""
    };
    format!("expected a result of score, compare, sweep or layers, got schema `{schema}`{version}")
}
