//! One model.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::pipeline::{AverageIndices, SUBSAMPLES, intervals, permuted_score};
use spadework::{
    Graph, Manifold, ManifoldPair, ModelSet, PairedSamples, Samples, SpadeParams, SpadeReport, evaluate,
};
use spadework_document::StoredDocument;
use spadework_document::score::{IntervalDocument, ReferencesDocument, ScoreDocument};
use spadework_io::Labels;
use spadework_probe::{SampleFacts, SampleSignals};

use super::TOP;
use crate::arrays::{BorrowedRows, Entries, LabelArrays, Rows, column, rows, set_graph};
use crate::errors::Failure;
use crate::settings::Settings;
use crate::watch::{Watch, watched};

/// One side of a model: samples, or a graph in their place.
#[derive(FromPyObject)]
pub(crate) enum SideArgument<'py> {
    Samples(Rows<'py>),
    Graph(Entries<'py>),
}

pub(super) enum SideData<'a> {
    Samples(BorrowedRows<'a>),
    Graph(Graph),
}

impl SideArgument<'_> {
    pub(super) fn data(&self, argument: &str) -> PyResult<SideData<'_>> {
        Ok(match self {
            SideArgument::Samples(rows) => SideData::Samples(rows.borrowed()?),
            SideArgument::Graph(entries) => SideData::Graph(entries.graph(argument)?),
        })
    }
}

impl<'a> SideData<'a> {
    /// Number of samples.
    fn len(&self) -> usize {
        match self {
            SideData::Samples(rows) => rows.len(),
            SideData::Graph(graph) => graph.nodes(),
        }
    }

    pub(super) fn samples(&self, argument: &str) -> Result<Option<Samples<'a>>, Failure> {
        match self {
            SideData::Samples(rows) => rows.samples(argument).map(Some),
            SideData::Graph(_) => Ok(None),
        }
    }

    pub(super) fn manifold<'s>(self, samples: Option<&'s Samples<'s>>) -> Manifold<'s> {
        match (self, samples) {
            (SideData::Graph(graph), _) => graph.into(),
            (SideData::Samples(_), Some(samples)) => samples.into(),
            (SideData::Samples(_), None) => unreachable!("rows have samples"),
        }
    }
}

/// What is asked for beside the scores.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Extras {
    pub(crate) interval: bool,
    pub(crate) references: bool,
    pub(crate) indices: bool,
}

/// What probes have shown: the samples that were probed, and the smallest margin of each over its copies.
#[derive(FromPyObject)]
pub(crate) struct ProbedMargins<'py>(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>);

/// What is known of the samples before they are scored: labels and probes.
#[derive(FromPyObject)]
pub(crate) struct KnownOfSamples<'py>(Option<LabelArrays<'py>>, Option<ProbedMargins<'py>>);

impl ProbedMargins<'_> {
    /// The smallest margin of every sample, where it was probed.
    fn of_all(&self, samples: usize) -> PyResult<Vec<Option<f64>>> {
        let mut margins = vec![None; samples];
        for (&index, &margin) in self.0.as_slice()?.iter().zip(self.1.as_slice()?) {
            let place = usize::try_from(index).ok().and_then(|index| margins.get_mut(index));
            *place.ok_or_else(|| {
                PyValueError::new_err(format!(
                    "`probed` must be of the same samples ({samples}), but it has a sample {index}"
                ))
            })? = Some(margin);
        }
        Ok(margins)
    }
}

/// Puts margins and fragility beside the scores.
pub(super) fn set_facts(result: &Bound<'_, PyDict>, facts: &SampleFacts) -> PyResult<()> {
    let py = result.py();
    let margins = facts.margins.as_ref().map(|margins| column(py, margins.values()));
    result.set_item("margins", margins)?;
    result.set_item("overlap", column(py, facts.overlap.samples().shares()))?;
    result.set_item("fragility", column(py, facts.fragility.values()))
}

/// Scores a model; gives its document as JSON, and the arrays.
#[pyfunction]
pub(crate) fn score<'py>(
    py: Python<'py>,
    input: SideArgument<'py>,
    output: SideArgument<'py>,
    known: KnownOfSamples<'py>,
    settings: Settings,
    extras: Extras,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (params, task) = (settings.params()?, settings.task()?);
    let KnownOfSamples(labels, probed) = known;
    let labels = labels.map(LabelArrays::labels).transpose()?;
    let (input, output) = (input.data("input_graph")?, output.data("output_graph")?);
    let probed = probed.map(|probed| probed.of_all(input.len())).transpose()?;
    let (report, facts, document) = watched(py, settings.threads, progress.as_ref(), |watch| {
        params.check()?;
        let (inputs, outputs) = (input.samples("inputs")?, output.samples("outputs")?);
        let pair = ManifoldPair::new(input.manifold(inputs.as_ref()), output.manifold(outputs.as_ref()))?;
        let report = evaluate(&pair, &params, watch)?;
        drop(pair);
        let signals = SampleSignals {
            inputs: inputs.as_ref(),
            outputs: outputs.as_ref(),
            labels: labels.as_ref().map(Labels::ids),
            probe_margins: probed.as_deref(),
            task,
        };
        let facts = SampleFacts::of(&report, &signals)?;
        let mut document = document(&report, labels.as_ref(), inputs.zip(outputs), &params, &extras, watch)?;
        document.set_facts(&facts, &report.node_scores, labels.as_ref());
        document.made.request.task = task.to_string();
        Ok((report, facts, document))
    })?;
    let result = PyDict::new(py);
    result.set_item("document", document.to_json())?;
    set_graph(&result, "input", report.graphs.input())?;
    set_scores(&result, &report)?;
    set_facts(&result, &facts)?;
    Ok(result)
}

/// The document, with the interval, the reference points and the indices where asked for.
fn document(
    report: &SpadeReport,
    labels: Option<&Labels>,
    samples: Option<(Samples<'_>, Samples<'_>)>,
    params: &SpadeParams,
    extras: &Extras,
    watch: &Watch,
) -> Result<ScoreDocument, Failure> {
    let mut document = ScoreDocument::new(report, labels, TOP)?;
    let params = params.clone().with_neighbors(document.neighbors.used);
    if extras.references {
        let permuted = permuted_score(&report.graphs, &params, watch)?;
        document.facts.references = Some(ReferencesDocument { identity: 1.0, permuted });
    }
    let samples = samples.map(|(inputs, outputs)| PairedSamples::new(inputs, outputs)).transpose()?;
    if extras.indices {
        document.facts.indices = Some(AverageIndices::of(report, samples.as_ref(), watch)?.into());
    }
    if let (true, Some(samples)) = (extras.interval, samples) {
        let set = ModelSet::from(samples);
        let found = intervals(&set, &[document.spectrum.model_score], SUBSAMPLES, &params, watch)?;
        document.facts.interval = Some(IntervalDocument::of(&found, 0));
    }
    Ok(document)
}

/// What belongs to one model alone; its input graph it may share with others.
pub(super) fn set_scores(result: &Bound<'_, PyDict>, report: &SpadeReport) -> PyResult<()> {
    let py = result.py();
    result.set_item("node_scores", column(py, report.node_scores.scores()))?;
    result.set_item("edge_scores", column(py, report.edge_scores.scores()))?;
    result.set_item("embedding", rows(py, report.embedding.dim(), report.embedding.values())?)?;
    set_graph(result, "output", report.graphs.output())
}
