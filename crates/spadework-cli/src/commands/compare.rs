//! `spadework compare`: many models on one input graph.

use spadework_app::{CompareRequest, ModelsData, compare, json};

use crate::args_many::CompareArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render_comparison;
use crate::requests::this_call;

pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let formats = args.output.formats(None);
    let models = args.models.named()?;
    let mut request = CompareRequest {
        data: ModelsData {
            ids: args.ids.ids.as_deref(),
            ..args.models.data(&models, args.labels.as_deref(), &args.corruption)
        },
        params: args.method.params(args.neighbors),
        top: args.top,
        rank_by: args.rank_by.into(),
        extras: args.certainty.extras(),
        probe: args.probe.request(),
        folder: args.output.folder(&formats),
        page: args.page.request(),
        origin: this_call(),
    };
    request.data.task = args.task.task.into();
    let compared = compare(&request, &Console::new(&args.output).monitor())?;
    let document = &compared.document;
    Console::data(&if args.output.json { json(document) } else { render_comparison::comparison(document) })
}
