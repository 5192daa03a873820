//! From the two sides of a model to its scores.
//!
//! Read [`evaluate`] first: it is the method from top to bottom. The other functions of this module use the same three steps
//! ([`graphs_of`], [`spectrum_of`], [`scores_of`]), and every graph is made in `graphs.rs`.

mod asked_graphs;
mod average_indices;
mod compare;
mod distortion;
mod evaluate;
mod graphs;
mod intervals;
mod keeper;
mod layers;
mod manifold;
mod models;
mod neighbor_graph;
mod params;
mod reference;
mod report;
mod resumed_spectrum;
mod search_cache;
mod shared_search;
mod sparsify;
mod steps;
mod sweep;

pub use average_indices::{AverageIndices, INDEX_EDGES, INDEX_ROWS};
pub use compare::{ComparedModel, Comparison, FRAGILE, PairAgreement, compare};
pub use distortion::{
    DistortionParams, EdgeDistances, MeasuredDistortion, MeasuredPair, PairGroup, measure_distortion,
};
pub use evaluate::{evaluate, evaluate_with};
pub use intervals::{INTERVAL_LEVEL, Interval, Intervals, SUBSAMPLES, intervals, permuted_score};
pub use keeper::{KeepNothing, Keeper};
pub use layers::{LayerScore, LayerScores, score_layers};
pub use manifold::{Manifold, ManifoldPair};
pub use models::{Model, ModelSet};
pub use neighbor_graph::neighbor_graph;
pub use params::{SpadeParams, Spectrum};
pub use reference::{NewScores, Reference};
pub use report::{
    Construction, Diagnostics, ModelGraphs, SolvedSpectrum, SpadeReport, Timings, bytes_after_search,
};
pub use shared_search::SharedSearch;
pub use sparsify::{SparsifierInfo, sparsify};
pub use steps::{graphs_of, scores_of, spectrum_around, spectrum_of};
pub use sweep::{StableRange, Sweep, SweepPoint, SweepScore, SweepScores, sweep};
