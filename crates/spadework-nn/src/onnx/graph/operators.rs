//! Which operator is computed where, and how its inputs are taken.

use burn_tensor::activation;

use super::value::{Floats, Integers, TOO_MANY_AXES, Value};
use super::{Setting, arithmetic, matrix, shape, window};
use crate::onnx::model::Node;
use crate::onnx::problem::{Outcome, refuse};

/// The operators that are understood, for messages.
const OPERATORS: &str = "Conv, Gemm, MatMul, BatchNormalization, LayerNormalization, MaxPool, AveragePool, GlobalAveragePool, \
                         GlobalMaxPool, ReduceMean, ReduceSum, Relu, LeakyRelu, PRelu, Elu, Clip, Sigmoid, HardSigmoid, HardSwish, \
                         Tanh, Softplus, Softmax, LogSoftmax, Erf, Gelu, Exp, Log, Sqrt, Reciprocal, Neg, Abs, Sign, Add, Sub, Mul, \
                         Div, Pow, Min, Max, Sum, Mod, Equal, Where, Transpose, Reshape, Flatten, Squeeze, Unsqueeze, Slice, Split, \
                         Concat, Gather, Pad, Expand, Shape, ConstantOfShape, Cast, Identity, Dropout and Constant";

/// The values that a node gives.
pub(super) fn apply(node: &Node, inputs: Vec<Option<Value>>, setting: &Setting) -> Outcome<Vec<Value>> {
    let mut inputs = Inputs { node, values: inputs };
    let inputs = &mut inputs;
    let one = match node.operator.as_str() {
        "Split" => return shape::split(inputs),
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Equal" => arithmetic::binary(inputs),
        "Min" | "Max" | "Sum" => arithmetic::fold(inputs),
        "Where" => arithmetic::choose(inputs),
        "ReduceMean" | "ReduceSum" => arithmetic::reduce(inputs),
        "Softmax" | "LogSoftmax" => arithmetic::softmax(inputs, setting.opset),
        "Clip" => arithmetic::clip(inputs),
        "PRelu" => arithmetic::parametric_relu(inputs),
        "Gemm" => matrix::gemm(inputs),
        "MatMul" => matrix::product(inputs),
        "BatchNormalization" => matrix::batch_norm(inputs),
        "LayerNormalization" => matrix::layer_norm(inputs),
        "Conv" => window::convolution(inputs),
        "MaxPool" | "AveragePool" => window::pool(inputs),
        "GlobalAveragePool" | "GlobalMaxPool" => window::global_pool(inputs),
        "Transpose" => shape::transpose(inputs),
        "Reshape" => shape::reshape(inputs),
        "Flatten" => shape::flatten(inputs),
        "Squeeze" => shape::squeeze(inputs),
        "Unsqueeze" => shape::unsqueeze(inputs),
        "Slice" => shape::slice(inputs),
        "Concat" => shape::concat(inputs),
        "Gather" => shape::gather(inputs),
        "Pad" => shape::pad(inputs),
        "Expand" => shape::expand(inputs),
        "Shape" => shape::shape(inputs),
        "ConstantOfShape" => shape::constant_of_shape(inputs, setting),
        "Cast" => arithmetic::cast(inputs, setting),
        "Identity" | "Dropout" => inputs.value(0),
        "Constant" => constant(node, setting),
        _ => unary(inputs),
    }?;
    Ok(vec![one])
}

/// Operators that change each number by itself.
fn unary(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let node = inputs.node;
    let change: fn(_, &Node) -> _ = match node.operator.as_str() {
        "Relu" => |x, _| activation::relu(x),
        "LeakyRelu" => |x, node| activation::leaky_relu(x, f64::from(node.float("alpha", 0.01))),
        "Elu" => |x, node| activation::elu(x, f64::from(node.float("alpha", 1.0))),
        "Sigmoid" => |x, _| activation::sigmoid(x),
        "HardSigmoid" => |x, node| {
            let (alpha, beta) = (node.float("alpha", 0.2), node.float("beta", 0.5));
            activation::hard_sigmoid(x, f64::from(alpha), f64::from(beta))
        },
        "HardSwish" => |x, _| activation::hard_swish(x),
        "Tanh" => |x, _| activation::tanh(x),
        "Softplus" => |x, _| activation::softplus(x, 1.0),
        "Erf" => |x, _| x.erf(),
        "Gelu" => |x, node| match node.text("approximate") {
            Some("tanh") => activation::gelu_approximate(x),
            _ => activation::gelu(x),
        },
        "Exp" => |x, _| x.exp(),
        "Log" => |x, _| x.log(),
        "Sqrt" => |x, _| x.sqrt(),
        "Reciprocal" => |x, _| x.recip(),
        "Neg" => |x, _| x.neg(),
        "Abs" => |x, _| x.abs(),
        "Sign" => |x, _| x.sign(),
        _ => return refuse(node, &format!("is not understood; there are {OPERATORS}")),
    };
    Ok(inputs.floats(0)?.map(|tensor| change(tensor, node)).into())
}

fn constant(node: &Node, setting: &Setting) -> Outcome<Value> {
    let attribute = |name: &str| node.attributes.get(name);
    if let Some(tensor) = attribute("value").and_then(|value| value.tensor.as_ref()) {
        return match (tensor.unreadable.as_deref(), Value::of_constant(tensor, &setting.device)) {
            (None, Some(value)) => Ok(value),
            (problem, _) => {
                refuse(node, &format!("has a constant with {}", problem.unwrap_or(TOO_MANY_AXES)))
            }
        };
    }
    if let Some(value) = attribute("value_int").and_then(|value| value.integer) {
        return Ok(Integers { shape: Vec::new(), values: vec![value] }.into());
    }
    if let Some(value) = attribute("value_ints") {
        return Ok(Integers::list(value.integers.clone()).into());
    }
    let (shape, values) = match (attribute("value_float"), attribute("value_floats")) {
        (Some(value), _) => (Vec::new(), value.float.into_iter().collect()),
        (None, Some(value)) => (vec![value.floats.len()], value.floats.clone()),
        (None, None) => return refuse(node, "must have numbers as its value"),
    };
    match Floats::of_values(&values, &shape, &setting.device) {
        Some(floats) => Ok(floats.into()),
        None => refuse(node, "must have numbers as its value"),
    }
}

/// The inputs of a node; each is taken once.
pub(super) struct Inputs<'a> {
    pub(super) node: &'a Node,
    values: Vec<Option<Value>>,
}

impl Inputs<'_> {
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    pub(super) fn refuse<T>(&self, reason: &str) -> Outcome<T> {
        refuse(self.node, reason)
    }

    /// What an operation on tensors found, or the reason that it found nothing.
    pub(super) fn or_refuse<T>(&self, found: Option<T>, reason: &str) -> Outcome<T> {
        found.map_or_else(|| self.refuse(reason), Ok)
    }

    pub(super) fn optional(&mut self, at: usize) -> Option<Value> {
        self.values.get_mut(at).and_then(Option::take)
    }

    pub(super) fn value(&mut self, at: usize) -> Outcome<Value> {
        let value = self.optional(at);
        self.or_refuse(value, &format!("must have an input {at}"))
    }

    pub(super) fn floats(&mut self, at: usize) -> Outcome<Floats> {
        match self.value(at)? {
            Value::Floats(floats) => Ok(floats),
            Value::Integers(_) => self.refuse(&format!("must have floats as its input {at}")),
        }
    }

    pub(super) fn optional_floats(&mut self, at: usize) -> Outcome<Option<Floats>> {
        if self.values.get(at).is_some_and(Option::is_some) { self.floats(at).map(Some) } else { Ok(None) }
    }

    pub(super) fn integers(&mut self, at: usize) -> Outcome<Integers> {
        match self.value(at)? {
            Value::Integers(integers) => Ok(integers),
            Value::Floats(_) => self.refuse(&format!("must have integers as its input {at}")),
        }
    }

    /// A list that newer files have as an input and older ones as an attribute.
    pub(super) fn list(&mut self, at: usize, attribute: &str) -> Outcome<Option<Vec<i64>>> {
        if self.values.get(at).is_some_and(Option::is_some) {
            return self.integers(at).map(|list| Some(list.values));
        }
        Ok(self.node.attributes.get(attribute).map(|attribute| attribute.integers.clone()))
    }

    /// An axis, counted from the end where negative.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Outcome<usize> {
        let at = if axis < 0 { axis + rank as i64 } else { axis };
        let at = usize::try_from(at).ok().filter(|&at| at < rank);
        self.or_refuse(at, &format!("must have an axis below {rank}, got {axis}"))
    }

    pub(super) fn axes(&self, axes: &[i64], rank: usize) -> Outcome<Vec<usize>> {
        axes.iter().map(|&axis| self.axis(axis, rank)).collect()
    }
}
