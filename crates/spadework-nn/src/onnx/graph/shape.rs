//! Operators that move numbers without changing them.

use burn_tensor::Tensor;
use burn_tensor::ops::PadMode;

use super::Setting;
use super::operators::Inputs;
use super::value::{AXES, Floats, Integers, Value, broadcast, product};
use crate::onnx::problem::Outcome;

pub(super) fn transpose(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let value = inputs.value(0)?;
    let rank = value.shape().len();
    let reversed: Vec<i64> = (0..rank as i64).rev().collect();
    let order = inputs.axes(&inputs.node.integers("perm", &reversed), rank)?;
    if (0..rank).any(|axis| !order.contains(&axis)) || order.len() != rank {
        return inputs.refuse("must name every axis once");
    }
    match value {
        Value::Integers(integers) => {
            let shape: Vec<usize> = order.iter().map(|&axis| integers.shape[axis]).collect();
            let strides = strides(&integers.shape);
            let place = |places: &[usize]| {
                order.iter().zip(places).map(|(&axis, at)| at * strides[axis]).sum::<usize>()
            };
            let values = all_places(&shape).map(|places| integers.values[place(&places)]).collect();
            Ok(Integers { shape, values }.into())
        }
        Value::Floats(floats) => {
            let mut axes: [usize; AXES] = std::array::from_fn(|axis| axis);
            for (to, &from) in order.iter().enumerate() {
                axes[AXES - rank + to] = AXES - rank + from;
            }
            Ok(floats.map(|x| x.permute(axes)).into())
        }
    }
}

/// How far apart neighbors along each axis lie.
fn strides(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect()
}

/// The places of a small array, in order.
fn all_places(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let strides = strides(shape);
    let count: usize = shape.iter().product();
    let shape = shape.to_vec();
    (0..count)
        .map(move |at| strides.iter().zip(&shape).map(|(stride, extent)| at / stride % extent).collect())
}

pub(super) fn reshape(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let value = inputs.value(0)?;
    let wanted = inputs.list(1, "shape")?;
    let wanted = inputs.or_refuse(wanted, "must have a shape")?;
    let (old, keep) = (value.shape(), inputs.node.integer("allowzero", 0) == 0);
    let extent = |(axis, &wanted): (usize, &i64)| match wanted {
        0 if keep => old.get(axis).copied(),
        -1 => Some(1),
        _ => usize::try_from(wanted).ok(),
    };
    let shape: Option<Vec<usize>> = wanted.iter().enumerate().map(extent).collect();
    let size: usize = old.iter().product();
    let shape = shape.and_then(|mut shape| {
        let rest = size.checked_div(product(&shape)?)?;
        let mut open = (0..wanted.len()).filter(|&axis| wanted[axis] == -1);
        if let Some(axis) = open.next() {
            shape[axis] = rest;
        }
        open.next().is_none().then_some(shape)
    });
    let reshaped = shape.and_then(|shape| reshaped(value, &shape));
    inputs.or_refuse(reshaped, &format!("must give a shape for {old:?}, got {wanted:?}"))
}

fn reshaped(value: Value, shape: &[usize]) -> Option<Value> {
    match value {
        Value::Floats(floats) => floats.reshaped(shape).map(Value::from),
        Value::Integers(integers) => (shape.iter().product::<usize>() == integers.values.len())
            .then(|| Integers { shape: shape.to_vec(), values: integers.values }.into()),
    }
}

pub(super) fn flatten(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let floats = inputs.floats(0)?;
    let (axis, shape) = (inputs.node.integer("axis", 1), floats.shape());
    let axis = if axis == shape.len() as i64 { shape.len() } else { inputs.axis(axis, shape.len())? };
    let flat = [shape[..axis].iter().product(), shape[axis..].iter().product()];
    let flat = floats.reshaped(&flat);
    inputs.or_refuse(flat, "must have a value").map(Value::from)
}

pub(super) fn squeeze(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let value = inputs.value(0)?;
    let shape = value.shape();
    let axes = match inputs.list(1, "axes")? {
        Some(axes) => inputs.axes(&axes, shape.len())?,
        None => (0..shape.len()).filter(|&axis| shape[axis] == 1).collect(),
    };
    let kept: Vec<usize> = shape
        .iter()
        .enumerate()
        .filter(|(axis, _)| !axes.contains(axis))
        .map(|(_, &extent)| extent)
        .collect();
    let squeezed = reshaped(value, &kept);
    inputs.or_refuse(squeezed, &format!("must leave out axes of length one, got {shape:?} and {axes:?}"))
}

pub(super) fn unsqueeze(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let value = inputs.value(0)?;
    let axes = inputs.list(1, "axes")?;
    let axes = inputs.or_refuse(axes, "must have axes")?;
    let axes = inputs.axes(&axes, value.shape().len() + axes.len())?;
    let mut old = value.shape().into_iter();
    let rank = old.len() + axes.len();
    let shape: Option<Vec<usize>> =
        (0..rank).map(|axis| if axes.contains(&axis) { Some(1) } else { old.next() }).collect();
    let grown = shape.and_then(|shape| reshaped(value, &shape));
    inputs.or_refuse(grown, &format!("must have at most {AXES} axes, each named once"))
}

/// The places that a slice keeps.
fn kept(start: i64, end: i64, step: i64, extent: usize) -> Vec<i64> {
    let extent = extent as i64;
    let within =
        |at: i64, low: i64, high: i64| (if at < 0 { at.saturating_add(extent) } else { at }).clamp(low, high);
    let mut places = Vec::new();
    if step > 0 {
        let (mut at, end) = (within(start, 0, extent), within(end, 0, extent));
        while at < end {
            places.push(at);
            at = at.saturating_add(step);
        }
    } else {
        let (mut at, end) = (within(start, 0, extent - 1), within(end, -1, extent - 1));
        while at > end {
            places.push(at);
            at = at.saturating_add(step);
        }
    }
    places
}

pub(super) fn slice(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let mut value = inputs.value(0)?;
    let (starts, ends) = (inputs.list(1, "starts")?, inputs.list(2, "ends")?);
    let (Some(starts), Some(ends)) = (starts, ends) else {
        return inputs.refuse("must have starts and ends");
    };
    let count = starts.len();
    let axes = inputs.list(3, "axes")?.unwrap_or_else(|| (0..count as i64).collect());
    let steps = inputs.list(4, "steps")?.unwrap_or_else(|| vec![1; count]);
    if [ends.len(), axes.len(), steps.len()] != [count; 3] || steps.contains(&0) {
        return inputs.refuse("must have as many ends, axes and steps as starts");
    }
    for (at, axis) in inputs.axes(&axes, value.shape().len())?.into_iter().enumerate() {
        let places = kept(starts[at], ends[at], steps[at], value.shape()[axis]);
        let taken = taken(value, axis, &Integers::list(places));
        value = inputs.or_refuse(taken, "must keep something")?;
    }
    Ok(value)
}

/// The entries of a value at places along an axis, which is replaced by the axes of the places.
fn taken(value: Value, axis: usize, places: &Integers) -> Option<Value> {
    let shape = value.shape();
    let new: Vec<usize> =
        shape[..axis].iter().chain(&places.shape).chain(&shape[axis + 1..]).copied().collect();
    // Shapes are taken apart, and a part of one may be empty.
    if !(matches!(value, Value::Integers(_)) && new.contains(&0)) {
        product(&new)?;
    }
    match value {
        Value::Integers(integers) => {
            let old = strides(&shape);
            let along = places.shape.len();
            let extent = shape[axis] as i64;
            let value = |at: Vec<usize>| {
                let chosen: usize =
                    at[axis..axis + along].iter().zip(strides(&places.shape)).map(|(a, s)| a * s).sum();
                let chosen = places.values[chosen];
                let chosen = usize::try_from(if chosen < 0 { chosen + extent } else { chosen }).ok()?;
                let outside = at[..axis].iter().chain(&at[axis + along..]);
                let others = old[..axis].iter().chain(&old[axis + 1..]);
                let rest: usize = outside.zip(others).map(|(at, stride)| at * stride).sum();
                (chosen < shape[axis]).then(|| integers.values[rest + chosen * old[axis]])
            };
            let values = all_places(&new).map(value).collect::<Option<_>>()?;
            Some(Integers { shape: new, values }.into())
        }
        Value::Floats(floats) => {
            let along = floats.axis(axis);
            let first = *places.values.first()?;
            let in_order = places.values.iter().enumerate().all(|(at, &place)| place == first + at as i64);
            let all = places.places(shape[axis], &floats.tensor.device())?;
            let picked = floats.map(|x| match usize::try_from(first) {
                Ok(first) if in_order => x.narrow(along, first, places.values.len()),
                _ => x.select(along, all),
            });
            picked.reshaped(&new).map(Value::from)
        }
    }
}

pub(super) fn gather(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (value, places) = (inputs.value(0)?, inputs.integers(1)?);
    let axis = inputs.axis(inputs.node.integer("axis", 0), value.shape().len())?;
    let extent = value.shape()[axis];
    let taken = taken(value, axis, &places);
    inputs.or_refuse(taken, &format!("must have places below {extent}"))
}

pub(super) fn split(inputs: &mut Inputs<'_>) -> Outcome<Vec<Value>> {
    let floats = inputs.floats(0)?;
    let axis = inputs.axis(inputs.node.integer("axis", 0), floats.rank)?;
    let (extent, parts) = (floats.shape()[axis], inputs.node.outputs.len().max(1));
    let sizes = if let Some(sizes) = inputs.list(1, "split")? {
        sizes.iter().map(|&size| usize::try_from(size).ok().filter(|&size| size > 0)).collect()
    } else {
        let size = extent.div_ceil(parts);
        Some((0..parts).map(|part| size.min(extent.saturating_sub(part * size))).collect())
    };
    let fits = |sizes: &Vec<usize>| sizes.iter().sum::<usize>() == extent && !sizes.contains(&0);
    let sizes = inputs.or_refuse(sizes.filter(fits), &format!("must have parts of {extent} in all"))?;
    let (along, mut first) = (floats.axis(axis), 0);
    let part = |size: usize| {
        let piece = floats.clone().map(|x| x.narrow(along, first, size));
        first += size;
        Value::from(piece)
    };
    Ok(sizes.into_iter().map(part).collect())
}

pub(super) fn concat(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let mut values = Vec::new();
    for at in 0..inputs.count() {
        values.push(inputs.value(at)?);
    }
    let Some(first) = values.first() else { return inputs.refuse("must have inputs") };
    let axis = inputs.axis(inputs.node.integer("axis", 0), first.shape().len())?;
    if values.iter().all(|value| matches!(value, Value::Integers(_))) && first.shape().len() == 1 {
        let parts = values.into_iter().filter_map(|value| match value {
            Value::Integers(integers) => Some(integers.values),
            Value::Floats(_) => None,
        });
        return Ok(Integers::list(parts.flatten().collect()).into());
    }
    let mut outline = first.shape();
    outline[axis] = 0;
    let (mut tensors, rank) = (Vec::new(), outline.len());
    for value in values {
        let mut shape = value.shape();
        match value {
            Value::Floats(floats) if shape.len() == rank => {
                shape[axis] = 0;
                tensors.push(floats.tensor);
            }
            _ => return inputs.refuse("must have floats with the same number of axes"),
        }
        if shape != outline {
            return inputs.refuse(&format!("must have shapes that differ in axis {axis} only"));
        }
    }
    Ok(Floats { tensor: Tensor::cat(tensors, AXES - rank + axis), rank }.into())
}

/// Padding by a constant.
pub(super) fn pad(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let floats = inputs.floats(0)?;
    if !matches!(inputs.node.text("mode"), None | Some("constant")) {
        return inputs.refuse("must pad by a constant");
    }
    let pads = inputs.list(1, "pads")?;
    let pads = inputs.or_refuse(pads, "must have pads")?;
    let value = inputs.optional_floats(2)?.and_then(|value| value.values().first().copied());
    let value = value.unwrap_or_else(|| inputs.node.float("value", 0.0));
    let axes = inputs.list(3, "axes")?.unwrap_or_else(|| (0..floats.rank as i64).collect());
    let axes = inputs.axes(&axes, floats.rank)?;
    let small: Option<Vec<usize>> =
        pads.iter().map(|&pad| usize::try_from(pad).ok().filter(|&pad| pad < 1 << 16)).collect();
    let small = small.filter(|pads| pads.len() == 2 * axes.len());
    let small = inputs.or_refuse(small, &format!("must add two small numbers per axis, got {pads:?}"))?;
    let mut all = [(0, 0); AXES];
    let mut shape = floats.shape();
    for (at, &axis) in axes.iter().enumerate() {
        all[floats.axis(axis)] = (small[at], small[at + axes.len()]);
        shape[axis] += small[at] + small[at + axes.len()];
    }
    inputs.or_refuse(product(&shape), "must not give more numbers than fit")?;
    Ok(floats.map(|x| x.pad(all, PadMode::Constant(value))).into())
}

pub(super) fn expand(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (floats, wanted) = (inputs.floats(0)?, inputs.integers(1)?);
    let wanted: Option<Vec<usize>> =
        wanted.values.iter().map(|&extent| usize::try_from(extent).ok()).collect();
    let shape =
        wanted.and_then(|wanted| broadcast(&floats.shape(), &wanted)).filter(|shape| shape.len() <= AXES);
    let shape = inputs.or_refuse(shape, "must have a shape that its values fit")?;
    let axes = super::value::six(&shape);
    let axes = inputs.or_refuse(axes, "must have a shape that its values fit")?;
    Ok(Floats { tensor: floats.tensor.expand(axes), rank: shape.len() }.into())
}

pub(super) fn shape(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let shape = inputs.value(0)?.shape();
    let rank = shape.len() as i64;
    let end = |name: &str, default: i64| {
        let at = inputs.node.integer(name, default);
        (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize
    };
    let (start, end) = (end("start", 0), end("end", rank));
    let part = shape.get(start..end).unwrap_or_default();
    Ok(Integers::list(part.iter().map(|&extent| extent as i64).collect()).into())
}

pub(super) fn constant_of_shape(inputs: &mut Inputs<'_>, setting: &Setting) -> Outcome<Value> {
    let wanted = inputs.integers(0)?;
    let shape: Option<Vec<usize>> =
        wanted.values.iter().map(|&extent| usize::try_from(extent).ok()).collect();
    let count = shape.as_ref().and_then(|shape| product(shape)).filter(|&count| count < 1 << 24);
    let (Some(shape), Some(count)) = (shape, count) else { return inputs.refuse("must have a small shape") };
    let filling = inputs.node.attributes.get("value").and_then(|value| value.tensor.as_ref());
    let integer = filling.and_then(|filling| filling.integers.first());
    if let Some(&value) = integer {
        return Ok(Integers { shape, values: vec![value; count] }.into());
    }
    let value = filling.and_then(|filling| filling.floats.first()).copied().unwrap_or(0.0);
    let floats = Floats::of_values(&vec![value; count], &shape, &setting.device);
    inputs.or_refuse(floats, "must have a small shape").map(Value::from)
}
