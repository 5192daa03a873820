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
mod probe;
mod sample_facts;
mod search;
mod smoothness;

pub use accuracy::{accuracy, predictions};
pub use batch::{ProbedSample, Scatter};
pub use error::{Error, Result};
pub use fragility::{Fragility, FragilityBasis, SampleSignals};
pub use grid::{ChannelOrder, Grid};
pub use kind::{Probe, ProbeKind, ProbeNorm};
pub use margins::{MarginKind, Margins};
pub use probe::{PROBES, ProbeParams, ProbeSummary, Probed, probe_model, probed_manifold};
pub use sample_facts::SampleFacts;
pub use smoothness::{Smoothness, smoothness_ranks};
