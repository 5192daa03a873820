//! Graphs whose eigenvalues and scores are known in closed form, by the dense method and by the iteration.

use std::f64::consts::PI;

use crate::support::{assert_all_relative, assert_relative, edge_scores, node_scores, pair, solve};
use spadework::eigen::{EigenMethod, GeneralizedEigenpairs};
use spadework::graph::generators::{complete, cycle, grid, path, star};
use spadework::laplacian::Laplacian;
use spadework::{Graph, GraphPair};

/// Below 1e-10 every eigenvalue asked for is proved by its residual: some eigenvalue lies within this fraction.
const TOLERANCE: f64 = 1e-10;

const METHODS: [EigenMethod; 2] = [EigenMethod::Dense, EigenMethod::Davidson];

/// A graph of every kind, none of them special in the same way.
fn families(nodes: usize) -> Vec<Graph> {
    vec![path(nodes), cycle(nodes), star(nodes), grid(nodes / 10, 10)]
}

/// The method that ran is the method asked for: a quiet fall-back would make a test prove nothing.
fn solve_by(graphs: &GraphPair, method: EigenMethod, eigenpairs: usize) -> GeneralizedEigenpairs {
    let pairs = solve(graphs, method, eigenpairs, TOLERANCE);
    assert_eq!(pairs.info().method, method);
    pairs
}

#[test]
fn the_same_graph_twice_has_only_ones() {
    for nodes in [60, 1000] {
        for graph in families(nodes) {
            let graphs = pair(graph.clone(), graph);
            for method in METHODS {
                let pairs = solve_by(&graphs, method, 2);
                assert_all_relative(
                    pairs.values(),
                    &[1.0, 1.0],
                    TOLERANCE,
                    &format!("{method:?}, n = {nodes}"),
                );
            }
        }
    }
}

#[test]
fn the_same_graph_twice_has_only_ones_down_to_the_last() {
    for graph in families(60) {
        let pairs = solve_by(&pair(graph.clone(), graph), EigenMethod::Dense, 59);
        assert_all_relative(pairs.values(), &[1.0; 59], TOLERANCE, "all eigenvalues");
    }
}

#[test]
fn opening_a_cycle_into_a_path_scores_n() {
    for nodes in [60, 1000] {
        for method in METHODS {
            let pairs = solve_by(&pair(cycle(nodes), path(nodes)), method, 2);
            assert_all_relative(pairs.values(), &[nodes as f64, 1.0], TOLERANCE, &format!("{method:?}"));
        }
    }
    let all = solve_by(&pair(cycle(60), path(60)), EigenMethod::Dense, 59);
    assert_all_relative(&all.values()[1..], &[1.0; 58], TOLERANCE, "all others");
}

#[test]
fn the_closing_edge_of_a_cycle_carries_the_score() {
    for nodes in [60, 1000] {
        let n = nodes as f64;
        let graphs = pair(cycle(nodes), path(nodes));
        for method in METHODS {
            let scores = edge_scores(&graphs, &solve_by(&graphs, method, 1));
            for (&edge, &score) in scores.edges().iter().zip(scores.scores()) {
                let closing = edge == (0, nodes as u32 - 1);
                let want = if closing { n * (n - 1.0) } else { n / (n - 1.0) };
                // v is off by at most δ = ρ/gap in the L_Y-norm, and by δ√R_Y across an edge. Relative to the step
                // 1/√(n−1) of the ramp (R_Y = 1), or to the whole ramp √(n−1) (R_Y = n−1), that is at most δ√(n−1);
                // the score has twice the relative error. The gap n − 1 is λ itself, nearly; √2 as in Davis–Kahan.
                let relative = 2.0 * std::f64::consts::SQRT_2 * TOLERANCE * n / (n - 1.0) * n.sqrt();
                assert_relative(score, want, relative, &format!("{method:?}, edge {edge:?}"));
            }
        }
    }
}

#[test]
fn node_scores_are_means_not_sums() {
    let n = 60.0;
    let graphs = pair(cycle(60), path(60));
    let scores = node_scores(&graphs, &solve_by(&graphs, EigenMethod::Dense, 1));
    let (closing, other) = (n * (n - 1.0), n / (n - 1.0));
    for (p, &score) in scores.scores().iter().enumerate() {
        let want = if p == 0 || p == 59 { f64::midpoint(closing, other) } else { other };
        assert_relative(score, want, 1e-8, &format!("node {p}"));
    }
    let top: Vec<usize> = scores.top(2).iter().map(|node| node.index).collect();
    assert!(
        top == [0, 59] || top == [59, 0],
        "the two ends of the cut are the most fragile samples, got {top:?}"
    );
}

/// On vectors of mean zero the Laplacian of K_n is n times the identity.
#[test]
fn complete_input_over_a_star_scores_n() {
    for (nodes, method) in
        [(60, EigenMethod::Dense), (70, EigenMethod::Davidson), (300, EigenMethod::Davidson)]
    {
        // λ_2(L) of a star is 1, n − 2 times over: the worst of clusters.
        let pairs = solve_by(&pair(complete(nodes), star(nodes)), method, 3);
        assert_all_relative(pairs.values(), &[nodes as f64; 3], TOLERANCE, &format!("{method:?}"));
    }
}

#[test]
fn complete_input_over_a_path_has_the_spectrum_of_the_path_inverted() {
    for (nodes, method) in
        [(60, EigenMethod::Dense), (100, EigenMethod::Davidson), (300, EigenMethod::Davidson)]
    {
        let n = nodes as f64;
        let want: Vec<f64> = (1..=5).map(|j| n / (2.0 - 2.0 * (f64::from(j) * PI / n).cos())).collect();
        let pairs = solve_by(&pair(complete(nodes), path(nodes)), method, 5);
        // 2 − 2cos x loses the digits that x²/2 is below 1: 2ε/(π/n)² ≈ 2e-12 at n = 300, far below the tolerance.
        assert_all_relative(pairs.values(), &want, TOLERANCE + 1e-11, &format!("{method:?}, n = {nodes}"));
    }
}

#[test]
fn complete_output_divides_the_spectrum_of_the_input_by_n() {
    for (nodes, method) in
        [(60, EigenMethod::Dense), (60, EigenMethod::Davidson), (300, EigenMethod::Davidson)]
    {
        let n = nodes as f64;
        let score = |input: Graph| solve_by(&pair(input, complete(nodes)), method, 1).values()[0];
        assert_relative(score(cycle(nodes)), 4.0 / n, TOLERANCE, "even cycle");
        assert_relative(score(star(nodes)), 1.0, TOLERANCE, "star");
        assert_relative(score(path(nodes)), (2.0 + 2.0 * (PI / n).cos()) / n, TOLERANCE, "path");
    }
}

#[test]
fn complete_output_shows_the_largest_eigenvalue_of_a_grid() {
    // λ_max of a path of m nodes is 2 + 2cos(π/m), and a grid's is the sum over its two directions.
    let longest = |m: f64| 2.0 + 2.0 * (PI / m).cos();
    for (rows, columns) in [(6, 10), (15, 20)] {
        let nodes = rows * columns;
        let graphs = pair(grid(rows, columns), complete(nodes));
        let want = (longest(rows as f64) + longest(columns as f64)) / nodes as f64;
        for method in METHODS {
            assert_relative(
                solve_by(&graphs, method, 1).values()[0],
                want,
                TOLERANCE,
                &format!("{method:?}"),
            );
        }
    }
}

/// L_X = (e_p − e_q)(e_p − e_q)ᵀ has one eigenvalue that is not zero: the effective resistance.
#[test]
fn a_single_input_edge_scores_its_resistance() {
    for nodes in [60, 1000] {
        let last = nodes as u32 - 1;
        let edge = Graph::from_edges(nodes, &[(0, last)]).unwrap();
        for method in METHODS {
            let over_path = solve_by(&pair(edge.clone(), path(nodes)), method, 1).values()[0];
            assert_relative(over_path, nodes as f64 - 1.0, TOLERANCE, "along a path");
            let over_cycle = solve_by(&pair(edge.clone(), cycle(nodes)), method, 1).values()[0];
            assert_relative(
                over_cycle,
                1.0 - 1.0 / nodes as f64,
                TOLERANCE,
                "an edge beside a path of n − 1 edges",
            );
        }
    }
}

#[test]
fn vectors_are_in_normal_form() {
    let cases = [
        pair(cycle(70), path(70)),
        pair(complete(80), path(80)),
        pair(grid(10, 30), cycle(300)),
        pair(star(300), grid(15, 20)),
    ];
    for (case, graphs) in cases.iter().enumerate() {
        for method in METHODS {
            let pairs = solve_by(graphs, method, 4);
            assert_normal_form(&pairs, &Laplacian::of(graphs.output()), &format!("case {case}, {method:?}"));
        }
    }
}

fn assert_normal_form(pairs: &GeneralizedEigenpairs, output: &Laplacian<'_>, what: &str) {
    assert!(pairs.values().is_sorted_by(|a, b| a >= b), "{what}: descending");
    for (i, v) in pairs.vectors().iter().enumerate() {
        let largest = v.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
        // Two entries of one magnitude and opposite sign may both be the largest; one of them is positive.
        let positive = v.iter().copied().fold(0.0, f64::max);
        assert!(positive >= largest.abs() * (1.0 - 1e-12), "{what}: the largest entry of v_{i} is {largest}");
        let mean = v.iter().sum::<f64>() / v.len() as f64;
        assert!(
            mean.abs() <= v.len() as f64 * f64::EPSILON * largest.abs(),
            "{what}: mean {mean:e} of v_{i}"
        );
        assert_relative(
            output.quadratic_form(v),
            1.0,
            v.len() as f64 * f64::EPSILON,
            &format!("{what}: length of v_{i}"),
        );
        let product = output.apply(v);
        for (j, other) in pairs.vectors().iter().enumerate().filter(|&(j, _)| j != i) {
            let overlap: f64 = product.iter().zip(other).map(|(a, b)| a * b).sum();
            // Rounding in L_Y v is ε‖L_Y‖‖v‖² in units of vᵀL_Yv = 1, at most ε times the condition of L_Y. With degrees up
            // to 4 that is at most 2n² (λ_max ≤ 8, λ_2 ≥ 4/(n · diameter)).
            let rounding = 2.0 * (v.len() as f64).powi(2) * f64::EPSILON;
            assert!(overlap.abs() <= rounding, "{what}: v_{i} and v_{j} overlap by {overlap:e}");
        }
    }
}
