//! How well every number tracks accuracy under attack: indices of networks next to their robust accuracy, and scores of
//! samples next to what breaks under attack. The networks come from a file; to add a network, add a line.

mod areas;
mod net;
mod probes;
mod refit;
mod samples;
mod selected;
mod tell;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use spadework::SpadeParams;
use spadework::pipeline::{INDEX_EDGES, INDEX_ROWS};
use spadework_report::figures::bars;

use self::areas::Case;
use self::net::MeasuredOn;
pub(super) use self::net::contents;
use super::Experiment;
use crate::data::{Images, Which};
use crate::failure::Failure;
use crate::networks::AttackPlan;
use crate::record::Findings;
use crate::run::Run;
use crate::weakest;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "validity",
    paper: "§ 5.2, § 5.4",
    title: "what the scores are worth, on networks of others",
    run,
};

/// Samples that are looked at first.
const TOP: usize = 100;

/// A line of the file. What is left out was not measured.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct NetLine {
    /// The ONNX file, relative to the folder of the list.
    pub(super) file: PathBuf,
    /// `mnist` or `cifar10`.
    pub(super) data: String,
    /// Whose network it is; correlations are looked at without each of them.
    pub(super) source: String,
    #[serde(default)]
    pgd_small: Option<f64>,
    #[serde(default)]
    pgd_mid: Option<f64>,
    #[serde(default)]
    pgd_large: Option<f64>,
}

/// A size of attacks.
pub(super) struct Size {
    /// As it is written, and as probes get it.
    pub(super) name: &'static str,
    epsilon: f32,
    /// The column of the file that has somebody else's accuracies.
    pub(super) column: usize,
}

pub(super) fn sizes(which: Which) -> &'static [Size] {
    match which {
        Which::Mnist => &[
            Size { name: "0.1", epsilon: 0.1, column: 0 },
            Size { name: "0.2", epsilon: 0.2, column: 1 },
            Size { name: "0.3", epsilon: 0.3, column: 2 },
        ],
        Which::Cifar10 => &[
            Size { name: "2/255", epsilon: 2.0 / 255.0, column: 0 },
            Size { name: "8/255", epsilon: 8.0 / 255.0, column: 2 },
        ],
    }
}

/// All indices of networks with the sign under which more is more robust: those of samples, those of probes, then CLEVER.
fn all_indices() -> impl Iterator<Item = (&'static str, f64)> {
    samples::INDICES
        .into_iter()
        .chain(probes::INDICES.map(|name| (name, 1.0)))
        .chain([(selected::INDEX, 1.0)])
}

/// All scores of samples, those that need probes last.
fn all_scores() -> Vec<&'static str> {
    [&samples::SCORES[..], &samples::PROBED_SCORES].concat()
}

impl NetLine {
    pub(super) fn of_file(&self, column: usize) -> Option<f64> {
        [self.pgd_small, self.pgd_mid, self.pgd_large][column]
    }
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let list = list_of(run)?;
    let lines = read(&list)?;
    let (steps, restarts) = run.size((100, 1), (5, 1));
    let attacked = run.options().attack_images.unwrap_or(run.size(1000, 60));
    let mut findings = Findings::new(json!({
        "nets": lines.len(), "attack_steps": steps, "restarts": restarts, "attacked": attacked, "neighbors": 10,
        "eigenpairs": samples::EIGENPAIRS, "edges": INDEX_EDGES, "rows": INDEX_ROWS, "top": TOP,
        "copies": probes::described(run), "copies_of_long_search": probes::copies_of_long(run), "clever": weakest::settings(run), "selected": selected::count(run),
    }));
    let (mut cases, mut all_nets) = (Vec::new(), Vec::new());
    for which in Which::ALL {
        let of_data: Vec<&NetLine> = lines.iter().filter(|line| line.data == which.word()).collect();
        if of_data.is_empty() {
            continue;
        }
        if !which.is_there(run) {
            return Err(Failure::Needs { files: format!("{}/", which.word()) });
        }
        let test = Images::test(run, which)?;
        let plan = |size: &Size| AttackPlan { restarts, ..AttackPlan::plain(size.epsilon, steps) };
        let measure = MeasuredOn {
            run,
            test: &test,
            attacked: test.head(attacked),
            sizes: sizes(which).iter().map(|size| size.name).collect(),
            attacks: sizes(which).iter().map(plan).collect(),
        };
        let mut nets = Vec::new();
        for line in of_data {
            match measure.net(&list, line) {
                Ok(net) => nets.extend(net),
                Err(reason) => findings.note(format!("Left out: {}: {reason}", line.file.display())),
            }
        }
        for net in &nets {
            let name = format!("{}, {}", which.title(), net.name);
            findings.network(&name, test.described(), net.evidence.index(samples::ACCURACY, 0).value);
            findings.graph(name, SpadeParams::default().neighbors, net.evidence.neighbors_used());
        }
        tell::networks(which, &nets, &mut findings);
        tell::correlations(run, which, &nets, &mut findings);
        let of_data = Case::all(which, &nets);
        areas::tell(which, &of_data, &mut findings);
        cases.extend(of_data);
        all_nets.push((which, nets));
    }
    tell::left_out(&all_nets, &mut findings);
    let chart = areas::means(&cases).into_iter().filter_map(|(name, area)| Some((name.to_owned(), area?)));
    let chart: Vec<(String, f64)> = chart.collect();
    findings.charts.push(bars("samples", "Mean area under the curve: samples that attacks break", &chart));
    tell::charts(&all_nets, &mut findings);
    findings.note(format!(
        "Robust accuracy is the share of the first {attacked} test images that survives all of these: the series of `attack --attack auto` \
         (APGD of {steps} steps by cross-entropy, by DLR and toward nine targets, then Square), the search by probes, and a search \
         of up to {} probes of every image. The columns of the file, of `auto` alone and of the long search alone are other shares. Probes are of the same images. A partial correlation is given clean accuracy; the \
         interval draws networks with replacement; the range leaves out one source at a time, where three networks remain. \
         Runs are rows that go through a network, on average over networks, all test images for what needs graphs. Seconds are the wall \
         time of everything that is measured together: all graphs and their numbers, a search, a kind of noise. CLEVER scores (L∞) are \
         those of the {} attacked images with the highest node scores.",
        probes::copies_of_long(run),
        selected::count(run)
    ));
    Ok(findings)
}

/// The list of networks.
pub(super) fn list_of(run: &Run) -> Result<PathBuf, Failure> {
    let needs = || Failure::Needs { files: "nets/nets.csv (or --nets FILE)".to_owned() };
    run.options().nets.clone().or_else(|| run.data_file("nets/nets.csv")).ok_or_else(needs)
}

pub(super) fn read(list: &Path) -> Result<Vec<NetLine>, Failure> {
    let wrong = |reason: String| Failure::File { path: list.to_owned(), reason };
    let mut reader = csv::Reader::from_path(list).map_err(|error| wrong(error.to_string()))?;
    let lines: Result<Vec<NetLine>, _> = reader.deserialize().collect();
    let lines =
        lines.map_err(|error| wrong(format!("expected file, data and source in every line, got {error}")))?;
    match lines.iter().find(|line| !Which::ALL.iter().any(|which| which.word() == line.data)) {
        Some(line) => Err(wrong(format!("expected mnist or cifar10 as data, got `{}`", line.data))),
        None => Ok(lines),
    }
}
