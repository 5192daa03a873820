//! `spadework eigen`: the two graphs of a result become eigenpairs.

use spadework::eigen::Certainty;
use spadework_app::{EigenStageRequest, StagedEigenpairs, find_eigenpairs, json};

use crate::args_stages::EigenArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{interval, number};

pub(crate) fn run(args: &EigenArgs) -> Result<(), Failure> {
    let request = EigenStageRequest {
        result: &args.result,
        eigenpairs: args.eigenpairs,
        solver: args.solving.solver.into(),
        tolerance: args.solving.tolerance,
        certainty: if args.solving.certify { Certainty::Certified } else { Certainty::Probable },
        seed: args.seed,
        threads: args.threads,
        force: args.replace.force,
    };
    let staged = find_eigenpairs(&request, &args.terminal.console().monitor())?;
    Console::data(&if args.terminal.json { json(&staged.document) } else { to_text(&staged) })
}

fn to_text(staged: &StagedEigenpairs) -> String {
    let document = &staged.document;
    let values: Vec<String> = document.eigenvalues.iter().map(|value| number(*value)).collect();
    format!(
        "model score   {}   (larger is less robust)\nenclosure     {}\neigenvalues   {}\neigenpairs    in {}\n",
        values[0],
        interval(document.enclosure.lower, document.enclosure.upper),
        values.join("  "),
        staged.file.display()
    )
}
