//! `spadework layers`: the score over the depth of a network (the paper's A.7).

use spadework_app::{LayersRequest, json, layers, printable};
use spadework_document::layers::LayersDocument;
use spadework_document::words::FOLLOW_POORLY;

use crate::args_model::LayersArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{number, table};
use crate::render_graphs::distances_line;
use crate::requests::this_call;

pub(crate) fn run(args: &LayersArgs) -> Result<(), Failure> {
    let formats = args.output.formats(None);
    let request = LayersRequest {
        model: &args.model,
        inputs: &args.inputs,
        layers: &args.layers,
        run: args.feed.options(),
        params: args.scoring.params(),
        folder: args.output.folder(&formats),
        page: args.page.request(),
        origin: this_call(),
    };
    let document = layers(&request, &Console::new(&args.output).monitor())?;
    Console::data(&if args.output.terminal.json { json(&document) } else { to_text(&document) })
}

fn to_text(document: &LayersDocument) -> String {
    let heading = ["#", "layer", "operator", "numbers", "SPADE score", "components", "seconds", ""];
    let rows = document.layers.iter().map(|layer| {
        let dash = || "-".to_owned();
        vec![
            layer.layer.depth.to_string(),
            printable(&layer.layer.name),
            printable(&layer.layer.operator),
            layer.layer.dim.to_string(),
            layer.model_score.map_or_else(dash, number),
            layer.components_found.map_or_else(dash, |components| components.to_string()),
            layer.seconds.map_or_else(dash, |seconds| format!("{seconds:.2}")),
            layer.error.clone().unwrap_or_default(),
        ]
    });
    format!(
        "model       {}\nsamples     {}, {} numbers in\nneighbors   {} for all layers\n{}\n{}\n{FOLLOW_POORLY}\n",
        document.model.file,
        document.settings.samples,
        document.settings.input_dim,
        document.settings.neighbors.used,
        distances_line(&document.made.request.distances, "distances   "),
        table(&heading, rows)
    )
}
