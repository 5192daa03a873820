//! `spadework demo`: two classifiers of handwritten digits, embedded, compared.
//!
//! The data are the UCI digits; the outputs were made by the example `demo` of `spadework-nn`, which also wrote
//! `demo.json` with the accuracies and the credit.

use serde::Deserialize;
use spadework::pipeline::Comparison;
use spadework::samples::Values;
use spadework::{ModelSet, Samples, SpadeParams, SpadeReport, compare};
use spadework_document::comparison::CompareDocument;
use spadework_io::{Labels, load_bytes, load_digits};
use spadework_probe::{SampleFacts, predictions};
use spadework_report::{ComparedModels, InputArray, SampleColumns, comparison_charts, comparison_page};

use crate::args::DemoArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::pages::{Places, this_call};
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
struct Model<'a> {
    facts: &'a ModelFacts,
    predicted: Vec<usize>,
    report: &'a SpadeReport,
}

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let places = Places::from_args(&args.page)?;
    let facts: Facts = serde_json::from_str(FACTS).expect("the embedded facts are well formed");
    let digits = Digits::load()?;
    let params = SpadeParams::default().with_threads(args.threads);
    let monitor = Console::quiet().monitor();
    let outputs =
        [load_bytes("standard.npy", STANDARD.to_vec())?, load_bytes("robust.npy", ROBUST.to_vec())?];
    let inputs = Samples::from_f32(digits.labels.len(), SIDE * SIDE, digits.pixels.as_slice())?;
    let named = facts.models.iter().zip(&outputs).map(|(facts, outputs)| {
        Ok(spadework::Model { name: facts.name.clone(), outputs: outputs.samples()? })
    });
    let set = ModelSet::new(inputs, named.collect::<Result<_, Failure>>()?)?;
    let compared = compare(&set, &params, &monitor)?;
    let models: Vec<Model<'_>> = compared
        .models
        .iter()
        .map(|model| Model {
            facts: &facts.models[model.given],
            predicted: predictions(&set.models()[model.given].outputs),
            report: &model.report,
        })
        .collect();
    Console::data(&comparison(&models, facts.attack.epsilon, params.neighbors))?;
    Console::data(&gallery(&models[models.len() - 1], &digits))?;
    write_page(places, &set, &compared, &digits)?;
    Console::data(&next_steps(&facts.data.credit))
}

/// The page of both models, where asked for.
fn write_page(
    places: Places<'_>,
    set: &ModelSet<'_>,
    comparison: &Comparison,
    digits: &Digits,
) -> Result<(), Failure> {
    let labels = Labels::from_ids(digits.labels.iter().map(|&label| label as i64).collect());
    let facts = SampleFacts::of_comparison(&comparison, set, Some(labels.ids()), &[])?;
    let document = CompareDocument::new(comparison, &facts, Some(&labels), PICTURES)?;
    let outputs: Vec<&Samples<'_>> =
        comparison.models.iter().map(|model| &set.models()[model.given].outputs).collect();
    let shape = [digits.labels.len(), SIDE, SIDE];
    let models = ComparedModels {
        document: &document,
        comparison,
        labels: Some(&labels),
        inputs: set.inputs().samples().map(|samples| InputArray { samples, shape: &shape }),
        outputs: &outputs,
        columns: &facts.iter().map(SampleColumns::from).collect::<Vec<_>>(),
    };
    let page = || comparison_page(&models, &this_call(), &Console::quiet().monitor());
    places.write(page, || Ok(comparison_charts(&document)))
}

impl Digits {
    fn load() -> Result<Self, Failure> {
        let images = load_digits()?;
        let samples = images.samples()?;
        let Values::F32(pixels) = samples.values() else { unreachable!("pixels are of single precision") };
        let ids = images.labels().map(Labels::ids).unwrap_or_default();
        Ok(Self { pixels: pixels.to_vec(), labels: ids.iter().map(|&id| id as usize).collect() })
    }

    fn image(&self, index: usize) -> &[f32] {
        &self.pixels[index * SIDE * SIDE..(index + 1) * SIDE * SIDE]
    }
}

/// `models` come most robust first.
fn comparison(models: &[Model<'_>], epsilon: f64, neighbors: usize) -> String {
    let samples = models[0].report.graphs.nodes();
    let mut text = format!(
        "Two classifiers of {samples} handwritten digits, judged from inputs and outputs alone ({neighbors} neighbors).\n\n\
         \x20 model      model score   clean accuracy   accuracy under attack (PGD, L∞ {epsilon})\n"
    );
    for model in models {
        let ModelFacts { name, clean_accuracy, pgd_accuracy } = model.facts;
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
fn gallery(model: &Model<'_>, digits: &Digits) -> String {
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
            row.iter().map(|node| verdict(digits.labels[node.index], model.predicted[node.index])).collect(),
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
