//! `experiments`: the paper's tables and figures, one runnable each.
//!
//! An experiment takes a data folder and an output folder and writes NAME.json, NAME.md with the paper's numbers next to
//! ours, and NAME.svg. What it has finished, networks and rows, lies in the output folder too; a later call with the same
//! settings takes it up and goes on.
//!
//! One file of `tables/` is one experiment. `run.rs` has the options, the time and the parts that are kept, `record.rs` what
//! is written, `data.rs`, `networks.rs`, `levels.rs` and `zoo.rs` what is measured on, and `statistics.rs` what is counted.

mod data;
mod failure;
mod guided;
mod levels;
mod networks;
mod plots;
mod point_clouds;
mod record;
mod run;
mod statistics;
mod table;
mod tables;
mod weakest;
mod zoo;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use spadework_nn::Compute;

use crate::failure::Failure;
use crate::record::Experiment;
use crate::run::{Clock, Options, Run, say};
use crate::tables::ALL;

/// The paper's tables and figures, one runnable each.
#[derive(Debug, Parser)]
#[command(name = "experiments", version)]
struct Cli {
    /// An experiment of `list`, or `all` of them
    name: String,
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let mut cli = Cli::parse();
    cli.options.data = cli.options.data.or_else(|| std::env::var_os("SPADEWORK_DATA").map(Into::into));
    match dispatch(&cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            say(&format!("error: {failure}"));
            ExitCode::from(2)
        }
    }
}

/// Whether everything that was asked for was done.
fn dispatch(cli: &Cli) -> Result<bool, Failure> {
    if cli.name == "list" {
        for experiment in ALL {
            print(&format!("{:14} {:22} {}", experiment.name, experiment.paper, experiment.title));
        }
        return Ok(true);
    }
    if let Some(folder) = cli.options.data.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::Usage(format!("--data: expected a folder, got {}", folder.display())));
    }
    let clock = Clock::new(cli.options.budget_minutes)?;
    let compute = Compute::choose(&cli.options.device)?;
    if cli.name != "all" {
        let found = ALL.iter().find(|experiment| experiment.name == cli.name).ok_or_else(|| {
            let names = ALL.map(|experiment| experiment.name).join(", ");
            Failure::Usage(format!("unknown experiment `{}`; there are {names}, all and list", cli.name))
        })?;
        return run_one(found, &cli.options, &compute, clock).map(|()| true);
    }
    let mut done = true;
    for experiment in &ALL {
        match run_one(experiment, &cli.options, &compute, clock) {
            Ok(()) => {}
            // Whoever has not brought the data knows it; the rest was done.
            Err(failure @ (Failure::Needs { .. } | Failure::TimeOver)) => {
                print(&format!("{:14} skipped: {failure}", experiment.name));
            }
            Err(failure) => {
                done = false;
                print(&format!("{:14} failed: {failure}", experiment.name));
            }
        }
    }
    Ok(done)
}

fn run_one(
    experiment: &Experiment,
    options: &Options,
    compute: &Compute,
    clock: Clock,
) -> Result<(), Failure> {
    say(&format!("{} ({}): {}", experiment.name, experiment.paper, experiment.title));
    let (run, began) = (Run::new(options, compute, clock), Instant::now());
    let findings = (experiment.run)(&run)?;
    record::write(&run, experiment, &findings, began.elapsed())?;
    let state = if run.is_complete() { "done" } else { "begun; run again to go on" };
    print(&format!(
        "{:14} {state}, {:.1} s: {}",
        experiment.name,
        began.elapsed().as_secs_f64(),
        options.out.join(format!("{}.md", experiment.name)).display()
    ));
    Ok(())
}

fn print(line: &str) {
    // A reader that has gone away is no reason to fail.
    let _ = writeln!(io::stdout(), "{line}");
}
