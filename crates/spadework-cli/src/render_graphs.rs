//! Graphs as text for people: how they were made, and the table of `spadework graphs`.

use spadework_document::DistancesDocument;
use spadework_document::score::{GraphDocument, NeighborsDocument, ScoreDocument, SearchDocument};

use crate::render::number;

/// `784 numbers`, or `a graph` where there are no samples.
pub(crate) fn numbers_of(dim: usize, unit: &str) -> String {
    match dim {
        0 => "a graph".to_owned(),
        _ => format!("{dim} {unit}").trim_end().to_owned(),
    }
}

/// How the graphs were made, and how large they are.
pub(crate) fn graph_lines(document: &ScoreDocument) -> String {
    let ScoreDocument { neighbors, graphs, .. } = document;
    let (what, value) = edges_made(*neighbors, graphs.input.edges, graphs.output.edges);
    let mut lines = format!("  {what:<17}  {value}\n");
    if !is_plain(&document.method.graph, &document.method.weights) {
        let details = details(&graphs.input, &graphs.output);
        let details = if details.is_empty() { details } else { format!("; {details}") };
        lines.push_str(&format!(
            "  graph              {}, {} weights{details}\n",
            document.method.graph, document.method.weights
        ));
    }
    lines.push_str(&distances_line(&document.made.request.distances, "  distances          "));
    let sides = [("inputs", &graphs.input), ("outputs", &graphs.output)];
    let searches: Vec<String> = sides
        .into_iter()
        .filter_map(|(side, graph)| Some(format!("{} for {side}", search(graph.search.as_ref()?))))
        .collect();
    if !searches.is_empty() {
        lines.push_str(&format!("  search             {}\n", searches.join(", ")));
    }
    lines
}

/// How distances are taken, after some words; nothing where they are the usual ones.
pub(crate) fn distances_line(distances: &DistancesDocument, what: &str) -> String {
    if distances.are_usual() { String::new() } else { format!("{what}{}\n", distances.in_words()) }
}

/// How many neighbors were asked for and used, and how many edges that made; or that the graphs were given.
pub(crate) fn edges_line(neighbors: NeighborsDocument, input: usize, output: usize) -> String {
    let (what, value) = edges_made(neighbors, input, output);
    format!("{what:<12}  {value}\n")
}

fn edges_made(neighbors: NeighborsDocument, input: usize, output: usize) -> (&'static str, String) {
    let edges = format!("{input} input edges, {output} output edges");
    match (neighbors.requested, neighbors.used) {
        (0, _) => ("graphs", format!("given; {edges}")),
        (requested, used) if requested == used => ("neighbors", format!("{used}; {edges}")),
        (requested, used) => ("neighbors", format!("{used} ({requested} requested); {edges}")),
    }
}

fn search(search: &SearchDocument) -> String {
    match search.measured_rows {
        None => search.method.clone(),
        Some(_) => format!("{} (recall {:.4})", search.method, search.recall),
    }
}

/// Whether graphs were made in the usual way, of which nothing has to be said.
pub(crate) fn is_plain(graph: &str, weights: &str) -> bool {
    (graph, weights) == ("knn", "unit")
}

/// [`details`] for a line of a table.
pub(crate) fn brief(input: &GraphDocument, output: &GraphDocument) -> String {
    let dimensions = input.construction.dimensions.map(in_dimensions);
    let kappa = |graph: &GraphDocument| {
        graph.construction.sparsifier.map(|sparsifier| format!("{:.1}", sparsifier.kappa))
    };
    let kappas = kappa(input).zip(kappa(output)).map(|(input, output)| format!("kappa {input}, {output}"));
    dimensions.or(kappas).unwrap_or_default()
}

fn in_dimensions(count: usize) -> String {
    match count {
        1 => "1 dimension".to_owned(),
        _ => format!("{count} dimensions"),
    }
}

/// What a projection or sparsification kept.
fn details(input: &GraphDocument, output: &GraphDocument) -> String {
    let mut parts = Vec::new();
    if let (Some(dimensions), Some(explained)) = (input.construction.dimensions, input.construction.explained)
    {
        let verb = if dimensions == 1 { "holds" } else { "hold" };
        parts.push(format!(
            "{} {verb} {:.1} % of the variance",
            in_dimensions(dimensions),
            100.0 * explained
        ));
    }
    for (side, graph) in [("input", input), ("output", output)] {
        if let Some(sparsifier) = graph.construction.sparsifier {
            let kappa = number(sparsifier.kappa);
            parts.push(format!("{side} kappa {kappa} relative to {} edges", sparsifier.edges_before));
        }
    }
    parts.join(", ")
}
