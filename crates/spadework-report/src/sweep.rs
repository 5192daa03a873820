//! The page of a score over k.

use spadework_document::sweep::SweepDocument;
use spadework_document::words::{FOLLOW_POORLY, grouped, short};

use crate::charts::{Band, Chart, Series, lines};
use crate::error::Result;
use crate::page::{CurvePage, Figure, Frame, Table, TableCell, filled};
use crate::provenance::{Fact, Origin, facts, graphs_made, joined};

/// The page of a sweep.
///
/// # Errors
/// When the template fails, which would be our mistake.
pub fn sweep_page(document: &SweepDocument, origin: &Origin) -> Result<String> {
    let title = origin.title.clone().unwrap_or_else(|| "SPADE score over k".to_owned());
    let frame = Frame::new(title, provenance(document, origin), &document.made.version);
    filled(&CurvePage {
        frame: frame.with_notes(&document.made.notes),
        verdict: verdict(document),
        limits: limits(document),
        charts: sweep_charts(document).iter().map(Figure::new).collect(),
        values: points_table(document),
    })
}

/// The figure of a sweep.
pub fn sweep_charts(document: &SweepDocument) -> Vec<Chart> {
    let series = |(at, name): (usize, &String)| Series {
        name: name.clone(),
        points: document
            .points
            .iter()
            .map(|point| {
                (point.neighbors as f64, point.scores.get(at).map(|score| score.spectrum.model_score))
            })
            .collect(),
    };
    let series: Vec<Series> = document.models.iter().enumerate().map(series).collect();
    let band = document
        .stable
        .as_ref()
        .filter(|_| document.models.len() > 1)
        .map(|stable| Band { from: stable.from as f64, to: stable.to as f64 });
    let title = match band {
        Some(_) => "SPADE score over k; shaded: the longest range with one order",
        None => "SPADE score over k",
    };
    vec![lines("sweep", title, ["neighbors, k", "SPADE score"], &series, band)]
}

/// The order of the models, if there is one.
fn verdict(document: &SweepDocument) -> String {
    if document.models.len() < 2 {
        return spread(document);
    }
    let quoted = |names: &[String]| -> String { joined(names.iter().map(|name| format!("“{name}”"))) };
    match document.usual_order() {
        Some(order) if order.points == order.of => {
            format!(
                "The same order at every k: {}, most robust first by SPADE score.",
                quoted(&order.ranking)
            )
        }
        Some(order) => format!(
            "One order at {} of {} values of k: {}, most robust first by SPADE score.",
            order.points,
            order.of,
            quoted(&order.ranking)
        ),
        None => "Not established: no order of the models holds for most k.".to_owned(),
    }
}

/// One model: how much its score depends on k.
fn spread(document: &SweepDocument) -> String {
    let scores =
        || document.points.iter().filter_map(|point| Some(point.scores.first()?.spectrum.model_score));
    let (low, high) = (scores().fold(f64::INFINITY, f64::min), scores().fold(0.0, f64::max));
    format!("The SPADE score is between {} and {}, depending on k.", short(low), short(high))
}

fn limits(document: &SweepDocument) -> Vec<String> {
    let ks = || document.points.iter().map(|point| point.neighbors);
    let mut limits = vec![format!(
        "{} samples, {} values of k from {} to {}.",
        grouped(document.samples),
        document.points.len(),
        ks().min().unwrap_or(0),
        ks().max().unwrap_or(0)
    )];
    if document.models.len() > 1 {
        let pairs = document.pairs_everywhere();
        limits.push(if pairs.is_empty() {
            "No two models keep their order at every k.".to_owned()
        } else {
            let pairs = pairs.iter().map(|(a, b)| format!("“{a}” before “{b}”"));
            format!("Holds at every k: {}.", joined(pairs))
        });
        limits.push(FOLLOW_POORLY.to_owned());
    }
    if !document.disconnected.is_empty() {
        let ks = joined(document.disconnected.iter().map(ToString::to_string));
        limits.push(format!("A graph was not connected with k = {ks}."));
    }
    limits
}

fn points_table(document: &SweepDocument) -> Table {
    let rows = document.points.iter().flat_map(|point| {
        document.models.iter().enumerate().map(move |(at, name)| {
            let score = point.scores.get(at);
            vec![
                point.neighbors.into(),
                point.used.map(TableCell::from).unwrap_or_default(),
                name.as_str().into(),
                score.map_or_else(|| "–".into(), |score| TableCell::number(score.spectrum.model_score)),
            ]
        })
    });
    Table {
        name: "sweep",
        caption: "Scores over k".to_owned(),
        header: vec!["k", "k used", "model", "SPADE score"],
        rows: rows.collect(),
    }
}

fn provenance(document: &SweepDocument, origin: &Origin) -> Vec<Fact> {
    let mut lines = facts([
        ("version", document.made.version.clone()),
        ("schema", document.schema.clone()),
        ("graphs", graphs_made(&document.made.request)),
        ("eigenpairs", document.method.eigenpairs.to_string()),
        ("seed", document.method.seed.to_string()),
        ("seconds", format!("{:.3}", document.timings.total_s)),
    ]);
    lines.extend(origin.fact());
    lines
}
