//! `spadework distortion` as text for people.

use spadework_document::distortion::{CutLabelDocument, DistortionDocument, MeanDocument};

use crate::render::{number, number_short, printable, table};
use crate::render_graphs::{distances_line, edges_line, is_plain};

/// Labels named next to the sparsest cut.
const LABELS: usize = 5;

pub(super) fn render(document: &DistortionDocument) -> String {
    let mut text = headline(document);
    text.push_str(&contrasts(document));
    if !document.pairs.is_empty() {
        text.push_str(&pairs(document));
    }
    text.push_str(&bounds(document));
    text
}

fn headline(document: &DistortionDocument) -> String {
    let DistortionDocument { graph, weights, .. } = document;
    let made = if is_plain(graph, weights) {
        String::new()
    } else {
        format!("graph         {graph}, {weights} weights\n")
    };
    format!(
        "SPADE score   {}   (upper bound of the distortion of every pair, by resistance)\n\
         samples       {}\n\
         {}{made}{}",
        number(document.model_score),
        document.samples,
        edges_line(document.neighbors, document.input_edges, document.output_edges),
        distances_line(&document.made.request.distances, "distances     "),
    )
}

/// The paper's Table 2.
fn contrasts(document: &DistortionDocument) -> String {
    let (top, confidence) = (document.top, 100.0 * document.confidence);
    let mean = |mean: MeanDocument| {
        let [value, lower, upper] = [mean.mean, mean.lower, mean.upper].map(number_short);
        format!("{value} [{lower}, {upper}]")
    };
    let rows = document.distances.iter().map(|contrast| {
        vec![
            contrast.distance.to_owned(),
            mean(contrast.top),
            mean(contrast.random),
            number_short(contrast.top.mean / contrast.random.mean),
            number_short(contrast.p_value),
        ]
    });
    let (top_heading, random_heading) = (format!("{top} top edges"), format!("{top} random edges"));
    let heading = ["distance", &top_heading, &random_heading, "top/random", "p-value"];
    let mut text = format!(
        "\nmean distortion, output distance over input distance, with {confidence} % intervals\n{}",
        table(&heading, rows)
    );
    if let Some(edges) = &document.all_edges {
        text.push_str(&format!(
            "all {} input edges: geodesic {}, resistance {} ({})\n",
            edges.edges,
            number_short(edges.mean_geodesic_distortion),
            number_short(edges.mean_resistance_distortion),
            match edges.resistances.rows {
                Some(rows) => format!(
                    "each resistance within {} %, with probability at least {}; {rows} random rows per side",
                    number_short(100.0 * edges.resistances.error),
                    edges.resistances.probability
                ),
                None => "by solves".to_owned(),
            }
        ));
    }
    text
}

fn pairs(document: &DistortionDocument) -> String {
    let rows = document.pairs.iter().map(|pair| {
        let distortions = [pair.geodesic.distortion, pair.resistance.distortion].map(number);
        [vec![pair.p.to_string(), pair.q.to_string()], distortions.to_vec()].concat()
    });
    format!("\ndistortion of the pairs of --pair\n{}", table(&["p", "q", "geodesic", "resistance"], rows))
}

/// How near the bounds are, and the distances between the graphs as a whole.
fn bounds(document: &DistortionDocument) -> String {
    let DistortionDocument { largest, cut, riemannian, .. } = document;
    let which =
        if riemannian.all { "all".to_owned() } else { format!("the {} largest", riemannian.eigenvalues) };
    format!(
        "\nlargest distortion found   {}, samples {} and {} (upper bound: {})\n\
         sparsest cut               {} sample{}: {} across it at the input, {} at the output\n\
         {:27}ratio {}, at least {} (1/SPADE score)\n{}\
         reverse score              {}   (upper bound of how much closer two samples get)\n\
         bi-Lipschitz constant      {}\n\
         Riemannian distance        {} ({which} eigenvalues)\n",
        number(largest.distortion),
        largest.p,
        largest.q,
        number_short(document.model_score),
        cut.samples,
        if cut.samples == 1 { "" } else { "s" },
        edges(cut.input),
        edges(cut.output),
        "",
        number(cut.distortion),
        number(cut.bound),
        labels(&cut.labels),
        number(document.reverse_score),
        number(document.bi_lipschitz),
        number(riemannian.distance),
    )
}

/// A number of edges, or their weight where it is not a whole number.
fn edges(boundary: f64) -> String {
    match boundary {
        1.0 => "1 edge".to_owned(),
        whole if whole.fract() == 0.0 => format!("{whole} edges"),
        weight => format!("edges of weight {}", number(weight)),
    }
}

fn labels(labels: &[CutLabelDocument]) -> String {
    let named: Vec<String> = labels
        .iter()
        .take(LABELS)
        .filter(|label| label.inside > 0)
        .map(|label| {
            let name = label.name.as_deref().map_or_else(|| label.label.to_string(), printable);
            format!("{name} ({} of {})", label.inside, label.samples)
        })
        .collect();
    if named.is_empty() { String::new() } else { format!("{:27}labels inside: {}\n", "", named.join(", ")) }
}
