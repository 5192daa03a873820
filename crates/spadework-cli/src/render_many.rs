//! Sweeps as text for people.

use spadework_document::sweep::{PointDocument, SweepDocument};
use spadework_document::words::FOLLOW_POORLY;

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
    let mut text = format!("SPADE score over k, {} samples{made}\n", document.samples);
    text.push_str(&table(&header, rows));
    text.push_str(&stability(document));
    text.push_str(&disconnected(document));
    if several {
        text.push_str(&format!("{FOLLOW_POORLY}\n"));
    }
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

/// Whether the models have an order, and which pairs keep theirs whatever k is.
fn stability(document: &SweepDocument) -> String {
    let Some(stable) = &document.stable else { return String::new() };
    let order = match document.usual_order() {
        Some(order) if order.points == order.of => {
            return format!("\nthe order is the same for every k: {}\n", in_order(&order.ranking));
        }
        Some(order) => {
            format!(
                "the order holds for {} of {} values of k: {}",
                order.points,
                order.of,
                in_order(&order.ranking)
            )
        }
        None => "not established: no order of the models holds for most k".to_owned(),
    };
    let range = if stable.from == stable.to {
        format!("k = {}", stable.from)
    } else {
        format!("k = {} to {}", stable.from, stable.to)
    };
    format!(
        "\n{order}\nlongest range with one order: {range} ({} of {} values): {}\n{}{}",
        stable.points,
        document.points.len(),
        in_order(&stable.ranking),
        pairs_everywhere(document),
        first_for_every_k(document)
    )
}

/// Models by name, the smallest score first.
fn in_order(ranking: &[String]) -> String {
    ranking.iter().map(|name| printable(name)).collect::<Vec<_>>().join(" < ")
}

/// Pairs that keep their order at every k.
fn pairs_everywhere(document: &SweepDocument) -> String {
    let pairs = document.pairs_everywhere();
    if pairs.is_empty() {
        return "no two models keep their order at every k\n".to_owned();
    }
    let pairs: Vec<String> =
        pairs.iter().map(|(a, b)| format!("{} < {}", printable(a), printable(b))).collect();
    format!("at every k: {}\n", pairs.join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A sweep with these rankings, k by k.
    fn document(rankings: &[&[&str]]) -> SweepDocument {
        let point = |(at, ranking): (usize, &&[&str])| serde_json::json!({"neighbors": at + 5, "used": at + 5, "scores": [], "ranking": ranking});
        let points: Vec<_> = rankings.iter().enumerate().map(point).collect();
        let request = spadework_document::RequestDocument::from(&spadework::SpadeParams::default());
        let stable = serde_json::json!({"from": 5, "to": 5, "points": 1, "ranking": rankings[0]});
        serde_json::from_value(serde_json::json!({
            "schema": "", "models": ["a", "b", "c"], "points": points, "stable": stable, "disconnected": [], "samples": 9,
            "graph": "knn", "weights": "unit", "output_searches": [], "connectivity": "grow", "eigenpairs": 2,
            "tolerance": 0.0, "seed": 0, "request": request, "notes": [],
            "timings": {"neighbors_s": 0.0, "total_s": 0.0}, "version": ""
        }))
        .unwrap()
    }

    /// What does not hold for most k is not claimed; what holds for every k is listed.
    #[test]
    fn an_order_must_hold_for_most_k() {
        let [abc, bac, acb, cab] = [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"], ["c", "a", "b"]];
        let text = stability(&document(&[&abc, &bac, &abc, &bac]));
        assert!(text.contains("\nnot established: no order of the models holds for most k\n"), "{text}");
        assert!(text.contains("\nat every k: a < c, b < c\n"), "{text}");
        let text = stability(&document(&[&abc, &acb, &abc]));
        assert!(text.contains("\nthe order holds for 2 of 3 values of k: a < b < c\n"), "{text}");
        assert!(text.contains("the most robust is a at every k") && text.contains("longest range"), "{text}");
        let text = stability(&document(&[&abc, &cab, &bac, &acb]));
        assert!(text.contains("not established") && text.contains("no two models keep"), "{text}");
        let text = stability(&document(&[&abc, &abc]));
        assert_eq!(text, "\nthe order is the same for every k: a < b < c\n");
    }
}
