//! Networks as ONNX files: read as PyTorch writes them, written so that others can run them.
//!
//! [`read`] turns the operators that networks are made of here into layers, which can be trained; it lists them. `graph` runs and
//! differentiates other networks, operator by operator. `wire.rs` defines the needed messages of the format for `prost`, so no
//! protobuf compiler is needed.

mod external;
mod graph;
#[cfg(test)]
mod made;
mod model;
mod problem;
mod read;
mod wire;
mod write;

pub(crate) use graph::Graph;
pub use read::read;
pub use write::write;

/// What the input and the output of a written network are called.
const INPUT: &str = "input";
const OUTPUT: &str = "logits";
