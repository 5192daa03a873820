//! The folder in which Python keeps the variants of a perturbation of the caller's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use spadework_app::{Failure as AppFailure, KeptProbes};
use spadework_document::stages::Recipe;
use spadework_io::digest_bytes;

use crate::errors::Failure;

/// The folder of one probe; other processes cannot write to it meanwhile.
#[pyclass(frozen, module = "spadework._native")]
pub(crate) struct ProbeFolder(KeptProbes);

#[pymethods]
impl ProbeFolder {
    /// Opens the folder for what was asked, in words by name, of data that are known by their digests.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        asked: BTreeMap<String, String>,
        data: BTreeMap<String, PyBackedBytes>,
    ) -> PyResult<Self> {
        let recipe = asked.iter().fold(Recipe::new(), |recipe, (name, value)| recipe.with(name, value));
        let recipe = data.iter().fold(recipe, |recipe, (name, bytes)| recipe.with(name, digest_bytes(bytes)));
        KeptProbes::open(&path, recipe).map(Self).map_err(|failure| exception(py, failure))
    }

    /// Refuses a model of other outputs than those that the folder is of.
    fn recognize(&self, py: Python<'_>, outputs: &[u8]) -> PyResult<()> {
        self.0.recognize(&digest_bytes(outputs)).map_err(|failure| exception(py, failure))
    }

    /// What an earlier call kept.
    fn stored<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyBytes>> {
        self.0.stored(name).map(|state| PyBytes::new(py, &state))
    }

    /// Whether it is time to keep something again.
    fn is_due(&self) -> bool {
        self.0.is_due()
    }

    /// Keeps something instead of what was kept before.
    fn keep(&self, py: Python<'_>, name: &str, state: &[u8]) -> PyResult<()> {
        self.0.keep(name, state).map_err(|failure| exception(py, failure))
    }
}

fn exception(py: Python<'_>, failure: AppFailure) -> PyErr {
    Failure::App(failure).into_exception(py)
}
