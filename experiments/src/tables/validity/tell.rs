//! Networks and indices as tables.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use spadework_report::figures::bars;

use super::net::Net;
use super::samples::ACCURACY;
use super::{Size, all_indices, probes, samples, sizes};
use crate::data::Which;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{kendall, mean, partial_spearman, spearman, spearman_interval};
use crate::table::Table;

/// Networks that must remain for a correlation to say something: of two it is 1 or −1.
const LEAST_NETWORKS: usize = 3;

/// What was measured of every network, and how far the estimate of probes is from the truth.
pub(super) fn networks(which: Which, nets: &[Net], findings: &mut Findings) {
    findings.tables.push(of_samples(which, nets));
    findings.tables.push(of_sizes(which, nets));
    findings.tables.push(errors(which, nets));
}

fn of_samples(which: Which, nets: &[Net]) -> Table {
    let header = ["network", "source"].into_iter().chain(samples::INDICES.map(|index| index.0));
    let mut table = Table::new(format!("{}: every network.", which.title()), header);
    for net in nets {
        let indices = (0..samples::INDICES.len()).map(|index| json!(net.evidence.index(index, 0).value));
        table.row([json!(net.name), json!(net.line.source)].into_iter().chain(indices).collect());
    }
    table
}

fn of_sizes(which: Which, nets: &[Net]) -> Table {
    let header =
        ["network", "size", "under attack", "file"].into_iter().chain(probes::INDICES).chain(["runs"]);
    let caption = format!(
        "{}: accuracy under attack, and what probes of the same size show; runs are those of the search.",
        which.title()
    );
    let mut table = Table::new(caption, header);
    for net in nets {
        for (at, size) in sizes(which).iter().enumerate() {
            let index = |of_probes: usize| net.evidence.index(samples::INDICES.len() + of_probes, at);
            let mut row = vec![json!(net.name), json!(size.name), json!(net.evidence.robust(at))];
            row.push(json!(net.line.of_file(size.column)));
            row.extend((0..probes::INDICES.len()).map(|of_probes| json!(index(of_probes).value)));
            row.push(json!(index(probes::ESTIMATE).runs));
            table.row(row);
        }
    }
    table
}

/// How far the estimated accuracies are from those under attack.
fn errors(which: Which, nets: &[Net]) -> Table {
    let caption = format!("{}: estimated robust accuracy less that under attack, in points.", which.title());
    let mut table = Table::new(caption, ["size", "networks", "mean size of the error", "least", "largest"]);
    for (at, size) in sizes(which).iter().enumerate() {
        let error = |net: &Net| {
            let estimate = net.evidence.index(samples::INDICES.len() + probes::ESTIMATE, at).value?;
            Some(100.0 * (estimate - net.evidence.robust(at)))
        };
        let errors: Vec<f64> = nets.iter().filter_map(error).collect();
        let sizes_of_errors: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        table.row(vec![
            json!(size.name),
            json!(errors.len()),
            json!(mean(&sizes_of_errors)),
            json!(errors.iter().copied().reduce(f64::min)),
            json!(errors.iter().copied().reduce(f64::max)),
        ]);
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
        "runs",
    ];
    let caption = format!(
        "{}: Spearman's ρ and Kendall's τ of each index (turned so that more is more robust) with robust accuracy.",
        which.title()
    );
    let mut table = Table::new(caption, header);
    let mut chart = Vec::new();
    for (index, (name, sign)) in all_indices().enumerate() {
        for (at, size) in sizes(which).iter().enumerate() {
            let mut row = vec![json!(name), json!(size.name)];
            let followed = Followed::new(nets, index, sign, at, size);
            row.extend(followed.cells(run, index == ACCURACY));
            table.row(row);
            if let Some(rho) = spearman(&followed.values, &followed.robust) {
                chart.push((format!("{name}, {}", size.name), rho));
            }
        }
    }
    findings.tables.push(table);
    let title = format!("{}: Spearman's ρ of indices with robust accuracy", which.title());
    let name = if which == Which::Mnist { "indices-mnist" } else { "indices-cifar10" };
    findings.charts.push(bars(name, &title, &chart));
}

/// An index next to robust accuracy, over the networks that have it.
struct Followed<'a> {
    sources: Vec<&'a str>,
    values: Vec<f64>,
    robust: Vec<f64>,
    of_file: Vec<Option<f64>>,
    accuracies: Vec<f64>,
    runs: Vec<f64>,
}

impl<'a> Followed<'a> {
    fn new(nets: &'a [Net], index: usize, sign: f64, at: usize, size: &Size) -> Self {
        let mut followed = Self {
            sources: Vec::new(),
            values: Vec::new(),
            robust: Vec::new(),
            of_file: Vec::new(),
            accuracies: Vec::new(),
            runs: Vec::new(),
        };
        for Net { line, evidence, .. } in nets {
            let (index, accuracy) = (evidence.index(index, at), evidence.index(ACCURACY, at).value);
            if let Some((value, accuracy)) = index.value.zip(accuracy) {
                followed.sources.push(&line.source);
                followed.values.push(sign * value);
                followed.robust.push(evidence.robust(at));
                followed.of_file.push(line.of_file(size.column));
                followed.accuracies.push(accuracy);
                followed.runs.push(index.runs as f64);
            }
        }
        followed
    }

    fn cells(&self, run: &Run, is_accuracy: bool) -> [Value; 8] {
        let Self { values, robust, accuracies, .. } = self;
        let partial = if is_accuracy { None } else { partial_spearman(values, robust, accuracies) };
        let known = values.iter().zip(&self.of_file);
        let (known, of_file): (Vec<f64>, Vec<f64>) =
            known.filter_map(|(&value, of_file)| Some((value, (*of_file)?))).unzip();
        let range = |ends: Option<(f64, f64)>| ends.map(|(low, high)| format!("{low:+.2} to {high:+.2}"));
        [
            json!(values.len()),
            json!(spearman(values, robust)),
            json!(range(spearman_interval(values, robust, run.seed()))),
            json!(kendall(values, robust)),
            json!(partial),
            json!(range(self.without_each_source())),
            json!(spearman(&known, &of_file)),
            json!(mean(&self.runs).map(|runs| runs.round() as u64)),
        ]
    }

    /// The least and the largest correlation when the networks of one source are left out.
    fn without_each_source(&self) -> Option<(f64, f64)> {
        let sources: BTreeSet<&str> = self.sources.iter().copied().collect();
        let without = |source: &&str| {
            let kept: Vec<usize> =
                (0..self.sources.len()).filter(|&at| self.sources[at] != *source).collect();
            let of = |values: &[f64]| kept.iter().map(|&at| values[at]).collect::<Vec<f64>>();
            if kept.len() < LEAST_NETWORKS { None } else { spearman(&of(&self.values), &of(&self.robust)) }
        };
        let found: Vec<f64> = sources.iter().filter_map(without).collect();
        let least = found.iter().copied().reduce(f64::min)?;
        Some((least, found.iter().copied().reduce(f64::max)?))
    }
}
