//! Probes of a model: a function of the caller, or a model file.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::samples::Values;
use spadework::{Error as CoreError, Samples};
use spadework_app::{
    Failure as AppFailure, ModelProbes, ProbeBudget, ProbeModelRequest, ProbeRequest, ProbedAlone,
    ProbedModel, json, probe,
};
use spadework_document::facts::FactsDocument;
use spadework_probe::{Probed, ProbedOutputs, ProbedSample, Task};

use super::TOP;
use super::onnx::Feed;
use super::score::rows_of;
use crate::arrays::{Rows, column};
use crate::errors::{Failure, without_panics};
use crate::settings::word;
use crate::watch::watched;

/// What is probed.
#[derive(FromPyObject)]
pub(crate) enum Model {
    /// A model file and how it is run.
    File(String, Feed),
    /// A function from rows to rows, as `_probe.py` wraps it.
    Function(Py<PyAny>),
}

/// What is known to be right: classes, or the standard deviation of what a regressor should predict.
#[derive(FromPyObject)]
pub(crate) struct Truth<'py>(Option<PyReadonlyArray1<'py, i64>>, Option<f64>);

/// How it is probed, as `_probe.py` has checked it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Chosen {
    probe: String,
    radii: Option<Vec<f64>>,
    categories: Option<Vec<usize>>,
    probes: Option<usize>,
    samples: usize,
    precision: Option<f64>,
    task: String,
    seed: u64,
    threads: Option<NonZeroUsize>,
    folder: Option<PathBuf>,
}

impl Chosen {
    fn probe(&self) -> PyResult<ProbeRequest> {
        let probe = self
            .probe
            .parse()
            .map_err(|error| PyValueError::new_err(format!("`probe`: {error}, got {:?}", self.probe)))?;
        let Self { probes, samples, precision, .. } = *self;
        Ok(ProbeRequest {
            probe,
            radii: self.radii.as_deref().map(Into::into),
            categories: self.categories.as_deref().map(Into::into),
            budget: ProbeBudget { probes, samples, precision },
        })
    }

    fn task(&self) -> PyResult<Task> {
        word("task", &self.task)
    }
}

/// Probes a model with perturbed copies of samples; `shape` is that of one sample.
#[pyfunction]
pub(crate) fn probe_model<'py>(
    py: Python<'py>,
    model: Model,
    inputs: Rows<'py>,
    shape: Vec<usize>,
    truth: Truth<'py>,
    chosen: Chosen,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    without_panics(|| {
        let (asked, task) = (chosen.probe()?, chosen.task()?);
        let rows = inputs.borrowed()?;
        let shape: Vec<usize> = std::iter::once(rows.len()).chain(shape).collect();
        let Truth(labels, target_spread) = &truth;
        let labels = labels.as_ref().map(|labels| labels.as_slice()).transpose()?;
        let run = match &model {
            Model::File(_, feed) => Some(feed.options()?),
            Model::Function(_) => None,
        };
        let (found, notes) = watched(py, chosen.threads, progress.as_ref(), |watch| {
            let mut raised = None;
            let mut function = |rows: &Samples<'_>| match &model {
                Model::Function(function) => {
                    by_function(function, rows).map_err(|error| failed(error, &mut raised))
                }
                Model::File(..) => unreachable!("a file is run by the application"),
            };
            let request = ProbeModelRequest {
                model: match (&model, run) {
                    (Model::File(path, _), Some(run)) => ProbedModel::File { path, run },
                    _ => ProbedModel::Function(&mut function),
                },
                inputs: rows_of("inputs", rows.samples("inputs")?, &shape),
                labels,
                target_spread: *target_spread,
                task,
                probe: asked,
                top: TOP,
                seed: chosen.seed,
                threads: None,
                folder: chosen.folder.as_deref(),
            };
            let found = probe(request, watch);
            match raised {
                Some(exception) => Err(Failure::Raised(exception)),
                None => Ok(found?),
            }
        })?;
        let result = match &found {
            ProbedAlone::Classes(ModelProbes { probed, document }) => {
                let found = of_classes(py, probed)?;
                found.set_item("document", json(document))?;
                let mut facts = FactsDocument::default();
                facts.set_probe(document.clone());
                found.set_item("estimates", json(&facts.estimates))?;
                found
            }
            ProbedAlone::Numbers { probed, document } => {
                let found = of_numbers(py, probed)?;
                found.set_item("document", json(document))?;
                found
            }
        };
        result.set_item("notes", json(&notes))?;
        Ok(result)
    })
}

/// A failure for the application; what the function of the caller raised is kept aside.
fn failed(failure: Failure, raised: &mut Option<PyErr>) -> AppFailure {
    match failure {
        Failure::App(failure) => failure,
        Failure::Raised(exception) => {
            *raised = Some(exception);
            CoreError::Cancelled.into()
        }
    }
}

fn by_function(function: &Py<PyAny>, rows: &Samples<'_>) -> Result<Samples<'static>, Failure> {
    let Values::F32(values) = rows.values() else { unreachable!("probes are in single precision") };
    let outputs = Python::attach(|py| -> Result<Samples<'static>, Failure> {
        let rows = PyArray1::from_slice(py, values).reshape([rows.len(), rows.dim()])?;
        let outputs: Rows<'_> = function.call1(py, (rows,))?.extract(py)?;
        let outputs = outputs.borrowed()?.samples("outputs of the model")?;
        let (len, dim) = (outputs.len(), outputs.dim());
        Ok(match outputs.values() {
            Values::F32(values) => Samples::from_f32(len, dim, values.to_vec())?,
            values => Samples::from_f64(len, dim, values.all_doubles().into_owned())?,
        })
    })?;
    Ok(outputs)
}

/// The probed samples of a regressor, and how far the outputs of each were moved.
fn of_numbers<'py>(py: Python<'py>, probed: &ProbedOutputs) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let indices = probed.samples.iter().map(|sample| sample.index as i64);
    found.set_item("indices", PyArray1::from_iter(py, indices))?;
    let changes: Vec<f64> = probed.samples.iter().map(|sample| sample.change).collect();
    found.set_item("changes", column(py, &changes))?;
    Ok(found)
}

/// Arrays with an entry for every probed sample.
fn of_classes<'py>(py: Python<'py>, probed: &Probed) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let counts = |count: fn(&ProbedSample) -> usize| {
        PyArray1::from_iter(py, probed.samples.iter().map(|sample| count(sample) as i64))
    };
    let numbers = |number: fn(&ProbedSample) -> f64| {
        column(py, &probed.samples.iter().map(number).collect::<Vec<f64>>())
    };
    found.set_item("indices", counts(|sample| sample.index))?;
    found.set_item("classes", counts(|sample| sample.class))?;
    found.set_item("margins", numbers(|sample| sample.margin))?;
    found.set_item("probe_margins", numbers(|sample| sample.lowest))?;
    found.set_item("stabilities", numbers(ProbedSample::stability))?;
    let scattered = probed.samples.iter().all(|sample| sample.scatter.is_some());
    let late = probed.samples.iter().map(|sample| sample.late_loss).collect::<Option<Vec<f64>>>();
    found.set_item("late_losses", late.map(|losses| column(py, &losses)))?;
    let scatter = |number: fn(&ProbedSample) -> f64| scattered.then(|| numbers(number));
    found.set_item("changes", scatter(|sample| sample.scatter.map_or(f64::NAN, |scatter| scatter.change)))?;
    found.set_item("kept", scatter(|sample| sample.scatter.map_or(f64::NAN, |scatter| scatter.kept)))?;
    Ok(found)
}
