//! The built-in engine: `rten` behind types of our own. No other file knows it (docs/decisions/014-onnx.md).

use std::sync::{Arc, Mutex};

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use rten_tensor::prelude::*;
use rten_tensor::{Tensor, TensorView};
use spadework_io::panics;

use super::error::ModelError;
use super::runner::{Runner, Worker};

/// A model made ready for one shape of its input.
pub(super) struct BuiltIn {
    model: Model,
    shape: Vec<usize>,
    input: NodeId,
    outputs: Vec<NodeId>,
    shapes: Vec<Option<Vec<usize>>>,
    /// Pools of one thread that nobody works with.
    idle: Mutex<Vec<Arc<ThreadPool>>>,
}

/// What a thread runs batches with: a pool of one thread, so that a batch is computed in the same order wherever it is computed.
struct BuiltInWorker<'a> {
    model: &'a BuiltIn,
    pool: Arc<ThreadPool>,
}

impl BuiltIn {
    /// From a file that was written for the engine: one input of that shape, and outputs whose shapes are known.
    pub(super) fn new(
        file: Vec<u8>,
        shape: &[usize],
        shapes: Vec<Option<Vec<usize>>>,
    ) -> Result<Self, ModelError> {
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        let load = || {
            let loaded = ModelOptions::with_all_ops().prepack_weights(true).load(file);
            loaded.map_err(|error| one_line(&error.to_string()))
        };
        let refused = |reason: String| ModelError::EngineRefuses { reason };
        let model = caught(&pool, load).map_err(refused)?;
        let (input, outputs) = match model.input_ids() {
            &[input] if model.output_ids().len() == shapes.len() => (input, model.output_ids().to_vec()),
            _ => return Err(refused("an output does not depend on the input".to_owned())),
        };
        Ok(Self { model, shape: shape.to_vec(), input, outputs, shapes, idle: Mutex::new(vec![pool]) })
    }

    /// Some of what the engine cannot do shows only when it runs, and must show before the samples are there.
    pub(super) fn try_zeros(&self) -> Result<(), ModelError> {
        self.made_of_zeros().map_err(|reason| ModelError::EngineRefuses { reason })
    }

    fn made_of_zeros(&self) -> Result<(), String> {
        let zeros = vec![0.0; self.shape.iter().product()];
        let mut other = None;
        self.worker()?.run(&zeros, &mut |at, shape, _| {
            if self.shapes[at].as_deref() != Some(shape) {
                other =
                    Some(format!("it makes an output of shape {shape:?}, expected {:?}", self.shapes[at]));
            }
        })?;
        other.map_or(Ok(()), Err)
    }
}

impl Runner for BuiltIn {
    fn outputs(&self) -> &[Option<Vec<usize>>] {
        &self.shapes
    }

    fn worker(&self) -> Result<Box<dyn Worker + '_>, String> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let pool = idle.unwrap_or_else(|| Arc::new(ThreadPool::with_num_threads(1)));
        Ok(Box::new(BuiltInWorker { model: self, pool }))
    }
}

impl Drop for BuiltInWorker<'_> {
    fn drop(&mut self) {
        if let Ok(mut idle) = self.model.idle.lock() {
            idle.push(Arc::clone(&self.pool));
        }
    }
}

impl Worker for BuiltInWorker<'_> {
    fn run(&mut self, batch: &[f32], take: &mut dyn FnMut(usize, &[usize], &[f32])) -> Result<(), String> {
        let BuiltIn { model, shape, input, outputs, .. } = self.model;
        let values = caught(&self.pool, || {
            let batch = TensorView::from_data(shape.as_slice(), batch);
            let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.pool)));
            let ran = model.run(vec![(*input, batch.into())], outputs, Some(options));
            ran.map_err(|error| one_line(&error.to_string()))
        })?;
        for (at, value) in values.into_iter().enumerate() {
            match value {
                Value::FloatTensor(numbers) => taken(&numbers, at, take, |&number| number),
                Value::Int32Tensor(numbers) => taken(&numbers, at, take, |&number| number as f32),
                Value::Int8Tensor(numbers) => taken(&numbers, at, take, |&number| f32::from(number)),
                Value::UInt8Tensor(numbers) => taken(&numbers, at, take, |&number| f32::from(number)),
                _ => return Err("an output is a list of tensors".to_owned()),
            }
        }
        Ok(())
    }
}

#[expect(clippy::type_complexity, reason = "as in `Worker`")]
fn taken<T>(
    numbers: &Tensor<T>,
    at: usize,
    take: &mut dyn FnMut(usize, &[usize], &[f32]),
    convert: impl Fn(&T) -> f32,
) {
    let values: Vec<f32> = numbers.iter().map(convert).collect();
    take(at, numbers.shape(), &values);
}

/// What `work` gives in a pool, or why it gave nothing.
fn caught<T: Send>(pool: &ThreadPool, work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    // Within the pool, whose thread would otherwise report the panic.
    let outcome = pool.run(|| panics::catch(work));
    outcome.unwrap_or_else(|| Err("it failed within the engine".to_owned()))
}

/// Messages can have many lines, with tensors in them.
fn one_line(text: &str) -> String {
    const SHOWN: usize = 300;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
