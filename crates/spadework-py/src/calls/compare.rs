//! Many models on one input graph.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use spadework_app::{
    CompareRequest, LabelSource, ModelsData, OutputSource, PageRequest, Voice, compare as compare_models,
};
use spadework_document::StoredDocument;
use spadework_io::Labels;
use spadework_model::RunOptions;
use spadework_probe::Task;
use spadework_report::Origin;

use super::score::{Extras, SideArgument, SideData, set_facts, set_scores, source};
use super::{Found, TOP};
use crate::arrays::{BorrowedRows, LabelArrays, Rows, set_graph};
use crate::errors::{Failure, without_panics};
use crate::watch::Asked;

/// Models by name, borrowed from their arrays.
pub(super) struct NamedRows<'a>(Vec<NamedModel<'a>>);

struct NamedModel<'a> {
    name: String,
    /// What messages call its array.
    argument: String,
    rows: BorrowedRows<'a>,
    shape: [usize; 2],
}

impl<'a> NamedRows<'a> {
    pub(super) fn new(models: &'a [(String, Rows<'_>)]) -> PyResult<Self> {
        let named = |(name, rows): &'a (String, Rows<'_>)| {
            let rows = rows.borrowed()?;
            let argument = format!("outputs of model `{name}`");
            Ok(NamedModel { name: name.clone(), argument, rows, shape: [rows.len(), rows.dim()] })
        };
        Ok(Self(models.iter().map(named).collect::<PyResult<_>>()?))
    }

    /// The models on their inputs, or on a graph in place of these.
    pub(super) fn on<'s>(
        &'s self,
        inputs: &'s SideData<'_>,
        labels: Option<&Labels>,
        task: Task,
    ) -> Result<ModelsData<'s>, Failure> {
        let model = |model: &'s NamedModel<'a>| {
            let outputs = source(&model.argument, model.rows, &model.shape)?;
            Ok((model.name.clone(), OutputSource::Array(outputs)))
        };
        Ok(ModelsData {
            inputs: inputs.inputs()?,
            models: self.0.iter().map(model).collect::<Result<_, Failure>>()?,
            labels: labels.cloned().map(LabelSource::Given),
            ids: None,
            corruption: None,
            run: RunOptions::default(),
            task,
        })
    }
}

/// Compares models; gives the document as JSON, the input graph, and what belongs to every model, most robust first.
#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    inputs: SideArgument<'py>,
    models: Vec<(String, Rows<'py>)>,
    labels: Option<LabelArrays<'py>>,
    extras: Extras,
    asked: Asked<'py>,
) -> Found<'py> {
    without_panics(|| {
        let labels = labels.as_ref().map(LabelArrays::labels).transpose()?;
        let (inputs, named) = (inputs.data("input_graph")?, NamedRows::new(&models)?);
        let compared = asked.watched(py, |settings, watch| {
            let request = CompareRequest {
                data: named.on(&inputs, labels.as_ref(), settings.task()?)?,
                params: settings.params()?,
                top: TOP,
                rank_by: settings.rank_by()?,
                extras: extras.into(),
                probe: None,
                folder: None,
                page: PageRequest::NONE,
                origin: Origin::default(),
            };
            Ok(compare_models(&request, watch)?)
        })?;
        let result = PyDict::new(py);
        result.set_item("document", compared.document.to_json())?;
        let models = &compared.comparison.models;
        set_graph(&result, "input", models[0].report.graphs.input())?;
        let parts = PyList::empty(py);
        for (at, (model, facts)) in models.iter().zip(&compared.facts).enumerate() {
            let part = PyDict::new(py);
            let document = compared.score_document(at, TOP, Voice::Python);
            let document = document.map_err(|error| Failure::from(error).into_exception(py))?;
            part.set_item("name", &model.name)?;
            part.set_item("document", document.to_json())?;
            set_scores(&part, &model.report)?;
            set_facts(&part, facts)?;
            parts.append(part)?;
        }
        result.set_item("models", parts)?;
        Ok(result)
    })
}
