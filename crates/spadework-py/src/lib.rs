//! The native half of the Python package `spadework`. It takes NumPy arrays, calls the core without the interpreter's lock, and
//! returns NumPy arrays and the documents of `spadework-document`.
//!
//! What a user sees (conversions of arrays, result types, progress bars, the estimator) is Python, in `python/spadework`.
//! The functions here take arguments that were prepared there.

mod arrays;
mod calls;
mod errors;
mod settings;
mod watch;

use pyo3::prelude::*;

/// Functions that the Python half calls; not for users.
#[pymodule]
mod _native {
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;
    use spadework::kernels::Kernels;

    #[pymodule_export]
    use crate::calls::{
        between::nearest_between, command::run_command, compare::compare, distortion::distortion,
        graph::knn_graph, graph::sparse_knn_graph, graph::sparse_note, moved::moved,
        new_samples::score_new_samples, onnx::describe_model, onnx::run_model, page::page_of_document,
        page::page_of_score, panics::panic_on_purpose, probe::probe_model, probe_folder::ProbeFolder,
        score::check_gates, score::score, sweep::sweep,
    };
    use crate::errors::without_panics;

    /// Version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn begin(module: &Bound<'_, PyModule>) -> PyResult<()> {
        without_panics(|| {
            // An onnxruntime that this interpreter can import can be used.
            let path = module.py().import("sys")?.getattr("path")?;
            spadework_model::look_in_modules(path.extract().unwrap_or_default());
            Kernels::requested().map(drop).map_err(|error| PyImportError::new_err(error.to_string()))
        })
    }
}
