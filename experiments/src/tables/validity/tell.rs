//! What was measured, as tables: every network, every index, every score of samples.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::measure::{ACCURACY, INDICES, SAMPLE_SCORES};
use super::{Net, TOP, sizes};
use crate::data::Which;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{auroc, kendall, mean, partial_spearman, precision_at, spearman, spearman_interval};
use crate::table::Table;

pub(super) fn networks_table(which: Which, nets: &[Net]) -> Table {
    let header = ["network", "source"].into_iter().map(str::to_owned);
    let header = header.chain(INDICES.map(|index| index.0.to_owned()));
    let header = header
        .chain(sizes(which).iter().flat_map(|size| [format!("PGD {}", size.0), format!("file, {}", size.0)]));
    let mut table = Table::new(format!("{}: every network.", which.title()), header);
    for net in nets {
        let mut row = vec![json!(net.name), json!(net.line.source)];
        row.extend(net.evidence.indices.iter().map(|&index| Value::from(index)));
        for (at, size) in sizes(which).iter().enumerate() {
            row.extend([json!(net.evidence.robust[at]), json!(net.line.of_file(size.2))]);
        }
        table.row(row);
    }
    table
}

/// Every index against robust accuracy.
pub(super) fn correlations(run: &Run, which: Which, nets: &[Net], findings: &mut Findings) {
    let header = [
        "index",
        "size",
        "networks",
        "ρ",
        "95 %",
        "τ",
        "partial ρ",
        "without one source",
        "ρ, file's accuracies",
    ];
    let mut table = Table::new(
        format!(
            "{}: Spearman's ρ and Kendall's τ of each index (turned so that more is more robust) with robust accuracy.",
            which.title()
        ),
        header,
    );
    for (index, (name, sign)) in INDICES.into_iter().enumerate() {
        for (at, size) in sizes(which).iter().enumerate() {
            let of = |net: &Net| (sign * net.evidence.indices[index], net.evidence.robust[at]);
            let (values, robust): (Vec<f64>, Vec<f64>) = nets.iter().map(of).unzip();
            let accuracy: Vec<f64> = nets.iter().map(|net| net.evidence.indices[ACCURACY]).collect();
            let (known, of_file): (Vec<f64>, Vec<f64>) = nets
                .iter()
                .filter_map(|net| Some((sign * net.evidence.indices[index], net.line.of_file(size.2)?)))
                .unzip();
            let partial =
                if index == ACCURACY { None } else { partial_spearman(&values, &robust, &accuracy) };
            let range = |ends: Option<(f64, f64)>| ends.map(|(low, high)| format!("{low:+.2} to {high:+.2}"));
            table.row(vec![
                json!(name),
                json!(size.0),
                json!(nets.len()),
                json!(spearman(&values, &robust)),
                json!(range(spearman_interval(&values, &robust, run.seed()))),
                json!(kendall(&values, &robust)),
                json!(partial),
                json!(range(without_each_source(nets, &values, &robust))),
                json!(spearman(&known, &of_file)),
            ]);
        }
    }
    findings.tables.push(table);
}

/// The least and the largest correlation when the networks of one source are left out.
fn without_each_source(nets: &[Net], values: &[f64], robust: &[f64]) -> Option<(f64, f64)> {
    let sources: BTreeSet<&str> = nets.iter().map(|net| net.line.source.as_str()).collect();
    let without = |source: &&str| {
        let kept: Vec<usize> = (0..nets.len()).filter(|&at| nets[at].line.source != *source).collect();
        let of = |values: &[f64]| kept.iter().map(|&at| values[at]).collect::<Vec<f64>>();
        spearman(&of(values), &of(robust))
    };
    let found: Vec<f64> = sources.iter().filter_map(without).collect();
    let least = found.iter().copied().reduce(f64::min)?;
    Some((least, found.iter().copied().reduce(f64::max)?))
}

/// Every score of samples against what breaks; gives (score, area) of every network and attack.
pub(super) fn samples(which: Which, nets: &[Net], findings: &mut Findings) -> Vec<(usize, f64)> {
    let header = ["network".to_owned(), "size".to_owned(), "broken".to_owned()].into_iter();
    let header = header
        .chain(SAMPLE_SCORES.map(str::to_owned))
        .chain(SAMPLE_SCORES.map(|name| format!("first {TOP}: {name}")));
    let caption = format!(
        "{}: area under the curve of each score of samples, broken against holding, and the share of broken ones among the \
         {TOP} highest.",
        which.title()
    );
    let (mut table, mut areas) = (Table::new(caption, header), Vec::new());
    for net in nets {
        for (at, size) in sizes(which).iter().enumerate() {
            let broken = &net.evidence.broken[at];
            let share = broken.iter().filter(|&&broken| broken).count() as f64 / broken.len().max(1) as f64;
            let mut row = vec![json!(net.name), json!(size.0), json!(share)];
            for (score, values) in net.evidence.samples.iter().enumerate() {
                let area = auroc(values, broken);
                areas.extend(area.map(|area| (score, area)));
                row.push(json!(area));
            }
            row.extend(net.evidence.samples.iter().map(|values| json!(precision_at(values, broken, TOP))));
            table.row(row);
        }
    }
    let mut means = Table::new(
        format!("{}: the mean over networks and sizes.", which.title()),
        ["score", "area", "cases"],
    );
    for (score, name) in SAMPLE_SCORES.iter().enumerate() {
        let of_score: Vec<f64> = areas.iter().filter(|area| area.0 == score).map(|area| area.1).collect();
        means.row(vec![json!(name), json!(mean(&of_score)), json!(of_score.len())]);
    }
    findings.tables.push(table);
    findings.tables.push(means);
    areas
}
