#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accuracy;
mod ball_search;
mod batch;
mod black_box;
mod block_tree;
mod chances;
mod columns;
mod copies;
mod corner_search;
mod descent;
mod directions;
mod error;
mod fragility;
mod grid;
pub mod intervals;
mod journal;
mod kind;
mod margins;
mod neighborhood_overlap;
mod output_change;
mod pilots;
mod probe;
mod radius;
mod range;
mod sample_facts;
mod search;
mod smoothness;
mod task;
mod unevenness;
mod variants;

pub use accuracy::{accuracy, predictions};
pub use batch::{Chance, ProbedSample, Scatter, Variant};
pub use black_box::RunRows;
pub use error::{Error, Result};
pub use fragility::{Fragility, FragilityBasis, SampleSignals};
pub use grid::{ChannelOrder, Grid};
pub use kind::{Probe, ProbeKind, ProbeNorm, RadiusUnit};
pub use margins::{MarginKind, Margins};
pub use neighborhood_overlap::NeighborhoodOverlap;
pub use output_change::{OutputChange, ProbedOutputs, probe_regressor, spread};
pub use probe::{
    PROBES, ProbeOutcome, ProbeParams, ProbeSummary, Probed, broken_variants, probe_model, probed_manifold,
};
pub use radius::parse_radius;
pub use sample_facts::SampleFacts;
pub use smoothness::Smoothness;
pub use task::{OutputKind, Task};
pub use unevenness::Unevenness;
pub use variants::{VariantParams, Varied, VariedSample, VariedSummary, probe_variants};
