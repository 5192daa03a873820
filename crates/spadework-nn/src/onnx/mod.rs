//! Networks as ONNX files: read as PyTorch writes them, written so that others can run them.
//!
//! [`read`] turns the operators that networks are made of here into layers, which can be trained; it lists them. `graph` runs and
//! differentiates what others made, operator by operator. `wire.rs` has the messages of the format that
//! are needed, defined for `prost`, so that no compiler of schemas is.

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
