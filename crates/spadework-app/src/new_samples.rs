//! New samples against a scored model.

use std::path::Path;
use std::time::Instant;

use spadework::graph::{GraphKind, Weights};
use spadework::pipeline::{NewScores, Reference};
use spadework::samples::{Side, Values};
use spadework::scores::{NodeScore, SpectralEmbedding};
use spadework::{Error as CoreError, PairedSamples, Samples, SpadeParams};
use spadework_document::new_samples::{NewNodeDocument, NewSamplesDocument, ReferenceDocument, SCHEMA};
use spadework_document::score::ScoreDocument;
use spadework_document::{MethodDocument, StoredDocument};
use spadework_io::output::{Column, write_npy};
use spadework_io::{Labels, load};

use crate::data::{LabelSource, ModelData, Rows};
use crate::failure::{Failure, Subject};
use crate::model_runner::ModelRunner;
use crate::observer::{Observer, Session};
use crate::places::folder_of;
use crate::result_folder::{FolderRequest, ResultFolder};
use crate::side_view::{Array, SideView};
use crate::sides::{InputView, Inputs, Outputs};
use crate::stored::{self, OutputsAgain};
use crate::tables::{self, TableFormat};
use crate::usage::Usage;
use crate::wording::{Hint, NoteCode, Voice};
use crate::{labels, notes};

/// New samples, and the scored model that they are scored against.
#[derive(Debug, Clone)]
pub struct NewSamplesRequest<'a> {
    /// The new samples; both sides are arrays.
    pub data: ModelData<'a>,
    /// The scored model.
    pub reference: ReferenceSource<'a>,
    /// How neighbors are searched, and on how many threads; k is that of the reference.
    pub params: SpadeParams,
    /// How many of the most fragile new samples the document lists.
    pub top: usize,
    /// A folder for the result.
    pub folder: Option<FolderRequest<'a>>,
}

/// A scored model that new samples are scored against.
#[derive(Debug, Clone)]
pub enum ReferenceSource<'a> {
    /// A result in a folder.
    Folder {
        /// The folder, or the `result.json` in it.
        path: &'a Path,
        /// Where its inputs are now.
        inputs: Option<&'a str>,
        /// Where its outputs are now.
        outputs: Option<&'a str>,
    },
    /// A result in memory.
    Scored {
        /// Its document.
        document: &'a ScoreDocument,
        /// Its embedding, row after row.
        embedding: &'a [f64],
        /// Its inputs.
        inputs: Rows<'a>,
        /// Its outputs.
        outputs: Rows<'a>,
    },
}

/// Scored new samples.
#[derive(Debug)]
pub struct NewlyScored {
    /// The scores.
    pub scores: NewScores,
    /// The labels of the new samples.
    pub labels: Option<Labels>,
    /// All of it as a document.
    pub document: NewSamplesDocument,
}

/// Scores new samples by a scored model.
///
/// # Errors
/// When the request makes no sense, the reference or the files cannot be read, or the samples do not fit the reference.
pub fn score_new_samples(
    request: &NewSamplesRequest<'_>,
    observer: &dyn Observer,
) -> Result<NewlyScored, Failure> {
    request.check_places()?;
    let folder = request.folder.map(ResultFolder::create).transpose()?;
    let session = Session::new(observer);
    let known = KnownModel::read(request, &session)?;

    let NewSamplesRequest { data, params, .. } = request;
    let inputs = Inputs::load(&data.inputs, data.corruption, params, &session)?;
    let given = inputs.view()?;
    let runner = ModelRunner::new(&data.run, params, given.array(), &session);
    let outputs = Outputs::load(&data.outputs, given.array(), &runner)?;
    if outputs.model().is_none() {
        notes::about_corruption(inputs.corruption(), &session);
    }
    let (InputView::Array(input), output) = (given, outputs.view()?) else {
        return Err(Usage::RowsNeeded { by: "scoring new samples" }.into());
    };
    let labels = labels::load(data.labels.as_ref(), input.labels())?;

    let began = Instant::now();
    let scores = known
        .reference(params, &session)?
        .score(samples_of(&input)?, samples_of(&output)?, session.monitor())
        .map_err(|error| with_files(error, &input, &output))?;
    if let Some(labels) = &labels {
        let source = data.labels.as_ref().map_or(Some(input.name()), LabelSource::name);
        labels::check_count(labels.len(), scores.quantiles.len(), source)?;
    }
    note_scores(&known.document, &scores, &session);
    let mut document = document(request, &known.document, &scores, labels.as_ref(), began);
    spadework_io::check_mapped_files()?;
    document.written.notes = session.notes();
    let scored = NewlyScored { scores, labels, document };
    if let Some(folder) = folder {
        scored.write(&folder)?;
        folder.commit()?;
    }
    Ok(scored)
}

impl NewSamplesRequest<'_> {
    /// The scores of new samples in the folder of the reference would leave no reference for the next ones.
    fn check_places(&self) -> Result<(), Failure> {
        let (Some(folder), ReferenceSource::Folder { path, .. }) = (&self.folder, &self.reference) else {
            return Ok(());
        };
        let reference = folder_of(path);
        match (folder.path.canonicalize(), reference.canonicalize()) {
            (Ok(place), Ok(known)) if place == known => {
                let (out, reference) = (folder.path.to_owned(), reference.to_owned());
                Err(Usage::OverwritesReference { out, reference }.into())
            }
            _ => Ok(()),
        }
    }
}

/// A scored model with the arrays it was made of.
struct KnownModel<'a> {
    document: ScoreDocument,
    embedding: SpectralEmbedding,
    inputs: Array<'a>,
    outputs: Array<'a>,
}

impl<'a> KnownModel<'a> {
    fn read(request: &'a NewSamplesRequest<'_>, session: &Session<'_>) -> Result<Self, Failure> {
        match &request.reference {
            ReferenceSource::Scored { document, embedding, inputs, outputs } => {
                check_fit(document)?;
                Ok(Self {
                    document: (*document).clone(),
                    embedding: SpectralEmbedding::from_rows(
                        document.spectrum.eigenvalues.len(),
                        embedding.to_vec(),
                    ),
                    inputs: Array::Rows(inputs),
                    outputs: Array::Rows(outputs),
                })
            }
            ReferenceSource::Folder { path, inputs, outputs } => {
                Self::read_folder(request, folder_of(path), *inputs, *outputs, session)
            }
        }
    }

    fn read_folder(
        request: &NewSamplesRequest<'_>,
        folder: &Path,
        inputs: Option<&str>,
        outputs: Option<&str>,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        let about = |failure: Failure| failure.about_file(folder);
        if !folder.is_dir() {
            return Err(about(Usage::NoResultFolder.into()));
        }
        let document = ScoreDocument::read(&folder.join("result.json"))?;
        check_fit(&document).map_err(about)?;
        let Some(data) = &document.sources.data else { return Err(about(Usage::NoDataOfReference.into())) };
        let embedding = read_embedding(folder, &document)?;
        let corruption = document.sources.corruption.as_ref();
        let inputs = stored::array(inputs, &data.inputs, Side::Input, corruption, session)
            .map_err(|failure| failure.with_hint(Hint::WhereReferenceInputs))?;
        let inputs = Array::Dataset(inputs);
        let again = OutputsAgain { inputs: &inputs, threads: request.params.threads, session };
        let outputs = again
            .load(outputs, &data.outputs, document.sources.model.as_ref())
            .map_err(|failure| failure.with_hint(Hint::WhereReferenceOutputs))?;
        Ok(Self { document, embedding, inputs, outputs: Array::Dataset(outputs) })
    }

    fn reference(&self, params: &SpadeParams, session: &Session<'_>) -> Result<Reference<'_>, Failure> {
        let samples = PairedSamples::new(self.inputs.samples()?, self.outputs.samples()?)?;
        // `check_fit` has seen that the graphs are those of the defaults.
        let stored =
            self.document.params().map_err(|error| Usage::UnknownWord { reason: error.to_string() })?;
        let params = params
            .clone()
            .with_neighbors(self.document.neighbors.used)
            .with_input_metric(stored.input_metric)
            .with_output_metric(stored.output_metric)
            .with_standardize(stored.standardize)
            .with_ties(stored.ties);
        let eigenvalues = self.document.spectrum.eigenvalues.clone();
        Ok(Reference::new(samples, eigenvalues, self.embedding.clone(), &params, session.monitor())?)
    }
}

/// New samples join kNN graphs of unit weights, and are scored by the embedding.
fn check_fit(document: &ScoreDocument) -> Result<(), Failure> {
    let ScoreDocument { method: MethodDocument { graph, weights, .. }, graphs, full_spectrum, .. } = document;
    let is_plain = *graph == GraphKind::default().to_string() && *weights == Weights::default().to_string();
    let reason = if graphs.input.construction.given || graphs.output.construction.given {
        "its graphs were given, so it is unknown how new samples would join them".to_owned()
    } else if !is_plain {
        format!(
            "new samples can only join knn graphs with unit weights, but its graphs are {graph} with {weights} weights"
        )
    } else if full_spectrum.is_some() {
        "its scores use all eigenpairs, but scores of new samples use only the largest ones".to_owned()
    } else {
        return Ok(());
    };
    Err(Usage::NoReference { reason }.into())
}

fn read_embedding(folder: &Path, document: &ScoreDocument) -> Result<SpectralEmbedding, Failure> {
    let path = folder.join("embedding.npy");
    let array = load(&path.display().to_string())
        .map_err(|error| Failure::from(error).with_hint(Hint::MakeReference))?;
    let expected = [document.samples, document.spectrum.eigenvalues.len()];
    let samples = array.samples()?;
    match samples.values() {
        Values::F64(values) if array.shape() == expected => {
            Ok(SpectralEmbedding::from_rows(expected[1], values.to_vec()))
        }
        _ => {
            let got = array.shape().to_vec();
            Err(Failure::from(Usage::EmbeddingShape { expected, got }).about_file(&path))
        }
    }
}

fn samples_of<'s>(side: &'s SideView<'_>) -> Result<&'s Samples<'s>, Failure> {
    side.samples().ok_or_else(|| Usage::RowsNeeded { by: "scoring new samples" }.into())
}

/// A mismatch with the reference concerns one file or both. Arrays in memory are named by the error itself.
fn with_files(error: CoreError, inputs: &SideView<'_>, outputs: &SideView<'_>) -> Failure {
    let place = match &error {
        CoreError::ZeroRows { .. } => {
            let failure = Failure::from(error).with_hint(Hint::ZeroRowsOfReference);
            return failure.naming_array(inputs.file_name(), |_| outputs.file_name());
        }
        _ if !(inputs.is_file() && outputs.is_file()) => return error.into(),
        CoreError::ReferenceDim { side: Side::Input, .. } => inputs.name().to_owned(),
        CoreError::ReferenceDim { side: Side::Output, .. } => outputs.name().to_owned(),
        CoreError::ShapeMismatch { .. } => format!("{} and {}", inputs.name(), outputs.name()),
        _ => return error.into(),
    };
    Failure::from(error).about(Subject::Place(place))
}

fn note_scores(reference: &ScoreDocument, scores: &NewScores, session: &Session<'_>) {
    if scores.averaged > 0 {
        session.note(
            NoteCode::MeansOfNeighbors,
            format!(
                "{} of {} entries of eigenvectors are means over output neighbors: the eigenvalues are too close to 1 to say more",
                scores.averaged,
                scores.embedding.values().len()
            ),
        );
    }
    let samples = match scores.quantiles.len() {
        1 => "1 new sample".to_owned(),
        samples => format!("{samples} new samples"),
    };
    for (side, far) in [("inputs", &scores.far_inputs), ("outputs", &scores.far_outputs)] {
        if let Some(first) = far.first() {
            session.note(
                NoteCode::FarFromReference,
                format!(
                    "the {side} of {} of {samples} are far from the reference (the first: sample {first}): farther from \
                     the nearest reference sample than any reference sample from its {} nearest; these scores are \
                     extrapolated",
                    far.len(),
                    reference.neighbors.used
                ),
            );
        }
    }
    if reference.graphs.bridges() > 0 {
        let whose = match session.voice() {
            Voice::Command => "the reference",
            Voice::Python => "the fitted graphs",
        };
        session.note(
            NoteCode::ReferenceBridges,
            format!("the bridges of {whose} do not count as neighbors of new samples"),
        );
    }
}

fn document(
    request: &NewSamplesRequest<'_>,
    reference: &ScoreDocument,
    scores: &NewScores,
    labels: Option<&Labels>,
    began: Instant,
) -> NewSamplesDocument {
    let node = |NodeScore { index, score, .. }| NewNodeDocument {
        index,
        score,
        quantile: scores.quantiles[index],
        label: labels.map(|labels| labels::text(labels, index)),
    };
    let result = match &request.reference {
        ReferenceSource::Folder { path, .. } => folder_of(path).display().to_string(),
        ReferenceSource::Scored { .. } => String::new(),
    };
    NewSamplesDocument {
        schema: SCHEMA.to_owned(),
        samples: scores.quantiles.len(),
        reference: ReferenceDocument {
            result,
            model_score: reference.spectrum.model_score,
            samples: reference.samples,
            neighbors: reference.neighbors.used,
            eigenpairs: reference.method.eigenpairs,
            distances: reference.made.request.distances.clone(),
        },
        known: scores.known,
        averaged: scores.averaged,
        far_inputs: scores.far_inputs.len(),
        far_outputs: scores.far_outputs.len(),
        top_nodes: scores.node_scores.top(request.top).into_iter().map(node).collect(),
        written: Vec::new().into(),
        total_s: began.elapsed().as_secs_f64(),
    }
}

impl NewlyScored {
    /// result.json and the table of samples: index, label, score, rank, quantile.
    fn write(&self, folder: &ResultFolder<'_>) -> Result<(), Failure> {
        let (path, formats) = (folder.path(), folder.tables());
        folder.write_document(&self.document)?;
        let NewScores { node_scores, quantiles, .. } = &self.scores;
        let samples = quantiles.len();
        let indices: Vec<i64> = (0..samples as i64).collect();
        let ranks: Vec<i64> = node_scores.ranks().into_iter().map(|rank| rank as i64).collect();
        let words: Vec<String> = match &self.labels {
            None => vec![String::new(); samples],
            Some(labels) => (0..samples).map(|index| labels::text(labels, index)).collect(),
        };
        let columns = [
            ("index", Column::I64(&indices)),
            ("label", Column::Utf8(&words)),
            ("score", Column::F64(node_scores.scores())),
            ("rank", Column::I64(&ranks)),
            ("quantile", Column::F64(quantiles)),
        ];
        tables::write(path, "nodes", formats, &columns)?;
        if formats.contains(&TableFormat::Npy) {
            write_npy(&path.join("node_scores.npy"), &[samples], node_scores.scores())?;
        }
        Ok(())
    }
}
