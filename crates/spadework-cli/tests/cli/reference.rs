//! The page of every command and option, `docs/reference/commands.md`, made of what clap knows. `scripts/generate` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::{Arg, Command};
use spadework_cli::definition::{GROUPS, calls_of, command};

use crate::help::is_up_to_date;

const HEAD: &str = "# Commands and options

<!-- Made from the definitions in crates/spadework-cli by scripts/generate; do not edit. -->

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
    let value =
        option.get_value_names().filter(|_| takes_value).map_or_else(String::new, |names| names.join(" "));
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
    let defaults: Vec<_> =
        option.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if takes_value && !defaults.is_empty() {
        about.push(format!("Default: {}.", defaults.join(", ")));
    }
    format!("| `{}` | {} |\n", typed.replace('|', "\\|"), about.join(" "))
}

fn word_with_help(word: &clap::builder::PossibleValue) -> String {
    let help = word.get_help().map(|help| format!(" ({})", escaped(&help.to_string())));
    format!("`{}`{}", word.get_name(), help.unwrap_or_default())
}

/// Text for a cell of a Markdown table. A summary has no period, so it gets one if more paragraphs follow.
fn escaped(text: &str) -> String {
    let mut paragraphs = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut text = paragraphs.next().unwrap_or_default();
    for paragraph in paragraphs {
        text.push_str(if text.ends_with(['.', '?', ':']) { " " } else { ". " });
        text.push_str(&paragraph);
    }
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace('[', "\\[").replace(']', "\\]")
}

#[test]
fn the_page_of_commands_is_up_to_date() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    is_up_to_date(&place, &page(&mut command()));
}

#[test]
fn every_command_is_in_one_group_and_has_examples() {
    let grouped: Vec<&str> = GROUPS.into_iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let command = command();
    let shown: Vec<&Command> = command.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    for command in &shown {
        let name = command.get_name();
        assert_eq!(grouped.iter().filter(|other| **other == name).count(), 1, "{name}");
        assert!(!calls_of(name).is_empty(), "{name}");
    }
    assert_eq!(grouped.len(), shown.len());
}

/// An option has one meaning: `--out` is a folder wherever it is, `--output` a file.
#[test]
fn options_of_one_name_take_one_kind_of_value() {
    let mut kinds = BTreeMap::<String, BTreeSet<&str>>::new();
    let command = command();
    for command in command.get_subcommands() {
        for option in command.get_arguments().filter(|option| option.get_long().is_some()) {
            let takes_value = option.get_action().takes_values();
            let value =
                option.get_value_names().filter(|_| takes_value).map_or("", |names| names[0].as_str());
            let kind = match value {
                "RESULT" => "DIR",
                // A file with a name before it, for commands that take many; a file of a known kind.
                "[NAME=]FILE" | "FILE.npy" | "MODEL" => "FILE",
                "[NAME=]ARRAY" => "ARRAY",
                // Several of them, separated by commas.
                "KINDS" => "KIND",
                // From one k to another.
                "RANGE" => "K",
                other => other,
            };
            kinds.entry(option.get_id().to_string()).or_default().insert(kind);
        }
    }
    kinds.retain(|_, values| values.len() > 1);
    assert_eq!(kinds, BTreeMap::new());
}

#[test]
fn every_example_of_the_help_is_a_call_that_parses() {
    for name in GROUPS.iter().flat_map(|(_, names)| names.iter()) {
        assert!(!calls_of(name).is_empty(), "{name} has no example");
        for call in calls_of(name) {
            // Where the shell sends the output is not an argument.
            let typed = call.split(" > ").next().unwrap();
            if let Err(error) = command().try_get_matches_from(typed.split(' ')) {
                panic!("{call}: {error}");
            }
        }
    }
}
