//! Margins and indices of a scored model, as parts of its document.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::laplacian::Estimate;
use spadework::pipeline::AverageIndices;
use spadework::scores::Spread;
use spadework_probe::Margins;

/// Mean and quantiles of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpreadDocument {
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub least: f64,
    /// 5 % lie below.
    pub p5: f64,
    /// 25 % lie below.
    pub p25: f64,
    /// Half lie below.
    pub median: f64,
    /// 75 % lie below.
    pub p75: f64,
    /// 95 % lie below.
    pub p95: f64,
    /// The largest.
    pub largest: f64,
}

/// By how much a classifier's decisions lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MarginsDocument {
    /// `labeled`: the output of a sample's label less the largest other. `predicted`: the largest output less the second.
    pub kind: String,
    /// How they are spread.
    #[serde(flatten)]
    pub spread: SpreadDocument,
}

/// AverageIndices that are found where they are asked for.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IndicesDocument {
    /// tr(L_Y⁺L_X)/(n − 1), the mean of all eigenvalues.
    pub mean_eigenvalue: EstimateDocument,
    /// Input edges that were drawn for the distortions.
    pub edges: usize,
    /// Their distortion by hops.
    pub geodesic: SpreadDocument,
    /// Their distortion by effective resistance; none where the input graph was given in several pieces.
    pub resistance: Option<SpreadDocument>,
    /// Trustworthiness and continuity; none where a side was given as a graph.
    pub neighborhoods: Option<NeighborhoodsDocument>,
}

/// A number that was estimated from random vectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EstimateDocument {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Random vectors.
    pub vectors: usize,
}

/// How far neighborhoods survive, from 0 to 1 each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NeighborhoodsDocument {
    /// How near the neighbors at the output have been at the input.
    pub trustworthiness: f64,
    /// How near the neighbors at the input are at the output.
    pub continuity: f64,
    /// Samples whose neighbors were ranked.
    pub rows: usize,
}

impl From<Spread> for SpreadDocument {
    fn from(spread: Spread) -> Self {
        let Spread { mean, least, p5, p25, median, p75, p95, largest, .. } = spread;
        Self { mean, least, p5, p25, median, p75, p95, largest }
    }
}

impl From<&Margins> for MarginsDocument {
    fn from(margins: &Margins) -> Self {
        Self { kind: margins.kind().to_string(), spread: margins.spread().into() }
    }
}

impl From<Estimate> for EstimateDocument {
    fn from(estimate: Estimate) -> Self {
        let Estimate { value, standard_error, vectors, .. } = estimate;
        Self { value, standard_error, vectors }
    }
}

impl From<AverageIndices> for IndicesDocument {
    fn from(indices: AverageIndices) -> Self {
        let AverageIndices { mean_eigenvalue, edges, geodesic, resistance, neighborhoods, .. } = indices;
        Self {
            mean_eigenvalue: mean_eigenvalue.into(),
            edges,
            geodesic: geodesic.into(),
            resistance: resistance.map(Into::into),
            neighborhoods: neighborhoods.map(|found| NeighborhoodsDocument {
                trustworthiness: found.trustworthiness,
                continuity: found.continuity,
                rows: found.rows,
            }),
        }
    }
}
