//! A trained network as a document: what `train --json` prints and its folder keeps.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.train/1";
/// Name and version of the layout of what a run was started with.
pub const RUN_SCHEMA: &str = "spadework.run/1";

/// A finished training run. Parameters and epochs are those of the trainer (`spadework-nn`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrainDocument<'a, Params: Serialize, Epoch: Serialize> {
    /// Name and version of the layout.
    pub schema: &'static str,
    /// What it was started with; also in a separate file.
    pub run: &'a RunDocument,
    /// The parameters of training.
    pub params: &'a Params,
    /// Numbers that were trained.
    pub trained_values: usize,
    /// One entry per epoch.
    pub epochs: &'a [Epoch],
}

/// What a run was started with, so that it can resume: everything except the content of the checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunDocument {
    /// Name and version of the layout.
    pub schema: String,
    /// The command.
    pub command: String,
    /// Where the command was typed; paths are relative to it.
    pub folder: Option<String>,
    /// The architecture, or the file of a network to continue with.
    pub model: String,
    /// What it is trained and tested on, as fields of the document itself.
    #[serde(flatten)]
    pub examples: RunData,
    /// Whether inputs are normalized by the mean and deviation of the training inputs.
    pub normalize: bool,
    /// What guides the training, as fields of the document itself.
    #[serde(flatten)]
    pub guides: RunGuides,
    /// Version of the program that wrote it.
    pub version: String,
}

/// What a network is trained and tested on, as the user named it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunData {
    /// The training inputs.
    pub data: String,
    /// Their labels, if they were named.
    pub labels: Option<String>,
    /// The test inputs.
    pub test: Option<String>,
    /// Their labels.
    pub test_labels: Option<String>,
    /// How many samples were used, if not all.
    pub limit: Option<NonZeroUsize>,
}

/// What guides the training of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunGuides {
    /// The network that scored the samples.
    pub scorer: Option<PathBuf>,
    /// The network that was imitated.
    pub teacher: Option<PathBuf>,
    /// The file of node scores.
    pub node_scores: Option<String>,
}
