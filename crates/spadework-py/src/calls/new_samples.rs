//! New samples against a scored model.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework_app::{
    ArraySource, InputSource, ModelData, NewSamplesRequest, OutputSource, ReferenceSource, Rows as AppRows,
    json, score_new_samples as score_samples,
};
use spadework_document::score::ScoreDocument;

use super::{Found, TOP};
use crate::arrays::{BorrowedRows, Rows, column, rows};
use crate::errors::{Failure, without_panics};
use crate::watch::Asked;

/// A scored model: inputs, outputs, its document as JSON, and the embedding row after row.
#[derive(FromPyObject)]
pub(crate) struct ScoredModel<'py>(Rows<'py>, Rows<'py>, String, PyReadonlyArray1<'py, f64>);

/// Scores new samples by a scored model; `neighbors` of the settings is the k that the model was scored with.
#[pyfunction]
pub(crate) fn score_new_samples<'py>(
    py: Python<'py>,
    model: ScoredModel<'py>,
    inputs: Rows<'py>,
    outputs: Rows<'py>,
    asked: Asked<'py>,
) -> Found<'py> {
    without_panics(|| {
        let ScoredModel(known_inputs, known_outputs, document, embedding) = &model;
        let document: ScoreDocument = serde_json::from_str(document)
            .map_err(|error| PyValueError::new_err(format!("not a document: {error}")))?;
        let (known_inputs, known_outputs) = (known_inputs.borrowed()?, known_outputs.borrowed()?);
        let embedding = embedding.as_slice()?;
        let (inputs, outputs) = (inputs.borrowed()?, outputs.borrowed()?);
        let found = asked.watched(py, |settings, watch| {
            let request = NewSamplesRequest {
                data: ModelData::new(
                    InputSource::Array(ArraySource::Rows(few_rows("inputs", inputs)?)),
                    OutputSource::Array(ArraySource::Rows(few_rows("outputs", outputs)?)),
                ),
                reference: ReferenceSource::Scored {
                    document: &document,
                    embedding,
                    inputs: few_rows("reference inputs", known_inputs)?,
                    outputs: few_rows("reference outputs", known_outputs)?,
                },
                params: settings.params()?,
                top: TOP,
                folder: None,
            };
            Ok(score_samples(&request, watch)?)
        })?;
        let scores = &found.scores;
        let result = PyDict::new(py);
        result.set_item("document", json(&found.document))?;
        result.set_item("node_scores", column(py, scores.node_scores.scores()))?;
        result.set_item("embedding", rows(py, scores.embedding.dim(), scores.embedding.values())?)?;
        result.set_item("quantiles", column(py, &scores.quantiles))?;
        Ok(result)
    })
}

/// Rows under a name, of which there may be a single one.
fn few_rows<'a>(name: &'a str, rows: BorrowedRows<'a>) -> Result<AppRows<'a>, Failure> {
    Ok(AppRows { name, samples: rows.samples(name)?, shape: vec![rows.len(), rows.dim()].into() })
}
