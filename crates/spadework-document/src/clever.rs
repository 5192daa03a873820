//! CLEVER scores as a document: what `clever --json` prints.

use serde::Serialize;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.clever/2";

/// CLEVER scores of some samples. Parameters are written as the estimator has them (`spadework-nn`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CleverDocument<'a, CleverParams: Serialize> {
    /// Name and version of the layout.
    pub schema: &'static str,
    /// The network.
    pub model: String,
    /// The inputs, as the user named them.
    pub inputs: &'a str,
    /// How the samples were chosen: `top`, `random` or `ids`.
    pub chosen: &'static str,
    /// How they were estimated, as fields of the document itself.
    #[serde(flatten)]
    pub params: &'a CleverParams,
    /// Mean score.
    pub mean: f64,
    /// Smallest score.
    pub minimum: f64,
    /// Mean score of the samples that are classified correctly; null if there are none.
    pub mean_of_correct: Option<f64>,
    /// Gradients that were computed.
    pub gradients: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// One entry per sample.
    pub scores: Vec<CleverSampleDocument>,
    /// Version of the program that wrote it.
    pub version: &'static str,
}

/// The CLEVER score of a sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CleverSampleDocument {
    /// The sample, counted from 0.
    pub index: usize,
    /// Its label.
    pub label: usize,
    /// The class that the network predicts.
    pub class: usize,
    /// CLEVER score: estimated distance that the sample can move before its class may change; larger is more robust.
    pub score: f64,
    /// The nearest other class.
    pub target: usize,
    /// Margin over that class.
    pub margin: f64,
    /// Estimated Lipschitz constant of the margin.
    pub lipschitz: f64,
    /// The largest gradient norm seen.
    pub largest: f64,
    /// `weibull`, or `maximum` if there was no fit.
    pub estimate: &'static str,
    /// Shape of the Weibull fit; null if there was none.
    pub shape: Option<f64>,
    /// Kolmogorov-Smirnov distance of the fit; null if there was none.
    pub distance: Option<f64>,
    /// Its p value; null if there was no fit.
    pub p_value: Option<f64>,
    /// Wall-clock seconds.
    pub seconds: f64,
}
