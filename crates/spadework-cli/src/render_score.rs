//! The result of `score` as text for people: the answer, what it rests on and what would say more, then SPADE's numbers.

use spadework::laplacian::SketchInfo;
use spadework::monitor::Stage;
use spadework::scores::Disparity;
use spadework_document::SpectrumDocument;
use spadework_document::estimates::ShareDocument;
use spadework_document::facts::{FactsDocument, NodeDocument};
use spadework_document::probe::ProbeDocument;
use spadework_document::score::{
    IntervalDocument, LabelDocument, NumericalBoundsDocument, ReferencesDocument, ScoreDocument,
    TimingsDocument,
};
use spadework_document::variants::VariantsDocument;
use spadework_document::words::{attack_name, grouped};

use crate::render::{bar, bounds, corruption, number, number_short, printable, table};
use crate::render_graphs::{graph_lines, numbers_of};
use crate::render_indices::{indices, margins};
use crate::render_shares::{percent, share_with_range};

/// Samples that are named next to the answer.
const NAMED: usize = 8;

/// The whole result of `score`; `scores` are those of all samples.
pub(crate) fn score(document: &ScoreDocument, scores: &[f64]) -> String {
    let facts = &document.facts;
    let mut text = answer(document);
    text.push_str(&indices(facts.indices.as_ref()));
    if !document.label_scores.is_empty() {
        text.push_str("\nmean node score of every label, largest first\n");
        text.push_str(&label_table(&document.label_scores));
        text.push_str(&between_labels(document));
    }
    text.push_str("\nnode scores of the samples\n");
    text.push_str(&spread(scores));
    text.push_str("\nmost fragile samples\n");
    text.push_str(&node_table(document));
    text.push_str(&facts.probe.as_ref().map(changed).unwrap_or_default());
    text.push_str(&facts.variants.as_ref().map(flipped).unwrap_or_default());
    text.push_str("\nmost fragile pairs (edges of the input graph)\n");
    text.push_str(&edge_table(document));
    text.push_str(&format!("\n{}\n", timings(&document.timings)));
    text
}

/// What is known of the model, the best evidence first.
pub(crate) fn answer(document: &ScoreDocument) -> String {
    let mut text = title(document);
    text.push_str(&corruption(document.sources.corruption.as_ref()));
    text.push('\n');
    text.push_str(&evidence(&document.facts));
    text.push_str(&verdict(document));
    text.push_str(&weakest_labels(document));
    text.push_str(&weakest_samples(document));
    text.push('\n');
    text.push_str(&spade(document));
    text.push_str(&next_step(document));
    text
}

/// `lenet5.onnx on 10,000 samples, 784 numbers in, 10 out`.
fn title(document: &ScoreDocument) -> String {
    let name = document.name.as_deref().map_or_else(|| "a model".to_owned(), printable);
    format!(
        "{name} on {} samples, {} in, {} out\n",
        grouped(document.samples),
        numbers_of(document.input_dim, "numbers"),
        numbers_of(document.output_dim, if document.input_dim == 0 { "numbers" } else { "" }),
    )
}

/// One line: what it is, its value, and what that means.
fn line(what: &str, value: &str, meaning: &str) -> String {
    let text = format!("  {what:<17}  {value:<20}  {meaning}");
    format!("{}\n", text.trim_end())
}

/// Shares with their intervals, the one that says most about attacks first.
fn evidence(facts: &FactsDocument) -> String {
    let known = &facts.estimates;
    let mut text = String::new();
    if let Some(share) = &known.accuracy {
        text.push_str(&line("accuracy", &share_with_range(share), ""));
    }
    if let Some(probe) = &facts.probe {
        // Without labels nobody knows what is right.
        let stays = if probe.accuracy.is_some() { "right" } else { "of the same class" };
        let radius = attack_name(&probe.probe);
        if let Some(share) = &known.robust_accuracy {
            let queries = share.queries.unwrap_or_default();
            let how = format!("{} samples, {queries} queries each", grouped(share.n));
            let meaning = format!("estimated: {stays} under attack, {radius} ({how})");
            text.push_str(&line("robust accuracy", &share_with_range(share), &meaning));
        }
        if let Some(share) = &known.survived {
            let kind =
                if known.robust_accuracy.is_some() { String::new() } else { format!(", {}", probe.probe) };
            let meaning = format!("an upper bound: {stays} on every probe{kind}");
            text.push_str(&line("survived", &share_with_range(share), &meaning));
        }
    }
    if let Some(found) = &facts.variants {
        let how = format!(
            "{} samples, {} variants each{}",
            grouped(found.samples),
            found.variants,
            if found.stopped_early { ", ended early" } else { "" }
        );
        let script = printable(&found.script);
        let meaning = format!("variants by {script} that keep the class ({how})");
        text.push_str(&line("kept", &share_with_range(&found.kept), &meaning));
        let stays = if found.accuracy.is_some() { "right" } else { "of the same class" };
        text.push_str(&line(
            "survived",
            &share_with_range(&found.survived),
            &format!("{stays} on every variant"),
        ));
    }
    if let Some(found) = &facts.output_change {
        let value = format!("{} (95 % below {})", number_short(found.median), number_short(found.p95));
        let how = format!("{} samples, {} probes each", grouped(found.samples), found.probes);
        let unit = found.unit.word();
        let meaning = format!(
            "median of the largest change found, {}, in standard deviations of the {unit} ({how})",
            attack_name(&found.probe)
        );
        text.push_str(&line("change of output", &value, &meaning));
    }
    if let Some(share) = &known.overlap {
        let meaning = "input neighbors that stay neighbors; larger is more robust";
        text.push_str(&line("overlap", &share_with_range(share), meaning));
    }
    if let Some(part) = facts.agreement {
        let meaning = "input neighbors that get the same class; larger is more robust";
        text.push_str(&line("agreement", &percent(part), meaning));
    }
    text
}

/// The sentence of the verdict, where probes or variants were tried; otherwise it repeats the lines above.
fn verdict(document: &ScoreDocument) -> String {
    let tried = document.verdict.as_ref().filter(|_| document.facts.was_tried());
    tried.map_or_else(String::new, |verdict| format!("\n  {}\n", printable(&verdict.sentence)))
}

/// The labels to look at first: `9: 22 %, 4: 31 %, 7: 35 % (by samples that survive every probe)`.
fn weakest_labels(document: &ScoreDocument) -> String {
    let Some((what, shares)) = document.weakest_labels() else { return String::new() };
    let named = |(label, share): &(&LabelDocument, ShareDocument)| {
        format!("{}: {}", printable(&label.text()), percent(share.estimate))
    };
    let shares: Vec<String> = shares.iter().map(named).collect();
    format!("  weakest labels     {} (by {what})\n", shares.join(", "))
}

/// The samples to look at first, and what they are listed by.
fn weakest_samples(document: &ScoreDocument) -> String {
    if let Some(change) = &document.facts.output_change {
        let moved: Vec<String> =
            change.top.iter().take(NAMED).map(|sample| format!("#{}", sample.index)).collect();
        return format!("  weakest samples    {} (by change of output)\n", moved.join(" "));
    }
    let listed = &document.top_nodes;
    let name = |NodeDocument { sample, .. }: &NodeDocument| {
        sample.id.as_deref().map_or_else(|| format!("#{}", sample.index), printable)
    };
    let ids: Vec<String> = listed.iter().take(NAMED).map(name).collect();
    if ids.is_empty() {
        return String::new();
    }
    let is_by_fragility = listed.is_sorted_by(|a, b| a.fragility >= b.fragility);
    let basis = document.facts.fragility_basis.as_deref().filter(|_| is_by_fragility);
    format!("  weakest samples    {} (by {})\n", ids.join(" "), basis.unwrap_or("node scores"))
}

/// The paper's numbers, complete and by their names.
fn spade(document: &ScoreDocument) -> String {
    let ScoreDocument { spectrum: SpectrumDocument { numerical_bounds, .. }, facts, .. } = document;
    let around = facts.interval.map_or_else(String::new, |around| {
        format!(" ({} – {})", number_short(around.lower), number_short(around.upper))
    });
    let score = format!("{}{around}", number_short(document.spectrum.model_score));
    let spectrum: Vec<String> = document.spectrum.eigenvalues.iter().map(|value| number(*value)).collect();
    let mut text =
        line("SPADE score", &score, "λ_1; larger is less robust, for models of one kind on the same data");
    text.push_str(&facts.interval.map_or_else(String::new, subsamples));
    text.push_str(&line("numerical bounds", &certain_bounds(numerical_bounds), ""));
    text.push_str(&line("eigenvalues", &spectrum.join("  "), ""));
    text.push_str(&facts.references.map_or_else(String::new, references));
    text.push_str(&margins(facts.margins.as_ref()));
    text.push_str(&graph_lines(document));
    text.push_str(&document.full_spectrum.as_ref().map(full_spectrum).unwrap_or_default());
    text
}

/// Bounds, and how certain they are.
fn certain_bounds(found: &NumericalBoundsDocument) -> String {
    let certainty = match found.method.as_str() {
        "none" => return bounds(found),
        "residual" => format!("with probability at least {}", found.probability),
        "inertia" => "proved".to_owned(),
        _ => "all eigenvalues computed".to_owned(),
    };
    format!("{}, {certainty}", bounds(found))
}

fn subsamples(around: IntervalDocument) -> String {
    let IntervalDocument { level, subsample, repetitions, .. } = around;
    let ends = format!("[{}, {}]", number(around.lower), number(around.upper));
    let meaning = format!("{} %, from {repetitions} subsamples of {subsample}", 100.0 * level);
    line("interval", &ends, &meaning)
}

fn references(references: ReferencesDocument) -> String {
    let permuted = number_short(references.permuted);
    line("permuted baseline", &permuted, "SPADE score of the outputs, randomly permuted; the identity has 1")
}

/// What edge and node scores are made of, where that is not the eigenpairs above.
fn full_spectrum(scores: &SketchInfo) -> String {
    let value = match scores.rows {
        Some(rows) => format!(
            "of all eigenpairs: each within {} %, with probability at least {} ({rows} random rows)",
            number_short(100.0 * scores.error),
            scores.probability
        ),
        None => "of all eigenpairs, by solves".to_owned(),
    };
    line("scores", &value, "")
}

/// What would give better evidence.
fn next_step(document: &ScoreDocument) -> String {
    let step = document.verdict.as_ref().and_then(|verdict| verdict.next_step.as_deref());
    step.map_or_else(String::new, |step| format!("\n  {step}\n"))
}

/// How unevenly fragility is spread, and which two labels are torn apart.
fn between_labels(document: &ScoreDocument) -> String {
    const SHOWN: usize = 10;
    let name = |id: i64| label_name(&document.label_scores, id);
    let mut text = String::new();
    if let Some(Disparity { worst, ratio, .. }) = document.disparity {
        text.push_str(&format!(
            "  worst label {}: {} times the mean label score\n",
            name(worst),
            number_short(ratio)
        ));
    }
    let mut pairs: Vec<_> = document.label_pairs.iter().filter(|pair| pair.a != pair.b).collect();
    if pairs.is_empty() {
        return text;
    }
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score).then((a.a, a.b).cmp(&(b.a, b.b))));
    let rows = pairs
        .iter()
        .take(SHOWN)
        .map(|pair| vec![name(pair.a), name(pair.b), number(pair.score), pair.edges.to_string()]);
    text.push_str("\nlabels most easily confused (mean score of the input edges between them)\n");
    text.push_str(&table(&["label", "label", "score", "edges"], rows));
    text
}

/// The name of a label, where it has one, its number otherwise.
fn label_name(labels: &[LabelDocument], id: i64) -> String {
    let known = labels.iter().find(|label| label.label == id);
    known.and_then(|label| label.name.as_deref()).map_or_else(|| id.to_string(), printable)
}

pub(crate) fn label_table(labels: &[LabelDocument]) -> String {
    let mut labels: Vec<&LabelDocument> = labels.iter().collect();
    labels.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.label.cmp(&b.label)));
    let largest = labels.first().map_or(1.0, |label| label.score);
    let rows = labels.iter().map(|label| {
        let name = label.name.as_deref().map_or_else(|| label.label.to_string(), printable);
        let overlap = label.overlap.map_or_else(String::new, |share| percent(share.estimate));
        vec![name, number(label.score), label.samples.to_string(), overlap, bar(label.score / largest)]
    });
    table(&["label", "score", "samples", "overlap", ""], rows)
}

/// How many samples have a score of which size: a row for every power of ten, the largest scores first.
fn spread(scores: &[f64]) -> String {
    /// Smaller powers are one row: scores reach down to rounding errors.
    const POWERS: i32 = 8;
    let largest = scores.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return "  all scores are 0\n".to_owned();
    }
    let top = largest.log10().floor() as i32;
    let mut counts = [0usize; POWERS as usize];
    for score in scores {
        let power = if *score > 0.0 { score.log10().floor() as i32 } else { i32::MIN };
        counts[top.saturating_sub(power).clamp(0, POWERS - 1) as usize] += 1;
    }
    let last = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
    let most = counts.iter().copied().max().unwrap_or(1);
    let rows = counts[..=last].iter().enumerate().map(|(below, &count)| {
        let from = if below as i32 == POWERS - 1 { 0.0 } else { 10f64.powi(top - below as i32) };
        vec![number_short(from), count.to_string(), bar(count as f64 / most as f64)]
    });
    table(&["from", "samples", ""], rows)
}

fn node_table(document: &ScoreDocument) -> String {
    let nodes = &document.top_nodes;
    let labelled = nodes.iter().any(|node| node.sample.label.is_some());
    let with_margins = nodes.iter().any(|node| node.margin.is_some());
    let basis = document.facts.fragility_basis.as_deref();
    let name = |id: i64| label_name(&document.label_scores, id);
    let rows = nodes.iter().enumerate().map(|(rank, node)| {
        let mut row = vec![(rank + 1).to_string(), node.sample.index.to_string(), number(node.score)];
        row.extend(node.sample.label.map(name));
        row.extend(node.margin.map(number_short));
        row.extend(node.fragility.map(|part| format!("{part:.4}")));
        row
    });
    let mut header = vec!["rank", "sample", "score"];
    header.extend(labelled.then_some("label"));
    header.extend(with_margins.then_some("margin"));
    header.extend(basis.map(|_| "fragility"));
    let meaning = basis.map_or_else(String::new, |basis| {
        format!("  fragility: the share of the samples that are less fragile, by {basis}\n")
    });
    table(&header, rows) + &meaning
}

/// Samples that a copy takes to another class.
fn changed(probe: &ProbeDocument) -> String {
    if probe.top_changed.is_empty() {
        return String::new();
    }
    let rows = probe.top_changed.iter().map(|sample| {
        vec![sample.index.to_string(), number_short(sample.margin), number_short(sample.probe_margin)]
    });
    let right = if probe.accuracy.is_some() { "are right and " } else { "" };
    format!(
        "\nprobed samples that {right}lose their class on a probe: {} of {}, largest margin first\n{}",
        probe.changed,
        probe.samples,
        table(&["sample", "margin", "on the worst probe"], rows)
    )
}

/// Samples that have another class on a variant.
fn flipped(found: &VariantsDocument) -> String {
    if found.top_changed.is_empty() {
        return String::new();
    }
    let rows = found.top_changed.iter().map(|sample| {
        vec![
            sample.index.to_string(),
            sample.flips.to_string(),
            sample.first_flip.to_string(),
            number_short(sample.margin),
            number_short(sample.probe_margin),
        ]
    });
    format!(
        "\nprobed samples that have another class on a variant: {} of {}, most often first\n{}",
        found.changed,
        found.samples,
        table(&["sample", "variants", "first", "margin", "on the worst"], rows)
    )
}

fn edge_table(document: &ScoreDocument) -> String {
    let rows = document.top_edges.iter().enumerate().map(|(rank, edge)| {
        vec![(rank + 1).to_string(), edge.p.to_string(), edge.q.to_string(), number(edge.score)]
    });
    table(&["rank", "p", "q", "score"], rows)
}

/// Seconds by stage; those that did not happen are left out.
fn timings(timings: &TimingsDocument) -> String {
    let extra = [("model", timings.model_s), ("probes", timings.probes_s), ("page", timings.page_s)];
    let stages = [
        (Stage::NeighborsInput.to_string(), timings.neighbors_input_s),
        (Stage::NeighborsOutput.to_string(), timings.neighbors_output_s),
        ("graphs".to_owned(), timings.graphs_s),
        (Stage::Eigenpairs.to_string(), timings.eigen_s),
        (Stage::Enclosure.to_string(), timings.numerical_bounds_s),
        (Stage::Scores.to_string(), timings.scores_s),
    ];
    let extra = extra.iter().filter(|(_, seconds)| *seconds > 0.0);
    let extra = extra.map(|(stage, seconds)| format!("{stage} {seconds:.3}"));
    let parts: Vec<String> =
        stages.iter().map(|(stage, seconds)| format!("{stage} {seconds:.3}")).chain(extra).collect();
    format!("seconds: {}; total {:.3}", parts.join(", "), timings.total_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_by_powers_of_ten() {
        let text = spread(&[5.0, 1.0, 0.2, 0.15, 0.1, 1e-30, 0.0]);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
        assert_eq!(rows[..3], [["from", "samples"], ["1.00", "2"], ["0.100", "3"]]);
        assert_eq!((rows.len(), &rows[8]), (9, &vec!["0", "2"]));
        assert_eq!(spread(&[0.0, 0.0]), "  all scores are 0\n");
    }
}
