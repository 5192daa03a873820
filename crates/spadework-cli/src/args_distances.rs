//! What a user may type after `distortion` and `embed`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::args::{ModelArgs, TerminalArgs};

/// Help of `--sketch-error` where there is more than scores to sketch.
const SKETCH_HELP: &str =
    "With --eigenpairs all or --all-edges: relative error of every number, with probability 0.999";

#[derive(Debug, Args)]
#[command(mut_arg("sketch_error", |arg| arg.help(SKETCH_HELP)), mut_arg("certify", |arg| arg.hide(true)))]
pub(crate) struct DistortionArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Number of edges with the largest scores to compare with random edges [default: 100, or half of the edges if there are
    /// fewer than 200]
    #[arg(long, value_name = "N", help_heading = "Method")]
    pub(crate) top: Option<NonZeroUsize>,
    /// Also measure this pair of samples; may be given several times
    #[arg(long = "pair", value_name = "P,Q", value_parser = pair, help_heading = "Method")]
    pub(crate) pairs: Vec<(u32, u32)>,
    /// Also measure every edge of the input graph; resistances by a random projection (see --sketch-error)
    #[arg(long, requires = "out", help_heading = "Method")]
    pub(crate) all_edges: bool,
    /// Write distortion.json, pairs.csv and cut.csv (with --all-edges also edge_distances.csv) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}

#[derive(Debug, Args)]
#[command(mut_arg("eigenpairs", |arg| arg.hide(true)))]
#[command(mut_arg("sketch_error", |arg| arg.hide(true)), mut_arg("certify", |arg| arg.hide(true)))]
pub(crate) struct EmbedArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Number of coordinates of each embedding
    #[arg(long, value_name = "N", default_value = "2", help_heading = "Method")]
    pub(crate) dims: NonZeroUsize,
    /// Write the coordinates into this file, .csv or .npy, instead of printing them as CSV
    #[arg(long, alias = "out", value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}

fn pair(text: &str) -> Result<(u32, u32), String> {
    let ends = text.split_once(',').and_then(|(p, q)| Some((p.trim().parse().ok()?, q.trim().parse().ok()?)));
    ends.ok_or_else(|| "expected two sample numbers such as 848,3796".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_two_whole_numbers() {
        assert_eq!(pair("848, 3796"), Ok((848, 3796)));
        for wrong in ["848", "1,2,3", "-1,2", "a,b", ""] {
            assert!(pair(wrong).is_err(), "{wrong}");
        }
    }
}
