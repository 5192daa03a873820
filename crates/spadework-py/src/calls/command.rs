//! The command line.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the name of the program first; gives its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| spadework_cli::run(arguments))
}
