//! Table 5: CLEVER scores of the samples with the highest node scores, compared with those of random samples.

use serde_json::{Value, json};
use spadework::SpadeParams;
use spadework_nn::{Frozen, highest, random_places};
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

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "guided-clever", paper: "Table 5", title: "CLEVER scores guided by node scores", run };

/// What the paper has for a network, in the order of the columns.
fn paper(member: &str) -> [&'static str; 4] {
    match member {
        "MNIST-MLP" => ["1.317/0.067", "0.590/0.030", "0.698/0.034", "0.819/0.041"],
        "MNIST-CNN" => ["0.379/0.030", "0.391/0.027", "0.775/0.057", "0.721/0.057"],
        "MNIST-DD" => ["0.408/0.026", "0.451/0.028", "0.874/0.065", "0.865/0.063"],
        "CIFAR-MLP" => ["0.213/0.004", "0.226/0.005", "0.312/0.007", "0.219/0.005"],
        "CIFAR-CNN" => ["0.141/0.004", "0.088/0.003", "0.046/0.001", "0.072/0.002"],
        "CIFAR-DD" => ["0.310/0.009", "0.119/0.003", "0.100/0.003", "0.130/0.004"],
        "MNIST-2CL" => ["0.049/0.002", "0.075/0.003", "162.35/7.592", "68.544/3.182"],
        _ => ["0.112/0.008", "0.114/0.006", "0.332/0.017", "0.431/0.022"],
    }
}

/// Samples of a column: the T highest for k neighbors, or R random ones.
const COLUMNS: [&str; 4] = ["top 10 (k = 10)", "top 20 (k = 20)", "random 10", "random 100"];

/// As many highest samples as neighbors.
const TOPS: [usize; 2] = [10, 20];

fn run(run: &Run) -> Result<Findings, Failure> {
    let mut findings = Findings::new(json!({
        "clever": weakest::settings(run), "columns": COLUMNS, "training": zoo::training(run),
    }));
    let header = ["network", "accuracy", "k used"].into_iter().chain(COLUMNS).map(str::to_owned);
    let header = header.chain(COLUMNS.map(|column| format!("paper, {column}")));
    let mut table = Table::new("Mean CLEVER scores, L2/L∞; smaller is weaker.", header);
    let (mut shelf, mut smaller, mut chart) = (Shelf::default(), Vec::new(), Vec::new());
    for member in members(run) {
        let Columns { accuracy, neighbors, means } = columns(run, &member, &mut shelf)?;
        findings.network(member.name, member.which.title(), accuracy);
        for (requested, &used) in TOPS.iter().zip(&neighbors) {
            findings.graph(member.name, *requested, used);
        }
        if let [Some(top), _, _, Some(random)] = means {
            smaller.push(top[0] < random[0]);
        }
        for (column, mean) in COLUMNS.iter().zip(means) {
            chart.extend(mean.map(|mean| (format!("{} {column}", member.name), mean[0])));
        }
        let mut row = vec![json!(member.name), json!(accuracy), json!(neighbors)];
        row.extend(means.map(shown));
        row.extend(paper(member.name).map(Value::from));
        table.row(row);
    }
    let below = smaller.iter().filter(|&&smaller| smaller).count();
    findings.claim(
        run,
        "guided CLEVER scores are much smaller than those of random samples in most cases",
        format!("top 10 below random 100 (L2) in {below} of {} networks", smaller.len()),
        (!smaller.is_empty()).then_some(2 * below > smaller.len()),
    );
    if shelf.has_stand_in() {
        findings.note(STAND_IN);
    }
    findings.note(
        "No score is larger than the radius, 5 for L2 and 1 for L∞; the paper's code has no such limit.",
    );
    findings.charts.push(bars("clever", "Mean CLEVER scores, L2", &chart));
    findings.tables.push(table);
    Ok(findings)
}

/// What a row of the table is made of, as far as the time goes.
#[derive(Debug, Default)]
struct Columns {
    /// On the test images.
    accuracy: Option<f64>,
    /// The k that graphs of 10 and 20 neighbors needed to be connected, for each column that has one.
    neighbors: Vec<usize>,
    means: [Option<[f64; 2]>; 4],
}

fn columns(run: &Run, member: &Member, shelf: &mut Shelf) -> Result<Columns, Failure> {
    let mut found = Columns::default();
    let (train, test) = shelf.images(run, member.which)?;
    let Some(network) = member.network(run, train)? else { return Ok(found) };
    let (model, settings) = (Frozen::new(&network, run.compute()), member.settings(run, train));
    found.accuracy = member.accuracy(run, &model, train, test)?;
    let suspect = Suspect { name: member.name, model: &model, test: &test.examples, settings: &settings };
    for (column, (top, neighbors)) in TOPS.map(|count| (count, count)).into_iter().enumerate() {
        let params = SpadeParams::default().with_neighbors(neighbors);
        let scored = node_scores(run, &network, (member.name, &settings), test, &params)?;
        let Some(scored) = scored else { return Ok(found) };
        found.neighbors.push(scored.neighbors_used);
        found.means[column] = suspect.mean_clever(run, &highest(&scored.scores, run.size(top, 3)))?;
    }
    for (column, count) in [(2, 10), (3, 100)] {
        let places = random_places(run.seed(), run.size(count, count / 10 + 2), test.len());
        found.means[column] = suspect.mean_clever(run, &places)?;
    }
    Ok(found)
}
