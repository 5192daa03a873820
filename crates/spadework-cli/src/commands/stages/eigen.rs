//! `spadework eigen`: the two graphs of a result become eigenpairs.

use serde::Serialize;
use spadework::eigen::Certainty;
use spadework_document::result::EnclosureDocument;
use spadework_document::stages::eigenpairs_file;

use crate::args_stages::EigenArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{interval, json, number};
use crate::stages::StageFolder;

/// What `--json` prints; the vectors are in the file.
#[derive(Debug, Serialize)]
struct EigenDocument<'a> {
    schema: &'static str,
    eigenvalues: &'a [f64],
    residuals: &'a [f64],
    enclosure: EnclosureDocument,
    solver: String,
    iterations: usize,
    version: &'static str,
}

pub(crate) fn run(args: &EigenArgs) -> Result<(), Failure> {
    let console = args.terminal.console();
    let folder = StageFolder::of_result(&args.result, args.replace.force, console);
    let graphs = folder.any_graphs()?;
    let seed = args.seed.unwrap_or(graphs.diagnostics.params.seed);
    let params = graphs
        .diagnostics
        .params
        .with_eigenpairs(args.eigenpairs)
        .with_solver(args.solver.into())
        .with_tolerance(args.tolerance)
        .with_certainty(if args.certify { Certainty::Certified } else { Certainty::Probable })
        .with_seed(seed)
        .with_threads(args.threads);
    let spectrum = folder.spectrum(&graphs.graphs, &params)?;
    let (pairs, enclosure) = (&spectrum.eigenpairs, spectrum.enclosure);
    if args.terminal.json {
        return Console::data(&json(&EigenDocument {
            schema: "spadework.eigen/1",
            eigenvalues: pairs.values(),
            residuals: pairs.residuals(),
            enclosure: enclosure.into(),
            solver: pairs.info().method.to_string(),
            iterations: pairs.info().iterations,
            version: env!("CARGO_PKG_VERSION"),
        }));
    }
    let values: Vec<String> = pairs.values().iter().map(|value| number(*value)).collect();
    Console::data(&format!(
        "model score   {}   (larger is less robust)\nenclosure     {}\neigenvalues   {}\neigenpairs    in {}\n",
        values[0],
        interval(enclosure.lower, enclosure.upper),
        values.join("  "),
        eigenpairs_file(folder.path()).display()
    ))
}
