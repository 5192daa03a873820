//! Networks as ONNX files: read as PyTorch writes them, written so that others can run them.
//!
//! Only what networks are made of here is known: [`read`] lists the operators. `wire.rs` has the messages of the format that
//! are needed, defined for `prost`, so that no compiler of schemas is.

mod model;
mod read;
mod wire;
mod write;

pub use read::read;
pub use write::write;

/// What the input and the output of a written network are called.
const INPUT: &str = "input";
const OUTPUT: &str = "logits";
