//! `spadework sweep`: the score over k.

use spadework_app::{SweepRequest, json, sweep};

use crate::args_data::CorruptionArgs;
use crate::args_many::{Range, SweepArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::render_many;
use crate::requests::this_call;

pub(crate) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let Range(neighbors) = &args.neighbors;
    let formats = args.output.formats(None);
    let models = args.models.named()?;
    let request = SweepRequest {
        data: args.models.data(&models, None, &CorruptionArgs::default()),
        neighbors: neighbors.clone(),
        params: args.method.params(neighbors[0]),
        folder: args.output.folder(&formats),
        page: args.page.request(),
        origin: this_call(),
    };
    let swept = sweep(&request, &Console::new(&args.output).monitor())?;
    let document = &swept.document;
    Console::data(&if args.output.terminal.json { json(document) } else { render_many::sweep(document) })
}
