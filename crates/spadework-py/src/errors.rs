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
use spadework_app::{Failure as AppFailure, Voice};
use spadework_io::Error as FileError;
use spadework_model::{Error as ModelFileError, ModelError};
use spadework_probe::Error as ProbeError;
use spadework_report::Error as PageError;

/// Why a call failed, found without the interpreter.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The argument that is concerned, where there is one.
    argument: Option<String>,
    error: Cause,
}

#[derive(Debug)]
enum Cause {
    Core(CoreError),
    /// A file that is not what was asked for.
    File(String),
    /// A page that could not be made, which is not the caller's fault.
    Page(String),
    /// What a function of the caller raised.
    Raised(PyErr),
}

impl Failure {
    /// An error about one argument.
    pub(crate) fn about(argument: &str, error: CoreError) -> Self {
        Self { argument: Some(argument.to_owned()), error: Cause::Core(error) }
    }

    /// The exception.
    pub(crate) fn into_exception(self, py: Python<'_>) -> PyErr {
        let Self { argument, error } = self;
        let error = match error {
            Cause::Core(error) => error,
            Cause::File(message) => return PyValueError::new_err(message),
            Cause::Page(message) => return PyRuntimeError::new_err(message),
            Cause::Raised(exception) => return exception,
        };
        if error == CoreError::Cancelled {
            return PyKeyboardInterrupt::new_err(());
        }
        let prefix = argument.map(|argument| format!("{argument}: ")).unwrap_or_default();
        let (model, cause) = match &error {
            CoreError::InModel { model, cause } => (Some(model.as_str()), &**cause),
            error => (None, error),
        };
        let suffix = hint(cause).map(|hint| format!("; {hint}")).unwrap_or_default();
        let message = format!("{prefix}{error}{suffix}");
        match ill_posed(py, cause, model, &message) {
            Ok(Some(exception)) | Err(exception) => exception,
            Ok(None) => PyValueError::new_err(message),
        }
    }
}

/// What is wrong with files, and with calls that the application refuses, is a `ValueError`.
macro_rules! from_errors {
    ($($name:ident: $error:ty => $cause:expr;)+) => {
        $(impl From<$error> for Failure {
            fn from($name: $error) -> Self {
                Self { argument: None, error: $cause }
            }
        })+
    };
}

from_errors! {
    error: CoreError => Cause::Core(error);
    exception: PyErr => Cause::Raised(exception);
    error: FileError => Cause::File(error.to_string());
    failure: AppFailure => Cause::File(failure.message(Voice::Python));
}

impl From<ProbeError> for Failure {
    fn from(error: ProbeError) -> Self {
        match error {
            ProbeError::Core(error) => error.into(),
            // What is wrong with the call is a `ValueError`, as with files.
            error => Self { argument: None, error: Cause::File(error.to_string()) },
        }
    }
}

impl From<ModelFileError> for Failure {
    fn from(error: ModelFileError) -> Self {
        match error {
            ModelFileError::Model { ref cause, .. } if matches!(**cause, ModelError::Cancelled) => {
                CoreError::Cancelled.into()
            }
            error => Self { argument: None, error: Cause::File(error.to_string()) },
        }
    }
}

impl From<PageError> for Failure {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Core(error) => error.into(),
            error => Self { argument: None, error: Cause::Page(error.to_string()) },
        }
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

/// What might help, in the words of a Python call.
fn hint(error: &CoreError) -> Option<&'static str> {
    Some(match error {
        CoreError::Disconnected { .. } => "try connectivity=\"grow\" or \"bridge\", or more neighbors",
        CoreError::GrownTooFar { .. } => "try connectivity=\"bridge\"",
        CoreError::GivenDisconnected { .. } => {
            "give outputs in place of the graph, and `connectivity` mends it"
        }
        CoreError::MissedEigenvalue { .. } => "try another seed or a smaller tolerance",
        CoreError::NotConverged { what: "the power iteration", .. } => "try solver=\"davidson\"",
        CoreError::NotConverged { .. } => "try a larger tolerance or another seed",
        CoreError::CertificateTooLarge { .. } | CoreError::NotCertified { .. } => {
            "with certify=False the upper bound holds with a stated probability"
        }
        _ => return None,
    })
}

/// The exception of a problem that has no answer as posed; none where the call itself is wrong.
fn ill_posed(
    py: Python<'_>,
    error: &CoreError,
    model: Option<&str>,
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
        CoreError::NotConverged { what, iterations, residuals, tolerance } => {
            facts.set_item("what", what)?;
            facts.set_item("iterations", iterations)?;
            facts.set_item("residuals", residuals)?;
            facts.set_item("tolerance", tolerance)?;
            "ConvergenceError"
        }
        CoreError::MissedEigenvalue { .. } => "ConvergenceError",
        CoreError::AllEqual { .. }
        | CoreError::TooClose { .. }
        | CoreError::WeightRange { .. }
        | CoreError::NoRoom { .. }
        | CoreError::CertificateTooLarge { .. }
        | CoreError::NotCertified { .. }
        | CoreError::Threads { .. } => "SpadeworkError",
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
