//! Networks as ONNX files: read as PyTorch writes them, written so that others can run them.
//!
//! Only what networks are made of here is known: [`read`] lists the operators. The format is small enough to be read and
//! written by hand, field by field (`wire.rs`), and that saves a compiler of schemas.

mod model;
mod read;
mod wire;
mod write;

pub use read::read;
pub use write::write;

/// What the input and the output of a written network are called.
const INPUT: &str = "input";
const OUTPUT: &str = "logits";
