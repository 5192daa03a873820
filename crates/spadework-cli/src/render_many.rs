//! Comparisons, sweeps and new samples as text for people.

use spadework_document::RequestDocument;
use spadework_document::comparison::{CompareDocument, ModelDocument};
use spadework_document::probe::ProbeDocument;
use spadework_document::sweep::{PointDocument, SweepDocument};

use crate::render::{corruption, number, percent, printable, table};
use crate::render_graphs::is_plain;
use crate::render_indices::indices_of;

/// The whole result of `compare`.
pub(crate) fn comparison(document: &CompareDocument) -> String {
    let CompareDocument { neighbors, samples, models, .. } = document;
    let used = if neighbors.used == neighbors.requested {
        format!("{} neighbors", neighbors.used)
    } else {
        format!("{} neighbors, {} asked for", neighbors.used, neighbors.requested)
    };
    let made = graphs_made(&document.request);
    let mut text = format!(
        "{} models on {samples} samples, most robust first by model score ({used}{made})\n",
        models.len()
    );
    text.push_str(&corruption(document.corruption.as_ref()));
    text.push_str(&model_table(models));
    text.push_str(&how_probed(models));
    text.push_str(&order_by_probes(document));
    text.push_str(&uncertain_order(models));
    text.push_str(&indices_of(models));
    text.push_str(&agreement(document));
    text.push_str(&format!(
        "\nseconds: input neighbors {:.3}; total {:.3}\n",
        document.timings.neighbors_input_s, document.timings.total_s
    ));
    text
}

/// How the graphs were made, where that is not the usual way.
fn graphs_made(request: &RequestDocument) -> String {
    let RequestDocument { graph, weights, .. } = request;
    let plain = is_plain(graph, weights);
    let made = if plain { String::new() } else { format!("; {graph} graphs, {weights} weights") };
    let usual = request.has_usual_distances();
    let distances = if usual { String::new() } else { format!("; distances {}", request.distances()) };
    format!("{made}{distances}")
}

fn model_table(models: &[ModelDocument]) -> String {
    let has = |what: fn(&ModelDocument) -> bool| models.iter().any(what);
    let mut header = vec!["rank", "model", "model score"];
    let accuracy = has(|model| model.facts.accuracy.is_some());
    let overlap = has(|model| model.facts.edge_overlap.is_some());
    let interval = has(|model| model.facts.interval.is_some());
    let permuted = has(|model| model.facts.references.is_some());
    let worst = has(|model| model.disparity.is_some());
    let probe = has(|model| model.facts.probe.is_some());
    header.extend(interval.then_some("95 % interval"));
    header.extend(accuracy.then_some("accuracy"));
    header.extend(overlap.then_some("overlap"));
    let robust = has(|model| model.facts.probe.as_ref().is_some_and(|probe| probe.robust_accuracy.is_some()));
    header.extend(robust.then_some("robust"));
    header.extend(probe.then_some(["held", "stability"]).into_iter().flatten());
    let ratio =
        !robust && has(|model| model.facts.probe.as_ref().is_some_and(|probe| probe.margin_ratio.is_some()));
    header.extend(ratio.then_some("margin ratio"));
    header.extend(permuted.then_some("permuted"));
    header.extend(worst.then_some("worst label"));
    header.push("enclosure");
    let rows = models.iter().enumerate().map(|(at, model)| {
        let mut row = vec![(at + 1).to_string(), printable(&model.name), number(model.model_score)];
        if interval {
            row.push(model.facts.interval.map_or_else(String::new, |interval| {
                format!("[{}, {}]", number(interval.lower), number(interval.upper))
            }));
        }
        if accuracy {
            row.push(model.facts.accuracy.map_or_else(String::new, percent));
        }
        if overlap {
            row.push(model.facts.edge_overlap.map_or_else(String::new, percent));
        }
        if probe {
            let share = |of: fn(&ProbeDocument) -> Option<f64>| {
                let part = model.facts.probe.as_ref().and_then(of);
                part.map_or_else(String::new, percent)
            };
            row.extend(robust.then(|| share(|probe| probe.robust_accuracy)));
            row.extend([share(|probe| Some(probe.held)), share(|probe| Some(probe.stability))]);
            let margin_ratio = model.facts.probe.as_ref().and_then(|probe| probe.margin_ratio);
            row.extend(ratio.then(|| margin_ratio.map_or_else(String::new, number)));
        }
        if permuted {
            row.push(
                model.facts.references.map_or_else(String::new, |references| number(references.permuted)),
            );
        }
        if worst {
            row.push(worst_label(model));
        }
        row.push(width(model));
        row
    });
    table(&header, rows)
}

/// What the columns of probes say, where there are any.
fn how_probed(models: &[ModelDocument]) -> String {
    let Some(first) = models.iter().find_map(|model| model.facts.probe.as_ref()) else {
        return String::new();
    };
    let ProbeDocument { probe, samples, .. } = first;
    let evaluations: u64 =
        models.iter().filter_map(|model| model.facts.probe.as_ref()).map(|probe| probe.evaluations).sum();
    // Without labels nobody knows what is right.
    let stays = if first.accuracy.is_some() { "right" } else { "the same class" };
    let robust = first
        .robust_accuracy
        .map_or_else(String::new, |_| format!("robust: {stays} under attack, estimated; "));
    format!(
        "  {probe} on {samples} samples, {evaluations} model evaluations; {robust}held: {stays} on every copy; stability: mean \
         part of the margin that is left\n"
    )
}

/// The order by probes, where it is another one.
fn order_by_probes(document: &CompareDocument) -> String {
    let Some(order) = document.order_by_probes() else { return String::new() };
    let named = |(name, robust): (&str, f64)| format!("{} ({})", printable(name), percent(robust));
    let order: Vec<String> = order.into_iter().map(named).collect();
    format!(
        "  probes rank them otherwise: {}; they have followed attacks more closely than model scores\n",
        order.join(", ")
    )
}

fn worst_label(model: &ModelDocument) -> String {
    let Some(disparity) = model.disparity else { return String::new() };
    let name = model.label_scores.iter().find(|label| label.label == disparity.worst);
    let name = name.and_then(|label| label.name.as_deref());
    let name = name.map_or_else(|| disparity.worst.to_string(), printable);
    format!("{name} ({:.1} × mean)", disparity.ratio)
}

/// The enclosure as a relative width: the ends agree with the score to more digits than a table shows.
fn width(model: &ModelDocument) -> String {
    let enclosure = &model.enclosure;
    let width = (enclosure.upper - enclosure.lower) / model.model_score;
    format!("± {width:.0e} ({})", enclosure.method)
}

/// Models whose enclosures overlap are not ranked for certain.
fn uncertain_order(models: &[ModelDocument]) -> String {
    let pairs = models.windows(2).filter(|pair| pair[0].enclosure.upper >= pair[1].enclosure.lower);
    pairs
        .map(|pair| {
            format!(
                "  {} and {} may stand the other way round: their enclosures overlap\n",
                printable(&pair[0].name),
                printable(&pair[1].name)
            )
        })
        .collect()
}

fn agreement(document: &CompareDocument) -> String {
    let Some(first) = document.agreement.first() else { return String::new() };
    let in_order = first.subsamples_in_order.is_some();
    let top = format!("top {} shared", first.top);
    let mut header = vec!["model", "model", top.as_str(), "Spearman", "Kendall"];
    header.extend(in_order.then_some("in this order"));
    let rows = document.agreement.iter().map(|pair| {
        let mut row = vec![
            printable(&pair.a),
            printable(&pair.b),
            format!("{:.0} %", 100.0 * pair.overlap),
            correlation(pair.spearman),
            correlation(pair.kendall),
        ];
        row.extend(pair.subsamples_in_order.map(|part| format!("{:.0} %", 100.0 * part)));
        row
    });
    let mut text = "\nagreement on which samples are fragile\n".to_owned();
    text.push_str(&table(&header, rows));
    if in_order {
        text.push_str("  in this order: part of the subsamples in which the first scores below the second\n");
    }
    text
}

/// A rank correlation, or that there is none: equal scores have no order.
pub(crate) fn correlation(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// The whole result of `sweep`.
pub(crate) fn sweep(document: &SweepDocument) -> String {
    let names: Vec<String> = document.models.iter().map(|name| printable(name)).collect();
    let several = names.len() > 1;
    let mut header = vec!["k"];
    header.extend(names.iter().map(String::as_str));
    header.extend(several.then_some("most robust"));
    header.push("");
    let rows = document.points.iter().map(|point| sweep_row(document, point, several));
    let made = graphs_made(&document.request);
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
    row.extend(point.scores.iter().map(|score| number(score.model_score)));
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
    let done = match document.connectivity.as_str() {
        "grow" => "the smallest larger k that connects every graph was used",
        "bridge" => "the shortest edges between the pieces were added",
        _ => "these have no score",
    };
    format!("\ngraphs were disconnected at k = {}; {done}\n", values.join(", "))
}
