//! What a user may type to select samples.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};

use crate::args::{ScoredArgs, one_or_more, text};
use crate::args_probe::{ProbeArgs, ScriptArgs};
use crate::args_report::IdsArgs;
use crate::args_task::TaskArgs;

#[derive(Debug, Args)]
#[command(mut_arg("probe", select_probe))]
pub(crate) struct SelectArgs {
    #[command(flatten)]
    pub(crate) scored: ScoredArgs,
    #[command(flatten)]
    pub(crate) ids: IdsArgs,
    /// How many samples to select [default: 100, or all if there are fewer]
    #[arg(long, value_name = "N", value_parser = one_or_more)]
    pub(crate) top: Option<NonZeroUsize>,
    /// What samples are ranked by [default: fragility, node for regressions]
    #[arg(long, value_enum, value_name = "WORD")]
    pub(crate) by: Option<By>,
    /// Select the samples whose neighbors changed most from --outputs to --against
    ///
    /// They are ordered by the share of their k nearest neighbors that they keep, smallest first. The inputs do not affect the order;
    /// they are needed to run models that are given as files.
    #[arg(
        long,
        requires = "against",
        conflicts_with_all = [
            "by", "probing", "save_graphs", "output_graph", "task", "eigenpairs", "graph", "weights", "connectivity",
            "input_metric", "standardize", "ties", "solver", "sketch_error", "tolerance", "certify"
        ]
    )]
    pub(crate) moved: bool,
    /// With --moved: the outputs of another model for the same samples, or its ONNX file
    #[arg(long, value_name = "ARRAY", value_parser = text(), requires = "moved")]
    pub(crate) against: Option<String>,
    /// Print the numbers of each sample next to its index, as CSV with a header
    #[arg(long)]
    pub(crate) scores: bool,
    #[command(flatten)]
    pub(crate) task: TaskArgs,
    #[command(flatten)]
    pub(crate) probe: ProbeArgs,
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
}

/// What probes are for where samples are selected.
fn select_probe(arg: clap::Arg) -> clap::Arg {
    let more = "A norm, a radius and a kind, which `spadework score --help` explains. Needs --model.";
    arg.help(SELECT_PROBE_HELP).long_help(format!("{SELECT_PROBE_HELP}\n\n{more}"))
}

const SELECT_PROBE_HELP: &str = "With --by fragility: also probe the model with perturbed samples, and rank by what they \
                                 leave of the margins; e.g. linf:0.1, linf:8/255, l2:0.5";

/// By what samples are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// By margins, slopes of the outputs and, with --probe, probes: what an attack breaks first; for embeddings, the neighbors that they keep; for regressions, the node score
    Fragility,
    /// The output of the label (without labels, the largest output) minus the largest other output; smallest first
    Margin,
    /// The share of a sample's input neighbors that are its output neighbors too; smallest first
    Overlap,
    /// The node score; largest first
    Node,
}

impl From<By> for spadework_app::By {
    fn from(by: By) -> Self {
        match by {
            By::Fragility => spadework_app::By::Fragility,
            By::Margin => spadework_app::By::Margin,
            By::Overlap => spadework_app::By::Overlap,
            By::Node => spadework_app::By::Node,
        }
    }
}
