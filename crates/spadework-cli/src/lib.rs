//! The `spadework` command: parses options, calls the application, and prints the result.
//!
//! [`run`] does everything; the binary and `python -m spadework` only pass on the arguments.

mod args;
mod args_check;
mod args_data;
mod args_distances;
mod args_graphs;
mod args_many;
mod args_metric;
mod args_model;
mod args_networks;
mod args_probe;
mod args_report;
mod args_select;
mod args_shell;
mod args_stages;
mod args_table;
mod args_task;
mod commands;
mod console;
mod failure;
mod interrupt;
mod render;
mod render_comparison;
mod render_graphs;
mod render_indices;
mod render_many;
mod render_plan;
mod render_score;
mod render_shares;
mod render_table;
mod requests;
mod short_help;
mod signals;
mod suggestions;
mod unused;

use std::ffi::OsString;
use std::sync::Mutex;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use spadework::kernels::Kernels;

use args::{Cli, Command};
use console::Console;
use failure::Failure;

/// The definition of the command, for the tests that write its reference.
#[doc(hidden)]
pub mod definition {
    pub use crate::short_help::{GROUPS, calls_of};

    /// All commands with their options.
    pub fn command() -> clap::Command {
        crate::short_help::with_examples(<crate::args::Cli as clap::CommandFactory>::command())
    }
}

/// Runs the command with these arguments, the name of the program first, and gives its exit code.
///
/// Installs a handler for Ctrl-C and a panic hook, so it is for a process that does nothing else.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let (cli, matches) = match parse(&arguments) {
        Ok(parsed) => parsed,
        // A wrong call, or --help and --version: clap has the text and the code, and a closed pipe is not a failure.
        Err(error) => {
            let error = with_printable_arguments(error, &arguments);
            #[cfg(not(feature = "networks"))]
            if error.use_stderr()
                && arguments.get(1).and_then(|name| name.to_str()).is_some_and(short_help::lacks)
            {
                return report(&Failure::without_networks());
            }
            let error = suggestions::without_hidden_commands(error, &definition::command());
            let error = suggestions::with_plain_numbers(suggestions::with_similar_value(with_tip(error)));
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(failure::USAGE);
        }
    };
    interrupt::install();
    replace_panic_hook();
    start_threads();
    let checked = Kernels::requested().map_err(Failure::from).and_then(|_| unused::check(&matches));
    match checked.and_then(|()| dispatch(&cli.command)) {
        Ok(()) => 0,
        Err(failure) => report(&failure),
    }
}

fn parse(arguments: &[OsString]) -> Result<(Cli, clap::ArgMatches), clap::Error> {
    let matches = definition::command().try_get_matches_from(arguments)?;
    Ok((Cli::from_arg_matches(&matches)?, matches))
}

/// The message of a wrong call repeats arguments. A terminal would obey their control characters, so the same is said of the call
/// without them.
fn with_printable_arguments(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let texts = || arguments.iter().map(|argument| argument.to_string_lossy());
    if !texts().any(|text| text.contains(char::is_control)) {
        return error;
    }
    let printable: Vec<OsString> = texts().map(|text| console::printable(&text).into()).collect();
    parse(&printable).err().unwrap_or(error)
}

/// Where outputs are missing, a model that makes them will do.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return error };
    let lacks = |option: &str| missing.iter().any(|argument| argument.contains(option));
    let tip = if lacks("--outputs") {
        "an ONNX file is run on the inputs: --model net.onnx instead of --outputs"
    } else if lacks("--min-accuracy") {
        "a gate needs a limit, e.g. --min-accuracy 90%, or --baseline RESULT --max-drop 2%"
    } else {
        return error;
    };
    if error.kind() == ErrorKind::MissingRequiredArgument {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Panics of decoders that are caught become errors with a line of their own, and so does a panic over the numbers of a file that another
/// program has changed: all code relies on a sample staying what it is. The library leaves the hook of the process alone; this process
/// does nothing else, so its hook is ours.
fn replace_panic_hook() {
    /// Other threads may panic over the same numbers.
    static FIRST: Mutex<()> = Mutex::new(());
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if spadework_io::panics::is_caught() {
            return;
        }
        let _turn = FIRST.lock();
        if let Err(changed) = spadework_io::check_mapped_files() {
            interrupt::end_with(report(&changed.into()));
        }
        signals::note_panic();
        previous(panic);
    }));
}

/// Where the system allows no more threads, one is enough: results do not depend on their number. What the environment asks for is
/// bounded, since some systems hang over starting many.
fn start_threads() {
    /// Threads per core at most: more of them only wait for each other.
    const THREADS_PER_CORE: usize = 16;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let most = (THREADS_PER_CORE * cores).min(args::MAX_THREADS);
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse::<usize>().ok());
    if asked.is_some_and(|asked| asked > most)
        && rayon::ThreadPoolBuilder::new().num_threads(most).build_global().is_ok()
    {
        Console::saying(false, true)
            .note(&format!("RAYON_NUM_THREADS is more than this machine can use; {most} threads are used"));
        return;
    }
    if rayon::ThreadPoolBuilder::new().build().is_err() {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
        let outcome = if alone.is_ok() { "one is used" } else { "some work may fail" };
        Console::saying(false, true).note(&format!("no more threads could be started; {outcome}"));
    }
}

fn dispatch(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Data(args) => commands::data::run(args),
        Command::Corrupt(args) => commands::corrupt::run(args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Score(args) => commands::score::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Sweep(args) => commands::sweep::run(args),
        Command::Layers(args) => commands::layers::run(args),
        Command::Predict(args) => commands::predict::run(args),
        Command::Model(args) => commands::model::run(args),
        Command::Select(args) => commands::select::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Distortion(args) => commands::distortion::run(args),
        Command::Embed(args) => commands::embed::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Graphs(args) => commands::graphs::run(args),
        Command::Completions(args) => commands::shell::completions(args),
        Command::Share(args) => commands::shell::share(args),
        Command::Graph(args) => commands::stages::graph::run(args),
        Command::Eigen(args) => commands::stages::eigen::run(args),
        Command::Scores(args) => commands::stages::scores::run(args),
        #[cfg(feature = "networks")]
        Command::Train(args) => commands::networks::train::run(args),
        #[cfg(feature = "networks")]
        Command::Attack(args) => commands::networks::attack::run(args),
        #[cfg(feature = "networks")]
        Command::Clever(args) => commands::networks::clever::run(args),
        #[cfg(not(feature = "networks"))]
        Command::Train(_) | Command::Attack(_) | Command::Clever(_) => Err(Failure::without_networks()),
    }
}

fn report(failure: &Failure) -> u8 {
    if interrupt::requested() {
        return interrupt::EXIT_CODE;
    }
    if let Some(message) = failure.message() {
        Console::error(&message, failure.hint());
    }
    failure.exit_code()
}
