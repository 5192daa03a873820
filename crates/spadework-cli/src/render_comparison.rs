//! Comparisons as text for people: the order and what it rests on, then everything else.

use spadework_document::RequestDocument;
use spadework_document::SettingsDocument;
use spadework_document::comparison::{
    AgreementDocument, CompareDocument, DisagreementDocument, ModelDocument,
};
use spadework_document::estimates::{DifferenceDocument, EstimatesDocument, ShareDocument};
use spadework_document::probe::{ProbeDocument, SpreadOf};
use spadework_document::words::{attack_name, grouped};
use spadework_report::attacks_tried;

use crate::render::{corruption, number, number_short, printable, table};
use crate::render_graphs::is_plain;
use crate::render_indices::indices_of;
use crate::render_shares::{difference, share_alone, share_with_range, unevenness_with_range};

/// The whole result of `compare`.
pub(crate) fn comparison(document: &CompareDocument) -> String {
    let models = &document.models;
    let mut text = headline(document);
    text.push_str(&corruption(document.corruption.as_ref()));
    text.push('\n');
    text.push_str(&model_table(document));
    text.push_str(&shared_ranks(document));
    text.push_str(&alike_across_ranks(document));
    text.extend(document.disagreement.iter().map(disagreement));
    text.push_str(&next_step(document));
    text.push_str(&indices_of(models));
    text.push_str(&agreement(document));
    text.push_str(&format!(
        "\nseconds: input neighbors {:.3}; total {:.3}\n",
        document.timings.neighbors_input_s, document.timings.total_s
    ));
    text
}

fn headline(document: &CompareDocument) -> String {
    let CompareDocument { settings: SettingsDocument { neighbors, samples, .. }, models, .. } = document;
    let used = if neighbors.used == neighbors.requested {
        format!("{} neighbors", neighbors.used)
    } else {
        format!("{} neighbors, {} requested", neighbors.used, neighbors.requested)
    };
    let made = graphs_made(&document.made.request);
    let evidence = match document.ranked_by.as_str() {
        "robust-accuracy" => format!("{} ({})", words(&document.ranked_by), probed(models)),
        // The overlap is counted with the k asked for.
        "overlap" => format!("{} ({} neighbors{made})", words(&document.ranked_by), neighbors.requested),
        other => format!("{} ({used}{made})", words(other)),
    };
    format!("{} models on {} samples, most robust first by {evidence}\n", models.len(), grouped(*samples))
}

/// The common name of what models are ranked by.
fn words(by: &str) -> &str {
    match by {
        "robust-accuracy" => "estimated robust accuracy",
        "unevenness" => "unevenness",
        "overlap" => "neighborhood overlap",
        _ => "SPADE score",
    }
}

/// How the models were probed.
fn probed(models: &[ModelDocument]) -> String {
    let Some(first) = models.iter().find_map(|model| model.facts.probe.as_ref()) else {
        return String::new();
    };
    let all = || models.iter().filter_map(|model| model.facts.probe.as_ref());
    let evaluations: u64 = all().map(|probe| probe.evaluations).sum();
    let probed: u64 = all().map(|probe| probe.samples as u64).sum();
    let ProbeDocument { probe, samples, .. } = first;
    format!(
        "{}: {} samples, {} queries each on average, paired",
        attack_name(probe),
        grouped(*samples),
        evaluations / probed.max(1)
    )
}

/// How the graphs were made, where that is not the usual way.
pub(crate) fn graphs_made(request: &RequestDocument) -> String {
    let RequestDocument { graph, weights, .. } = request;
    let plain = is_plain(graph, weights);
    let made = if plain { String::new() } else { format!("; {graph} graphs, {weights} weights") };
    let taken = &request.distances;
    let distances =
        if taken.are_usual() { String::new() } else { format!("; distances {}", taken.in_words()) };
    format!("{made}{distances}")
}

/// A column of the table: its heading, and what it says of a model.
type Column<'a> = (&'a str, Cell<'a>);

/// What a column says of a model.
type Cell<'a> = Box<dyn Fn(&ModelDocument) -> Option<String> + 'a>;

fn model_table(document: &CompareDocument) -> String {
    let by = document.ranked_by.as_str();
    // The number that decides has its interval, and comes first.
    let shares: [Column<'_>; 5] = [
        ("robust accuracy", share_column(by == "robust-accuracy", |known| known.robust_accuracy)),
        ("survived", share_column(false, |known| known.survived)),
        ("accuracy", share_column(false, |known| known.accuracy)),
        ("unevenness", Box::new(move |model| unevenness(by == "unevenness", model))),
        ("overlap", share_column(by == "overlap", |known| known.overlap)),
    ];
    let by_score = by == "model-score";
    let score = |model: &ModelDocument| {
        Some(if by_score {
            number(model.spectrum.model_score)
        } else {
            number_short(model.spectrum.model_score)
        })
    };
    let mut columns: Vec<Column<'_>> = shares.into();
    columns.push(("SPADE score", Box::new(score)));
    columns.push(("95 % interval", Box::new(score_interval)));
    if let Some(decides) = columns.iter().position(|(heading, _)| *heading == heading_of(by)) {
        columns[..=decides].rotate_right(1);
    }
    if by_score {
        columns.push(("numerical bounds", Box::new(|model| Some(width(model)))));
    }
    let change = |model: &ModelDocument| Some(number_short(model.facts.output_change.as_ref()?.median));
    columns.push((heading_of_change(document), Box::new(change)));
    columns
        .push(("margin ratio", Box::new(|model| model.facts.probe.as_ref()?.margin_ratio.map(number_short))));
    columns.push((
        "permuted",
        Box::new(|model| model.facts.references.map(|found| number_short(found.permuted))),
    ));
    columns.push(("worst label", Box::new(worst_label)));
    columns.retain(|(_, value)| document.models.iter().any(|model| value(model).is_some()));
    let headings = columns.iter().map(|(heading, _)| *heading);
    let header: Vec<&str> = ["rank", "model"].into_iter().chain(headings).collect();
    let rows = document.models.iter().map(|model| {
        let cells = columns.iter().map(|(_, value)| value(model).unwrap_or_default());
        [model.rank.to_string(), printable(&model.name)].into_iter().chain(cells).collect()
    });
    table(&header, rows)
}

/// With the unit of the changes, which is the same for all models.
fn heading_of_change(document: &CompareDocument) -> &'static str {
    let mut units = document.models.iter().filter_map(|model| Some(model.facts.output_change.as_ref()?.unit));
    match units.next() {
        Some(SpreadOf::Targets) => "change of output (sd of the targets)",
        _ => "change of output (sd of the outputs)",
    }
}

fn heading_of(by: &str) -> &str {
    match by {
        "robust-accuracy" => "robust accuracy",
        "unevenness" => "unevenness",
        "overlap" => "overlap",
        _ => "SPADE score",
    }
}

fn share_column<'a>(decides: bool, of: fn(&EstimatesDocument) -> Option<ShareDocument>) -> Cell<'a> {
    let shown = if decides { share_with_range } else { share_alone };
    Box::new(move |model| of(&model.facts.estimates).map(|share| shown(&share)))
}

/// No share: a number, with its interval where it decides.
fn unevenness(decides: bool, model: &ModelDocument) -> Option<String> {
    let found = model.facts.estimates.unevenness?;
    Some(if decides { unevenness_with_range(&found) } else { format!("{:.3}", found.estimate) })
}

fn score_interval(model: &ModelDocument) -> Option<String> {
    let interval = model.facts.interval?;
    Some(format!("({} – {})", number_short(interval.lower), number_short(interval.upper)))
}

fn worst_label(model: &ModelDocument) -> Option<String> {
    let disparity = model.disparity?;
    let name = model.label_scores.iter().find(|label| label.label == disparity.worst);
    let name = name.and_then(|label| label.name.as_deref());
    let name = name.map_or_else(|| disparity.worst.to_string(), printable);
    Some(format!("{name} ({:.1} × mean)", disparity.ratio))
}

/// The numerical bounds as a relative width: the ends agree with the score to more digits than a table shows.
fn width(model: &ModelDocument) -> String {
    let bounds = &model.spectrum.numerical_bounds;
    let width = |upper: f64| (upper - bounds.lower) / model.spectrum.model_score;
    bounds.upper.map_or_else(String::new, |upper| format!("± {:.0e} ({})", width(upper), bounds.method))
}

/// Models that share a rank, with the difference where there are two.
fn shared_ranks(document: &CompareDocument) -> String {
    let groups = document.models.chunk_by(|a, b| a.rank == b.rank).filter(|group| group.len() > 1);
    let told = |group: &[ModelDocument]| {
        let names: Vec<String> = group.iter().map(|model| printable(&model.name)).collect();
        let between = |pair: &&AgreementDocument| pair.a == group[0].name && pair.b == group[1].name;
        let pair = document.agreement.iter().find(between).filter(|_| group.len() == 2);
        let difference = match pair.map(|pair| (&pair.difference, pair.subsamples_in_order)) {
            Some((Some(found), _)) => how_far(document, found),
            Some((None, Some(part))) => {
                format!(" (in this order in {:.0} % of the half-samples)", 100.0 * part)
            }
            _ => String::new(),
        };
        let listed = names.join(if group.len() == 2 { " and " } else { ", " });
        format!("  Rank {} is shared: {listed} cannot be distinguished{difference}.\n", group[0].rank)
    };
    groups.map(told).collect()
}

/// The difference of two models in parentheses: points of a share, and a plain number of unevenness.
fn how_far(document: &CompareDocument, found: &DifferenceDocument) -> String {
    if document.ranked_by == "unevenness" {
        format!(" (difference {:.3} ± {:.3})", found.difference, (found.upper - found.lower) / 2.0)
    } else {
        format!(" (difference {})", difference(found))
    }
}

/// Pairs whose ranks differ and that cannot be distinguished either.
fn alike_across_ranks(document: &CompareDocument) -> String {
    /// Pairs that are named.
    const NAMED: usize = 3;
    let pairs: Vec<&AgreementDocument> = document.alike_across_ranks().collect();
    let named = pairs.iter().take(NAMED).map(|pair| {
        let difference = pair.difference.as_ref().map(|found| how_far(document, found)).unwrap_or_default();
        let (a, b) = (printable(&pair.a), printable(&pair.b));
        format!("  {a} and {b} cannot be distinguished either{difference}.\n")
    });
    let more = pairs.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("  The same is true of {more} more pairs of different rank.\n"));
    named.chain(more).collect()
}

fn disagreement(found: &DisagreementDocument) -> String {
    let DisagreementDocument { by, pairs, of, first: [a, b] } = found;
    let number = match by.as_str() {
        "robust-accuracy" => "Estimated robust accuracy",
        "unevenness" => "Unevenness",
        "overlap" => "Neighborhood overlap",
        _ => "The SPADE score",
    };
    let (a, b) = (printable(a), printable(b));
    if *pairs == 1 {
        return format!("  {number} orders {a} and {b} the other way around.\n");
    }
    format!("  {number} orders {pairs} of {of} pairs the other way around, {a} and {b} first.\n")
}

/// What would give better evidence.
fn next_step(document: &CompareDocument) -> String {
    match document.ranked_by.as_str() {
        "robust-accuracy" => String::new(),
        "model-score" => "  The SPADE score tracks accuracy under attack poorly; --rank-by auto ranks by the best evidence \
                          available.\n"
            .to_owned(),
        _ => format!("  {}\n", printable(&attacks_tried(document))),
    }
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
            format!("{:.0} %", 100.0 * pair.top_shared),
            correlation(pair.spearman),
            correlation(pair.kendall),
        ];
        row.extend(pair.subsamples_in_order.map(|part| format!("{:.0} %", 100.0 * part)));
        row
    });
    let mut text = "\nagreement of node scores: which samples each model stretches most\n".to_owned();
    text.push_str(&table(&header, rows));
    if in_order {
        text.push_str(
            "  in this order: share of the half-samples in which the first has the smaller SPADE score\n",
        );
    }
    text
}

/// A rank correlation, or that there is none: equal scores have no order.
pub(crate) fn correlation(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}
