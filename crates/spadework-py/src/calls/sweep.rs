//! The score over k.

use pyo3::prelude::*;
use spadework_app::{PageRequest, SweepRequest, sweep as sweep_models};
use spadework_document::StoredDocument;
use spadework_probe::Task;
use spadework_report::Origin;

use super::compare::NamedRows;
use super::score::SideArgument;
use crate::arrays::Rows;
use crate::errors::without_panics;
use crate::watch::Asked;

/// Scores models for every k of `neighbors`; gives the document as JSON.
#[pyfunction]
pub(crate) fn sweep<'py>(
    py: Python<'py>,
    inputs: SideArgument<'py>,
    models: Vec<(String, Rows<'py>)>,
    neighbors: Vec<usize>,
    asked: Asked<'py>,
) -> PyResult<String> {
    without_panics(|| {
        let (inputs, named) = (inputs.data("input_graph")?, NamedRows::new(&models)?);
        asked.watched(py, |settings, watch| {
            let request = SweepRequest {
                data: named.on(&inputs, None, Task::Auto)?,
                neighbors,
                params: settings.params()?,
                folder: None,
                page: PageRequest::NONE,
                origin: Origin::default(),
            };
            Ok(sweep_models(&request, watch)?.document.to_json())
        })
    })
}
