//! The figure of the ablation: model scores over k.

use serde_json::{Value, json};

use super::Experiment;
use crate::data::Which;
use crate::failure::Failure;
use crate::levels::{Level, Levels, Point};
use crate::plots::{curves, places};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{falls, kendall};
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "neighbors", paper: "Figure of § 5.5", title: "model scores over k", run };

fn run(run: &Run) -> Result<Findings, Failure> {
    let neighbors: Vec<usize> = run.size((5..=20).collect(), vec![5, 10, 15, 20]);
    let mut findings = Findings::new(json!({ "neighbors": neighbors }));
    for which in Which::ALL {
        let levels = Levels::load(run, which)?;
        levels.introduce(&mut findings)?;
        let Some(points) = levels.eigenvalues(run, &neighbors, 1)? else { continue };
        levels.record_graphs(&neighbors, &points, &mut findings);
        let scored: Vec<Vec<f64>> = points.iter().map(Point::scores).collect();
        let header: Vec<String> = ["k".to_owned(), "k used".to_owned()]
            .into_iter()
            .chain(levels.by_epsilon.iter().map(Level::name))
            .chain(["τ with ε".to_owned()])
            .collect();
        let mut table = Table::new(
            format!(
                "{}: λ_1. τ is Kendall's: −1 where the scores rank the networks as the paper says.",
                levels.title()
            ),
            header,
        );
        let mut ordered = Vec::new();
        for ((k, point), scores) in neighbors.iter().zip(&points).zip(&scored) {
            let mut row = vec![json!(k), json!(point.used)];
            row.extend(scores.iter().map(|&score| Value::from(score)));
            row.push(json!(kendall(scores, &levels.epsilons())));
            table.row(row);
            if falls(scores) {
                ordered.push(*k);
            }
        }
        let here = format!("{}: falls with ε at k = {ordered:?}", levels.title());
        match which {
            Which::Mnist => findings.claim(
                run,
                "MNIST: the order is wrong for small k, and right at k = 20",
                here,
                Some(ordered.contains(&20) && ordered.iter().all(|&k| k >= 10)),
            ),
            Which::Cifar10 => {
                findings.claim(
                    run,
                    "CIFAR-10: the order is right at every k",
                    here,
                    Some(ordered == neighbors),
                );
            }
        }
        let title = format!("Model score over k, {}", levels.title());
        let (names, axes) = (levels.by_epsilon.iter().map(Level::name), ["neighbors, k", "model score"]);
        findings.charts.push(curves(which.word(), &title, axes, names, &places(&neighbors), &scored));
        findings.tables.push(table);
    }
    Ok(findings)
}
