//! The command line.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::errors::without_panics;

/// Runs the command with these arguments, the name of the program first; gives its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    without_panics(|| Ok(py.detach(|| spadework_cli::run(arguments))))
}
