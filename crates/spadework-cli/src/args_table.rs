//! What a user may type about the table that is printed.

use clap::{Args, ValueEnum};

/// A table instead of text.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct TableArgs {
    /// Print a table with one row per model instead of text, for a paper or for another program
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) table: Option<Format>,
}

/// What the table is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A tabular with the rules of the package booktabs
    Latex,
    /// A table of GitHub's Markdown
    Markdown,
    /// Every number in full, with the ends of its 95 % confidence interval and its n; the columns are always the same
    Csv,
}
