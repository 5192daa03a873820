//! Spectral sparsification: a subgraph with few edges that approximates the whole graph.
//!
//! Like GRASS (Feng 2016, 2020): a spanning tree of low stretch, then in rounds the most important off-tree edges. With S the
//! sparsifier so far, h = (L_S⁺L_G)ᵗ h₀ turns random vectors toward the eigenvectors of largest λ of L_G v = λ L_S v, where S
//! approximates G worst. The edge p–q contributes w (h_p − h_q)² to hᵀL_G h, so the edges with the largest contributions are
//! those that S needs most. Edges keep their weights. So L_S ≤ L_G, every λ is at least 1, and κ = λ_max/λ_min is at most
//! λ_max.
//!
//! *Effect on a score.* With a and b the two λ_max, L_X ≤ a·L_SX and L_Y ≤ b·L_SY, so λ_1/a ≤ λ_max(L_SY⁺L_SX) ≤ b·λ_1.
//!
//! *The tree* is that of shortest paths (length 1/w) from a node in the middle: neighbor graphs have a diameter of a few
//! steps, so no edge is stretched much.
//!
//! Read: `sparsify`, `Sparsifier::round`, `SparsifierPencil`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

use crate::eigen::{EigenParams, EigenProblem};
use crate::error::Result;
use crate::graph::{ConnectedGraph, Graph, GraphPair, Sparsity};
use crate::laplacian::panel::{Panel, WIDTH, center, random};
use crate::laplacian::{CgParams, Laplacian, LaplacianSolver};
use crate::monitor::{Monitor, check_cancelled};
use crate::random::{Purpose, stream};

/// Rounds in which the edges of a target density are added: the worst directions change as edges come.
const ROUNDS: usize = 20;
/// Nodes an edge added in a round on the way to a target κ, which is looked at after every round.
const NODES_PER_EDGE: usize = 20;
/// Steps t of the power iteration, and panels of four vectors that take them.
const STEPS: usize = 2;
const PANELS: usize = 2;
/// Nodes whose distances to all others find the middle.
const PROBES: usize = 16;
/// A rank needs no accurate solve.
const ROUGHLY: CgParams = CgParams { tolerance: 1e-3, max_iterations: 200 };
/// Residual of the eigenvalues that are reported: their relative error is at most this.
const TOLERANCE: f64 = 1e-4;

/// How closely a sparsifier approximates its graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SparsifierInfo {
    /// Edges of the whole graph.
    pub edges_before: usize,
    /// κ(L_G, L_S) = λ_max/λ_min; accurate to 0.02 %.
    pub kappa: f64,
    /// λ_max of L_G v = λ L_S v.
    pub largest: f64,
    /// λ_min of it, on vectors of mean zero; at least 1 up to rounding.
    pub least: f64,
}

impl SparsifierInfo {
    /// A comparison that was made earlier: edges of the whole graph, λ_max and λ_min.
    pub fn new(edges_before: usize, largest: f64, least: f64) -> Self {
        Self { edges_before, kappa: largest / least, largest, least }
    }
}

/// Removes edges from a connected graph until it reaches the target. The result is connected.
///
/// The density is met as closely as whole edges allow. If κ is the target, the result has at most this κ.
///
/// # Errors
/// When an eigenvalue does not converge, or the monitor stops the run.
///
/// # Panics
/// Never: a graph with a spanning tree is connected.
///
/// # Complexity
/// About ten near-linear solves per round: twenty rounds for a density, and one round per n/20 edges for κ.
///
/// ```
/// use spadework::Silent;
/// use spadework::graph::{ConnectedGraph, Sparsity, generators};
/// use spadework::pipeline::sparsify;
/// let complete = ConnectedGraph::new(generators::complete(40)).unwrap();
/// let (sparse, info) = sparsify(&complete, Sparsity::Condition(30.0), 0, &Silent)?;
/// assert!(info.kappa <= 30.0 && sparse.graph().edge_count() < 780);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn sparsify(
    graph: &ConnectedGraph,
    target: Sparsity,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<(ConnectedGraph, SparsifierInfo)> {
    let nodes = graph.graph().nodes();
    let mut sparsifier = Sparsifier::new(graph, seed);
    let (wanted, batch) = match target {
        Sparsity::Density(density) => {
            let wanted =
                ((density * nodes as f64).round() as usize).clamp(sparsifier.count, sparsifier.edges.len());
            (wanted, (wanted - sparsifier.count).div_ceil(ROUNDS))
        }
        Sparsity::Condition(_) => (sparsifier.edges.len(), nodes / NODES_PER_EDGE),
    };
    let tree = sparsifier.count;
    while sparsifier.count < wanted {
        check_cancelled(monitor)?;
        monitor.progress((sparsifier.count - tree) as u64, (wanted - tree) as u64);
        let pencil = sparsifier.pencil(seed);
        let (importance, lower_bound) = pencil.importance(&sparsifier.edges, &mut sparsifier.rng);
        if let Sparsity::Condition(kappa) = target
            && lower_bound <= kappa
            && pencil.largest(monitor)? <= kappa
        {
            break;
        }
        sparsifier.round(&importance, batch.clamp(1, wanted - sparsifier.count));
    }
    let info = sparsifier.info(seed, monitor)?;
    Ok((sparsifier.subgraph(), info))
}

/// A graph and which of its edges are kept.
struct Sparsifier<'g> {
    graph: &'g ConnectedGraph,
    edges: Vec<(u32, u32, f64)>,
    kept: Vec<bool>,
    count: usize,
    rng: ChaCha8Rng,
}

impl<'g> Sparsifier<'g> {
    /// Keeps a spanning tree.
    fn new(graph: &'g ConnectedGraph, seed: u64) -> Self {
        let whole = graph.graph();
        let mut rng = stream(seed, Purpose::Sparsifier);
        let edges: Vec<_> = whole.edges().collect();
        let parents = ShortestPaths::from(whole, middle(whole, &mut rng)).parents;
        let in_tree = |p: u32, q: u32| parents[p as usize] == q || parents[q as usize] == p;
        let kept: Vec<bool> = edges.iter().map(|&(p, q, _)| in_tree(p, q)).collect();
        let count = kept.iter().filter(|&&kept| kept).count();
        Self { graph, edges, kept, count, rng }
    }

    fn subgraph(&self) -> ConnectedGraph {
        let whole = self.graph.graph();
        let kept = self.edges.iter().zip(&self.kept).filter(|&(_, &kept)| kept).map(|(&edge, _)| edge);
        let graph = if whole.is_unit() {
            Graph::from_edges(whole.nodes(), &kept.map(|(p, q, _)| (p, q)).collect::<Vec<_>>())
        } else {
            Graph::from_weighted_edges(whole.nodes(), &kept.collect::<Vec<_>>())
        };
        let graph = graph.expect("edges of a graph are edges");
        ConnectedGraph::new(graph).expect("a graph with a spanning tree is connected")
    }

    fn pencil(&self, seed: u64) -> SparsifierPencil {
        SparsifierPencil { graphs: pair(self.graph, self.subgraph()), seed }
    }

    /// Keeps `count` more edges of largest importance. Edges at the same node serve the same purpose, so a first pass takes
    /// at most one per node, and a second what is still wanted.
    fn round(&mut self, importance: &[f64], count: usize) {
        let mut order: Vec<usize> = (0..self.edges.len()).filter(|&at| !self.kept[at]).collect();
        order.sort_unstable_by(|&a, &b| importance[b].total_cmp(&importance[a]).then(a.cmp(&b)));
        let mut served = vec![false; self.graph.graph().nodes()];
        let wanted = self.count + count;
        for one_a_node in [true, false] {
            for &at in &order {
                let (p, q) = (self.edges[at].0 as usize, self.edges[at].1 as usize);
                if self.count == wanted {
                    return;
                }
                if self.kept[at] || (one_a_node && (served[p] || served[q])) {
                    continue;
                }
                (served[p], served[q], self.kept[at]) = (true, true, true);
                self.count += 1;
            }
        }
    }

    fn info(&self, seed: u64, monitor: &dyn Monitor) -> Result<SparsifierInfo> {
        let edges_before = self.edges.len();
        if self.count == edges_before {
            return Ok(SparsifierInfo::new(edges_before, 1.0, 1.0));
        }
        let largest = self.pencil(seed).largest(monitor)?;
        // λ_min is the reciprocal of λ_max with the roles exchanged.
        let reverse = SparsifierPencil { graphs: pair(&self.subgraph(), self.graph.clone()), seed };
        Ok(SparsifierInfo::new(edges_before, largest, reverse.largest(monitor)?.recip()))
    }
}

fn pair(input: &ConnectedGraph, output: ConnectedGraph) -> GraphPair {
    GraphPair::new(input.shared(), output).expect("both have the same nodes")
}

/// L_G v = λ L_S v.
struct SparsifierPencil {
    graphs: GraphPair,
    seed: u64,
}

impl SparsifierPencil {
    /// λ_max.
    fn largest(&self, monitor: &dyn Monitor) -> Result<f64> {
        let params =
            EigenParams { eigenpairs: 1, tolerance: TOLERANCE, seed: self.seed, ..EigenParams::default() };
        let pairs = EigenProblem::new(&self.graphs, self.seed).dominant_eigenpairs(&params, monitor)?;
        Ok(pairs.values()[0])
    }

    /// How much each edge is lacking, and a lower bound of λ_max.
    fn importance(&self, edges: &[(u32, u32, f64)], rng: &mut impl Rng) -> (Vec<f64>, f64) {
        let whole = Laplacian::of(self.graphs.input());
        let solver = LaplacianSolver::new(Laplacian::of(self.graphs.output()), self.seed);
        let mut importance = vec![0.0; edges.len()];
        let mut lower_bound = 0.0_f64;
        for _ in 0..PANELS {
            let mut vectors = random(whole.nodes(), rng);
            center(&mut vectors);
            for _ in 0..STEPS {
                let mut product = vectors.clone();
                whole.apply_panel(&vectors, &mut product);
                vectors = solver.solve_panel(&product, &ROUGHLY).0;
            }
            let (above, below) =
                (energies(edges.iter().copied(), &vectors), energies(self.graphs.output().edges(), &vectors));
            for lane in 0..WIDTH {
                lower_bound = lower_bound.max(above[lane] / below[lane]);
            }
            for (importance, &edge) in importance.iter_mut().zip(edges) {
                let parts = energy(edge, &vectors);
                // Over hᵀL_S h: a vector counts by how badly S serves it, not by its length.
                *importance += (0..WIDTH).map(|lane| parts[lane] / below[lane]).sum::<f64>();
            }
        }
        (importance, lower_bound)
    }
}

/// w (h_p − h_q)² for every vector of a panel.
fn energy((p, q, weight): (u32, u32, f64), vectors: &Panel) -> [f64; WIDTH] {
    let (p, q) = (vectors[p as usize], vectors[q as usize]);
    std::array::from_fn(|lane| weight * (p[lane] - q[lane]) * (p[lane] - q[lane]))
}

/// hᵀLh for every vector of a panel.
fn energies(edges: impl Iterator<Item = (u32, u32, f64)>, vectors: &Panel) -> [f64; WIDTH] {
    edges.fold([0.0; WIDTH], |sums, edge| {
        let parts = energy(edge, vectors);
        std::array::from_fn(|lane| sums[lane] + parts[lane])
    })
}

/// The node with the smallest sum of distances to some others.
fn middle(graph: &Graph, rng: &mut impl Rng) -> u32 {
    let mut sums = vec![0.0; graph.nodes()];
    for _ in 0..PROBES {
        let from = rng.random_range(0..graph.nodes() as u32);
        let distances = ShortestPaths::from(graph, from).distances;
        sums.iter_mut().zip(&distances).for_each(|(sum, distance)| *sum += distance);
    }
    (0..graph.nodes()).min_by(|&p, &q| sums[p].total_cmp(&sums[q])).unwrap_or(0) as u32
}

/// Shortest paths from one node, an edge being 1/w long (Dijkstra 1959).
struct ShortestPaths {
    distances: Vec<f64>,
    /// The node before each on its path; the root's own for the root.
    parents: Vec<u32>,
}

impl ShortestPaths {
    fn from(graph: &Graph, root: u32) -> Self {
        let mut paths =
            Self { distances: vec![f64::INFINITY; graph.nodes()], parents: vec![root; graph.nodes()] };
        paths.distances[root as usize] = 0.0;
        let mut queue = BinaryHeap::from([Reached { distance: 0.0, node: root }]);
        while let Some(Reached { distance, node }) = queue.pop() {
            if distance > paths.distances[node as usize] {
                continue;
            }
            let weights = graph.weights(node as usize);
            for (at, &next) in graph.neighbors(node as usize).iter().enumerate() {
                let longer = distance + weights.map_or(1.0, |weights| weights[at].recip());
                if longer < paths.distances[next as usize] {
                    paths.distances[next as usize] = longer;
                    paths.parents[next as usize] = node;
                    queue.push(Reached { distance: longer, node: next });
                }
            }
        }
        paths
    }
}

/// A node and how far it is; the nearest is the greatest, as the heap gives out the greatest first.
#[derive(PartialEq)]
struct Reached {
    distance: f64,
    node: u32,
}

impl Eq for Reached {}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        other.distance.total_cmp(&self.distance).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
