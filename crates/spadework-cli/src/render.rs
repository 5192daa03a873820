//! Results as text for people.

use spadework::monitor::Stage;
use spadework_document::probe::ProbeDocument;
use spadework_document::score::{
    CorruptionDocument, DisparityDocument, FullSpectrumDocument, IntervalDocument, LabelDocument,
    ReferencesDocument, ScoreDocument, TimingsDocument,
};

pub(crate) use spadework_app::{json, printable};

use crate::render_graphs::{graph_lines, numbers_of};
use crate::render_indices::{indices, margins};

/// `1 sample`, `2 samples`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// The whole result of `score`; `scores` are those of all samples.
pub(crate) fn score(document: &ScoreDocument, scores: &[f64]) -> String {
    let facts = &document.facts;
    let mut text = headline(document);
    text.push_str(&indices(facts.indices.as_ref()));
    if !document.label_scores.is_empty() {
        text.push_str("\nlabel scores, most fragile first\n");
        text.push_str(&label_table(&document.label_scores));
        text.push_str(&between_labels(document));
    }
    text.push_str("\nscores of the samples\n");
    text.push_str(&spread(scores));
    text.push_str("\nmost fragile samples\n");
    text.push_str(&node_table(document));
    text.push_str(&facts.probe.as_ref().map(changed).unwrap_or_default());
    text.push_str("\nmost fragile pairs (edges of the input graph)\n");
    text.push_str(&edge_table(document));
    text.push_str(&format!("\n{}\n", timings(&document.timings)));
    text
}

/// Score, certainty, spectrum and data.
pub(crate) fn headline(document: &ScoreDocument) -> String {
    let ScoreDocument { enclosure, facts, .. } = document;
    let certainty = match enclosure.method.as_str() {
        "residual" => format!("with probability at least {}", enclosure.probability),
        "inertia" => "proved".to_owned(),
        _ => "all eigenvalues computed".to_owned(),
    };
    let spectrum: Vec<String> = document.eigenvalues.iter().map(|value| number(*value)).collect();
    format!(
        "model score   {}   (larger is less robust)\n\
         enclosure     {}, {certainty}\n\
         {}\
         eigenvalues   {}\n\
         {}{}{}\
         samples       {}, {} in, {} out\n\
         {}{}",
        number(document.model_score),
        interval(enclosure.lower, enclosure.upper),
        certainty_of(facts.interval, facts.references),
        spectrum.join("  "),
        accuracy(facts.accuracy) + &overlap(facts.edge_overlap),
        margins(facts.margins.as_ref()),
        facts.probe.as_ref().map(probe).unwrap_or_default(),
        document.samples,
        numbers_of(document.input_dim, "numbers"),
        numbers_of(document.output_dim, if document.input_dim == 0 { "numbers" } else { "" }),
        corruption(document.corruption.as_ref()),
        graph_lines(document),
    ) + &document.full_spectrum.as_ref().map(full_spectrum).unwrap_or_default()
}

/// How many samples are right.
fn accuracy(part: Option<f64>) -> String {
    part.map(|part| format!("accuracy      {}\n", percent(part))).unwrap_or_default()
}

/// How many input edges are output edges too.
fn overlap(part: Option<f64>) -> String {
    let line = |part: f64| format!("edge overlap  {}   (larger is more robust)\n", percent(part));
    part.map(line).unwrap_or_default()
}

/// What perturbed copies of the samples have shown.
fn probe(probe: &ProbeDocument) -> String {
    let right = probe.accuracy.map_or_else(String::new, |part| format!(", of {} unperturbed", percent(part)));
    // Without labels nobody knows what is right.
    let stays = if probe.accuracy.is_some() { "are right" } else { "keep their class" };
    let robust = probe.robust_accuracy.map_or_else(String::new, |part| {
        format!(
            "robust        {}   of the samples {stays} under attack, estimated (larger is more robust)\n",
            percent(part)
        )
    });
    let ratio = probe.margin_ratio.map_or_else(String::new, |ratio| {
        format!(
            "margin ratio  {}   (median of margin over its change; larger is more robust)\n",
            number(ratio)
        )
    });
    format!(
        "probes        {}, up to {} copies of {} samples, {} model evaluations\n\
         {robust}\
         held          {}   of the samples {stays} on every copy{right}\n\
         stability     {}   of the margin is left at the worst copy, on average\n\
         {ratio}",
        probe.probe,
        probe.probes,
        probe.samples,
        probe.evaluations,
        percent(probe.held),
        percent(probe.stability),
    )
}

/// A share in percent.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.2} %", 100.0 * part)
}

/// What was done to the inputs, where anything was.
pub(crate) fn corruption(corruption: Option<&CorruptionDocument>) -> String {
    corruption.map_or_else(String::new, |CorruptionDocument { kind, severity, seed, shape }| {
        format!("corruption    {kind} of severity {severity}, seed {seed}, on images of {shape}\n")
    })
}

/// What edge and node scores are made of, where that is not the eigenpairs above.
fn full_spectrum(scores: &FullSpectrumDocument) -> String {
    match scores.rows {
        Some(rows) => format!(
            "scores        of all eigenpairs: each within {} %, with probability at least {} ({rows} random rows)\n",
            number_short(100.0 * scores.error),
            scores.probability
        ),
        None => "scores        of all eigenpairs, by solves\n".to_owned(),
    }
}

/// The interval and the reference points, where they were asked for.
fn certainty_of(around: Option<IntervalDocument>, references: Option<ReferencesDocument>) -> String {
    let around = around.map(|around| {
        let IntervalDocument { lower, upper, level, subsample, repetitions, .. } = around;
        let level = 100.0 * level;
        let ends = format!("[{}, {}]", number(lower), number(upper));
        format!("interval      {ends}, {level} %, from {repetitions} subsamples of {subsample}\n")
    });
    let references = references.map(|references| {
        let permuted = number(references.permuted);
        format!("references    1 for the identity, {permuted} for the same outputs dealt out at random\n")
    });
    format!("{}{}", around.unwrap_or_default(), references.unwrap_or_default())
}

/// How unevenly fragility is spread, and which two labels are torn apart.
fn between_labels(document: &ScoreDocument) -> String {
    const SHOWN: usize = 10;
    let name = |id: i64| label_name(&document.label_scores, id);
    let mut text = String::new();
    if let Some(DisparityDocument { worst, ratio }) = document.disparity {
        text.push_str(&format!(
            "  worst label {}: {} times the mean label score\n",
            name(worst),
            digits(ratio, 3)
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
        vec![name, number(label.score), label.samples.to_string(), bar(label.score / largest)]
    });
    table(&["label", "score", "samples", ""], rows)
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
    let labelled = nodes.iter().any(|node| node.label.is_some());
    let with_margins = nodes.iter().any(|node| node.margin.is_some());
    let basis = document.facts.fragility_basis.as_deref();
    let name = |id: i64| label_name(&document.label_scores, id);
    let rows = nodes.iter().enumerate().map(|(rank, node)| {
        let mut row = vec![(rank + 1).to_string(), node.index.to_string(), number(node.score)];
        row.extend(node.label.map(name));
        row.extend(node.margin.map(number_short));
        row.extend(node.fragility.map(|part| format!("{part:.4}")));
        row
    });
    let mut header = vec!["rank", "sample", "score"];
    header.extend(labelled.then_some("label"));
    header.extend(with_margins.then_some("margin"));
    header.extend(basis.map(|_| "fragility"));
    let meaning = basis.map_or_else(String::new, |basis| {
        format!("  fragility: the part of the samples that are less fragile, by {basis}\n")
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
        "\nprobed samples that {right}lose their class on a copy: {} of {}, largest margin first\n{}",
        probe.changed,
        probe.samples,
        table(&["sample", "margin", "on the worst copy"], rows)
    )
}

fn edge_table(document: &ScoreDocument) -> String {
    let rows = document.top_edges.iter().enumerate().map(|(rank, edge)| {
        vec![(rank + 1).to_string(), edge.p.to_string(), edge.q.to_string(), number(edge.score)]
    });
    table(&["rank", "p", "q", "score"], rows)
}

fn timings(timings: &TimingsDocument) -> String {
    let stages = [
        (Stage::NeighborsInput.to_string(), timings.neighbors_input_s),
        (Stage::NeighborsOutput.to_string(), timings.neighbors_output_s),
        ("graphs".to_owned(), timings.graphs_s),
        (Stage::Eigenpairs.to_string(), timings.eigen_s),
        (Stage::Enclosure.to_string(), timings.enclosure_s),
        (Stage::Scores.to_string(), timings.scores_s),
    ];
    let parts: Vec<String> = stages.iter().map(|(stage, seconds)| format!("{stage} {seconds:.3}")).collect();
    format!("seconds: {}; total {:.3}", parts.join(", "), timings.total_s)
}

/// A table with right-aligned columns.
pub(crate) fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut lines: Vec<Vec<String>> = vec![header.iter().map(|&word| word.to_owned()).collect()];
    lines.extend(rows);
    let widths: Vec<usize> = (0..header.len())
        .map(|column| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    lines
        .iter()
        .map(|line| {
            // A column without a heading (bars) reads from the left.
            let cells = line.iter().zip(&widths).zip(header).map(|((cell, &width), heading)| {
                if heading.is_empty() { format!("  {cell}") } else { format!("  {cell:>width$}") }
            });
            format!("{}\n", cells.collect::<String>().trim_end())
        })
        .collect()
}

/// A bar of up to 24 blocks.
fn bar(part: f64) -> String {
    "█".repeat((part.clamp(0.0, 1.0) * 24.0).round() as usize)
}

/// A number with six significant digits.
pub(crate) fn number(value: f64) -> String {
    digits(value, 6)
}

/// A number with three significant digits.
pub(crate) fn number_short(value: f64) -> String {
    digits(value, 3)
}

/// A number with some significant digits, in plain notation where that is readable.
fn digits(value: f64, significant: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..9).contains(&magnitude) {
        return format!("{value:.*e}", (significant - 1) as usize);
    }
    format!("{value:.*}", (significant - 1 - magnitude).max(0) as usize)
}

/// An interval with as many decimals as show its width, rounded outwards.
pub(crate) fn interval(lower: f64, upper: f64) -> String {
    let magnitude = upper.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    if !(-9..15).contains(&magnitude) {
        // Every digit, since plain notation would be hundreds of zeros.
        return format!("[{lower:e}, {upper:e}]");
    }
    let width = (upper - lower).max(f64::MIN_POSITIVE);
    // A double has some fifteen digits to show.
    let decimals = (1 - width.log10().floor() as i32).clamp(0, (14 - magnitude).max(0));
    let unit = 10.0_f64.powi(decimals);
    let decimals = decimals as usize;
    format!("[{:.decimals$}, {:.decimals$}]", (lower * unit).floor() / unit, (upper * unit).ceil() / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_significant_digits() {
        assert_eq!(number(41.466_795_34), "41.4668");
        assert_eq!(number(456.962_960), "456.963");
        assert_eq!(number(1_234_567.8), "1234568");
        assert_eq!(number(0.000_123_456_7), "0.000123457");
        assert_eq!(number(1e-9), "1.00000e-9");
        assert_eq!(number(0.0), "0");
    }

    #[test]
    fn samples_are_counted_by_powers_of_ten() {
        let text = spread(&[5.0, 1.0, 0.2, 0.15, 0.1, 1e-30, 0.0]);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
        assert_eq!(rows[..3], [["from", "samples"], ["1.00", "2"], ["0.100", "3"]]);
        assert_eq!((rows.len(), &rows[8]), (9, &vec!["0", "2"]));
        assert_eq!(spread(&[0.0, 0.0]), "  all scores are 0\n");
    }

    #[test]
    fn intervals_are_rounded_outwards() {
        assert_eq!(interval(41.466_795_338_6, 41.466_795_341_2), "[41.4667953386, 41.4667953412]");
        assert_eq!(interval(1.0, 1.034_12), "[1.000, 1.035]");
        assert_eq!(interval(3.9e200, 4.1e200), "[3.9e200, 4.1e200]");
        assert_eq!(interval(3.9e-200, 4.1e-200), "[3.9e-200, 4.1e-200]");
        assert_eq!(interval(2.0, 2.0), "[2.00000000000000, 2.00000000000000]");
    }
}
