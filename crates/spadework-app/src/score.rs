//! One model: [`score`] leads from a request to everything that is known about the model.

use std::borrow::Cow;
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
use spadework_report::{InputArray, Origin, PageFacts, PageSamples, ScoredModel, score_charts, score_page};

use crate::data::{IdSource, InputSource, ModelData, OutputSource};
use crate::failure::Failure;
use crate::model_runner::ModelRunner;
use crate::observer::{Observer, Session};
use crate::pages::PageRequest;
use crate::probing::{self, FileProber, ModelProbes, ProbeRequest, Prober};
use crate::result_folder::{FolderRequest, ResultFolder, ScoredSamples};
use crate::resume::Resuming;
use crate::script::{RunFacts, ScriptProbes, ScriptRequest};
use crate::side_view::SideView;
use crate::sides::{Sides, loaded};
use crate::store::Store;
use crate::usage::{NeedsDense, Usage};
use crate::verdict::verdict;
use crate::{notes, room, suspicions};

/// A request to score one model.
#[derive(Debug, Clone)]
pub struct ScoreRequest<'a> {
    /// The inputs, outputs and labels.
    pub data: ModelData<'a>,
    /// How it is scored.
    pub params: SpadeParams,
    /// How many of the most fragile samples and edges the document lists.
    pub top: usize,
    /// What to compute in addition to the scores.
    pub extras: Extras,
    /// Probes of the samples.
    pub probes: Probes,
    /// A folder for the result.
    pub folder: Option<FolderRequest<'a>>,
    /// A page and figures.
    pub page: PageRequest<'a>,
    /// What the page and the document say about where they come from.
    pub origin: Origin,
}

/// What to compute in addition to the scores, if requested.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras {
    /// A confidence interval of the model score.
    pub interval: bool,
    /// Scores to compare with: of the identity, and of permuted outputs.
    pub references: bool,
    /// Indices of the model as a whole.
    pub indices: bool,
}

/// Probes of the samples.
#[derive(Debug, Clone, Default)]
pub enum Probes {
    /// None.
    #[default]
    None,
    /// Probe the model file that is run for the outputs.
    Run(ProbeRequest),
    /// Run that model file on variants that a program of the user makes.
    With(ScriptRequest),
    /// Results of earlier probes.
    Known {
        /// The smallest margin of every sample over its probes, where it was probed.
        margins: Vec<Option<f64>>,
        /// What the document says of the probes.
        document: Box<ProbeDocument>,
    },
    /// Results of earlier probes of a regressor.
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
    /// The scores, and how they were computed.
    pub report: SpadeReport,
    /// Accuracy, margins and fragility.
    pub facts: SampleFacts,
    /// The labels of the samples.
    pub labels: Option<Labels>,
    /// The names of the samples.
    pub ids: Option<Vec<String>>,
    /// Results of the probes, if the model was probed.
    pub probes: Option<ModelProbes>,
    /// Results of the variants that a program of the user made, if there is one.
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

/// The walk, from top to bottom. No step is done twice: arrays are read, checked and digested once, a model file is read once, and
/// what a page and its figures show is computed once.
pub(crate) fn score_and<A: Addition>(
    request: &ScoreRequest<'_>,
    addition: A,
    observer: &dyn Observer,
) -> Result<(Scored, A::Found), Failure> {
    let began = Instant::now();
    // What can be refused is refused before anything is read.
    request.check()?;
    let folder = ResultFolder::open(request.folder, &request.page)?;
    let session = Session::new(observer).keeping_parts(request.folder.map(|folder| folder.path))?;
    let needs_dense = request.extras.interval.then_some(NeedsDense::Option("interval"));
    loaded(needs_dense, &request.data, &request.params, &session, |sides| {
        let walk = Walk { request, sides, session: &session };
        walk.check_sides(&addition)?;
        let (report, store) = walk.evaluate()?;

        let prober = walk.prober();
        let probing = Instant::now();
        let prober = prober.as_ref().zip(sides.model).map(|(prober, model)| prober.of_file(&model.file));
        let prober = prober.transpose()?;
        let known = walk.known_of_samples(&report, prober.as_ref(), probing)?;
        addition.note(&known.facts, &session);

        let mut document = walk.document_of(&report, &known)?;
        walk.add_sources(&mut document, folder.is_some(), addition.needs_data());
        document.timings.total_s = began.elapsed().as_secs_f64();
        let mut scored = walk.scored(report, known, document);
        let found = addition.finish(&scored, folder.as_ref())?;

        let write = |folder: ResultFolder<'_>| {
            folder.write_score(&scored.document, &scored.samples())?;
            folder.commit()
        };
        let _lock = folder.map(write).transpose()?;
        if let Some(store) = store {
            store.remove();
        }
        if request.page.is_asked() {
            let writing = Instant::now();
            walk.write_page(&scored, prober.as_ref())?;
            scored.document.timings.page_s = writing.elapsed().as_secs_f64();
            scored.document.timings.total_s = began.elapsed().as_secs_f64();
        }
        Ok((scored, found))
    })
}

/// A request with the sides of its model.
#[derive(Clone, Copy)]
struct Walk<'w> {
    request: &'w ScoreRequest<'w>,
    sides: &'w Sides<'w>,
    session: &'w Session<'w>,
}

/// What is known about the samples in addition to their scores.
struct KnownOfSamples<'w> {
    probes: Option<ModelProbes>,
    output_change: Option<OutputChangeDocument>,
    variants: Option<ScriptProbes>,
    /// The smallest margins of the samples over their probes.
    margins: Option<Cow<'w, [Option<f64>]>>,
    facts: SampleFacts,
    /// How long the model was probed.
    probing: Duration,
}

impl<'a> ScoreRequest<'a> {
    /// The same with names of the samples.
    #[must_use]
    pub fn with_ids(self, ids: Option<&'a str>) -> Self {
        let ids = ids.map(IdSource::Named);
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
}

impl<'w> Walk<'w> {
    /// Refuses sides that do not fit the request, and says what is probably a mistake, before the work begins.
    fn check_sides(&self, addition: &impl Addition) -> Result<(), Failure> {
        let Self { request, sides, session } = self;
        let ScoreRequest { data, params, .. } = request;
        self.check_outputs()?;
        addition.check(sides.pair.len())?;
        let is_run_as_given = sides.model.is_some() && data.run.normalization.is_none();
        suspicions::about_inputs(&sides.input, sides.known.labels_name, is_run_as_given, params, session);
        room::about_memory(&sides.input, &[&sides.output], params, session);
        Ok(())
    }

    /// Refuses outputs that do not fit their labels, or cannot be probed.
    fn check_outputs(&self) -> Result<(), Failure> {
        let Self { request, sides, session } = self;
        sides.check_labels(request.data.task, session)?;
        match (&request.probes, sides.model, sides.output_kind) {
            (Probes::Run(probe), Some(model), Some(kind)) => {
                suspicions::check_radius(probe, sides.input.samples())?;
                probing::check_outputs(&model.file, kind)
            }
            (Probes::With(_), Some(model), Some(OutputKind::Numbers | OutputKind::Embedding)) => {
                Err(Failure::from(Usage::VariantsWithoutClasses).about_place(&model.file))
            }
            _ => Ok(()),
        }
    }

    /// The scores; steps of a run that was interrupted are taken from the store, which is in the folder of the result.
    fn evaluate(&self) -> Result<(SpadeReport, Option<Store<'w>>), Failure> {
        let Self { request, sides, session } = *self;
        let ScoreRequest { params, folder, .. } = request;
        let store = folder.map(|folder| Store::of_score(folder.path, sides, session)).transpose()?;
        let report = match &store {
            Some(store) => evaluate_with(&sides.pair, params, store, &Resuming::new(session, String::new)),
            None => evaluate(&sides.pair, params, session.monitor()).map_err(Failure::from),
        };
        let report = report.map_err(|failure| sides.naming_array(failure.with_params(params)))?;
        notes::about_graphs(&report.diagnostics, report.graphs.nodes(), session);
        Ok((report, store))
    }

    /// Probes of the model that was run for the outputs, if requested.
    fn prober(&self) -> Option<Prober<'w>> {
        let Self { request, sides, session } = *self;
        match &request.probes {
            Probes::Run(probe) => {
                Prober::new(probe, &sides.input, &request.data.run, &request.params, session)
            }
            Probes::None | Probes::Known { .. } | Probes::KnownChange(_) | Probes::With(_) => None,
        }
    }

    /// Probes the model, and finds accuracy, margins and fragility of the samples.
    fn known_of_samples(
        &self,
        report: &SpadeReport,
        prober: Option<&FileProber<'_>>,
        began: Instant,
    ) -> Result<KnownOfSamples<'w>, Failure> {
        let Self { request, sides, .. } = *self;
        let probes = self.probe(prober)?;
        let output_change = self.move_outputs(prober)?;
        let variants = self.vary()?;
        let has_probed = probes.is_some() || output_change.is_some() || variants.is_some();
        let probing = if has_probed { began.elapsed() } else { Duration::ZERO };
        let found = probes.as_ref().map(|probes| probes.probed.lowest_margins());
        let found = found.or_else(|| variants.as_ref().map(|variants| variants.varied.lowest_margins()));
        let margins = request.probes.known_margins().map(Cow::Borrowed).or(found.map(Cow::Owned));
        let signals = SampleSignals {
            inputs: sides.input.samples(),
            outputs: sides.output.samples(),
            labels: sides.label_ids(),
            probe_margins: margins.as_deref(),
            task: request.data.task,
        };
        let facts = SampleFacts::of(report, &signals)?;
        Ok(KnownOfSamples { probes, output_change, variants, margins, facts, probing })
    }

    /// Probes a classifier.
    fn probe(&self, prober: Option<&FileProber<'_>>) -> Result<Option<ModelProbes>, Failure> {
        let Self { request, sides, .. } = self;
        match (prober, sides.output_kind) {
            (None, _) | (_, None | Some(OutputKind::Numbers | OutputKind::Embedding)) => Ok(None),
            (Some(prober), Some(kind)) => {
                prober.run(kind, sides.known.labels.as_ref(), request.top).map(Some)
            }
        }
    }

    /// Probes a regressor.
    fn move_outputs(&self, prober: Option<&FileProber<'_>>) -> Result<Option<OutputChangeDocument>, Failure> {
        let Self { request, sides, .. } = self;
        if let Probes::KnownChange(document) = &request.probes {
            return Ok(Some((**document).clone()));
        }
        match (prober, sides.output.samples(), sides.output_kind) {
            (Some(prober), Some(outputs), Some(OutputKind::Numbers)) => {
                prober.move_outputs(outputs, sides.known.target_spread, request.top).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Runs the model on variants that a program of the user's makes, if requested.
    fn vary(&self) -> Result<Option<ScriptProbes>, Failure> {
        let Self { request, sides, session } = self;
        let (Probes::With(script), Some(model), Some(inputs), Some(kind)) =
            (&request.probes, sides.model, sides.input.samples(), sides.output_kind)
        else {
            return Ok(None);
        };
        let ScoreRequest { data, params, .. } = request;
        let runner = ModelRunner::new(&data.run, params, Some(&sides.input), session);
        let (prepared, monitor) = runner.prepare(&model.file)?;
        let monitor = &monitor.also_of(|| script.identity());
        let about =
            RunFacts { labels: sides.known.labels.as_ref(), top: request.top, seed: params.seed, monitor };
        let run = |rows: &Samples<'_>| probing::outputs(&prepared, rows, monitor);
        with_threads(params.threads, || script.run(inputs, sides.input.sample_shape(), kind, run, &about))
            .map(Some)
    }

    /// Everything that is known, with the notes so far.
    fn document_of(
        &self,
        report: &SpadeReport,
        known: &KnownOfSamples<'_>,
    ) -> Result<ScoreDocument, Failure> {
        let Self { request, sides, session } = self;
        let labels = sides.known.labels.as_ref();
        let mut document = ScoreDocument::new(report, labels, request.top)?;
        document.set_facts(&known.facts, &report.node_scores, labels);
        document.set_ids(sides.known.ids.as_deref());
        document.set_label_facts(labels, &known.facts, known.margins.as_deref());
        document.facts.output_change.clone_from(&known.output_change);
        document.facts.variants = known.variants.as_ref().map(|variants| variants.document.clone());
        document.made.request.task = request.data.task.to_string();
        let accuracy = known.facts.accuracy;
        let classes = sides.output_kind.map_or(0, |kind| kind.class_count(document.output_dim));
        notes::about_accuracy(accuracy, classes, "", sides.model.is_some(), session);
        suspicions::about_swapped_sides(sides.input.samples(), sides.label_ids(), &[accuracy], session)?;
        if let Some(probe) = probe_document(&request.probes, known.probes.as_ref()) {
            document.facts.set_probe(probe);
        }
        add_extras(request.extras, &request.params, report, sides, session, &mut document)?;
        document.name = sides.model_name();
        document.sources.model = sides.model.cloned();
        document.sources.corruption = sides.corruption.cloned();
        document.verdict = Some(verdict(&document, session.voice()));
        spadework_io::check_mapped_files()?;
        document.made.notes = session.notes();
        document.timings.model_s = sides.running.as_secs_f64();
        document.timings.probes_s = known.probing.as_secs_f64();
        Ok(document)
    }

    /// How a result that is written came about; what was scored is also there where an addition needs it.
    fn add_sources(&self, document: &mut ScoreDocument, is_written: bool, needs_data: bool) {
        if is_written {
            document.made.command.clone_from(&self.request.origin.command);
        }
        if is_written || needs_data {
            document.sources.data = self.sides.document();
        }
    }

    fn scored(&self, report: SpadeReport, known: KnownOfSamples<'_>, document: ScoreDocument) -> Scored {
        let about = &self.sides.known;
        Scored {
            report,
            facts: known.facts,
            labels: about.labels.clone(),
            ids: about.ids.clone(),
            probes: known.probes,
            variants: known.variants,
            document,
        }
    }

    /// The page and the figures. What they show is computed once for both.
    fn write_page(&self, scored: &Scored, prober: Option<&FileProber<'_>>) -> Result<(), Failure> {
        let Self { request, sides, session } = self;
        let arrays = sides.input.samples().zip(sides.output.samples());
        let variants = self.broken_variants(scored, prober)?;
        let model = ScoredModel {
            document: &scored.document,
            report: &scored.report,
            outputs: arrays.map(|(_, outputs)| outputs),
            columns: (&scored.facts).into(),
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

    /// What broke the samples that a page shows.
    fn broken_variants(
        &self,
        scored: &Scored,
        prober: Option<&FileProber<'_>>,
    ) -> Result<Vec<Variant>, Failure> {
        let prober = prober.filter(|_| self.request.page.page.is_some());
        match (prober, self.sides.output_kind, &scored.probes) {
            (Some(prober), Some(kind), Some(probes)) => prober.broken(kind, &probes.document.shown_broken()),
            _ => Ok(Vec::new()),
        }
    }
}

fn probe_document(known: &Probes, probes: Option<&ModelProbes>) -> Option<ProbeDocument> {
    match known {
        Probes::Known { document, .. } => Some((**document).clone()),
        _ => probes.map(|probes| probes.document.clone()),
    }
}

/// The interval, the reference points and the indices, if requested.
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
