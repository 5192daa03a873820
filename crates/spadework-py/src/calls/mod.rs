//! The functions of the native module, a file each.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments are extracted from Python objects, which gives values"
)]

pub(crate) mod between;
pub(crate) mod command;
pub(crate) mod compare;
pub(crate) mod distortion;
pub(crate) mod graph;
pub(crate) mod moved;
pub(crate) mod new_samples;
pub(crate) mod onnx;
pub(crate) mod page;
pub(crate) mod panics;
pub(crate) mod probe;
pub(crate) mod probe_folder;
pub(crate) mod score;
pub(crate) mod sweep;

/// What a call gives: a dictionary of a document and arrays, or an exception.
type Found<'py> = pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyDict>>;

/// Samples and edges of largest score that a document names; `to_json` replaces them where more are asked for.
const TOP: usize = 10;
