//! The table of A.9: networks trained with AugMix and without, on clean and on corrupted test images.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::Silent;
use spadework_io::corrupt::{Corruption, CorruptionKind, ImageShape, Severity, corrupt};
use spadework_io::load_digits;
use spadework_nn::Frozen;
use spadework_nn::train::{Guides, TrainParams};
use spadework_report::figures::bars;

use super::Experiment;
use crate::data::{DIGITS_TRAINED, Images, STAND_IN, Split, Which};
use crate::failure::Failure;
use crate::levels::training_of;
use crate::networks::{Recipe, score};
use crate::record::Findings;
use crate::run::Run;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "augmix",
    paper: "Table of A.9",
    title: "natural robustness: AugMix and standard training",
    run,
};

const SEVERITY: u8 = 3;
const NEIGHBORS: usize = 10;
/// Of the paper's networks none is here; of ours, from small to large.
const ARCHITECTURES: [&str; 3] = ["cnn7", "resnet20", "resnet18"];

/// The paper's networks, and their scores on clean and on corrupted images: AugMix, then standard training.
const PAPER: [(&str, [[f64; 2]; 2]); 4] = [
    ("Allconv", [[149.63, 60.68], [213.03, 39.99]]),
    ("Densenet", [[129.49, 53.32], [152.07, 33.63]]),
    ("Resnext", [[571.15, 293.94], [614.63, 51.57]]),
    ("WRN", [[738.35, 100.17], [784.03, 72.96]]),
];
/// Names, and whether images are mixed.
const TRAININGS: [(&str, bool); 2] = [("AugMix", true), ("standard", false)];

/// What a network came to on clean and on corrupted images.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Scored {
    scores: [f64; 2],
    accuracies: [f64; 2],
    /// The k of the graphs.
    used: [usize; 2],
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let (train, test) = (Images::train(run, Which::Cifar10)?, Images::test(run, Which::Cifar10)?);
    let kinds: Vec<CorruptionKind> = CorruptionKind::ALL.into_iter().step_by(run.size(1, 5)).collect();
    let spoilt = corrupted(run, &test, &kinds)?;
    let architectures: Vec<&str> = match (run.is_quick(), train.stand_in) {
        (false, _) => ARCHITECTURES.to_vec(),
        (true, false) => vec!["lenet5"],
        (true, true) => vec!["mlp:64"],
    };
    let words: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    let mut findings = Findings::new(json!({
        "train": train.described(), "test": test.described(), "networks": architectures, "neighbors": NEIGHBORS,
        "corruptions": words, "severity": SEVERITY, "training": training_of(run, Which::Cifar10),
    }));
    let header = [
        "of",
        "network",
        "training",
        "score, clean",
        "score, corrupted",
        "accuracy, clean",
        "accuracy, corrupted",
    ];
    let mut table = Table::new("Model scores λ_1 and accuracies, ours and the paper's scores.", header);
    let mut chart = Vec::new();
    for architecture in architectures {
        let mut pair = Vec::new();
        for (training, augmix) in TRAININGS {
            let found = scored(run, architecture, (training, augmix), &train, [&test, &spoilt])?;
            let cell = |of: fn(&Scored) -> f64| json!(found.as_ref().map(of));
            table.row(vec![
                json!("here"),
                json!(architecture),
                json!(training),
                cell(|found| found.scores[0]),
                cell(|found| found.scores[1]),
                cell(|found| found.accuracies[0]),
                cell(|found| found.accuracies[1]),
            ]);
            for (at, images) in [&test, &spoilt].into_iter().enumerate() {
                if let Some(found) = found {
                    let name = format!("{architecture}, {training}");
                    findings.network(&name, images.described(), Some(found.accuracies[at]));
                    findings.graph(format!("{name} on {}", images.name), NEIGHBORS, found.used[at]);
                }
            }
            for (images, name) in ["clean", "corrupted"].into_iter().enumerate() {
                chart.extend(
                    found.map(|found| (format!("{architecture} {training} {name}"), found.scores[images])),
                );
            }
            pair.extend(found);
        }
        let [augmix, standard] = pair[..] else { continue };
        // One seed each: networks of one seed differ by chance, too.
        findings.claim(
            run,
            format!("{architecture}: AugMix has the lower score on clean images"),
            format!("{:.1} against {:.1}", augmix.scores[0], standard.scores[0]),
            None,
        );
        findings.claim(
            run,
            format!("{architecture}: AugMix has the higher score on corrupted images"),
            format!("{:.1} against {:.1}", augmix.scores[1], standard.scores[1]),
            None,
        );
    }
    for (network, scores) in PAPER {
        for ((training, _), [clean, corrupted]) in TRAININGS.into_iter().zip(scores) {
            let mut row =
                vec![json!("paper"), json!(network), json!(training), json!(clean), json!(corrupted)];
            row.extend([Value::Null, Value::Null]);
            table.row(row);
        }
    }
    if train.stand_in {
        findings.note(STAND_IN);
    }
    findings.note("Corrupted images: every one by one kind, the kinds in rotation. AugMix mixes images alone, without its consistency loss.");
    findings.charts.push(bars("augmix", "Model scores", &chart));
    findings.tables.push(table);
    Ok(findings)
}

fn scored(
    run: &Run,
    architecture: &str,
    (training, augmix): (&str, bool),
    train: &Images,
    tests: [&Images; 2],
) -> Result<Option<Scored>, Failure> {
    let mut params: TrainParams = training_of(run, Which::Cifar10);
    params.augmentation.augmix = augmix;
    let recipe = Recipe {
        name: format!("augmix-{architecture}-{}-seed{}", training.to_lowercase(), run.seed()),
        train,
        architecture: architecture.to_owned(),
        normalize: !train.stand_in,
        params,
        guided_by: None,
    };
    let Some(network) = recipe.network(run, Guides::default())? else { return Ok(None) };
    let described = tests.map(Images::described);
    let settings = json!({ "network": recipe.settings(), "tests": described, "seed": run.seed() });
    run.part(&format!("augmix/{}", recipe.name), &settings, || {
        let model = Frozen::new(&network, run.compute());
        let mut found = Scored { scores: [0.0; 2], accuracies: [0.0; 2], used: [0; 2] };
        for (at, images) in tests.into_iter().enumerate() {
            let report = score(run, &model, images, NEIGHBORS, 1)?;
            found.scores[at] = report.model_score.0;
            found.used[at] = report.diagnostics.connection.used;
            found.accuracies[at] = model.accuracy(&images.examples)?;
        }
        Ok(found)
    })
}

/// The test images, each corrupted by one of the kinds, in rotation.
fn corrupted(run: &Run, test: &Images, kinds: &[CorruptionKind]) -> Result<Images, Failure> {
    let (dataset, from) = if test.stand_in {
        (load_digits()?, DIGITS_TRAINED)
    } else {
        (Which::Cifar10.dataset(run, Split::Test)?, 0)
    };
    let severity = Severity::new(SEVERITY).expect("3 is a severity");
    let shape = ImageShape::of(&dataset)?;
    let mut versions = Vec::with_capacity(kinds.len());
    for &kind in kinds {
        let changed = corrupt(&dataset, Corruption { kind, severity }, shape, run.seed(), &Silent)?;
        versions.push(Images::of_dataset(&changed, "", from + test.len())?);
    }
    let size = test.examples.size();
    let sample = |at: usize| versions[at % kinds.len()].examples.sample(from + at);
    let values: Vec<f32> = (0..test.len()).flat_map(sample).copied().collect();
    let name = format!("{} corrupted by {} kinds at {SEVERITY}", test.name, kinds.len());
    let examples = spadework_nn::Examples::new(values, size, &test.labels(), crate::data::CLASSES)?;
    Ok(Images { name, examples, ..test.clone() })
}
