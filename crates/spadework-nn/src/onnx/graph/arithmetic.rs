//! Operators on numbers of the same place, and sums over axes.

use burn_tensor::{Tensor, activation};

use super::Setting;
use super::operators::Inputs;
use super::value::{AXES, Floats, Integers, Value, broadcast};
use crate::onnx::model::Node;
use crate::onnx::problem::Outcome;
use crate::onnx::wire::{BOOL, FLOAT32, FLOAT64, INT32, INT64};

/// Add, Sub, Mul, Div, Pow, and of integers Mod and Equal.
pub(super) fn binary(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (first, second) = (inputs.value(0)?, inputs.value(1)?);
    combine(inputs, first, second)
}

/// Min, Max and Sum of any number of values.
pub(super) fn fold(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let mut all = inputs.value(0)?;
    for at in 1..inputs.count() {
        let next = inputs.value(at)?;
        all = combine(inputs, all, next)?;
    }
    Ok(all)
}

fn combine(inputs: &Inputs<'_>, first: Value, second: Value) -> Outcome<Value> {
    let (shapes, both) = ([first.shape(), second.shape()], broadcast(&first.shape(), &second.shape()));
    let [one, other] = shapes;
    let both = inputs
        .or_refuse(both, &format!("must have shapes that fit each other, got {one:?} and {other:?}"))?;
    match (first, second) {
        (Value::Floats(a), Value::Floats(b)) => {
            let tensor = combined(inputs, a.tensor, b)?;
            Ok(Floats { tensor, rank: both.len() }.into())
        }
        (Value::Integers(a), Value::Integers(b)) => integers(inputs, &a, &b, both).map(Value::from),
        _ => inputs.refuse("must have two inputs of the same type"),
    }
}

fn combined(inputs: &Inputs<'_>, a: Tensor<AXES>, b: Floats) -> Outcome<Tensor<AXES>> {
    Ok(match inputs.node.operator.as_str() {
        "Add" | "Sum" => a + b.tensor,
        "Sub" => a - b.tensor,
        "Mul" => a * b.tensor,
        "Div" => a / b.tensor,
        "Min" | "Max" => {
            let shape = broadcast(&a.dims(), &b.tensor.dims()).and_then(|shape| shape.try_into().ok());
            let shape: [usize; AXES] = shape.expect("combined values broadcast");
            let (a, b) = (a.expand(shape), b.tensor.expand(shape));
            if inputs.node.operator == "Min" { a.min_pair(b) } else { a.max_pair(b) }
        }
        "Pow" => match b.values().as_slice() {
            // The gradient of a square is defined where that of a power is not, below zero.
            [exponent] if *exponent == 2.0 => a.square(),
            [exponent] => a.powf_scalar(*exponent),
            _ => return inputs.refuse("must have one exponent"),
        },
        _ => return inputs.refuse("must have integers as its inputs"),
    })
}

fn integers(inputs: &Inputs<'_>, a: &Integers, b: &Integers, shape: Vec<usize>) -> Outcome<Integers> {
    let (first, second) = (spread(a, &shape), spread(b, &shape));
    let apply = |(&a, &b): (&i64, &i64)| match inputs.node.operator.as_str() {
        "Add" | "Sum" => a.checked_add(b),
        "Sub" => a.checked_sub(b),
        "Mul" => a.checked_mul(b),
        "Div" => a.checked_div(b),
        // The sign of the divisor, as in Python; with `fmod` that of the dividend, as in C.
        "Mod" if inputs.node.integer("fmod", 0) != 0 => a.checked_rem(b),
        "Mod" => {
            a.checked_rem(b).map(|rest| if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
        "Min" => Some(a.min(b)),
        "Max" => Some(a.max(b)),
        "Equal" => Some(i64::from(a == b)),
        _ => None,
    };
    let values: Option<Vec<i64>> = first.iter().zip(&second).map(apply).collect();
    Ok(Integers { shape, values: inputs.or_refuse(values, "must have integers that it can compute with")? })
}

/// The values as they are repeated in a larger shape.
fn spread(integers: &Integers, shape: &[usize]) -> Vec<i64> {
    let missing = shape.len() - integers.shape.len();
    let count: usize = shape.iter().product();
    let place = |mut at: usize| {
        let (mut place, mut stride) = (0, 1);
        for axis in (0..shape.len()).rev() {
            let along = at % shape[axis];
            at /= shape[axis];
            if let Some(own) = axis.checked_sub(missing) {
                place += if integers.shape[own] == 1 { 0 } else { along * stride };
                stride *= integers.shape[own];
            }
        }
        place
    };
    (0..count).map(|at| integers.values[place(at)]).collect()
}

/// Where, of integers: shapes that an exporter computes.
pub(super) fn choose(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (condition, first, second) = (inputs.integers(0)?, inputs.integers(1)?, inputs.integers(2)?);
    let shape = broadcast(&first.shape, &second.shape).and_then(|shape| broadcast(&shape, &condition.shape));
    let shape = inputs.or_refuse(shape, "must have shapes that fit each other")?;
    let sides = spread(&first, &shape).into_iter().zip(spread(&second, &shape));
    let values = spread(&condition, &shape).into_iter().zip(sides);
    let values = values.map(|(condition, (a, b))| if condition != 0 { a } else { b }).collect();
    Ok(Integers { shape, values }.into())
}

/// ReduceMean and ReduceSum.
pub(super) fn reduce(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let floats = inputs.floats(0)?;
    let axes = match inputs.list(1, "axes")? {
        Some(axes) if !axes.is_empty() => inputs.axes(&axes, floats.rank)?,
        _ if inputs.node.integer("noop_with_empty_axes", 0) != 0 => return Ok(floats.into()),
        _ => (0..floats.rank).collect(),
    };
    let mut shape = floats.shape();
    for &axis in &axes {
        shape[axis] = 1;
    }
    if inputs.node.integer("keepdims", 1) == 0 {
        let kept = shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        shape = kept.map(|(_, &extent)| extent).collect();
    }
    let along: Vec<usize> = axes.iter().map(|&axis| floats.axis(axis)).collect();
    let mean = inputs.node.operator == "ReduceMean";
    let reduced = floats.map(|x| if mean { x.mean_dims(&along) } else { x.sum_dims(&along) });
    let reshaped = reduced.reshaped(&shape);
    inputs.or_refuse(reshaped, "must leave a value").map(Value::from)
}

/// Softmax and LogSoftmax; before version 13 over all axes from one on.
pub(super) fn softmax(inputs: &mut Inputs<'_>, opset: i64) -> Outcome<Value> {
    let floats = inputs.floats(0)?;
    let axis = inputs.axis(inputs.node.integer("axis", if opset < 13 { 1 } else { -1 }), floats.rank)?;
    let log = inputs.node.operator == "LogSoftmax";
    let shape = floats.shape();
    let (flat, along) = if opset < 13 {
        let flat = [1, 1, 1, 1, shape[..axis].iter().product(), shape[axis..].iter().product()];
        (Floats { tensor: floats.tensor.reshape(flat), rank: 2 }, AXES - 1)
    } else {
        let along = floats.axis(axis);
        (floats, along)
    };
    let done =
        flat.map(|x| if log { activation::log_softmax(x, along) } else { activation::softmax(x, along) });
    let reshaped = done.reshaped(&shape);
    inputs.or_refuse(reshaped, "must have a value").map(Value::from)
}

pub(super) fn clip(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let floats = inputs.floats(0)?;
    let mut bound = |at: usize, name: &str, open: f32| -> Outcome<f32> {
        match inputs.optional_floats(at)? {
            None => Ok(inputs.node.float(name, open)),
            Some(bound) => {
                let value = bound.values().first().copied();
                inputs.or_refuse(value, "must have numbers as its bounds")
            }
        }
    };
    let (low, high) = (bound(1, "min", f32::MIN)?, bound(2, "max", f32::MAX)?);
    Ok(floats.map(|x| x.clamp_min(low).clamp_max(high)).into())
}

pub(super) fn parametric_relu(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (floats, slope) = (inputs.floats(0)?, inputs.floats(1)?);
    if broadcast(&floats.shape(), &slope.shape()) != Some(floats.shape()) {
        return inputs.refuse("must have slopes that fit its values");
    }
    Ok(floats.map(|x| activation::relu(x.clone()) - activation::relu(x.neg()) * slope.tensor).into())
}

/// Types of elements, by the number that a Cast has as `to`.
fn target(node: &Node) -> Option<Target> {
    let floats = [FLOAT32, FLOAT64].map(i64::from);
    let integers = [INT32, INT64].map(i64::from);
    match node.integer("to", 0) {
        to if floats.contains(&to) => Some(Target::Floats),
        to if integers.contains(&to) => Some(Target::Integers),
        to if to == i64::from(BOOL) => Some(Target::Truth),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Target {
    Floats,
    Integers,
    Truth,
}

/// Whether a node makes integers of floats, or of integers that are none of them.
pub(super) fn rounds(node: &Node) -> bool {
    node.operator == "Cast" && target(node).is_some_and(|target| target != Target::Floats)
}

pub(super) fn cast(inputs: &mut Inputs<'_>, setting: &Setting) -> Outcome<Value> {
    let target = target(inputs.node);
    let target = inputs.or_refuse(target, "must cast to floats of 32 or 64 bits, INT32, INT64 or BOOL")?;
    match inputs.value(0)? {
        Value::Integers(integers) if target == Target::Floats => {
            let values: Vec<f32> = integers.values.iter().map(|&value| value as f32).collect();
            let floats = Floats::of_values(&values, &integers.shape, &setting.device);
            inputs.or_refuse(floats, "must have a value").map(Value::from)
        }
        Value::Integers(integers) if target == Target::Truth => {
            let values = integers.values.iter().map(|&value| i64::from(value != 0)).collect();
            Ok(Integers { values, ..integers }.into())
        }
        Value::Floats(floats) if target != Target::Floats => {
            // Only constants and shapes: what follows from a sample was refused when the graph was read.
            let integer =
                |&value: &f32| if target == Target::Truth { i64::from(value != 0.0) } else { value as i64 };
            let values = floats.values().iter().map(integer).collect();
            Ok(Integers { shape: floats.shape(), values }.into())
        }
        value => Ok(value),
    }
}
