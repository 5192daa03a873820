//! Pages and figures of results that were made earlier.
//!
//! A result in a folder names its arrays. They are read again, the graphs are made again, and the scores must be the same. If
//! an array is gone, the page shows only what the result contains.

use std::num::NonZeroUsize;
use std::path::Path;

use spadework::error::UnknownWord;
use spadework::pipeline::compare as compare_models;
use spadework::samples::Side;
use spadework::threads::with_threads;
use spadework::{Model, ModelSet, PairedSamples, Samples, evaluate};
use spadework_document::StoredDocument;
use spadework_document::comparison::{self, CompareData, CompareDocument};
use spadework_document::facts::FactsDocument;
use spadework_document::layers::{self, LayersDocument};
use spadework_document::score::{
    self, CorruptionDocument, DataDocument, ModelFileDocument, ScoreDocument, schema_of,
};
use spadework_document::sweep::{self, SweepDocument};
use spadework_io::{Labels, load};
use spadework_probe::{OutputKind, SampleFacts, SampleSignals, Variant};
use spadework_report::{
    ComparedModels, InputArray, Origin, PageFacts, PageSamples, SampleColumns, ScoredModel,
    comparison_charts, comparison_page, comparison_page_of_document, layers_charts, layers_page,
    score_charts, score_charts_of_document, score_page, score_page_of_document, sweep_charts, sweep_page,
};

use crate::data::Rows;
use crate::failure::{Cause, Failure};
use crate::observer::{Observer, Session};
use crate::pages::PageRequest;
use crate::places::folder_of;
use crate::side_view::{Array, SideView};
use crate::stored::{self, OutputsAgain};
use crate::usage::Usage;
use crate::wording::{Hint, NoteCode};

/// A request to write the page of a result.
#[derive(Debug, Clone)]
pub struct ReportRequest<'a> {
    /// The folder of a result, or the `result.json` in it.
    pub result: &'a Path,
    /// Title of the page.
    pub title: Option<String>,
    /// Where the inputs are now.
    pub inputs: Option<&'a str>,
    /// Where the outputs of every model are now.
    pub outputs: Vec<&'a str>,
    /// Threads to use; all cores if `None`.
    pub threads: Option<NonZeroUsize>,
    /// The page and the figures.
    pub page: PageRequest<'a>,
}

/// Writes the page and the figures of a result in a folder.
///
/// # Errors
/// When the result cannot be read, a page cannot be written, or the arrays give another result.
pub fn report(request: &ReportRequest<'_>, observer: &dyn Observer) -> Result<(), Failure> {
    request.page.check()?;
    let session = Session::new(observer);
    let path = folder_of(request.result).join("result.json");
    match schema_of(&path)?.as_str() {
        score::SCHEMA => of_score(request, &path, &session),
        comparison::SCHEMA => of_comparison(request, &path, &session),
        sweep::SCHEMA => {
            let document = SweepDocument::read(&path)?;
            let origin = request.origin(document.made.command.as_ref());
            request.page.write(|| sweep_page(&document, &origin), || sweep_charts(&document))
        }
        layers::SCHEMA => {
            let document = LayersDocument::read(&path)?;
            let origin = request.origin(document.made.command.as_ref());
            request.page.write(|| layers_page(&document, &origin), || layers_charts(&document))
        }
        other => Err(Failure::from(Usage::NoPageOf { schema: other.to_owned() }).about_file(&path)),
    }
}

impl ReportRequest<'_> {
    fn origin(&self, command: Option<&String>) -> Origin {
        Origin { title: self.title.clone(), command: command.cloned(), ..Origin::default() }
    }

    /// Whether the user said where the arrays are; then a page without them is not what was asked for.
    fn names_arrays(&self) -> bool {
        self.inputs.is_some() || !self.outputs.is_empty()
    }

    /// Why a page has no arrays; an error where they were named.
    fn without_arrays(&self, failure: Failure, session: &Session<'_>) -> Result<String, Failure> {
        if self.names_arrays() {
            return Err(failure.with_hint(Hint::WhereArrays));
        }
        let why = failure.message(session.voice());
        let hint = Hint::WhereArrays.text(session.voice()).unwrap_or_default();
        session.note(
            NoteCode::ArraysNotFound,
            format!("the page has no pictures and no scatter plots: {why}; {hint}"),
        );
        Ok(why)
    }
}

fn of_score(request: &ReportRequest<'_>, path: &Path, session: &Session<'_>) -> Result<(), Failure> {
    let document = ScoreDocument::read(path)?;
    let origin = request.origin(document.made.command.as_ref());
    let found = FoundArrays::of_score(request, &document, session).and_then(|arrays| {
        let variants = broken_variants(request, &document, &arrays, session)?;
        Ok((arrays, variants))
    });
    let (arrays, variants) = match found {
        Ok(found) => found,
        Err(failure) => {
            let why = request.without_arrays(failure, session)?;
            let page = || score_page_of_document(&document, &origin, &why);
            return request.page.write(page, || score_charts_of_document(&document));
        }
    };
    let inputs = SideView::of_array(&arrays.inputs)?;
    let (given, taken) = (arrays.inputs.samples()?, arrays.outputs[0].samples()?);
    let params = known(path, document.made.request.params())?.with_threads(request.threads);
    let pair = PairedSamples::new(given.view(), taken.view())?;
    let report = evaluate(&pair, &params, session.monitor())?;
    check_same(path, document.spectrum.model_score, report.model_score.0)?;
    let signals = SampleSignals {
        inputs: Some(&given),
        outputs: Some(&taken),
        labels: arrays.label_ids(),
        task: known(path, document.made.request.task())?,
        ..SampleSignals::default()
    };
    let facts = SampleFacts::of(&report, &signals)?;
    let kept = KeptFragility::of(path, "", &document.facts);
    let model = ScoredModel {
        document: &document,
        report: &report,
        outputs: Some(&taken),
        columns: kept.or_found(&facts),
        samples: PageSamples {
            variants: &variants,
            ..page_samples(request, &inputs, &given, (arrays.labels.as_ref(), arrays.ids.as_deref()))
        },
    };
    with_threads(request.threads, || {
        let facts = PageFacts::of(&model, session.monitor())?;
        request.page.write(|| score_page(&model, &facts, &origin), || score_charts(&model, &facts))
    })
}

/// Samples that were read again, with their labels and names.
fn page_samples<'a>(
    request: &ReportRequest<'_>,
    inputs: &'a SideView<'_>,
    samples: &'a Samples<'a>,
    (labels, ids): (Option<&'a Labels>, Option<&'a [String]>),
) -> PageSamples<'a> {
    PageSamples {
        labels,
        inputs: Some(InputArray { samples, shape: inputs.shape() }),
        ids,
        columns: inputs.columns(),
        pictures: request.page.pictures,
        ..PageSamples::default()
    }
}

/// The probes that broke the samples that the page shows, made again.
fn broken_variants(
    request: &ReportRequest<'_>,
    document: &ScoreDocument,
    arrays: &FoundArrays,
    session: &Session<'_>,
) -> Result<Vec<Variant>, Failure> {
    let probe = document.facts.probe.as_ref().filter(|_| request.page.page.is_some());
    // A word of another version is refused where the result is made again.
    let task = document.made.request.task().unwrap_or_default();
    let metric = document.made.request.params().map(|params| params.output_metric).unwrap_or_default();
    let kind = OutputKind::of(task, &arrays.outputs[0].samples()?, arrays.label_ids(), metric);
    let again = OutputsAgain { inputs: &arrays.inputs, threads: request.threads, session };
    again.broken(probe, document.sources.model.as_ref(), kind)
}

fn of_comparison(request: &ReportRequest<'_>, path: &Path, session: &Session<'_>) -> Result<(), Failure> {
    let document = CompareDocument::read(path)?;
    let origin = request.origin(document.made.command.as_ref());
    let charts = || comparison_charts(&document);
    let arrays = match FoundArrays::of_comparison(request, &document, session) {
        Ok(arrays) => arrays,
        Err(failure) => {
            let why = request.without_arrays(failure, session)?;
            return request.page.write(|| comparison_page_of_document(&document, &origin, &why), charts);
        }
    };
    let inputs = SideView::of_array(&arrays.inputs)?;
    let given = arrays.inputs.samples()?;
    let outputs = arrays.outputs.iter().map(Array::samples).collect::<Result<Vec<_>, _>>()?;
    let params = known(path, document.made.request.params())?.with_threads(request.threads);
    let models = document.models.iter().zip(&outputs);
    let models = models.map(|(model, outputs)| Model { name: model.name.clone(), outputs: outputs.view() });
    let set = ModelSet::new(given.view(), models.collect())?;
    let mut comparison = compare_models(&set, &params, session.monitor())?;
    // In the order of the result, which is that of its ranking.
    comparison.reorder_as_given();
    for (then, now) in document.models.iter().zip(&comparison.models) {
        check_same(path, then.spectrum.model_score, now.report.model_score.0)?;
    }
    let task = known(path, document.made.request.task())?;
    let facts = SampleFacts::of_comparison(&comparison, &set, arrays.label_ids(), &[], task)?;
    let kept = document.models.iter();
    let kept = kept.map(|model| KeptFragility::of(path, &format!("_{}", model.name), &model.facts));
    let kept: Vec<KeptFragility> = kept.collect();
    let columns: Vec<_> = kept.iter().zip(&facts).map(|(kept, facts)| kept.or_found(facts)).collect();
    let models = ComparedModels {
        document: &document,
        comparison: &comparison,
        columns: &columns,
        samples: page_samples(request, &inputs, &given, (arrays.labels.as_ref(), arrays.ids.as_deref())),
    };
    with_threads(request.threads, || {
        request.page.write(|| comparison_page(&models, &origin, session.monitor()), charts)
    })
}

/// The arrays of a result, found again; outputs in the order of its models.
struct FoundArrays {
    inputs: Array<'static>,
    outputs: Vec<Array<'static>>,
    labels: Option<Labels>,
    ids: Option<Vec<String>>,
}

impl FoundArrays {
    fn of_score(
        request: &ReportRequest<'_>,
        document: &ScoreDocument,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        let DataDocument { inputs, outputs, labels, ids } =
            document.sources.data.clone().ok_or(Usage::UnknownArrays)?;
        let then = CompareData { inputs, outputs: vec![outputs], labels, ids };
        let made = (document.sources.corruption.as_ref(), vec![document.sources.model.as_ref()]);
        Self::read(request, &then, made, document.samples, session)
    }

    fn of_comparison(
        request: &ReportRequest<'_>,
        document: &CompareDocument,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        let then = document.data.as_ref().ok_or(Usage::UnknownArrays)?;
        let files = document.models.iter().map(|model| model.file.as_ref()).collect();
        Self::read(request, then, (document.corruption.as_ref(), files), document.settings.samples, session)
    }

    /// Reads them, corrupts the inputs as then, and runs the models that were run for their outputs.
    fn read(
        request: &ReportRequest<'_>,
        then: &CompareData,
        (corruption, models): (Option<&CorruptionDocument>, Vec<Option<&ModelFileDocument>>),
        samples: usize,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        let inputs = stored::array(request.inputs, &then.inputs, Side::Input, corruption, session)?;
        let inputs = Array::Dataset(inputs);
        let again = OutputsAgain { inputs: &inputs, threads: request.threads, session };
        let outputs = then.outputs.iter().zip(models).enumerate().map(|(at, (then, model))| {
            again.load(request.outputs.get(at).copied(), then, model).map(Array::Dataset)
        });
        let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
        let labels = stored::labels(then.labels.as_ref(), &inputs)?;
        let ids = stored::ids(then.ids.as_ref(), samples)?;
        Ok(Self { inputs, outputs, labels, ids })
    }

    fn label_ids(&self) -> Option<&[i64]> {
        self.labels.as_ref().map(Labels::ids)
    }
}

/// How fragile samples are by probes, which are not made again, as a table of the result has it.
enum KeptFragility {
    /// There were no probes: the fragility is computed again.
    Unprobed,
    /// None where no table has it.
    Probed(Option<Vec<f64>>),
}

impl KeptFragility {
    /// The column `fragility`, and what follows in its name, next to the result at `path`.
    fn of(path: &Path, suffix: &str, known: &FactsDocument) -> Self {
        if known.probe.is_none() {
            return Self::Unprobed;
        }
        Self::Probed(kept_column(path, &format!("fragility{suffix}"), known))
    }

    /// It, next to what is found again.
    fn or_found<'a>(&'a self, facts: &'a SampleFacts) -> SampleColumns<'a> {
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

/// A column of the samples that probes gave, as a table next to the result at `path` has it; none without probes.
fn kept_column(path: &Path, column: &str, known: &FactsDocument) -> Option<Vec<f64>> {
    known.probe.as_ref()?;
    let folder = path.parent().unwrap_or(Path::new("")).display().to_string();
    let places = [
        format!("{folder}/nodes.csv:{column}"),
        format!("{folder}/nodes.parquet:{column}"),
        format!("{folder}/{column}.npy"),
    ];
    let found = places.iter().find_map(|place| load(place).ok())?;
    Some(found.samples().ok()?.values().all_doubles().into_owned())
}

fn known<T>(path: &Path, params: Result<T, UnknownWord>) -> Result<T, Failure> {
    params.map_err(|error| Failure::from(Usage::UnknownWord { reason: error.to_string() }).about_file(path))
}

/// The same arrays and parameters give the same score; another score comes from another version of the method.
fn check_same(path: &Path, then: f64, now: f64) -> Result<(), Failure> {
    if (then - now).abs() <= 1e-6 * then.abs() {
        return Ok(());
    }
    Err(Failure::from(Usage::OtherScore { then, now }).about_file(path))
}

/// Why the page of a result in memory, which is one of Python, has no pictures.
const SCORE_WITHOUT_ARRAYS: &str = "pass the arrays of the model to `to_html` as inputs= and outputs=";
const COMPARISON_WITHOUT_ARRAYS: &str = "a comparison does not keep the arrays of its models";

/// The page of the document of a score, a comparison, a sweep or layers.
///
/// # Errors
/// When the text is not such a document.
pub fn page_of_document(document: &str, origin: &Origin) -> Result<String, Failure> {
    let wrong = |error: serde_json::Error| Usage::NoDocument { reason: error.to_string() };
    let value: serde_json::Value = serde_json::from_str(document).map_err(wrong)?;
    let schema = value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
    let page = match schema {
        score::SCHEMA => {
            let document = serde_json::from_value(value).map_err(wrong)?;
            score_page_of_document(&document, origin, SCORE_WITHOUT_ARRAYS)
        }
        comparison::SCHEMA => {
            let document = serde_json::from_value(value).map_err(wrong)?;
            comparison_page_of_document(&document, origin, COMPARISON_WITHOUT_ARRAYS)
        }
        sweep::SCHEMA => sweep_page(&serde_json::from_value(value).map_err(wrong)?, origin),
        layers::SCHEMA => layers_page(&serde_json::from_value(value).map_err(wrong)?, origin),
        other => return Err(Usage::NoPageOf { schema: other.to_owned() }.into()),
    };
    Ok(page?)
}

/// A scored model in memory that becomes a page.
#[derive(Debug, Clone)]
pub struct ScorePageRequest<'a> {
    /// Its document as JSON.
    pub document: &'a str,
    /// Title of the page.
    pub title: Option<String>,
    /// The inputs it was scored on.
    pub inputs: Rows<'a>,
    /// The outputs it was scored on.
    pub outputs: Rows<'a>,
    /// The labels of the samples.
    pub labels: Option<Labels>,
    /// The margin of every sample.
    pub margins: Option<&'a [f64]>,
    /// The fragility of every sample, from when it was scored.
    pub fragility: Option<&'a [f64]>,
    /// The names of the columns of the inputs.
    pub columns: Option<&'a [String]>,
    /// The names of the samples.
    pub ids: Option<&'a [String]>,
    /// Threads to use; all cores if `None`.
    pub threads: Option<NonZeroUsize>,
}

/// The complete page of a scored model. The model is scored again with the parameters of its document.
///
/// # Errors
/// When the text is not such a document, or the arrays give another score.
pub fn page_of_score(request: &ScorePageRequest<'_>, observer: &dyn Observer) -> Result<String, Failure> {
    let document: ScoreDocument = serde_json::from_str(request.document)
        .map_err(|error| Usage::NoDocument { reason: error.to_string() })?;
    let unknown = |error: UnknownWord| Usage::NoDocument { reason: error.to_string() };
    let params = document.params().map_err(unknown)?.with_threads(request.threads);
    let task = document.made.request.task().map_err(unknown)?;
    let pair = PairedSamples::new(request.inputs.samples.view(), request.outputs.samples.view())?;
    let report = evaluate(&pair, &params, observer)?;
    let (then, now) = (document.spectrum.model_score, report.model_score.0);
    if then != now {
        return Err(Usage::OtherArrays { then, now }.into());
    }
    let outputs = &request.outputs.samples;
    let predicted = match request.labels.as_ref().map(Labels::ids) {
        Some(labels) => OutputKind::of(task, outputs, Some(labels), params.output_metric)
            .predicted_labels(outputs, labels)?,
        None => None,
    };
    let (margins, fragility) = (request.margins, request.fragility);
    let model = ScoredModel {
        document: &document,
        report: &report,
        outputs: Some(outputs),
        columns: SampleColumns { margins, fragility, predicted: predicted.as_deref() },
        samples: PageSamples {
            labels: request.labels.as_ref(),
            inputs: Some(InputArray { samples: &request.inputs.samples, shape: &request.inputs.shape }),
            columns: request.columns,
            ids: request.ids,
            ..PageSamples::default()
        },
    };
    let origin = Origin { title: request.title.clone(), ..Origin::default() };
    with_threads(request.threads, || {
        let facts = PageFacts::of(&model, observer)?;
        score_page(&model, &facts, &origin)
    })
    .map_err(|error| Cause::Page(error).into())
}
