//! What a user may type about the table that is printed.

use clap::ValueEnum;

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
