//! The result of measuring distortions as a document: what `distortion --json` prints.
//!
//! The fields and their names are an interface: they change only with the number in [`SCHEMA`].

use std::collections::BTreeMap;

use serde::Serialize;
use serde_with::skip_serializing_none;
use spadework::SpadeReport;
use spadework::laplacian::SketchInfo;
use spadework::pipeline::{EdgeDistances, MeasuredDistortion, MeasuredPair};
use spadework::scores::{
    BOOTSTRAPS, CONFIDENCE, Contrast, Distortion, LargestDistortion, MeanInterval, PERMUTATIONS,
};

use crate::parts::MadeDocument;
use crate::score::NeighborsDocument;
use crate::stored::indented_json;
use spadework_io::Labels;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.distortion/2";

/// Distances of pairs, boundaries, and the bounds of both.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize)]
pub struct DistortionDocument {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// SPADE score λ_1.
    pub model_score: f64,
    /// Number of samples.
    pub samples: usize,
    /// Neighbors per sample, k.
    pub neighbors: NeighborsDocument,
    /// Kind of graph.
    pub graph: String,
    /// Kind of edge weights.
    pub weights: String,
    /// Edges of the input graph.
    pub input_edges: usize,
    /// Edges of the output graph.
    pub output_edges: usize,
    /// Number of eigenpairs, r.
    pub eigenpairs: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Number of top edges, and of random edges.
    pub top: usize,
    /// One entry per kind of distance.
    pub distances: [ContrastDocument; 2],
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Bootstrap samples of each.
    pub bootstraps: usize,
    /// Permutations of each test.
    pub permutations: usize,
    /// The largest distortion found.
    pub largest: LargestDocument,
    /// Pairs that were requested.
    pub pairs: Vec<PairDocument>,
    /// The sparsest cut found.
    pub cut: CutDocument,
    /// Reverse score λ_max(L_X⁺L_Y).
    pub reverse_score: f64,
    /// The larger of the SPADE score and the reverse score.
    pub bi_lipschitz: f64,
    /// The distance between the graphs as a whole.
    pub riemannian: RiemannianDocument,
    /// Every edge of the input graph, if requested.
    pub all_edges: Option<AllEdgesDocument>,
    /// Request, notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
}

/// Top edges compared with random edges, by one kind of distance.
#[derive(Debug, Clone, Serialize)]
pub struct ContrastDocument {
    /// `geodesic` or `resistance`.
    pub distance: &'static str,
    /// Mean distortion of the top edges.
    pub top: MeanDocument,
    /// Mean distortion of the random ones.
    pub random: MeanDocument,
    /// Probability of a difference this large if the edges were assigned to the groups at random.
    pub p_value: f64,
}

/// A mean with its interval.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MeanDocument {
    /// The mean.
    pub mean: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end of its interval.
    pub upper: f64,
}

/// A pair of large distortion, and the bound of all.
#[derive(Debug, Clone, Serialize)]
pub struct LargestDocument {
    /// One sample.
    pub p: u32,
    /// The other.
    pub q: u32,
    /// γ of the pair, by resistance.
    pub distortion: f64,
    /// SPADE score λ_1.
    pub bound: f64,
    /// Their ratio.
    pub tightness: f64,
}

/// A distance on both sides.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct DistanceDocument {
    /// At the input.
    pub input: f64,
    /// At the output.
    pub output: f64,
    /// Output distance divided by input distance.
    pub distortion: f64,
}

/// A pair that was requested.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize)]
pub struct PairDocument {
    /// One sample.
    pub p: u32,
    /// The other.
    pub q: u32,
    /// Its edge score, if it is an edge of the input graph.
    pub score: Option<f64>,
    /// By hops.
    pub geodesic: DistanceDocument,
    /// By resistance.
    pub resistance: DistanceDocument,
}

/// A cut: a set of samples and the edges that leave it.
#[derive(Debug, Clone, Serialize)]
pub struct CutDocument {
    /// Samples on the smaller side.
    pub samples: usize,
    /// Weight of the input edges across the cut.
    pub input: f64,
    /// Weight of the output edges across the cut.
    pub output: f64,
    /// ζ(S).
    pub distortion: f64,
    /// 1/λ_1.
    pub bound: f64,
    /// How many samples of each label are on the smaller side, most first; empty if there are no labels.
    pub labels: Vec<CutLabelDocument>,
}

/// One label on both sides of a cut.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize)]
pub struct CutLabelDocument {
    /// The label.
    pub label: i64,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Samples of it on the smaller side.
    pub inside: usize,
    /// Samples of it.
    pub samples: usize,
}

/// The Riemannian distance.
#[derive(Debug, Clone, Serialize)]
pub struct RiemannianDocument {
    /// δ.
    pub distance: f64,
    /// Eigenvalues used.
    pub eigenvalues: usize,
    /// Whether these are all eigenvalues.
    pub all: bool,
}

/// Every edge of the input graph.
#[derive(Debug, Clone, Serialize)]
pub struct AllEdgesDocument {
    /// Their number.
    pub edges: usize,
    /// Mean distortion by hops.
    pub mean_geodesic_distortion: f64,
    /// Mean distortion by resistance.
    pub mean_resistance_distortion: f64,
    /// How accurate the resistances are.
    pub resistances: SketchInfo,
}

impl DistortionDocument {
    /// The document of a scored model and of what was measured of it.
    pub fn new(report: &SpadeReport, labels: Option<&Labels>, measured: &MeasuredDistortion) -> Self {
        let connection = &report.diagnostics.connection;
        let riemannian = &measured.riemannian;
        Self {
            schema: SCHEMA,
            model_score: report.model_score.0,
            samples: report.graphs.nodes(),
            neighbors: NeighborsDocument { requested: connection.requested, used: connection.used },
            graph: report.diagnostics.params.graph.to_string(),
            weights: report.diagnostics.params.weights.to_string(),
            input_edges: report.graphs.input().edge_count(),
            output_edges: report.graphs.output().edge_count(),
            eigenpairs: report.diagnostics.params.eigenpairs,
            seed: report.diagnostics.params.seed,
            top: measured.top,
            distances: [
                ContrastDocument::new("geodesic", &measured.geodesic),
                ContrastDocument::new("resistance", &measured.resistance),
            ],
            confidence: CONFIDENCE,
            bootstraps: BOOTSTRAPS,
            permutations: PERMUTATIONS,
            largest: LargestDocument::new(&measured.largest),
            pairs: measured.pairs[2 * measured.top..].iter().map(PairDocument::new).collect(),
            cut: CutDocument::new(labels, measured),
            reverse_score: measured.reverse.score,
            bi_lipschitz: measured.reverse.bi_lipschitz,
            riemannian: RiemannianDocument {
                distance: riemannian.distance,
                eigenvalues: riemannian.eigenvalues,
                all: riemannian.all,
            },
            all_edges: measured.all_edges.as_ref().map(AllEdgesDocument::new),
            made: (&report.diagnostics.params).into(),
        }
    }

    /// The document as indented JSON.
    ///
    /// # Panics
    /// Never: every field can be written.
    pub fn to_json(&self) -> String {
        indented_json(self)
    }
}

impl ContrastDocument {
    fn new(distance: &'static str, contrast: &Contrast) -> Self {
        let mean = |MeanInterval { mean, lower, upper, .. }| MeanDocument { mean, lower, upper };
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
    fn new(labels: Option<&Labels>, measured: &MeasuredDistortion) -> Self {
        let cut = &measured.cut;
        Self {
            samples: cut.samples().len(),
            input: cut.input(),
            output: cut.output(),
            distortion: cut.ratio(),
            bound: measured.largest.bound.recip(),
            labels: labels_inside(labels, cut.samples()),
        }
    }
}

fn labels_inside(labels: Option<&Labels>, samples: &[u32]) -> Vec<CutLabelDocument> {
    let Some(labels) = labels else { return Vec::new() };
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
    fn new(edges: &EdgeDistances) -> Self {
        let count = edges.hops.len();
        let ratios: f64 = edges.resistances.iter().map(Distortion::ratio).sum();
        Self {
            edges: count,
            mean_geodesic_distortion: edges.hops.iter().map(|&hops| f64::from(hops)).sum::<f64>()
                / count as f64,
            mean_resistance_distortion: ratios / count as f64,
            resistances: edges.info,
        }
    }
}
