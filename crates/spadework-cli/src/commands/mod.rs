//! One file per command.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod corrupt;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod distortion;
pub(crate) mod embed;
pub(crate) mod graphs;
pub(crate) mod layers;
pub(crate) mod model;
#[cfg(feature = "networks")]
pub(crate) mod networks;
pub(crate) mod new_samples;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod score;
pub(crate) mod select;
pub(crate) mod shell;
pub(crate) mod stages;
pub(crate) mod sweep;
