//! What every number is worth: indices of networks beside their robust accuracy, and scores of samples beside what breaks
//! under attack. The networks come from a file; a line more is a network more.

mod measure;
mod tell;

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use spadework::{INDEX_EDGES, INDEX_ROWS};
use spadework_nn::{Frozen, Network};
use spadework_report::figures::bars;

use self::measure::{EIGENPAIRS, Evidence, INDICES, SAMPLE_SCORES, measure};
use super::Experiment;
use crate::data::{CLASSES, Images, Which};
use crate::failure::Failure;
use crate::networks::AttackPlan;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::mean;

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
struct NetLine {
    /// The ONNX file, relative to the folder of the list.
    file: PathBuf,
    /// `mnist` or `cifar10`.
    data: String,
    /// Whose network it is; correlations are looked at without each of them.
    source: String,
    #[serde(default)]
    pgd_small: Option<f64>,
    #[serde(default)]
    pgd_mid: Option<f64>,
    #[serde(default)]
    pgd_large: Option<f64>,
}

/// A network with its evidence.
#[derive(Debug)]
struct Net {
    name: String,
    line: NetLine,
    evidence: Evidence,
}

/// Sizes of attacks, and the column of the file that has somebody else's.
fn sizes(which: Which) -> &'static [(&'static str, f32, usize)] {
    match which {
        Which::Mnist => &[("0.1", 0.1, 0), ("0.2", 0.2, 1), ("0.3", 0.3, 2)],
        Which::Cifar10 => &[("2/255", 2.0 / 255.0, 0), ("8/255", 8.0 / 255.0, 2)],
    }
}

impl NetLine {
    fn of_file(&self, column: usize) -> Option<f64> {
        [self.pgd_small, self.pgd_mid, self.pgd_large][column]
    }
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let needs = || Failure::Needs { files: "nets/nets.csv (or --nets FILE)".to_owned() };
    let list = run.options().nets.clone().or_else(|| run.data_file("nets/nets.csv")).ok_or_else(needs)?;
    let lines = read(&list)?;
    let steps = run.size(40, 10);
    let attacked = run.options().attack_images.unwrap_or(run.size(1000, 60));
    let mut findings = Findings::new(json!({
        "nets": lines.len(), "attack_steps": steps, "attacked": attacked, "neighbors": 10, "eigenpairs": EIGENPAIRS,
        "edges": INDEX_EDGES, "rows": INDEX_ROWS, "top": TOP,
    }));
    let mut areas = Vec::new();
    for which in Which::ALL {
        let of_data: Vec<&NetLine> = lines.iter().filter(|line| line.data == which.word()).collect();
        if of_data.is_empty() {
            continue;
        }
        if !which.is_there(run) {
            return Err(Failure::Needs { files: format!("{}/", which.word()) });
        }
        let test = Images::test(run, which)?;
        let plans: Vec<AttackPlan> =
            sizes(which).iter().map(|&(_, epsilon, _)| AttackPlan::plain(epsilon, steps)).collect();
        let mut nets = Vec::new();
        for line in of_data {
            match net(run, &list, line, &test, &plans, attacked)? {
                Ok(net) => nets.extend(net),
                Err(reason) => findings.note(format!("Left out: {}: {reason}", line.file.display())),
            }
        }
        findings.tables.push(tell::networks_table(which, &nets));
        tell::correlations(run, which, &nets, &mut findings);
        areas.extend(tell::samples(which, &nets, &mut findings));
    }
    let chart: Vec<(String, f64)> = SAMPLE_SCORES
        .iter()
        .enumerate()
        .filter_map(|(score, name)| {
            let of_score: Vec<f64> = areas.iter().filter(|area| area.0 == score).map(|area| area.1).collect();
            Some(((*name).to_owned(), mean(&of_score)?))
        })
        .collect();
    findings.charts.push(bars("samples", "Mean area under the curve: samples that attacks break", &chart));
    findings.note(format!(
        "Robust accuracy is that of the first {attacked} test images under our own PGD of {steps} steps with one start, except \
         in the column of the file. A partial correlation is given clean accuracy; the interval draws networks with replacement; \
         the range leaves out one source at a time."
    ));
    Ok(findings)
}

fn read(list: &Path) -> Result<Vec<NetLine>, Failure> {
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

/// A network with its evidence; `None` where the time is over, a reason where the file cannot be used.
fn net(
    run: &Run,
    list: &Path,
    line: &NetLine,
    test: &Images,
    plans: &[AttackPlan],
    attacked: usize,
) -> Result<Result<Option<Net>, String>, Failure> {
    let path = list.parent().unwrap_or(Path::new("")).join(&line.file);
    let network = match Network::load(&path) {
        Ok(network) => network,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if network.input_size() != test.examples.size() {
        return Ok(Err(format!("takes {} values, got {}", network.input_size(), test.examples.size())));
    }
    if network.outputs() != CLASSES {
        return Ok(Err(format!("tells {} classes apart, got images of {CLASSES}", network.outputs())));
    }
    // Folders above the list would lead out of the folder of the parts.
    let within = line.file.components().filter(|part| matches!(part, Component::Normal(_)));
    let name = within.collect::<PathBuf>().with_extension("").display().to_string();
    let settings = json!({
        "file": line.file, "contents": contents(&path), "test": test.described(), "attacked": attacked, "attacks": plans, "seed": run.seed(),
        "indices": INDICES, "samples": SAMPLE_SCORES, "eigenpairs": EIGENPAIRS, "edges": INDEX_EDGES, "rows": INDEX_ROWS,
    });
    let evidence = run.part(&format!("validity/{name}"), &settings, || {
        measure(run, &Frozen::new(&network, run.compute()), test, plans, attacked)
    });
    Ok(match evidence {
        Ok(evidence) => Ok(evidence.map(|evidence| Net { name, line: line.clone(), evidence })),
        // A network that cannot be measured is no reason to lose the others.
        Err(failure) => Err(failure.to_string()),
    })
}

/// Tells a file that was replaced by another of the same name.
fn contents(path: &Path) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    fs::read(path).ok()?.hash(&mut hasher);
    Some(format!("{:016x}", hasher.finish()))
}
