//! § 5.2 on every network of a list: how well λ_1 ranks networks of many sources by their robust accuracy, with intervals over networks and
//! over sources. Robust accuracies are those of the list, so that nothing is attacked here.

use serde::{Deserialize, Serialize};
use serde_json::json;
use spadework::scores::RiemannianDistance;
use spadework_nn::Frozen;
use spadework_report::figures::bars;

use super::Experiment;
use super::validity::{NetLine, contents, list_of, read, sizes};
use crate::data::{CLASSES, Images, Which};
use crate::failure::Failure;
use crate::networks::score;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{spearman, spearman_interval, spearman_interval_of_groups};
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment =
    Experiment {
        name: "ranking", paper: "§ 5.2", title: "λ_1 and robust accuracy, networks of others", run
    };

const NEIGHBORS: usize = 10;
const EIGENPAIRS: usize = 10;
/// Numbers of a network.
const NUMBERS: [&str; 3] = ["−λ_1", "−Riemannian distance (10)", "clean accuracy"];

/// What outputs say of a network.
#[derive(Debug, Serialize, Deserialize)]
struct Scored {
    /// In the order of [`NUMBERS`], more being better.
    numbers: [f64; 3],
    used: usize,
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let list = list_of(run)?;
    let lines = read(&list)?;
    let mut findings = Findings::new(json!({
        "nets": lines.len(), "neighbors": NEIGHBORS, "eigenpairs": EIGENPAIRS, "bootstraps": crate::statistics::BOOTSTRAPS,
        "seed": run.seed(),
    }));
    let mut table = Table::new(
        "Spearman's ρ with robust accuracy as the list has it (L∞), +1 where more robust networks always have the better number; 95 % \
         bootstrap intervals that draw networks, and that draw sources with all of their networks.",
        ["data", "size", "networks", "sources", "number", "ρ", "95 %, networks", "95 %, sources"],
    );
    let mut chart = Vec::new();
    for which in Which::ALL {
        let of_data: Vec<&NetLine> = lines.iter().filter(|line| line.data == which.word()).collect();
        if of_data.is_empty() || !which.is_there(run) {
            continue;
        }
        let test = Images::test(run, which)?;
        let mut nets = Vec::new();
        for line in of_data {
            nets.extend(scored(run, &list, line, &test, &mut findings)?.map(|scored| (line, scored)));
        }
        for size in sizes(which) {
            let known: Vec<&(&NetLine, Scored)> =
                nets.iter().filter(|(line, _)| line.of_file(size.column).is_some()).collect();
            let robust: Vec<f64> = known.iter().filter_map(|(line, _)| line.of_file(size.column)).collect();
            let sources: Vec<&str> = known.iter().map(|(line, _)| line.source.as_str()).collect();
            let mut names = sources.clone();
            names.sort_unstable();
            names.dedup();
            for (at, number) in NUMBERS.into_iter().enumerate() {
                let values: Vec<f64> = known.iter().map(|(_, scored)| scored.numbers[at]).collect();
                let rho = spearman(&values, &robust);
                let of_networks = spearman_interval(&values, &robust, run.seed());
                let of_sources = spearman_interval_of_groups(&values, &robust, &sources, run.seed());
                let shown = |interval: Option<(f64, f64)>| {
                    json!(interval.map(|(low, high)| format!("{low:+.2} to {high:+.2}")))
                };
                table.row(vec![
                    json!(which.title()),
                    json!(size.name),
                    json!(known.len()),
                    json!(names.len()),
                    json!(number),
                    json!(rho),
                    shown(of_networks),
                    shown(of_sources),
                ]);
                if at == 0 {
                    let here = format!("ρ {:+.2}, {} networks", rho.unwrap_or(f64::NAN), known.len());
                    findings.claim(
                        run,
                        format!(
                            "{}, {}: a smaller λ_1 means a more robust network",
                            which.title(),
                            size.name
                        ),
                        here,
                        of_sources.and_then(|(low, high)| (low > 0.0 || high < 0.0).then_some(low > 0.0)),
                    );
                    chart.extend(rho.map(|rho| (format!("{} {}", which.title(), size.name), rho.abs())));
                }
            }
        }
    }
    findings.note("Robust accuracies are those of the list: attacks on the first 500 test images. Scores are of all test images.");
    findings.charts.push(bars("ranking", "Size of Spearman's ρ of λ_1 with robust accuracy", &chart));
    findings.tables.push(table);
    Ok(findings)
}

fn scored(
    run: &Run,
    list: &std::path::Path,
    line: &NetLine,
    test: &Images,
    findings: &mut Findings,
) -> Result<Option<Scored>, Failure> {
    let path = list.parent().unwrap_or(std::path::Path::new("")).join(&line.file);
    let name = line.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let model = match Frozen::load(&path, run.compute()) {
        Ok(model) if model.input_size() == test.examples.size() && model.classes() == CLASSES => model,
        Ok(_) => {
            findings.note(format!("Left out: {name} takes other images, or has other classes."));
            return Ok(None);
        }
        Err(error) => {
            findings.note(format!("Left out: {name}: {error}"));
            return Ok(None);
        }
    };
    let settings = json!({
        "contents": contents(&path), "test": test.described(), "neighbors": NEIGHBORS, "eigenpairs": EIGENPAIRS, "seed": run.seed(),
    });
    let found = run.part(&format!("ranking/{name}"), &settings, || {
        let report = score(run, &model, test, NEIGHBORS, EIGENPAIRS)?;
        let distance = RiemannianDistance::from_eigenvalues(report.eigenpairs.values(), false).distance;
        let numbers = [-report.model_score.0, -distance, model.accuracy(&test.examples)?];
        Ok(Scored { numbers, used: report.diagnostics.connection.used })
    })?;
    if let Some(found) = &found {
        findings.network(&name, test.described(), Some(found.numbers[2]));
        findings.graph(&name, NEIGHBORS, found.used);
    }
    Ok(found)
}
