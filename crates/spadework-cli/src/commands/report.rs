//! `spadework report`: a result that lies in a folder, as a page and as figures.

use spadework_app::{ReportRequest, report};

use crate::args_report::ReportArgs;
use crate::console::Console;
use crate::failure::Failure;

pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let request = ReportRequest {
        result: &args.result,
        title: args.title.clone(),
        inputs: args.inputs.as_deref(),
        outputs: args.outputs.iter().map(String::as_str).collect(),
        threads: args.threads,
        page: args.figures.request(args.output.as_deref()),
    };
    report(&request, &args.messages.console().monitor())?;
    if args.messages.quiet {
        return Ok(());
    }
    let written = [args.output.as_deref(), args.figures.plots.as_deref()].into_iter().flatten();
    Console::data(&written.map(|path| format!("wrote {}\n", path.display())).collect::<String>())
}
