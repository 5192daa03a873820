//! The messages of an ONNX file, as far as they are needed, read and written by `prost`.
//!
//! Numbers of fields are those of `onnx.proto`; fields that are not listed here are skipped. A field that may be 0 or empty
//! but must be written is optional. This is the only file that uses `prost`.

use prost::Message;

/// Types of attributes, by their number in `onnx.proto`.
pub(super) const FLOAT: i32 = 1;
pub(super) const INT: i32 = 2;
pub(super) const INTS: i32 = 7;
/// Types of elements, likewise.
pub(super) const FLOAT32: i32 = 1;
pub(super) const INT32: i32 = 6;
pub(super) const INT64: i32 = 7;
pub(super) const BOOL: i32 = 9;
pub(super) const FLOAT64: i32 = 11;
/// Where the values of a tensor are: in another file.
pub(super) const EXTERNAL: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ModelProto {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<OperatorSetIdProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSetIdProto {
    #[prost(string, optional, tag = "1")]
    pub(super) domain: Option<String>,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<NodeProto>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<ValueInfoProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<AttributeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AttributeProto {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(float, optional, tag = "2")]
    pub(super) f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub(super) i: Option<i64>,
    #[prost(string, optional, tag = "4")]
    pub(super) s: Option<String>,
    #[prost(message, optional, tag = "5")]
    pub(super) t: Option<TensorProto>,
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub(super) floats: Vec<f32>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub(super) ints: Vec<i64>,
    #[prost(int32, tag = "20")]
    pub(super) r#type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorProto {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(float, repeated, tag = "4")]
    pub(super) float_data: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    pub(super) int32_data: Vec<i32>,
    #[prost(int64, repeated, tag = "7")]
    pub(super) int64_data: Vec<i64>,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub(super) raw_data: Vec<u8>,
    #[prost(message, repeated, tag = "13")]
    pub(super) external_data: Vec<EntryProto>,
    #[prost(int32, tag = "14")]
    pub(super) data_location: i32,
}

/// A name and what it stands for.
#[derive(Clone, PartialEq, Message)]
pub(super) struct EntryProto {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfoProto {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) r#type: Option<TypeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor_type: Option<TensorTypeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorTypeProto {
    #[prost(int32, tag = "1")]
    pub(super) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<ShapeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) dim: Vec<DimensionProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DimensionProto {
    /// Either this, or a name for an extent that is left open.
    #[prost(int64, optional, tag = "1")]
    pub(super) dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) dim_param: Option<String>,
}

/// Bytes that are no such message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

pub(super) fn decode(bytes: &[u8]) -> Result<ModelProto, Malformed> {
    ModelProto::decode(bytes).map_err(|_| Malformed)
}

pub(super) fn encode(model: &ModelProto) -> Vec<u8> {
    model.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the rules of Protocol Buffers: key = number · 8 + kind, then the value.
    #[test]
    fn fields_have_the_numbers_of_the_format() {
        let attribute =
            AttributeProto { name: "a".to_owned(), i: Some(0), r#type: INT, ..Default::default() };
        let node = NodeProto { op_type: "Relu".to_owned(), attribute: vec![attribute], ..Default::default() };
        let graph = GraphProto { node: vec![node], ..Default::default() };
        let model = ModelProto { ir_version: 300, graph: Some(graph), ..Default::default() };
        let attribute = [0x0a, 1, b'a', 0x18, 0, 0xa0, 1, 2];
        let node = [&[0x22, 4][..], b"Relu", &[0x2a, 8], &attribute].concat();
        let graph = [&[0x0a, 16][..], &node].concat();
        let bytes = [&[0x08, 0xac, 2, 0x3a, 18][..], &graph].concat();
        assert_eq!(encode(&model), bytes);
        assert_eq!(decode(&bytes), Ok(model));
    }

    /// As older writers have it: numbers one by one, or packed.
    #[test]
    fn repeated_numbers_are_read_packed_or_not() {
        for bytes in [&[0x42, 2, 5, 6][..], &[0x40, 5, 0x40, 6]] {
            assert_eq!(AttributeProto::decode(bytes).unwrap().ints, [5, 6]);
        }
    }

    #[test]
    fn lengths_that_are_not_there_are_refused() {
        for bytes in
            [&[0x12, 200, 1, 0][..], &[0x0d, 1, 2], &[0x80; 12], &[0x08], &[0x0b], &[0x3a, 255, 255, 3]]
        {
            assert_eq!(decode(bytes), Err(Malformed), "{bytes:?}");
        }
    }
}
