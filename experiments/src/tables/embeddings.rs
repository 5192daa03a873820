//! The figures of A.6: samples by the first eigenvectors of L_X, L_Y and L_Y⁺L_X, and scores of labels, before and after
//! adversarial training.

use serde::{Deserialize, Serialize};
use serde_json::json;
use spadework::eigen::{EigenParams, lowest_modes};
use spadework::graph::ConnectedGraph;
use spadework::{SpadeParams, evaluate};
use spadework_report::figures::scatter;

use super::Experiment;
use crate::data::{CLASSES, Which};
use crate::failure::Failure;
use crate::levels::Levels;
use crate::record::Findings;
use crate::run::Run;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "embeddings",
    paper: "Figures of A.6",
    title: "embeddings and label scores before and after adversarial training",
    run,
};

/// Points of a figure; more would be one above the other.
const SHOWN: usize = 2000;
const NEIGHBORS: usize = 10;

/// What is shown of one network.
#[derive(Debug, Serialize, Deserialize)]
struct Embedded {
    /// The k of the graphs.
    used: usize,
    label_scores: Vec<(i64, f64)>,
    /// By L_X, L_Y and L_Y⁺L_X.
    points: [Vec<[f64; 2]>; 3],
}

/// Figures by data, then before or after, then graph. The input graph is the same after training.
const FIGURES: [[[&str; 3]; 2]; 2] = [
    [
        ["mnist-input", "mnist-output-before", "mnist-generalized-before"],
        ["mnist-input-again", "mnist-output-after", "mnist-generalized-after"],
    ],
    [
        ["cifar10-input", "cifar10-output-before", "cifar10-generalized-before"],
        ["cifar10-input-again", "cifar10-output-after", "cifar10-generalized-after"],
    ],
];
const OPERATORS: [&str; 3] = ["L_X", "L_Y", "L_Y⁺L_X"];

/// The labels that the paper finds the most vulnerable, before and after.
fn paper(which: Which) -> [[i64; 2]; 2] {
    match which {
        Which::Mnist => [[4, 9], [1, 7]],
        Which::Cifar10 => [[1, 6], [1, 9]],
    }
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let mut findings =
        Findings::new(json!({ "neighbors": NEIGHBORS, "eigenpairs": 2, "points_shown": SHOWN }));
    for (data, which) in Which::ALL.into_iter().enumerate() {
        let levels = Levels::load(run, which)?;
        levels.introduce(&mut findings)?;
        let names = levels.by_epsilon.iter().map(crate::levels::Level::name);
        let header = std::iter::once("label".to_owned()).chain(names);
        let mut table = Table::new(format!("{}: mean node score of each label.", levels.title()), header);
        let mut columns = Vec::new();
        for at in 0..levels.by_epsilon.len() {
            let column = embedded(run, &levels, at)?;
            if let Some(column) = &column {
                let of = format!("{}, {}", levels.title(), levels.by_epsilon[at].name());
                findings.graph(of, NEIGHBORS, column.used);
            }
            columns.push(column);
        }
        for label in 0..CLASSES as i64 {
            let score = |column: &Option<Embedded>| {
                json!(column.as_ref().and_then(|column| score_of(&column.label_scores, label)))
            };
            table.row(std::iter::once(json!(label)).chain(columns.iter().map(score)).collect());
        }
        let ends = [0, columns.len() - 1];
        for (when, at) in ends.into_iter().enumerate() {
            let Some(column) = &columns[at] else { continue };
            let weakest = weakest(&column.label_scores);
            findings.claim(
                run,
                format!(
                    "{}, {}: the most vulnerable labels are {:?}",
                    levels.title(),
                    ["before", "after"][when],
                    paper(which)[when]
                ),
                format!("{}: {weakest:?}", levels.by_epsilon[at].name()),
                Some(weakest == paper(which)[when]),
            );
            let labels: Vec<u16> =
                levels.images.examples.labels().iter().take(SHOWN).map(|&label| label as u16).collect();
            let classes: Vec<String> = (0..CLASSES).map(|class| class.to_string()).collect();
            for (operator, points) in column.points.iter().enumerate() {
                if when == 1 && operator == 0 {
                    continue;
                }
                let title = format!(
                    "{} by the first eigenvectors of {}, {}",
                    levels.title(),
                    OPERATORS[operator],
                    levels.by_epsilon[at].name()
                );
                let name = FIGURES[data][when][operator];
                findings.charts.push(scatter(name, &title, points, Some((&labels, &classes))));
            }
        }
        findings.tables.push(table);
    }
    Ok(findings)
}

fn score_of(scores: &[(i64, f64)], label: i64) -> Option<f64> {
    scores.iter().find(|entry| entry.0 == label).map(|entry| entry.1)
}

/// The two labels with the highest scores, ascending.
fn weakest(scores: &[(i64, f64)]) -> Vec<i64> {
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut labels: Vec<i64> = sorted.iter().take(2).map(|entry| entry.0).collect();
    labels.sort_unstable();
    labels
}

fn embedded(run: &Run, levels: &Levels, at: usize) -> Result<Option<Embedded>, Failure> {
    let name = format!("embeddings/{} {}", levels.title(), levels.by_epsilon[at].name());
    let settings = json!({ "levels": levels.settings(), "seed": run.seed() });
    run.part(&name, &settings, || {
        let params = SpadeParams::default().with_neighbors(NEIGHBORS).with_seed(run.seed());
        let report = evaluate(&levels.pair(at)?, &params, run.monitor())?;
        let label_scores = report.label_scores(&levels.images.labels())?;
        let eigen = EigenParams::default().with_seed(run.seed());
        let modes = |graph: &ConnectedGraph| -> Result<Vec<[f64; 2]>, Failure> {
            let modes = lowest_modes(graph, &eigen, run.monitor())?;
            let [first, second] = [&modes.vectors()[0], &modes.vectors()[1]];
            Ok(first.iter().zip(second).take(SHOWN).map(|(&x, &y)| [x, y]).collect())
        };
        let shown = levels.images.len().min(SHOWN);
        let generalized = (0..shown).map(|p| {
            let row = report.embedding.row(p);
            [row[0], row[1]]
        });
        Ok(Embedded {
            used: report.diagnostics.connection.used,
            label_scores: label_scores.iter().map(|entry| (entry.label, entry.score)).collect(),
            points: [
                modes(&report.graphs.connected_input()?)?,
                modes(report.graphs.connected_output())?,
                generalized.collect(),
            ],
        })
    })
}
