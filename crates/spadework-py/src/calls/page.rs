//! Results as self-contained pages.

use std::num::NonZeroUsize;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use spadework::{PairedSamples, evaluate};
use spadework_document::score::ScoreDocument;
use spadework_report::{
    InputArray, Origin, PageFacts, PageSamples, SampleColumns, ScoredModel, comparison_page_of_document,
    score_page, score_page_of_document, sweep_page,
};

use crate::arrays::{LabelArrays, Rows};
use crate::errors::without_panics;
use crate::watch::watched;

/// Why a page has no pictures.
const NO_ARRAYS: &str = "give the arrays of the model to `to_html` by inputs= and outputs=";
const NONE_KEPT: &str = "a comparison does not keep the arrays of its models";

/// The page of what a document says: of a score, a comparison or a sweep.
#[pyfunction]
pub(crate) fn page_of_document(document: &str, title: Option<String>) -> PyResult<String> {
    without_panics(|| page_of(document, title))
}

fn page_of(document: &str, title: Option<String>) -> PyResult<String> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(format!("not a document: {error}"));
    let origin = Origin { title, ..Origin::default() };
    let value: serde_json::Value = serde_json::from_str(document).map_err(wrong)?;
    let page = match value.get("schema").and_then(serde_json::Value::as_str) {
        Some(spadework_document::score::SCHEMA) => {
            score_page_of_document(&serde_json::from_value(value).map_err(wrong)?, &origin, NO_ARRAYS)
        }
        Some(spadework_document::comparison::SCHEMA) => {
            comparison_page_of_document(&serde_json::from_value(value).map_err(wrong)?, &origin, NONE_KEPT)
        }
        _ => sweep_page(&serde_json::from_value(value).map_err(wrong)?, &origin),
    };
    page.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The arrays that a model was scored on: inputs, their shape before they were flattened, outputs.
#[derive(FromPyObject)]
pub(crate) struct Arrays<'py>(Rows<'py>, Vec<usize>, Rows<'py>);

/// What a report knows of the samples: labels, margins, fragility.
#[derive(FromPyObject)]
pub(crate) struct KnownOfSamples<'py>(
    Option<LabelArrays<'py>>,
    Option<PyReadonlyArray1<'py, f64>>,
    Option<PyReadonlyArray1<'py, f64>>,
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
    let wrong = |error: String| PyValueError::new_err(format!("not a document: {error}"));
    let document: ScoreDocument = serde_json::from_str(document).map_err(|error| wrong(error.to_string()))?;
    let params = document.params().map_err(|error| wrong(error.to_string()))?;
    let KnownOfSamples(labels, margins, fragility) = known;
    let labels = labels.map(LabelArrays::labels).transpose()?;
    let columns = SampleColumns {
        margins: margins.as_ref().map(|column| column.as_slice()).transpose()?,
        fragility: fragility.as_ref().map(|column| column.as_slice()).transpose()?,
        ..SampleColumns::default()
    };
    let Arrays(inputs, shape, outputs) = &arrays;
    let (inputs, outputs) = (inputs.borrowed()?, outputs.borrowed()?);
    let origin = Origin { title, ..Origin::default() };
    watched(py, threads, progress.as_ref(), |watch| {
        let (inputs, outputs) = (inputs.samples("inputs")?, outputs.samples("outputs")?);
        let report = evaluate(&PairedSamples::new(inputs.clone(), outputs.clone())?, &params, watch)?;
        let model = ScoredModel {
            document: &document,
            report: &report,
            outputs: Some(&outputs),
            columns,
            samples: PageSamples {
                labels: labels.as_ref(),
                inputs: Some(InputArray { samples: &inputs, shape }),
                ..PageSamples::default()
            },
        };
        let facts = PageFacts::of(&model, watch)?;
        Ok((score_page(&model, &facts, &origin)?, report.model_score.0))
    })
    .and_then(|(page, score)| {
        if score == document.spectrum.model_score {
            return Ok(page);
        }
        Err(PyValueError::new_err(format!(
            "inputs and outputs must be those of the report, whose model score is {}, got {score}",
            document.spectrum.model_score
        )))
    })
}
