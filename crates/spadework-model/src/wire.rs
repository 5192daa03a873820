//! Checks the bytes of a model file before they are decoded.
//!
//! ONNX is Protocol Buffers: fields of a number, a wire type and a value, nested. Two bytes can stand for a message that takes
//! a kilobyte of memory, so a small file could fill it. This walk follows the nesting, checks that every field lies within its
//! message, and adds up what a decoder would have to allocate; nothing is allocated here.

use super::error::ModelError;

/// Messages nested deeper than this are no graph that an exporter writes; a decoder follows them on its stack.
const MOST_NESTED: usize = 48;
/// Nodes of all graphs together, and so for tensors. The largest networks in use have some tens of thousands.
const MOST_PARTS: usize = 1 << 16;
/// Bytes that messages may take in memory, in addition to the numbers in them.
const MOST_MEMORY: usize = 1 << 29;

/// Kinds of message, as far as they hold others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Training,
    Function,
    Graph,
    Node,
    Attribute,
    Tensor,
    SparseTensor,
    ValueInfo,
    Annotation,
    Type,
    TensorType,
    Shape,
    /// Text, numbers, or a message that holds nothing else.
    Leaf,
}

impl Kind {
    /// What the field of that number holds in a message of this kind; the numbers are those of `onnx.proto`.
    fn field(self, number: u64) -> Kind {
        match (self, number) {
            (Kind::Model, 7) | (Kind::Training, 1 | 2) | (Kind::Attribute, 6 | 11) => Kind::Graph,
            (Kind::Model, 20) => Kind::Training,
            (Kind::Model, 25) => Kind::Function,
            (Kind::Graph, 1) | (Kind::Function, 7) => Kind::Node,
            (Kind::Graph, 5) | (Kind::Attribute, 5 | 10) | (Kind::SparseTensor, 1 | 2) => Kind::Tensor,
            (Kind::Graph, 11..=13) => Kind::ValueInfo,
            (Kind::Graph, 14) => Kind::Annotation,
            (Kind::Graph, 15) | (Kind::Attribute, 22 | 23) => Kind::SparseTensor,
            (Kind::Node, 5) | (Kind::Function, 11) => Kind::Attribute,
            (Kind::Attribute, 14 | 15) | (Kind::ValueInfo, 2) => Kind::Type,
            (Kind::Type, 1) => Kind::TensorType,
            (Kind::TensorType, 2) => Kind::Shape,
            _ => Kind::Leaf,
        }
    }

    /// About what one takes in memory, the numbers in it left out.
    fn memory(self) -> usize {
        match self {
            Kind::Attribute => 1400,
            Kind::Training | Kind::Function | Kind::Graph | Kind::Tensor | Kind::SparseTensor => 640,
            Kind::Node | Kind::Model => 256,
            _ => 96,
        }
    }
}

/// Checks a file from its first to its last byte.
pub(super) fn check(bytes: &[u8]) -> Result<(), ModelError> {
    let mut walk = Walk { at: 0, bytes, memory: 0, nodes: 0, tensors: 0, graphs: 0, operator_sets: 0 };
    walk.message(Kind::Model, bytes.len(), 0)?;
    if walk.graphs == 0 {
        return Err(ModelError::NotOnnx { reason: "it holds no graph".to_owned() });
    }
    // Every model must name its operators, and exporters do so at the end: without them, a file is cut off.
    if walk.operator_sets == 0 {
        return Err(ModelError::NotOnnx { reason: "it names no set of operators".to_owned() });
    }
    Ok(())
}

struct Walk<'a> {
    at: usize,
    bytes: &'a [u8],
    memory: usize,
    nodes: usize,
    tensors: usize,
    graphs: usize,
    operator_sets: usize,
}

impl Walk<'_> {
    fn message(&mut self, kind: Kind, end: usize, nested: usize) -> Result<(), ModelError> {
        if nested > MOST_NESTED {
            return Err(limit("nested messages", MOST_NESTED));
        }
        while self.at < end {
            let began = self.at;
            let tag = self.varint(end)?;
            let (number, wire) = (tag >> 3, tag & 7);
            let skipped = match wire {
                0 => {
                    self.varint(end)?;
                    0
                }
                1 => 8,
                5 => 4,
                2 => {
                    let length = self.varint(end)?;
                    self.operator_sets += usize::from(kind == Kind::Model && number == 8);
                    self.delimited(kind.field(number), length, end, nested)?;
                    0
                }
                _ => return Err(broken(began, "a field of an unknown type")),
            };
            if number == 0 {
                return Err(broken(began, "a field without a number"));
            }
            if end - self.at < skipped {
                return Err(broken(began, "a field that runs past the end"));
            }
            self.at += skipped;
        }
        Ok(())
    }

    fn delimited(&mut self, kind: Kind, length: u64, end: usize, nested: usize) -> Result<(), ModelError> {
        let left = end - self.at;
        if length > left as u64 {
            return Err(ModelError::Truncated { at: self.at, promised: length, left: left as u64 });
        }
        self.count(kind)?;
        let ends = self.at + length as usize;
        if kind == Kind::Leaf {
            self.at = ends;
            return Ok(());
        }
        self.message(kind, ends, nested + 1)
    }

    fn count(&mut self, kind: Kind) -> Result<(), ModelError> {
        self.memory += kind.memory();
        let (what, counted) = match kind {
            Kind::Node => ("nodes", &mut self.nodes),
            Kind::Tensor => ("tensors", &mut self.tensors),
            Kind::Graph => ("graphs", &mut self.graphs),
            _ if self.memory > MOST_MEMORY => return Err(limit("bytes of description", MOST_MEMORY)),
            _ => return Ok(()),
        };
        *counted += 1;
        if *counted > MOST_PARTS { Err(limit(what, MOST_PARTS)) } else { Ok(()) }
    }

    /// An integer of up to ten bytes, seven bits in each, the lowest first.
    fn varint(&mut self, end: usize) -> Result<u64, ModelError> {
        let began = self.at;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = match self.bytes.get(self.at) {
                Some(byte) if self.at < end => *byte,
                _ => return Err(broken(began, "a number that is cut off")),
            };
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(broken(began, "a number of more than ten bytes"))
    }
}

fn broken(at: usize, what: &str) -> ModelError {
    ModelError::NotOnnx { reason: format!("{what} at byte {at}") }
}

fn limit(what: &'static str, limit: usize) -> ModelError {
    ModelError::TooMany { what, limit }
}

#[cfg(test)]
#[path = "../tests/support/bytes.rs"]
mod bytes;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::bytes::field;

    fn message(bytes: &[u8]) -> String {
        check(bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_graph_is_enough_and_less_is_not() {
        check(&[field(7, b""), field(8, b"")].concat()).unwrap();
        assert_eq!(message(&field(7, b"")), "not a valid ONNX file: it names no set of operators");
        assert_eq!(message(b""), "not a valid ONNX file: it holds no graph");
        assert!(message(b"PK\x03\x04 a zip archive").starts_with("not a valid ONNX file: "));
        assert!(message(b"hello, world").starts_with("not a valid ONNX file: "));
    }

    #[test]
    fn a_field_that_promises_more_than_there_is_is_cut_off() {
        let mut bytes = field(7, &field(5, &[0; 100]));
        bytes.truncate(60);
        assert!(message(&bytes).contains("cut off"), "{}", message(&bytes));
    }

    /// Two bytes per node, each of which would take hundreds of bytes in memory and thousands in the engine.
    #[test]
    fn many_tiny_messages_are_refused() {
        let nodes = field(1, b"").repeat(MOST_PARTS + 1);
        assert_eq!(message(&field(7, &nodes)), "a model may have at most 65536 nodes, got more");
        let attributes = field(5, b"").repeat(1 << 20);
        let bytes = field(7, &field(1, &attributes));
        assert!(message(&bytes).contains("bytes of description"));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let mut graph = Vec::new();
        for _ in 0..1000 {
            graph = field(1, &field(5, &field(6, &graph)));
        }
        assert_eq!(message(&field(7, &graph)), "a model may have at most 48 nested messages, got more");
    }
}
