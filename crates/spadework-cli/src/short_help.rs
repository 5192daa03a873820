//! What help shows: commands in groups, the options that most calls need, and examples. `--help` has all options, with the same
//! examples.

use clap::{Arg, Command};

/// Options that `-h` shows wherever a command has them; a command with few options shows all of them.
const EVERYDAY: [&str; 20] = [
    "inputs",
    "outputs",
    "model",
    "labels",
    "probe",
    "neighbors",
    "top",
    "by",
    "rank_by",
    "min_robust_accuracy",
    "min_accuracy",
    "min_overlap",
    "baseline",
    "max_drop",
    "report",
    "out",
    "output",
    "json",
    "quiet",
    "eps",
];

/// Commands as a newcomer looks for them.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("Assess", &["score", "compare", "check", "select", "demo"]),
    ("Explore", &["report", "sweep", "layers", "distortion", "embed", "graphs"]),
    ("Models and data", &["model", "predict", "data", "corrupt", "completions"]),
    ("Stages", &["graph", "eigen", "scores"]),
    ("Research", &NETWORKS),
];

/// Commands that need a build with networks.
pub(crate) const NETWORKS: [&str; 3] = ["train", "attack", "clever"];

/// What help says of them in a build without.
const NOT_IN_THIS_BUILD: &str = "Not in this build of spadework. Get it with `cargo install --locked --path \
                                 crates/spadework-cli --features networks`.";

/// From so many options on, `-h` leaves out those that few calls need.
const MANY: usize = 16;

/// One or two calls of every command, as a newcomer would type them.
const EXAMPLES: [(&str, &[&str]); 22] = [
    ("demo", &["spadework demo", "spadework demo --report demo.html"]),
    (
        "score",
        &[
            "spadework score --inputs mnist:DIR:test --model net.onnx --probe linf:0.1",
            "spadework score --inputs X.npy --outputs Y.npy --labels y.npy --report page.html",
        ],
    ),
    (
        "compare",
        &[
            "spadework compare --inputs mnist:DIR:test a=net1.onnx b=net2.onnx --probe linf:0.1",
            "spadework compare --inputs X.npy --outputs a=Y1.npy --outputs b=Y2.npy",
        ],
    ),
    ("sweep", &["spadework sweep --inputs X.npy --outputs a=Y1.npy --outputs b=Y2.npy -k 5..20"]),
    (
        "select",
        &[
            "spadework select --inputs X.npy --outputs Y.npy --top 100",
            "spadework select --inputs X.npy --outputs old.npy --against new.npy --moved --top 100",
        ],
    ),
    (
        "check",
        &[
            "spadework check --inputs X.npy --model net.onnx --probe linf:0.1 --min-robust-accuracy 60%",
            "spadework check --inputs X.npy --outputs Y.npy --baseline results --max-drop 2%",
        ],
    ),
    ("graphs", &["spadework graphs --inputs X.npy --outputs Y.npy --connectivity bridge"]),
    ("distortion", &["spadework distortion --inputs X.npy --outputs Y.npy --top 100"]),
    ("embed", &["spadework embed --inputs X.npy --outputs Y.npy --output coordinates.csv"]),
    ("layers", &["spadework layers --model net.onnx --inputs X.npy"]),
    ("predict", &["spadework predict --model net.onnx --inputs X.npy --output Y.npy"]),
    ("model", &["spadework model net.onnx"]),
    ("report", &["spadework report results --output page.html"]),
    ("data", &["spadework data", "spadework data DIR"]),
    (
        "corrupt",
        &["spadework corrupt --inputs mnist:DIR:test --kind gaussian-noise --severity 3 --output noisy.npy"],
    ),
    ("graph", &["spadework graph --inputs X.npy --outputs Y.npy --out graphs"]),
    ("eigen", &["spadework eigen graphs"]),
    ("scores", &["spadework scores graphs"]),
    ("train", &["spadework train --model lenet5 --data mnist:DIR --out net"]),
    ("attack", &["spadework attack --inputs mnist:DIR:test --model net.onnx --eps 0.1"]),
    ("completions", &["spadework completions bash > ~/.local/share/bash-completion/completions/spadework"]),
    (
        "clever",
        &["spadework clever --inputs mnist:DIR:test --model net.onnx --node-scores results/nodes.csv:score"],
    ),
];

/// What a command does, how it is called, examples, and only then its options.
const ORDER: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// The command with its commands in groups, a short `-h` and examples.
pub(crate) fn with_examples(command: Command) -> Command {
    let command = command.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let has_many = command.get_arguments().count() >= MANY;
        let long = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let more = if has_many { format!("All options: spadework {name} --help") } else { String::new() };
        let command = command.before_help(examples_of(&name)).after_help(more).after_long_help(long);
        let command = if has_many { command.mut_args(everyday_only) } else { command };
        let missing = if lacks(&name) { format!("{NOT_IN_THIS_BUILD}\n\n") } else { String::new() };
        command.help_template(missing + ORDER)
    });
    let list = grouped_commands(&command);
    command
        .help_template(
            "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}",
        )
        .before_help(list)
}

/// The command for man pages, which describe every option and have no place for examples before the options: they come last.
pub(crate) fn for_man_pages(command: Command) -> Command {
    with_examples(command).mut_subcommands(|command| {
        let rest = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let examples = examples_of(command.get_name());
        let command = command.mut_args(|option| option.hide_short_help(false));
        command.after_long_help(format!("{examples}\n\n{rest}").trim_end().to_owned())
    })
}

fn examples_of(command: &str) -> String {
    format!("Examples:\n  {}", calls_of(command).join("\n  "))
}

/// Calls of a command, as a newcomer would type them.
pub fn calls_of(command: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, calls)| calls)
}

/// Whether this build cannot run the command.
pub(crate) fn lacks(command: &str) -> bool {
    !cfg!(feature = "networks") && NETWORKS.contains(&command)
}

/// A heading per group, and a line per command.
fn grouped_commands(command: &Command) -> String {
    let line = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
        let missing = if lacks(name) { " (not in this build)" } else { "" };
        format!("  {name:<11} {}{missing}\n", about.unwrap_or_default())
    };
    let group = |(title, names): (&str, &[&str])| {
        format!("{title}:\n{}", names.iter().map(|name| line(name)).collect::<String>())
    };
    GROUPS.map(group).join("\n")
        + "\n`spadework COMMAND -h` shows the options that most calls need, `--help` all of them. Terms: docs/reference/glossary.md"
}

fn everyday_only(option: Arg) -> Arg {
    let is_everyday =
        option.is_required_set() || option.is_positional() || EVERYDAY.contains(&option.get_id().as_str());
    option.hide_short_help(!is_everyday)
}
