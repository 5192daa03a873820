#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compare;
mod error;
mod evaluate;
mod findings;
mod indices;
mod interval;
mod kernels;
mod layers;
mod manifold;
mod measure;
mod models;
mod monitor;
mod params;
mod random;
mod reference;
mod report;
mod samples;
mod side;
mod stages;
mod sweep;
mod threads;

pub mod eigen;
pub mod graph;
pub mod laplacian;
pub mod neighbors;
pub mod probe;
pub mod scores;

pub use compare::{ComparedModel, Comparison, FRAGILE, PairAgreement, compare};
pub use eigen::{
    EigenParams, EigenProblem, Enclosure, EnclosureMethod, GeneralizedEigenpairs, dominant_eigenpairs,
};
pub use error::{Error, Result};
pub use evaluate::{evaluate, evaluate_graphs, evaluate_manifolds, graphs_of};
pub use findings::SharedSearch;
pub use graph::{ConnectedGraph, Graph, GraphKind, GraphPair, Weights};
pub use indices::{INDEX_EDGES, INDEX_ROWS, Indices};
pub use interval::{INTERVAL_LEVEL, Interval, Intervals, SUBSAMPLES, intervals, permuted_score};
pub use kernels::{Kernels, with_kernels};
pub use laplacian::Laplacian;
pub use layers::{LayerScore, LayerScores, score_layers};
pub use manifold::{Manifold, ManifoldPair};
pub use measure::{
    DistortionParams, EdgeDistances, MeasuredDistortion, MeasuredPair, PairGroup, measure_distortion,
};
pub use models::{Inputs, Model, ModelSet};
pub use monitor::{Monitor, Silent, Stage};
pub use neighbors::{ApproximateSearch, AutomaticSearch, ExactSearch, NeighborLists, NeighborSearch, Recall};
pub use params::{Certainty, Connectivity, SearchMethod, SpadeParams, Spectrum, UnknownWord};
pub use reference::{NewScores, Reference};
pub use report::{Construction, Diagnostics, SpadeReport, Timings};
pub use samples::{PairedSamples, Samples, Side, Values};
pub use scores::{EdgeScores, ModelScore, NodeScores, SpectralEmbedding, label_scores};
pub use stages::{SolvedSpectrum, scores_of, spectrum_around, spectrum_of};
pub use sweep::{StableRange, Sweep, SweepPoint, SweepScore, SweepScores, sweep};
pub use threads::with_threads;
