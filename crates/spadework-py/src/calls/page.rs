//! Results as self-contained pages.

use std::num::NonZeroUsize;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use spadework_app::{ScorePageRequest, page_of_document as page_of, page_of_score as page_of_arrays};
use spadework_report::Origin;

use super::score::rows_of;
use crate::arrays::{LabelArrays, Rows};
use crate::errors::{Failure, without_panics};
use crate::watch::watched;

/// The page of what a document says: of a score, a comparison or a sweep.
#[pyfunction]
pub(crate) fn page_of_document(py: Python<'_>, document: &str, title: Option<String>) -> PyResult<String> {
    without_panics(|| {
        let page = page_of(document, &Origin { title, ..Origin::default() });
        page.map_err(|error| Failure::from(error).into_exception(py))
    })
}

/// The arrays that a model was scored on: inputs, their shape before they were flattened, outputs, and the names of the input's columns.
#[derive(FromPyObject)]
pub(crate) struct Arrays<'py>(Rows<'py>, Vec<usize>, Rows<'py>, Option<Vec<String>>);

/// What a report knows of the samples: labels, margins, fragility, names.
#[derive(FromPyObject)]
pub(crate) struct KnownOfSamples<'py>(
    Option<LabelArrays<'py>>,
    Option<PyReadonlyArray1<'py, f64>>,
    Option<PyReadonlyArray1<'py, f64>>,
    Option<Vec<String>>,
);

/// The page of a scored model with everything that can be said of it; it is scored again, as its document says.
#[pyfunction]
pub(crate) fn page_of_score<'py>(
    py: Python<'py>,
    document: &str,
    title: Option<String>,
    arrays: Arrays<'py>,
    known: KnownOfSamples<'py>,
    threads: Option<NonZeroUsize>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<String> {
    without_panics(|| {
        let KnownOfSamples(labels, margins, fragility, ids) = known;
        let labels = labels.as_ref().map(LabelArrays::labels).transpose()?;
        let margins = margins.as_ref().map(|column| column.as_slice()).transpose()?;
        let fragility = fragility.as_ref().map(|column| column.as_slice()).transpose()?;
        let Arrays(inputs, shape, outputs, columns) = &arrays;
        let (inputs, outputs) = (inputs.borrowed()?, outputs.borrowed()?);
        let output_shape = [outputs.len(), outputs.dim()];
        watched(py, threads, progress.as_ref(), |watch| {
            let request = ScorePageRequest {
                document,
                title,
                inputs: rows_of("inputs", inputs.several_samples("inputs")?, shape),
                outputs: rows_of("outputs", outputs.several_samples("outputs")?, &output_shape),
                labels,
                margins,
                fragility,
                columns: columns.as_deref(),
                ids: ids.as_deref(),
                threads,
            };
            Ok(page_of_arrays(&request, watch)?)
        })
    })
}
