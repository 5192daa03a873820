//! Every way of making graphs, against NumPy, SciPy and scikit-learn (`scripts/make_graph_fixtures.py`) and against what
//! follows from the definitions.

use std::path::Path;

use crate::support::{
    assert_all_relative, assert_relative, bits, gaussians, laws, pair, paired, rng, smooth_model, solve,
};
use proptest::prelude::*;
use serde_json::Value;
use spadework::eigen::{Certainty, EigenMethod, EnclosureMethod};
use spadework::graph::{
    ConnectedGraph, Connectivity, Dimensions, GraphKind, Sparsity, Weights, construct, generators, project,
};
use spadework::laplacian::Laplacian;
use spadework::neighbors::{ExactSearch, NeighborSearch};
use spadework::pipeline::sparsify;
use spadework::samples::Side;
use spadework::{
    Error, Graph, GraphPair, Manifold, ManifoldPair, PairedSamples, Samples, Silent, SpadeParams,
    SpadeReport, evaluate,
};

fn numbers(json: &Value) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn rows(json: &Value) -> (usize, Vec<f64>) {
    let rows: Vec<Vec<f64>> = json.as_array().unwrap().iter().map(numbers).collect();
    (rows.len(), rows.concat())
}

fn fixture() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/graphs/constructions.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_construction_is_what_scipy_says() {
    let fixture = fixture();
    let ((samples, inputs), (_, outputs)) = (rows(&fixture["inputs"]), rows(&fixture["outputs"]));
    let data = paired(samples, &inputs, &outputs);
    let cases = fixture["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 14);
    for case in cases {
        let (graph, weights) = (case["graph"].as_str().unwrap(), case["weights"].as_str().unwrap());
        let what = format!("{graph} {weights}");
        let params = SpadeParams::default()
            .with_neighbors(fixture["neighbors"].as_u64().unwrap() as usize)
            .with_graph(graph.parse().unwrap())
            .with_weights(weights.parse().unwrap())
            .with_tolerance(1e-10);
        let report = evaluate(&data, &params, &Silent).unwrap();
        let diagnostics = &report.diagnostics;
        assert_eq!(diagnostics.connection.used as u64, case["neighbors_used"].as_u64().unwrap(), "{what}");
        let found = [diagnostics.connection.input, diagnostics.connection.output].map(|m| m.components_found);
        assert_eq!(
            found.to_vec(),
            numbers(&case["components"]).iter().map(|&c| c as usize).collect::<Vec<_>>()
        );
        for (side, got) in [("input_edges", report.graphs.input()), ("output_edges", report.graphs.output())]
        {
            let want = case[side].as_array().unwrap();
            assert_eq!(got.edge_count(), want.len(), "{what} {side}");
            for ((p, q, weight), want) in got.edges().zip(want) {
                let want = numbers(want);
                assert_eq!([f64::from(p), f64::from(q)], [want[0], want[1]], "{what} {side}");
                // An exponential of at most 14, whose argument is off by some units of rounding; behind a projection,
                // of coordinates that two decompositions give to 1e-12.
                assert_relative(weight, want[2], 1e-11, &what);
            }
        }
        // Two dense decompositions of 90 nodes with conditions below 1e8.
        assert_all_relative(report.eigenpairs.values(), &numbers(&case["eigenvalues"])[..2], 1e-8, &what);
        // Vectors err by the residual over the gap, at least 8e-3 of the value here.
        let most = report.node_scores.top(1)[0].score;
        for (got, want) in report.node_scores.scores().iter().zip(numbers(&case["node_scores"])) {
            assert!((got - want).abs() <= 1e-6 * most, "{what}: {got} {want}");
        }
        let input = diagnostics.input_graph;
        assert_eq!(
            input.dimensions.map(|d| d as u64),
            case.get("dimensions").and_then(Value::as_u64),
            "{what}"
        );
        if let Some(explained) = case.get("explained").and_then(Value::as_f64) {
            assert_relative(input.explained.unwrap(), explained, 1e-12, &what);
        }
    }
}

fn scored(samples: usize, seed: u64, params: &SpadeParams) -> spadework::Result<SpadeReport> {
    let (inputs, outputs) = smooth_model(samples, seed);
    evaluate(&paired(samples, &inputs, &outputs), params, &Silent)
}

/// Two groups far apart, five samples each: no mutual or continuous graph with few neighbors joins them.
fn two_groups() -> Vec<f64> {
    (0..10).map(|i| f64::from(i % 5) * f64::from(i % 5) / 7.0 + if i < 5 { 0.0 } else { 1000.0 }).collect()
}

#[test]
fn every_kind_ends_connected_or_in_one_clear_error() {
    let values = two_groups();
    let data = paired(10, &values, &values);
    for kind in ["knn", "mutual", "cknn:1", "cknn:1.5", "sparse:density=1"] {
        for weights in [Weights::Unit, Weights::Gaussian] {
            let params = |connectivity| {
                SpadeParams::default()
                    .with_neighbors(2)
                    .with_graph(kind.parse().unwrap())
                    .with_weights(weights)
                    .with_connectivity(connectivity)
            };
            for policy in [Connectivity::Grow, Connectivity::Bridge] {
                let report = evaluate(&data, &params(policy), &Silent).unwrap();
                assert!(ConnectedGraph::new(report.graphs.input().clone()).is_ok(), "{kind} {policy}");
                // The same samples on both sides: every eigenvalue is 1.
                assert_relative(report.model_score.0, 1.0, 1e-6, kind);
            }
            let error = evaluate(&data, &params(Connectivity::Error), &Silent).unwrap_err();
            assert!(
                matches!(error, Error::Disconnected { side: Side::Input, neighbors: 2, .. }),
                "{kind}: {error}"
            );
        }
    }
}

#[test]
fn a_continuous_graph_that_no_k_connects_is_an_error() {
    let values = two_groups();
    let params = SpadeParams::default().with_neighbors(2).with_graph(GraphKind::Continuous { delta: 0.1 });
    let error = evaluate(&paired(10, &values, &values), &params, &Silent).unwrap_err();
    assert!(matches!(error, Error::Disconnected { neighbors: 9, .. }), "{error}");
}

fn continuous(values: &[f64], dim: usize, neighbors: usize) -> Graph {
    let samples = Samples::from_f64(values.len() / dim, dim, values).unwrap();
    let lists = ExactSearch.search(&samples, neighbors, &Silent).unwrap();
    construct(&samples, &lists, neighbors, GraphKind::Continuous { delta: 1.0 }, Weights::Unit)
}

/// No distance is below that of the nearest neighbor, so k = 1 and δ = 1 join nothing: of samples that are each other's
/// nearest the distance equals the bound, which is not below it.
#[test]
fn a_continuous_edge_is_strictly_below_its_bound() {
    let values = gaussians(600, &mut rng(5));
    for dim in [1, 2, 6] {
        assert_eq!(continuous(&values, dim, 1).edge_count(), 0, "{dim} dimensions");
    }
}

/// At unequal scales too (d² = 4 between samples of d_k² = 2 and 8): whole numbers leave nothing to rounding.
#[test]
fn continuous_graphs_of_a_lattice_are_exact() {
    const NEIGHBORS: usize = 2;
    let mut equalities = 0;
    for seed in 0..40 {
        let coordinates = gaussians(120, &mut rng(seed));
        let values: Vec<f64> = coordinates.iter().map(|value| (8.0 * value).round()).collect();
        let points: Vec<&[f64]> = values.chunks_exact(2).collect();
        let squared = |p: usize, q: usize| -> u64 {
            points[p].iter().zip(points[q]).map(|(a, b)| (a - b).powi(2)).sum::<f64>() as u64
        };
        let scale = |p: usize| {
            let mut all: Vec<u64> = (0..points.len()).filter(|&q| q != p).map(|q| squared(p, q)).collect();
            all.sort_unstable();
            all[NEIGHBORS - 1]
        };
        let scales: Vec<u64> = (0..points.len()).map(scale).collect();
        let mut want = Vec::new();
        for p in 0..points.len() {
            for q in p + 1..points.len() {
                let (left, right) = (squared(p, q).pow(2), scales[p] * scales[q]);
                equalities += u32::from(left == right && scales[p] != scales[q]);
                want.extend((left < right).then_some((p as u32, q as u32)));
            }
        }
        let got: Vec<_> = continuous(&values, 2, NEIGHBORS).edges().map(|(p, q, _)| (p, q)).collect();
        assert_eq!(got, want, "seed {seed}");
    }
    assert!(equalities > 0, "unequal scales meet at equality");
}

/// The product of two d_k² overflows, or vanishes, long before they do themselves.
#[test]
fn continuous_graphs_do_not_depend_on_the_unit() {
    let values = gaussians(600, &mut rng(6));
    let plain = continuous(&values, 3, 6);
    for unit in [500, -500] {
        let scaled: Vec<f64> = values.iter().map(|value| value * 2.0_f64.powi(unit)).collect();
        assert!(continuous(&scaled, 3, 6).edges().eq(plain.edges()), "unit of 2^{unit}");
    }
}

/// 30 copies of one sample among 60: their d_k is 0.
#[test]
fn copies_have_gaussian_weights_too() {
    let values: Vec<f64> = (0..60).map(|i| if i < 30 { 5.0 } else { f64::from(i * i) / 100.0 }).collect();
    let params = SpadeParams::default().with_neighbors(4).with_weights(Weights::Gaussian);
    let report = evaluate(&paired(60, &values, &values), &params, &Silent).unwrap();
    for (p, q, weight) in report.graphs.input().edges() {
        assert!((Weights::LEAST..=1.0).contains(&weight), "{p}–{q}: {weight}");
        assert_eq!(weight == 1.0, values[p as usize] == values[q as usize], "{p}–{q}: {weight}");
    }
}

#[test]
fn weights_that_vanish_are_raised_and_counted() {
    // The last sample is 10⁴ times as far from the others as they are from each other.
    let values: Vec<f64> = (0..40).map(|i| if i < 39 { f64::from(i) } else { 1e4 }).collect();
    let params = SpadeParams::default()
        .with_neighbors(3)
        .with_weights(Weights::Gaussian)
        .with_connectivity(Connectivity::Bridge);
    let report = evaluate(&paired(40, &values, &values), &params, &Silent).unwrap();
    assert_eq!(report.diagnostics.input_graph.weights_raised, 3);
    assert_eq!(report.graphs.input().weights(39), Some(&[Weights::LEAST; 3][..]));
}

#[test]
fn more_dimensions_than_there_are_are_refused() {
    let params = SpadeParams::default().with_graph(GraphKind::Pca(Dimensions::Count(7)));
    let error = scored(50, 1, &params).unwrap_err();
    assert_eq!(error.to_string(), "`pca` must keep at most 6 dimensions of 50 inputs of 6 numbers, got 7");
}

/// Fewer samples than dimensions: the axes come from products of samples. All of them keep every distance.
#[test]
fn projections_of_few_long_samples_keep_distances() {
    let (samples, dim) = (20, 50);
    let values = gaussians(samples * dim, &mut rng(5));
    let data = Samples::from_f64(samples, dim, values.clone()).unwrap();
    let projection = project(&data, Dimensions::Count(samples - 1), &Silent).unwrap();
    let spadework::samples::Values::F64(projected) = projection.samples().values() else {
        panic!("double precision")
    };
    let squared = |values: &[f64], dim: usize, p: usize, q: usize| -> f64 {
        (0..dim).map(|j| (values[p * dim + j] - values[q * dim + j]).powi(2)).sum()
    };
    for p in 0..samples {
        for q in 0..p {
            // An orthonormal basis of the span: only rounding is left.
            assert_relative(
                squared(projected, samples - 1, p, q),
                squared(&values, dim, p, q),
                1e-11,
                "distance",
            );
        }
    }
    assert_relative(projection.explained(), 1.0, 1e-12, "explained");
}

/// Samples in single precision, copies among them, and a mean far from zero.
#[test]
fn projected_copies_stay_copies() {
    let mut values: Vec<f32> = gaussians(300 * 7, &mut rng(9)).iter().map(|&v| v as f32 + 100.0).collect();
    let (head, tail) = values.split_at_mut(7 * 250);
    tail[..7 * 50].copy_from_slice(&head[7 * 100..7 * 150]);
    let data = Samples::from_f32(300, 7, values).unwrap();
    let projection = project(&data, Dimensions::Variance(0.8), &Silent).unwrap();
    let spadework::samples::Values::F64(projected) = projection.samples().values() else {
        panic!("double precision")
    };
    let dim = projection.dimensions();
    assert_eq!(bits(&projected[250 * dim..]), bits(&projected[100 * dim..150 * dim]));
}

fn all_eigenvalues(input: &Graph, output: &Graph) -> Vec<f64> {
    let graphs = pair(input.clone(), output.clone());
    solve(&graphs, EigenMethod::Dense, input.nodes() - 1, 1e-8).values().to_vec()
}

/// A neighbor graph of smooth samples, unit or Gaussian weights.
fn neighbor_graph(samples: usize, seed: u64, weights: Weights) -> ConnectedGraph {
    let report = scored(samples, seed, &SpadeParams::default().with_weights(weights)).unwrap();
    ConnectedGraph::new(report.graphs.input().clone()).unwrap()
}

#[test]
fn the_condition_of_a_sparsifier_is_that_of_a_dense_solve() {
    for weights in [Weights::Unit, Weights::Gaussian] {
        // The iteration takes over above 200 nodes.
        for samples in [120, 400] {
            let whole = neighbor_graph(samples, 3, weights);
            for target in [Sparsity::Density(1.0), Sparsity::Density(1.5), Sparsity::Condition(20.0)] {
                let (sparse, info) = sparsify(&whole, target, 0, &Silent).unwrap();
                let values = all_eigenvalues(whole.graph(), sparse.graph());
                let what = format!("{weights} {samples} {target:?}");
                // The iteration stops at a residual of 1e-4; eigenvalues err by no more.
                assert_relative(info.largest, values[0], 1e-4, &what);
                assert_relative(info.least, values[samples - 2], 1e-4, &what);
                assert!(info.least > 1.0 - 1e-9, "{what}: {}", info.least);
                assert_eq!(info.edges_before, whole.graph().edge_count());
                match target {
                    Sparsity::Density(density) => {
                        let wanted = ((samples as f64 * density) as usize).max(samples - 1);
                        assert!(sparse.graph().edge_count().abs_diff(wanted) <= 1, "{what}");
                    }
                    Sparsity::Condition(kappa) => assert!(info.kappa <= kappa, "{what}: {info:?}"),
                }
            }
        }
    }
}

#[test]
fn a_sparsifier_keeps_edges_with_their_weights() {
    let whole = neighbor_graph(300, 4, Weights::Gaussian);
    let (sparse, _) = sparsify(&whole, Sparsity::Density(1.3), 1, &Silent).unwrap();
    let edges: Vec<_> = whole.graph().edges().collect();
    assert!(sparse.graph().edges().all(|edge| edges.contains(&edge)));
}

/// What the importance of edges is for: the same number of edges at random leaves κ some 2.5 times as large.
#[test]
fn chosen_edges_serve_better_than_random_ones() {
    let whole = neighbor_graph(400, 6, Weights::Unit);
    let (tree, _) = sparsify(&whole, Sparsity::Density(1.0), 0, &Silent).unwrap();
    let (sparse, info) = sparsify(&whole, Sparsity::Density(2.5), 0, &Silent).unwrap();
    let more = sparse.graph().edge_count() - tree.graph().edge_count();
    let in_tree: Vec<_> = tree.graph().edges().map(|(p, q, _)| (p, q)).collect();
    let mut others: Vec<_> =
        whole.graph().edges().map(|(p, q, _)| (p, q)).filter(|e| !in_tree.contains(e)).collect();
    let order = crate::support::shuffled(others.len(), &mut rng(3));
    others = order.into_iter().take(more).map(|at| others[at]).collect();
    let random = Graph::from_edges(400, &[in_tree, others].concat()).unwrap();
    let values = all_eigenvalues(whole.graph(), &random);
    assert!(values[0] > 1.5 * info.largest, "{} at random against {}", values[0], info.largest);
}

#[test]
fn all_edges_are_kept_where_the_target_asks_for_more() {
    let whole = neighbor_graph(100, 2, Weights::Unit);
    let (sparse, info) = sparsify(&whole, Sparsity::Density(1e9), 0, &Silent).unwrap();
    assert_eq!(&sparse, &whole);
    assert_eq!(info.kappa, 1.0);
    let path = ConnectedGraph::new(generators::path(300)).unwrap();
    assert_eq!(sparsify(&path, Sparsity::Condition(2.0), 0, &Silent).unwrap().0, path);
}

proptest! {
    #![proptest_config(laws(8))]

    /// λ_1/a ≤ λ_max(L_SY⁺L_SX) ≤ b·λ_1, with a and b the largest eigenvalues of the two sparsifiers.
    #[test]
    fn scores_of_sparse_graphs_lie_within_what_their_conditions_allow(seed in 0_u64..1000, density in 1.0_f64..3.0) {
        let whole = scored(150, seed, &SpadeParams::default()).unwrap();
        let graph = GraphKind::Sparse(Sparsity::Density(density));
        let sparse = scored(150, seed, &SpadeParams::default().with_graph(graph)).unwrap();
        let [a, b] = [sparse.diagnostics.input_graph, sparse.diagnostics.output_graph]
            .map(|construction| construction.sparsifier.unwrap().largest);
        let (whole, sparse) = (whole.model_score.0, sparse.model_score.0);
        // Eigenvalues are good to 1e-4.
        prop_assert!(sparse >= whole / a * (1.0 - 1e-3), "{} {} {}", sparse, whole, a);
        prop_assert!(sparse <= whole * b * (1.0 + 1e-3), "{} {} {}", sparse, whole, b);
    }
}

fn weighted_pair(samples: usize) -> GraphPair {
    let report = scored(samples, 8, &SpadeParams::default().with_weights(Weights::Gaussian)).unwrap();
    report.graphs
}

/// Laplacian, preconditioner, iteration, both enclosures: all on weighted graphs, against the dense decomposition.
#[test]
fn the_spectral_part_honors_weights() {
    let graphs = weighted_pair(400);
    let dense = all_eigenvalues(graphs.input(), graphs.output());
    let iterated = solve(&graphs, EigenMethod::Davidson, 3, 1e-8);
    assert_all_relative(iterated.values(), &dense[..3], 1e-8, "eigenvalues");
    for certainty in [Certainty::Probable, Certainty::Certified] {
        let params = SpadeParams::default().with_certainty(certainty);
        let report = evaluate(graphs.clone(), &params, &Silent).unwrap();
        let enclosure = report.enclosure;
        assert!(enclosure.lower <= dense[0] * (1.0 + 1e-12) && dense[0] <= enclosure.upper, "{enclosure:?}");
        assert!(enclosure.upper <= dense[0] * 1.01, "{enclosure:?}");
        assert_eq!(enclosure.method == EnclosureMethod::Inertia, certainty == Certainty::Certified);
    }
    let laplacian = Laplacian::of(graphs.input());
    let x: Vec<f64> = gaussians(400, &mut rng(1));
    let mut product = vec![0.0; 400];
    for (p, q, weight) in graphs.input().edges() {
        let flow = weight * (x[p as usize] - x[q as usize]);
        product[p as usize] += flow;
        product[q as usize] -= flow;
    }
    for (got, want) in laplacian.apply(&x).iter().zip(&product) {
        assert!((got - want).abs() < 1e-12, "{got} {want}");
    }
}

#[test]
fn given_graphs_score_as_the_samples_they_were_made_of() {
    let (inputs, outputs) = smooth_model(250, 2);
    let data = paired(250, &inputs, &outputs);
    let params = SpadeParams::default().with_weights(Weights::Gaussian);
    let whole = evaluate(&data, &params, &Silent).unwrap();
    let given = evaluate(whole.graphs.clone(), &params, &Silent).unwrap();
    assert_eq!(bits(given.node_scores.scores()), bits(whole.node_scores.scores()));
    assert_eq!(given.diagnostics.connection.used, 0);
    assert!(given.diagnostics.input_graph.given && given.diagnostics.output_graph.given);
    for (input, output) in [
        (Manifold::from(whole.graphs.shared_input()), Manifold::from(data.output())),
        (data.input().into(), whole.graphs.output().clone().into()),
    ] {
        let mixed = evaluate(ManifoldPair::new(input, output).unwrap(), &params, &Silent).unwrap();
        assert_eq!(bits(mixed.node_scores.scores()), bits(whole.node_scores.scores()));
        assert_eq!(mixed.diagnostics.connection.used, 10);
        assert_ne!(mixed.diagnostics.input_graph.given, mixed.diagnostics.output_graph.given);
    }
}

#[test]
fn given_graphs_must_fit() {
    let values: Vec<f64> = (0..20).map(f64::from).collect();
    let samples = Samples::from_f64(20, 1, values).unwrap();
    let error = ManifoldPair::new(generators::path(19), &samples).unwrap_err();
    assert_eq!(error, Error::ShapeMismatch { input_rows: 19, output_rows: 20 });
    let halves = Graph::from_edges(4, &[(0, 1), (2, 3)]).unwrap();
    let pair = |input: Graph, output: Graph| ManifoldPair::new(input, output);
    let error = pair(generators::path(4), halves.clone()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the output graph must be connected, but the given graph has 2 components (the largest has 2 of 4 nodes)"
    );
    // An input graph in two pieces leaves the problem well posed: 0–1 and 2–3 on a path keep their resistance.
    let params = SpadeParams::default().with_eigenpairs(1);
    let report = evaluate(pair(halves, generators::path(4)).unwrap(), &params, &Silent).unwrap();
    assert_relative(report.model_score.0, 1.0, 1e-9, "two edges of a path");
    assert_eq!(report.diagnostics.connection.input.components_found, 2);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (inputs, outputs) = smooth_model(500, 12);
    let data: PairedSamples<'_> = paired(500, &inputs, &outputs);
    for kind in ["mutual", "pca:0.9", "cknn:1.2", "sparse:density=1.4", "sparse:kappa=40"] {
        let scores = [1, 2, 5].map(|threads| {
            let params = SpadeParams::default()
                .with_graph(kind.parse().unwrap())
                .with_weights(Weights::Gaussian)
                .with_threads(std::num::NonZeroUsize::new(threads));
            bits(evaluate(&data, &params, &Silent).unwrap().node_scores.scores())
        });
        assert!(scores[0] == scores[1] && scores[1] == scores[2], "{kind}");
    }
}
