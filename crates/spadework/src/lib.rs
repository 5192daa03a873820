#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[macro_use]
mod macros;

pub mod checkpoint;
pub mod eigen;
pub mod error;
pub mod graph;
pub mod kernels;
pub mod laplacian;
mod memory;
pub mod monitor;
pub mod neighbors;
pub mod pipeline;
pub mod random;
pub mod samples;
mod scaling;
pub mod scores;
mod side;
pub mod threads;

pub use error::{Error, Result};
pub use graph::{Graph, GraphPair};
pub use monitor::{Monitor, Silent};
pub use pipeline::{Manifold, ManifoldPair, Model, ModelSet, SpadeParams, SpadeReport, compare, evaluate};
pub use samples::{PairedSamples, Samples};
