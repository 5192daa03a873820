//! Networks and indices as tables.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use spadework_report::figures::{bars, pairs};

use super::net::{Known, Net};
use super::refit::{Searched, errors_left_out};
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
    let truths = ["under attack", "auto alone", "long search alone", "file"];
    let header = ["network", "size"].into_iter().chain(truths).chain(probes::INDICES).chain(["runs"]);
    let caption = format!(
        "{}: accuracy under attack (by `auto` and both searches), and what probes of the same size show; runs are those of the search.",
        which.title()
    );
    let mut table = Table::new(caption, header);
    for net in nets {
        for (at, size) in sizes(which).iter().enumerate() {
            let index = |of_probes: usize| net.evidence.index(samples::INDICES.len() + of_probes, at);
            let mut row = vec![json!(net.name), json!(size.name), json!(net.evidence.robust(at))];
            row.extend(
                [net.evidence.robust_to_attack(at), net.evidence.robust_to_search(at)]
                    .map(|share| json!(share)),
            );
            row.push(json!(net.line.of_file(size.column)));
            row.extend((0..probes::INDICES.len()).map(|of_probes| json!(index(of_probes).value)));
            row.push(json!(index(probes::ESTIMATE).cost.runs));
            table.row(row);
        }
    }
    table
}

/// How far the estimated accuracies are from those under attack, and how often their intervals contain these.
fn errors(which: Which, nets: &[Net]) -> Table {
    let caption = format!(
        "{}: estimated robust accuracy less that under attack, in points; covered is the share of intervals that contain that \
         under attack.",
        which.title()
    );
    let header = [
        "size",
        "networks",
        "mean size of the error",
        "worst",
        "least",
        "largest",
        "covered",
        "mean width",
        "queries per image",
        "seconds",
    ];
    let mut table = Table::new(caption, header);
    for (at, size) in sizes(which).iter().enumerate() {
        let estimated: Vec<Estimated> = nets.iter().filter_map(|net| Estimated::of(net, at)).collect();
        let mean_of = |of: fn(&Estimated) -> f64| mean(&estimated.iter().map(of).collect::<Vec<f64>>());
        let errors = || estimated.iter().map(|estimated| estimated.error);
        table.row(vec![
            json!(size.name),
            json!(estimated.len()),
            json!(mean_of(|estimated| estimated.error.abs())),
            json!(errors().map(f64::abs).reduce(f64::max)),
            json!(errors().reduce(f64::min)),
            json!(errors().reduce(f64::max)),
            json!(mean_of(|estimated| f64::from(u8::from(estimated.is_covered)))),
            json!(mean_of(|estimated| estimated.width)),
            json!(mean_of(|estimated| estimated.queries)),
            json!(mean_of(|estimated| estimated.seconds)),
        ]);
    }
    table
}

/// An estimate next to the truth, in points.
struct Estimated {
    error: f64,
    width: f64,
    is_covered: bool,
    /// Runs of the network per image.
    queries: f64,
    seconds: f64,
}

impl Estimated {
    fn of(net: &Net, at: usize) -> Option<Self> {
        let Known { value: [estimate, lower, upper], cost } = net.evidence.estimate(at)?;
        let truth = net.evidence.robust(at);
        Some(Self {
            error: 100.0 * (estimate - truth),
            width: 100.0 * (upper - lower),
            is_covered: (lower..=upper).contains(&truth),
            queries: cost.runs as f64 / net.evidence.attacked() as f64,
            seconds: cost.seconds,
        })
    }
}

/// The same errors with weights of the estimate that were fitted to the networks of other sources, if there are any.
pub(super) fn left_out(of_data: &[(Which, Vec<Net>)], findings: &mut Findings) {
    let mut places = Vec::new();
    let mut cases: Vec<Searched> = Vec::new();
    for (which, nets) in of_data {
        for (at, size) in sizes(*which).iter().enumerate() {
            places.extend(nets.iter().map(|_| (which.title(), size.name)));
            cases.extend(nets.iter().map(|net| net.evidence.searched(at, &net.line.source)));
        }
    }
    let Some(errors) = errors_left_out(&cases) else { return };
    let caption = "The same errors, in points, with the weights of the estimate fitted to the networks of other sources alone.";
    let mut table = Table::new(caption, ["data", "size", "networks", "mean size of the error", "worst"]);
    let placed: Vec<_> = places.into_iter().zip(errors).collect();
    for group in placed.chunk_by(|a, b| a.0 == b.0) {
        let sizes_of_errors: Vec<f64> = group.iter().map(|(_, error)| 100.0 * error.abs()).collect();
        let (data, size) = group[0].0;
        table.row(vec![
            json!(data),
            json!(size),
            json!(group.len()),
            json!(mean(&sizes_of_errors)),
            json!(sizes_of_errors.into_iter().reduce(f64::max)),
        ]);
    }
    findings.tables.push(table);
}

/// Points of a kind in a chart, at most.
const MOST_POINTS: usize = 2000;

/// The truth and the estimate of a network; nothing where there is no estimate.
fn of_net(net: &Net, at: usize) -> Vec<[f64; 2]> {
    let estimate = net.evidence.estimate(at).map(|estimate| estimate.value[0]);
    estimate.map(|estimate| [net.evidence.robust(at), estimate]).into_iter().collect()
}

/// Estimates over the truth: of every network, and of every image.
pub(super) fn charts(of_data: &[(Which, Vec<Net>)], findings: &mut Findings) {
    let kinds = |of: fn(&Net, usize) -> Vec<[f64; 2]>| {
        let of_size = |&(which, ref nets): &(Which, Vec<Net>)| {
            let kind = |(at, size): (usize, &Size)| {
                let points: Vec<[f64; 2]> = nets.iter().flat_map(|net| of(net, at)).collect();
                let every = points.len().div_ceil(MOST_POINTS).max(1);
                (format!("{} {}", which.title(), size.name), points.into_iter().step_by(every).collect())
            };
            sizes(which).iter().enumerate().map(kind).collect::<Vec<_>>()
        };
        of_data.iter().flat_map(of_size).collect::<Vec<(String, Vec<[f64; 2]>)>>()
    };
    findings.charts.push(pairs(
        "estimates",
        "Estimated robust accuracy of every network",
        ["accuracy under attack", "estimated robust accuracy"],
        &kinds(of_net),
    ));
    findings.charts.push(pairs(
        "margins-left",
        "Share of the margin that is left of every image",
        ["after the attack", "after the search"],
        &kinds(|net, at| net.evidence.left(at)),
    ));
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
        "seconds",
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
    seconds: Vec<f64>,
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
            seconds: Vec::new(),
        };
        for Net { line, evidence, .. } in nets {
            let (index, accuracy) = (evidence.index(index, at), evidence.index(ACCURACY, at).value);
            if let Some((value, accuracy)) = index.value.zip(accuracy) {
                followed.sources.push(&line.source);
                followed.values.push(sign * value);
                followed.robust.push(evidence.robust(at));
                followed.of_file.push(line.of_file(size.column));
                followed.accuracies.push(accuracy);
                followed.runs.push(index.cost.runs as f64);
                followed.seconds.push(index.cost.seconds);
            }
        }
        followed
    }

    fn cells(&self, run: &Run, is_accuracy: bool) -> [Value; 9] {
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
            json!(mean(&self.seconds)),
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
