//! Writes a part of a graph as a separate model, with the nodes, weights, input and outputs that it needs.

use std::collections::HashSet;

use super::join::{Columns, JOINED};
use super::plan::{Part, Plan};
use super::proto::{Graph, Model, Node, Tensor, element};
use super::shapes::{Rewrite, Setting};
use super::split::Split;

/// A field that holds bytes.
fn put(to: &mut Vec<u8>, number: u64, content: &[u8]) {
    put_varint(to, number << 3 | 2);
    put_varint(to, content.len() as u64);
    to.extend_from_slice(content);
}

/// A field that holds an integer.
fn put_int(to: &mut Vec<u8>, number: u64, value: i64) {
    put_varint(to, number << 3);
    put_varint(to, value.cast_unsigned());
}

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Everything but the graph as it was, and another graph.
fn with_graph(model: &Model, bytes: &[u8], graph: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(graph.len() + 1024);
    for span in &model.kept {
        written.extend_from_slice(&bytes[span.clone()]);
    }
    put(&mut written, 7, graph);
    written
}

/// Name and type of a value, as far as they are needed.
fn value_info(name: &str, kind: Option<(i32, &[usize])>) -> Vec<u8> {
    let mut info = Vec::new();
    put(&mut info, 1, name.as_bytes());
    if let Some((element, shape)) = kind {
        let mut extents = Vec::new();
        for &extent in shape {
            let mut dimension = Vec::new();
            put_int(&mut dimension, 1, extent as i64);
            put(&mut extents, 1, &dimension);
        }
        return tensor_info(name, element, &extents);
    }
    info
}

/// Name and type of a tensor, by its encoded extents.
fn tensor_info(name: &str, element: i32, extents: &[u8]) -> Vec<u8> {
    let (mut info, mut tensor, mut kind) = (Vec::new(), Vec::new(), Vec::new());
    put(&mut info, 1, name.as_bytes());
    put_int(&mut tensor, 1, i64::from(element));
    put(&mut tensor, 2, extents);
    put(&mut kind, 1, &tensor);
    put(&mut info, 2, &kind);
    info
}

fn put_weights(to: &mut Vec<u8>, graph: &Graph, bytes: &[u8], part: &Part<'_>) {
    for tensor in graph.initializers.iter().filter(|tensor| part.values.contains(tensor.name.as_str())) {
        put(to, 5, &bytes[tensor.span.clone()]);
    }
}

fn put_outputs(to: &mut Vec<u8>, outputs: &[&str]) {
    // Any value can be an output; its type follows from the graph.
    for output in outputs {
        put(to, 12, &value_info(output, None));
    }
}

/// For the built-in engine: inputs have their shapes, and nodes have no names, which it would mix up with those of values.
pub(super) fn for_engine(
    model: &Model,
    graph: &Graph,
    bytes: &[u8],
    part: &Part<'_>,
    plan: &Plan,
    split: &Split,
    inputs: &[(String, &[usize])],
) -> Vec<u8> {
    let mut written = Vec::new();
    let mut read: HashSet<&str> = HashSet::new();
    for (at, (node, rewrite)) in part.nodes.iter().zip(&plan.rewrites).enumerate() {
        if split.known.contains(&at) {
            put_known(&mut written, node, plan);
        } else if !split.ours.contains(&at) {
            read.extend(node.reads());
            put(&mut written, 1, &rewritten(node, rewrite, bytes));
        }
    }
    let outputs = split.makes();
    read.extend(outputs.iter().map(String::as_str));
    put(&mut written, 2, b"graph");
    for tensor in graph.initializers.iter().filter(|tensor| read.contains(tensor.name.as_str())) {
        put(&mut written, 5, &bytes[tensor.span.clone()]);
    }
    for (name, shape) in inputs {
        put(&mut written, 11, &value_info(name, Some((element::FLOAT, shape))));
    }
    put_outputs(&mut written, &outputs.iter().map(String::as_str).collect::<Vec<_>>());
    with_graph(model, bytes, &written)
}

/// For onnxruntime: everything as it was, but for what is not needed.
pub(super) fn for_onnxruntime(
    model: &Model,
    graph: &Graph,
    bytes: &[u8],
    part: &Part<'_>,
    outputs: &[&str],
) -> Vec<u8> {
    let mut written = Vec::new();
    for node in &part.nodes {
        put(&mut written, 1, &bytes[node.span.clone()]);
    }
    put(&mut written, 2, b"graph");
    put_weights(&mut written, graph, bytes, part);
    for input in graph.inputs.iter().filter(|input| part.values.contains(input.name.as_str())) {
        put(&mut written, 11, &bytes[input.span.clone()]);
    }
    put_outputs(&mut written, outputs);
    with_graph(model, bytes, &written)
}

/// The value of a node instead of the node.
fn put_known(to: &mut Vec<u8>, node: &Node, plan: &Plan) {
    let values = node.outputs.iter().filter_map(|name| Some((name, plan.values.get(name)?)));
    for (name, value) in values {
        let mut tensor = Vec::new();
        for &extent in &value.shape {
            put_int(&mut tensor, 1, extent as i64);
        }
        put_int(&mut tensor, 2, i64::from(value.element));
        put(&mut tensor, 8, name.as_bytes());
        put(&mut tensor, 9, &value.raw().unwrap_or_default());
        put(to, 5, &tensor);
    }
}

fn rewritten(node: &Node, rewrite: &Rewrite, bytes: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    let at_most = if rewrite.identity { 1 } else { usize::MAX };
    for input in node.inputs.iter().take(at_most) {
        put(&mut written, 1, input.as_bytes());
    }
    for output in node.outputs.iter().take(at_most) {
        put(&mut written, 2, output.as_bytes());
    }
    if rewrite.identity {
        put(&mut written, 4, b"Identity");
        return written;
    }
    put(&mut written, 4, node.operator.as_bytes());
    let is_set =
        |name: &str| rewrite.set.iter().any(|(set, _)| *set == name) || rewrite.left_out.contains(&name);
    for attribute in node.attributes.iter().filter(|attribute| !is_set(&attribute.name)) {
        put(&mut written, 5, &bytes[attribute.span.clone()]);
    }
    for (name, setting) in &rewrite.set {
        put(&mut written, 5, &attribute(name, setting));
    }
    written
}

fn attribute(name: &str, setting: &Setting) -> Vec<u8> {
    const INT: i64 = 2;
    const INTS: i64 = 7;
    let mut written = Vec::new();
    put(&mut written, 1, name.as_bytes());
    match setting {
        Setting::Int(int) => {
            put_int(&mut written, 3, *int);
            put_int(&mut written, 20, INT);
        }
        Setting::Ints(ints) => {
            for &int in ints {
                put_int(&mut written, 8, int);
            }
            put_int(&mut written, 20, INTS);
        }
    }
    written
}

/// The whole file with one input, whose columns go into several.
pub(super) fn joined(model: &Model, graph: &Graph, bytes: &[u8], columns: &[Columns<'_>]) -> Vec<u8> {
    let (mut written, mut weights, mut first) = (Vec::new(), Vec::new(), 0);
    for (at, input) in columns.iter().enumerate() {
        let (places, taken) = (format!("{JOINED}.{at}"), format!("{JOINED}.{at}.taken"));
        put(&mut weights, 5, &integers(&places, first..first + input.width));
        first += input.width;
        let is_float = input.element == element::FLOAT;
        let made = if is_float { input.name } else { &taken };
        put(&mut written, 1, &node("Gather", &[JOINED, &places], made, ("axis", 1)));
        if !is_float {
            put(&mut written, 1, &node("Cast", &[&taken], input.name, ("to", i64::from(input.element))));
        }
    }
    for node in &graph.nodes {
        put(&mut written, 1, &bytes[node.span.clone()]);
    }
    put(&mut written, 2, b"graph");
    for tensor in &graph.initializers {
        put(&mut written, 5, &bytes[tensor.span.clone()]);
    }
    written.extend(weights);
    put(&mut written, 11, &open_rows(JOINED, first));
    let joined: HashSet<&str> = columns.iter().map(|input| input.name).collect();
    for input in graph.inputs.iter().filter(|input| !joined.contains(input.name.as_str())) {
        put(&mut written, 11, &bytes[input.span.clone()]);
    }
    for output in &graph.outputs {
        put(&mut written, 12, &bytes[output.span.clone()]);
    }
    with_graph(model, bytes, &written)
}

/// A node with one output and an attribute that is an integer.
fn node(operator: &str, inputs: &[&str], output: &str, (name, value): (&str, i64)) -> Vec<u8> {
    let mut written = Vec::new();
    for input in inputs {
        put(&mut written, 1, input.as_bytes());
    }
    put(&mut written, 2, output.as_bytes());
    put(&mut written, 4, operator.as_bytes());
    put(&mut written, 5, &attribute(name, &Setting::Int(value)));
    written
}

/// A tensor of integers in a row.
fn integers(name: &str, values: std::ops::Range<usize>) -> Vec<u8> {
    let mut written = Vec::new();
    put_int(&mut written, 1, values.len() as i64);
    put_int(&mut written, 2, i64::from(element::INT64));
    put(&mut written, 8, name.as_bytes());
    let raw: Vec<u8> = values.flat_map(|value| (value as i64).to_le_bytes()).collect();
    put(&mut written, 9, &raw);
    written
}

/// Rows of so many numbers of single precision, any number of them.
fn open_rows(name: &str, width: usize) -> Vec<u8> {
    let (mut rows, mut columns, mut extents) = (Vec::new(), Vec::new(), Vec::new());
    put(&mut rows, 2, b"rows");
    put_int(&mut columns, 1, width as i64);
    put(&mut extents, 1, &rows);
    put(&mut extents, 1, &columns);
    tensor_info(name, element::FLOAT, &extents)
}

/// The whole file with weights that lay in files of their own.
pub(super) fn with_weights<E>(
    model: &Model,
    graph: &Graph,
    bytes: &[u8],
    mut read: impl FnMut(&Tensor) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let mut written = Vec::new();
    for node in &graph.nodes {
        put(&mut written, 1, &bytes[node.span.clone()]);
    }
    put(&mut written, 2, b"graph");
    for tensor in &graph.initializers {
        if tensor.external.is_none() {
            put(&mut written, 5, &bytes[tensor.span.clone()]);
            continue;
        }
        let mut whole = Vec::new();
        tensor.dims.iter().for_each(|&extent| put_int(&mut whole, 1, extent));
        put_int(&mut whole, 2, i64::from(tensor.element));
        put(&mut whole, 8, tensor.name.as_bytes());
        put(&mut whole, 9, &read(tensor)?);
        put(&mut written, 5, &whole);
    }
    for input in &graph.inputs {
        put(&mut written, 11, &bytes[input.span.clone()]);
    }
    for output in &graph.outputs {
        put(&mut written, 12, &bytes[output.span.clone()]);
    }
    Ok(with_graph(model, bytes, &written))
}
