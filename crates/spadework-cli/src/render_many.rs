//! Sweeps as text for people.

use spadework_document::sweep::{PointDocument, SweepDocument};

use crate::render::{number, printable, table};
use crate::render_comparison::graphs_made;

/// The whole result of `sweep`.
pub(crate) fn sweep(document: &SweepDocument) -> String {
    let names: Vec<String> = document.models.iter().map(|name| printable(name)).collect();
    let several = names.len() > 1;
    let mut header = vec!["k"];
    header.extend(names.iter().map(String::as_str));
    header.extend(several.then_some("most robust"));
    header.push("");
    let rows = document.points.iter().map(|point| sweep_row(document, point, several));
    let made = graphs_made(&document.made.request);
    let mut text = format!("model score over k, {} samples{made}\n", document.samples);
    text.push_str(&table(&header, rows));
    text.push_str(&stability(document));
    text.push_str(&disconnected(document));
    let timings = document.timings;
    text.push_str(&format!(
        "\nseconds: neighbors {:.3}; total {:.3}\n",
        timings.neighbors_s, timings.total_s
    ));
    text
}

fn sweep_row(document: &SweepDocument, point: &PointDocument, several: bool) -> Vec<String> {
    let mut row = vec![point.neighbors.to_string()];
    if point.scores.is_empty() {
        row.extend(document.models.iter().map(|_| "-".to_owned()));
    }
    row.extend(point.scores.iter().map(|score| number(score.spectrum.model_score)));
    if several {
        row.push(point.ranking.first().map_or_else(|| "-".to_owned(), |name| printable(name)));
    }
    let bridges: usize = point.scores.iter().map(|score| score.output_bridges).sum::<usize>()
        + point.input_bridges.unwrap_or(0);
    row.push(match (point.used, bridges) {
        (None, _) => "refused: disconnected".to_owned(),
        (Some(used), _) if used > point.neighbors => format!("k grown to {used}"),
        (_, 0) => String::new(),
        (_, 1) => "1 bridge".to_owned(),
        (_, bridges) => format!("{bridges} bridges"),
    });
    row
}

fn stability(document: &SweepDocument) -> String {
    let Some(stable) = &document.stable else { return String::new() };
    let ranking: Vec<String> = stable.ranking.iter().map(|name| printable(name)).collect();
    let ranking = ranking.join(" < ");
    if stable.points == document.points.len() {
        return format!("\nthe ranking is the same for every k: {ranking}\n");
    }
    let range = if stable.from == stable.to {
        format!("k = {}", stable.from)
    } else {
        format!("k = {} to {}", stable.from, stable.to)
    };
    format!(
        "\nthe ranking is stable for {range} ({} of {} values): {ranking}\n{}",
        stable.points,
        document.points.len(),
        first_for_every_k(document)
    )
}

/// The most robust model, where it is the same at every k though the others change places.
fn first_for_every_k(document: &SweepDocument) -> String {
    let mut firsts = document.points.iter().filter_map(|point| point.ranking.first());
    match firsts.next() {
        Some(first) if firsts.all(|other| other == first) => {
            format!("the most robust is {} at every k\n", printable(first))
        }
        _ => String::new(),
    }
}

fn disconnected(document: &SweepDocument) -> String {
    if document.disconnected.is_empty() {
        return String::new();
    }
    let values: Vec<String> = document.disconnected.iter().map(usize::to_string).collect();
    let done = match document.method.connectivity.as_str() {
        "grow" => "the smallest larger k that connects every graph was used",
        "bridge" => "the shortest edges between the pieces were added",
        _ => "these have no score",
    };
    format!("\ngraphs were disconnected at k = {}; {done}\n", values.join(", "))
}
