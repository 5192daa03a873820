//! Probes of a model: a function of the caller, or a model file.

use std::num::NonZeroUsize;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::samples::Values;
use spadework::{Samples, Silent};
use spadework_app::grid_of;
use spadework_document::facts::FactsDocument;
use spadework_document::probe::ProbeDocument;
use spadework_io::corrupt::ImageShape;
use spadework_model::{OnnxModel, Prepared, RunOptions};
use spadework_probe::{ProbeParams, Probed, ProbedSample, probe_model as probe};

use super::TOP;
use super::onnx::Feed;
use crate::arrays::{Rows, column};
use crate::errors::Failure;
use crate::watch::{Watch, watched};

/// What is probed.
#[derive(FromPyObject)]
pub(crate) enum Model {
    /// A model file and how it is run.
    File(String, Feed),
    /// A function from rows to rows, as `_probe.py` wraps it.
    Function(Py<PyAny>),
}

/// How it is probed, as `_probe.py` has checked it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Chosen {
    probe: String,
    probes: Option<usize>,
    samples: usize,
    precision: Option<f64>,
    seed: u64,
    threads: Option<NonZeroUsize>,
}

impl Chosen {
    /// The parameters; `shape` is that of one sample.
    fn params(&self, shape: &[usize]) -> PyResult<ProbeParams> {
        let probe = self
            .probe
            .parse()
            .map_err(|error| PyValueError::new_err(format!("`probe`: {error}, got {:?}", self.probe)))?;
        let usual = ProbeParams::new(probe);
        let probes = self.probes.unwrap_or(usual.probes);
        Ok(usual
            .with_probes(probes)
            .with_samples(self.samples)
            .with_precision(self.precision)
            .with_grid(ImageShape::of_extents(shape).map(grid_of))
            .with_seed(self.seed))
    }
}

/// Probes a model with perturbed copies of samples; `shape` is that of one sample.
#[pyfunction]
pub(crate) fn probe_model<'py>(
    py: Python<'py>,
    model: Model,
    inputs: Rows<'py>,
    shape: Vec<usize>,
    labels: Option<PyReadonlyArray1<'py, i64>>,
    chosen: Chosen,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = chosen.params(&shape)?;
    let rows = inputs.borrowed()?;
    let options = match &model {
        Model::File(_, feed) => Some(RunOptions { few_at_a_time: true, ..feed.options()? }),
        Model::Function(_) => None,
    };
    let (probed, ends_in_softmax) = watched(py, chosen.threads, progress.as_ref(), |watch| {
        let samples = rows.few_samples("inputs")?;
        match (&model, &options) {
            (Model::File(path, feed), Some(options)) => {
                let model = OnnxModel::open(path)?;
                let values = feed.values(&model, options)?;
                let prepared = model.prepare(&shape, &[&values[0]], options)?;
                let probed = probe(&samples, |rows| by_file(&prepared, rows, watch), &params, watch)?;
                Ok((probed, model.outline().softmax_before(&values[0]).is_some()))
            }
            (Model::Function(function), _) => {
                Ok((probe(&samples, |rows| by_function(function, rows), &params, watch)?, false))
            }
            (Model::File(..), None) => unreachable!("a file has options"),
        }
    })?;
    let labels = labels.as_ref().map(|labels| labels.as_slice()).transpose()?;
    let summary = ProbeDocument::new(&probed, labels, TOP)
        .map_err(|error| Failure::about("labels", error).into_exception(py))?;
    let found = arrays(py, &probed)?;
    found.set_item("document", serde_json::to_string(&summary).expect("numbers and words"))?;
    let mut facts = FactsDocument::default();
    facts.set_probe(summary);
    found.set_item("estimates", serde_json::to_string(&facts.estimates).expect("numbers and words"))?;
    found.set_item("ends_in_softmax", ends_in_softmax)?;
    Ok(found)
}

/// Stops with the watch; the progress is that of the probes.
fn by_file(prepared: &Prepared, rows: &Samples<'_>, watch: &Watch) -> Result<Samples<'static>, Failure> {
    if spadework::Monitor::is_cancelled(watch) {
        return Err(spadework::Error::Cancelled.into());
    }
    let mut outputs = prepared.run(rows, &Silent)?;
    Ok(outputs.swap_remove(0).into_few_samples()?)
}

fn by_function(function: &Py<PyAny>, rows: &Samples<'_>) -> Result<Samples<'static>, Failure> {
    let Values::F32(values) = rows.values() else { unreachable!("copies are in single precision") };
    let outputs = Python::attach(|py| -> Result<Samples<'static>, Failure> {
        let rows = PyArray1::from_slice(py, values).reshape([rows.len(), rows.dim()])?;
        let outputs: Rows<'_> = function.call1(py, (rows,))?.extract(py)?;
        let outputs = outputs.borrowed()?.few_samples("outputs of the model")?;
        let (len, dim) = (outputs.len(), outputs.dim());
        Ok(match outputs.values() {
            Values::F32(values) => Samples::from_f32(len, dim, values.to_vec())?,
            values => Samples::from_f64(len, dim, values.all_doubles().into_owned())?,
        })
    })?;
    Ok(outputs)
}

/// Arrays with an entry for every probed sample.
fn arrays<'py>(py: Python<'py>, probed: &Probed) -> PyResult<Bound<'py, PyDict>> {
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
