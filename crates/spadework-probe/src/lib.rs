#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod accuracy;
mod batch;
mod black_box;
mod copies;
mod error;
mod fragility;
mod grid;
pub mod intervals;
mod kind;
mod margins;
mod neighborhood_overlap;
mod probe;
mod sample_facts;
mod search;

pub use accuracy::{accuracy, correct, predictions};
pub use batch::{ProbedSample, Scatter};
pub use error::{Error, Result};
pub use fragility::{Fragility, FragilityBasis, SampleSignals};
pub use grid::{ChannelOrder, Grid};
pub use kind::{Probe, ProbeKind, ProbeNorm};
pub use margins::{MarginKind, Margins};
pub use neighborhood_overlap::NeighborhoodOverlap;
pub use probe::{PROBES, ProbeOutcome, ProbeParams, ProbeSummary, Probed, probe_model, probed_manifold};
pub use sample_facts::SampleFacts;
