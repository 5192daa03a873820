//! `spadework completions`, and `spadework share`, which packagers call: completions and man pages as a system keeps them.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use spadework_io::output::write_bytes;

use crate::args::Cli;
use crate::args_shell::{CompletionsArgs, ShareArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::short_help;

/// What is typed to start the command.
const NAME: &str = "spadework";

/// Where shells look for completions, below `share`. PowerShell has no such place: its users load the file from their profile.
const PLACES: [(Shell, &str); 4] = [
    (Shell::Bash, "bash-completion/completions/spadework"),
    (Shell::Zsh, "zsh/site-functions/_spadework"),
    (Shell::Fish, "fish/vendor_completions.d/spadework.fish"),
    (Shell::PowerShell, "powershell/spadework.ps1"),
];

pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    Console::data(&completions_of(args.shell))
}

pub(crate) fn share(args: &ShareArgs) -> Result<(), Failure> {
    for (place, text) in shared()? {
        let path = args.folder.join(place);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|cause| unwritable(folder, &cause))?;
        }
        write_bytes(&path, text.as_bytes())?;
    }
    Ok(())
}

fn unwritable(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: cannot be written: {cause}", path.display()))
}

/// Every file with its place below `share`.
fn shared() -> Result<Vec<(PathBuf, String)>, Failure> {
    let mut files: Vec<(PathBuf, String)> =
        PLACES.map(|(shell, place)| (place.into(), completions_of(shell))).into();
    let command = definition();
    files.push(page(command.clone())?);
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        files.push(page(command.clone())?);
    }
    Ok(files)
}

/// The command as `--help` shows it.
fn definition() -> Command {
    let mut command = short_help::for_man_pages(Cli::command()).disable_help_subcommand(true);
    command.build();
    command
}

fn completions_of(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut definition(), NAME, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// A man page and its place.
fn page(command: Command) -> Result<(PathBuf, String), Failure> {
    let man = Man::new(command).manual("Spadework").source(concat!("spadework ", env!("CARGO_PKG_VERSION")));
    let place = Path::new("man/man1").join(man.get_filename());
    let mut text = Vec::new();
    man.render(&mut text).map_err(|cause| unwritable(&place, &cause))?;
    Ok((place, String::from_utf8_lossy(&text).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_all_of_its_options() {
        let files = shared().unwrap();
        for command in definition().get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("man/man1/spadework-{}.1", command.get_name());
            let (_, text) = files.iter().find(|(place, _)| *place == Path::new(&name)).expect(&name);
            assert!(text.contains("Examples:"), "{name}");
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                let Some(long) = option.get_long() else { continue };
                let written = format!("\\-\\-{}", long.replace('-', "\\-"));
                assert!(text.contains(&written), "{name}: --{long}");
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                let beginning =
                    help.split(|c: char| !c.is_alphanumeric() && c != ' ').next().unwrap_or_default();
                let described = text.split(&written).skip(1).any(|rest| rest.contains(beginning.trim()));
                assert!(!beginning.is_empty() && described, "{name}: the description of --{long}");
            }
        }
        let hidden = files.iter().any(|(place, _)| place.to_string_lossy().contains("spadework-share"));
        assert!(!hidden, "a page of a hidden command");
    }

    #[test]
    fn completions_know_every_command_and_option() {
        for (shell, _) in PLACES {
            let script = completions_of(shell);
            for word in ["compare", "--probe-samples", "--min-robust-accuracy"] {
                // fish has options without their dashes.
                let word = if shell == Shell::Fish { word.trim_start_matches("--") } else { word };
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
