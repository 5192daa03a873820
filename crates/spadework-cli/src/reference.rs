//! The page of every command and option, `docs/reference/commands.md`, made of what clap knows. `scripts/generate` writes it.

use std::fs;
use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;
use crate::short_help::{GROUPS, calls_of, with_examples};

const HEAD: &str = "# Commands and options

<!-- Made of the definitions in crates/spadework-cli by scripts/generate; do not edit. -->

`spadework COMMAND -h` shows the options that most calls need, `spadework COMMAND --help` all of them. An ARRAY is any of
[these files](../files.md). `--out` is always a folder, `--output` a file. [Exit codes](exit-codes.md).
";

fn page(command: &mut Command) -> String {
    command.build();
    let sections = GROUPS.iter().map(|(title, names)| {
        let commands = names.iter().filter_map(|name| command.find_subcommand(name)).map(section);
        format!("\n## {title}\n{}", commands.collect::<String>())
    });
    HEAD.to_owned() + &sections.collect::<String>()
}

fn section(command: &Command) -> String {
    let name = command.get_name();
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string().replace("Usage: ", "");
    let examples = calls_of(name).join("\n");
    let options: Vec<&Arg> = command.get_arguments().filter(|option| !option.is_hide_set()).collect();
    let mut headings: Vec<&str> = Vec::new();
    for option in &options {
        let heading = heading_of(option);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    let tables = headings.into_iter().map(|heading| {
        let rows = options.iter().filter(|option| heading_of(option) == heading).map(|option| row(option));
        format!("\n| {heading} | |\n| --- | --- |\n{}", rows.collect::<String>())
    });
    format!(
        "\n### {name}\n\n{}\n\n```text\n{usage}\n\n{examples}\n```\n{}",
        escaped(&about),
        tables.collect::<String>()
    )
}

fn heading_of(option: &Arg) -> &str {
    option.get_help_heading().unwrap_or("Options")
}

fn row(option: &Arg) -> String {
    let names = option.get_short().map(|short| format!("-{short}")).into_iter();
    let names = names.chain(option.get_long().map(|long| format!("--{long}"))).collect::<Vec<_>>().join(", ");
    let takes_value = option.get_action().takes_values();
    let value = option.get_value_names().filter(|_| takes_value).map_or_else(String::new, |names| names.join(" "));
    let typed = [names, value].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let help = option.get_long_help().or(option.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut about = vec![format!("{}.", escaped(&help).trim_end_matches('.'))];
    if option.is_required_set() {
        about.push("Required.".to_owned());
    }
    let words = option.get_possible_values();
    let words: Vec<String> = words.iter().filter(|word| !word.is_hide_set()).map(word_with_help).collect();
    if takes_value && !words.is_empty() {
        about.push(format!("One of {}.", words.join("; ")));
    }
    let defaults: Vec<_> = option.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if takes_value && !defaults.is_empty() {
        about.push(format!("Default: {}.", defaults.join(", ")));
    }
    format!("| `{}` | {} |\n", typed.replace('|', "\\|"), about.join(" "))
}

fn word_with_help(word: &clap::builder::PossibleValue) -> String {
    let help = word.get_help().map(|help| format!(" ({})", escaped(&help.to_string())));
    format!("`{}`{}", word.get_name(), help.unwrap_or_default())
}

/// Text for a cell of a Markdown table.
fn escaped(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace('[', "\\[").replace(']', "\\]")
}

#[test]
fn the_page_of_commands_is_up_to_date() {
    let generated = page(&mut with_examples(Cli::command()));
    let place: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "reference", "commands.md"].iter().collect();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&place, &generated).unwrap();
    }
    let kept = fs::read_to_string(&place).unwrap_or_default().replace("\r\n", "\n");
    let differs = kept.lines().zip(generated.lines()).find(|(kept, now)| kept != now);
    assert!(kept == generated, "docs/reference/commands.md is out of date (scripts/generate writes it again): {differs:?}");
}
