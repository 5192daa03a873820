//! One model: [`score`] is the walk from a request to everything that is known of the model.

use std::time::{Duration, Instant};

use spadework::pipeline::{
    AverageIndices, ModelSet, SUBSAMPLES, SpadeReport, evaluate_with, intervals, permuted_score,
};
use spadework::threads::with_threads;
use spadework::{Samples, SpadeParams, evaluate};
use spadework_document::Note;
use spadework_document::probe::{OutputChangeDocument, ProbeDocument};
use spadework_document::score::{IntervalDocument, ReferencesDocument, ScoreDocument};
use spadework_io::Labels;
use spadework_probe::{OutputKind, SampleFacts, SampleSignals, Variant};
use spadework_report::{
    InputArray, Origin, PageFacts, PageSamples, SampleColumns, ScoredModel, score_charts, score_page,
};

use crate::data::{InputSource, ModelData, OutputSource};
use crate::failure::Failure;
use crate::model_runner::ModelRunner;
use crate::observer::{Observer, Session};
use crate::pages::PageRequest;
use crate::probing::{self, ModelProbes, ProbeRequest, Prober};
use crate::result_folder::{FolderRequest, ResultFolder, ScoredSamples};
use crate::resume::Resuming;
use crate::script::{RunFacts, ScriptProbes, ScriptRequest};
use crate::side_view::SideView;
use crate::sides::{Inputs, Outputs, Sides};
use crate::store::Store;
use crate::usage::Usage;
use crate::verdict::verdict;
use crate::{notes, room, suspicions};

/// What is asked of one model.
#[derive(Debug, Clone)]
pub struct ScoreRequest<'a> {
    /// What it is scored on.
    pub data: ModelData<'a>,
    /// How it is scored.
    pub params: SpadeParams,
    /// How many of the most fragile samples and edges the document lists.
    pub top: usize,
    /// What is found besides the scores.
    pub extras: Extras,
    /// Perturbed copies of the samples.
    pub probes: Probes,
    /// A folder for the result.
    pub folder: Option<FolderRequest<'a>>,
    /// A page and figures.
    pub page: PageRequest<'a>,
    /// What the page and the document say about where they come from.
    pub origin: Origin,
}

/// What is found besides the scores, where asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras {
    /// A confidence interval of the model score.
    pub interval: bool,
    /// Scores to compare with: of the identity, and of permuted outputs.
    pub references: bool,
    /// Indices of the model as a whole.
    pub indices: bool,
}

/// Perturbed copies of the samples.
#[derive(Debug, Clone, Default)]
pub enum Probes {
    /// None.
    #[default]
    None,
    /// Probe the model file that is run for the outputs.
    Run(ProbeRequest),
    /// Run that model file on variants that a program of the user's makes.
    With(ScriptRequest),
    /// What was found earlier.
    Known {
        /// The smallest margin of every sample over its copies, where it was probed.
        margins: Vec<Option<f64>>,
        /// What the document says of the probes.
        document: Box<ProbeDocument>,
    },
    /// How far the outputs of a regressor were moved earlier.
    KnownChange(Box<OutputChangeDocument>),
}

impl Probes {
    /// The smallest margins of the samples, where they were found earlier.
    fn known_margins(&self) -> Option<&[Option<f64>]> {
        match self {
            Probes::Known { margins, .. } => Some(margins),
            Probes::None | Probes::Run(_) | Probes::With(_) | Probes::KnownChange(_) => None,
        }
    }
}

/// A scored model.
#[derive(Debug, Clone)]
pub struct Scored {
    /// The scores, and how they came about.
    pub report: SpadeReport,
    /// Accuracy, margins and fragility.
    pub facts: SampleFacts,
    /// The labels of the samples.
    pub labels: Option<Labels>,
    /// The names of the samples.
    pub ids: Option<Vec<String>>,
    /// What probes have shown, where the model was probed.
    pub probes: Option<ModelProbes>,
    /// What the variants of a program of the user's have shown, where there is one.
    pub variants: Option<ScriptProbes>,
    /// All of it as a document.
    pub document: ScoreDocument,
}

impl Scored {
    /// What a reader of the result must know.
    pub fn notes(&self) -> &[Note] {
        &self.document.made.notes
    }

    pub(crate) fn samples(&self) -> ScoredSamples<'_> {
        ScoredSamples {
            report: &self.report,
            labels: self.labels.as_ref(),
            ids: self.ids.as_deref(),
            facts: &self.facts,
            probed: self.probes.as_ref().map(|probes| &probes.probed),
            varied: self.variants.as_ref().map(|variants| &variants.varied),
        }
    }
}

/// Scores one model.
///
/// # Errors
/// When the request makes no sense, its files cannot be read or written, or the problem has no answer as posed.
pub fn score(request: &ScoreRequest<'_>, observer: &dyn Observer) -> Result<Scored, Failure> {
    score_and(request, Nothing, observer).map(|(scored, ())| scored)
}

/// What a request for more than scores adds to the walk.
pub(crate) trait Addition {
    /// What it finds.
    type Found;

    /// Refuses what does not fit so many samples, before the work begins.
    fn check(&self, _samples: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// Says what a reader must know of the scored model, before the notes are gathered.
    fn note(&self, _facts: &SampleFacts, _session: &Session<'_>) {}

    /// Whether the document must say what was scored, also where it goes into no folder.
    fn needs_data(&self) -> bool {
        false
    }

    /// Works with the scored model, and may add files to the folder of the result.
    fn finish(self, scored: &Scored, folder: Option<&ResultFolder<'_>>) -> Result<Self::Found, Failure>;
}

/// Adds nothing.
struct Nothing;

impl Addition for Nothing {
    type Found = ();

    fn finish(self, _: &Scored, _: Option<&ResultFolder<'_>>) -> Result<(), Failure> {
        Ok(())
    }
}

/// The walk, from top to bottom. No step is done twice: arrays are read, checked and digested once, and so is what a page shows.
pub(crate) fn score_and<A: Addition>(
    request: &ScoreRequest<'_>,
    addition: A,
    observer: &dyn Observer,
) -> Result<(Scored, A::Found), Failure> {
    let began = Instant::now();
    // What can be refused is refused before anything is read.
    request.check()?;
    let folder = ResultFolder::open(request.folder, &request.page)?;
    let session = Session::new(observer).keeping_parts(request.folder.map(|folder| folder.path));

    // Arrays are read, checked and paired once.
    let ScoreRequest { data, params, .. } = request;
    let needs_dense = request.extras.interval.then_some("interval");
    let inputs = Inputs::load_for(needs_dense, &data.inputs, data.corruption, params, &session)?;
    let given = inputs.view()?;
    let runner = ModelRunner::new(&data.run, params, given.array(), &session);
    let reading = Instant::now();
    let outputs = Outputs::load(&data.outputs, given.array(), &runner)?;
    let running = outputs.model().map_or(Duration::ZERO, |_| reading.elapsed());
    let sides = Sides::new(data, &inputs, given, &outputs, &session)?;
    request.check_outputs(&sides, &session)?;
    addition.check(sides.pair.len())?;
    let is_run_as_given = sides.model.is_some() && data.run.normalization.is_none();
    suspicions::about_inputs(&sides.input, is_run_as_given, params, &session);
    room::about_memory(&sides, params, &session);

    // The scores; steps of a run that was interrupted are taken from the folder.
    let store = request.folder.map(|folder| Store::of_score(folder.path, &sides, &session)).transpose()?;
    let report = match &store {
        Some(store) => evaluate_with(&sides.pair, params, store, &Resuming::new(&session, String::new)),
        None => evaluate(&sides.pair, params, session.monitor()).map_err(Failure::from),
    };
    let report = report.map_err(|failure| sides.naming_array(failure.with_params(params)))?;
    notes::about_graphs(&report.diagnostics, report.graphs.nodes(), &session);

    // What is known of the samples and of the model besides them.
    let probing = Instant::now();
    let prober = prober(request, &sides, &session);
    let probes = probe(request, &sides, prober.as_ref())?;
    let output_change = move_outputs(request, &sides, prober.as_ref())?;
    let variants = vary(request, &sides, &session)?;
    let has_probed = probes.is_some() || output_change.is_some() || variants.is_some();
    let probing = if has_probed { probing.elapsed() } else { Duration::ZERO };
    let margins = probes.as_ref().map(|probes| probes.probed.lowest_margins());
    let margins = margins.or_else(|| variants.as_ref().map(|variants| variants.varied.lowest_margins()));
    let margins = request.probes.known_margins().or(margins.as_deref());
    let facts = sample_facts(&report, &sides, request, margins)?;
    addition.note(&facts, &session);
    let mut document = ScoreDocument::new(&report, sides.known.labels.as_ref(), request.top)?;
    document.set_facts(&facts, &report.node_scores, sides.known.labels.as_ref());
    document.set_ids(sides.known.ids.as_deref());
    document.set_label_facts(sides.known.labels.as_ref(), &facts, margins);
    document.facts.output_change = output_change;
    document.facts.variants = variants.as_ref().map(|variants| variants.document.clone());
    document.made.request.task = data.task.to_string();
    let classes = sides.output_kind(data.task).map_or(0, |kind| kind.class_count(document.output_dim));
    notes::about_accuracy(facts.accuracy, classes, "", sides.model.is_some(), &session);
    suspicions::about_swapped_sides(sides.input.samples(), sides.label_ids(), &[facts.accuracy], &session)?;
    if let Some(probe) = probe_document(&request.probes, probes.as_ref()) {
        document.facts.set_probe(probe);
    }
    add_extras(request.extras, params, &report, &sides, &session, &mut document)?;
    document.name = sides.model_name();
    document.sources.model = sides.model.cloned();
    document.sources.corruption = sides.corruption.cloned();
    document.verdict = Some(verdict(&document, session.voice()));
    spadework_io::check_mapped_files()?;
    document.made.notes = session.notes();
    document.timings.model_s = running.as_secs_f64();
    document.timings.probes_s = probing.as_secs_f64();
    document.timings.total_s = began.elapsed().as_secs_f64();

    // Everything is written.
    if folder.is_some() {
        document.made.command.clone_from(&request.origin.command);
    }
    if folder.is_some() || addition.needs_data() {
        document.sources.data = sides.document();
    }
    let mut scored = Scored {
        report,
        facts,
        labels: sides.known.labels.clone(),
        ids: sides.known.ids.clone(),
        probes,
        variants,
        document,
    };
    let found = addition.finish(&scored, folder.as_ref())?;
    if let Some(folder) = folder {
        folder.write_score(&scored.document, &scored.samples())?;
        folder.commit()?;
    }
    if let Some(store) = store {
        store.remove();
    }
    let writing = Instant::now();
    write_page(request, &scored, &sides, prober.as_ref(), &session)?;
    if request.page.is_asked() {
        scored.document.timings.page_s = writing.elapsed().as_secs_f64();
        scored.document.timings.total_s = began.elapsed().as_secs_f64();
    }
    Ok((scored, found))
}

impl<'a> ScoreRequest<'a> {
    /// The same with names of the samples.
    #[must_use]
    pub fn with_ids(self, ids: Option<&'a str>) -> Self {
        Self { data: ModelData { ids, ..self.data }, ..self }
    }
}

impl ScoreRequest<'_> {
    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.params.check()?;
        match &self.probes {
            Probes::Run(probe) => probe.check()?,
            Probes::With(script) => script.check()?,
            Probes::None | Probes::Known { .. } | Probes::KnownChange(_) => {}
        }
        let graph_given = matches!(self.data.inputs, InputSource::Graph(_))
            || matches!(self.data.outputs, OutputSource::Graph(_));
        if self.extras.interval && graph_given {
            return Err(Usage::IntervalOfGraph.into());
        }
        Ok(())
    }

    /// Refuses outputs that do not fit their labels, or cannot be probed, before the work begins.
    fn check_outputs(&self, sides: &Sides<'_>, session: &Session<'_>) -> Result<(), Failure> {
        sides.check_labels(self.data.task, session)?;
        match (&self.probes, sides.model, sides.output_kind(self.data.task)) {
            (Probes::Run(probe), Some(model), Some(kind)) => {
                suspicions::check_radius(probe.probe, sides.input.samples())?;
                probing::check_outputs(&model.file, kind)
            }
            (Probes::With(_), Some(model), Some(OutputKind::Numbers | OutputKind::Embedding)) => {
                Err(Failure::from(Usage::VariantsWithoutClasses).about_place(&model.file))
            }
            _ => Ok(()),
        }
    }
}

/// Probes of the model that was run for the outputs, where asked for.
fn prober<'a>(
    request: &'a ScoreRequest<'_>,
    sides: &'a Sides<'_>,
    session: &'a Session<'a>,
) -> Option<Prober<'a>> {
    match &request.probes {
        Probes::Run(probe) => Prober::new(*probe, &sides.input, &request.data.run, &request.params, session),
        Probes::None | Probes::Known { .. } | Probes::KnownChange(_) | Probes::With(_) => None,
    }
}

/// Probes a classifier.
fn probe(
    request: &ScoreRequest<'_>,
    sides: &Sides<'_>,
    prober: Option<&Prober<'_>>,
) -> Result<Option<ModelProbes>, Failure> {
    let (Some(prober), Some(model)) = (prober, sides.model) else { return Ok(None) };
    match sides.output_kind(request.data.task) {
        None | Some(OutputKind::Numbers | OutputKind::Embedding) => Ok(None),
        Some(kind) => prober.run(&model.file, kind, sides.known.labels.as_ref(), request.top).map(Some),
    }
}

/// Runs the model on variants that a program of the user's makes, where asked for.
fn vary(
    request: &ScoreRequest<'_>,
    sides: &Sides<'_>,
    session: &Session<'_>,
) -> Result<Option<ScriptProbes>, Failure> {
    let (Probes::With(script), Some(model), Some(inputs)) =
        (&request.probes, sides.model, sides.input.samples())
    else {
        return Ok(None);
    };
    let Some(kind) = sides.output_kind(request.data.task) else { return Ok(None) };
    let ScoreRequest { data, params, .. } = request;
    let runner =
        ModelRunner { options: &data.run, threads: params.threads, inputs: Some(&sides.input), session };
    let (prepared, _) = runner.prepare(&model.file)?;
    let monitor = session.monitor();
    let about =
        RunFacts { labels: sides.known.labels.as_ref(), top: request.top, seed: params.seed, monitor };
    let run = |rows: &Samples<'_>| probing::outputs(&prepared, rows, monitor);
    with_threads(params.threads, || script.run(inputs, sides.input.sample_shape(), kind, run, &about))
        .map(Some)
}

/// Probes a regressor.
fn move_outputs(
    request: &ScoreRequest<'_>,
    sides: &Sides<'_>,
    prober: Option<&Prober<'_>>,
) -> Result<Option<OutputChangeDocument>, Failure> {
    if let Probes::KnownChange(document) = &request.probes {
        return Ok(Some((**document).clone()));
    }
    let (Some(prober), Some(model), Some(outputs)) = (prober, sides.model, sides.output.samples()) else {
        return Ok(None);
    };
    if sides.output_kind(request.data.task) != Some(OutputKind::Numbers) {
        return Ok(None);
    }
    prober.move_outputs(&model.file, outputs, sides.known.target_spread, request.top).map(Some)
}

/// Accuracy, margins and fragility of the samples.
fn sample_facts(
    report: &SpadeReport,
    sides: &Sides<'_>,
    request: &ScoreRequest<'_>,
    probe_margins: Option<&[Option<f64>]>,
) -> Result<SampleFacts, Failure> {
    let signals = SampleSignals {
        inputs: sides.input.samples(),
        outputs: sides.output.samples(),
        labels: sides.label_ids(),
        probe_margins,
        task: request.data.task,
    };
    Ok(SampleFacts::of(report, &signals)?)
}

fn probe_document(known: &Probes, probes: Option<&ModelProbes>) -> Option<ProbeDocument> {
    match known {
        Probes::Known { document, .. } => Some((**document).clone()),
        _ => probes.map(|probes| probes.document.clone()),
    }
}

/// The interval, the reference points and the indices, where asked for.
fn add_extras(
    extras: Extras,
    params: &SpadeParams,
    report: &SpadeReport,
    sides: &Sides<'_>,
    session: &Session<'_>,
    document: &mut ScoreDocument,
) -> Result<(), Failure> {
    let monitor = session.monitor();
    let params = params.clone().with_neighbors(document.neighbors.used);
    if extras.references {
        let permuted = permuted_score(&report.graphs, &params, monitor)?;
        document.facts.references = Some(ReferencesDocument { identity: 1.0, permuted });
    }
    let samples = sides.paired()?;
    if let (true, Some(samples)) = (extras.interval, &samples) {
        let set = ModelSet::from(samples.clone());
        let monitor =
            Resuming::new(session, || format!("{} {}", sides.input.digest(), sides.output.digest()));
        let found = intervals(&set, &[document.spectrum.model_score], SUBSAMPLES, &params, &monitor)?;
        notes::about_subsamples(found.grown, document.neighbors.used, session);
        document.facts.interval = Some(IntervalDocument::of(&found, 0));
    }
    if extras.indices {
        let found = AverageIndices::of(report, samples.as_ref(), monitor)?;
        document.facts.indices = Some(found);
    }
    Ok(())
}

/// What broke the samples that a page shows.
fn broken_variants(
    request: &ScoreRequest<'_>,
    scored: &Scored,
    sides: &Sides<'_>,
    prober: Option<&Prober<'_>>,
) -> Result<Vec<Variant>, Failure> {
    let (Some(model), Some(probes)) = (sides.model, &scored.probes) else { return Ok(Vec::new()) };
    let kind = sides.output_kind(request.data.task);
    match prober.filter(|_| request.page.page.is_some()).zip(kind) {
        Some((prober, kind)) => prober.broken(&model.file, kind, &probes.document.shown_broken()),
        None => Ok(Vec::new()),
    }
}

/// The page and the figures, where asked for. What they show is computed once for both.
fn write_page(
    request: &ScoreRequest<'_>,
    scored: &Scored,
    sides: &Sides<'_>,
    prober: Option<&Prober<'_>>,
    session: &Session<'_>,
) -> Result<(), Failure> {
    if !request.page.is_asked() {
        return Ok(());
    }
    let arrays = sides.input.samples().zip(sides.output.samples());
    let probe_margins = scored.probes.as_ref().map(|probes| probing::margins(&probes.probed));
    let variants = broken_variants(request, scored, sides, prober)?;
    let model = ScoredModel {
        document: &scored.document,
        report: &scored.report,
        outputs: arrays.map(|(_, outputs)| outputs),
        columns: SampleColumns { probe_margins: probe_margins.as_deref(), ..(&scored.facts).into() },
        samples: PageSamples {
            labels: scored.labels.as_ref(),
            inputs: arrays.map(|(samples, _)| InputArray { samples, shape: sides.input.shape() }),
            ids: scored.ids.as_deref(),
            columns: sides.input.columns(),
            pictures: request.page.pictures,
            variants: &variants,
        },
    };
    let named = |side: &SideView<'_>| side.is_file().then(|| side.name().to_owned());
    let (output, input) = (named(&sides.output), named(&sides.input));
    let origin = request.origin.or_named(output.as_deref(), input.as_deref());
    with_threads(request.params.threads, || {
        let facts = PageFacts::of(&model, session.monitor())?;
        request.page.write(|| score_page(&model, &facts, &origin), || score_charts(&model, &facts))
    })
}
