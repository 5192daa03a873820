//! `spadework demo`: two classifiers of handwritten digits, embedded, compared.
//!
//! The data are the UCI digits; the outputs were made by the example `demo` of `spadework-nn`, which also wrote
//! `demo.json` with the accuracies and the credit.

use serde::Deserialize;
use spadework::SpadeParams;
use spadework::pipeline::SpadeReport;
use spadework_app::{
    ArraySource, CompareRequest, Extras, InputSource, LabelSource, ModelsData, OutputSource, RankBy, Rows,
    compare,
};
use spadework_document::comparison::ModelDocument;
use spadework_io::{Dataset, Labels, load_bytes, load_digits};
use spadework_model::RunOptions;
use spadework_probe::{Margins, SampleFacts, Task, predictions};

use crate::args::DemoArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{number, table};
use crate::render_shares::unevenness_with_range;
use crate::requests::this_call;

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
    samples: &'a SampleFacts,
    document: &'a ModelDocument,
}

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let facts: Facts = serde_json::from_str(FACTS).expect("the embedded facts are well formed");
    let (images, labels) = digits()?;
    let outputs =
        [load_bytes("standard.npy", STANDARD.to_vec())?, load_bytes("robust.npy", ROBUST.to_vec())?];
    let named = facts.models.iter().zip(&outputs);
    let models = named.map(|(facts, outputs)| {
        Ok((facts.name.clone(), OutputSource::Array(ArraySource::Rows(rows(&facts.name, outputs)?))))
    });
    let request = CompareRequest {
        data: ModelsData {
            inputs: InputSource::Array(ArraySource::Rows(rows("digits", &images)?)),
            models: models.collect::<Result<_, Failure>>()?,
            labels: Some(LabelSource::Given(labels)),
            ids: None,
            corruption: None,
            run: RunOptions::default(),
            task: Task::Classes,
        },
        params: SpadeParams::default().with_threads(args.threads),
        top: PICTURES,
        rank_by: RankBy::default(),
        extras: Extras::default(),
        probe: None,
        folder: None,
        page: args.page.request(),
        origin: this_call(),
    };
    let compared = compare(&request, &Console::quiet().monitor())?;
    let digits = Digits::of(&images)?;
    let known = compared.comparison.models.iter().zip(&compared.facts).zip(&compared.document.models);
    let models = known.map(|((model, samples), document)| {
        Ok(Model {
            facts: &facts.models[model.given],
            predicted: predictions(&outputs[model.given].samples()?),
            report: &model.report,
            samples,
            document,
        })
    });
    let models = models.collect::<Result<Vec<_>, Failure>>()?;
    Console::data(&comparison(&models, facts.attack.epsilon, request.params.neighbors))?;
    Console::data(&gallery(&models[models.len() - 1], &digits))?;
    Console::data(&next_steps(&facts.data.credit))
}

/// The embedded images, and their labels as numbers alone.
fn digits() -> Result<(Dataset, Labels), Failure> {
    let images = load_digits()?;
    let ids = images.labels().map(Labels::ids).unwrap_or_default().to_vec();
    Ok((images, Labels::from_ids(ids)))
}

fn rows<'a>(name: &'a str, array: &'a Dataset) -> Result<Rows<'a>, Failure> {
    Ok(Rows { name, samples: array.samples()?, shape: array.shape().into() })
}

impl Digits {
    fn of(images: &Dataset) -> Result<Self, Failure> {
        let samples = images.samples()?;
        let ids = images.labels().map(Labels::ids).unwrap_or_default();
        Ok(Self {
            pixels: samples.values().all_singles().into_owned(),
            labels: ids.iter().map(|&id| id as usize).collect(),
        })
    }

    fn image(&self, index: usize) -> &[f32] {
        &self.pixels[index * SIDE * SIDE..(index + 1) * SIDE * SIDE]
    }
}

/// `models` come most robust first.
fn comparison(models: &[Model<'_>], epsilon: f64, neighbors: usize) -> String {
    let samples = models[0].report.graphs.nodes();
    let mut text = format!(
        "Two classifiers of {samples} handwritten digits, most robust first by unevenness ({neighbors} neighbors),\n\
         which needs only their inputs and outputs.\n\n"
    );
    let under_attack = format!("under attack (PGD, L∞ {epsilon})");
    let header = ["rank", "model", "unevenness", "accuracy", under_attack.as_str(), "SPADE score"];
    let rows = models.iter().map(|model| {
        let ModelFacts { name, clean_accuracy, pgd_accuracy } = model.facts;
        let unevenness = model.document.facts.estimates.unevenness;
        vec![
            model.document.rank.to_string(),
            name.clone(),
            unevenness.as_ref().map(unevenness_with_range).unwrap_or_default(),
            format!("{:.1} %", 100.0 * clean_accuracy),
            format!("{:.1} %", 100.0 * pgd_accuracy),
            number(model.report.model_score.0),
        ]
    });
    text.push_str(&table(&header, rows));
    text.push_str(
        "\nUnevenness: how much outputs change between neighboring inputs (95 % interval); smaller is more robust.\n\
         It uses no attack. The accuracy under attack, which needs gradients, is shown for comparison.\n\
         The SPADE score λ_1 is smaller for models that stretch the data less. It tracks accuracy under attack poorly.\n",
    );
    text
}

/// The most fragile samples as pictures, a few side by side.
fn gallery(model: &Model<'_>, digits: &Digits) -> String {
    let mut text = format!(
        "\nThe {PICTURES} most fragile samples of the {} model (by margin and slope; an attack breaks them first):\n",
        model.facts.name
    );
    let fragility = &model.samples.fragility;
    let top: Vec<usize> = fragility.ranking().into_iter().take(PICTURES).collect();
    let margins = model.samples.margins.as_ref().map(Margins::values).unwrap_or_default();
    for row in top.chunks(IN_A_ROW) {
        text.push('\n');
        for line in 0..SIDE {
            let pictures = row.iter().map(|&index| picture_line(digits.image(index), line));
            text.push_str(&format!("  {}\n", pictures.collect::<Vec<_>>().join("  ").trim_end()));
        }
        let captions = [
            row.iter().map(|&index| format!("#{index} margin {:.1}", margins[index])).collect::<Vec<_>>(),
            row.iter().map(|&index| verdict(digits.labels[index], model.predicted[index])).collect(),
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
         \x20 spadework score  --inputs X.npy --model net.onnx --probe linf:8/255   accuracy under attack, estimated\n\
         \x20 spadework score  --inputs X.npy --outputs Y.npy --labels y.npy        from arrays only\n\
         \x20 spadework select --inputs X.npy --outputs Y.npy --top 100             the samples to attack first\n\
         \x20 spadework check  --inputs X.npy --outputs Y.npy --min-overlap 15%     a gate for CI\n\
         \x20 spadework score  --help                                               formats, options, exit codes\n\n\
         Data: {credit}\n"
    )
}
