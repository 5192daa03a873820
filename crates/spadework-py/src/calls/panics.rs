//! What becomes of a panic, for the tests of the boundary that catches it.

use pyo3::prelude::*;

use crate::errors::without_panics;
use crate::watch::watched;

/// Panics on the calling thread, or on a worker's.
#[pyfunction]
pub(crate) fn panic_on_purpose(py: Python<'_>, in_worker: bool) -> PyResult<()> {
    without_panics(|| {
        if in_worker {
            return watched(py, None, None, |_| panic!("on purpose"));
        }
        panic!("on purpose")
    })
}
