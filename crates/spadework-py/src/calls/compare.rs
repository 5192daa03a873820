//! Many models on one input graph.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use spadework::pipeline::{Comparison, Intervals, SUBSAMPLES, intervals, permuted_score};
use spadework::{Manifold, Model, ModelSet, SpadeParams, compare as compare_models};
use spadework_app::Known;
use spadework_document::StoredDocument;
use spadework_document::comparison::CompareDocument;
use spadework_document::score::{ReferencesDocument, ScoreDocument};
use spadework_io::Labels;
use spadework_probe::SampleFacts;

use super::TOP;
use super::score::{Extras, SideArgument, SideData, set_facts, set_scores};
use crate::arrays::{BorrowedRows, LabelArrays, Rows, set_graph};
use crate::errors::Failure;
use crate::settings::Settings;
use crate::watch::{Watch, watched};

/// Models by name, borrowed from their arrays.
pub(super) struct NamedRows<'a>(Vec<(String, BorrowedRows<'a>)>);

impl<'a> NamedRows<'a> {
    pub(super) fn new(models: &'a [(String, Rows<'_>)]) -> PyResult<Self> {
        let named = |(name, rows): &'a (String, Rows<'_>)| Ok((name.clone(), rows.borrowed()?));
        Ok(Self(models.iter().map(named).collect::<PyResult<_>>()?))
    }

    /// The models on their inputs, or on a graph in place of these.
    pub(super) fn on(self, inputs: SideData<'a>) -> Result<ModelSet<'a>, Failure> {
        let inputs: Manifold<'_> = match inputs {
            SideData::Samples(rows) => rows.samples("inputs")?.into(),
            SideData::Graph(graph) => graph.into(),
        };
        let model = |(name, rows): (String, BorrowedRows<'a>)| {
            Ok(Model { outputs: rows.samples(&format!("outputs of model `{name}`"))?, name })
        };
        let models = self.0.into_iter().map(model).collect::<Result<_, Failure>>()?;
        Ok(ModelSet::new(inputs, models)?)
    }
}

/// Compares models; gives the document as JSON, the input graph, and what belongs to every model, most robust first.
#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    inputs: SideArgument<'py>,
    models: Vec<(String, Rows<'py>)>,
    labels: Option<LabelArrays<'py>>,
    settings: Settings,
    extras: Extras,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (params, task, rank_by) = (settings.params()?, settings.task()?, settings.rank_by()?);
    let labels = labels.map(LabelArrays::labels).transpose()?;
    let (inputs, named) = (inputs.data("input_graph")?, NamedRows::new(&models)?);
    let (comparison, facts, document) = watched(py, settings.threads, progress.as_ref(), |watch| {
        params.check()?;
        let models = named.on(inputs)?;
        let mut comparison = compare_models(&models, &params, watch)?;
        let ids = labels.as_ref().map(Labels::ids);
        let facts = SampleFacts::of_comparison(&comparison, &models, ids, &[], task)?;
        let subsamples = subsamples(&comparison, &models, &params, &extras, watch)?;
        let ranking = Known::new(&comparison, &facts, &[], ids, subsamples.as_ref())?.ranked(rank_by)?;
        let facts = ranking.sorted(facts);
        comparison.reorder(&ranking.order);
        let mut document = CompareDocument::new(&comparison, &facts, labels.as_ref(), TOP)?;
        ranking.tell(&mut document);
        document.made.request.task = task.to_string();
        if let Some(subsamples) = &subsamples {
            document.set_intervals(subsamples, &comparison);
        }
        add_extras(&mut document, &comparison, &models, &params, &extras, watch)?;
        Ok((comparison, facts, document))
    })?;
    let result = PyDict::new(py);
    result.set_item("document", document.to_json())?;
    set_graph(&result, "input", comparison.models[0].report.graphs.input())?;
    let parts = PyList::empty(py);
    for ((model, facts), compared) in comparison.models.iter().zip(&facts).zip(document.models) {
        let part = PyDict::new(py);
        let mut document = ScoreDocument::new(&model.report, labels.as_ref(), TOP)
            .map_err(|error| Failure::from(error).into_exception(py))?;
        document.set_facts(facts, &model.report.node_scores, labels.as_ref());
        document.facts = compared.facts;
        part.set_item("name", &model.name)?;
        part.set_item("document", document.to_json())?;
        set_scores(&part, &model.report)?;
        set_facts(&part, facts)?;
        parts.append(part)?;
    }
    result.set_item("models", parts)?;
    Ok(result)
}

/// SPADE scores of subsamples, where intervals were asked for.
fn subsamples(
    comparison: &Comparison,
    models: &ModelSet<'_>,
    params: &SpadeParams,
    extras: &Extras,
    watch: &Watch,
) -> Result<Option<Intervals>, Failure> {
    if !extras.interval {
        return Ok(None);
    }
    let used = comparison.models[0].report.diagnostics.connection.used;
    let scores = comparison.scores_as_given();
    Ok(Some(intervals(models, &scores, SUBSAMPLES, &params.clone().with_neighbors(used), watch)?))
}

/// Reference points and indices, where asked for.
fn add_extras(
    document: &mut CompareDocument,
    comparison: &Comparison,
    models: &ModelSet<'_>,
    params: &SpadeParams,
    extras: &Extras,
    watch: &Watch,
) -> Result<(), Failure> {
    let params = params.clone().with_neighbors(document.settings.neighbors.used);
    if extras.references {
        for (model, compared) in document.models.iter_mut().zip(&comparison.models) {
            let permuted = permuted_score(&compared.report.graphs, &params, watch)
                .map_err(|error| error.in_model(&compared.name))?;
            model.facts.references = Some(ReferencesDocument { identity: 1.0, permuted });
        }
    }
    if extras.indices {
        for (model, compared) in document.models.iter_mut().zip(&comparison.models) {
            model.facts.indices = Some(compared.indices(models, watch)?.into());
        }
    }
    Ok(())
}
