//! The graph of an ONNX file, with its names looked up and its constants unpacked.

use std::collections::HashMap;
use std::path::Path;

use super::external::Folder;
use super::wire::{
    self, AttributeProto, BOOL, EXTERNAL, FLOAT32, FLOAT64, GraphProto, INT32, INT64, Malformed, NodeProto,
    OperatorSetIdProto, TensorProto, ValueInfoProto,
};

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) graph: Graph,
    /// The version of the standard operators.
    pub(super) opset: i64,
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) constants: HashMap<String, Constant>,
    /// Name and shape; zero stands for an extent that is left open.
    pub(super) inputs: Vec<(String, Vec<i64>)>,
    pub(super) outputs: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) operator: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) attributes: HashMap<String, Attribute>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Attribute {
    pub(super) float: Option<f32>,
    pub(super) floats: Vec<f32>,
    pub(super) integer: Option<i64>,
    pub(super) integers: Vec<i64>,
    pub(super) text: Option<String>,
    pub(super) tensor: Option<Constant>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Constant {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) floats: Vec<f32>,
    pub(super) integers: Vec<i64>,
    /// Values in another file, of another type, or not as many as the shape says.
    pub(super) unreadable: Option<String>,
}

impl Model {
    /// Reads the bytes of the file at this path, next to which there may be files of weights.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Malformed> {
        let model = wire::decode(bytes)?;
        let standard =
            |set: &&OperatorSetIdProto| matches!(set.domain.as_deref(), None | Some("" | "ai.onnx"));
        let opset = model.opset_import.iter().find(standard).map_or(1, |set| set.version);
        let graph = model.graph.map(|graph| Graph::new(graph, Folder::of(path))).transpose()?;
        Ok(Self { graph: graph.unwrap_or_default(), opset })
    }
}

impl Graph {
    fn new(graph: GraphProto, mut folder: Folder<'_>) -> Result<Self, Malformed> {
        let constants = graph.initializer.into_iter().map(|tensor| Constant::in_folder(tensor, &mut folder));
        let constants = constants.map(|constant| constant.map(|constant| (constant.name.clone(), constant)));
        Ok(Self {
            nodes: graph.node.into_iter().map(Node::new).collect::<Result<_, _>>()?,
            constants: constants.collect::<Result<_, _>>()?,
            inputs: graph.input.into_iter().map(name_and_shape).collect(),
            outputs: graph.output.into_iter().map(|output| output.name).collect(),
        })
    }
}

impl Graph {
    /// The name and the shape of the one input that is not a constant; otherwise what is wrong.
    pub(super) fn only_input(&self) -> Result<(&str, &[i64]), String> {
        let inputs: Vec<_> =
            self.inputs.iter().filter(|(name, _)| !self.constants.contains_key(name)).collect();
        match inputs.as_slice() {
            [(name, shape)] => Ok((name, shape)),
            inputs => Err(format!("expected one input, got {}", inputs.len())),
        }
    }

    /// Whether a node gives the output of the graph.
    pub(super) fn gives_output(&self, node: &Node) -> bool {
        node.outputs.first().is_some_and(|name| self.outputs.contains(name))
    }
}

impl Node {
    fn new(node: NodeProto) -> Result<Self, Malformed> {
        let attributes = node.attribute.into_iter().map(Attribute::new);
        Ok(Self {
            operator: node.op_type,
            inputs: node.input,
            outputs: node.output,
            attributes: attributes.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn integer(&self, name: &str, default: i64) -> i64 {
        self.attributes.get(name).and_then(|attribute| attribute.integer).unwrap_or(default)
    }

    pub(super) fn integers(&self, name: &str, default: &[i64]) -> Vec<i64> {
        self.attributes.get(name).map_or_else(|| default.to_vec(), |attribute| attribute.integers.clone())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).and_then(|attribute| attribute.text.as_deref())
    }

    pub(super) fn float(&self, name: &str, default: f32) -> f32 {
        self.attributes.get(name).and_then(|attribute| attribute.float).unwrap_or(default)
    }
}

impl Attribute {
    fn new(attribute: AttributeProto) -> Result<(String, Self), Malformed> {
        let AttributeProto { name, f, i, s, t, floats, ints, .. } = attribute;
        let tensor = t.map(Constant::new).transpose()?;
        Ok((name, Self { float: f, floats, integer: i, integers: ints, text: s, tensor }))
    }
}

impl Constant {
    /// A weight of the whole graph, which may be in a file of its own.
    fn in_folder(mut tensor: TensorProto, folder: &mut Folder<'_>) -> Result<Self, Malformed> {
        if tensor.data_location != EXTERNAL {
            return Self::new(tensor);
        }
        match folder.bytes(&tensor) {
            Ok(bytes) => {
                tensor.data_location = 0;
                tensor.raw_data = bytes;
                Self::new(tensor)
            }
            Err(reason) => Ok(Self { unreadable: Some(reason), ..Self::new(tensor)? }),
        }
    }

    fn new(tensor: TensorProto) -> Result<Self, Malformed> {
        let shape = tensor.dims.iter().map(|&extent| usize::try_from(extent).map_err(|_| Malformed));
        let mut constant = Self {
            shape: shape.collect::<Result<_, _>>()?,
            name: tensor.name,
            floats: tensor.float_data,
            integers: tensor
                .int64_data
                .into_iter()
                .chain(tensor.int32_data.into_iter().map(i64::from))
                .collect(),
            unreadable: (tensor.data_location != 0).then(|| "values in another file".to_owned()),
        };
        constant.unpack(tensor.data_type, &tensor.raw_data);
        Ok(constant)
    }

    fn unpack(&mut self, kind: i32, raw: &[u8]) {
        let eight = || raw.as_chunks::<8>().0.iter();
        let values = match kind {
            FLOAT32 => {
                self.floats.extend(raw.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
                self.floats.len()
            }
            FLOAT64 => {
                self.floats.extend(eight().map(|bytes| f64::from_le_bytes(*bytes) as f32));
                self.floats.len()
            }
            INT64 => {
                self.integers.extend(eight().map(|bytes| i64::from_le_bytes(*bytes)));
                self.integers.len()
            }
            INT32 => {
                let four = raw.as_chunks::<4>().0.iter();
                self.integers.extend(four.map(|bytes| i64::from(i32::from_le_bytes(*bytes))));
                self.integers.len()
            }
            BOOL => {
                self.integers.extend(raw.iter().map(|&byte| i64::from(byte)));
                self.integers.len()
            }
            _ => 0,
        };
        let expected = self.shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        let problem = match kind {
            FLOAT32 | FLOAT64 | INT64 | INT32 | BOOL if expected != Some(values) => {
                Some("another number of values than its shape says")
            }
            // A network would be as large as the other extents say, which no values vouch for.
            FLOAT32 | FLOAT64 | INT64 | INT32 | BOOL if values == 0 => Some("no values"),
            FLOAT32 | FLOAT64 | INT64 | INT32 | BOOL => None,
            _ => Some("values that are neither floats of 32 or 64 bits nor integers"),
        };
        self.unreadable = self.unreadable.take().or(problem.map(str::to_owned));
    }
}

/// A shape for messages, with a question mark for each extent that is left open.
pub(super) fn shape_in_words(shape: &[i64]) -> String {
    let extents: Vec<String> =
        shape.iter().map(|&extent| if extent == 0 { "?".to_owned() } else { extent.to_string() }).collect();
    format!("[{}]", extents.join(", "))
}

/// Name and shape of an input or output of a graph; zero stands for an extent that is left open.
fn name_and_shape(value: ValueInfoProto) -> (String, Vec<i64>) {
    let shape = value.r#type.and_then(|kind| kind.tensor_type).and_then(|tensor| tensor.shape);
    let extents = shape.into_iter().flat_map(|shape| shape.dim).map(|extent| extent.dim_value.unwrap_or(0));
    (value.name, extents.collect())
}
