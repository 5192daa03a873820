//! From layers to an ONNX file, operator set 17.

use super::wire::{
    AttributeProto, DimensionProto, FLOAT, FLOAT32, GraphProto, INT, INT64, INTS, ModelProto, NodeProto,
    OperatorSetIdProto, ShapeProto, TensorProto, TensorTypeProto, TypeProto, ValueInfoProto, encode,
};
use super::{INPUT, OUTPUT};
use crate::network::{Layer, Network, Operation, Source, Window};

/// The bytes of an ONNX file: one input `input` `[n, …]`, one output `logits` `[n, classes]`, n left open.
pub fn write(network: &Network) -> Vec<u8> {
    let layers = || network.layers().iter().enumerate();
    let weights = network.parameters().iter().map(|parameter| {
        let raw = parameter.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let shape = constant_shape(network, &parameter.name, &parameter.shape);
        tensor(&parameter.name, &shape, FLOAT32, raw)
    });
    let shortcuts = layers().filter_map(|(index, layer)| match layer.operation {
        Operation::Subsample { before, after } => Some(shortcut_constants(index, before, after)),
        _ => None,
    });
    let extents = shortcuts.flatten().map(|(name, values)| {
        let raw = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        tensor(&name, &[values.len()], INT64, raw)
    });
    let graph = GraphProto {
        name: "network".to_owned(),
        node: layers().flat_map(|(index, layer)| nodes(network, index, layer)).collect(),
        initializer: weights.chain(extents).collect(),
        input: vec![value_info(INPUT, network.input_shape())],
        output: vec![value_info(OUTPUT, &[network.outputs()])],
    };
    encode(&ModelProto {
        ir_version: 8,
        producer_name: "spadework".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: 17 }],
    })
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

fn nodes(network: &Network, index: usize, layer: &Layer) -> Vec<NodeProto> {
    let (output, mut inputs) = (value_name(network, Source::Layer(index)), Vec::new());
    inputs.extend(layer.inputs.iter().map(|&source| value_name(network, source)));
    inputs.extend(layer.parameters.iter().map(|&at| network.parameters()[at].name.clone()));
    let one =
        |operator: &str, attributes: Vec<AttributeProto>| vec![node(operator, &inputs, &output, attributes)];
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

fn node(operator: &str, inputs: &[String], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        input: inputs.to_vec(),
        output: vec![output.to_owned()],
        name: output.to_owned(),
        op_type: operator.to_owned(),
        attribute,
    }
}

fn window_attributes(window: Window) -> Vec<AttributeProto> {
    let Window { size, stride, padding: [above, left] } = window;
    vec![
        integers("kernel_shape", &size),
        integers("strides", &stride),
        integers("pads", &[above, left, above, left]),
    ]
}

fn integer(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), i: Some(value), r#type: INT, ..AttributeProto::default() }
}

fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { name: name.to_owned(), f: Some(value), r#type: FLOAT, ..AttributeProto::default() }
}

fn integers(name: &str, values: &[usize]) -> AttributeProto {
    let ints = values.iter().map(|&value| value as i64).collect();
    AttributeProto { name: name.to_owned(), ints, r#type: INTS, ..AttributeProto::default() }
}

fn tensor(name: &str, shape: &[usize], data_type: i32, raw_data: Vec<u8>) -> TensorProto {
    let dims = shape.iter().map(|&extent| extent as i64).collect();
    TensorProto { dims, data_type, name: name.to_owned(), raw_data, ..TensorProto::default() }
}

fn value_info(name: &str, sample: &[usize]) -> ValueInfoProto {
    let open = DimensionProto { dim_value: None, dim_param: Some("n".to_owned()) };
    let fixed = |&extent: &usize| DimensionProto { dim_value: Some(extent as i64), dim_param: None };
    let shape = ShapeProto { dim: std::iter::once(open).chain(sample.iter().map(fixed)).collect() };
    let tensor = TensorTypeProto { elem_type: FLOAT32, shape: Some(shape) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}
