//! One model.

use std::path::{Path, PathBuf};

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::{Samples, SpadeReport};
use spadework_app::{
    ArraySource, BaselineRequest, CheckRequest, Extras as AppExtras, GraphSource, IdSource, InputSource,
    LabelSource, Limits, ModelData, OutputSource, PageRequest, Probes, Rows as AppRows, ScoreRequest, Scored,
    Voice, check, gate_lines, json, score as score_model,
};
use spadework_document::StoredDocument;
use spadework_io::LoadedGraph;
use spadework_probe::SampleFacts;
use spadework_report::Origin;

use super::{Found, TOP};
use crate::arrays::{BorrowedRows, Entries, LabelArrays, Rows, column, rows, set_graph};
use crate::errors::{Failure, without_panics};
use crate::settings::Settings;
use crate::watch::Asked;

/// One side of a model: samples with the shape of one of them, or a graph in their place.
#[derive(FromPyObject)]
pub(crate) enum SideArgument<'py> {
    Samples(Rows<'py>, Vec<usize>),
    Graph(Entries<'py>),
}

/// The same without the interpreter; what a worker may hold.
pub(super) enum SideData<'a> {
    Samples { rows: BorrowedRows<'a>, shape: Vec<usize> },
    Graph(LoadedGraph),
}

impl SideArgument<'_> {
    pub(super) fn data(&self, argument: &str) -> PyResult<SideData<'_>> {
        Ok(match self {
            SideArgument::Samples(rows, shape) => {
                let rows = rows.borrowed()?;
                let shape = std::iter::once(rows.len()).chain(shape.iter().copied()).collect();
                SideData::Samples { rows, shape }
            }
            SideArgument::Graph(entries) => SideData::Graph(entries.graph(argument)?),
        })
    }
}

impl SideData<'_> {
    /// Number of samples.
    fn len(&self) -> usize {
        match self {
            SideData::Samples { rows, .. } => rows.len(),
            SideData::Graph(graph) => graph.graph.nodes(),
        }
    }

    /// The inputs of a model.
    pub(super) fn inputs(&self) -> Result<InputSource<'_>, Failure> {
        Ok(match self {
            SideData::Samples { rows, shape } => InputSource::Array(source("inputs", *rows, shape)?),
            SideData::Graph(graph) => {
                InputSource::Graph(GraphSource::Loaded { name: "input_graph", graph: graph.clone() })
            }
        })
    }

    /// Its outputs.
    pub(super) fn outputs(&self) -> Result<OutputSource<'_>, Failure> {
        Ok(match self {
            SideData::Samples { rows, shape } => OutputSource::Array(source("outputs", *rows, shape)?),
            SideData::Graph(graph) => {
                OutputSource::Graph(GraphSource::Loaded { name: "output_graph", graph: graph.clone() })
            }
        })
    }
}

/// Rows under the name of their argument.
pub(super) fn source<'a>(
    name: &'a str,
    rows: BorrowedRows<'a>,
    shape: &'a [usize],
) -> Result<ArraySource<'a>, Failure> {
    Ok(ArraySource::Rows(rows_of(name, rows.several_samples(name)?, shape)))
}

/// Samples under the name of their argument, in the shape that they had.
pub(super) fn rows_of<'a>(name: &'a str, samples: Samples<'a>, shape: &'a [usize]) -> AppRows<'a> {
    AppRows { name, samples, shape: shape.into() }
}

/// What is requested in addition to the scores.
#[derive(Clone, Copy, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Extras {
    interval: bool,
    references: bool,
    indices: bool,
}

impl From<Extras> for AppExtras {
    fn from(Extras { interval, references, indices }: Extras) -> Self {
        Self { interval, references, indices }
    }
}

/// What probes have shown: the samples that were probed, the smallest margin of each over its copies, and the document as JSON.
#[derive(FromPyObject)]
pub(crate) struct ProbedMargins<'py>(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>, String);

/// What was found earlier by probes.
#[derive(FromPyObject)]
pub(crate) enum KnownProbes<'py> {
    /// Of a classifier.
    Classes(ProbedMargins<'py>),
    /// Of a regressor: the document as JSON.
    Numbers(String),
}

impl KnownProbes<'_> {
    fn probes(&self, samples: usize) -> PyResult<Probes> {
        match self {
            KnownProbes::Classes(probed) => probed.probes(samples),
            KnownProbes::Numbers(document) => {
                Ok(Probes::KnownChange(Box::new(serde_json::from_str(document).map_err(no_probes)?)))
            }
        }
    }
}

fn no_probes(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("`probed` is not a document of probes: {error}"))
}

/// What is known of the samples before they are scored: labels, probes and names.
#[derive(FromPyObject)]
pub(crate) struct KnownOfSamples<'py>(
    Option<LabelArrays<'py>>,
    Option<KnownProbes<'py>>,
    Option<Vec<String>>,
);

impl ProbedMargins<'_> {
    /// The smallest margin of every sample, where it was probed.
    fn of_all(&self, samples: usize) -> PyResult<Vec<Option<f64>>> {
        let mut margins = vec![None; samples];
        for (&index, &margin) in self.0.as_slice()?.iter().zip(self.1.as_slice()?) {
            let place = usize::try_from(index).ok().and_then(|index| margins.get_mut(index));
            *place.ok_or_else(|| {
                PyValueError::new_err(format!(
                    "`probed` must be for the same samples ({samples}), but it has a sample {index}"
                ))
            })? = Some(margin);
        }
        Ok(margins)
    }

    fn probes(&self, samples: usize) -> PyResult<Probes> {
        let document = serde_json::from_str(&self.2).map_err(no_probes)?;
        Ok(Probes::Known { margins: self.of_all(samples)?, document: Box::new(document) })
    }
}

/// One model: its inputs, its outputs, and what is known of the samples.
#[derive(FromPyObject)]
pub(crate) struct ModelArgument<'py>(SideArgument<'py>, SideArgument<'py>, KnownOfSamples<'py>);

/// Everything about one model that a worker needs.
pub(super) struct Model<'a> {
    input: SideData<'a>,
    output: SideData<'a>,
    labels: Option<spadework_io::Labels>,
    probes: Probes,
    ids: Option<&'a [String]>,
}

impl<'a> Model<'a> {
    pub(super) fn new(ModelArgument(input, output, known): &'a ModelArgument<'_>) -> PyResult<Self> {
        let (input, output) = (input.data("input_graph")?, output.data("output_graph")?);
        let KnownOfSamples(labels, probed, ids) = known;
        let probes = probed.as_ref().map(|probed| probed.probes(input.len())).transpose()?;
        let labels = labels.as_ref().map(LabelArrays::labels).transpose()?;
        Ok(Self { input, output, labels, probes: probes.unwrap_or_default(), ids: ids.as_deref() })
    }

    /// What is scored.
    pub(super) fn data(&self, task: spadework_probe::Task) -> Result<ModelData<'_>, Failure> {
        Ok(ModelData {
            labels: self.labels.clone().map(LabelSource::Given),
            ids: self.ids.map(IdSource::Given),
            task,
            ..ModelData::new(self.input.inputs()?, self.output.outputs()?)
        })
    }

    fn request(&self, settings: &Settings, extras: AppExtras) -> Result<ScoreRequest<'_>, Failure> {
        Ok(ScoreRequest {
            data: self.data(settings.task()?)?,
            params: settings.params()?,
            top: TOP,
            extras,
            probes: self.probes.clone(),
            folder: None,
            page: PageRequest::NONE,
            origin: Origin::default(),
        })
    }
}

/// Scores a model; gives its document as JSON, and the arrays.
#[pyfunction]
pub(crate) fn score<'py>(
    py: Python<'py>,
    model: ModelArgument<'py>,
    extras: Extras,
    asked: Asked<'py>,
) -> Found<'py> {
    without_panics(|| {
        let model = Model::new(&model)?;
        let scored = asked.watched(py, |settings, watch| {
            Ok(score_model(&model.request(settings, extras.into())?, watch)?)
        })?;
        arrays_of(py, &scored)
    })
}

/// The document of a scored model as JSON, and its arrays.
fn arrays_of<'py>(py: Python<'py>, scored: &Scored) -> Found<'py> {
    let result = PyDict::new(py);
    result.set_item("document", scored.document.to_json())?;
    set_graph(&result, "input", scored.report.graphs.input())?;
    set_scores(&result, &scored.report)?;
    set_facts(&result, &scored.facts)?;
    Ok(result)
}

/// What a model must keep by itself, and against a result in a folder.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Gates {
    min_robust_accuracy: Option<f64>,
    min_survived: Option<f64>,
    min_accuracy: Option<f64>,
    min_overlap: Option<f64>,
    max_score: Option<f64>,
    baseline: Option<PathBuf>,
    max_drop: f64,
    max_regression: Option<f64>,
    undecided_fails: bool,
}

impl Gates {
    fn limits(&self) -> Limits {
        let Self { min_robust_accuracy, min_survived, min_accuracy, min_overlap, max_score, .. } = *self;
        Limits { min_robust_accuracy, min_survived, min_accuracy, min_overlap, max_score }
    }

    fn baseline(&self) -> Option<BaselineRequest<'_>> {
        let path: &Path = self.baseline.as_deref()?;
        Some(BaselineRequest { path, max_drop: self.max_drop, max_regression: self.max_regression })
    }
}

/// Scores a model and compares it with its limits; gives the document of the gates as JSON, their lines, and what `score` gives.
#[pyfunction]
pub(crate) fn check_gates<'py>(
    py: Python<'py>,
    model: ModelArgument<'py>,
    gates: Gates,
    asked: Asked<'py>,
) -> Found<'py> {
    without_panics(|| {
        let model = Model::new(&model)?;
        let checked = asked.watched(py, |settings, watch| {
            let request = CheckRequest {
                score: model.request(settings, AppExtras::default())?,
                limits: gates.limits(),
                baseline: gates.baseline(),
                undecided_fails: gates.undecided_fails,
                junit: None,
                summary: None,
            };
            Ok(check(&request, watch)?)
        })?;
        let result = arrays_of(py, &checked.scored)?;
        result.set_item("gates", json(&checked.document))?;
        result.set_item("lines", gate_lines(&checked.document, Voice::Python))?;
        Ok(result)
    })
}

/// Adds margins and fragility to the scores.
pub(super) fn set_facts(result: &Bound<'_, PyDict>, facts: &SampleFacts) -> PyResult<()> {
    let py = result.py();
    let margins = facts.margins.as_ref().map(|margins| column(py, margins.values()));
    result.set_item("margins", margins)?;
    result.set_item("overlap", column(py, facts.overlap.samples().shares()))?;
    result.set_item("fragility", column(py, facts.fragility.values()))
}

/// What belongs to one model alone; its input graph it may share with others.
pub(super) fn set_scores(result: &Bound<'_, PyDict>, report: &SpadeReport) -> PyResult<()> {
    let py = result.py();
    result.set_item("node_scores", column(py, report.node_scores.scores()))?;
    result.set_item("edge_scores", column(py, report.edge_scores.scores()))?;
    result.set_item("embedding", rows(py, report.embedding.dim(), report.embedding.values())?)?;
    set_graph(result, "output", report.graphs.output())
}
