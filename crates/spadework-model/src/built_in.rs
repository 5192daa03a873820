//! The built-in engine: `rten` behind types of our own. No other file uses `rten` (docs/decisions/014-onnx.md).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{Tensor, TensorView};
use spadework_io::panics;

use super::convolution::Convolution;
use super::error::ModelError;
use super::runner::{Runner, Worker};
use super::split::{self, Split};

/// A model made ready for one shape of its input.
pub(super) struct BuiltIn {
    model: Model,
    shape: Vec<usize>,
    stages: Vec<Stage>,
    /// How many values are kept from one stage to the next; the first is the input.
    places: usize,
    /// Where the outputs are among them.
    outputs: Vec<usize>,
    shapes: Vec<Option<Vec<usize>>>,
    /// Pools of one thread that nobody works with.
    idle: Mutex<Vec<Arc<ThreadPool>>>,
}

/// What a thread runs batches with: a pool of one thread, so that a batch is computed in the same order wherever it is computed.
struct BuiltInWorker<'a> {
    model: &'a BuiltIn,
    pool: Arc<ThreadPool>,
}

/// What the engine computes of the values that are there, and the convolutions that follow.
struct Stage {
    reads: Vec<Read>,
    makes: Vec<(usize, NodeId)>,
    convolutions: Vec<Step>,
    /// Inputs of the convolutions that nothing reads afterwards.
    last: Vec<usize>,
}

/// A value that goes into the engine.
struct Read {
    place: usize,
    id: NodeId,
    /// Whether nothing reads it afterwards.
    last: bool,
}

/// A convolution between two values.
struct Step {
    input: usize,
    output: usize,
    shape: Vec<usize>,
    convolution: Convolution,
}

impl BuiltIn {
    /// From a file that was written for the engine, and what it computes when. The shapes are those of the outputs.
    pub(super) fn new(
        file: Vec<u8>,
        split: Split,
        (input, shape): (&str, &[usize]),
        (outputs, shapes): (&[&str], Vec<Option<Vec<usize>>>),
    ) -> Result<Self, ModelError> {
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        let load = || {
            let loaded = ModelOptions::with_all_ops().prepack_weights(true).load(file);
            loaded.map_err(|error| one_line(&error.to_string()))
        };
        let refused = |reason: String| ModelError::EngineRefuses { reason };
        let model = caught(&pool, load).map_err(refused)?;
        let ids = |names: Vec<String>, ids: &[NodeId]| {
            if names.len() != ids.len() {
                return Err(refused("an output does not depend on the input".to_owned()));
            }
            Ok(names.into_iter().zip(ids.iter().copied()).collect::<HashMap<_, _>>())
        };
        let read = ids(split.reads(), model.input_ids())?;
        let made = ids(split.makes(), model.output_ids())?;
        let mut places = Places { all: HashMap::from([(input.to_owned(), 0)]) };
        let mut stages: Vec<Stage> =
            split.stages.into_iter().map(|stage| places.stage(stage, &read, &made)).collect();
        let outputs: Vec<usize> = outputs.iter().map(|&output| places.of(output)).collect();
        drop_early(&mut stages, &outputs);
        let places = places.all.len();
        Ok(Self {
            model,
            shape: shape.to_vec(),
            stages,
            places,
            outputs,
            shapes,
            idle: Mutex::new(vec![pool]),
        })
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

/// Places of values by their names.
struct Places {
    all: HashMap<String, usize>,
}

impl Places {
    fn of(&mut self, name: &str) -> usize {
        let next = self.all.len();
        *self.all.entry(name.to_owned()).or_insert(next)
    }

    fn stage(
        &mut self,
        stage: split::Stage,
        read: &HashMap<String, NodeId>,
        made: &HashMap<String, NodeId>,
    ) -> Stage {
        // A value that an earlier stage has made goes in by the name that it came out with.
        let id = |name: &String| made.get(name).or_else(|| read.get(name)).copied();
        let reads = stage.reads.iter().filter_map(|name| Some((name, id(name)?)));
        let reads = reads.map(|(name, id)| Read { place: self.of(name), id, last: false }).collect();
        let makes = stage.makes.iter().filter_map(|name| Some((name, id(name)?)));
        let makes = makes.map(|(name, id)| (self.of(name), id)).collect();
        let convolutions = stage.convolutions.into_iter().map(|step| Step {
            input: self.of(&step.input),
            output: self.of(&step.output),
            shape: step.shape,
            convolution: step.convolution,
        });
        Stage { reads, makes, convolutions: convolutions.collect(), last: Vec::new() }
    }
}

/// Notes which stage is the last to read a value.
fn drop_early(stages: &mut [Stage], outputs: &[usize]) {
    let mut needed: HashSet<usize> = outputs.iter().copied().collect();
    for stage in stages.iter_mut().rev() {
        for place in stage.convolutions.iter().map(|step| step.input) {
            if needed.insert(place) {
                stage.last.push(place);
            }
        }
        for read in &mut stage.reads {
            read.last = needed.insert(read.place);
        }
    }
}

impl BuiltIn {
    /// The values of a batch that are left after all stages.
    fn compute(&self, pool: &Arc<ThreadPool>, batch: &[f32]) -> Result<Vec<Option<Value>>, String> {
        const MISSING: &str = "a value is missing";
        let mut values: Vec<Option<Value>> = vec![None; self.places];
        for stage in &self.stages {
            if !stage.makes.is_empty() {
                // The engine may write over a value that is its own.
                let own = stage.reads.iter().map(|read| values[read.place].take_if(|_| read.last));
                let own: Vec<Option<Value>> = own.collect();
                let given = stage.reads.iter().zip(own).map(|(read, own)| {
                    let value = match (own, &values[read.place]) {
                        (Some(value), _) => value.into(),
                        (None, Some(value)) => value.into(),
                        (None, None) if read.place == 0 => self.view(batch).into(),
                        (None, None) => return Err(MISSING.to_owned()),
                    };
                    Ok((read.id, value))
                });
                let given = given.collect::<Result<Vec<(NodeId, ValueOrView<'_>)>, _>>()?;
                let ids: Vec<NodeId> = stage.makes.iter().map(|&(_, id)| id).collect();
                let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
                let made = self.model.run(given, &ids, Some(options));
                let made = made.map_err(|error| one_line(&error.to_string()))?;
                for (&(place, _), value) in stage.makes.iter().zip(made) {
                    values[place] = Some(value);
                }
            }
            for step in &stage.convolutions {
                let result = match &values[step.input] {
                    Some(Value::FloatTensor(images)) => step.run(&images.view())?,
                    None if step.input == 0 => step.run(&self.view(batch))?,
                    _ => return Err(MISSING.to_owned()),
                };
                values[step.output] = Some(result.into());
            }
            for &place in &stage.last {
                values[place] = None;
            }
        }
        Ok(values)
    }

    fn view<'a>(&self, batch: &'a [f32]) -> TensorView<'a> {
        TensorView::from_data(self.shape.as_slice(), batch)
    }
}

impl Step {
    fn run(&self, images: &TensorView<'_>) -> Result<Tensor<f32>, String> {
        let expected = self.convolution.input();
        if images.ndim() != 4 || images.size(0) != self.shape[0] || images.shape()[1..] != expected {
            return Err(format!(
                "it makes a value of shape {:?}, expected {expected:?} for each image",
                images.shape()
            ));
        }
        let made = match images.data() {
            Some(images) => self.convolution.run(images),
            None => self.convolution.run(&images.to_vec()),
        };
        Ok(Tensor::from_data(self.shape.as_slice(), made))
    }
}

impl Worker for BuiltInWorker<'_> {
    fn run(&mut self, batch: &[f32], take: &mut dyn FnMut(usize, &[usize], &[f32])) -> Result<(), String> {
        let values = caught(&self.pool, || self.model.compute(&self.pool, batch))?;
        for (at, &place) in self.model.outputs.iter().enumerate() {
            match values[place].as_ref().ok_or("an output is missing")? {
                Value::FloatTensor(numbers) => taken(numbers, at, take, |&number| number),
                Value::Int32Tensor(numbers) => taken(numbers, at, take, |&number| number as f32),
                Value::Int8Tensor(numbers) => taken(numbers, at, take, |&number| f32::from(number)),
                Value::UInt8Tensor(numbers) => taken(numbers, at, take, |&number| f32::from(number)),
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
