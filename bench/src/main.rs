//! `spadework-bench`: times one part of Spadework and prints one JSON line.
//!
//! Loading and preparing are not timed. CPU time is that of the whole process, all threads; of several repeats the one
//! with the least CPU time counts. `bench/run` calls this and the peers on the same files.

mod edge_list;
mod eigen;
mod knn;
mod measure;
mod model;

use std::error::Error;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde::Serialize;

/// Times one part of Spadework and prints one JSON line.
#[derive(Debug, Parser)]
#[command(name = "spadework-bench", version)]
struct Cli {
    /// Threads to use
    #[arg(long, global = true, value_name = "N", default_value = "1")]
    threads: NonZeroUsize,
    /// Repeats at most, until enough time has passed; the best counts
    #[arg(long, global = true, value_name = "N", default_value = "3")]
    repeat: NonZeroUsize,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The exact search for the k nearest neighbors of every sample
    Knn(knn::KnnArgs),
    /// The dominant eigenpairs, and numerical bounds of the largest, of two neighbor graphs
    Eigen(eigen::EigenArgs),
    /// The outputs of an ONNX model
    Model(model::ModelArgs),
}

/// What stops a measurement.
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cli.threads.get()).build()?;
    pool.install(|| match &cli.command {
        Command::Knn(args) => print(&knn::run(args, cli.repeat)?),
        Command::Eigen(args) => print(&eigen::run(args, cli.repeat)?),
        Command::Model(args) => print(&model::run(args, cli.repeat)?),
    })
}

fn print(line: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(line)?;
    Ok(writeln!(io::stdout(), "{line}")?)
}
