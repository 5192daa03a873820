//! What a user may type after `graph`, `eigen` and `scores`, the stages of `score`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::args::{BoundsArgs, ModelArgs, SolvingArgs, TablesArgs, TerminalArgs, text, threads};
use crate::args_data::CorruptionArgs;
use crate::args_graphs::SaveGraphsArgs;

#[derive(Debug, Args)]
#[command(mut_arg("eigenpairs", |arg| arg.hide(true)), mut_arg("sketch_error", |arg| arg.hide(true)))]
#[command(mut_arg("solver", |arg| arg.hide(true)), mut_arg("tolerance", |arg| arg.hide(true)))]
#[command(mut_arg("certify", |arg| arg.hide(true)))]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) corruption: CorruptionArgs,
    /// The folder of the result; both graphs go into the folder `stages` in it
    #[arg(long, value_name = "RESULT", help_heading = "Output")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) graphs: SaveGraphsArgs,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EigenArgs {
    /// The folder of a result whose graphs were made by `spadework graph`, or put into RESULT/stages
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,
    /// Eigenpairs, r, to find
    #[arg(short = 'r', long, help_heading = "Method", value_name = "R", default_value_t = 2)]
    pub(crate) eigenpairs: usize,
    #[command(flatten)]
    pub(crate) solving: SolvingArgs,
    #[command(flatten)]
    pub(crate) bounds: BoundsArgs,
    /// Seed of everything random [default: that of the graphs]
    #[arg(long, help_heading = "Method", value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Threads to use; all cores by default. The result does not depend on it
    #[arg(long, help_heading = "Method", value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScoresArgs {
    /// The folder of a result with graphs and eigenpairs; the files of `score --out` go into it
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,
    /// One integer or word per sample [default: those that came with the graphs]
    #[arg(long, value_name = "ARRAY", value_parser = text())]
    pub(crate) labels: Option<String>,
    /// How many of the most fragile samples and edges to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Threads to use; all cores by default. The result does not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) tables: TablesArgs,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

/// What every stage has: what to do if its file exists, and what goes to the terminal.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct StageArgs {
    /// Compute it again, even if the file exists
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}
