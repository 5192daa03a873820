//! What can go wrong with a model file, and with running it.

use spadework_io::Listed;

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A file that cannot be read, or a model that cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file of the model, or the samples it is run on.
    #[error(transparent)]
    File(#[from] spadework_io::Error),
    /// A model file, or a problem in running it.
    #[error("{name}: {cause}")]
    Model {
        /// The name of the file.
        name: String,
        /// What is wrong with it.
        cause: Box<ModelError>,
    },
}

/// Why a model was not opened, or gave no outputs. [`Error::Model`] puts the file's name before it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are explained by the messages they appear in")]
pub enum ModelError {
    /// The bytes are not those of a model.
    #[error("not a valid ONNX file: {reason}")]
    NotOnnx { reason: String },
    /// The file ends too early.
    #[error("the ONNX file is cut off: {promised} bytes are promised at byte {at}, got {left}")]
    Truncated { at: usize, promised: u64, left: u64 },
    /// More parts than any network has, which would fill the memory.
    #[error("a model may have at most {limit} {what}, got more")]
    TooMany { what: &'static str, limit: usize },
    /// A tensor whose number of values does not match its shape.
    #[error("tensor `{tensor}` of shape {shape:?} must hold {expected} bytes, got {got}")]
    TensorSize { tensor: String, shape: Vec<i64>, expected: String, got: u64 },
    /// Weights in a file of their own that does not exist.
    #[error(
        "tensor `{tensor}` is kept in the file `{file}` next to the model, which cannot be read: {reason}"
    )]
    ExternalData { tensor: String, file: String, reason: String },
    /// An operator that the built-in engine does not have.
    #[error(
        "the built-in engine does not know the operator {operator} of node `{node}`; onnxruntime may run it (pip install onnxruntime)"
    )]
    UnknownOperator { operator: String, node: String },
    /// An operator that the built-in engine has, but not like this.
    #[error(
        "the built-in engine cannot run {operator} of node `{node}`: {reason}; onnxruntime may run it (pip install onnxruntime)"
    )]
    NotBuiltIn { operator: String, node: String, reason: String },
    /// An operator whose outputs are random.
    #[error("node `{node}` is random ({operator}): its outputs would differ from run to run")]
    Random { operator: String, node: String },
    /// A name that the model does not have.
    #[error("there is no {what} `{asked}` in the model; it has {}", Listed(known))]
    NoSuchName { what: &'static str, asked: String, known: Vec<String> },
    /// Several inputs, of which only one can be given.
    #[error("output `{output}` needs the inputs {}, but only one can be given", Listed(inputs))]
    ManyInputs { output: String, inputs: Vec<String> },
    /// Several inputs that together take other numbers than a row has.
    #[error(
        "output `{output}` needs the inputs {}, which take {widths} numbers together, one input after the other; got rows of {got}",
        Listed(inputs)
    )]
    InputWidths { output: String, inputs: Vec<String>, widths: usize, got: usize },
    /// An input of words, which rows of numbers cannot be turned into.
    #[error(
        "output `{output}` needs the input `{input}`, which takes text, and rows are numbers: export the model behind an encoder of its categories, e.g. OrdinalEncoder"
    )]
    TextInput { output: String, input: String },
    /// An output that does not depend on an input.
    #[error("output `{output}` does not depend on an input")]
    NoInput { output: String },
    /// Rows that do not fit the input.
    #[error("input `{input}` takes samples of shape {expected}, got rows of {got}")]
    InputShape { input: String, expected: String, got: String },
    /// Elements that rows of numbers cannot be converted to.
    #[error("input `{input}` must take floating point numbers, got {element}")]
    InputType { input: String, element: String },
    /// An output that is not one row per sample.
    #[error("output `{output}` must have one row for each of {batch} samples, got shape {shape:?}")]
    OutputShape { output: String, batch: usize, shape: Vec<usize> },
    /// An output whose shape depends on the numbers that go in.
    #[error("output `{output}` must have the same shape for all samples")]
    OpenShape { output: String },
    /// A batch size that the model does not allow.
    #[error("the model is made for batches of {fixed}, got a batch size of {asked}")]
    FixedBatch { fixed: usize, asked: usize },
    /// There is no softmax at the end of the output.
    #[error("output `{output}` must end in a softmax to be taken before it, got {operator}")]
    NoSoftmax { output: String, operator: String },
    /// Means and deviations that do not go with the channels.
    #[error(
        "means and deviations must be one each or one per channel, got {got} each for samples of shape {shape}"
    )]
    Channels { got: usize, shape: String },
    /// A tensor beyond any sensible size.
    #[error("node `{node}` makes a tensor of shape {shape}, which is more than the allowed {limit} bytes")]
    HugeTensor { node: String, shape: String, limit: u64 },
    /// Constants beyond any sensible size.
    #[error(
        "at node `{node}`, values that do not depend on the input take more than the allowed {limit} bytes"
    )]
    HugeConstants { node: String, limit: u64 },
    /// Constants that take too long to compute.
    #[error(
        "at node `{node}`, values that do not depend on the input take more than the allowed {limit} multiplications"
    )]
    DearConstants { node: String, limit: u64 },
    /// A small file that asks for much work.
    #[error(
        "the model takes {got} multiplications per sample, most of them at node `{node}`, more than the {limit} that a file of {file} bytes may take"
    )]
    DearModel { node: String, file: u64, got: u64, limit: u64 },
    /// A small file that asks for much memory.
    #[error(
        "at node `{node}`, the values of one sample take {got} bytes, more than the {limit} that those of a file of {file} bytes may take"
    )]
    WideModel { node: String, file: u64, got: u64, limit: u64 },
    /// The built-in engine refuses the model.
    #[error(
        "the built-in engine cannot run this model: {reason}; onnxruntime may run it (pip install onnxruntime)"
    )]
    EngineRefuses { reason: String },
    /// No engine could run the model.
    #[error("the model cannot be run: {reason}")]
    Engine { reason: String },
    /// No library that could run it.
    #[error(
        "there is no onnxruntime on this machine: install it (pip install onnxruntime), or name the library in ORT_DYLIB_PATH"
    )]
    NoLibrary,
    /// The onnxruntime library cannot be used.
    #[error("onnxruntime: {reason}")]
    Library { reason: String },
    /// A batch failed.
    #[error("the model fails on rows {first} to {last}: {reason}")]
    Batch { first: usize, last: usize, reason: String },
    /// An output that is NaN or infinite.
    #[error("output `{output}` must be finite, got {value} at row {row}, column {column}")]
    NonFinite { output: String, row: usize, column: usize, value: f32 },
    /// The caller wants to stop.
    #[error("stopped")]
    Cancelled,
}

impl ModelError {
    /// Whether the built-in engine refused a model that another engine may run.
    pub(crate) fn is_of_the_built_in(&self) -> bool {
        matches!(
            self,
            ModelError::UnknownOperator { .. }
                | ModelError::NotBuiltIn { .. }
                | ModelError::EngineRefuses { .. }
        )
    }

    /// The same as the end of a sentence, without what to do about it.
    pub(crate) fn why_not_built_in(&self) -> String {
        self.to_string().split("; onnxruntime").next().unwrap_or_default().to_owned()
    }
}
