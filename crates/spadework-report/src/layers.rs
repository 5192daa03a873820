//! The page of the scores over the depth of a network.

use spadework_document::layers::{LayerDocument, LayersDocument};
use spadework_document::words::{FOLLOW_POORLY, grouped, short};
use spadework_io::default_name;

use crate::charts::{Chart, Step, steps};
use crate::error::Result;
use crate::page::{CurvePage, Figure, Frame, Table, TableCell, filled};
use crate::provenance::{Fact, Origin, facts, graphs_made};

/// The page of a network's layers.
///
/// # Errors
/// When the template fails, which would be our mistake.
pub fn layers_page(document: &LayersDocument, origin: &Origin) -> Result<String> {
    let title =
        origin.title.clone().unwrap_or_else(|| format!("Layers of {}", default_name(&document.model.file)));
    let frame = Frame::new(title, provenance(document, origin), &document.made.version);
    filled(&CurvePage {
        frame: frame.with_notes(&document.made.notes),
        verdict: verdict(document),
        limits: limits(document),
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

/// How the score grows from the first to the last layer.
fn verdict(document: &LayersDocument) -> String {
    let scored = || document.layers.iter().filter_map(|layer| Some((&layer.layer.name, layer.model_score?)));
    let (Some((first, from)), Some((last, to))) = (scored().next(), scored().next_back()) else {
        return "No layer has a SPADE score.".to_owned();
    };
    let depth = format!(
        "The SPADE score is {} after the first layer (“{first}”) and {} after the last (“{last}”).",
        short(from),
        short(to)
    );
    match scored().max_by(|one, other| one.1.total_cmp(&other.1)) {
        Some((name, highest)) if highest > to => {
            format!("{depth} It is highest after “{name}”, with {}.", short(highest))
        }
        _ => depth,
    }
}

fn limits(document: &LayersDocument) -> Vec<String> {
    let mut limits = vec![
        format!(
            "The activations of every layer are scored against the inputs: {} samples, k = {} for all layers.",
            grouped(document.settings.samples),
            document.settings.neighbors.used
        ),
        FOLLOW_POORLY.to_owned(),
    ];
    match document.layers.iter().filter(|layer| layer.model_score.is_none()).count() {
        0 => (),
        1 => limits.push("One layer has no score; the table says why.".to_owned()),
        some => limits.push(format!("{some} layers have no score; the table says why.")),
    }
    limits
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
