//! How far a scored model pulls samples apart, by all measures at once: top edges compared with random ones (the paper's Table
//! 2), the largest distortion found, the sparsest cut, and the bounds of both.

use super::report::SpadeReport;
use crate::error::{Error, Result};
use crate::graph::geodesic_distances;
use crate::laplacian::{SketchInfo, SketchParams};
use crate::monitor::{Monitor, Stage};
use crate::scores::{
    Contrast, Cut, DistanceKind, Distances, Distortion, LargestDistortion, ReverseScore, RiemannianDistance,
    draw_others, sparsest_cut,
};
use crate::threads::with_threads;

/// Top edges, where the caller does not say how many.
const DEFAULT_TOP: usize = 100;

/// What to measure.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct DistortionParams {
    /// How many of the edges with the largest scores are compared with as many random ones. `None` means 100, or half of
    /// the edges if there are fewer than 200.
    pub top: Option<usize>,
    /// Pairs of samples to measure as well.
    pub pairs: Vec<(u32, u32)>,
    /// Relative error of the resistances of all edges; `None` leaves these out.
    pub all_edges: Option<f64>,
}

with_methods! { DistortionParams {
    with_top(top: Option<usize>),
    with_pairs(pairs: Vec<(u32, u32)>),
    with_all_edges(all_edges: Option<f64>),
} }

/// Everything that was measured.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MeasuredDistortion {
    /// Number of top edges, and of random ones.
    pub top: usize,
    /// The top edges, then the same number of random edges, then the requested pairs.
    pub pairs: Vec<MeasuredPair>,
    /// Top edges compared with random ones by hops.
    pub geodesic: Contrast,
    /// The same by resistance.
    pub resistance: Contrast,
    /// A pair of large distortion, and the bound for all pairs.
    pub largest: LargestDistortion,
    /// The sparsest cut found.
    pub cut: Cut,
    /// The score with the sides exchanged.
    pub reverse: ReverseScore,
    /// The distance between the graphs as a whole.
    pub riemannian: RiemannianDistance,
    /// Distances of every edge of the input graph, if requested.
    pub all_edges: Option<EdgeDistances>,
}

/// A pair measured both ways.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MeasuredPair {
    /// Why it was measured.
    pub group: PairGroup,
    /// Its score, if it is an edge of the input graph.
    pub score: Option<f64>,
    /// By hops.
    pub geodesic: Distortion,
    /// By resistance.
    pub resistance: Distortion,
}

/// Why a pair was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PairGroup {
    /// It is among the edges of largest score.
    Top,
    /// It was drawn from the other edges.
    Random,
    /// It was requested.
    Asked,
}

words! { written PairGroup { Top = "top", Random = "random", Asked = "asked" } }

/// Distances of every edge of the input graph.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EdgeDistances {
    /// Hops at the output; at the input there is one.
    pub hops: Vec<u32>,
    /// Resistances on both sides.
    pub resistances: Vec<Distortion>,
    /// How accurate these are.
    pub info: SketchInfo,
}

/// Measures the distortions of a scored model; seed, tolerance, solver and threads are those it was scored with.
///
/// # Errors
/// [`Error::TopEdges`] when `top` is more than half of the edges, [`Error::BadPair`], [`Error::InputDisconnected`],
/// [`Error::SketchError`], [`Error::NotConverged`], [`Error::Cancelled`].
pub fn measure_distortion(
    report: &SpadeReport,
    params: &DistortionParams,
    monitor: &dyn Monitor,
) -> Result<MeasuredDistortion> {
    let edges = report.edge_scores.len();
    let top = params.top.unwrap_or_else(|| DEFAULT_TOP.min(edges / 2).max(1));
    // Top and random edges are different ones, so that each is counted once.
    if top == 0 || top > edges / 2 {
        return Err(Error::TopEdges { edges, top });
    }
    with_threads(report.diagnostics.params.threads, || measure_here(report, params, top, monitor))
}

fn measure_here(
    report: &SpadeReport,
    params: &DistortionParams,
    top: usize,
    monitor: &dyn Monitor,
) -> Result<MeasuredDistortion> {
    monitor.begin(Stage::Distances);
    let seed = report.diagnostics.params.seed;
    let distances = Distances::new(&report.graphs, seed)?;
    let pairs = measured_pairs(report, &params.pairs, top, &distances, monitor)?;
    let contrast = |of: fn(&MeasuredPair) -> &Distortion| {
        let ratios: Vec<f64> = pairs.iter().map(|pair| of(pair).ratio()).collect();
        Contrast::new(&ratios[..top], &ratios[top..2 * top], seed)
    };
    let (geodesic, resistance) = (contrast(|pair| &pair.geodesic), contrast(|pair| &pair.resistance));
    let largest = distances.largest(&report.eigenpairs, &report.edge_scores, monitor)?;
    let cut = sparsest_cut(&report.graphs, &report.eigenpairs, monitor)?;
    let eigen = report.diagnostics.params.eigen_params();
    let reverse = ReverseScore::of(&report.graphs, &report.eigenpairs, &eigen, monitor)?;
    let riemannian = RiemannianDistance::of(&report.graphs, &eigen, monitor)?;
    let all_edges =
        params.all_edges.map(|error| edge_distances(report, error, &distances, monitor)).transpose()?;
    Ok(MeasuredDistortion { top, pairs, geodesic, resistance, largest, cut, reverse, riemannian, all_edges })
}

fn measured_pairs(
    report: &SpadeReport,
    asked: &[(u32, u32)],
    top: usize,
    distances: &Distances<'_>,
    monitor: &dyn Monitor,
) -> Result<Vec<MeasuredPair>> {
    let scores = &report.edge_scores;
    let top = scores.top(top);
    let position = |p: u32, q: u32| scores.edges().binary_search(&(p, q)).ok();
    let taken: Vec<usize> = top.iter().filter_map(|edge| position(edge.p, edge.q)).collect();
    let random = draw_others(scores.len(), &taken, top.len(), report.diagnostics.params.seed);
    let top = taken.into_iter().map(|at| (PairGroup::Top, at));
    let edges = top.chain(random.into_iter().map(|at| (PairGroup::Random, at)));
    let edges = edges.map(|(group, at)| (group, scores.edges()[at], Some(scores.scores()[at])));
    let asked = asked.iter().map(|&(p, q)| {
        let score = position(p.min(q), p.max(q)).map(|at| scores.scores()[at]);
        (PairGroup::Asked, (p, q), score)
    });
    let listed: Vec<_> = edges.chain(asked).collect();
    let pairs: Vec<(u32, u32)> = listed.iter().map(|&(_, pair, _)| pair).collect();
    let geodesic = distances.of_pairs(DistanceKind::Geodesic, &pairs, monitor)?;
    let resistance = distances.of_pairs(DistanceKind::Resistance, &pairs, monitor)?;
    let measured = listed.into_iter().zip(geodesic.into_iter().zip(resistance));
    Ok(measured
        .map(|((group, _, score), (geodesic, resistance))| MeasuredPair {
            group,
            score,
            geodesic,
            resistance,
        })
        .collect())
}

fn edge_distances(
    report: &SpadeReport,
    error: f64,
    distances: &Distances<'_>,
    monitor: &dyn Monitor,
) -> Result<EdgeDistances> {
    let hops = geodesic_distances(report.graphs.output(), report.edge_scores.edges(), monitor)?;
    let sketch = SketchParams { error, seed: report.diagnostics.params.seed, ..SketchParams::default() };
    let (resistances, info) = distances.of_edges(&sketch, monitor)?;
    // The output graph is connected, so that there is a path for every edge.
    Ok(EdgeDistances { hops: hops.into_iter().flatten().collect(), resistances, info })
}
