//! What a request names: arrays, graphs, models and labels, as files or in memory.

use std::borrow::Cow;

use spadework::Samples;
use spadework_io::corrupt::{Corruption, ImageShape};
use spadework_io::{Labels, LoadedGraph};
use spadework_model::RunOptions;
use spadework_probe::Task;

/// An array.
#[derive(Debug, Clone)]
pub enum ArraySource<'a> {
    /// An argument as typed: a file, an array in a file, or a data set by name.
    Named(&'a str),
    /// Rows in memory.
    Rows(Rows<'a>),
}

/// Rows in memory.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// Their name in messages: that of an argument.
    pub name: &'a str,
    /// The rows.
    pub samples: Samples<'a>,
    /// The shape before rows were flattened; its first extent is the number of samples.
    pub shape: Cow<'a, [usize]>,
}

/// A graph over the samples.
#[derive(Debug, Clone)]
pub enum GraphSource<'a> {
    /// A file.
    File(&'a str),
    /// A graph in memory.
    Loaded {
        /// What messages call it: the name of an argument.
        name: &'a str,
        /// The graph, and what was left out of its matrix.
        graph: LoadedGraph,
    },
}

/// The inputs of a model.
#[derive(Debug, Clone)]
pub enum InputSource<'a> {
    /// The samples themselves.
    Array(ArraySource<'a>),
    /// A graph instead of them.
    Graph(GraphSource<'a>),
}

/// The outputs of a model.
#[derive(Debug, Clone)]
pub enum OutputSource<'a> {
    /// The outputs themselves; a file that is named `*.onnx` is a model.
    Array(ArraySource<'a>),
    /// A graph instead of them.
    Graph(GraphSource<'a>),
    /// A model file that is run on the inputs.
    Model(&'a str),
}

/// The labels of the samples.
#[derive(Debug, Clone)]
pub enum LabelSource<'a> {
    /// What a user types, as for an array.
    Named(&'a str),
    /// Labels in memory.
    Given(Labels),
}

/// The names of the samples.
#[derive(Debug, Clone, Copy)]
pub enum IdSource<'a> {
    /// What a user types, as for an array.
    Named(&'a str),
    /// Names in memory.
    Given(&'a [String]),
}

/// A corruption of the inputs before they are used.
#[derive(Debug, Clone, Copy)]
pub struct CorruptionRequest {
    /// Its kind and severity.
    pub corruption: Corruption,
    /// The shape of an image, if the array does not show it.
    pub shape: Option<ImageShape>,
}

/// The inputs, outputs and labels of one model.
#[derive(Debug, Clone)]
pub struct ModelData<'a> {
    /// The inputs.
    pub inputs: InputSource<'a>,
    /// The outputs.
    pub outputs: OutputSource<'a>,
    /// The labels; those that come with the inputs by default.
    pub labels: Option<LabelSource<'a>>,
    /// The names of the samples.
    pub ids: Option<IdSource<'a>>,
    /// A corruption of the inputs; outputs that come from a file must be those of the corrupted inputs.
    pub corruption: Option<CorruptionRequest>,
    /// How a model is run.
    pub run: RunOptions,
    /// What the outputs are.
    pub task: Task,
}

/// The inputs, outputs and labels of several models.
#[derive(Debug, Clone)]
pub struct ModelsData<'a> {
    /// The inputs of all models.
    pub inputs: InputSource<'a>,
    /// The models by their names, in the order given.
    pub models: Vec<(String, OutputSource<'a>)>,
    /// The labels; those that come with the inputs by default.
    pub labels: Option<LabelSource<'a>>,
    /// The names of the samples.
    pub ids: Option<IdSource<'a>>,
    /// A corruption of the inputs.
    pub corruption: Option<CorruptionRequest>,
    /// How models are run.
    pub run: RunOptions,
    /// What the outputs are.
    pub task: Task,
}

impl<'a> ModelData<'a> {
    /// Inputs and outputs, without labels, corruption or options of a model.
    pub fn new(inputs: InputSource<'a>, outputs: OutputSource<'a>) -> Self {
        Self {
            inputs,
            outputs,
            labels: None,
            ids: None,
            corruption: None,
            run: RunOptions::default(),
            task: Task::Auto,
        }
    }
}

/// Whether an argument names a model rather than an array.
pub fn is_model(argument: &str) -> bool {
    let ending = ".onnx";
    argument.len() > ending.len()
        && argument.get(argument.len() - ending.len()..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

impl OutputSource<'_> {
    /// Whether it is a model file, which can be run and probed.
    pub(crate) fn is_model(&self) -> bool {
        match self {
            OutputSource::Model(_) => true,
            OutputSource::Array(ArraySource::Named(name)) => is_model(name),
            OutputSource::Array(ArraySource::Rows(_)) | OutputSource::Graph(_) => false,
        }
    }
}

impl<'a> GraphSource<'a> {
    /// What the user typed, or the name of an argument.
    pub(crate) fn name(&self) -> &'a str {
        match self {
            GraphSource::File(name) | GraphSource::Loaded { name, .. } => name,
        }
    }
}

impl<'a> IdSource<'a> {
    /// What the user typed, where names are in a file.
    pub(crate) fn name(self) -> Option<&'a str> {
        match self {
            IdSource::Named(name) => Some(name),
            IdSource::Given(_) => None,
        }
    }
}

impl<'a> LabelSource<'a> {
    /// What the user typed, where labels are named.
    pub(crate) fn name(&self) -> Option<&'a str> {
        match self {
            LabelSource::Named(name) => Some(name),
            LabelSource::Given(_) => None,
        }
    }
}
