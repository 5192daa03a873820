//! The score over k.

use pyo3::prelude::*;
use spadework::SpadeParams;
use spadework::pipeline::sweep as sweep_models;
use spadework_document::StoredDocument;
use spadework_document::sweep::SweepDocument;

use super::compare::NamedRows;
use super::score::SideArgument;
use crate::arrays::Rows;
use crate::settings::Settings;
use crate::watch::watched;

/// Scores models for every k of `neighbors`; gives the document as JSON.
#[pyfunction]
pub(crate) fn sweep<'py>(
    py: Python<'py>,
    inputs: SideArgument<'py>,
    models: Vec<(String, Rows<'py>)>,
    neighbors: Vec<usize>,
    settings: Settings,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<String> {
    let params: SpadeParams = settings.params()?;
    let (inputs, named) = (inputs.data("input_graph")?, NamedRows::new(&models)?);
    watched(py, settings.threads, progress.as_ref(), |watch| {
        params.check()?;
        let models = named.on(inputs)?;
        let found = sweep_models(&models, &neighbors, &params, watch)?;
        Ok(SweepDocument::new(&found, &params, models.len()).to_json())
    })
}
