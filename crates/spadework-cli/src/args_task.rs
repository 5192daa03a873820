//! What a user may say about the outputs.

use clap::{Args, ValueEnum};

/// What the outputs are.
#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// What the outputs are
    #[arg(long, help_heading = "Data", value_enum, value_name = "TASK", default_value_t = Task::Auto)]
    pub(crate) task: Task,
}

/// [`spadework_probe::Task`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Task {
    /// Classes if there are several outputs per sample, or one output and labels of two values; otherwise a regression.
    /// Several outputs are an embedding if the labels show that they are not classes, or if there are no labels and all rows have
    /// the length 1 or are compared by cosine distance, but are not probabilities
    Auto,
    /// One number per class, or one for two classes
    Classes,
    /// Coordinates: no accuracy, margins or fragility by margins
    Embedding,
    /// Predicted numbers: --probe measures how far they move, in standard deviations of the targets (--labels) or of the outputs
    Regression,
}

impl From<Task> for spadework_probe::Task {
    fn from(task: Task) -> Self {
        match task {
            Task::Auto => Self::Auto,
            Task::Classes => Self::Classes,
            Task::Embedding => Self::Embedding,
            Task::Regression => Self::Regression,
        }
    }
}
