//! The stages of `score`, one by one, with files between them: graphs, then eigenpairs, then scores.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use spadework::pipeline::{ModelGraphs, SolvedSpectrum, graphs_of, scores_of, spectrum_of};
use spadework::samples::Side;
use spadework::scores::SpectralEmbedding;
use spadework::{Samples, SpadeParams};
use spadework_document::eigen::{EigenDocument, SCHEMA};
use spadework_document::score::ScoreDocument;
use spadework_document::stages::{GraphStage, Recipe};
use spadework_document::{SpectrumDocument, StoredDocument};
use spadework_io::output::{FolderLock, remove_link, write_graph};
use spadework_io::{Labels, digest, graph_digest};
use spadework_probe::{SampleFacts, SampleSignals};

use crate::data::{LabelSource, ModelData};
use crate::failure::Failure;
use crate::observer::{Observer, Session};
use crate::places::file_name;
use crate::result_folder::{FolderRequest, GraphFormat, ResultFolder};
use crate::resume::Resuming;
use crate::score::Scored;
use crate::side_view::Array;
use crate::sides::with_sides;
use crate::store::{FoundGraphs, Store, eigenpairs_file, graph_files};
use crate::stored::{self, OutputsAgain};
use crate::tables::TableFormat;
use crate::usage::{OtherStage, Usage};
use crate::verdict::verdict;
use crate::wording::NoteCode;
use crate::{labels, notes, room};

/// A request for the first stage: graphs.
#[derive(Debug, Clone)]
pub struct GraphStageRequest<'a> {
    /// What they are made from; graphs of other programs are used as they are.
    pub data: ModelData<'a>,
    /// How they are made; parameters of later stages are not used.
    pub params: SpadeParams,
    /// The folder of the result.
    pub result: &'a Path,
    /// Formats in which both graphs are written for others.
    pub formats: &'a [GraphFormat],
    /// Whether a stage that was made from something else is replaced.
    pub force: bool,
}

/// Graphs in the folder of a result.
#[derive(Debug)]
pub struct StagedGraphs {
    /// The graphs.
    pub graphs: ModelGraphs,
    /// How they were made; none if another program made them.
    pub document: Option<GraphStage>,
    /// Where they are, input first.
    pub files: [PathBuf; 2],
}

/// First stage: makes both graphs and stores them in files.
///
/// # Errors
/// As [`score`](crate::score), and when the folder holds graphs that were made from something else.
pub fn make_graphs(
    request: &GraphStageRequest<'_>,
    observer: &dyn Observer,
) -> Result<StagedGraphs, Failure> {
    let GraphStageRequest { data, params, .. } = request;
    params.check()?;
    // Until everything is written, the formats for other programs too.
    let _lock = FolderLock::acquire(request.result)?;
    let session = Session::new(observer).keeping_parts(Some(request.result))?;
    let (graphs, document, files) = with_sides(data, params, &session, |sides| {
        // Eigenpairs are found in another stage.
        room::about_memory(&sides.input, &[&sides.output], &params.clone().with_eigenpairs(0), &session);
        let store = Store::of_result(request.result, request.force, &session)?.with_sides(sides);
        let graphs = graphs_of(&sides.pair, params, &store, &Resuming::new(&session, String::new))
            .map_err(|failure| failure.with_params(params))?;
        let files = graph_files(store.path());
        Ok((graphs, store.into_graph_stage(), files))
    })?;
    session.parts().inspect(|parts| parts.remove_all());
    notes::about_graphs(&graphs.diagnostics, graphs.graphs.nodes(), &session);
    for format in request.formats {
        let file = |side: &str| request.result.join(format!("{side}_graph.{}", format.ending()));
        for (path, graph) in
            [(file("input"), graphs.graphs.input()), (file("output"), graphs.graphs.output())]
        {
            remove_link(&path)?;
            write_graph(&path, graph)?;
        }
    }
    Ok(StagedGraphs { graphs, document, files })
}

/// A request for the second stage: eigenpairs.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "a function has none")]
pub struct EigenStageRequest<'a> {
    /// The folder of the result.
    pub result: &'a Path,
    /// Changes the parameters that the graphs were made with into those of the eigenpairs.
    pub change: &'a dyn Fn(SpadeParams) -> SpadeParams,
    /// Whether a stage that was made from something else is replaced.
    pub force: bool,
}

/// Eigenpairs in the folder of a result.
#[derive(Debug)]
pub struct StagedEigenpairs {
    /// The eigenpairs, and bounds of the first.
    pub spectrum: SolvedSpectrum,
    /// The same as a document.
    pub document: EigenDocument,
    /// Where they are.
    pub file: PathBuf,
}

/// Second stage: finds the eigenpairs of the graphs and stores them in a file.
///
/// # Errors
/// When there are no graphs, the eigenpairs do not converge, or the folder holds eigenpairs that were made from something else.
pub fn find_eigenpairs(
    request: &EigenStageRequest<'_>,
    observer: &dyn Observer,
) -> Result<StagedEigenpairs, Failure> {
    let session = Session::new(observer);
    let store = Store::of_result(request.result, request.force, &session)?;
    let FoundGraphs { graphs: ModelGraphs { graphs, diagnostics, .. }, .. } = store.any_graphs()?;
    let params = (request.change)(diagnostics.params);
    let spectrum = spectrum_of(&graphs, &params, &store, session.monitor())
        .map_err(|failure| failure.with_params(&params))?;
    let pairs = &spectrum.eigenpairs;
    let document = EigenDocument {
        schema: SCHEMA.to_owned(),
        spectrum: SpectrumDocument::new(pairs.values(), pairs.residuals(), spectrum.enclosure),
        solver: pairs.info().method.to_string(),
        iterations: pairs.info().iterations,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(StagedEigenpairs { document, file: eigenpairs_file(store.path()), spectrum })
}

/// A request for the third stage: scores.
#[derive(Debug, Clone)]
pub struct ScoresStageRequest<'a> {
    /// The folder of the result.
    pub result: &'a Path,
    /// Labels; those that came with the graphs by default.
    pub labels: Option<LabelSource<'a>>,
    /// How many of the most fragile samples and edges the document lists.
    pub top: usize,
    /// Formats of the tables.
    pub tables: &'a [TableFormat],
    /// Threads to use; all cores if `None`.
    pub threads: Option<NonZeroUsize>,
    /// The command, for the document.
    pub command: Option<String>,
    /// Whether a result that was made from something else is replaced.
    pub force: bool,
}

/// Scores in the folder of a result.
#[derive(Debug)]
pub enum StagedScores {
    /// They already existed, made from the same data and parameters.
    Kept(Box<ScoreDocument>),
    /// They were made now.
    Made(Box<Scored>),
}

/// Third stage: scores edges and samples by the eigenpairs, and writes the files that `score --out` writes.
///
/// # Errors
/// When a stage is missing or does not fit, or the folder holds a result that was made from something else.
pub fn make_scores(
    request: &ScoresStageRequest<'_>,
    observer: &dyn Observer,
) -> Result<StagedScores, Failure> {
    let session = Session::new(observer);
    let store = Store::of_result(request.result, request.force, &session)?;
    let FoundGraphs { graphs: ModelGraphs { graphs, mut diagnostics, .. }, stage } = store.any_graphs()?;
    let params = diagnostics.params.clone().with_threads(request.threads);
    let (spectrum, params) = store.any_spectrum(&graphs, params)?;
    let labels = match (&request.labels, stage.as_ref().and_then(|stage| stage.labels.as_ref())) {
        (None, Some(place)) => Some(stored::labels_at(place)?),
        (source, _) => labels::load(source.as_ref(), None)?,
    };
    if let Some(labels) = &labels {
        let source = request.labels.as_ref().and_then(LabelSource::name);
        let source = source.unwrap_or("the labels stored with the graphs");
        labels::check_count(labels.len(), graphs.nodes(), Some(source))?;
    }
    let without_samples = recipe(request, &graph_digest(graphs.input()), &spectrum, labels.as_ref())?;
    let recipe = |found| without_samples.clone().with("samples", if found { "found" } else { "none" });
    let earlier = Earlier::read(request)?;
    // To read the samples, or to run the model for them, is not worth it for a result that has them or that is refused anyway.
    if let Some(earlier) = &earlier {
        earlier.check(&recipe(earlier.has_samples()))?;
    }
    let is_there = earlier.as_ref().is_some_and(Earlier::has_samples);
    let arrays = if is_there { None } else { arrays_of(stage.as_ref(), request, &session) };
    let recipe = recipe(is_there || arrays.is_some());
    if let Some(earlier) = earlier {
        earlier.check(&recipe)?;
        let Earlier { path, document } = earlier;
        session.mention(
            NoteCode::StageTaken,
            format!("{}: the scores already exist and are not computed again", path.display()),
        );
        return Ok(StagedScores::Kept(Box::new(document)));
    }
    let folder = FolderRequest { path: request.result, tables: request.tables, graphs: &[] };
    let folder = ResultFolder::create(folder)?;
    diagnostics.params = params;
    let report = scores_of(ModelGraphs::new(graphs, diagnostics), spectrum, session.monitor())?;
    notes::about_graphs(&report.diagnostics, report.graphs.nodes(), &session);
    let samples = arrays
        .as_ref()
        .map(|(inputs, outputs)| Ok::<_, Failure>((inputs.samples()?, outputs.samples()?)))
        .transpose()?;
    let signals = SampleSignals {
        inputs: samples.as_ref().map(|(inputs, _)| inputs),
        outputs: samples.as_ref().map(|(_, outputs)| outputs),
        labels: labels.as_ref().map(Labels::ids),
        ..SampleSignals::default()
    };
    let facts = SampleFacts::of(&report, &signals)?;
    let mut document = ScoreDocument::new(&report, labels.as_ref(), request.top)?;
    document.set_facts(&facts, &report.node_scores, labels.as_ref());
    document.made.command.clone_from(&request.command);
    if let Some(stage) = stage {
        let outputs = stage.sources.data.as_ref().map(|data| data.outputs.array.as_str());
        document.name =
            stage.sources.model.as_ref().map(|model| model.file.as_str()).or(outputs).map(file_name);
        document.sources = stage.sources;
    }
    document.verdict = Some(verdict(&document, session.voice()));
    document.made_from = Some(recipe);
    document.made.notes = session.notes();
    let scored = Scored { report, facts, labels, ids: None, probes: None, variants: None, document };
    folder.write_score(&scored.document, &scored.samples())?;
    folder.commit()?;
    Ok(StagedScores::Made(Box::new(scored)))
}

/// The arrays that the graphs were made of, for margins and fragility; none if they are not found any more.
fn arrays_of(
    stage: Option<&GraphStage>,
    request: &ScoresStageRequest<'_>,
    session: &Session<'_>,
) -> Option<(Array<'static>, Array<'static>)> {
    let stage = stage?;
    let data = stage.sources.data.as_ref()?;
    let found = stored::array(None, &data.inputs, Side::Input, stage.sources.corruption.as_ref(), session)
        .and_then(|inputs| {
            let inputs = Array::Dataset(inputs);
            let again = OutputsAgain { inputs: &inputs, threads: request.threads, session };
            let outputs = again.load(None, &data.outputs, stage.sources.model.as_ref())?;
            Ok((inputs, Array::Dataset(outputs)))
        });
    found
        .inspect_err(|failure| {
            let reason = failure.message(session.voice());
            session.note(
                NoteCode::ArraysNotFound,
                format!("the samples were not found, and there are no margins without them: {reason}"),
            );
        })
        .ok()
}

/// On what the files of the result depend.
fn recipe(
    request: &ScoresStageRequest<'_>,
    input_graph: &str,
    spectrum: &SolvedSpectrum,
    labels: Option<&Labels>,
) -> Result<Recipe, Failure> {
    let embedding = SpectralEmbedding::from_eigenpairs(&spectrum.eigenpairs);
    let dim = embedding.dim();
    let of_numbers = |rows: usize, dim: usize, values: &[f64]| Samples::from_f64(rows, dim, values.to_vec());
    let embedded = digest(&of_numbers(embedding.values().len() / dim, dim, embedding.values())?);
    let labels = match labels {
        Some(labels) => {
            let ids: Vec<f64> = labels.ids().iter().map(|&id| id as f64).collect();
            digest(&of_numbers(ids.len(), 1, &ids)?)
        }
        None => "none".to_owned(),
    };
    let tables: Vec<&str> = request.tables.iter().map(|format| format.word()).collect();
    Ok(Recipe::new()
        .with("input_graph", input_graph)
        .with("eigenpairs", embedded)
        .with("labels", labels)
        .with("top", request.top)
        .with("tables", tables.join(",")))
}

/// A result that is there already.
struct Earlier {
    path: PathBuf,
    document: ScoreDocument,
}

impl Earlier {
    /// None where there is none, or where it is to be replaced.
    fn read(request: &ScoresStageRequest<'_>) -> Result<Option<Self>, Failure> {
        let path = request.result.join("result.json");
        if !path.exists() || request.force {
            return Ok(None);
        }
        let document = ScoreDocument::read(&path)?;
        Ok(Some(Self { path, document }))
    }

    /// Whether the samples were there when it was made.
    fn has_samples(&self) -> bool {
        self.document.made_from.as_ref().and_then(|made_from| made_from.get("samples")) == Some("found")
    }

    /// Refuses one that was made from something else.
    fn check(&self, recipe: &Recipe) -> Result<(), Failure> {
        let reason = match self.document.made_from.as_ref().map(|made_from| made_from.difference(recipe)) {
            Some(None) => return Ok(()),
            Some(Some(difference)) => OtherStage::Differs(difference),
            None => OtherStage::OfScore,
        };
        Err(Failure::from(Usage::OtherStage { reason }).about_file(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use spadework_io::output::write_npy;

    use super::*;
    use crate::data::{ArraySource, InputSource, OutputSource};
    use crate::resume::tests::{Quiet, Rewriting, mapped_array, turn};
    use crate::wording::Voice;

    /// Its stage would be taken for that of the numbers before, if they came back.
    #[test]
    fn graphs_of_a_file_that_changes_meanwhile_are_not_kept() {
        let _turn = turn();
        let scene = tempfile::tempdir().unwrap();
        let [x, y] = ["x.npy", "y.npy"].map(|name| scene.path().join(name));
        mapped_array(&x, 200);
        let outputs: Vec<f32> = (0..200_u16).map(|i| f32::from(i * 7 % 199)).collect();
        write_npy(&y, &[200, 1], &outputs[..]).unwrap();
        let [inputs, outputs] = [&x, &y].map(|path| path.display().to_string());
        let result = scene.path().join("result");
        let request = GraphStageRequest {
            data: ModelData::new(
                InputSource::Array(ArraySource::Named(&inputs)),
                OutputSource::Array(ArraySource::Named(&outputs)),
            ),
            params: SpadeParams::default(),
            result: &result,
            formats: &[],
            force: false,
        };
        let message = make_graphs(&request, &Rewriting(&x)).unwrap_err().message(Voice::Command);
        assert!(message.contains("x.npy") && message.contains("was changed while it was read"), "{message}");
        assert!(graph_files(&result.join("stages")).iter().all(|file| !file.exists()));
        let made = make_graphs(&request, &Quiet).unwrap();
        assert!(made.files.iter().all(|file| fs::metadata(file).is_ok()));
    }
}
