//! The table of A.8: model scores of 90,000 samples for k up to 100.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::pipeline::sweep;
use spadework::{Model, ModelSet, Samples, SpadeParams};
use spadework_io::load;
use spadework_nn::{Examples, Frozen};

use super::Experiment;
use crate::data::{CLASSES, Images, Split, Which};
use crate::failure::Failure;
use crate::plots::{curves, places};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::falls;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "large", paper: "Table of A.8", title: "90,000 samples, k up to 100", run };

/// The folder of CINIC-10 in the data, and the word that reads it.
const CINIC: &str = "cinic10";
/// The size of its test set.
const SAMPLES: usize = 90_000;
/// Networks of one architecture and one source, less robust first (accuracy under PGD at 8/255: 0.06, 0.12, 0.17, 0.22).
const NETWORKS: [(&str, &str); 4] = [
    ("cnn_a mix", "nets/abcrown__sdp_cifar_cnn_a_mix.onnx"),
    ("cnn_a adv", "nets/abcrown__sdp_cifar_cnn_a_adv.onnx"),
    ("cnn_a mix4", "nets/abcrown__sdp_cifar_cnn_a_mix4.onnx"),
    ("cnn_a adv4", "nets/abcrown__sdp_cifar_cnn_a_adv4.onnx"),
];
/// The paper's networks and scores at k = 10, 20, 50, 100.
const PAPER: [(&str, [f64; 4]); 4] = [
    ("ε = 0", [648.64, 1393.71, 263.69, 214.01]),
    ("ε = 0.25", [348.45, 267.77, 201.33, 164.30]),
    ("ε = 0.5", [285.68, 219.91, 166.53, 135.66]),
    ("ε = 1", [274.17, 210.18, 156.00, 124.55]),
];

/// What is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Scored {
    /// For each k, the k of the graphs, and λ_1 of each network.
    points: Vec<(usize, Vec<f64>)>,
    accuracies: Vec<Option<f64>>,
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let neighbors: Vec<usize> = run.size(vec![10, 20, 50, 100], vec![10, 20]);
    let count = run.options().test_images.unwrap_or(run.size(SAMPLES, 1000));
    let missing = || Failure::Needs { files: "cinic10/ or cifar10/, and nets/".to_owned() };
    let cinic = run.data_file(CINIC).is_some();
    if !cinic && !Which::Cifar10.is_there(run) {
        return Err(missing());
    }
    let mut networks = Vec::new();
    for (name, file) in NETWORKS {
        let path = run.data_file(file).ok_or_else(missing)?;
        networks.push((name, Frozen::load(&path, run.compute())?));
    }
    let settings = json!({
        "samples": count, "images": if cinic { "CINIC-10" } else { "CIFAR-10 and changed copies" }, "neighbors": neighbors,
        "networks": NETWORKS, "seed": run.seed(),
    });
    let mut findings = Findings::new(settings.clone());
    let scored: Option<Scored> = run.part("large/scores", &settings, || {
        let images = images(run, count)?;
        let inputs = Samples::from_f32(images.len(), images.size(), images.samples())?;
        let labels: Vec<i64> = images.labels().iter().map(|&label| label as i64).collect();
        let (mut models, mut accuracies) = (Vec::new(), Vec::new());
        for (name, network) in &networks {
            let outputs =
                Samples::from_f32(images.len(), network.classes(), network.outputs(images.samples())?)?;
            accuracies.push(spadework_probe::accuracy(&outputs, &labels)?);
            models.push(Model { name: (*name).to_owned(), outputs });
        }
        let params = SpadeParams::default().with_eigenpairs(1).with_seed(run.seed());
        let swept = sweep(&ModelSet::new(inputs, models)?, &neighbors, &params, run.monitor())?;
        let mut points = Vec::new();
        for point in swept.points {
            let scores = point.scores?;
            points.push((
                scores.used,
                scores.models.iter().map(spadework::pipeline::SweepScore::model_score).collect(),
            ));
        }
        Ok(Scored { points, accuracies })
    })?;
    if let Some(Scored { points, accuracies }) = scored {
        for ((name, _), accuracy) in NETWORKS.iter().zip(accuracies) {
            findings.network(*name, format!("the {count} images"), accuracy);
        }
        for (&requested, (used, _)) in neighbors.iter().zip(&points) {
            findings.graph("all networks", requested, *used);
        }
        tell(run, count, &neighbors, &points, &mut findings);
    }
    findings.tables.push(of_paper());
    findings.note(if cinic {
        format!("{count} test images of CINIC-10. The networks are not the paper's.")
    } else {
        format!(
        "{count} images: CIFAR-10's training and test images, and of a third of them mirrored copies that are moved by two \
         pixels, in place of CINIC-10, which is not here. So these are not the paper's data, nor its networks."
        )
    });
    Ok(findings)
}

fn tell(run: &Run, count: usize, neighbors: &[usize], scored: &[(usize, Vec<f64>)], findings: &mut Findings) {
    let header = ["k", "k used"].into_iter().chain(NETWORKS.map(|network| network.0));
    let mut table = Table::new("Model scores λ_1 of our networks, less robust first.", header);
    for (&k, (used, scores)) in neighbors.iter().zip(scored) {
        let scores = scores.iter().map(|&score| Value::from(score));
        table.row([json!(k), json!(used)].into_iter().chain(scores).collect());
    }
    let falling = scored.iter().filter(|(_, scores)| falls(scores)).count();
    findings.claim(
        run,
        "more robust networks always have lower scores, at 90,000 samples too",
        format!("{count} samples: in order at {falling} of {} k", scored.len()),
        // The networks differ in more than the attacks that they were trained against, so neither order decides.
        None,
    );
    let rows: Vec<Vec<f64>> = scored.iter().map(|point| point.1.clone()).collect();
    let (names, axes) = (NETWORKS.map(|network| network.0.to_owned()), ["neighbors, k", "model score"]);
    findings.charts.push(curves("large", "Model score over k", axes, names, &places(neighbors), &rows));
    findings.tables.push(table);
}

fn of_paper() -> Table {
    let mut table =
        Table::new("The paper, on CINIC-10.", ["network", "k = 10", "k = 20", "k = 50", "k = 100"]);
    for (name, scores) in PAPER {
        table.row(std::iter::once(json!(name)).chain(scores.map(Value::from)).collect());
    }
    table
}

/// The test images of CINIC-10 where there are any, else a set of that size.
fn images(run: &Run, count: usize) -> Result<Examples, Failure> {
    match run.data_file(CINIC) {
        Some(folder) => {
            let dataset = load(&format!("{CINIC}:{}:test", folder.display()))?;
            Ok(Images::of_dataset(&dataset, "cinic10:test", count)?.examples)
        }
        None => cifar_of_that_size(run, count),
    }
}

/// Five parts of training images, one of test images and three of changed copies.
fn cifar_of_that_size(run: &Run, count: usize) -> Result<Examples, Failure> {
    let train = Images::load(run, Which::Cifar10, Split::Train, count * 5 / 9)?;
    let test = Images::load(run, Which::Cifar10, Split::Test, count / 9)?;
    let copies = count - train.len() - test.len();
    let mut values = [train.examples.samples(), test.examples.samples()].concat();
    let mut labels = [train.labels(), test.labels()].concat();
    for at in 0..copies {
        values.extend(mirrored_and_moved(train.examples.sample(at % train.len())));
        labels.push(train.examples.labels()[at % train.len()] as i64);
    }
    Ok(Examples::new(values, train.examples.size(), &labels, CLASSES)?)
}

/// Left for right, and two pixels along each axis, with zeros where nothing is left.
fn mirrored_and_moved(image: &[f32]) -> Vec<f32> {
    const SIDE: usize = 32;
    const MOVED: usize = 2;
    let mut changed = vec![0.0; image.len()];
    for (old, new) in image.chunks(SIDE * SIDE).zip(changed.chunks_mut(SIDE * SIDE)) {
        for row in MOVED..SIDE {
            for column in MOVED..SIDE {
                new[row * SIDE + column] = old[(row - MOVED) * SIDE + SIDE - 1 - (column - MOVED)];
            }
        }
    }
    changed
}
