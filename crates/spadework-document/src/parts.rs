//! Fields that several documents share. Each document has them as fields of its own.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::eigen::Enclosure;
use spadework::{SpadeParams, SpadeReport};

use crate::note::Note;
use crate::request::RequestDocument;
use crate::score::{
    CorruptionDocument, DataDocument, ModelFileDocument, NeighborsDocument, NumericalBoundsDocument,
};

/// The SPADE score and its spectrum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpectrumDocument {
    /// SPADE score λ_1; larger is less robust.
    pub model_score: f64,
    /// λ_1 ≥ … ≥ λ_r.
    pub eigenvalues: Vec<f64>,
    /// Relative residual of each eigenpair.
    pub residuals: Vec<f64>,
    /// Numerical bounds of the SPADE score.
    pub numerical_bounds: NumericalBoundsDocument,
}

/// The inputs and the method that several models, or the layers of one, were scored by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingsDocument {
    /// Number of samples.
    pub samples: usize,
    /// Numbers per input; 0 if a graph was given.
    pub input_dim: usize,
    /// k, the same for all.
    pub neighbors: NeighborsDocument,
    /// How they were scored, as fields of the document itself.
    #[serde(flatten)]
    pub method: MethodDocument,
}

/// How graphs and eigenpairs are computed, except k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodDocument {
    /// Kind of graph.
    pub graph: String,
    /// Kind of edge weights.
    pub weights: String,
    /// Connectivity policy.
    pub connectivity: String,
    /// Number of eigenpairs, r.
    pub eigenpairs: usize,
    /// Requested relative residual.
    pub tolerance: f64,
    /// Seed of everything random.
    pub seed: u64,
}

/// Which samples were selected.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectionDocument {
    /// Number of selected samples.
    pub top: usize,
    /// The samples, counted from 0.
    pub indices: Vec<usize>,
    /// Their names, if samples have names.
    pub ids: Option<Vec<String>>,
}

/// What a result was made from.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SourcesDocument {
    /// The arrays that were scored; only in results that were written to a folder, and only if both sides are arrays.
    pub data: Option<DataDocument>,
    /// The model that was run, if the outputs were not given as an array.
    pub model: Option<ModelFileDocument>,
    /// What was done to the inputs before, if that was requested.
    pub corruption: Option<CorruptionDocument>,
}

/// How a result was made.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeDocument {
    /// The command that made the result; only in results that were written to a folder.
    pub command: Option<String>,
    /// The requested parameters, from which the result can be computed again.
    pub request: RequestDocument,
    /// Notes: what a reader of the result must know.
    pub notes: Vec<Note>,
    /// Version of the program that wrote it.
    pub version: String,
}

/// What a reader must know, in documents that are not made again from a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrittenDocument {
    /// Notes: what a reader must know.
    pub notes: Vec<Note>,
    /// Version of the program that wrote it.
    pub version: String,
}

impl SelectionDocument {
    /// Samples in their order; `ids` are the names of all samples.
    pub fn new(indices: &[usize], ids: Option<&[String]>) -> Self {
        let named = |ids: &[String]| indices.iter().map(|&index| ids[index].clone()).collect();
        Self { top: indices.len(), indices: indices.to_vec(), ids: ids.map(named) }
    }
}

impl From<Vec<Note>> for WrittenDocument {
    /// By this version.
    fn from(notes: Vec<Note>) -> Self {
        Self { notes, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

impl SpectrumDocument {
    /// Eigenvalues from the largest on, with their residuals.
    ///
    /// # Panics
    /// When there are none.
    pub fn new(eigenvalues: &[f64], residuals: &[f64], enclosure: Enclosure) -> Self {
        Self {
            model_score: eigenvalues[0],
            eigenvalues: eigenvalues.to_vec(),
            residuals: residuals.to_vec(),
            numerical_bounds: enclosure.into(),
        }
    }
}

impl From<&SpadeReport> for SpectrumDocument {
    fn from(report: &SpadeReport) -> Self {
        let SpadeReport { eigenpairs, enclosure, .. } = report;
        Self {
            model_score: report.model_score.0,
            ..Self::new(eigenpairs.values(), eigenpairs.residuals(), *enclosure)
        }
    }
}

impl From<&SpadeParams> for MethodDocument {
    fn from(params: &SpadeParams) -> Self {
        Self {
            graph: params.graph.to_string(),
            weights: params.weights.to_string(),
            connectivity: params.connectivity.to_string(),
            eigenpairs: params.eigenpairs,
            tolerance: params.tolerance,
            seed: params.seed,
        }
    }
}

impl From<&SpadeParams> for MadeDocument {
    /// By this version, with nothing to note yet.
    fn from(params: &SpadeParams) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { command: None, request: params.into(), notes: Vec::new(), version }
    }
}
