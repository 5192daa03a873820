//! `spadework eigen`: the two graphs of a result become eigenpairs.

use spadework::SpadeParams;
use spadework::eigen::Certainty;
use spadework_app::{EigenStageRequest, StagedEigenpairs, find_eigenpairs, json};

use crate::args_stages::EigenArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{bounds, number};

pub(crate) fn run(args: &EigenArgs) -> Result<(), Failure> {
    let change = |params: SpadeParams| {
        let seed = args.seed.unwrap_or(params.seed);
        let params = params
            .with_eigenpairs(args.eigenpairs)
            .with_solver(args.solving.solver.into())
            .with_tolerance(args.solving.tolerance)
            .with_certainty(if args.solving.certify { Certainty::Certified } else { Certainty::Probable })
            .with_seed(seed)
            .with_threads(args.threads);
        args.bounds.apply(params)
    };
    let request = EigenStageRequest { result: &args.result, change: &change, force: args.stage.force };
    let staged = find_eigenpairs(&request, &args.stage.terminal.console().monitor())?;
    Console::data(&if args.stage.terminal.json { json(&staged.document) } else { to_text(&staged) })
}

fn to_text(staged: &StagedEigenpairs) -> String {
    let document = &staged.document;
    let values: Vec<String> = document.spectrum.eigenvalues.iter().map(|value| number(*value)).collect();
    format!(
        "SPADE score   {}   (larger is less robust)\nbounds        {}\neigenvalues   {}\neigenpairs    in {}\n",
        values[0],
        bounds(&document.spectrum.numerical_bounds),
        values.join("  "),
        staged.file.display()
    )
}
