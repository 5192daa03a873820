//! From layers to an ONNX file, operator set 17.

use super::wire::Message;
use super::{INPUT, OUTPUT};
use crate::network::{Layer, Network, Operation, Source, Window};

/// Types of attributes and elements, by their number in `onnx.proto`.
const FLOAT: i64 = 1;
const INT: i64 = 2;
const INTS: i64 = 7;
const FLOAT32: i64 = 1;
const INT64: i64 = 7;

/// The bytes of an ONNX file: one input `input` `[n, …]`, one output `logits` `[n, classes]`, n left open.
pub fn write(network: &Network) -> Vec<u8> {
    let mut graph = Message::default().text(2, "network");
    for (index, layer) in network.layers().iter().enumerate() {
        for node in nodes(network, index, layer) {
            graph = graph.message(1, &node);
        }
    }
    for parameter in network.parameters() {
        let raw: Vec<u8> = parameter.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let shape = constant_shape(network, &parameter.name, &parameter.shape);
        graph = graph.message(5, &tensor(&parameter.name, &shape, FLOAT32, &raw));
    }
    for (index, layer) in network.layers().iter().enumerate() {
        if let Operation::Subsample { before, after } = layer.operation {
            for (name, values) in shortcut_constants(index, before, after) {
                let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                graph = graph.message(5, &tensor(&name, &[values.len()], INT64, &raw));
            }
        }
    }
    graph = graph
        .message(11, &value_info(INPUT, network.input_shape()))
        .message(12, &value_info(OUTPUT, &[network.outputs()]));
    let operators = Message::default().text(1, "").integer(2, 17);
    Message::default()
        .integer(1, 8)
        .text(2, "spadework")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(7, &graph)
        .message(8, &operators)
        .0
}

/// Constants for channels of images are as broadcasting needs them, `[1, C, 1, 1]`.
fn constant_shape(network: &Network, name: &str, shape: &[usize]) -> Vec<usize> {
    let of_images = network.layers().iter().any(|layer| {
        matches!(layer.operation, Operation::Offset | Operation::Scale)
            && network.shape(layer.inputs[0]).len() == 3
            && network.parameters()[layer.parameters[0]].name == name
    });
    if of_images { vec![1, shape[0], 1, 1] } else { shape.to_vec() }
}

fn nodes(network: &Network, index: usize, layer: &Layer) -> Vec<Message> {
    let (output, mut inputs) = (value_name(network, Source::Layer(index)), Vec::new());
    inputs.extend(layer.inputs.iter().map(|&source| value_name(network, source)));
    inputs.extend(layer.parameters.iter().map(|&at| network.parameters()[at].name.clone()));
    let one = |operator: &str, attributes: Vec<Message>| vec![node(operator, &inputs, &output, attributes)];
    match &layer.operation {
        Operation::Convolution { stride, padding } => {
            let shape = &network.parameters()[layer.parameters[0]].shape;
            let window = Window { size: [shape[2], shape[3]], stride: *stride, padding: *padding };
            one("Conv", window_attributes(window))
        }
        Operation::BatchNorm { epsilon } => {
            one("BatchNormalization", vec![float("epsilon", *epsilon as f32)])
        }
        Operation::Linear => one("Gemm", vec![integer("transB", 1)]),
        Operation::Relu => one("Relu", vec![]),
        Operation::Tanh => one("Tanh", vec![]),
        Operation::MaxPool(window) => one("MaxPool", window_attributes(*window)),
        Operation::AveragePool(window) => {
            let mut attributes = window_attributes(*window);
            attributes.push(integer("count_include_pad", 1));
            one("AveragePool", attributes)
        }
        Operation::GlobalAveragePool => one("GlobalAveragePool", vec![]),
        Operation::Flatten => one("Flatten", vec![integer("axis", 1)]),
        Operation::Add | Operation::Offset => one("Add", vec![]),
        Operation::Scale => one("Mul", vec![]),
        Operation::Subsample { before, after } => {
            let names: Vec<String> =
                shortcut_constants(index, *before, *after).into_iter().map(|(name, _)| name).collect();
            let kept = format!("{output}.kept");
            let [starts, ends, axes, steps, pads] = names.as_slice() else { unreachable!("five constants") };
            let slice = [&inputs[0], starts, ends, axes, steps].map(Clone::clone);
            vec![
                node("Slice", &slice, &kept, vec![]),
                node("Pad", &[kept.clone(), pads.clone()], &output, vec![]),
            ]
        }
    }
}

/// Starts, ends, axes, steps of the slice and the extents of the padding.
fn shortcut_constants(index: usize, before: usize, after: usize) -> Vec<(String, Vec<i64>)> {
    let name = |what: &str| format!("shortcut{index}.{what}");
    vec![
        (name("starts"), vec![0, 0]),
        (name("ends"), vec![i64::MAX, i64::MAX]),
        (name("axes"), vec![2, 3]),
        (name("steps"), vec![2, 2]),
        (name("pads"), vec![0, before as i64, 0, 0, 0, after as i64, 0, 0]),
    ]
}

/// A number goes in front of the layer's name, so that no two are alike and none is that of a parameter.
fn value_name(network: &Network, source: Source) -> String {
    match source {
        Source::Input => INPUT.to_owned(),
        Source::Layer(index) if index + 1 == network.layers().len() => OUTPUT.to_owned(),
        Source::Layer(index) => format!("{index}/{}", network.layers()[index].name),
    }
}

fn node(operator: &str, inputs: &[String], output: &str, attributes: Vec<Message>) -> Message {
    let mut node = Message::default();
    for input in inputs {
        node = node.text(1, input);
    }
    node = node.text(2, output).text(3, output).text(4, operator);
    attributes.into_iter().fold(node, |node, attribute| node.message(5, &attribute))
}

fn window_attributes(window: Window) -> Vec<Message> {
    let Window { size, stride, padding: [above, left] } = window;
    vec![
        integers("kernel_shape", &size),
        integers("strides", &stride),
        integers("pads", &[above, left, above, left]),
    ]
}

fn integer(name: &str, value: i64) -> Message {
    Message::default().text(1, name).integer(3, value).integer(20, INT)
}

fn float(name: &str, value: f32) -> Message {
    Message::default().text(1, name).float(2, value).integer(20, FLOAT)
}

fn integers(name: &str, values: &[usize]) -> Message {
    let message = Message::default().text(1, name);
    values.iter().fold(message, |message, &value| message.integer(8, value as i64)).integer(20, INTS)
}

fn tensor(name: &str, shape: &[usize], element: i64, raw: &[u8]) -> Message {
    let message = shape.iter().fold(Message::default(), |message, &extent| message.integer(1, extent as i64));
    message.integer(2, element).text(8, name).bytes(9, raw)
}

fn value_info(name: &str, sample: &[usize]) -> Message {
    let open = Message::default().text(2, "n");
    let extents = sample.iter().fold(Message::default().message(1, &open), |extents, &extent| {
        extents.message(1, &Message::default().integer(1, extent as i64))
    });
    let kind = Message::default().integer(1, FLOAT32).message(2, &extents);
    Message::default().text(1, name).message(2, &Message::default().message(1, &kind))
}
