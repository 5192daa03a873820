//! Refuses options that would have no effect, so that no user believes that they had one.
//!
//! Commands share groups of options, and some commands do not use all of a group. clap cannot remove an option from a group.

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};
use spadework_app::is_model;

use crate::args::{Cli, Eigenpairs};
use crate::failure::Failure;

/// Refuses an option that the command makes no use of.
pub(crate) fn check(matches: &ArgMatches) -> Result<(), Failure> {
    let Some((command, matches)) = matches.subcommand() else { return Ok(()) };
    let refused =
        |option: &str, reason: &str| Err(Failure::usage(format!("{} {reason}", option_name(option))));
    if let Some(option) = unused_by(command).iter().find(|option| is_typed(matches, option)) {
        return refused(option, &format!("is not an option of `spadework {command}`"));
    }
    if command == "train" && is_typed(matches, "resume") {
        let kept = ["resume", "device", "threads", "json", "quiet", "no_progress"];
        // Of the command, because the matches also know groups of options by a name.
        let options = Cli::command();
        let options = options.find_subcommand(command).into_iter().flat_map(clap::Command::get_arguments);
        let mut others = options.map(|option| option.get_id().as_str()).filter(|id| !kept.contains(id));
        if let Some(option) = others.find(|option| is_typed(matches, option)) {
            return refused(option, "was set when the run began, and cannot be changed with --resume");
        }
    }
    let all_eigenpairs = is_typed(matches, "eigenpairs")
        && matches!(matches.try_get_one("eigenpairs"), Ok(Some(Eigenpairs::All)));
    if is_typed(matches, "sketch_error") && !all_eigenpairs && !is_typed(matches, "all_edges") {
        let sketches =
            if command == "distortion" { "--eigenpairs all or --all-edges" } else { "--eigenpairs all" };
        return refused("sketch_error", &format!("is the error of a sketch, and needs {sketches}"));
    }
    if let Some(option) = ["probe", "probe_with"].into_iter().find(|option| is_typed(matches, option))
        && !names_model(matches)
    {
        return refused(
            option,
            "gives perturbed inputs to a model, so it needs --model; outputs alone are not enough",
        );
    }
    if let Some(option) = RUN_MODELS.iter().find(|option| is_typed(matches, option))
        && !names_model(matches)
    {
        return refused(option, "says how a model is run, and needs --model");
    }
    let of_images =
        matches!(matches.try_get_one::<String>("inputs"), Ok(Some(inputs)) if inputs.starts_with("images:"));
    if let Some(option) = ["resize", "crop"].iter().find(|option| is_typed(matches, option))
        && !of_images
    {
        return refused(option, "changes the size of images in a folder, and needs --inputs images:DIR");
    }
    let both_given = is_typed(matches, "input_graph") && is_typed(matches, "output_graph");
    if let Some(option) = MAKE_GRAPHS.iter().find(|option| is_typed(matches, option))
        && both_given
    {
        return refused(option, "makes graphs of samples, but both graphs are given");
    }
    if let Some(graph) = ["input_graph", "output_graph"].iter().find(|graph| is_typed(matches, graph))
        && is_typed(matches, "ties")
    {
        let graph = option_name(graph);
        return refused(
            "ties",
            &format!("chooses among equal outputs by inputs or index, but {graph} is given"),
        );
    }
    let without =
        |&&(option, graph, _): &&(&str, &str, &str)| is_typed(matches, option) && is_typed(matches, graph);
    match DISTANCES.iter().find(without) {
        Some((option, _, side)) => {
            refused(option, &format!("sets the distance between {side}, but a graph is given instead"))
        }
        None => Ok(()),
    }
}

/// Options that say how graphs are made.
const MAKE_GRAPHS: [&str; 9] = [
    "neighbors",
    "connectivity",
    "search",
    "graph",
    "weights",
    "input_metric",
    "output_metric",
    "standardize",
    "ties",
];

/// Options that say how distances on one side are taken, and what replaces the samples of that side.
const DISTANCES: [(&str, &str, &str); 3] = [
    ("input_metric", "input_graph", "inputs"),
    ("standardize", "input_graph", "inputs"),
    ("output_metric", "output_graph", "outputs"),
];

/// Options that say how a model is run.
const RUN_MODELS: [&str; 8] = [
    "output_name",
    "before_softmax",
    "input_name",
    "input_layout",
    "normalize",
    "batch_size",
    "engine",
    "onnxruntime",
];

/// Whether a model is named, by its option or by its ending.
fn names_model(matches: &ArgMatches) -> bool {
    let by_ending = |id: &str| match matches.try_get_many::<String>(id) {
        Ok(Some(mut arguments)) => arguments.any(|argument| is_model(argument)),
        _ => false,
    };
    is_typed(matches, "model") || ["outputs", "models", "against"].into_iter().any(by_ending)
}

/// Options that clap knows for a command, hidden from its help, because others share them.
fn unused_by(command: &str) -> &'static [&'static str] {
    match command {
        "distortion" => &["certify"],
        "graph" => &["eigenpairs", "sketch_error", "solver", "tolerance", "certify"],
        "embed" => &["eigenpairs", "sketch_error", "certify"],
        "sweep" => &["sketch_error"],
        _ => &[],
    }
}

fn option_name(id: &str) -> String {
    format!("--{}", id.replace('_', "-"))
}

/// Whether the user typed the option; a default is not typed.
fn is_typed(matches: &ArgMatches, id: &str) -> bool {
    // clap panics over a name that the command does not have.
    matches.ids().any(|known| known == id) && matches.value_source(id) == Some(ValueSource::CommandLine)
}
