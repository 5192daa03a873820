//! A whole ONNX graph as something that is run and differentiated.
//!
//! Layers (`read.rs`) are what networks are trained with; this is for other networks, which are only run. Each operator is a
//! few operations on tensors (`operators.rs`, by kind in the files next to it), and Burn differentiates these in reverse.
//! Shapes and indices are integers on the host, so graphs that compute with their own shapes run for any number of samples.
//! Everything that only depends on constants is computed once.
//!
//! When a graph is read, it is run with one, two and three samples. An operator that is not supported, or that gets
//! unsupported inputs, is refused by its name and the name of its output. A graph that only runs with one sample, or whose
//! samples influence each other when they are run together, is run sample by sample.

mod arithmetic;
mod matrix;
mod operators;
mod shape;
mod value;
mod window;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use burn_tensor::{Device, Tensor, TensorData};
use value::{AXES, Floats, TOO_MANY_AXES, Value, product};

use super::model::{Graph as Parsed, Model, Node, shape_in_words};
use super::problem::{Outcome, Problem, refuse};
use crate::network::{Computation, to_host};
use crate::{Compute, Error, Result};

/// The most numbers of one sample: a file may state any shape, and is tried with three samples.
const MOST_OF_A_SAMPLE: usize = 1 << 26;

/// An ONNX graph on a device.
#[derive(Debug)]
pub(crate) struct Graph {
    input_shape: Vec<usize>,
    classes: usize,
    steps: Vec<Step>,
    /// What is known before a sample is; one place per name.
    constants: Vec<Option<Value>>,
    setting: Setting,
    input: usize,
    output: usize,
    one_by_one: bool,
}

/// What operators depend on, their inputs and attributes aside.
#[derive(Debug)]
struct Setting {
    device: Device,
    /// The version of the operators.
    opset: i64,
}

/// An operator, and where its values are kept.
#[derive(Debug)]
struct Step {
    node: Node,
    inputs: Vec<Option<usize>>,
    outputs: Vec<usize>,
    /// Values that nothing uses after this step.
    last_used: Vec<usize>,
}

impl Graph {
    /// Reads a graph from the bytes of an ONNX file. `path` is for messages.
    ///
    /// # Errors
    /// When the file is not an ONNX file, or its graph has an operator that is not understood.
    pub(crate) fn read(path: &Path, bytes: &[u8], compute: &Compute) -> Result<Self> {
        let refuse = |reason: String| Error::Model { path: path.to_owned(), reason };
        let model = Model::parse(path, bytes)
            .map_err(|_| refuse("expected an ONNX file, got other or incomplete bytes".to_owned()))?;
        if model.graph.nodes.is_empty() {
            return Err(refuse("expected an ONNX file with a graph, got none".to_owned()));
        }
        let setting = Setting { device: compute.device().clone(), opset: model.opset };
        Builder::build(&model.graph, setting).map_err(|problem| refuse(problem.0))
    }

    fn run(&self, samples: Tensor<2>) -> Outcome<Tensor<2>> {
        let [count, _] = samples.dims();
        let mut values = self.constants.clone();
        let mut shape = vec![count];
        shape.extend(&self.input_shape);
        let Some(input) = Floats::of(samples).and_then(|samples| samples.reshaped(&shape)) else {
            return Err(Problem(format!("{count} samples at once are more numbers than fit")));
        };
        values[self.input] = Some(input.into());
        for step in &self.steps {
            let inputs: Vec<Option<Value>> =
                step.inputs.iter().map(|at| at.and_then(|at| values[at].clone())).collect();
            // The last one to use a value takes it, so that it can be overwritten.
            step.last_used.iter().for_each(|&at| values[at] = None);
            let outputs = operators::apply(&step.node, inputs, &self.setting)?;
            for (&at, value) in step.outputs.iter().zip(outputs) {
                values[at] = Some(value);
            }
        }
        match values[self.output].take() {
            Some(Value::Floats(output)) if output.rank >= 2 && output.shape()[0] == count => {
                let size = output.shape().iter().skip(1).product();
                Ok(output.with_axes([count, size]))
            }
            value => {
                let shape = value.map_or_else(Vec::new, |value| value.shape());
                Err(Problem(format!(
                    "the output must have one row for each of {count} samples, got {shape:?}"
                )))
            }
        }
    }

    /// Finds out how many classes there are and whether samples may be run together.
    fn tried(mut self) -> Outcome<Self> {
        let size = self.input_shape.iter().product::<usize>();
        // Different numbers between 0 and 1, so that what is mixed up shows.
        let numbers: Vec<f32> = (0..3 * size).map(|at| (at as f32 * 0.618_034).fract()).collect();
        let run = |graph: &Self, samples: std::ops::Range<usize>| {
            let rows = samples.len();
            let values = numbers[samples.start * size..samples.end * size].to_vec();
            graph.run(Tensor::from_data(TensorData::new(values, [rows, size]), &graph.setting.device))
        };
        let first = run(&self, 0..1)?;
        self.classes = first.dims()[1];
        let mut alone = to_host(first);
        for sample in 1..3 {
            alone.extend(to_host(run(&self, sample..sample + 1)?));
        }
        let largest = alone.iter().fold(1.0_f32, |largest, value| largest.max(value.abs()));
        // Sums of single precision in another order.
        let same =
            |together: Vec<f32>| together.iter().zip(&alone).all(|(a, b)| (a - b).abs() <= 1e-3 * largest);
        let together = [2, 3].map(|rows| run(&self, 0..rows).is_ok_and(|outputs| same(to_host(outputs))));
        self.one_by_one = together.contains(&false);
        Ok(self)
    }
}

impl Computation for Graph {
    fn input_shape(&self) -> &[usize] {
        &self.input_shape
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn forward(&self, samples: Tensor<2>) -> Tensor<2> {
        let [rows, _] = samples.dims();
        let part = |first: usize, count: usize| self.forward(samples.clone().narrow(0, first, count));
        if self.one_by_one && rows > 1 {
            return Tensor::cat((0..rows).map(|row| part(row, 1)).collect(), 0);
        }
        match self.run(samples.clone()) {
            Ok(outputs) => outputs,
            // What ran for three samples may need more numbers than fit for many.
            Err(_) if rows > 1 => Tensor::cat(vec![part(0, rows / 2), part(rows / 2, rows - rows / 2)], 0),
            // Whether a graph runs depends on shapes alone.
            Err(problem) => unreachable!("the graph ran for one sample when it was read: {}", problem.0),
        }
    }
}

/// Gives every name a place, and computes what depends on constants alone.
struct Builder<'a> {
    parsed: &'a Parsed,
    setting: Setting,
    places: HashMap<&'a str, usize>,
    constants: Vec<Option<Value>>,
}

impl<'a> Builder<'a> {
    fn build(parsed: &'a Parsed, setting: Setting) -> Outcome<Graph> {
        let (name, shape) = parsed.only_input().map_err(Problem)?;
        let input_shape = known_extents(name, shape)?;
        let [output] = parsed.outputs.as_slice() else {
            return Err(Problem(format!("expected one output, got {}", parsed.outputs.len())));
        };
        let mut builder = Self { parsed, setting, places: HashMap::new(), constants: Vec::new() };
        let input = builder.place(name);
        for (name, constant) in &parsed.constants {
            // One that cannot be read is refused by the operator that needs it.
            if constant.unreadable.is_none() {
                let at = builder.place(name);
                builder.constants[at] = Value::of_constant(constant, &builder.setting.device);
            }
        }
        let mut steps = builder.steps(input)?;
        let Some(&output) = builder.places.get(output.as_str()) else {
            return Err(Problem(format!("no operator gives the output `{output}`")));
        };
        forget_after_last_use(&mut steps, &builder.constants, output);
        let graph = Graph {
            input_shape,
            classes: 0,
            steps,
            constants: builder.constants,
            setting: builder.setting,
            input,
            output,
            one_by_one: false,
        };
        graph.tried()
    }

    fn place(&mut self, name: &'a str) -> usize {
        let next = self.constants.len();
        let at = *self.places.entry(name).or_insert(next);
        if at == next {
            self.constants.push(None);
        }
        at
    }

    fn steps(&mut self, input: usize) -> Outcome<Vec<Step>> {
        let (mut steps, mut given) = (Vec::new(), HashSet::from([input]));
        // Values that follow from the numbers of a sample, not only from its shape.
        let mut sampled = given.clone();
        for node in &self.parsed.nodes {
            let inputs = self.inputs(node, &given)?;
            let outputs: Vec<usize> = node.outputs.iter().map(|name| self.place(name)).collect();
            let is_constant = inputs.iter().flatten().all(|&at| self.constants[at].is_some());
            if is_constant {
                let values = inputs.iter().map(|at| at.and_then(|at| self.constants[at].clone())).collect();
                for (&at, value) in outputs.iter().zip(operators::apply(node, values, &self.setting)?) {
                    self.constants[at] = Some(value);
                }
                continue;
            }
            given.extend(&outputs);
            if node.operator != "Shape" && inputs.iter().flatten().any(|at| sampled.contains(at)) {
                if arithmetic::rounds(node) {
                    return refuse(
                        node,
                        "converts values that depend on a sample to integers, which have no gradient",
                    );
                }
                sampled.extend(&outputs);
            }
            let mut node = node.clone();
            if matches!(node.operator.as_str(), "Softmax" | "LogSoftmax") && self.parsed.gives_output(&node) {
                // The outputs of a network are the values before it.
                "Identity".clone_into(&mut node.operator);
            }
            steps.push(Step { node, inputs, outputs, last_used: Vec::new() });
        }
        Ok(steps)
    }

    fn inputs(&self, node: &Node, given: &HashSet<usize>) -> Outcome<Vec<Option<usize>>> {
        let known = |name: &String| {
            if name.is_empty() {
                return Ok(None);
            }
            let at = self.places.get(name.as_str()).copied();
            match at.filter(|&at| self.constants[at].is_some() || given.contains(&at)) {
                Some(at) => Ok(Some(at)),
                None => match self.parsed.constants.get(name) {
                    Some(constant) => {
                        let problem = constant.unreadable.as_deref().unwrap_or(TOO_MANY_AXES);
                        refuse(node, &format!("has a constant with {problem}"))
                    }
                    None => refuse(node, &format!("takes `{name}`, which no operator before it gives")),
                },
            }
        };
        node.inputs.iter().map(known).collect()
    }
}

/// The shape of one sample.
fn known_extents(name: &str, shape: &[i64]) -> Outcome<Vec<usize>> {
    let extents =
        shape.iter().skip(1).map(|&extent| usize::try_from(extent).ok().filter(|&extent| extent > 0));
    let extents = extents.collect::<Option<Vec<usize>>>();
    let few = |shape: &[usize]| product(shape).is_some_and(|numbers| numbers <= MOST_OF_A_SAMPLE);
    let fits = |shape: &Vec<usize>| !shape.is_empty() && shape.len() < AXES && few(shape);
    extents.filter(fits).ok_or_else(|| {
        let got = shape_in_words(shape);
        Problem(format!("the input `{name}` must have shape [n, …] with known extents, got {got}"))
    })
}

fn forget_after_last_use(steps: &mut [Step], constants: &[Option<Value>], output: usize) {
    let mut used = HashSet::from([output]);
    for step in steps.iter_mut().rev() {
        for &at in step.inputs.iter().flatten() {
            if constants[at].is_none() && used.insert(at) {
                step.last_used.push(at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
