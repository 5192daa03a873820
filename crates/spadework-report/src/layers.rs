//! The page of the scores over the depth of a network.

use spadework_document::layers::{LayerDocument, LayersDocument};
use spadework_document::words::short;

use crate::charts::{Chart, Step, steps};
use crate::error::Result;
use crate::page::{CurvePage, Figure, Frame, Table, TableCell, filled};
use crate::provenance::{Fact, Origin, facts, graphs_made};

/// The page of a network's layers.
///
/// # Errors
/// When the page cannot be filled, which would be our mistake.
pub fn layers_page(document: &LayersDocument, origin: &Origin) -> Result<String> {
    let title = origin.title.clone().unwrap_or_else(|| format!("Layers of {}", document.model.file));
    let frame = Frame::new(title, provenance(document, origin), &document.made.version);
    filled(&CurvePage {
        frame: frame.with_notes(&document.made.notes),
        verdict: verdict(document),
        limits: Vec::new(),
        charts: layers_charts(document).iter().map(Figure::new).collect(),
        values: layers_table(document),
    })
}

/// The figure of a network's layers.
pub fn layers_charts(document: &LayersDocument) -> Vec<Chart> {
    let step = |layer: &LayerDocument| Step { name: layer.layer.name.clone(), value: layer.model_score };
    let scores: Vec<Step> = document.layers.iter().map(step).collect();
    vec![steps("layers", "SPADE score over the depth of the network", "SPADE score", &scores)]
}

fn verdict(document: &LayersDocument) -> String {
    let scored = || document.layers.iter().filter_map(|layer| Some((&layer.layer.name, layer.model_score?)));
    let depth = match (scored().next(), scored().next_back()) {
        (Some((first, from)), Some((last, to))) => format!(
            " The score is {} after the first layer (`{first}`) and {} after the last (`{last}`).",
            short(from),
            short(to)
        ),
        _ => String::new(),
    };
    let highest =
        scored().max_by(|one, other| one.1.total_cmp(&other.1)).map_or_else(String::new, |(name, score)| {
            format!(
                " It is highest after `{name}`, with {}: what reaches that layer is stretched most.",
                short(score)
            )
        });
    let without = document.layers.iter().filter(|layer| layer.model_score.is_none()).count();
    let without = match without {
        0 => String::new(),
        1 => " One layer has no score; the table says why.".to_owned(),
        some => format!(" {some} layers have no score; the table says why."),
    };
    format!(
        "{} samples, k = {} for all layers. Every layer's activations are scored against the inputs: the score bounds how \
         much the network has stretched the inputs by then.{depth}{highest}{without}",
        document.settings.samples, document.settings.neighbors.used
    )
}

fn layers_table(document: &LayersDocument) -> Table {
    let dash = || TableCell::from("–");
    let rows = document.layers.iter().map(|layer| {
        vec![
            layer.layer.depth.into(),
            layer.layer.name.as_str().into(),
            layer.layer.operator.as_str().into(),
            layer.layer.dim.into(),
            layer.model_score.map_or_else(dash, TableCell::number),
            layer.components_found.map_or_else(dash, TableCell::from),
            layer.error.clone().unwrap_or_default().into(),
        ]
    });
    Table {
        name: "layers",
        caption: "Scores over depth".to_owned(),
        header: vec!["depth", "layer", "operator", "numbers", "SPADE score", "components", "why not"],
        rows: rows.collect(),
    }
}

fn provenance(document: &LayersDocument, origin: &Origin) -> Vec<Fact> {
    let mut lines = facts([
        ("version", document.made.version.clone()),
        ("schema", document.schema.clone()),
        ("model", format!("{}, digest {}", document.model.file, document.model.digest)),
        ("graphs", graphs_made(&document.made.request)),
        ("eigenpairs", document.settings.method.eigenpairs.to_string()),
        ("seed", document.settings.method.seed.to_string()),
        ("seconds", format!("{:.3}", document.timings.total_s)),
    ]);
    lines.extend(origin.fact());
    lines
}
