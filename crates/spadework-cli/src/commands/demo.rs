//! `spadework demo`: two classifiers of handwritten digits, embedded, compared.
//!
//! The data are the UCI digits; the outputs were made by `scripts/make_demo.py`, which also wrote `demo.json` with the
//! accuracies and the credit.

use serde::Deserialize;
use spadework::{PairedSamples, Samples, SpadeParams, SpadeReport, Values, evaluate};
use spadework_io::{Dataset, load_bytes, load_digits};

use crate::args::DemoArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::number;

const STANDARD: &[u8] = include_bytes!("../../assets/demo_standard.npy");
const ROBUST: &[u8] = include_bytes!("../../assets/demo_robust.npy");
const FACTS: &str = include_str!("../../assets/demo.json");

/// Pixels of a side of a digit.
const SIDE: usize = 8;
/// Most fragile samples that are drawn, and how many of them side by side.
const PICTURES: usize = 10;
const IN_A_ROW: usize = 4;
/// Two characters a pixel, so that it comes out square.
const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];

#[derive(Debug, Deserialize)]
struct Facts {
    data: DataFacts,
    attack: AttackFacts,
    models: Vec<ModelFacts>,
}

#[derive(Debug, Deserialize)]
struct DataFacts {
    credit: String,
}

#[derive(Debug, Deserialize)]
struct AttackFacts {
    epsilon: f64,
}

#[derive(Debug, Deserialize)]
struct ModelFacts {
    name: String,
    clean_accuracy: f64,
    pgd_accuracy: f64,
}

/// The embedded images and their labels.
struct Digits {
    pixels: Vec<f32>,
    labels: Vec<usize>,
}

/// One model's outputs and what they say.
struct Model {
    facts: ModelFacts,
    outputs: Dataset,
    report: SpadeReport,
}

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let facts: Facts = serde_json::from_str(FACTS).expect("the embedded facts are well formed");
    let digits = Digits::load()?;
    let params = SpadeParams { threads: args.threads, ..SpadeParams::default() };
    let monitor = Console::quiet().monitor();
    let models = facts
        .models
        .into_iter()
        .zip([("standard.npy", STANDARD), ("robust.npy", ROBUST)])
        .map(|(facts, (name, bytes))| {
            let outputs = load_bytes(name, bytes.to_vec())?;
            let inputs = Samples::from_f32(digits.labels.len(), SIDE * SIDE, digits.pixels.as_slice())?;
            let report = evaluate(&PairedSamples::new(inputs, outputs.samples()?)?, &params, &monitor)?;
            Ok(Model { facts, outputs, report })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    Console::data(&comparison(&models, facts.attack.epsilon, params.neighbors))?;
    Console::data(&gallery(&models[0], &digits))?;
    Console::data(&next_steps(&facts.data.credit))
}

impl Digits {
    fn load() -> Result<Self, Failure> {
        let images = load_digits()?;
        let samples = images.samples()?;
        let Values::F32(pixels) = samples.values() else { unreachable!("pixels are of single precision") };
        let ids = images.labels().map(spadework_io::Labels::ids).unwrap_or_default();
        Ok(Self { pixels: pixels.to_vec(), labels: ids.iter().map(|&id| id as usize).collect() })
    }

    fn image(&self, index: usize) -> &[f32] {
        &self.pixels[index * SIDE * SIDE..(index + 1) * SIDE * SIDE]
    }
}

impl Model {
    /// The class with the largest output.
    fn predicts(&self, index: usize) -> usize {
        let samples = self.outputs.samples().expect("scored before");
        let Values::F32(values) = samples.values() else { return 0 };
        let row = &values[index * samples.dim()..(index + 1) * samples.dim()];
        (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0)
    }
}

fn comparison(models: &[Model], epsilon: f64, neighbors: usize) -> String {
    let samples = models[0].report.graphs.nodes();
    let mut text = format!(
        "Two classifiers of {samples} handwritten digits, judged from inputs and outputs alone ({neighbors} neighbors).\n\n\
         \x20 model      model score   clean accuracy   accuracy under attack (PGD, L∞ {epsilon})\n"
    );
    let mut ranked: Vec<&Model> = models.iter().collect();
    ranked.sort_by(|a, b| a.report.model_score.0.total_cmp(&b.report.model_score.0));
    for model in ranked {
        let ModelFacts { name, clean_accuracy, pgd_accuracy } = &model.facts;
        let score = number(model.report.model_score.0);
        text.push_str(&format!(
            "  {name:<9}  {score:>11}   {:>13.1}%   {:>20.1}%\n",
            100.0 * clean_accuracy,
            100.0 * pgd_accuracy
        ));
    }
    text.push_str(
        "\nA larger model score means that close inputs are torn further apart: less robust. Scores compare models\n\
         of similar accuracy; the score never saw an attack, the last column is there to judge it by.\n",
    );
    text
}

/// The most fragile samples as pictures, a few side by side.
fn gallery(model: &Model, digits: &Digits) -> String {
    let mut text = format!(
        "\nThe {PICTURES} most fragile samples of the {} model (fragile, not wrong: a small step changes its output a lot):\n",
        model.facts.name
    );
    let top = model.report.node_scores.top(PICTURES);
    for row in top.chunks(IN_A_ROW) {
        text.push('\n');
        for line in 0..SIDE {
            let pictures = row.iter().map(|node| picture_line(digits.image(node.index), line));
            text.push_str(&format!("  {}\n", pictures.collect::<Vec<_>>().join("  ").trim_end()));
        }
        let captions = [
            row.iter().map(|node| format!("#{} score {:.1}", node.index, node.score)).collect::<Vec<_>>(),
            row.iter().map(|node| verdict(digits.labels[node.index], model.predicts(node.index))).collect(),
        ];
        for caption in captions {
            let cells: String = caption.iter().map(|cell| format!("  {cell:<16}")).collect();
            text.push_str(&format!("{}\n", cells.trim_end()));
        }
    }
    text
}

fn picture_line(image: &[f32], line: usize) -> String {
    let shade =
        |&ink: &f32| SHADES[((ink * (SHADES.len() - 1) as f32).round() as usize).min(SHADES.len() - 1)];
    image[line * SIDE..(line + 1) * SIDE].iter().map(shade).collect()
}

fn verdict(label: usize, predicted: usize) -> String {
    if label == predicted {
        format!("a {label}, read as {predicted}")
    } else {
        format!("a {label}, read {predicted}!")
    }
}

fn next_steps(credit: &str) -> String {
    format!(
        "\nNext:\n\
         \x20 spadework score  --inputs X.npy --outputs Y.npy --out results   your own model: scores and tables\n\
         \x20 spadework select --inputs X.npy --outputs Y.npy --top 100       the samples worth attacking first\n\
         \x20 spadework check  --inputs X.npy --outputs Y.npy --max-score 60  a gate for CI\n\
         \x20 spadework score  --help                                         formats, options, exit codes\n\n\
         Data: {credit}\n"
    )
}
