//! The page of a score over k.

use spadework_document::sweep::{PointDocument, SweepDocument};

use crate::charts::{Band, Chart, Series, lines, number};
use crate::error::Result;
use crate::page::{CurvePage, Figure, Frame, Table, filled};
use crate::provenance::{Fact, Origin, facts, graphs_made, joined};

/// The page of a sweep.
///
/// # Errors
/// When the page cannot be filled, which would be our mistake.
pub fn sweep_page(document: &SweepDocument, origin: &Origin) -> Result<String> {
    let title = origin.title.clone().unwrap_or_else(|| "Model score over k".to_owned());
    filled(&CurvePage {
        frame: Frame::new(title, None, provenance(document, origin), &document.version),
        verdict: verdict(document),
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
            .map(|point| (point.neighbors as f64, point.scores.get(at).map(|score| score.model_score)))
            .collect(),
    };
    let series: Vec<Series> = document.models.iter().enumerate().map(series).collect();
    let band = document
        .stable
        .as_ref()
        .filter(|_| document.models.len() > 1)
        .map(|stable| Band { from: stable.from as f64, to: stable.to as f64 });
    let title = match band {
        Some(_) => "Model score over k; the range in which the ranking is stable is shaded",
        None => "Model score over k",
    };
    vec![lines("sweep", title, ["neighbors, k", "model score"], &series, band)]
}

fn verdict(document: &SweepDocument) -> String {
    let refused = match document.disconnected.as_slice() {
        [] => String::new(),
        some => format!(
            " Without a score, for want of a connected graph: k = {}.",
            joined(some.iter().map(ToString::to_string))
        ),
    };
    let range = |of: fn(&PointDocument) -> usize| document.points.iter().map(of);
    let (least, most) = (
        range(|point| point.neighbors).min().unwrap_or(0),
        range(|point| point.neighbors).max().unwrap_or(0),
    );
    let stable = match &document.stable {
        Some(stable) if document.models.len() > 1 => format!(
            " The ranking is the same from k = {} to {}: {}, most robust first. Believe an order of models only within \
             such a range.",
            stable.from,
            stable.to,
            stable.ranking.join(", ")
        ),
        None if document.models.len() > 1 => {
            " The ranking changes from every k to the next: these models cannot be told apart.".to_owned()
        }
        _ => String::new(),
    };
    format!("{} samples, k from {least} to {most}.{stable}{refused}", document.samples)
}

fn points_table(document: &SweepDocument) -> Table {
    let rows = document.points.iter().flat_map(|point| {
        document.models.iter().enumerate().map(move |(at, name)| {
            let score = point.scores.get(at);
            vec![
                point.neighbors.to_string(),
                point.used.map(|used| used.to_string()).unwrap_or_default(),
                name.clone(),
                score.map_or_else(|| "–".to_owned(), |score| number(score.model_score)),
            ]
        })
    });
    Table {
        name: "sweep",
        caption: "Scores over k".to_owned(),
        header: vec!["k", "k used", "model", "score"],
        rows: rows.collect(),
    }
}

fn provenance(document: &SweepDocument, origin: &Origin) -> Vec<Fact> {
    let mut lines = facts([
        ("version", document.version.clone()),
        ("schema", document.schema.clone()),
        ("graphs", graphs_made(&document.request)),
        ("eigenpairs", document.eigenpairs.to_string()),
        ("seed", document.seed.to_string()),
        ("seconds", format!("{:.3}", document.timings.total_s)),
    ]);
    lines.extend(origin.fact());
    lines
}
