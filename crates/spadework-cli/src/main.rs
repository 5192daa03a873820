//! The `spadework` command: parse, load, call the library, print.

mod args;
mod args_distances;
mod args_graphs;
mod args_many;
mod args_networks;
mod args_report;
mod commands;
mod console;
mod failure;
mod interrupt;
mod looks;
mod models;
mod pages;
mod render;
mod render_graphs;
mod render_many;
mod run;
mod sides;
mod stored;
mod tables;
mod unused;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};
use console::Console;
use failure::Failure;

fn main() -> ExitCode {
    // clap prints its own message and ends with code 2 for a wrong call, 0 for --help and --version.
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    interrupt::install();
    match unused::check(&matches).and_then(|()| run(&cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => commands::demo::run(args),
        Command::Score(args) => commands::score::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Sweep(args) => commands::sweep::run(args),
        Command::Select(args) => commands::select::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Distortion(args) => commands::distortion::run(args),
        Command::Embed(args) => commands::embed::run(args),
        Command::Solvers(args) => commands::solvers::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Graphs(args) => commands::graphs::run(args),
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

fn report(failure: &Failure) -> ExitCode {
    if interrupt::requested() {
        return ExitCode::from(interrupt::EXIT_CODE);
    }
    if let Some(message) = failure.message() {
        Console::error(message, failure.hint());
    }
    ExitCode::from(failure.exit_code())
}
