//! Coordinates of the samples from each graph and from both, in two or more dimensions (A.6).

use std::path::Path;

use spadework::eigen::{EigenParams, EigenProblem, lowest_modes};
use spadework::error::Readable;
use spadework::graph::ConnectedGraph;
use spadework::monitor::{Monitor, Stage};
use spadework::pipeline::{KeepNothing, graphs_of};
use spadework::threads::with_threads;
use spadework::{Error as CoreError, GraphPair, SpadeParams};
use spadework_document::embed::{EmbedDocument, EmbeddingDocument, SCHEMA};
use spadework_io::Labels;
use spadework_io::output::{OutputFile, write_bytes, write_npy};

use crate::data::ModelData;
use crate::failure::Failure;
use crate::observer::{Observer, Session};
use crate::sides::with_sides;
use crate::tables::csv_field;
use crate::usage::Usage;
use crate::{labels, notes};

/// What is embedded.
#[derive(Debug, Clone)]
pub struct EmbedRequest<'a> {
    /// The model.
    pub data: ModelData<'a>,
    /// How its graphs are made and the eigenpairs found; `eigenpairs` is not used.
    pub params: SpadeParams,
    /// Dimensions of every embedding.
    pub dims: usize,
    /// A file for the coordinates.
    pub file: Option<(&'a Path, EmbeddingFormat)>,
}

/// Formats of the coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingFormat {
    /// A table, one row per sample.
    Csv,
    /// An array of embeddings × samples × dimensions.
    Npy,
}

/// One set of coordinates.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// `input`, `output` or `generalized`.
    pub of: &'static str,
    /// One eigenvalue per dimension.
    pub eigenvalues: Vec<f64>,
    /// Relative residual of each eigenpair.
    pub residuals: Vec<f64>,
    /// One vector per dimension.
    pub coordinates: Vec<Vec<f64>>,
}

/// Coordinates of the samples from each graph and from both.
#[derive(Debug, Clone)]
pub struct Embedded {
    /// By the input graph, by the output graph, and by both.
    pub embeddings: [Embedding; 3],
    /// The labels of the samples.
    pub labels: Option<Labels>,
    /// All of it as a document, with the coordinates unless they are in a file.
    pub document: EmbedDocument,
}

/// Embeds the samples.
///
/// # Errors
/// When the request makes no sense, its files cannot be read or written, or the problem has no answer as posed.
pub fn embed(request: &EmbedRequest<'_>, observer: &dyn Observer) -> Result<Embedded, Failure> {
    let EmbedRequest { data, params, .. } = request;
    params.check()?;
    // Opened and given up again: a place that cannot be written is found out before the work begins.
    request.file.map(|(path, _)| OutputFile::create(path)).transpose()?;
    let session = Session::new(observer);
    let (made, labels) = with_sides(data, params, &session, |sides| {
        let made = graphs_of(&sides.pair, params, &KeepNothing, session.monitor())
            .map_err(|error| Failure::of_evaluation(error, params))?;
        Ok((made, sides.known.labels.clone()))
    })?;
    notes::about_graphs(&made.diagnostics, made.graphs.nodes(), &session);
    let eigen = params.eigen_params().with_eigenpairs(request.dims);
    let embeddings = with_threads(params.threads, || embeddings(&made.graphs, &eigen, session.monitor()))
        .map_err(with_argument)?;
    let mut document = document(request, &embeddings);
    document.made.notes = session.notes();
    let embedded = Embedded { embeddings, labels, document };
    match request.file {
        Some((path, EmbeddingFormat::Csv)) => write_bytes(path, embedded.csv().as_bytes())?,
        Some((path, EmbeddingFormat::Npy)) => {
            let shape = [embedded.embeddings.len(), embedded.samples(), request.dims];
            write_npy(path, &shape, &*embedded.rows())?;
        }
        None => {}
    }
    Ok(embedded)
}

fn embeddings(
    graphs: &GraphPair,
    params: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<[Embedding; 3], CoreError> {
    monitor.begin(Stage::Modes);
    let by_graph = |of: &'static str, graph: &ConnectedGraph| -> Result<Embedding, CoreError> {
        let modes = lowest_modes(graph, params, monitor)?;
        Ok(Embedding {
            of,
            eigenvalues: modes.values().to_vec(),
            residuals: modes.residuals().to_vec(),
            coordinates: modes.vectors().to_vec(),
        })
    };
    let input_graph = graphs.connected_input()?;
    let input = by_graph("input", &input_graph)?;
    let output = by_graph("output", graphs.connected_output())?;
    monitor.begin(Stage::Eigenpairs);
    let pairs = EigenProblem::new(graphs, params.seed).dominant_eigenpairs(params, monitor)?;
    let scaled = |(vector, value): (&Vec<f64>, &f64)| vector.iter().map(|v| v * value.sqrt()).collect();
    let both = Embedding {
        of: "generalized",
        eigenvalues: pairs.values().to_vec(),
        residuals: pairs.residuals().to_vec(),
        coordinates: pairs.vectors().iter().zip(pairs.values()).map(scaled).collect(),
    };
    Ok([input, output, both])
}

/// A dimension is an eigenpair, but the user asked for dimensions.
fn with_argument(error: CoreError) -> Failure {
    match error {
        CoreError::TooManyEigenpairs { eigenpairs: dims, samples } => {
            Usage::TooManyDimensions { samples, dims }.into()
        }
        CoreError::TooFewEigenvalues { eigenpairs: dims, positive } => {
            Usage::TooFewEigenvalues { positive, dims }.into()
        }
        error => error.into(),
    }
}

fn document(request: &EmbedRequest<'_>, embeddings: &[Embedding]) -> EmbedDocument {
    let one = |embedding: &Embedding| EmbeddingDocument {
        of: embedding.of.to_owned(),
        eigenvalues: embedding.eigenvalues.clone(),
        residuals: embedding.residuals.clone(),
        coordinates: request
            .file
            .is_none()
            .then(|| (0..embedding.samples()).map(|sample| embedding.row(sample)).collect()),
    };
    EmbedDocument {
        schema: SCHEMA.to_owned(),
        samples: embeddings[0].samples(),
        dims: request.dims,
        seed: request.params.seed,
        embeddings: embeddings.iter().map(one).collect(),
        made: (&request.params).into(),
    }
}

impl Embedding {
    fn row(&self, sample: usize) -> Vec<f64> {
        self.coordinates.iter().map(|vector| vector[sample]).collect()
    }

    fn samples(&self) -> usize {
        self.coordinates[0].len()
    }
}

impl Embedded {
    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.embeddings[0].samples()
    }

    /// All coordinates, one embedding after the other, row after row.
    fn rows(&self) -> Vec<f64> {
        let of_one = |embedding: &Embedding| -> Vec<f64> {
            (0..embedding.samples()).flat_map(|sample| embedding.row(sample)).collect()
        };
        self.embeddings.iter().flat_map(of_one).collect()
    }

    /// The coordinates as CSV with a header, one row per sample.
    pub fn csv(&self) -> String {
        let columns = self.embeddings.iter().flat_map(|embedding| {
            (1..=embedding.coordinates.len()).map(move |dim| format!("{}_{dim}", embedding.of))
        });
        let mut table = format!("index,label,{}\n", columns.collect::<Vec<_>>().join(","));
        for sample in 0..self.samples() {
            let label = self.labels.as_ref().map(|labels| csv_field(&labels::text(labels, sample)));
            let numbers = self.embeddings.iter().flat_map(|embedding| embedding.row(sample));
            let numbers: Vec<String> = numbers.map(|number| Readable(number).to_string()).collect();
            table.push_str(&format!("{sample},{},{}\n", label.unwrap_or_default(), numbers.join(",")));
        }
        table
    }
}
