//! What a user may type about completions and man pages.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ShareArgs {
    /// The folder to write into: man/man1, bash-completion/completions, zsh/site-functions …
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
