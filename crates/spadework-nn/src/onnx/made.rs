//! Small ONNX files for tests.

use super::wire::{
    AttributeProto, DimensionProto, FLOAT32, GraphProto, INT64, ModelProto, NodeProto, OperatorSetIdProto,
    ShapeProto, TensorProto, TensorTypeProto, TypeProto, ValueInfoProto, encode,
};

pub(super) fn integers(dims: &[i64], values: &[i64]) -> TensorProto {
    let (dims, int64_data) = (dims.to_vec(), values.to_vec());
    TensorProto { dims, data_type: INT64, int64_data, ..TensorProto::default() }
}

/// A list of integers.
pub(super) fn list(values: &[i64]) -> TensorProto {
    integers(&[values.len() as i64], values)
}

pub(super) fn floats(dims: &[i64], values: &[f32]) -> TensorProto {
    let (dims, float_data) = (dims.to_vec(), values.to_vec());
    TensorProto { dims, data_type: FLOAT32, float_data, ..TensorProto::default() }
}

pub(super) fn number(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), i: Some(value), ..AttributeProto::default() }
}

pub(super) fn numbers(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { name: name.to_owned(), ints: values.to_vec(), ..AttributeProto::default() }
}

/// An operator from named values to named values.
pub(super) fn node(operator: &str, inputs: &str, outputs: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    let names = |names: &str| names.split_whitespace().map(str::to_owned).collect();
    NodeProto {
        input: names(inputs),
        output: names(outputs),
        op_type: operator.to_owned(),
        attribute,
        ..NodeProto::default()
    }
}

/// A file with the input `x` of this shape (0 is open), the output `y`, and constants `c0`, `c1` …
pub(super) fn file(input: &[i64], nodes: Vec<NodeProto>, constants: Vec<TensorProto>) -> Vec<u8> {
    let value = |name: &str, extents: &[i64]| {
        let dim = extents.iter().map(|&e| DimensionProto { dim_value: Some(e), dim_param: None }).collect();
        let tensor = TensorTypeProto { elem_type: FLOAT32, shape: Some(ShapeProto { dim }) };
        ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
    };
    let named = |(at, tensor): (usize, TensorProto)| TensorProto { name: format!("c{at}"), ..tensor };
    let graph = GraphProto {
        node: nodes,
        initializer: constants.into_iter().enumerate().map(named).collect(),
        input: vec![value("x", input)],
        output: vec![value("y", &[0, 2])],
        ..GraphProto::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: None, version: 17 }];
    encode(&ModelProto { graph: Some(graph), opset_import, ..ModelProto::default() })
}
