//! The authors' lists of the most fragile samples, compared with each other and with ours: how much of a top list is the network, and how much
//! the images that all have in common. And what their node scores of training images say of classes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework_io::load;
use spadework_nn::{Frozen, highest};
use spadework_probe::Margins;
use spadework_report::figures::bars;

use super::Experiment;
use crate::data::{CLASSES, Images, Split, Which};
use crate::failure::Failure;
use crate::levels::Levels;
use crate::networks::score_outputs;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::mean;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "top-lists",
    paper: "Table 5",
    title: "top lists compared with those that the authors published",
    run,
};

/// Ids of the test samples with the highest and lowest node scores, by network: `list,network,rank,id`.
const LISTS: &str = "authors/clever_nodes.csv";
/// Node scores of 55,000 training images; TensorFlow's reader leaves the first 5,000 out.
const TRAINING: &str = "authors/mnist_train_node_scores.npy";
const TRAIN_FROM: usize = 5000;
/// Samples with the larger ε in the authors' guided training.
const CHOSEN: usize = 45_000;
const TOP: usize = 100;
const NEIGHBORS: usize = 10;
const NETS: [(Which, &[&str]); 2] = [
    (
        Which::Mnist,
        &[
            "nets/eran__mnist_relu_3_100.onnx",
            "nets/salman__mnist_NOR_MLP_B.onnx",
            "nets/eran__mnist_convSmall_PGDK.onnx",
        ],
    ),
    (
        Which::Cifar10,
        &["nets/akamaster_resnet_cifar10__resnet20-12fca82f.onnx", "nets/salman__cifar_cnn_small_NOR.onnx"],
    ),
];

#[derive(Debug, Deserialize)]
struct Line {
    list: String,
    network: String,
    rank: usize,
    id: usize,
}

/// Both lists of one network of ours, and that of its smallest margins.
#[derive(Debug, Serialize, Deserialize)]
struct Lists {
    used: usize,
    accuracy: Option<f64>,
    top: Vec<usize>,
    bottom: Vec<usize>,
    margins: Vec<usize>,
}

/// A name and a list.
type Named = (String, Vec<usize>);

/// The lists of all networks of ours.
#[derive(Debug, Default)]
struct Ours {
    top: Vec<Named>,
    margins: Vec<Named>,
    bottom: Vec<Named>,
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let needs = || Failure::Needs { files: format!("{LISTS} (list, network, rank, id)") };
    let path = run.data_file(LISTS).ok_or_else(needs)?;
    let wrong = |error: csv::Error| Failure::File { path: path.clone(), reason: error.to_string() };
    let mut reader = csv::Reader::from_path(&path).map_err(wrong)?;
    let lines: Vec<Line> = reader.deserialize().collect::<Result<_, _>>().map_err(wrong)?;
    let mut findings = Findings::new(json!({
        "top": TOP, "neighbors": NEIGHBORS, "eigenpairs": 2, "seed": run.seed(),
        "chance": TOP as f64 * TOP as f64 / 10_000.0,
    }));
    for which in Which::ALL {
        let theirs = of_authors(&lines, which);
        let Ours { top: ours, margins, bottom } = ours(run, which, &mut findings)?;
        let chance = TOP as f64 * TOP as f64 / 10_000.0;
        let caption = |rows: &str| {
            format!(
                "{}, {rows}: how many of {TOP} samples both lists have; {chance:.0} by chance.",
                which.title()
            )
        };
        let among_authors = shared(&mut findings, &caption("authors and authors, top"), &theirs, &theirs);
        let with_authors = shared(&mut findings, &caption("ours and authors, top"), &ours, &theirs);
        let among_ours = shared(&mut findings, &caption("ours and ours, top"), &ours, &ours);
        let of_margins =
            shared(&mut findings, &caption("our smallest margins and authors, top"), &margins, &theirs);
        let of_bottoms = shared(&mut findings, &caption("our bottom and authors, top"), &bottom, &theirs);
        let means = [
            ("authors and authors", among_authors),
            ("ours and authors", with_authors),
            ("ours and ours", among_ours),
            ("our margins and authors", of_margins),
            ("our bottom and authors", of_bottoms),
        ];
        let rows: Vec<(String, f64)> =
            means.iter().filter_map(|(name, values)| Some(((*name).to_owned(), mean(values)?))).collect();
        let name = if which == Which::Mnist { "top-lists-mnist" } else { "top-lists-cifar10" };
        let title = format!("{}: same samples of {TOP}, mean over pairs of networks", which.title());
        findings.charts.push(bars(name, &title, &rows));
    }
    classes(run, &mut findings)?;
    Ok(findings)
}

/// The authors' top lists of networks on these data.
fn of_authors(lines: &[Line], which: Which) -> Vec<Named> {
    let prefix = if which == Which::Mnist { "mnist" } else { "cifar" };
    let mut by_network: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.list == "top" && line.network.starts_with(prefix)) {
        by_network.entry(&line.network).or_default().push((line.rank, line.id));
    }
    by_network
        .into_iter()
        .map(|(network, mut ids)| {
            ids.sort_unstable();
            (network.to_owned(), ids.into_iter().map(|entry| entry.1).take(TOP).collect())
        })
        .collect()
}

/// Top lists, smallest margins and bottom lists of our networks.
fn ours(run: &Run, which: Which, findings: &mut Findings) -> Result<Ours, Failure> {
    let levels = Levels::load(run, which)?;
    levels.introduce(findings)?;
    let mut outputs: Vec<(String, Vec<f32>)> =
        levels.by_epsilon.iter().map(|level| (level.name(), level.outputs.clone())).collect();
    let files = NETS.iter().find(|entry| entry.0 == which).map_or(&[][..], |entry| entry.1);
    for file in files {
        if let Some(path) = run.data_file(file) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let model = Frozen::load(&path, run.compute())?;
            outputs.push((name, model.outputs(levels.images.examples.samples())?));
        }
    }
    let mut found = Ours::default();
    for (name, outputs) in outputs {
        let settings = json!({ "levels": levels.settings(), "name": name, "top": TOP, "neighbors": NEIGHBORS, "seed": run.seed() });
        let part = format!("top-lists/{} {name}", levels.title());
        let Some(lists) = run.part(&part, &settings, || lists(run, &levels.images, outputs))? else {
            continue;
        };
        findings.network(format!("{}, {name}", levels.title()), levels.images.described(), lists.accuracy);
        findings.graph(format!("{}, {name}", levels.title()), NEIGHBORS, lists.used);
        found.top.push((name.clone(), lists.top));
        found.margins.push((name.clone(), lists.margins));
        found.bottom.push((name, lists.bottom));
    }
    Ok(found)
}

fn lists(run: &Run, images: &Images, outputs: Vec<f32>) -> Result<Lists, Failure> {
    let dim = outputs.len() / images.len();
    let samples = spadework::Samples::from_f32(images.len(), dim, outputs.clone())?;
    let margins = Margins::of(&samples, None)?
        .ok_or_else(|| Failure::Usage("expected a classifier of two outputs or more".to_owned()))?;
    let params = spadework::SpadeParams::default().with_neighbors(NEIGHBORS);
    let report = score_outputs(run, images, outputs, &params)?;
    let scores = report.node_scores.scores();
    let negative = |values: &[f64]| values.iter().map(|value| -value).collect::<Vec<f64>>();
    Ok(Lists {
        used: report.diagnostics.connection.used,
        accuracy: spadework_probe::accuracy(&samples, &images.labels())?,
        top: highest(scores, TOP),
        bottom: highest(&negative(scores), TOP),
        margins: highest(&negative(margins.values()), TOP),
    })
}

/// Adds a table of what lists share, and returns the numbers of different lists.
fn shared(findings: &mut Findings, caption: &str, rows: &[Named], columns: &[Named]) -> Vec<f64> {
    let header = std::iter::once("network".to_owned()).chain(columns.iter().map(|column| column.0.clone()));
    let mut table = Table::new(caption, header);
    let mut numbers = Vec::new();
    for (row, list) in rows {
        let list: BTreeSet<usize> = list.iter().copied().collect();
        let counts: Vec<usize> =
            columns.iter().map(|(_, other)| other.iter().filter(|&id| list.contains(id)).count()).collect();
        // A list shares everything with itself.
        let others = columns.iter().zip(&counts).filter(|((column, _), _)| column != row);
        numbers.extend(others.map(|(_, &count)| count as f64));
        table.row(std::iter::once(json!(row)).chain(counts.into_iter().map(Value::from)).collect());
    }
    findings.tables.push(table);
    numbers
}

/// The authors' scores of training images by class.
fn classes(run: &Run, findings: &mut Findings) -> Result<(), Failure> {
    let Some(path) = run.data_file(TRAINING) else { return Ok(()) };
    let dataset = load(&path.display().to_string())?;
    let scores = dataset.samples()?.values().all_doubles().to_vec();
    let images = Images::load(run, Which::Mnist, Split::Train, usize::MAX)?;
    let labels = images.examples.labels().get(TRAIN_FROM..).unwrap_or_default();
    if scores.len() != labels.len() {
        let reason =
            format!("expected a score for each of {} training images, got {}", labels.len(), scores.len());
        return Err(Failure::File { path, reason });
    }
    let chosen: BTreeSet<usize> = highest(&scores, CHOSEN).into_iter().collect();
    let mut table = Table::new(
        format!(
            "The authors' node scores of {} training images of MNIST by class, and the share of the class among the {CHOSEN} highest.",
            scores.len()
        ),
        ["class", "images", "mean score", "share chosen"],
    );
    let mut chart = Vec::new();
    for class in 0..CLASSES {
        let of_class: Vec<usize> = (0..labels.len()).filter(|&at| labels[at] == class).collect();
        let of_scores: Vec<f64> = of_class.iter().map(|&at| scores[at]).collect();
        let share = of_class.iter().filter(|&at| chosen.contains(at)).count() as f64 / of_class.len() as f64;
        table.row(vec![json!(class), json!(of_class.len()), json!(mean(&of_scores)), json!(share)]);
        chart.push((class.to_string(), share));
    }
    findings.charts.push(bars(
        "top-lists-classes",
        "Share of each class among the samples with the larger ε",
        &chart,
    ));
    findings.tables.push(table);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_their_order_and_compared() {
        let line = |network: &str, list: &str, rank: usize, id: usize| Line {
            list: list.to_owned(),
            network: network.to_owned(),
            rank,
            id,
        };
        let lines = [
            line("mnist_mlp", "top", 2, 7),
            line("mnist_mlp", "top", 1, 5),
            line("mnist_mlp", "bottom", 1, 9),
            line("cifar_mlp", "top", 1, 5),
            line("mnist_0", "top", 1, 5),
        ];
        let theirs = of_authors(&lines, Which::Mnist);
        assert_eq!(theirs, [("mnist_0".to_owned(), vec![5]), ("mnist_mlp".to_owned(), vec![5, 7])]);
        let mut findings = Findings::default();
        assert_eq!(shared(&mut findings, "", &theirs, &theirs), [1.0, 1.0]);
        assert_eq!(findings.tables[0].rows[1], [json!("mnist_mlp"), json!(1), json!(2)]);
    }
}
