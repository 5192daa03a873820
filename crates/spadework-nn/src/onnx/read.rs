//! From the operators of an ONNX graph to layers.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::model::{Constant, Graph, Model, Node, shape_in_words};
use super::problem::{Outcome, Problem, refuse};
use crate::network::{Network, NetworkBuilder, Operation, Source, Window};
use crate::{Error, Result};

/// The operators that are understood.
const OPERATORS: &str = "Conv, Gemm, MatMul, BatchNormalization, Relu, Tanh, MaxPool, AveragePool, GlobalAveragePool, \
                         Flatten, Reshape to rows, Add, Sub, Mul, Div, Slice and Pad of a shortcut, Identity, Dropout, Constant, and Softmax \
                         at the end, which is left out";

/// Reads a network from the bytes of an ONNX file. `path` is for messages.
///
/// Operators: Conv, Gemm, MatMul, BatchNormalization, Relu, Tanh, MaxPool, AveragePool, GlobalAveragePool, Flatten, Reshape
/// to rows, Add, Sub, Mul, Div, Slice and Pad of a shortcut, Identity, Dropout and Constant. A Softmax at the end is left
/// out: the outputs of a network are the values before it.
///
/// # Errors
/// When the file is not an ONNX file, or its graph has other operators.
pub fn read(path: &Path, bytes: &[u8]) -> Result<Network> {
    let refuse = |reason: String| Error::Model { path: path.to_owned(), reason };
    let model = Model::parse(path, bytes)
        .map_err(|_| refuse("expected an ONNX file, got other or incomplete bytes".to_owned()))?;
    if model.graph.nodes.is_empty() {
        return Err(refuse("expected an ONNX file with a graph, got none".to_owned()));
    }
    Reader::new(&model.graph).and_then(Reader::finish).map_err(|problem| refuse(problem.0))
}

struct Reader<'a> {
    graph: &'a Graph,
    builder: NetworkBuilder,
    /// Where the value of each name comes from.
    values: HashMap<&'a str, Source>,
    /// Constants that are nodes.
    constants: HashMap<&'a str, &'a Constant>,
    /// Nodes that were read together with an earlier one.
    done: HashSet<usize>,
    layer_names: HashSet<String>,
}

impl<'a> Reader<'a> {
    fn new(graph: &'a Graph) -> Outcome<Self> {
        let (name, shape) = graph.only_input().map_err(Problem)?;
        let sample: Vec<usize> =
            shape.iter().skip(1).map(|&extent| usize::try_from(extent).unwrap_or(0)).collect();
        if sample.contains(&0) || !matches!(sample.len(), 1 | 3) {
            let got = shape_in_words(shape);
            return Err(Problem(format!(
                "the input `{name}` must have shape [n, values] or [n, channels, height, width], got {got}"
            )));
        }
        let builder = NetworkBuilder::new(&sample)?;
        Ok(Self {
            graph,
            builder,
            values: HashMap::from([(name, Source::Input)]),
            constants: graph.constants.iter().map(|(name, constant)| (name.as_str(), constant)).collect(),
            done: HashSet::new(),
            layer_names: HashSet::new(),
        })
    }

    fn finish(mut self) -> Outcome<Network> {
        for (at, node) in self.graph.nodes.iter().enumerate() {
            if !self.done.contains(&at) {
                self.node(node)?;
            }
        }
        let [output] = self.graph.outputs.as_slice() else {
            return Err(Problem(format!("expected one output, got {}", self.graph.outputs.len())));
        };
        if self.values.get(output.as_str()) != Some(&self.builder.last()) {
            return Err(Problem(format!("the output `{output}` must come from the last operator")));
        }
        Ok(self.builder.finish()?)
    }

    fn node(&mut self, node: &'a Node) -> Outcome<()> {
        let operation = match node.operator.as_str() {
            "Conv" => return self.convolution(node),
            "Gemm" => return self.gemm(node),
            "MatMul" => return self.product(node),
            "BatchNormalization" => return self.batch_norm(node),
            "Add" | "Sub" | "Mul" | "Div" => return self.arithmetic(node),
            "Slice" => return self.shortcut(node),
            "Identity" | "Dropout" => return self.same(node),
            "Softmax" | "LogSoftmax" => {
                return if self.graph.gives_output(node) {
                    self.same(node)
                } else {
                    refuse(node, "must be the last one")
                };
            }
            "Constant" => match node.attributes.get("value").and_then(|value| value.tensor.as_ref()) {
                Some(tensor) => {
                    self.constants.extend(node.outputs.first().map(|name| (name.as_str(), tensor)));
                    return Ok(());
                }
                None => return refuse(node, "must have a tensor as its value"),
            },
            "Reshape" => self.reshape(node)?,
            "Flatten" if node.integer("axis", 1) == 1 => Operation::Flatten,
            "Relu" => Operation::Relu,
            "Tanh" => Operation::Tanh,
            "GlobalAveragePool" => Operation::GlobalAveragePool,
            "MaxPool" => Operation::MaxPool(window(node)?),
            "AveragePool" => {
                let window = window(node)?;
                if window.padding != [0, 0] && node.integer("count_include_pad", 0) == 0 {
                    return refuse(node, "must count its padding");
                }
                Operation::AveragePool(window)
            }
            _ => return refuse(node, &format!("is not understood; there are {OPERATORS}")),
        };
        self.add(node, operation, &[self.value(node, 0)?], Vec::new())
    }

    /// Adds a layer that gives the first output of a node.
    fn add(
        &mut self,
        node: &'a Node,
        operation: Operation,
        inputs: &[Source],
        parameters: Vec<(Vec<usize>, Vec<f32>)>,
    ) -> Outcome<()> {
        let name = self.layer_name(node);
        let source = self.builder.layer(&name, operation, inputs, parameters)?;
        self.values.extend(node.outputs.first().map(|name| (name.as_str(), source)));
        Ok(())
    }

    /// The name of the module that a weight belongs to, as PyTorch has it; otherwise that of the output.
    fn layer_name(&mut self, node: &Node) -> String {
        let weight = node.inputs.get(1).and_then(|name| name.strip_suffix(".weight"));
        let name = weight.or(node.outputs.first().map(String::as_str)).unwrap_or_default().to_owned();
        let mut unique = name.clone();
        for count in 2.. {
            if self.layer_names.insert(unique.clone()) {
                break;
            }
            unique = format!("{name}_{count}");
        }
        unique
    }

    fn value(&self, node: &Node, at: usize) -> Outcome<Source> {
        match node.inputs.get(at).and_then(|name| self.values.get(name.as_str())) {
            Some(&source) => Ok(source),
            None => refuse(node, &format!("must take the value of an operator as its input {at}")),
        }
    }

    fn constant(&self, node: &Node, at: usize) -> Outcome<&'a Constant> {
        let Some(constant) = node.inputs.get(at).and_then(|name| self.constants.get(name.as_str())) else {
            return refuse(node, &format!("must have a constant as its input {at}"));
        };
        match &constant.unreadable {
            None => Ok(constant),
            Some(problem) => refuse(node, &format!("has a constant with {problem}")),
        }
    }

    /// A constant of numbers that are computed with; integers are none.
    fn weights(&self, node: &Node, at: usize) -> Outcome<&'a Constant> {
        let constant = self.constant(node, at)?;
        if constant.floats.is_empty() {
            return refuse(node, &format!("must have floats as its input {at}"));
        }
        Ok(constant)
    }

    fn same(&mut self, node: &'a Node) -> Outcome<()> {
        let source = self.value(node, 0)?;
        self.values.extend(node.outputs.first().map(|name| (name.as_str(), source)));
        Ok(())
    }

    fn convolution(&mut self, node: &'a Node) -> Outcome<()> {
        if node.integer("group", 1) != 1 {
            return refuse(node, "must have one group");
        }
        let weight = self.weights(node, 1)?;
        let &[out, _, height, width] = weight.shape.as_slice() else {
            return refuse(node, "must have a weight of four dimensions");
        };
        let Window { stride, padding, .. } = sides(node, [height, width])?;
        let bias = if node.inputs.len() > 2 { self.weights(node, 2)?.floats.clone() } else { vec![0.0; out] };
        let parameters = vec![(weight.shape.clone(), weight.floats.clone()), (vec![bias.len()], bias)];
        self.add(node, Operation::Convolution { stride, padding }, &[self.value(node, 0)?], parameters)
    }

    fn gemm(&mut self, node: &'a Node) -> Outcome<()> {
        let plain = node.float("alpha", 1.0) == 1.0 && node.float("beta", 1.0) == 1.0;
        if !plain || node.integer("transA", 0) != 0 {
            return refuse(node, "must have alpha = beta = 1 and transA = 0");
        }
        let weight = self.matrix(node, node.integer("transB", 0) == 0)?;
        let bias = if node.inputs.len() > 2 { Some(self.weights(node, 2)?.floats.clone()) } else { None };
        self.linear(node, weight, bias)
    }

    /// A product with a constant, and the sum with a constant behind it as its bias.
    fn product(&mut self, node: &'a Node) -> Outcome<()> {
        let weight = self.matrix(node, true)?;
        let sum = self.only_user(node).filter(|(_, user)| user.operator == "Add");
        let bias = sum.and_then(|(at, user)| {
            let constant = user.inputs.iter().find_map(|name| self.constants.get(name.as_str()))?;
            Some((at, user, constant.floats.clone()))
        });
        let Some((at, user, bias)) = bias else { return self.linear(node, weight, None) };
        self.linear(node, weight, Some(bias))?;
        self.done.insert(at);
        let source = self.builder.last();
        self.values.extend(user.outputs.first().map(|name| (name.as_str(), source)));
        Ok(())
    }

    fn linear(
        &mut self,
        node: &'a Node,
        weight: (Vec<usize>, Vec<f32>),
        bias: Option<Vec<f32>>,
    ) -> Outcome<()> {
        let bias = bias.unwrap_or_else(|| vec![0.0; weight.0[0]]);
        let parameters = vec![weight, (vec![bias.len()], bias)];
        self.add(node, Operation::Linear, &[self.value(node, 0)?], parameters)
    }

    /// A weight as `[out, in]`.
    fn matrix(&self, node: &Node, transposed: bool) -> Outcome<(Vec<usize>, Vec<f32>)> {
        let weight = self.weights(node, 1)?;
        let &[rows, columns] = weight.shape.as_slice() else {
            return refuse(node, "must have a weight of two dimensions");
        };
        if !transposed {
            return Ok((weight.shape.clone(), weight.floats.clone()));
        }
        let turned = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
        Ok((vec![columns, rows], turned.map(|at| weight.floats[at]).collect()))
    }

    fn batch_norm(&mut self, node: &'a Node) -> Outcome<()> {
        let mut parameters = Vec::new();
        for at in 1..5 {
            let constant = self.weights(node, at)?;
            parameters.push((constant.shape.clone(), constant.floats.clone()));
        }
        let epsilon = f64::from(node.float("epsilon", 1e-5));
        self.add(node, Operation::BatchNorm { epsilon }, &[self.value(node, 0)?], parameters)
    }

    /// The sum of two values, or one value and a constant for each channel.
    fn arithmetic(&mut self, node: &'a Node) -> Outcome<()> {
        let name = |at: usize| node.inputs.get(at).map_or("", String::as_str);
        if node.operator == "Add" && self.values.contains_key(name(0)) && self.values.contains_key(name(1)) {
            return self.add(node, Operation::Add, &[self.value(node, 0)?, self.value(node, 1)?], Vec::new());
        }
        let turned = self.constants.contains_key(name(0));
        if turned && matches!(node.operator.as_str(), "Sub" | "Div") {
            return refuse(node, "must have its constant second");
        }
        let (value, constant) =
            (self.value(node, usize::from(turned))?, self.weights(node, usize::from(!turned))?);
        // [1, C, 1, 1] and [C, 1, 1] for images, [C] and [1, C] for rows.
        let along = constant.shape.iter().filter(|&&extent| extent != 1).count();
        let images = self.builder.shape(value).len() == 3;
        let trailing = constant.shape.len() >= 3 && constant.shape.ends_with(&[1, 1]);
        if along > 1 || (images && along == 1 && !trailing) {
            return refuse(node, "must have one constant for each channel");
        }
        let (operation, change): (_, fn(f32) -> f32) = match node.operator.as_str() {
            "Add" => (Operation::Offset, |c| c),
            "Sub" => (Operation::Offset, |c| -c),
            "Mul" => (Operation::Scale, |c| c),
            _ => (Operation::Scale, |c| 1.0 / c),
        };
        let constants: Vec<f32> = constant.floats.iter().map(|&c| change(c)).collect();
        self.add(node, operation, &[value], vec![(vec![constants.len()], constants)])
    }

    /// Every second pixel, and the padding with channels of zeros behind it.
    fn shortcut(&mut self, node: &'a Node) -> Outcome<()> {
        let list = |at: usize| self.constant(node, at).map(|constant| constant.integers.clone());
        let (starts, ends, axes, steps) = (list(1)?, list(2)?, list(3)?, list(4)?);
        let source = self.value(node, 0)?;
        let whole = |axis: usize, end: i64| {
            self.builder.shape(source).get(axis - 1).is_some_and(|&extent| end >= extent as i64)
        };
        let all = matches!(ends.as_slice(), &[down, right] if whole(2, down) && whole(3, right));
        if starts != [0, 0] || axes != [2, 3] || steps != [2, 2] || !all {
            return refuse(node, "must take every second pixel");
        }
        let Some((at, pad)) = self.only_user(node).filter(|(_, user)| user.operator == "Pad") else {
            return self.add(node, Operation::Subsample { before: 0, after: 0 }, &[source], Vec::new());
        };
        let &[0, before, 0, 0, 0, after, 0, 0] = self.constant(pad, 1)?.integers.as_slice() else {
            return refuse(pad, "must add channels only");
        };
        let (Ok(before), Ok(after)) = (usize::try_from(before), usize::try_from(after)) else {
            return refuse(pad, "must add channels, not take them away");
        };
        self.done.insert(at);
        self.add(pad, Operation::Subsample { before, after }, &[source], Vec::new())
    }

    /// A reshape that gives one row per sample.
    fn reshape(&self, node: &Node) -> Outcome<Operation> {
        let size: usize = self.builder.shape(self.value(node, 0)?).iter().product();
        match self.constant(node, 1)?.integers.as_slice() {
            [_, columns] if *columns == -1 || *columns == size as i64 => Ok(Operation::Flatten),
            _ => refuse(node, "must give one row per sample"),
        }
    }

    /// The node that takes the value of another, where there is one only.
    fn only_user(&self, node: &Node) -> Option<(usize, &'a Node)> {
        let name = node.outputs.first()?;
        let graph: &'a Graph = self.graph;
        let mut users = graph.nodes.iter().enumerate().filter(|(_, user)| user.inputs.contains(name));
        users.next().filter(|_| users.next().is_none() && !graph.outputs.contains(name))
    }
}

fn window(node: &Node) -> Outcome<Window> {
    let &[height, width] = node.integers("kernel_shape", &[]).as_slice() else {
        return refuse(node, "must have a window of two dimensions");
    };
    if node.integer("ceil_mode", 0) != 0 {
        return refuse(node, "must not round up");
    }
    let (Ok(height), Ok(width)) = (usize::try_from(height), usize::try_from(width)) else {
        return refuse(node, "must have a window of positive size");
    };
    sides(node, [height, width])
}

/// Stride and padding, where they are such as we know.
fn sides(node: &Node, size: [usize; 2]) -> Outcome<Window> {
    let automatic = node.attributes.get("auto_pad").and_then(|attribute| attribute.text.as_deref());
    let dilations = node.integers("dilations", &[1, 1]);
    let (strides, pads) = (node.integers("strides", &[1, 1]), node.integers("pads", &[0; 4]));
    let (&[down, right], &[above, left, below, behind]) = (strides.as_slice(), pads.as_slice()) else {
        return refuse(node, "must work on images");
    };
    if dilations != [1, 1]
        || (above, left) != (below, behind)
        || !matches!(automatic, None | Some("NOTSET" | "VALID"))
    {
        return refuse(node, "must have no dilation, and the same padding on both sides");
    }
    let small = |value: i64| usize::try_from(value).ok().filter(|&value| value < 1 << 16);
    match (small(down), small(right), small(above), small(left)) {
        (Some(down), Some(right), Some(above), Some(left)) => {
            Ok(Window { size, stride: [down, right], padding: [above, left] })
        }
        _ => refuse(node, "must have positive steps and paddings"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{file, integers, list, node};
    use super::super::wire::{FLOAT32, TensorProto};
    use super::*;

    /// What is said of a file with one operator and these constants behind its input.
    fn message(operator: &str, input: &[i64], constants: Vec<TensorProto>) -> String {
        let names: Vec<String> = (0..constants.len()).map(|at| format!("c{at}")).collect();
        let node = node(operator, &format!("x {}", names.join(" ")), "y", vec![]);
        read(Path::new("net.onnx"), &file(input, vec![node], constants)).unwrap_err().to_string()
    }

    /// As many integers as the shape says, and no float at all.
    #[test]
    fn weights_that_are_integers_are_refused() {
        let text = message("MatMul", &[0, 2], vec![integers(&[2, 2], &[1, 0, 0, 1])]);
        assert!(text.contains("must have floats as its input 1"), "{text}");
    }

    /// No value is missing, but a bias for every row would fill the memory.
    #[test]
    fn weights_without_values_are_refused() {
        let dims = vec![1 << 40, 0, 1, 1];
        let weight = TensorProto { dims, data_type: FLOAT32, ..TensorProto::default() };
        let text = message("Conv", &[0, 1, 4, 4], vec![weight]);
        assert!(text.contains("has a constant with no values"), "{text}");
    }

    #[test]
    fn a_slice_with_fewer_ends_than_axes_is_refused() {
        let constants = [&[0, 0][..], &[4], &[2, 3], &[2, 2]].map(list);
        let text = message("Slice", &[0, 1, 4, 4], constants.to_vec());
        assert!(text.contains("must take every second pixel"), "{text}");
    }
}
