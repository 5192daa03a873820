//! Laws that hold for every pair of graphs, checked on random ones.

use std::fmt;

use crate::support::resistance::{PseudoInverse, RESISTANCE_ERROR};
use crate::support::{assert_relative, edge_scores, laws, node_scores, pair, solve};
use proptest::prelude::*;
use spadework::eigen::{
    Certainty, EigenMethod, EigenParams, EigenProblem, EnclosureMethod, GeneralizedEigenpairs,
};
use spadework::graph::generators;
use spadework::laplacian::Laplacian;
use spadework::{Graph, GraphPair, Silent};

/// All eigenpairs by the dense method. Its rounding is ε times the condition of L_Y: n² · 10² ≈ 1.6e5 for 40 nodes and
/// weights from 0.1 to 10, so eigenvalues are good to 1e-10 of the largest; sums over them and products of two are good
/// to [`LAW`].
const DENSE: f64 = 1e-10;

/// Relative error that a law between eigenvalues and resistances may show: that of the resistances.
const LAW: f64 = RESISTANCE_ERROR;

/// A connected graph as a list of edges: a random tree and more.
#[derive(Clone)]
struct RandomGraph {
    nodes: usize,
    edges: Vec<(u32, u32, f64)>,
    unit: bool,
}

/// On one line: proptest prints what failed.
impl fmt::Debug for RandomGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nodes {}, unit {}, edges {:?}", self.nodes, self.unit, self.edges)
    }
}

impl RandomGraph {
    fn graph(&self) -> Graph {
        if self.unit {
            let edges: Vec<_> = self.edges.iter().map(|&(p, q, _)| (p, q)).collect();
            return Graph::from_edges(self.nodes, &edges).unwrap();
        }
        Graph::from_weighted_edges(self.nodes, &self.edges).unwrap()
    }

    /// The same graph with other names for its nodes and every weight times `factor`.
    fn mapped(&self, name: impl Fn(u32) -> u32, factor: f64) -> Graph {
        let weight = |w: f64| if self.unit { factor } else { w * factor };
        let mut edges: Vec<_> = self.edges.iter().map(|&(p, q, w)| (name(p), name(q), weight(w))).collect();
        if self.unit {
            // Unit graphs hold an edge once however often it is named; weighted ones add up.
            for edge in &mut edges {
                *edge = (edge.0.min(edge.1), edge.0.max(edge.1), edge.2);
            }
            edges.sort_by_key(|&(p, q, _)| (p, q));
            edges.dedup_by_key(|&mut (p, q, _)| (p, q));
        }
        Graph::from_weighted_edges(self.nodes, &edges).unwrap()
    }
}

/// Connected graphs of a given size. Node i hangs on one of its predecessors; a cut-off on the number of further edges
/// lets trees and near-trees occur.
fn connected(nodes: usize) -> impl Strategy<Value = RandomGraph> {
    let parents = prop::collection::vec(any::<prop::sample::Index>(), nodes - 1);
    let more = prop::collection::vec((0..nodes as u32, 0..nodes as u32), 0..3 * nodes);
    let weights = prop::collection::vec(0.1..10.0_f64, 4 * nodes);
    (parents, more, weights, any::<bool>()).prop_map(move |(parents, more, weights, unit)| {
        let tree = parents.iter().enumerate().map(|(i, parent)| (i as u32 + 1, parent.index(i + 1) as u32));
        let pairs = tree.chain(more).filter(|(p, q)| p != q);
        let edges = pairs.zip(weights).map(|((p, q), w)| (p, q, w)).collect();
        RandomGraph { nodes, edges, unit }
    })
}

fn graphs(nodes: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = (RandomGraph, RandomGraph)> {
    nodes.prop_flat_map(|nodes| (connected(nodes), connected(nodes)))
}

fn small() -> impl Strategy<Value = (RandomGraph, RandomGraph)> {
    graphs(3..=40)
}

fn small_one() -> impl Strategy<Value = RandomGraph> {
    (2..=40_usize).prop_flat_map(connected)
}

/// Every pair of different nodes.
fn node_pairs(nodes: usize) -> impl Iterator<Item = (u32, u32)> {
    (0..nodes as u32).flat_map(move |p| (p + 1..nodes as u32).map(move |q| (p, q)))
}

fn largest_eigenvalue(graphs: &GraphPair) -> f64 {
    solve(graphs, EigenMethod::Dense, 1, DENSE).values()[0]
}

proptest! {
    #![proptest_config(laws(64))]

    #[test]
    fn a_laplacian_is_symmetric_with_zero_row_sums(edges in small_one()) {
        let graph = edges.graph();
        let laplacian = Laplacian::of(&graph);
        let column = |p: usize| {
            let mut unit = vec![0.0; graph.nodes()];
            unit[p] = 1.0;
            laplacian.apply(&unit)
        };
        let columns: Vec<Vec<f64>> = (0..graph.nodes()).map(column).collect();
        for (p, q) in node_pairs(graph.nodes()) {
            let (p, q) = (p as usize, q as usize);
            prop_assert_eq!(columns[p][q].to_bits(), columns[q][p].to_bits());
        }
        for (p, sum) in laplacian.apply(&vec![1.0; graph.nodes()]).into_iter().enumerate() {
            // A sum of at most 39 weights taken twice: ε for each.
            prop_assert!(sum.abs() <= 80.0 * f64::EPSILON * laplacian.degrees()[p], "row {} sums to {}", p, sum);
        }
    }

    #[test]
    fn a_laplacian_is_positive_semidefinite(
        (edges, x) in small_one().prop_flat_map(|e| { let n = e.nodes; (Just(e), prop::collection::vec(-1e3..1e3_f64, n)) }),
    ) {
        let graph = edges.graph();
        let laplacian = Laplacian::of(&graph);
        let form = laplacian.quadratic_form(&x);
        let product: f64 = laplacian.apply(&x).iter().zip(&x).map(|(a, b)| a * b).sum();
        // The sum of squares loses nothing; x·Lx cancels terms of size degree · x².
        let size: f64 = laplacian.degrees().iter().zip(&x).map(|(d, x)| 2.0 * d * x * x).sum();
        prop_assert!(form >= 0.0);
        prop_assert!((form - product).abs() <= 100.0 * f64::EPSILON * size, "{} and {}", form, product);
    }

    /// Foster (1949): Σ w R = n − 1.
    #[test]
    fn resistances_of_the_edges_sum_to_n_minus_one(edges in small_one()) {
        let graph = edges.graph();
        let inverse = PseudoInverse::of(&graph);
        let sum: f64 = graph.edges().map(|(p, q, w)| w * inverse.resistance(p, q)).sum();
        assert_relative(sum, graph.nodes() as f64 - 1.0, LAW, "Foster's sum");
    }

    #[test]
    fn resistance_in_a_tree_is_the_number_of_edges_between(
        parents in (2..=40_usize).prop_flat_map(|n| prop::collection::vec(any::<prop::sample::Index>(), n - 1)),
    ) {
        let parents: Vec<usize> = parents.iter().enumerate().map(|(i, parent)| parent.index(i + 1)).collect();
        let nodes = parents.len() + 1;
        let edges: Vec<(u32, u32)> = parents.iter().enumerate().map(|(i, &p)| (i as u32 + 1, p as u32)).collect();
        let inverse = PseudoInverse::of(&Graph::from_edges(nodes, &edges).unwrap());
        for (p, q) in node_pairs(nodes) {
            assert_relative(inverse.resistance(p, q), hops(&parents, p, q) as f64, LAW, "a path of the tree");
        }
    }

    /// tr(L_Y⁺L_X).
    #[test]
    fn eigenvalues_sum_to_the_resistances_of_the_input_edges((input, output) in small()) {
        let graphs = pair(input.graph(), output.graph());
        let all = solve(&graphs, EigenMethod::Dense, graphs.nodes() - 1, all_pairs_tolerance(&graphs));
        let inverse = PseudoInverse::of(graphs.output());
        let resistances: f64 = graphs.input().edges().map(|(p, q, w)| w * inverse.resistance(p, q)).sum();
        assert_relative(all.values().iter().sum(), resistances, LAW, "the trace");
    }

    /// V_r V_rᵀ = L_Y⁺L_XL_Y⁺ once r = n − 1.
    #[test]
    fn with_all_eigenpairs_an_edge_score_is_a_quadratic_form((input, output) in small()) {
        let graphs = pair(input.graph(), output.graph());
        let all = solve(&graphs, EigenMethod::Dense, graphs.nodes() - 1, all_pairs_tolerance(&graphs));
        let scores = edge_scores(&graphs, &all);
        let inverse = PseudoInverse::of(graphs.output());
        let input = Laplacian::of(graphs.input());
        let largest = scores.scores().iter().copied().fold(0.0, f64::max);
        for (&(p, q), score) in scores.edges().iter().zip(scores.scores()) {
            let form = input.quadratic_form(&inverse.potential(p, q));
            // A square of what has the error LAW.
            prop_assert!((score - form).abs() <= 2.0 * LAW * largest, "edge {}-{}: {} and {}", p, q, score, form);
        }
    }

    /// Theorem 1: γ(p,q) = R_Y/R_X ≤ λ_1.
    #[test]
    fn no_pair_is_distorted_more_than_the_model_score((input, output) in small()) {
        let graphs = pair(input.graph(), output.graph());
        let score = largest_eigenvalue(&graphs);
        let (x, y) = (PseudoInverse::of(graphs.input()), PseudoInverse::of(graphs.output()));
        for (p, q) in node_pairs(graphs.nodes()) {
            let distortion = y.resistance(p, q) / x.resistance(p, q);
            prop_assert!(distortion <= score * (1.0 + 3.0 * LAW), "{}-{}: {} above {}", p, q, distortion, score);
        }
    }

    /// Theorem 2: 1/ζ(S) = cut_X(S)/cut_Y(S) ≤ λ_1.
    #[test]
    fn no_cut_shrinks_more_than_the_model_score(
        ((input, output), cuts) in small().prop_flat_map(|(x, y)| {
            let cut = prop::collection::vec(any::<bool>(), x.nodes);
            (Just((x, y)), prop::collection::vec(cut, 16))
        }),
    ) {
        let graphs = pair(input.graph(), output.graph());
        let score = largest_eigenvalue(&graphs);
        let (x, y) = (Laplacian::of(graphs.input()), Laplacian::of(graphs.output()));
        for cut in cuts.iter().filter(|cut| cut.contains(&true) && cut.contains(&false)) {
            let indicator: Vec<f64> = cut.iter().map(|&inside| f64::from(u8::from(inside))).collect();
            let ratio = x.quadratic_form(&indicator) / y.quadratic_form(&indicator);
            prop_assert!(ratio <= score * (1.0 + DENSE), "{} above {}", ratio, score);
        }
    }

    #[test]
    fn eigenvalues_scale_with_the_weights((input, output) in small(), factor in 0.01..100.0_f64) {
        let plain = largest_eigenvalue(&pair(input.graph(), output.graph()));
        let input_scaled = largest_eigenvalue(&pair(input.mapped(|p| p, factor), output.graph()));
        assert_relative(input_scaled, plain * factor, DENSE, "the input's weights multiply");
        let output_scaled = largest_eigenvalue(&pair(input.graph(), output.mapped(|p| p, factor)));
        assert_relative(output_scaled, plain / factor, DENSE, "the output's weights divide");
    }

    /// With all eigenpairs the scores do not depend on how vectors of equal eigenvalues come out.
    #[test]
    fn renaming_nodes_renames_scores(
        ((input, output), order) in small().prop_flat_map(|(x, y)| {
            let order = Just((0..x.nodes as u32).collect::<Vec<_>>()).prop_shuffle();
            (Just((x, y)), order)
        }),
    ) {
        let name = |p: u32| order[p as usize];
        let plain = pair(input.graph(), output.graph());
        let renamed = pair(input.mapped(name, 1.0), output.mapped(name, 1.0));
        let r = plain.nodes() - 1;
        let tolerance = all_pairs_tolerance(&plain);
        let (a, b) = (solve(&plain, EigenMethod::Dense, r, tolerance), solve(&renamed, EigenMethod::Dense, r, tolerance));
        assert_relative(b.values()[0], a.values()[0], DENSE, "the model score");
        let (a, b) = (node_scores(&plain, &a), node_scores(&renamed, &b));
        let largest = a.scores().iter().copied().fold(0.0, f64::max);
        for (p, score) in a.scores().iter().enumerate() {
            let other = b.scores()[name(p as u32) as usize];
            prop_assert!((score - other).abs() <= 2.0 * LAW * largest, "node {}: {} and {}", p, score, other);
        }
    }
}

proptest! {
    #![proptest_config(laws(32))]

    /// No tolerance here: the enclosure has to cover its own rounding and that of the dense value.
    #[test]
    fn the_dense_score_lies_in_every_enclosure((input, output) in graphs(50..=120), seed in any::<u64>()) {
        let graphs = pair(input.graph(), output.graph());
        let dense = largest_eigenvalue(&graphs);
        let problem = EigenProblem::new(&graphs, seed);
        let expected = [
            (EigenMethod::Dense, Certainty::Probable, EnclosureMethod::Dense),
            (EigenMethod::Davidson, Certainty::Probable, EnclosureMethod::Residual),
            (EigenMethod::Davidson, Certainty::Certified, EnclosureMethod::Inertia),
            (EigenMethod::Davidson, Certainty::None, EnclosureMethod::None),
        ];
        for (method, certainty, how) in expected {
            let params = EigenParams::default().with_method(method).with_seed(seed);
            let pairs = problem.dominant_eigenpairs(&params, &Silent).unwrap();
            let enclosure = problem.enclose(&pairs, certainty, seed, &Silent).unwrap();
            prop_assert_eq!(enclosure.method, how);
            prop_assert!(enclosure.lower <= dense, "{:?} above {}", enclosure, dense);
            prop_assert!(dense <= enclosure.upper, "{:?} below {}", enclosure, dense);
        }
    }

    /// The iteration finds what the dense decomposition finds, as values and as subspaces.
    #[test]
    fn the_iteration_agrees_with_the_dense_method((input, output) in graphs(50..=120), seed in any::<u64>()) {
        let graphs = pair(input.graph(), output.graph());
        let dense = solve(&graphs, EigenMethod::Dense, 3, 1e-9);
        let params = EigenParams::default().with_method(EigenMethod::Davidson).with_tolerance(1e-8).with_seed(seed);
        let pairs = spadework::eigen::dominant_eigenpairs(&graphs, &params).unwrap();
        prop_assert_eq!(pairs.info().method, EigenMethod::Davidson);
        crate::support::assert_all_relative(pairs.values(), &dense.values()[..2], 1e-8, "eigenvalues");

        let output = Laplacian::of(graphs.output());
        let product = |a: &[f64], b: &[f64]| -> f64 { output.apply(a).iter().zip(b).map(|(a, b)| a * b).sum() };
        let [u, v] = [&dense.vectors()[..2], pairs.vectors()];
        prop_assert!(product(&v[0], &v[1]).abs() < 1e-8, "the vectors are orthogonal");
        let absolute = |pairs: &GeneralizedEigenpairs, at: usize| pairs.residuals()[at] * pairs.values()[at];
        for (at, v) in v.iter().enumerate() {
            let along: Vec<f64> = u.iter().map(|u| product(u, v)).collect();
            let outside: Vec<f64> =
                (0..graphs.nodes()).map(|p| v[p] - along[0] * u[0][p] - along[1] * u[1][p]).collect();
            // Davis and Kahan (1970), in the norm of L_Y: with r = L_X v − θ L_Y v, what of v lies outside the span of the first
            // two eigenvectors is at most ‖r‖/(θ − λ_3). The vectors of the dense method have residuals too.
            let residual = absolute(&pairs, at) + absolute(&dense, 0) + absolute(&dense, 1);
            let bound = residual / (dense.values()[1] - dense.values()[2]);
            let length = product(&outside, &outside).max(0.0).sqrt();
            prop_assert!(length <= bound, "vector {}: {} outside, at most {}", at, length, bound);
        }
    }
}

/// Relative residuals grow as eigenvalues shrink: the rounding of the largest one is spread over all of them.
fn all_pairs_tolerance(graphs: &GraphPair) -> f64 {
    let (x, y) = (Laplacian::of(graphs.input()), Laplacian::of(graphs.output()));
    let largest = |laplacian: &Laplacian<'_>| laplacian.degrees().iter().copied().fold(0.0, f64::max);
    // λ_1/λ_(n−1) is at most the product of both conditions, each at most n² · degree / weight.
    let n = graphs.nodes() as f64;
    (f64::EPSILON * n.powi(4) * largest(&x) * largest(&y) * 1e2).max(DENSE)
}

/// Edges between two nodes of a tree in which every node but 0 has a parent of lower number.
fn hops(parents: &[usize], p: u32, q: u32) -> usize {
    let (mut p, mut q, mut steps) = (p as usize, q as usize, 0);
    while p != q {
        if p > q {
            p = parents[p - 1];
        } else {
            q = parents[q - 1];
        }
        steps += 1;
    }
    steps
}

/// The bound of Theorem 1 is reached: a cycle that is opened stretches its closing edge by n.
#[test]
fn the_distortion_bound_is_tight_for_an_opened_cycle() {
    let graphs = pair(generators::cycle(30), generators::path(30));
    let (x, y) = (PseudoInverse::of(graphs.input()), PseudoInverse::of(graphs.output()));
    let most = node_pairs(30).map(|(p, q)| y.resistance(p, q) / x.resistance(p, q)).fold(0.0, f64::max);
    assert_relative(most, 30.0, 3.0 * LAW, "the largest distortion");
    assert_relative(largest_eigenvalue(&graphs), 30.0, DENSE, "the model score");
}
