//! What a user may type about pages and plots.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use spadework_report::FigureFormat;

use crate::args::{MessagesArgs, text, threads};

/// A page and plots of a result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Page and plots")]
pub(crate) struct PageArgs {
    /// Write the result as a self-contained page: one HTML file that opens without a network
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) figures: FiguresArgs,
}

/// What the samples are called.
#[derive(Debug, Args)]
pub(crate) struct IdsArgs {
    /// Names of the samples, one per row, words or numbers: a text file, or a column as FILE:COLUMN. Tables and pages show them
    #[arg(long, help_heading = "Data", value_name = "FILE", hide_short_help = true, value_parser = text())]
    pub(crate) ids: Option<String>,
}

/// How many images a page shows, and figures for papers.
#[derive(Debug, Args)]
pub(crate) struct FiguresArgs {
    /// Maximum number of images on the page; by default those that its galleries show, and more if they fit
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) pictures: Option<NonZeroUsize>,
    /// Write the figures of the page into this folder, one file each
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Format of the figures in --plots
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Figures::Svg, requires = "plots")]
    pub(crate) format: Figures,
}

/// [`FigureFormat`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Figures {
    /// Scalable, with text as text
    Svg,
    /// Pixels, at three times the size of the figure
    Png,
    /// Scalable, with text as outlines
    Pdf,
}

impl From<Figures> for FigureFormat {
    fn from(format: Figures) -> Self {
        match format {
            Figures::Svg => FigureFormat::Svg,
            Figures::Png => FigureFormat::Png,
            Figures::Pdf => FigureFormat::Pdf,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A folder that `score`, `select`, `check`, `compare`, `sweep` or `layers` wrote with --out, or the result.json in it
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,
    /// The page, one HTML file
    #[arg(long, alias = "out", value_name = "FILE", required_unless_present = "plots")]
    pub(crate) output: Option<PathBuf>,
    /// Title of the page
    #[arg(long, value_name = "TEXT", value_parser = text())]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) figures: FiguresArgs,
    /// The inputs of RESULT, if they have moved
    #[arg(long, help_heading = "Data", value_name = "ARRAY", value_parser = text())]
    pub(crate) inputs: Option<String>,
    /// The outputs of RESULT, if they have moved; once per model, in the order of the result
    #[arg(long, help_heading = "Data", value_name = "ARRAY", value_parser = text())]
    pub(crate) outputs: Vec<String>,
    /// Threads to use; all cores by default. The page does not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) messages: MessagesArgs,
}
