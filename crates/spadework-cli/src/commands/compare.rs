//! `spadework compare`: many models on one input graph.

use spadework_app::{CompareRequest, IdSource, ModelsData, compare, json};

use crate::args_many::CompareArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::requests::this_call;
use crate::{render_comparison, render_table};

pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let formats = args.output.formats(None);
    let models = args.models.named()?;
    let mut request = CompareRequest {
        data: ModelsData {
            ids: args.judged.ids.ids.as_deref().map(IdSource::Named),
            ..args.models.data(&models, args.labels.as_deref(), &args.corruption)
        },
        params: args.scoring.params(),
        top: args.top,
        rank_by: args.rank_by.into(),
        extras: args.judged.certainty.extras(),
        probe: args.judged.probe.request(),
        folder: args.output.folder(&formats),
        page: args.judged.page.request(),
        origin: this_call(),
    };
    request.data.task = args.judged.task.task.into();
    let compared = compare(&request, &Console::new(&args.output).monitor())?;
    let document = &compared.document;
    Console::data(&match args.table.table {
        _ if args.output.terminal.json => json(document),
        Some(format) => render_table::of_comparison(document, format),
        None => render_comparison::comparison(document),
    })
}
