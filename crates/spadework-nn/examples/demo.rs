//! Makes the two networks behind `spadework demo`: one trained on the digits as they are, one against attacks.
//!
//! `cargo run --release -p spadework-nn --example demo -- [FOLDER] [MODEL] [EPOCHS] [SEED] [DECAY]` writes the outputs of both on all
//! digits (`demo_standard.npy`, `demo_robust.npy`) and `demo.json` with how they came to be and what they get right of the
//! digits they were not trained on. Without arguments it makes what `crates/spadework-cli/assets` holds, bit by bit on the
//! same kind of processor; another one may round sums in another order, which training amplifies.
//!
//! The networks are alike in everything but the attack. Their weights decay: without it the order of the model scores is
//! reversed (README, "Not always the right order").

#![expect(clippy::print_stdout, reason = "a program for a terminal")]

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use spadework::Silent;
use spadework_io::load_digits;
use spadework_io::output::write_npy;
use spadework_nn::attack::{AttackParams, Budget, Climb, attack};
use spadework_nn::train::{Guides, Method, Schedule, TrainParams, Trainer};
use spadework_nn::{Architecture, Compute, Examples, Frozen, random_places, to_floats};

/// How many of the digits are trained on.
const TRAINED: usize = 1438;
const CLASSES: usize = 10;
const TRAIN_EPSILON: f32 = 0.2;
const TRAIN_STEPS: usize = 10;
const EPSILON: f32 = 0.15;
const STEPS: usize = 50;
const RESTARTS: usize = 5;
const CREDIT: &str = "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, \
                      https://doi.org/10.24432/C50P49 (CC BY 4.0); the 1,797 images as distributed with scikit-learn (BSD 3-Clause).";

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize, default: &str| words.get(at).map_or(default.to_owned(), String::clone);
    let folder = word(0, concat!(env!("CARGO_MANIFEST_DIR"), "/../spadework-cli/assets"));
    let architecture: Architecture = word(1, "relu:256x2").parse()?;
    let (epochs, seed, weight_decay) =
        (word(2, "100").parse()?, word(3, "0").parse()?, word(4, "0.001").parse()?);

    let images = load_digits()?;
    let samples = images.samples()?;
    let labels = images.labels().ok_or("the digits have labels")?;
    let digits = Examples::new(to_floats(&samples), samples.dim(), labels.ids(), CLASSES)?;
    let (train, held_out) = split(&digits, seed);

    let params = TrainParams {
        epochs,
        batch: 64,
        learning_rate: 2e-3,
        schedule: Schedule::Cyclic,
        weight_decay,
        climb: Climb { steps: TRAIN_STEPS, ..Climb::default() },
        seed,
        ..TrainParams::default()
    };
    let mut models = Vec::new();
    for (name, method) in [("standard", Method::Standard), ("robust", Method::Pgd)] {
        let epsilon = if method == Method::Pgd { TRAIN_EPSILON } else { 0.0 };
        let model = trained(architecture, &train, TrainParams { method, epsilon, ..params.clone() })?;
        let file = format!("demo_{name}.npy");
        let outputs = model.outputs(digits.samples())?;
        write_npy(&Path::new(&folder).join(&file), &[digits.len(), CLASSES], outputs.as_slice())?;
        let (clean, under_attack) = accuracies(&model, &held_out, seed)?;
        println!("{name:9} held out: clean {clean:.4}, PGD {under_attack:.4}");
        models.push(json!({
            "name": name, "file": file, "clean_accuracy": rounded(clean), "pgd_accuracy": rounded(under_attack),
        }));
    }
    let facts = facts(architecture, &params, &digits, &models);
    fs::write(Path::new(&folder).join("demo.json"), serde_json::to_string_pretty(&facts)? + "\n")?;
    Ok(())
}

/// Random digits to train on, and the rest, each in their order.
fn split(digits: &Examples, seed: u64) -> (Examples, Examples) {
    let mut chosen = random_places(seed, TRAINED, digits.len());
    chosen.sort_unstable();
    let rest: Vec<usize> = (0..digits.len()).filter(|place| chosen.binary_search(place).is_err()).collect();
    (digits.select(&chosen), digits.select(&rest))
}

fn trained(
    architecture: Architecture,
    train: &Examples,
    params: TrainParams,
) -> Result<Frozen, spadework_nn::Error> {
    let network = architecture.build(&[train.size()], CLASSES, None, params.seed)?;
    let mut trainer = Trainer::new(&network, train, params, Guides::default(), &Compute::cpu())?;
    trainer.run::<spadework_nn::Error>(&Silent, |_, _| Ok(()))?;
    Ok(trainer.frozen())
}

/// Clean and under attack.
fn accuracies(model: &Frozen, held_out: &Examples, seed: u64) -> Result<(f64, f64), spadework_nn::Error> {
    let climb = Climb { steps: STEPS, ..Climb::default() };
    let params = AttackParams { seed, ..AttackParams::pgd(climb, RESTARTS) };
    let budget = Budget::same(EPSILON, held_out.len())?;
    let report = attack(model, held_out, &budget, &params, &Silent)?;
    Ok((report.clean_accuracy(), report.robust_accuracy()))
}

/// To four digits, as they are read.
fn rounded(share: f64) -> f64 {
    (1e4 * share).round() / 1e4
}

fn facts(architecture: Architecture, params: &TrainParams, digits: &Examples, models: &[Value]) -> Value {
    // As they were typed: a float of single precision has more digits in double.
    let typed = |value: f32| rounded(f64::from(value));
    json!({
        "schema": "spadework.demo/1",
        "data": {
            "name": "UCI digits",
            "samples": digits.len(),
            "input_dim": digits.size(),
            "scaling": "pixels / 16",
            "train_rows": TRAINED,
            "held_out_rows": digits.len() - TRAINED,
            "credit": CREDIT,
        },
        "attack": {
            "norm": "linf", "epsilon": typed(EPSILON), "steps": STEPS, "restarts": RESTARTS, "rows": "held out",
        },
        "training": {
            "seed": params.seed,
            "network": architecture.to_string(),
            "optimizer": "adam, cyclic rate",
            "epochs": params.epochs,
            "batch": params.batch,
            "learning_rate": typed(params.learning_rate),
            "weight_decay": typed(params.weight_decay),
            "epsilon": typed(TRAIN_EPSILON),
            "steps": TRAIN_STEPS,
        },
        "made_by": "cargo run --release -p spadework-nn --example demo",
        "models": models,
    })
}
