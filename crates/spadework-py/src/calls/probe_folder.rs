//! The folder in which Python keeps the variants of a perturbation of the caller's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use spadework_app::{Failure as AppFailure, KeptProbes};
use spadework_document::stages::Recipe;
use spadework_io::digest_bytes;

use crate::errors::{Failure, without_panics};

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
        guarded(py, || {
            let recipe = asked.iter().fold(Recipe::new(), |recipe, (name, value)| recipe.with(name, value));
            let recipe =
                data.iter().fold(recipe, |recipe, (name, bytes)| recipe.with(name, digest_bytes(bytes)));
            KeptProbes::open(&path, recipe).map(Self)
        })
    }

    /// Refuses a model of other outputs than those that the folder is of.
    fn recognize(&self, py: Python<'_>, outputs: &[u8]) -> PyResult<()> {
        guarded(py, || self.0.recognize(&digest_bytes(outputs)))
    }

    /// What an earlier call kept.
    fn stored<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        guarded(py, || Ok(self.0.stored(name).map(|state| PyBytes::new(py, &state))))
    }

    /// Whether it is time to keep something again.
    fn is_due(&self, py: Python<'_>) -> PyResult<bool> {
        guarded(py, || Ok(self.0.is_due()))
    }

    /// Keeps something instead of what was kept before.
    fn keep(&self, py: Python<'_>, name: &str, state: &[u8]) -> PyResult<()> {
        guarded(py, || self.0.keep(name, state))
    }
}

/// What a folder says, with its failures and panics as exceptions.
fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> Result<T, AppFailure>) -> PyResult<T> {
    without_panics(|| work().map_err(|failure| Failure::App(failure).into_exception(py)))
}
