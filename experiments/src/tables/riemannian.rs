//! The figure of A.4: Riemannian distances between the graphs, of networks trained against attacks of growing size.

use serde_json::{Value, json};
use spadework::scores::RiemannianDistance;

use super::Experiment;
use crate::data::Which;
use crate::failure::Failure;
use crate::levels::{Level, Levels};
use crate::plots::{curves, places};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::falls;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "riemannian",
    paper: "Figure of A.4",
    title: "Riemannian distances by robustness level",
    run,
};

/// The paper takes the ten largest.
const EIGENVALUES: usize = 10;

fn run(run: &Run) -> Result<Findings, Failure> {
    let neighbors: Vec<usize> = run.size(vec![10, 20, 30, 50], vec![10, 20]);
    let mut findings = Findings::new(json!({ "neighbors": neighbors, "eigenvalues": EIGENVALUES }));
    for which in [Which::Cifar10, Which::Mnist] {
        let levels = Levels::load(run, which)?;
        levels.introduce(&mut findings)?;
        let Some(scored) = levels.eigenvalues(run, &neighbors, EIGENVALUES)? else { continue };
        levels.record_graphs(&neighbors, &scored, &mut findings);
        let header = std::iter::once("k".to_owned()).chain(levels.by_epsilon.iter().map(Level::name));
        let caption =
            format!("{}: √(Σ log² λ_i) over the {EIGENVALUES} largest eigenvalues.", levels.title());
        let mut table = Table::new(caption, header);
        let mut distances: Vec<Vec<f64>> = Vec::new();
        for (&k, point) in neighbors.iter().zip(&scored) {
            let row: Vec<f64> = point
                .models
                .iter()
                .map(|values| RiemannianDistance::from_eigenvalues(values, false).distance)
                .collect();
            table.row(
                std::iter::once(json!(k)).chain(row.iter().map(|&distance| Value::from(distance))).collect(),
            );
            distances.push(row);
        }
        let falling = distances.iter().filter(|row| falls(row)).count();
        findings.claim(
            run,
            format!("{}: more robust networks always have smaller distances", levels.title()),
            format!("at {falling} of {} k", distances.len()),
            Some(falling == distances.len()),
        );
        let title = format!("Riemannian distance over k, {}", levels.title());
        let (names, axes) = (levels.by_epsilon.iter().map(Level::name), ["neighbors, k", "distance"]);
        findings.charts.push(curves(which.word(), &title, axes, names, &places(&neighbors), &distances));
        findings.tables.push(table);
    }
    findings.note("The paper shows CIFAR-10 alone, as a figure without numbers.");
    Ok(findings)
}
