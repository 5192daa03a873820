//! Model files: what they are, and what they make of samples.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::samples::Values;
use spadework_app::{ArraySource, PredictRequest, json, predict};
use spadework_io::Dataset;
use spadework_model::{Engine, Layout, Normalization, OnnxModel, OutputPoint, RunOptions};

use super::score::rows_of;
use crate::arrays::Rows;
use crate::errors::{Failure, without_panics};
use crate::watch::watched;

/// How a model is run, as `onnx.py` has checked it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Feed {
    outputs: Vec<String>,
    before_softmax: bool,
    input_name: Option<String>,
    layout: Option<String>,
    normalize: Option<Vec<f32>>,
    batch_size: Option<NonZeroUsize>,
    engine: String,
    onnxruntime: Option<PathBuf>,
}

impl Feed {
    pub(crate) fn options(&self) -> PyResult<RunOptions> {
        let layout = self.layout.as_deref().map(|word| {
            Layout::from_word(word).ok_or_else(|| {
                PyValueError::new_err(format!("`input_layout` must be \"nchw\" or \"nhwc\", got {word:?}"))
            })
        });
        let normalization = self.normalize.as_deref().map(|numbers| {
            Normalization::new(numbers).ok_or_else(|| {
                PyValueError::new_err(
                    "`normalize` must be a mean and a deviation, or all means and then all deviations, which are positive",
                )
            })
        });
        let engine = Engine::from_word(&self.engine).ok_or_else(|| {
            let words = "\"auto\", \"builtin\" or \"onnxruntime\"";
            PyValueError::new_err(format!("`engine` must be {words}, got {:?}", self.engine))
        })?;
        Ok(RunOptions {
            engine,
            input_name: self.input_name.clone(),
            point: if self.before_softmax { OutputPoint::BeforeSoftmax } else { OutputPoint::Output },
            layout: layout.transpose()?,
            normalization: normalization.transpose()?,
            batch_size: self.batch_size,
            onnxruntime: self.onnxruntime.clone(),
            ..RunOptions::default()
        })
    }
}

/// Runs a model on samples; `shape` is that of one sample. Gives an array of every value that was asked for, and the notes as JSON.
#[pyfunction]
pub(crate) fn run_model<'py>(
    py: Python<'py>,
    path: &str,
    inputs: Rows<'py>,
    shape: Vec<usize>,
    feed: Feed,
    threads: Option<NonZeroUsize>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Vec<Bound<'py, PyArrayDyn<f32>>>, String)> {
    without_panics(|| {
        let run = feed.options()?;
        let rows = inputs.borrowed()?;
        let shape: Vec<usize> = std::iter::once(rows.len()).chain(shape).collect();
        let predicted = watched(py, threads, progress.as_ref(), |watch| {
            let inputs = ArraySource::Rows(rows_of("inputs", rows.samples("inputs")?, &shape));
            let request = PredictRequest { model: path, inputs, run, outputs: &feed.outputs, threads: None };
            Ok(predict(&request, watch)?)
        })?;
        let arrays = predicted.outputs.iter().map(|output| array(py, output)).collect::<PyResult<_>>()?;
        Ok((arrays, json(&predicted.notes)))
    })
}

fn array<'py>(py: Python<'py>, output: &Dataset) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let samples = output.samples().map_err(|error| Failure::from(error).into_exception(py))?;
    let Values::F32(values) = samples.values() else { unreachable!("a model gives single precision") };
    PyArray1::from_slice(py, values).reshape(output.shape().to_vec())
}

/// What a model file says of itself.
#[pyfunction]
pub(crate) fn describe_model<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
    without_panics(|| {
        let model = OnnxModel::open(path).map_err(|error| Failure::from(error).into_exception(py))?;
        let outline = model.outline();
        let found = PyDict::new(py);
        found.set_item("inputs", outline.inputs.iter().map(|port| port.name.as_str()).collect::<Vec<_>>())?;
        found
            .set_item("outputs", outline.outputs.iter().map(|port| port.name.as_str()).collect::<Vec<_>>())?;
        found.set_item("parameters", outline.parameters)?;
        found.set_item("opset", outline.opset)?;
        found.set_item("producer", &outline.producer)?;
        let layers: Vec<(&str, &str)> =
            outline.nodes.iter().map(|node| (node.name.as_str(), node.operator.as_str())).collect();
        found.set_item("layers", layers)?;
        Ok(found)
    })
}
