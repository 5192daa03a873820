//! `spadework report`: a result that lies in a folder, as a page and as figures.
//!
//! A result remembers its arrays. They are read again, the graphs are made again, and the scores must come out the same;
//! where an array is gone, the page shows what the result says by itself.

use std::path::Path;

use spadework::samples::{Side, Values};
use spadework::threads::with_threads;
use spadework::{Model, ModelSet, PairedSamples, compare, evaluate};
use spadework_document::beside::BesideDocument;
use spadework_document::comparison::CompareDocument;
use spadework_document::layers::LayersDocument;
use spadework_document::result::{ScoreDocument, schema_of};
use spadework_document::sweep::SweepDocument;
use spadework_document::{comparison, layers, result, sweep};
use spadework_io::{Dataset, Labels, load};
use spadework_probe::{SampleFacts, SampleSignals};
use spadework_report::{
    ComparedModels, Origin, SampleColumns, ScoredModel, comparison_charts, comparison_page,
    comparison_page_of_document, layers_charts, layers_page, score_charts, score_charts_of_document,
    score_page, score_page_of_document, sweep_charts, sweep_page,
};

use crate::args_report::ReportArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::pages::{Places, inputs_of};
use crate::stored::{RunAgain, folder_of, stored_array, stored_labels};

const WHERE_HINT: &str = "--inputs and --outputs say where the arrays of the result are now";

pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let places = Places::new(args.out.as_deref(), &args.plots)?;
    let console = Console::saying(args.quiet, args.no_progress);
    let path = folder_of(&args.result).join("result.json");
    match schema_of(&path)?.as_str() {
        result::SCHEMA => of_score(args, &path, places, console),
        comparison::SCHEMA => of_comparison(args, &path, places, console),
        sweep::SCHEMA => of_sweep(args, &path, places),
        layers::SCHEMA => of_layers(args, &path, places),
        other => Err(Failure::usage(format!(
            "{}: expected a result of score, compare, sweep or layers, got schema `{other}`",
            path.display()
        ))),
    }
}

fn origin(args: &ReportArgs, command: Option<&String>) -> Origin {
    Origin { title: args.title.clone(), command: command.cloned() }
}

fn of_sweep(args: &ReportArgs, path: &Path, places: Places<'_>) -> Result<(), Failure> {
    let document = SweepDocument::read(path)?;
    let origin = origin(args, document.command.as_ref());
    places.write(|| sweep_page(&document, &origin), || Ok(sweep_charts(&document)))
}

fn of_layers(args: &ReportArgs, path: &Path, places: Places<'_>) -> Result<(), Failure> {
    let document = LayersDocument::read(path)?;
    let origin = origin(args, document.command.as_ref());
    places.write(|| layers_page(&document, &origin), || Ok(layers_charts(&document)))
}

fn of_score(args: &ReportArgs, path: &Path, places: Places<'_>, console: Console) -> Result<(), Failure> {
    let document = ScoreDocument::read(path)?;
    let origin = origin(args, document.command.as_ref());
    let arrays = match ScoreArrays::read(args, &document, console) {
        Ok(arrays) => arrays,
        Err(failure) if asked_for(args) => return Err(failure.with_hint(WHERE_HINT)),
        Err(failure) => {
            let why = told(&failure, console);
            let page = || score_page_of_document(&document, &origin, &why);
            return places.write(page, || Ok(score_charts_of_document(&document)));
        }
    };
    let (inputs, outputs) = (arrays.inputs.samples()?, arrays.outputs.samples()?);
    let monitor = console.monitor();
    let params = known(path, document.params())?.with_threads(args.threads);
    let report = evaluate(&PairedSamples::new(inputs.clone(), outputs.clone())?, &params, &monitor)?;
    check_same(path, document.model_score, report.model_score.0)?;
    let signals = SampleSignals {
        inputs: Some(&inputs),
        outputs: Some(&outputs),
        labels: arrays.labels.as_ref().map(Labels::ids),
        ..SampleSignals::default()
    };
    let facts = SampleFacts::of(&report, &signals)?;
    let kept = KeptFragility::of(path, "", &document.beside)?;
    let model = ScoredModel {
        document: &document,
        report: &report,
        labels: arrays.labels.as_ref(),
        inputs: Some(inputs_of(&arrays.inputs, &inputs)),
        outputs: Some(&outputs),
        columns: kept.beside(&facts),
    };
    with_threads(args.threads, || {
        places.write(|| score_page(&model, &origin, &monitor), || score_charts(&model, &monitor))
    })
}

/// The arrays of a scored model.
struct ScoreArrays {
    inputs: Dataset,
    outputs: Dataset,
    labels: Option<Labels>,
}

impl ScoreArrays {
    fn read(args: &ReportArgs, document: &ScoreDocument, console: Console) -> Result<Self, Failure> {
        let data = document.data.as_ref().ok_or_else(unknown_arrays)?;
        let inputs =
            stored_array(args.inputs.as_deref(), &data.inputs, Side::Input, document.corruption.as_ref())?;
        let run_again = RunAgain { inputs: &inputs, threads: args.threads, console };
        let now = args.outputs.first().map(String::as_str);
        let outputs = run_again.outputs(now, &data.outputs, document.model.as_ref())?;
        let labels = stored_labels(data.labels.as_ref(), &inputs)?;
        Ok(Self { inputs, outputs, labels })
    }
}

fn of_comparison(
    args: &ReportArgs,
    path: &Path,
    places: Places<'_>,
    console: Console,
) -> Result<(), Failure> {
    let document = CompareDocument::read(path)?;
    let origin = origin(args, document.command.as_ref());
    let charts = || Ok(comparison_charts(&document));
    let arrays = match ComparedArrays::read(args, &document, console) {
        Ok(arrays) => arrays,
        Err(failure) if asked_for(args) => return Err(failure.with_hint(WHERE_HINT)),
        Err(failure) => {
            let why = told(&failure, console);
            return places.write(|| comparison_page_of_document(&document, &origin, &why), charts);
        }
    };
    let inputs = arrays.inputs.samples()?;
    let outputs = arrays.outputs.iter().map(Dataset::samples).collect::<Result<Vec<_>, _>>()?;
    let monitor = console.monitor();
    let params = known(path, document.params())?.with_threads(args.threads);
    // In the order of the result, which is that of the scores: the comparison keeps it.
    let models = document.models.iter().zip(&outputs);
    let models = models.map(|(model, outputs)| Model { name: model.name.clone(), outputs: outputs.clone() });
    let set = ModelSet::new(inputs.clone(), models.collect())?;
    let comparison = compare(&set, &params, &monitor)?;
    for (then, now) in document.models.iter().zip(&comparison.models) {
        check_same(path, then.model_score, now.report.model_score.0)?;
    }
    let outputs: Vec<_> = comparison.models.iter().map(|model| &outputs[model.given]).collect();
    let labels = arrays.labels.as_ref().map(Labels::ids);
    let facts = SampleFacts::of_comparison(&comparison, &set, labels, &[])?;
    let kept = document.models.iter();
    let kept = kept.map(|model| KeptFragility::of(path, &format!("_{}", model.name), &model.beside));
    let kept = kept.collect::<Result<Vec<_>, _>>()?;
    let columns: Vec<_> = kept.iter().zip(&facts).map(|(kept, facts)| kept.beside(facts)).collect();
    let models = ComparedModels {
        document: &document,
        comparison: &comparison,
        labels: arrays.labels.as_ref(),
        inputs: Some(inputs_of(&arrays.inputs, &inputs)),
        outputs: &outputs,
        columns: &columns,
    };
    with_threads(args.threads, || places.write(|| comparison_page(&models, &origin, &monitor), charts))
}

/// The arrays of a comparison, outputs in the order of its models.
struct ComparedArrays {
    inputs: Dataset,
    outputs: Vec<Dataset>,
    labels: Option<Labels>,
}

impl ComparedArrays {
    fn read(args: &ReportArgs, document: &CompareDocument, console: Console) -> Result<Self, Failure> {
        let data = document.data.as_ref().ok_or_else(unknown_arrays)?;
        let inputs =
            stored_array(args.inputs.as_deref(), &data.inputs, Side::Input, document.corruption.as_ref())?;
        let run_again = RunAgain { inputs: &inputs, threads: args.threads, console };
        let outputs = data.outputs.iter().zip(&document.models).enumerate().map(|(at, (then, model))| {
            run_again.outputs(args.outputs.get(at).map(String::as_str), then, model.file.as_ref())
        });
        let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
        let labels = stored_labels(data.labels.as_ref(), &inputs)?;
        Ok(Self { inputs, outputs, labels })
    }
}

/// How fragile samples are by probes, which are not made again, as a table of the result has it.
enum KeptFragility {
    /// There were no probes: it is found again.
    Unprobed,
    /// None where no table has it.
    Probed(Option<Vec<f64>>),
}

impl KeptFragility {
    /// The column `fragility`, and what follows in its name, beside the result at `path`.
    fn of(path: &Path, suffix: &str, beside: &BesideDocument) -> Result<Self, Failure> {
        if beside.probe.is_none() {
            return Ok(Self::Unprobed);
        }
        let folder = path.parent().unwrap_or(Path::new("")).display().to_string();
        let places = [
            format!("{folder}/nodes.csv:fragility{suffix}"),
            format!("{folder}/nodes.parquet:fragility{suffix}"),
            format!("{folder}/fragility{suffix}.npy"),
        ];
        let Some(found) = places.iter().find_map(|place| load(place).ok()) else {
            return Ok(Self::Probed(None));
        };
        let values = match found.samples()?.values() {
            Values::F32(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Values::F64(values) => values.to_vec(),
        };
        Ok(Self::Probed(Some(values)))
    }

    /// It, beside what is found again.
    fn beside<'a>(&'a self, facts: &'a SampleFacts) -> SampleColumns<'a> {
        let found = SampleColumns::from(facts);
        match self {
            Self::Unprobed => found,
            Self::Probed(kept) => {
                let is_whole = |kept: &&[f64]| kept.len() == facts.fragility.values().len();
                SampleColumns { fragility: kept.as_deref().filter(is_whole), ..found }
            }
        }
    }
}

/// Whether the user said where the arrays are; then a page without them is not what was asked for.
fn asked_for(args: &ReportArgs) -> bool {
    args.inputs.is_some() || !args.outputs.is_empty()
}

fn unknown_arrays() -> Failure {
    Failure::usage("the result does not say which arrays it was made of, or was made of graphs")
}

/// Why the arrays cannot be shown, told to the user as well.
fn told(failure: &Failure, console: Console) -> String {
    let why = failure.message().unwrap_or_default().to_owned();
    console.note(&format!("the page has no pictures and no scatter plots: {why}; {WHERE_HINT}"));
    why
}

fn known<T>(path: &Path, params: Result<T, spadework::error::UnknownWord>) -> Result<T, Failure> {
    params.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// The same arrays and parameters give the same score; another score comes from another version of the method.
fn check_same(path: &Path, then: f64, now: f64) -> Result<(), Failure> {
    if (then - now).abs() <= 1e-6 * then.abs() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: says model score {then}, but its arrays give {now}: make the result anew",
        path.display()
    )))
}
