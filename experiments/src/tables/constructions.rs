//! The table of A.10: CLEVER scores of the weakest and of the strongest samples, by graphs of several kinds.

use serde_json::json;
use spadework::SpadeParams;
use spadework::graph::GraphKind;
use spadework_nn::{Frozen, highest};
use spadework_report::figures::bars;

use super::Experiment;
use crate::data::STAND_IN;
use crate::failure::Failure;
use crate::networks::node_scores;
use crate::record::Findings;
use crate::run::Run;
use crate::table::Table;
use crate::weakest::{self, Suspect, shown};
use crate::zoo::{self, Member, Shelf, members};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "constructions",
    paper: "Table of A.10",
    title: "CLEVER scores by kind of graph",
    run,
};

const NEIGHBORS: usize = 10;
/// The paper's name of a graph, and ours. The paper gives no numbers of its own for them.
const KINDS: [(&str, &str); 4] =
    [("GRASS", "sparse:density=1.5"), ("PCA", "pca:50"), ("CKNN", "cknn:1"), ("KNN", "knn")];

/// The paper's scores of top and bottom 10, in the order of the kinds.
fn paper(member: &str) -> [[&'static str; 2]; 4] {
    let rows = match member {
        "MNIST-2CL" => {
            "0.964/0.0465 21.136/0.985 0.195/0.011 21.742/1.078 0.784/0.039 0.801/0.040 0.049/0.002 20.499/0.950"
        }
        "MNIST-2CL-0.3" => {
            "0.045/0.006 5.574/0.623 0.034/0.005 7.750/0.971 0.541/0.049 0.712/0.072 0.112/0.008 4.888/0.620"
        }
        "MNIST-MLP" => {
            "0.432/0.020 1.729/0.089 0.460/0.022 1.564/0.079 0.555/0.039 0.850/0.058 1.317/0.067 1.715/0.089"
        }
        "MNIST-CNN" => {
            "0.570/0.044 0.983/0.083 0.525/0.040 1.099/0.099 0.070/0.001 0.204/0.004 0.379/0.030 0.894/0.079"
        }
        "MNIST-DD" => {
            "0.448/0.028 1.306/0.094 0.377/0.027 1.487/0.101 0.045/0.001 0.100/0.002 0.408/0.026 1.399/0.097"
        }
        "CIFAR-MLP" => {
            "0.113/0.002 0.253/0.005 0.535/0.012 0.214/0.004 0.078/0.002 0.129/0.004 0.213/0.004 0.253/0.005"
        }
        "CIFAR-CNN" => {
            "0.230/0.007 0.167/0.004 0.214/0.006 0.114/0.003 0.185/0.009 8.938/0.423 0.141/0.004 0.215/0.006"
        }
        _ => {
            "0.287/0.009 0.111/0.003 0.245/0.008 0.167/0.005 0.434/0.048 0.075/0.003 0.318/0.036 0.111/0.003"
        }
    };
    let cells: Vec<&'static str> = rows.split(' ').collect();
    std::array::from_fn(|kind| [cells[2 * kind], cells[2 * kind + 1]])
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.1).collect();
    let mut findings = Findings::new(json!({
        "clever": weakest::settings(run), "graphs": kinds, "neighbors": NEIGHBORS, "training": zoo::training(run),
    }));
    let header = [
        "network",
        "accuracy",
        "graph",
        "k used",
        "top 10",
        "bottom 10",
        "paper, top 10",
        "paper, bottom 10",
    ];
    let mut table = Table::new(
        "Mean CLEVER scores, L2/L∞, of the samples with the highest and the lowest node scores.",
        header,
    );
    let (mut shelf, mut larger, mut chart) = (Shelf::default(), Vec::new(), Vec::new());
    for member in members(run) {
        let Kinds { accuracy, of_kind } = by_kind(run, &member, &mut shelf)?;
        findings.network(member.name, member.which.title(), accuracy);
        for (at, (neighbors, means)) in of_kind.into_iter().enumerate() {
            let (name, kind) = KINDS[at];
            if let Some(used) = neighbors {
                findings.graph(format!("{}, {kind}", member.name), NEIGHBORS, used);
            }
            if let [Some(top), Some(bottom)] = means {
                larger.push((name, bottom[0] > top[0]));
                chart.push((format!("{} {name}", member.name), bottom[0] / top[0].max(1e-9)));
            }
            let [top, bottom] = paper(member.name)[at];
            table.row(vec![
                json!(member.name),
                json!(accuracy),
                json!(format!("{name} ({kind})")),
                json!(neighbors),
                shown(means[0]),
                shown(means[1]),
                json!(top),
                json!(bottom),
            ]);
        }
    }
    for (name, kind) in KINDS {
        let of_kind: Vec<bool> = larger.iter().filter(|entry| entry.0 == name).map(|entry| entry.1).collect();
        let above = of_kind.iter().filter(|&&above| above).count();
        findings.claim(
            run,
            format!("{name}: the bottom 10 have the larger CLEVER score for most networks"),
            format!("{kind}: in {above} of {} (L2)", of_kind.len()),
            (!of_kind.is_empty()).then_some(2 * above > of_kind.len()),
        );
    }
    if shelf.has_stand_in() {
        findings.note(STAND_IN);
    }
    findings.charts.push(bars(
        "constructions",
        "CLEVER score (L2) of the bottom 10 by that of the top 10",
        &chart,
    ));
    findings.tables.push(table);
    Ok(findings)
}

/// The k that connected a graph, and the scores of top and bottom samples by it.
type OfKind = (Option<usize>, [Option<[f64; 2]>; 2]);

/// What the rows of a network are made of, as far as the time goes.
#[derive(Debug, Default)]
struct Kinds {
    /// On the test images.
    accuracy: Option<f64>,
    of_kind: [OfKind; 4],
}

fn by_kind(run: &Run, member: &Member, shelf: &mut Shelf) -> Result<Kinds, Failure> {
    let mut found = Kinds::default();
    let (train, test) = shelf.images(run, member.which)?;
    let Some(network) = member.network(run, train)? else { return Ok(found) };
    let (model, settings) = (Frozen::new(&network, run.compute()), member.settings(run, train));
    found.accuracy = member.accuracy(run, &model, train, test)?;
    let suspect = Suspect { name: member.name, model: &model, test: &test.examples, settings: &settings };
    for (at, (_, kind)) in KINDS.iter().enumerate() {
        let graph: GraphKind = kind.parse().map_err(|error| Failure::Usage(format!("{kind}: {error}")))?;
        let params = SpadeParams::default().with_neighbors(NEIGHBORS).with_graph(graph);
        let Some(scored) = node_scores(run, &network, (member.name, &settings), test, &params)? else {
            continue;
        };
        let count = run.size(10, 3);
        let negative: Vec<f64> = scored.scores.iter().map(|score| -score).collect();
        found.of_kind[at] = (
            Some(scored.neighbors_used),
            [
                suspect.mean_clever(run, &highest(&scored.scores, count))?,
                suspect.mean_clever(run, &highest(&negative, count))?,
            ],
        );
    }
    Ok(found)
}
