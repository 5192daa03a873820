//! What a score would take: what `score --plan --json` prints.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.plan/2";

/// What a score would take, estimated from a trial on some of its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// Number of samples.
    pub samples: usize,
    /// Numbers per input sample.
    pub input_dim: usize,
    /// Numbers per output sample.
    pub output_dim: usize,
    /// Requested neighbors per sample, k.
    pub neighbors: usize,
    /// Samples that the trial was made on.
    pub tried_on: usize,
    /// Threads.
    pub threads: usize,
    /// Expected times.
    pub seconds: PlannedSeconds,
    /// Expected memory.
    pub memory: PlannedMemory,
    /// How neighbors among the inputs will be searched: `exact`, or `approximate` if `exact` would take too long.
    pub search: String,
    /// What the trial says about the connectivity of the output graph.
    pub connectivity: PlannedConnectivity,
    /// Version of the program that wrote it.
    pub version: String,
}

/// Wall-clock seconds by stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PlannedSeconds {
    /// Running the model; 0 if outputs are given.
    pub model: f64,
    /// Neighbors among the inputs.
    pub neighbors_input: f64,
    /// Neighbors among the outputs.
    pub neighbors_output: f64,
    /// Building and connecting the graphs.
    pub graphs: f64,
    /// Eigenpairs.
    pub eigen: f64,
    /// Numerical bounds of the score.
    pub numerical_bounds: f64,
    /// Edge and node scores.
    pub scores: f64,
    /// All of these.
    pub total: f64,
}

/// Bytes by purpose.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMemory {
    /// The inputs.
    pub inputs: u64,
    /// Whether the inputs are in a mapped file, of which the system keeps as much in memory as fits.
    pub inputs_mapped: bool,
    /// The outputs.
    pub outputs: u64,
    /// The larger of the two searches, at most, and copies of samples that are standardized or compared by their cosine.
    pub search: u64,
    /// Graphs, eigenvectors with the basis that they are found in, and scores.
    pub graphs: u64,
    /// The peak: everything in memory at one time.
    pub total: u64,
    /// What the machine has available now, if the system says so.
    pub available: Option<u64>,
}

/// Whether the requested k is large enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedConnectivity {
    /// Components of the trial's output graph with the requested neighbors.
    pub output_components: usize,
    /// Neighbors that the trial used.
    pub neighbors_used: usize,
}
