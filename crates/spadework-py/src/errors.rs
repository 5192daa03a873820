//! Errors of the core as Python exceptions.
//!
//! What is wrong with the call is a `ValueError`; what has no answer as posed is a `SpadeworkError` or one of its
//! subclasses, with the numbers as attributes. The classes themselves are Python (`spadework._errors`).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::Error as CoreError;
use spadework_app::{Cause, Failure as AppFailure, Kind, Voice};
use spadework_io::Error as FileError;
use spadework_model::Error as ModelFileError;
use spadework_probe::Error as ProbeError;
use spadework_report::Error as PageError;

/// Why a call failed, found without the interpreter.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The application refuses, or has no answer.
    App(AppFailure),
    /// What a function of the caller raised.
    Raised(PyErr),
}

impl Failure {
    /// An error about one argument.
    pub(crate) fn about(argument: &str, error: CoreError) -> Self {
        Self::App(AppFailure::from(error).about_place(argument))
    }

    /// The exception.
    pub(crate) fn into_exception(self, py: Python<'_>) -> PyErr {
        let failure = match self {
            Self::App(failure) => failure,
            Self::Raised(exception) => return exception,
        };
        if failure.kind() == Kind::Cancelled {
            return PyKeyboardInterrupt::new_err(());
        }
        let hint = failure.hint().and_then(|hint| hint.text(Voice::Python));
        let suffix = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        let message = format!("{}{suffix}", failure.message(Voice::Python));
        match (failure.core(), failure.cause()) {
            (Some((error, model)), _) => match ill_posed(py, (failure.kind(), error, model), &message) {
                Ok(Some(exception)) | Err(exception) => exception,
                Ok(None) => PyValueError::new_err(message),
            },
            // A page that could not be made is not the caller's fault.
            (None, Cause::Page(_)) => PyRuntimeError::new_err(message),
            (None, _) => PyValueError::new_err(message),
        }
    }
}

/// What the application knows how to tell.
macro_rules! told_by_the_application {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::App(error.into())
            }
        }
    )*};
}

told_by_the_application!(AppFailure, CoreError, FileError, ModelFileError, PageError, ProbeError);

impl From<PyErr> for Failure {
    fn from(exception: PyErr) -> Self {
        Self::Raised(exception)
    }
}

/// A mistake of this program as an exception that `except Exception` catches; a panic that reaches pyo3 is not one.
pub(crate) fn internal_error(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    PyRuntimeError::new_err(format!(
        "internal error in spadework: {text}; please report it with the call that led to it"
    ))
}

/// Work on the calling thread that no panic leaves.
pub(crate) fn without_panics<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(internal_error(&*panic)))
}

/// The exception of a problem that has no answer as posed; none if the call itself is wrong.
fn ill_posed(
    py: Python<'_>,
    (kind, error, model): (Kind, &CoreError, Option<&str>),
    message: &str,
) -> PyResult<Option<PyErr>> {
    let facts = PyDict::new(py);
    let class = match error {
        CoreError::Disconnected { side, components, largest, samples, neighbors } => {
            facts.set_item("side", side.to_string())?;
            set_components(&facts, *components, *largest, *samples)?;
            facts.set_item("neighbors", neighbors)?;
            "DisconnectedGraphError"
        }
        CoreError::GivenDisconnected { side, components, largest, nodes } => {
            facts.set_item("side", side.to_string())?;
            set_components(&facts, *components, *largest, *nodes)?;
            "DisconnectedGraphError"
        }
        CoreError::InputDisconnected { components, largest, nodes } => {
            facts.set_item("side", "input")?;
            set_components(&facts, *components, *largest, *nodes)?;
            "DisconnectedGraphError"
        }
        CoreError::GrownTooFar { side, neighbors, samples, .. } => {
            facts.set_item("side", side.to_string())?;
            facts.set_item("samples", samples)?;
            facts.set_item("neighbors", neighbors)?;
            "DisconnectedGraphError"
        }
        CoreError::NotConverged { what, iterations, residuals, tolerance, .. } => {
            facts.set_item("what", what)?;
            facts.set_item("iterations", iterations)?;
            facts.set_item("residuals", residuals)?;
            facts.set_item("tolerance", tolerance)?;
            "ConvergenceError"
        }
        CoreError::MissedEigenvalue { .. } => "ConvergenceError",
        CoreError::Threads { .. } => "SpadeworkError",
        _ if kind == Kind::IllPosed => "SpadeworkError",
        _ => return Ok(None),
    };
    facts.set_item("model", model)?;
    let class = py.import("spadework._errors")?.getattr(class)?;
    Ok(Some(PyErr::from_value(class.call((message,), Some(&facts))?)))
}

fn set_components(
    facts: &Bound<'_, PyDict>,
    components: usize,
    largest: usize,
    samples: usize,
) -> PyResult<()> {
    facts.set_item("components", components)?;
    facts.set_item("largest", largest)?;
    facts.set_item("samples", samples)
}
