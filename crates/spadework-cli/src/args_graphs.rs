//! What a user may type about graphs: `spadework graphs`, and which graphs to keep.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use spadework::graph::{GraphKind, Weights};

use crate::args::{GeneralArgs, TerminalArgs, text};
use crate::args_model::NetworkArgs;

/// Which graphs to keep.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SaveGraphsArgs {
    /// Also write both graphs into --out, as input_graph and output_graph, in these formats
    #[arg(long, value_enum, value_name = "FORMATS", value_delimiter = ',', requires = "out")]
    pub(crate) save_graphs: Vec<GraphFormat>,
}

/// Formats of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// A list of edges: p,q or p,q,weight
    Csv,
    /// A SciPy matrix, for scipy.sparse.load_npz
    Npz,
    /// PETSc's binary layout, for MatLoad
    Petsc,
}

impl From<GraphFormat> for spadework_app::GraphFormat {
    fn from(format: GraphFormat) -> Self {
        match format {
            GraphFormat::Csv => spadework_app::GraphFormat::Csv,
            GraphFormat::Npz => spadework_app::GraphFormat::Npz,
            GraphFormat::Petsc => spadework_app::GraphFormat::Petsc,
        }
    }
}

/// What is compared by default.
const KINDS: &str = "knn,mutual,pca:0.95,cknn:1,sparse:density=2";
const WEIGHTS: &str = "unit,gaussian";

/// `spadework graphs`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct GraphsArgs {
    /// The model's inputs
    #[arg(long, value_name = "ARRAY", value_parser = text())]
    pub(crate) inputs: String,
    /// The model's outputs; for a classifier the values right before the softmax
    #[arg(long, value_name = "ARRAY", value_parser = text(), required_unless_present = "model")]
    pub(crate) outputs: Option<String>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Kinds of graphs, separated by commas; knn is always the first, and the others are compared with it
    #[arg(long, help_heading = "Method", value_name = "KINDS", value_delimiter = ',', default_value = KINDS)]
    pub(crate) graph: Vec<GraphKind>,
    /// Edge weights, separated by commas: every kind of graph with each of these
    #[arg(long, help_heading = "Method", value_name = "WEIGHTS", value_delimiter = ',', default_value = WEIGHTS)]
    pub(crate) weights: Vec<Weights>,
    /// How many of the most fragile samples to compare
    #[arg(long, help_heading = "Method", value_name = "N", default_value = "100")]
    pub(crate) top: NonZeroUsize,
    /// Neighbors per sample, k
    #[arg(short = 'k', long, help_heading = "Method", value_name = "K", default_value_t = 10)]
    pub(crate) neighbors: usize,
    #[command(flatten)]
    pub(crate) general: GeneralArgs,
    /// Write graphs.json and graphs.csv into this folder
    #[arg(long, help_heading = "Output", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}
