//! New samples against a scored model.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::PairedSamples;
use spadework::pipeline::Reference;
use spadework::scores::SpectralEmbedding;

use crate::arrays::{Rows, column, rows};
use crate::settings::Settings;
use crate::watch::watched;

/// A scored model: inputs, outputs, eigenvalues, and the embedding row after row.
#[derive(FromPyObject)]
pub(crate) struct ScoredModel<'py>(
    Rows<'py>,
    Rows<'py>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
);

/// Scores new samples by a scored model; `neighbors` of the settings is the k that the model was scored with.
#[pyfunction]
pub(crate) fn score_new_samples<'py>(
    py: Python<'py>,
    model: ScoredModel<'py>,
    inputs: Rows<'py>,
    outputs: Rows<'py>,
    settings: Settings,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = settings.params()?;
    let ScoredModel(known_inputs, known_outputs, eigenvalues, embedding) = &model;
    let (known_inputs, known_outputs) = (known_inputs.borrowed()?, known_outputs.borrowed()?);
    let (eigenvalues, embedding) = (eigenvalues.as_slice()?.to_vec(), embedding.as_slice()?.to_vec());
    let (inputs, outputs) = (inputs.borrowed()?, outputs.borrowed()?);
    let found = watched(py, settings.threads, progress.as_ref(), |watch| {
        let (inputs, outputs) = (inputs.few_samples("inputs")?, outputs.few_samples("outputs")?);
        let known = PairedSamples::new(
            known_inputs.samples("reference inputs")?,
            known_outputs.samples("reference outputs")?,
        )?;
        let embedding = SpectralEmbedding::from_rows(eigenvalues.len(), embedding);
        let reference = Reference::new(known, eigenvalues, embedding, &params, watch)?;
        Ok(reference.score(&inputs, &outputs, watch)?)
    })?;
    let result = PyDict::new(py);
    result.set_item("node_scores", column(py, found.node_scores.scores()))?;
    result.set_item("embedding", rows(py, found.embedding.dim(), found.embedding.values())?)?;
    result.set_item("quantiles", column(py, &found.quantiles))?;
    result.set_item("known", found.known)?;
    result.set_item("averaged", found.averaged)?;
    Ok(result)
}
