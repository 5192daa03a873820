//! What is in a model file, as a document: what `model --json` prints.

use serde::Serialize;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.model/1";

/// A model file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelDescription<'a> {
    /// Name and version of the layout.
    pub schema: &'static str,
    /// The file, as the user named it.
    pub file: &'a str,
    /// Digest of its bytes.
    pub digest: &'a str,
    /// The program that wrote it, if the file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<&'a str>,
    /// Version of the ONNX operators.
    pub opset: i64,
    /// Number of parameters.
    pub parameters: u64,
    /// What the model takes.
    pub inputs: Vec<PortDescription<'a>>,
    /// What it returns.
    pub outputs: Vec<PortDescription<'a>>,
    /// Its nodes, in the order of the file.
    pub layers: Vec<LayerDescription<'a>>,
    /// Version of the program that wrote this document.
    pub version: &'static str,
}

/// An input or an output of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PortDescription<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type of its numbers.
    pub element: &'a str,
    /// Its shape; null if the file does not say.
    pub shape: Option<Vec<ExtentDescription<'a>>>,
    /// Samples per call, if the file fixes their number; inputs only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Whether an output ends in a softmax.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub softmax: bool,
}

/// A number, or the name under which a shape leaves one open.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ExtentDescription<'a> {
    /// A number.
    Fixed(usize),
    /// A name.
    Dynamic(&'a str),
}

/// A node of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerDescription<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it computes.
    pub operator: &'a str,
    /// The shape of its first value; null if the file does not say.
    pub shape: Option<Vec<ExtentDescription<'a>>>,
    /// Number of its parameters.
    pub parameters: u64,
}
