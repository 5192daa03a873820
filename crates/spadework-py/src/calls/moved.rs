//! The samples whose neighborhoods changed most between two models.

use pyo3::prelude::*;
use spadework_app::{
    IdSource, InputSource, ModelData, MovedRequest, OutputSource, json, moved as moved_samples,
};

use super::score::{SideArgument, SideData};
use crate::errors::{Failure, without_panics};
use crate::watch::Asked;

/// Compares the neighborhoods of two outputs of the same samples; gives the document as JSON.
#[pyfunction]
pub(crate) fn moved<'py>(
    py: Python<'py>,
    before: SideArgument<'py>,
    after: SideArgument<'py>,
    top: Option<usize>,
    ids: Option<Vec<String>>,
    asked: Asked<'py>,
) -> PyResult<String> {
    without_panics(|| {
        let (before, after) = (before.data("outputs")?, after.data("against")?);
        asked.watched(py, |settings, watch| {
            // The inputs only say which samples these are: the outputs do as well.
            let request = MovedRequest {
                data: ModelData {
                    ids: ids.as_deref().map(IdSource::Given),
                    ..ModelData::new(
                        InputSource::Array(rows(&before, "outputs")?),
                        outputs(&before, "outputs")?,
                    )
                },
                against: outputs(&after, "against")?,
                params: settings.params()?,
                top,
                folder: None,
            };
            Ok(json(&moved_samples(&request, watch)?.document))
        })
    })
}

fn rows<'a>(side: &'a SideData<'_>, name: &'a str) -> Result<spadework_app::ArraySource<'a>, Failure> {
    match side {
        SideData::Samples { rows, shape } => super::score::source(name, *rows, shape),
        SideData::Graph(_) => unreachable!("the Python half gives rows"),
    }
}

fn outputs<'a>(side: &'a SideData<'_>, name: &'a str) -> Result<OutputSource<'a>, Failure> {
    rows(side, name).map(OutputSource::Array)
}
