//! Table 1: model scores of networks trained against attacks of growing size.

use serde_json::{Value, json};

use super::Experiment;
use crate::data::Which;
use crate::failure::Failure;
use crate::guided::LEARNED;
use crate::levels::Levels;
use crate::plots::curves;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::falls;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "model-scores", paper: "Table 1", title: "model scores by robustness level", run };

const NEIGHBORS: [usize; 2] = [10, 20];

/// The paper's scores: data, k, and (ε, λ_1).
fn paper(which: Which, neighbors: usize) -> &'static [(f64, f64)] {
    match (which, neighbors) {
        (Which::Mnist, 10) => &[(0.0, 42.0), (0.1, 40.0), (0.2, 37.0), (0.3, 33.0)],
        (Which::Mnist, _) => &[(0.0, 41.0), (0.1, 39.0), (0.2, 36.0), (0.3, 30.0)],
        (Which::Cifar10, 10) => &[(0.0, 432.0), (0.25, 256.0), (0.5, 200.0), (1.0, 171.0), (2.0, 79.0)],
        (Which::Cifar10, _) => &[(0.0, 344.0), (0.25, 195.0), (0.5, 160.0), (1.0, 128.0), (2.0, 61.0)],
    }
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let mut findings = Findings::new(json!({ "neighbors": NEIGHBORS, "networks": [] }));
    let mut table = Table::new(
        "Model scores λ_1; the paper's are those of its own networks.",
        ["data", "networks", "ε", "k = 10", "k = 20", "paper, k = 10", "paper, k = 20", "accuracy"],
    );
    let mut to_train = Vec::new();
    for which in Which::ALL {
        let Some(levels) = in_time(Levels::load(run, which))? else { continue };
        add(run, &levels, &mut table, &mut findings)?;
        if !levels.trained_here {
            to_train.push(which);
        }
    }
    for which in to_train {
        let Some(levels) = in_time(Levels::train(run, which))? else { continue };
        add(run, &levels, &mut table, &mut findings)?;
    }
    findings.tables.push(table);
    Ok(findings)
}

/// `None` where the time was over, which the run has written down: there may be something of the other data.
fn in_time(levels: Result<Levels, Failure>) -> Result<Option<Levels>, Failure> {
    match levels {
        Err(failure) if failure.is_time_over() => Ok(None),
        other => other.map(Some),
    }
}

/// Scores networks of one architecture and adds their rows.
fn add(run: &Run, levels: &Levels, table: &mut Table, findings: &mut Findings) -> Result<(), Failure> {
    let Some(points) = levels.eigenvalues(run, &NEIGHBORS, 1)? else { return Ok(()) };
    levels.record_graphs(&NEIGHBORS, &points, findings);
    let scored: [Vec<f64>; 2] = [points[0].scores(), points[1].scores()];
    let mut all_learned = true;
    for (at, level) in levels.by_epsilon.iter().enumerate() {
        let of_paper = |neighbors: usize| -> Value {
            let found = paper(levels.which, neighbors).iter().find(|(epsilon, _)| *epsilon == level.epsilon);
            found.map_or(Value::Null, |(_, score)| json!(score))
        };
        let accuracy = levels.accuracy(at)?;
        all_learned &= accuracy.is_none_or(|accuracy| accuracy > LEARNED);
        table.row(vec![
            json!(levels.title()),
            json!(levels.origin),
            json!(level.epsilon),
            json!(scored[0][at]),
            json!(scored[1][at]),
            of_paper(10),
            of_paper(20),
            json!(accuracy),
        ]);
    }
    for (scores, neighbors) in scored.iter().zip(NEIGHBORS) {
        let shown = scores.iter().map(|score| format!("{score:.1}")).collect::<Vec<_>>().join(" / ");
        findings.claim(
            run,
            format!("{}, k = {neighbors}: the score falls as ε rises", levels.title()),
            format!("{}: {shown}", levels.origin),
            (all_learned && run.is_complete()).then_some(falls(scores)),
        );
    }
    let title = format!("Model scores on {}, {}", levels.title(), levels.origin);
    let name = match (levels.which, levels.trained_here) {
        (which, false) => which.word(),
        (Which::Mnist, true) => "mnist-trained",
        (Which::Cifar10, true) => "cifar10-trained",
    };
    let rows: Vec<Vec<f64>> =
        (0..levels.by_epsilon.len()).map(|at| vec![scored[0][at], scored[1][at]]).collect();
    let names = NEIGHBORS.map(|neighbors| format!("k = {neighbors}"));
    let axes = ["ε of training", "model score"];
    findings.charts.push(curves(name, &title, axes, names, &levels.epsilons(), &rows));
    levels.introduce(findings)?;
    if let Some(networks) = findings.settings["networks"].as_array_mut() {
        networks.push(levels.settings());
    }
    Ok(())
}
