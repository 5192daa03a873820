//! Distance mapping distortion (the paper's Definition 1): how much farther apart two samples are at the output.
//!
//! γ(p,q) = d_Y(p,q)/d_X(p,q), with d the hops of a shortest path (geodesic) or the effective resistance. For an edge of
//! the input graph the geodesic d_X is 1, so γ is the number of hops between its ends in the output graph. By resistance, no
//! pair is distorted by more than the model score (Theorem 1).

use std::collections::BTreeSet;

use super::EdgeScores;
use crate::eigen::GeneralizedEigenpairs;
use crate::error::{Error, Result};
use crate::graph::{Graph, GraphPair, geodesic_distances};
use crate::laplacian::{
    Laplacian, LaplacianSolver, SketchInfo, SketchParams, edge_resistances, inverse_columns, resistances,
};
use crate::monitor::Monitor;
use crate::scaling::scaled;

/// The two notions of distance on a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DistanceKind {
    /// Hops of a shortest path.
    Geodesic,
    /// Effective resistance, (e_p − e_q)ᵀL⁺(e_p − e_q).
    Resistance,
}

words! { written DistanceKind { Geodesic = "geodesic", Resistance = "resistance" } }

/// The distance between two samples on both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Distortion {
    /// One sample.
    pub p: u32,
    /// The other one.
    pub q: u32,
    /// d_X(p,q).
    pub input: f64,
    /// d_Y(p,q).
    pub output: f64,
}

impl Distortion {
    /// γ(p,q) = d_Y/d_X.
    pub fn ratio(&self) -> f64 {
        self.output / self.input
    }
}

/// Both graphs with what is needed to measure distances in them.
///
/// Both graphs are connected, so every distance is finite.
#[derive(Debug)]
pub struct Distances<'g> {
    graphs: &'g GraphPair,
    input: SideSolver<'g>,
    output: SideSolver<'g>,
}

/// Solves with the Laplacian of one graph, whose weights were brought near 1.
#[derive(Debug)]
struct SideSolver<'g> {
    solver: LaplacianSolver<'g>,
    /// The power of two that the weights were multiplied by, and resistances divided by.
    exponent: i32,
}

impl<'g> SideSolver<'g> {
    fn new(graph: &'g Graph, seed: u64) -> Self {
        let (laplacian, exponent) = Laplacian::near_one(graph);
        Self { solver: LaplacianSolver::new(laplacian, seed), exponent }
    }

    /// Resistances as those of the graph given.
    fn as_given(&self, resistances: Vec<f64>) -> Vec<f64> {
        resistances.into_iter().map(|resistance| scaled(resistance, self.exponent)).collect()
    }
}

impl<'g> Distances<'g> {
    /// Factors a preconditioner of each Laplacian.
    ///
    /// # Errors
    /// [`Error::InputDisconnected`].
    pub fn new(graphs: &'g GraphPair, seed: u64) -> Result<Self> {
        graphs.check_input_connected()?;
        let [input, output] = [graphs.input(), graphs.output()].map(|graph| SideSolver::new(graph, seed));
        Ok(Self { graphs, input, output })
    }

    /// The distances of given pairs on both sides, in their order.
    ///
    /// Resistances are computed by solves, to a relative error of [`RESISTANCE_ERROR`](crate::laplacian::RESISTANCE_ERROR).
    ///
    /// # Errors
    /// [`Error::BadPair`] when a pair names a node that does not exist or the same one twice, [`Error::NotConverged`],
    /// [`Error::WeightRange`], [`Error::Cancelled`].
    pub fn of_pairs(
        &self,
        kind: DistanceKind,
        pairs: &[(u32, u32)],
        monitor: &dyn Monitor,
    ) -> Result<Vec<Distortion>> {
        let nodes = self.graphs.nodes();
        if let Some(index) = pairs.iter().position(|(p, q)| p == q) {
            let (p, q) = pairs[index];
            return Err(Error::BadPair { index, p, q, nodes });
        }
        let hops = |graph: &Graph| -> Result<Vec<f64>> {
            let hops = geodesic_distances(graph, pairs, monitor)?;
            // Both graphs are connected.
            Ok(hops.into_iter().map(|hops| hops.map_or(f64::INFINITY, f64::from)).collect())
        };
        let (input, output) = match kind {
            DistanceKind::Geodesic => (hops(self.graphs.input())?, hops(self.graphs.output())?),
            DistanceKind::Resistance => {
                let of = |side: &SideSolver<'_>| -> Result<Vec<f64>> {
                    Ok(side.as_given(resistances(&side.solver, pairs, monitor)?))
                };
                (of(&self.input)?, of(&self.output)?)
            }
        };
        self.paired(pairs, &input, &output)
    }

    /// The distances of pairs, unless one of them or a ratio is beyond the range of numbers.
    fn paired(&self, pairs: &[(u32, u32)], input: &[f64], output: &[f64]) -> Result<Vec<Distortion>> {
        let distances = input.iter().zip(output);
        let found: Vec<Distortion> = pairs
            .iter()
            .zip(distances)
            .map(|(&(p, q), (&input, &output))| Distortion { p, q, input, output })
            .collect();
        let is_number = |number: f64| number.is_normal() && number > 0.0;
        let in_range =
            |found: &Distortion| [found.input, found.output, found.ratio()].into_iter().all(is_number);
        if found.iter().all(in_range) { Ok(found) } else { Err(self.graphs.weight_range()) }
    }

    /// The resistances of every edge of the input graph on both sides, by two random projections; both are within the error
    /// ε of the information returned, and their ratio γ within a factor of (1 + ε)/(1 − ε).
    ///
    /// # Errors
    /// [`Error::SketchError`], [`Error::NotConverged`], [`Error::WeightRange`], [`Error::Cancelled`].
    pub fn of_edges(
        &self,
        params: &SketchParams,
        monitor: &dyn Monitor,
    ) -> Result<(Vec<Distortion>, SketchInfo)> {
        let edges: Vec<(u32, u32)> = self.graphs.input().edges().map(|(p, q, _)| (p, q)).collect();
        // Each side may fail with half the probability.
        let half = SketchParams { failure: params.failure / 2.0, ..*params };
        let (input, _) = edge_resistances(&self.input.solver, &edges, &half, monitor)?;
        let (output, info) = edge_resistances(&self.output.solver, &edges, &half, monitor)?;
        let (input, output) = (self.input.as_given(input), self.output.as_given(output));
        let probability = if info.rows.is_some() { 1.0 - params.failure } else { 1.0 };
        Ok((self.paired(&edges, &input, &output)?, SketchInfo { probability, ..info }))
    }

    /// Searches for the pair with the largest distortion by resistance.
    ///
    /// The search starts from the samples at which the dominant eigenvectors are largest and smallest, from the edges of
    /// largest score, and from samples with many edges at the input and few at the output; it measures all pairs among them by solves, and then adds
    /// the neighbors of the best pair as long as the result improves. The distortion that it finds occurs, so γ_max is between it and λ_1.
    ///
    /// # Errors
    /// [`Error::NotConverged`], [`Error::Cancelled`].
    ///
    /// # Complexity
    /// At most [`MOST_CANDIDATES`] solves per side, each with a vector of length n that is kept.
    pub fn largest(
        &self,
        pairs: &GeneralizedEigenpairs,
        edges: &EdgeScores,
        monitor: &dyn Monitor,
    ) -> Result<LargestDistortion> {
        let mut candidates = Candidates::default();
        candidates.add(self, &starting_nodes(self.graphs, pairs, edges), monitor)?;
        let mut best = candidates.best();
        loop {
            let ends = [best.p, best.q];
            let around = ends.iter().flat_map(|&end| {
                let neighbors = |graph: &'g Graph| graph.neighbors(end as usize).iter().copied();
                neighbors(self.graphs.input()).chain(neighbors(self.graphs.output()))
            });
            let room = MOST_CANDIDATES.saturating_sub(candidates.nodes.len());
            let new: BTreeSet<u32> = around.filter(|node| !candidates.nodes.contains(node)).collect();
            let new: Vec<u32> = new.into_iter().take(room).collect();
            candidates.add(self, &new, monitor)?;
            let next = candidates.best();
            if new.is_empty() || next.ratio() <= best.ratio() {
                break;
            }
            best = next;
        }
        let found = self.of_pairs(DistanceKind::Resistance, &[(best.p, best.q)], monitor)?[0];
        Ok(LargestDistortion { found, bound: pairs.values()[0] })
    }
}

/// Maximum number of samples that the search for the largest distortion measures.
pub const MOST_CANDIDATES: usize = 160;
/// Residual of the solves that rank candidates; the best pair is measured once more, accurately.
const CANDIDATE_TOLERANCE: f64 = 1e-7;
/// Samples taken from either end of each of the first few eigenvectors.
const EXTREMES: usize = 6;
/// Eigenvectors that give candidates.
const VECTORS: usize = 4;
/// Edges of largest score that give candidates.
const EDGES: usize = 16;
/// Samples of largest degree at the input over degree at the output. In large neighbor graphs R(p,q) is near 1/d_p + 1/d_q
/// (von Luxburg, Radl and Hein 2014), so that two of them are often the pair sought.
const DEGREES: usize = 24;

/// The pair with the largest distortion by resistance that was found, and the bound of Theorem 1.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LargestDistortion {
    /// The pair found; its γ is a lower bound of γ_max.
    pub found: Distortion,
    /// λ_1, an upper bound of γ_max.
    pub bound: f64,
}

impl LargestDistortion {
    /// γ/λ_1: 1 if the bound is reached.
    pub fn tightness(&self) -> f64 {
        self.found.ratio() / self.bound
    }
}

/// The nodes at either end of the leading eigenvectors, the ends of the leading edges, and those of the largest ratio of
/// degrees.
fn starting_nodes(graphs: &GraphPair, pairs: &GeneralizedEigenpairs, edges: &EdgeScores) -> Vec<u32> {
    let mut nodes = BTreeSet::new();
    for vector in pairs.vectors().iter().take(VECTORS) {
        let negated: Vec<f64> = vector.iter().map(|entry| -entry).collect();
        for entries in [vector, &negated] {
            nodes.extend(super::largest(entries, EXTREMES).into_iter().map(|node| node as u32));
        }
    }
    let ratio = |p: usize| graphs.input().weighted_degree(p) / graphs.output().weighted_degree(p);
    let ratios: Vec<f64> = (0..graphs.nodes()).map(ratio).collect();
    nodes.extend(super::largest(&ratios, DEGREES).into_iter().map(|node| node as u32));
    nodes.extend(edges.top(EDGES).iter().flat_map(|edge| [edge.p, edge.q]));
    nodes.into_iter().collect()
}

/// Nodes with their columns of L_X⁺ and L_Y⁺, from which the resistance of any two follows.
#[derive(Default)]
struct Candidates {
    nodes: Vec<u32>,
    input: Vec<Vec<f64>>,
    output: Vec<Vec<f64>>,
}

impl Candidates {
    fn add(&mut self, distances: &Distances<'_>, nodes: &[u32], monitor: &dyn Monitor) -> Result<()> {
        self.input.extend(inverse_columns(&distances.input.solver, nodes, CANDIDATE_TOLERANCE, monitor)?);
        self.output.extend(inverse_columns(&distances.output.solver, nodes, CANDIDATE_TOLERANCE, monitor)?);
        self.nodes.extend(nodes);
        Ok(())
    }

    /// The pair of largest ratio, the first of them where several tie.
    fn best(&self) -> Distortion {
        let pairs = (0..self.nodes.len()).flat_map(|a| (0..a).map(move |b| (b, a)));
        let measured = pairs.map(|(a, b)| Distortion {
            p: self.nodes[a],
            q: self.nodes[b],
            input: self.resistance(&self.input, a, b),
            output: self.resistance(&self.output, a, b),
        });
        let nothing = Distortion { p: 0, q: 1, input: 1.0, output: 0.0 };
        let best = measured.fold(nothing, |best, next| if next.ratio() > best.ratio() { next } else { best });
        Distortion { p: best.p.min(best.q), q: best.p.max(best.q), ..best }
    }

    fn resistance(&self, columns: &[Vec<f64>], a: usize, b: usize) -> f64 {
        let (p, q) = (self.nodes[a] as usize, self.nodes[b] as usize);
        columns[a][p] - columns[a][q] - columns[b][p] + columns[b][q]
    }
}
