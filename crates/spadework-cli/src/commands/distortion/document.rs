//! What `spadework distortion --json` prints.

use std::collections::BTreeMap;

use serde::Serialize;
use spadework::scores::{
    BOOTSTRAPS, CONFIDENCE, Contrast, Distortion, LargestDistortion, MeanInterval, PERMUTATIONS,
};
use spadework_io::result::{FullSpectrumDocument, NeighborsDocument};

use super::{AllEdges, Measured, MeasuredPair};
use crate::run::Scored;

#[derive(Debug, Serialize)]
pub(super) struct DistortionDocument {
    schema: &'static str,
    pub(super) model_score: f64,
    pub(super) samples: usize,
    pub(super) neighbors: NeighborsDocument,
    pub(super) graph: String,
    pub(super) weights: String,
    /// Edges of the input and of the output graph.
    pub(super) input_edges: usize,
    pub(super) output_edges: usize,
    eigenpairs: usize,
    seed: u64,
    pub(super) top: usize,
    /// One entry a notion of distance.
    pub(super) distances: [ContrastDocument; 2],
    pub(super) confidence: f64,
    bootstraps: usize,
    permutations: usize,
    pub(super) largest: LargestDocument,
    pub(super) pairs: Vec<PairDocument>,
    pub(super) cut: CutDocument,
    pub(super) reverse_score: f64,
    pub(super) bi_lipschitz: f64,
    pub(super) riemannian: RiemannianDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) all_edges: Option<AllEdgesDocument>,
    version: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct ContrastDocument {
    pub(super) distance: &'static str,
    pub(super) top: MeanDocument,
    pub(super) random: MeanDocument,
    pub(super) p_value: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct MeanDocument {
    pub(super) mean: f64,
    pub(super) lower: f64,
    pub(super) upper: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct LargestDocument {
    pub(super) p: u32,
    pub(super) q: u32,
    /// γ of the pair, by resistance.
    pub(super) distortion: f64,
    /// λ_1.
    pub(super) bound: f64,
    pub(super) tightness: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct DistanceDocument {
    input: f64,
    output: f64,
    pub(super) distortion: f64,
}

/// A pair that was asked for.
#[derive(Debug, Serialize)]
pub(super) struct PairDocument {
    pub(super) p: u32,
    pub(super) q: u32,
    /// Where it is an edge of the input graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    pub(super) geodesic: DistanceDocument,
    pub(super) resistance: DistanceDocument,
}

#[derive(Debug, Serialize)]
pub(super) struct CutDocument {
    /// Samples on the smaller side.
    pub(super) samples: usize,
    pub(super) input: f64,
    pub(super) output: f64,
    /// ζ(S).
    pub(super) distortion: f64,
    /// 1/λ_1.
    pub(super) bound: f64,
    /// How many samples of each label are on the smaller side, most first; empty where there are no labels.
    pub(super) labels: Vec<CutLabelDocument>,
}

#[derive(Debug, Serialize)]
pub(super) struct CutLabelDocument {
    pub(super) label: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) inside: usize,
    pub(super) samples: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct RiemannianDocument {
    pub(super) distance: f64,
    pub(super) eigenvalues: usize,
    pub(super) all: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct AllEdgesDocument {
    pub(super) edges: usize,
    pub(super) mean_geodesic_distortion: f64,
    pub(super) mean_resistance_distortion: f64,
    pub(super) resistances: FullSpectrumDocument,
}

impl DistortionDocument {
    pub(super) fn new(scored: &Scored, measured: &Measured, top: usize) -> Self {
        let report = &scored.report;
        let connection = &report.diagnostics.connection;
        let riemannian = &measured.riemannian;
        Self {
            schema: "spadework.distortion/1",
            model_score: report.model_score.0,
            samples: report.graphs.nodes(),
            neighbors: NeighborsDocument { requested: connection.requested, used: connection.used },
            graph: report.diagnostics.params.graph.to_string(),
            weights: report.diagnostics.params.weights.to_string(),
            input_edges: report.graphs.input().edge_count(),
            output_edges: report.graphs.output().edge_count(),
            eigenpairs: report.diagnostics.params.eigenpairs,
            seed: report.diagnostics.params.seed,
            top,
            distances: [
                ContrastDocument::new("geodesic", &measured.geodesic),
                ContrastDocument::new("resistance", &measured.resistance),
            ],
            confidence: CONFIDENCE,
            bootstraps: BOOTSTRAPS,
            permutations: PERMUTATIONS,
            largest: LargestDocument::new(&measured.largest),
            pairs: measured.pairs[2 * top..].iter().map(PairDocument::new).collect(),
            cut: CutDocument::new(scored, measured),
            reverse_score: measured.reverse.score,
            bi_lipschitz: measured.reverse.bi_lipschitz,
            riemannian: RiemannianDocument {
                distance: riemannian.distance,
                eigenvalues: riemannian.eigenvalues,
                all: riemannian.all,
            },
            all_edges: measured.all_edges.as_ref().map(AllEdgesDocument::new),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

impl ContrastDocument {
    fn new(distance: &'static str, contrast: &Contrast) -> Self {
        let mean = |MeanInterval { mean, lower, upper }| MeanDocument { mean, lower, upper };
        Self { distance, top: mean(contrast.top), random: mean(contrast.random), p_value: contrast.p_value }
    }
}

impl LargestDocument {
    fn new(largest: &LargestDistortion) -> Self {
        let found = &largest.found;
        let (distortion, tightness) = (found.ratio(), largest.tightness());
        Self { p: found.p, q: found.q, distortion, bound: largest.bound, tightness }
    }
}

impl PairDocument {
    fn new(pair: &MeasuredPair) -> Self {
        let distance =
            |d: &Distortion| DistanceDocument { input: d.input, output: d.output, distortion: d.ratio() };
        Self {
            p: pair.geodesic.p,
            q: pair.geodesic.q,
            score: pair.score,
            geodesic: distance(&pair.geodesic),
            resistance: distance(&pair.resistance),
        }
    }
}

impl CutDocument {
    fn new(scored: &Scored, measured: &Measured) -> Self {
        let cut = &measured.cut;
        Self {
            samples: cut.samples().len(),
            input: cut.input(),
            output: cut.output(),
            distortion: cut.ratio(),
            bound: measured.largest.bound.recip(),
            labels: labels_inside(scored, cut.samples()),
        }
    }
}

fn labels_inside(scored: &Scored, samples: &[u32]) -> Vec<CutLabelDocument> {
    let Some(labels) = &scored.labels else { return Vec::new() };
    let mut counts: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    for &label in labels.ids() {
        counts.entry(label).or_default().1 += 1;
    }
    for &index in samples {
        counts.entry(labels.ids()[index as usize]).or_default().0 += 1;
    }
    let document = |(label, (inside, samples)): (i64, (usize, usize))| CutLabelDocument {
        label,
        name: labels.class_name(label).map(str::to_owned),
        inside,
        samples,
    };
    let mut inside: Vec<_> = counts.into_iter().map(document).collect();
    inside.sort_by_key(|label| (std::cmp::Reverse(label.inside), label.label));
    inside
}

impl AllEdgesDocument {
    fn new(edges: &AllEdges) -> Self {
        let count = edges.hops.len();
        let ratios: f64 = edges.resistances.iter().map(Distortion::ratio).sum();
        Self {
            edges: count,
            mean_geodesic_distortion: edges.hops.iter().map(|&hops| f64::from(hops)).sum::<f64>()
                / count as f64,
            mean_resistance_distortion: ratios / count as f64,
            resistances: edges.info.into(),
        }
    }
}
