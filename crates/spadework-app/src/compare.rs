//! Several models on one input graph, ranked.

use std::path::Path;
use std::time::Instant;

use spadework::SpadeParams;
use spadework::pipeline::{
    ComparedModel, Comparison, Intervals, SUBSAMPLES, compare as compare_models, intervals, permuted_score,
};
use spadework::threads::with_threads;
use spadework_document::Note;
use spadework_document::comparison::{CompareDocument, ModelDocument};
use spadework_document::probe::{OutputChangeDocument, ProbeDocument};
use spadework_document::score::{ReferencesDocument, ScoreDocument};
use spadework_io::Labels;
use spadework_io::output::{Column, write_npy};
use spadework_probe::{OutputKind, ProbeKind, Probed, SampleFacts};
use spadework_report::{
    ComparedModels, InputArray, Origin, PageSamples, SampleColumns, comparison_charts, comparison_page,
};

use crate::data::{InputSource, ModelsData};
use crate::failure::Failure;
use crate::models::{ModelOutputs, ModelSides};
use crate::observer::{Observer, Session};
use crate::pages::PageRequest;
use crate::probing::{self, ModelProbes, ProbeRequest, Prober};
use crate::ranking::{Evidence, Known, RankBy};
use crate::result_folder::{FolderRequest, ResultFolder};
use crate::resume::Resuming;
use crate::score::Extras;
use crate::sides::Inputs;
use crate::tables::{self, TableFormat, TableOf};
use crate::usage::{NeedsDense, Usage};
use crate::verdict::verdict;
use crate::wording::{NoteCode, Voice};
use crate::{labels, notes, suspicions};

/// A request to compare several models.
#[derive(Debug, Clone)]
pub struct CompareRequest<'a> {
    /// The inputs, outputs and labels.
    pub data: ModelsData<'a>,
    /// How they are scored.
    pub params: SpadeParams,
    /// How many of the most fragile samples of each model the document lists.
    pub top: usize,
    /// What the models are ranked by.
    pub rank_by: RankBy,
    /// What to compute in addition to the scores.
    pub extras: Extras,
    /// Probes of the samples, for models that are files.
    pub probe: Option<ProbeRequest>,
    /// A folder for the result.
    pub folder: Option<FolderRequest<'a>>,
    /// A page and figures.
    pub page: PageRequest<'a>,
    /// What the page and the document say about their origin.
    pub origin: Origin,
}

/// Compared models. Lists are in the order of the comparison: most robust first.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The scores, and how they were computed.
    pub comparison: Comparison,
    /// Accuracy, margins and fragility of the samples for every model.
    pub facts: Vec<SampleFacts>,
    /// Results of the probes, for every model that was probed.
    pub probes: Vec<Option<ModelProbes>>,
    /// The labels of the samples.
    pub labels: Option<Labels>,
    /// The names of the samples.
    pub ids: Option<Vec<String>>,
    /// All of it as a document.
    pub document: CompareDocument,
}

impl Compared {
    /// What a reader of the result must know.
    pub fn notes(&self) -> &[Note] {
        &self.document.made.notes
    }

    /// The document of the model at this position of the comparison, as if it had been scored by itself; `top` samples and
    /// edges are listed.
    ///
    /// # Errors
    /// When there is not one label per sample.
    pub fn score_document(&self, at: usize, top: usize, voice: Voice) -> Result<ScoreDocument, Failure> {
        let (report, facts) = (&self.comparison.models[at].report, &self.facts[at]);
        let labels = self.labels.as_ref();
        let mut document = ScoreDocument::new(report, labels, top)?;
        document.set_facts(facts, &report.node_scores, labels);
        document.set_label_facts(labels, facts, None);
        document.facts = self.document.models[at].facts.clone();
        document.verdict = Some(verdict(&document, voice));
        Ok(document)
    }
}

/// Scores several models and ranks them.
///
/// # Errors
/// When the request makes no sense, its files cannot be read or written, or the problem has no answer as posed.
pub fn compare(request: &CompareRequest<'_>, observer: &dyn Observer) -> Result<Compared, Failure> {
    let began = Instant::now();
    request.check()?;
    let folder = ResultFolder::open(request.folder, &request.page)?;
    let session = Session::new(observer).keeping_parts(request.folder.map(|folder| folder.path))?;

    let CompareRequest { data, params, .. } = request;
    let needs_dense = request.extras.interval.then_some(NeedsDense::Option("interval"));
    let inputs = Inputs::load_for(needs_dense, &data.inputs, data.corruption, params, &session)?;
    let given = inputs.view()?;
    let outputs = ModelOutputs::load(data, &inputs, &given, params, &session)?;
    let sides = ModelSides::new(data, given, &outputs, params.output_metric, &session)?;
    request.check_outputs(&sides, &session)?;
    let normalizes = data.run.normalization.is_some();
    let is_run = data.models.iter().any(|(_, source)| source.is_model());
    suspicions::about_inputs(&sides.input, sides.known.labels_name, is_run && !normalizes, params, &session);
    sides.about_memory(params, &session);

    let mut comparison = compare_models(&sides.set, params, &Resuming::new(&session, String::new))
        .map_err(|error| sides.naming_array(Failure::of_evaluation(error, params)))?;
    note_graphs(&comparison, &session);

    let prober = request.prober(&sides, &session);
    let probes = probe(request, &sides, &comparison, prober.as_ref(), &session)?;
    let changes = move_outputs(request, &sides, &comparison, prober.as_ref())?;
    let probed: Vec<Option<&Probed>> =
        probes.iter().map(|probes| probes.as_ref().map(|probes| &probes.probed)).collect();
    let facts =
        SampleFacts::of_comparison(&comparison, &sides.set, sides.label_ids(), &probed, request.data.task)?;
    let subsamples = subsamples(request, &sides, &comparison, &session)?;

    // Most robust first by the best evidence; everything follows that order.
    let accuracies: Vec<Option<f64>> = facts.iter().map(|facts| facts.accuracy).collect();
    suspicions::about_swapped_sides(sides.input.samples(), sides.label_ids(), &accuracies, &session)?;
    let labels = sides.label_ids().map(|ids| sides.output_kind(0).labels(ids));
    let known = Known::new(&comparison, &facts, &probes, labels.as_deref(), subsamples.as_ref())?;
    let ranking = known.ranked(request.rank_by)?;
    let (facts, probes, changes) = (ranking.sorted(facts), ranking.sorted(probes), ranking.sorted(changes));
    comparison.reorder(&ranking.order);
    let mut document = CompareDocument::new(&comparison, &facts, sides.known.labels.as_ref(), request.top)?;
    for (model, change) in document.models.iter_mut().zip(changes) {
        model.facts.output_change = change;
    }
    ranking.tell(&mut document);
    document.made.request.task = request.data.task.to_string();
    for ((model, compared), probes) in document.models.iter_mut().zip(&comparison.models).zip(&probes) {
        model.file = sides.file(compared.given).cloned();
        if let Some(probes) = probes {
            model.facts.set_probe(probes.document.clone());
        }
        let whose = format!("model `{}`: ", model.name);
        let kind = sides.output_kind(compared.given);
        let classes = kind.class_count(model.output_dim);
        notes::about_accuracy(model.facts.accuracy, classes, &whose, model.file.is_some(), &session);
    }
    if let Some(subsamples) = &subsamples {
        document.set_intervals(subsamples, &comparison);
    }
    add_extras(request, &sides, &comparison, &session, &mut document)?;
    document.corruption = inputs.corruption().cloned();
    spadework_io::check_mapped_files()?;
    document.made.notes = session.notes();
    document.timings.total_s = began.elapsed().as_secs_f64();

    if folder.is_some() {
        document.made.command.clone_from(&request.origin.command);
        document.data = sides.document(comparison.models.iter().map(|model| model.given));
    }
    let mut compared = Compared {
        comparison,
        facts,
        probes,
        labels: sides.known.labels.clone(),
        ids: sides.known.ids.clone(),
        document,
    };
    let write = |folder: ResultFolder<'_>| {
        compared.write(&folder)?;
        folder.commit()
    };
    let _lock = folder.map(write).transpose()?;
    session.parts().inspect(|parts| parts.remove_all());
    write_page(request, &compared, &sides, &session)?;
    if request.page.is_asked() {
        compared.document.timings.total_s = began.elapsed().as_secs_f64();
    }
    Ok(compared)
}

impl CompareRequest<'_> {
    /// Refuses what makes no sense.
    fn check(&self) -> Result<(), Failure> {
        self.params.check()?;
        if let Some(probe) = &self.probe {
            probe.check()?;
        }
        if self.extras.interval && matches!(self.data.inputs, InputSource::Graph(_)) {
            return Err(Usage::IntervalOfInputGraph.into());
        }
        self.check_ranking()?;
        self.data.check()
    }

    /// Refuses a ranking by what nobody will find, before the work begins.
    fn check_ranking(&self) -> Result<(), Failure> {
        if self.rank_by != RankBy::Evidence(Evidence::RobustAccuracy) {
            return Ok(());
        }
        let is_searched = |probe: &ProbeRequest| probe.probe.kind() == ProbeKind::Search;
        if !self.probe.as_ref().is_some_and(is_searched) {
            return Err(Usage::RankedWithoutProbes.into());
        }
        match self.data.models.iter().find(|(_, source)| !source.is_model()) {
            Some((name, _)) => Err(Usage::RankedUnprobed { model: name.clone() }.into()),
            None => Ok(()),
        }
    }

    /// Probes of the models that are files, if requested.
    fn prober<'a>(&'a self, sides: &'a ModelSides<'_>, session: &'a Session<'a>) -> Option<Prober<'a>> {
        let probe = self.probe.as_ref();
        probe.and_then(|probe| Prober::new(probe, &sides.input, &self.data.run, &self.params, session))
    }

    /// Refuses outputs that do not fit their labels, or cannot be probed, before the work begins.
    fn check_outputs(&self, sides: &ModelSides<'_>, session: &Session<'_>) -> Result<(), Failure> {
        sides.check_labels(self.data.task, session)?;
        let Some(probe) = &self.probe else { return Ok(()) };
        suspicions::check_radius(probe, sides.input.samples())?;
        for (at, model) in sides.set.models().iter().enumerate() {
            if let Some(file) = sides.file(at) {
                let checked = probing::check_outputs(&file.file, sides.output_kind(at));
                checked.map_err(|failure| failure.about_model(&model.name))?;
            }
        }
        Ok(())
    }
}

/// How the graphs of all models came about.
fn note_graphs(comparison: &Comparison, session: &Session<'_>) {
    let shared = &comparison.models[0].report.diagnostics;
    notes::about_search("inputs", shared.input_recall, session);
    let samples = comparison.models[0].report.graphs.nodes();
    notes::about_input_copies(shared, samples, session);
    for model in &comparison.models {
        let whose = format!("outputs of `{}`", model.name);
        notes::about_search(&whose, model.report.diagnostics.output_recall, session);
        notes::about_output_copies(&whose, &model.report.diagnostics, samples, session);
    }
    let connection = shared.connection;
    let apart = comparison.models.iter().filter(|model| {
        let output = model.report.diagnostics.connection.output;
        output.components_found > 1
    });
    let apart: Vec<String> = apart.map(|model| format!("`{}`", model.name)).collect();
    let given = shared.input_graph.given;
    if given {
        notes::about_given_graph(connection.input.components_found, session);
    }
    let input = (!given && connection.input.components_found > 1).then(|| "the inputs".to_owned());
    let apart: Vec<String> = input.into_iter().chain(apart).collect();
    if apart.is_empty() {
        return;
    }
    let graphs = apart.join(", ");
    if connection.used > connection.requested {
        session.note(
            NoteCode::NeighborsGrown,
            format!(
                "{} neighbors leave graphs disconnected ({graphs}); {} neighbors connect every graph and are used for all models. {}",
                connection.requested,
                connection.used,
                notes::grown_means(connection.requested, connection.used, session)
            ),
        );
    } else {
        session.note(
            NoteCode::Bridges,
            format!(
                "bridges connect the graphs that {} neighbors leave disconnected ({graphs})",
                connection.requested
            ),
        );
    }
}

/// What perturbed copies show of every model that is a file, in the order of the comparison, if requested.
fn probe(
    request: &CompareRequest<'_>,
    sides: &ModelSides<'_>,
    comparison: &Comparison,
    prober: Option<&Prober<'_>>,
    session: &Session<'_>,
) -> Result<Vec<Option<ModelProbes>>, Failure> {
    let Some(prober) = prober else { return Ok(vec![None; comparison.models.len()]) };
    let probes = |model: &ComparedModel| {
        let Some(file) = sides.file(model.given) else {
            session.note(
                NoteCode::NotProbed,
                format!("model `{}` is given by its outputs, so it is not probed", model.name),
            );
            return Ok(None);
        };
        let kind = sides.output_kind(model.given);
        if kind == OutputKind::Numbers {
            return Ok(None);
        }
        prober.of_file(&file.file)?.run(kind, sides.known.labels.as_ref(), request.top).map(Some)
    };
    of_every_model(comparison, probes)
}

/// What is found of every model, in the order of the comparison.
fn of_every_model<T>(
    comparison: &Comparison,
    found: impl Fn(&ComparedModel) -> Result<Option<T>, Failure>,
) -> Result<Vec<Option<T>>, Failure> {
    let named = |model: &ComparedModel| found(model).map_err(|failure| failure.about_model(&model.name));
    comparison.models.iter().map(named).collect()
}

/// How far the outputs of every regressor that is a file can be moved, in the order of the comparison, if requested.
fn move_outputs(
    request: &CompareRequest<'_>,
    sides: &ModelSides<'_>,
    comparison: &Comparison,
    prober: Option<&Prober<'_>>,
) -> Result<Vec<Option<OutputChangeDocument>>, Failure> {
    let change = |model: &ComparedModel| {
        let is_regressor = sides.output_kind(model.given) == OutputKind::Numbers;
        let (Some(prober), Some(file), true) = (prober, sides.file(model.given), is_regressor) else {
            return Ok(None);
        };
        let outputs = &sides.set.models()[model.given].outputs;
        prober.of_file(&file.file)?.move_outputs(outputs, sides.known.target_spread, request.top).map(Some)
    };
    of_every_model(comparison, change)
}

/// SPADE scores of subsamples, where intervals were asked for: some hundred comparisons of half of the samples.
fn subsamples(
    request: &CompareRequest<'_>,
    sides: &ModelSides<'_>,
    comparison: &Comparison,
    session: &Session<'_>,
) -> Result<Option<Intervals>, Failure> {
    if !request.extras.interval {
        return Ok(None);
    }
    let used = comparison.models[0].report.diagnostics.connection.used;
    let params = request.params.clone().with_neighbors(used);
    let monitor = Resuming::new(session, || sides.digests().join(" "));
    let found = intervals(&sides.set, &comparison.scores_as_given(), SUBSAMPLES, &params, &monitor)?;
    notes::about_subsamples(found.grown, used, session);
    Ok(Some(found))
}

/// Reference points and indices of every model, if requested.
fn add_extras(
    request: &CompareRequest<'_>,
    sides: &ModelSides<'_>,
    comparison: &Comparison,
    session: &Session<'_>,
    document: &mut CompareDocument,
) -> Result<(), Failure> {
    let CompareRequest { extras, params, .. } = request;
    let monitor = session.monitor();
    if extras.references {
        let params = params.clone().with_neighbors(document.settings.neighbors.used);
        for (model, compared) in document.models.iter_mut().zip(&comparison.models) {
            let permuted = permuted_score(&compared.report.graphs, &params, monitor)
                .map_err(|error| error.in_model(&compared.name))?;
            model.facts.references = Some(ReferencesDocument { identity: 1.0, permuted });
        }
    }
    if extras.indices {
        for (model, compared) in document.models.iter_mut().zip(&comparison.models) {
            model.facts.indices = Some(compared.indices(&sides.set, monitor)?);
        }
    }
    Ok(())
}

/// The page and the figures, if requested.
fn write_page(
    request: &CompareRequest<'_>,
    compared: &Compared,
    sides: &ModelSides<'_>,
    session: &Session<'_>,
) -> Result<(), Failure> {
    if !request.page.is_asked() {
        return Ok(());
    }
    let columns: Vec<SampleColumns<'_>> = compared.facts.iter().map(SampleColumns::from).collect();
    let models = ComparedModels {
        document: &compared.document,
        comparison: &compared.comparison,
        columns: &columns,
        samples: PageSamples {
            labels: compared.labels.as_ref(),
            inputs: sides.input.samples().map(|samples| InputArray { samples, shape: sides.input.shape() }),
            ids: sides.known.ids.as_deref(),
            columns: sides.input.columns(),
            pictures: request.page.pictures,
            ..PageSamples::default()
        },
    };
    let inputs = sides.input.is_file().then(|| sides.input.name());
    let origin = request.origin.or_named(None, inputs);
    with_threads(request.params.threads, || {
        let page = || comparison_page(&models, &origin, session.monitor());
        request.page.write(page, || comparison_charts(&compared.document))
    })
}

impl Compared {
    /// result.json, and the tables of models, of pairs of models and of samples.
    fn write(&self, folder: &ResultFolder<'_>) -> Result<(), Failure> {
        let (path, formats) = (folder.path(), folder.tables());
        folder.write_document(&self.document)?;
        write_models(path, formats, &self.document)?;
        write_agreement(path, formats, &self.document)?;
        self.write_nodes(path, formats)
    }

    /// A sample per row, columns of every model, most robust model first.
    fn write_nodes(&self, path: &Path, formats: &[TableFormat]) -> Result<(), Failure> {
        let models = &self.comparison.models;
        let samples = models[0].report.graphs.nodes();
        let indices: Vec<i64> = (0..samples as i64).collect();
        let words: Option<Vec<String>> = self
            .labels
            .as_ref()
            .map(|labels| (0..samples).map(|index| labels::text(labels, index)).collect());
        let mut columns = vec![("index", Column::I64(&indices))];
        columns.extend(self.ids.as_ref().map(|ids| ("id", Column::Utf8(ids))));
        columns.extend(words.as_ref().map(|words| ("label", Column::Utf8(words))));
        let scores = models.iter().map(|model| ("score", model, model.report.node_scores.scores().to_vec()));
        let facts = models.iter().zip(&self.facts).flat_map(|(model, facts)| {
            let margins = facts.margins.as_ref().map(|margins| ("margin", model, margins.values().to_vec()));
            let overlap = facts.overlap.samples().shares().to_vec();
            let fragility = facts.fragility.values().to_vec();
            margins.into_iter().chain([("fragility", model, fragility), ("overlap", model, overlap)])
        });
        let ids = self.labels.as_ref().map(Labels::ids);
        let mut probes = Vec::new();
        for (model, found) in models.iter().zip(&self.probes) {
            let Some(found) = found else { continue };
            let columns = probing::columns(&found.probed, ids)?.into_iter();
            probes.extend(columns.map(|(name, column)| (name, model, column)));
        }
        let named: Vec<(String, Vec<f64>)> = scores
            .chain(facts)
            .chain(probes)
            .map(|(name, model, column)| (format!("{name}_{}", model.name), column))
            .collect();
        columns.extend(named.iter().map(|(name, column)| (name.as_str(), Column::F64(column))));
        tables::write(path, "nodes", formats, &columns)?;
        if formats.contains(&TableFormat::Npy) {
            let rows = (0..samples)
                .flat_map(|p| models.iter().map(move |model| model.report.node_scores.scores()[p]));
            let values: Vec<f64> = rows.collect();
            write_npy(&path.join("node_scores.npy"), &[samples, models.len()], values.as_slice())?;
        }
        Ok(())
    }
}

fn write_models(path: &Path, formats: &[TableFormat], document: &CompareDocument) -> Result<(), Failure> {
    let probe = |model: &ModelDocument, of: fn(&ProbeDocument) -> f64| model.facts.probe.as_ref().map(of);
    let robust = |model: &ModelDocument| model.facts.probe.as_ref()?.robust_accuracy;
    TableOf::rows(&document.models)
        .counts("rank", |model| model.rank)
        .words("name", |model| model.name.clone())
        .numbers("model_score", |model| model.spectrum.model_score)
        .numbers("numerical_bounds_lower", |model| model.spectrum.numerical_bounds.lower)
        .numbers("numerical_bounds_upper", |model| model.spectrum.numerical_bounds.upper)
        .numbers("accuracy", |model| model.facts.accuracy)
        .numbers("overlap", |model| model.facts.overlap)
        .numbers("interval_lower", |model| model.facts.interval.map(|interval| interval.lower))
        .numbers("interval_upper", |model| model.facts.interval.map(|interval| interval.upper))
        .numbers("permuted", |model| model.facts.references.map(|references| references.permuted))
        .numbers("robust_accuracy", robust)
        .numbers("survived", |model| probe(model, |probe| probe.survived))
        .numbers("stability", |model| probe(model, |probe| probe.stability))
        .numbers("robust_accuracy_lower", |model| {
            model.facts.estimates.robust_accuracy.map(|share| share.lower)
        })
        .numbers("robust_accuracy_upper", |model| {
            model.facts.estimates.robust_accuracy.map(|share| share.upper)
        })
        .numbers("unevenness", |model| model.facts.unevenness)
        .numbers("unevenness_lower", |model| model.facts.estimates.unevenness.map(|found| found.lower))
        .numbers("unevenness_upper", |model| model.facts.estimates.unevenness.map(|found| found.upper))
        .numbers("overlap_lower", |model| model.facts.estimates.overlap.map(|share| share.lower))
        .numbers("overlap_upper", |model| model.facts.estimates.overlap.map(|share| share.upper))
        .write(path, "models", formats)
}

fn write_agreement(path: &Path, formats: &[TableFormat], document: &CompareDocument) -> Result<(), Failure> {
    TableOf::rows(&document.agreement)
        .words("a", |pair| pair.a.clone())
        .words("b", |pair| pair.b.clone())
        .counts("top", |pair| pair.top)
        .numbers("top_shared", |pair| pair.top_shared)
        .numbers("spearman", |pair| pair.spearman)
        .numbers("kendall", |pair| pair.kendall)
        .numbers("subsamples_in_order", |pair| pair.subsamples_in_order)
        .write(path, "agreement", formats)
}
