//! What a page shows of a model in addition to its scores: positions of the samples, distances of pairs, the sparsest cut.

use spadework::eigen::{EigenParams, EigenProblem, lowest_modes};
use spadework::pipeline::permuted_score;
use spadework::scores::{Cut, DistanceKind, Distances, EdgeScore, sparsest_cut};
use spadework::{Monitor, Samples, SpadeReport};

use crate::ScoredModel;
use crate::error::Result;

/// Pairs of samples that a page shows, of equal and of different labels.
const PAIRS: usize = 12;
/// Eigenvalues of the spectrum.
const SPECTRUM: usize = 10;

/// A way of placing the samples in the plane.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) note: &'static str,
    pub(crate) points: Vec<[f64; 2]>,
}

/// An edge of the input graph, and how far apart its ends are.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) edge: EdgeScore,
    /// Euclidean distances of the samples, where they are known.
    pub(crate) inputs: Option<f64>,
    pub(crate) outputs: Option<f64>,
    /// Distance mapping distortion, by hops and by resistance, where both graphs are connected.
    pub(crate) distortion: Option<[f64; 2]>,
    /// Whether its ends have different labels: to take them apart is what a model is for.
    pub(crate) is_mixed: bool,
}

/// Everything that has to be computed for a page and its figures.
#[derive(Debug)]
pub struct PageFacts {
    pub(crate) views: Vec<View>,
    pub(crate) eigenvalues: Vec<f64>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) cut: Cut,
    pub(crate) permuted: f64,
}

impl PageFacts {
    /// Computes all of it for a scored model.
    ///
    /// # Errors
    /// When one of the numbers cannot be computed, or the monitor stops the work.
    pub fn of(model: &ScoredModel<'_>, monitor: &dyn Monitor) -> Result<Self> {
        let report = model.report;
        let params = &report.diagnostics.params;
        let most = report.graphs.nodes() - 1;
        let eigen = EigenParams::default()
            .with_eigenpairs(SPECTRUM.min(most))
            .with_tolerance(params.tolerance)
            .with_seed(params.seed);
        let spectrum = EigenProblem::new(&report.graphs, params.seed).dominant_eigenpairs(&eigen, monitor)?;
        Ok(Self {
            views: views(report, &spectrum, &eigen, monitor)?,
            eigenvalues: spectrum.values().to_vec(),
            pairs: pairs(model, monitor)?,
            cut: sparsest_cut(&report.graphs, &report.eigenpairs, monitor)?,
            permuted: match &model.document.facts.references {
                Some(references) => references.permuted,
                None => permuted_score(&report.graphs, params, monitor)?,
            },
        })
    }
}

/// The samples as the model's stretching, the input graph and the output graph place them (A.6). An input graph that was
/// given in pieces has no place for them all.
fn views(
    report: &SpadeReport,
    spectrum: &spadework::eigen::GeneralizedEigenpairs,
    eigen: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<Vec<View>> {
    let graphs = &report.graphs;
    let two = (*eigen).with_eigenpairs(eigen.eigenpairs.min(2));
    let mut views = vec![View {
        name: "embedding",
        title: "How the model stretches the data (L_Y⁺L_X)",
        note: "Samples that are neighbors at the input and far apart here are pulled apart by the model.",
        points: plane(&spectrum.vectors()[..spectrum.len().min(2)]),
    }];
    if let Ok(input) = graphs.connected_input() {
        views.push(View {
            name: "embedding_input",
            title: "The inputs (L_X)",
            note: "Samples as the input graph alone places them.",
            points: plane(lowest_modes(&input, &two, monitor)?.vectors()),
        });
    }
    views.push(View {
        name: "embedding_output",
        title: "The outputs (L_Y)",
        note: "Samples as the output graph alone places them.",
        points: plane(lowest_modes(graphs.connected_output(), &two, monitor)?.vectors()),
    });
    Ok(views)
}

/// The first two vectors as points; with a single vector all lie on a line.
pub(crate) fn plane(vectors: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let coordinate = |at: usize, p: usize| vectors.get(at).map_or(0.0, |vector| vector[p]);
    (0..vectors[0].len()).map(|p| [coordinate(0, p), coordinate(1, p)]).collect()
}

/// The edges with the largest scores, each sample once: those within a label, then those between labels.
fn shown_edges(model: &ScoredModel<'_>) -> Vec<(EdgeScore, bool)> {
    let scores = &model.report.edge_scores;
    let is_mixed = |edge: &EdgeScore| {
        model
            .samples
            .labels
            .is_some_and(|labels| labels.ids()[edge.p as usize] != labels.ids()[edge.q as usize])
    };
    let mut sides = [Vec::new(), Vec::new()];
    let mut is_taken = vec![false; model.report.graphs.nodes()];
    // All of them, since the largest scores may all lie between labels; those within a label choose first.
    let all = scores.top(scores.len());
    for mixed in [false, true] {
        for edge in &all {
            let side = &mut sides[usize::from(mixed)];
            if side.len() == PAIRS {
                break;
            }
            let ends = [edge.p as usize, edge.q as usize];
            if is_mixed(edge) == mixed && ends.iter().all(|&end| !is_taken[end]) {
                for end in ends {
                    is_taken[end] = true;
                }
                side.push((*edge, mixed));
            }
        }
    }
    sides.concat()
}

fn pairs(model: &ScoredModel<'_>, monitor: &dyn Monitor) -> Result<Vec<Pair>> {
    let (top, mixed): (Vec<EdgeScore>, Vec<bool>) = shown_edges(model).into_iter().unzip();
    let ends: Vec<(u32, u32)> = top.iter().map(|edge| (edge.p, edge.q)).collect();
    let seed = model.report.diagnostics.params.seed;
    let ratios = match Distances::new(&model.report.graphs, seed) {
        Ok(distances) => {
            let hops = distances.of_pairs(DistanceKind::Geodesic, &ends, monitor)?;
            let resistances = distances.of_pairs(DistanceKind::Resistance, &ends, monitor)?;
            Some(hops.iter().zip(&resistances).map(|(a, b)| [a.ratio(), b.ratio()]).collect::<Vec<_>>())
        }
        // An input graph in pieces has pairs without a distance.
        Err(spadework::Error::InputDisconnected { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let apart = |samples: Option<&Samples<'_>>, edge: &EdgeScore| {
        samples.map(|samples| euclidean(samples, edge.p as usize, edge.q as usize))
    };
    let pair = |(at, edge): (usize, EdgeScore)| Pair {
        inputs: apart(model.samples.inputs.map(|inputs| inputs.samples), &edge),
        outputs: apart(model.outputs, &edge),
        distortion: ratios.as_ref().map(|ratios| ratios[at]),
        is_mixed: mixed[at],
        edge,
    };
    Ok(top.into_iter().enumerate().map(pair).collect())
}

fn euclidean(samples: &Samples<'_>, p: usize, q: usize) -> f64 {
    let row = |at: usize| samples.values().doubles(samples.place(at));
    let (p, q) = (row(p), row(q));
    let differences = || p.iter().zip(q.iter()).map(|(a, b)| (a - b).abs());
    let largest = differences().fold(0.0, f64::max);
    // Squares of smaller numbers lose digits.
    let unit = if 0.0 < largest && largest < 1e-140 { largest } else { 1.0 };
    unit * differences().map(|difference| (difference / unit).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_tiny_samples_are_not_lost() {
        let distance = |unit: f64| {
            let samples = Samples::from_f64(2, 2, vec![0.0, 2.0 * unit, 3.0 * unit, -2.0 * unit]).unwrap();
            euclidean(&samples, 0, 1)
        };
        assert_eq!([1.0, 2.0_f64.powi(-600)].map(|unit| distance(unit) / unit), [5.0; 2]);
    }
}
