//! The table of A.5: power iteration compared with an eigensolver that goes to the end.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;
use spadework::eigen::{EigenMethod, EigenParams, EigenProblem};
use spadework::pipeline::{KeepNothing, graphs_of};
use spadework::{GraphPair, ManifoldPair, SpadeParams};
use spadework_report::figures::bars;

use super::Experiment;
use crate::data::Which;
use crate::failure::Failure;
use crate::levels::Levels;
use crate::record::Findings;
use crate::run::Run;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "eigensolvers",
    paper: "Table of A.5",
    title: "power iteration beside a full eigensolver",
    run,
};

const NEIGHBORS: [usize; 2] = [10, 20];
/// Relative residuals that power iteration is stopped at. The error of an eigenvalue is about the square of its residual.
const POWER_TOLERANCES: [f64; 2] = [1e-3, 1e-6];
/// As far as double precision goes reliably.
const REFERENCE_TOLERANCE: f64 = 1e-10;

/// One solver on one pair of graphs.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Solved {
    solver: String,
    value: f64,
    seconds: f64,
    iterations: usize,
}

/// The paper's λ_1 by `eigs` and by power iteration, with their seconds.
fn paper(which: Which, neighbors: usize) -> [(f64, f64); 2] {
    match (which, neighbors) {
        (Which::Mnist, 10) => [(98.64, 9.22), (98.38, 5.88)],
        (Which::Mnist, _) => [(81.14, 16.19), (80.83, 7.62)],
        (Which::Cifar10, 10) => [(398.16, 11.96), (396.48, 2.65)],
        (Which::Cifar10, _) => [(311.49, 19.40), (310.21, 7.29)],
    }
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let mut findings = Findings::new(json!({
        "neighbors": NEIGHBORS, "power_tolerances": POWER_TOLERANCES, "reference_tolerance": REFERENCE_TOLERANCE,
    }));
    let header =
        ["data", "k", "solver", "λ_1", "error", "seconds", "iterations", "paper, λ_1", "paper, seconds"];
    let mut table = Table::new(
        "The largest eigenvalue of L_Y⁺L_X at ε = 0; errors relative to the first row of each case.",
        header,
    );
    let (mut times, mut worst) = (Vec::new(), 0.0_f64);
    for which in Which::ALL {
        let levels = Levels::load(run, which)?;
        levels.introduce(&mut findings)?;
        for neighbors in NEIGHBORS {
            let name = format!("eigensolvers/{} k {neighbors}", levels.title());
            let settings = json!({
                "levels": levels.settings(), "neighbors": neighbors, "tolerances": POWER_TOLERANCES, "seed": run.seed(),
            });
            let Some((used, solved)) = run.part(&name, &settings, || solve_all(run, &levels, neighbors))?
            else {
                continue;
            };
            findings.graph(format!("{}, {}", levels.title(), levels.by_epsilon[0].name()), neighbors, used);
            for (at, one) in solved.iter().enumerate() {
                let error = (one.value / solved[0].value - 1.0).abs();
                // The paper's `eigs` is in the row of our reference, its power iteration in that of the coarse one.
                let paper = (at <= 1).then(|| paper(which, neighbors)[at]);
                if at == 1 {
                    worst = worst.max(error);
                }
                table.row(vec![
                    json!(levels.title()),
                    json!(neighbors),
                    json!(one.solver),
                    json!(one.value),
                    json!(error),
                    json!(one.seconds),
                    json!(one.iterations),
                    json!(paper.map(|of| of.0)),
                    json!(paper.map(|of| of.1)),
                ]);
                times.push((format!("{} {neighbors} {}", levels.which.word(), one.solver), one.seconds));
            }
        }
    }
    findings.claim(
        run,
        "power iteration finds λ_1 to half a percent",
        format!("largest error at a residual of {}: {:.3} %", POWER_TOLERANCES[0], 100.0 * worst),
        run.is_complete().then_some(worst < 0.005),
    );
    findings.note("Seconds are those of the eigenproblem alone, the factor of L_Y included, one thread or many as the machine has.");
    findings.charts.push(bars("eigensolvers", "Seconds of each solver", &times));
    findings.tables.push(table);
    Ok(findings)
}

fn solve_all(run: &Run, levels: &Levels, neighbors: usize) -> Result<(usize, Vec<Solved>), Failure> {
    let params = SpadeParams::default().with_neighbors(neighbors).with_seed(run.seed());
    let pair = levels.pair(0)?;
    let made = graphs_of(&ManifoldPair::from(&pair), &params, &KeepNothing, run.monitor())?;
    let graphs = made.graphs;
    let mut solved = vec![solve(run, &graphs, EigenMethod::Davidson, REFERENCE_TOLERANCE)?];
    for tolerance in POWER_TOLERANCES {
        solved.push(solve(run, &graphs, EigenMethod::Power, tolerance)?);
    }
    solved.push(solve(run, &graphs, EigenMethod::Davidson, POWER_TOLERANCES[1])?);
    Ok((made.diagnostics.connection.used, solved))
}

fn solve(run: &Run, graphs: &GraphPair, method: EigenMethod, tolerance: f64) -> Result<Solved, Failure> {
    let params = EigenParams::default()
        .with_eigenpairs(1)
        .with_tolerance(tolerance)
        .with_max_iterations(100_000)
        .with_seed(run.seed())
        .with_method(method);
    let began = Instant::now();
    let pairs = EigenProblem::new(graphs, run.seed()).dominant_eigenpairs(&params, run.monitor())?;
    Ok(Solved {
        solver: format!("{} to {tolerance:e}", pairs.info().method),
        value: pairs.values()[0],
        seconds: began.elapsed().as_secs_f64(),
        iterations: pairs.info().iterations,
    })
}
