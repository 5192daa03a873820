//! Numbers far from 1: right to the last digits, or refused; never another number with an exit of 0.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework::eigen::{
    Certainty, EigenMethod, EigenParams, EigenProblem, dominant_eigenpairs, lowest_modes,
};
use spadework::graph::generators::{cycle, path};
use spadework::graph::{ConnectedGraph, GraphKind, Weights};
use spadework::laplacian::SketchParams;
use spadework::neighbors::SparseRows;
use spadework::pipeline::{AverageIndices, neighbor_graph};
use spadework::samples::{Geometry, Metric, Side, Standardize};
use spadework::scores::{DistanceKind, Distances, Distortion, EdgeScores, distances_of_former_neighbors};
use spadework::{
    Error, Graph, GraphPair, ManifoldPair, PairedSamples, Samples, Silent, SpadeParams, evaluate,
};

const METHODS: [EigenMethod; 3] = [EigenMethod::Dense, EigenMethod::Davidson, EigenMethod::Power];

fn times(graph: &Graph, factor: f64) -> Graph {
    let edges: Vec<_> = graph.edges().map(|(p, q, weight)| (p, q, factor * weight)).collect();
    Graph::from_weighted_edges(graph.nodes(), &edges).unwrap()
}

fn pair(input: Graph, output: Graph) -> GraphPair {
    GraphPair::new(input, ConnectedGraph::new(output).unwrap()).unwrap()
}

/// A ring against a line of as many nodes: λ_1 = n w_X / w_Y, all others w_X / w_Y.
#[test]
fn weights_of_any_size_give_the_closed_form() {
    for (input, output) in
        [(1e200, 1.0), (1.0, 1e-200), (1e-200, 1.0), (1.0, 1e200), (1e-300, 1e-300), (1e300, 1e280)]
    {
        for (method, nodes) in METHODS.into_iter().flat_map(|method| [(method, 40), (method, 300)]) {
            let graphs = pair(times(&cycle(nodes), input), times(&path(nodes), output));
            let problem = EigenProblem::new(&graphs, 0);
            let params = EigenParams::default().with_eigenpairs(1).with_method(method);
            let pairs = problem.dominant_eigenpairs(&params, &Silent).unwrap();
            let expected = nodes as f64 * (input / output);
            let context = format!("{method} with weights {input:e} and {output:e}");
            assert!((pairs.values()[0] / expected - 1.0).abs() < 1e-8, "{:e}, {context}", pairs.values()[0]);
            for certainty in [Certainty::Probable, Certainty::Certified] {
                let bounds = problem.enclose(&pairs, certainty, 0, &Silent).unwrap();
                assert!(bounds.lower <= expected && expected <= bounds.upper, "{bounds:?}, {context}");
                assert!(bounds.upper <= expected * (1.0 + 1e-3), "{bounds:?}, {context}");
            }
        }
    }
}

/// Where the largest weight decides, and where scaling by it loses no digit: every bit but the exponent is the same.
#[test]
fn a_power_of_two_in_the_weights_changes_the_exponent_alone() {
    let factor = 2.0_f64.powi(-664);
    let (input, output) = random_graphs(60, 1.0, 5);
    for method in METHODS {
        let params = EigenParams::default().with_method(method);
        // Both at 2⁻⁶⁶⁴ are brought to another power of two than the first pair has, so the arithmetic is the same.
        let usual = dominant_eigenpairs(&pair(times(&input, 1.0), times(&output, 1.0)), &params).unwrap();
        let tiny =
            dominant_eigenpairs(&pair(times(&input, factor), times(&output, factor)), &params).unwrap();
        assert_eq!(usual.values(), tiny.values(), "{method}");
    }
}

#[test]
fn scores_beyond_the_range_of_numbers_are_refused() {
    for (input, output) in [(1e200, 1e-200), (1e-200, 1e200), (1e-300, 1.0)] {
        let graphs = ManifoldPair::from(pair(times(&cycle(30), input), times(&path(30), output)));
        let outcome = evaluate(&graphs, &SpadeParams::default().with_eigenpairs(1), &Silent);
        match outcome {
            Err(error) => assert!(matches!(error, Error::WeightRange { .. }), "{error}"),
            Ok(report) => {
                assert!((report.model_score.0 / (30.0 * (input / output)) - 1.0).abs() < 1e-9);
                assert!(report.edge_scores.scores().iter().all(|score| score.is_finite()));
            }
        }
    }
}

/// A spanning path with chords; weights between 10^-decades and 1.
fn random_graphs(nodes: u32, decades: f64, seed: u64) -> (Graph, Graph) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut graph = || {
        let mut weight = || 10.0_f64.powf(-decades * rng.random::<f64>());
        let mut edges: Vec<_> = (1..nodes).map(|p| (p - 1, p, weight())).collect();
        for p in 0..nodes {
            edges.push((p, (p * 7 + 3) % nodes, weight()));
            edges.push((p, (p * 5 + 1) % nodes, weight()));
        }
        edges.retain(|(p, q, _)| p != q);
        Graph::from_weighted_edges(nodes as usize, &edges).unwrap()
    };
    (graph(), graph())
}

/// The power iteration finds the first pair or is found out; nothing else passes with bounds around it.
#[test]
fn an_iteration_that_settled_on_another_pair_is_refused() {
    let mut refused = 0;
    for seed in 0..240 {
        let nodes = 9 + (seed % 24) as u32;
        let (input, output) = random_graphs(nodes, [1.0, 4.0, 8.0][seed as usize % 3], seed);
        let graphs = pair(input, output);
        let dense = EigenProblem::new(&graphs, 0).all_eigenvalues(&Silent).unwrap()[0];
        for method in [EigenMethod::Power, EigenMethod::Davidson] {
            let problem = EigenProblem::new(&graphs, seed);
            let params = EigenParams::default().with_method(method).with_seed(seed);
            let found = problem.dominant_eigenpairs(&params, &Silent).and_then(|pairs| {
                let bounds = problem.enclose(&pairs, Certainty::Probable, seed, &Silent)?;
                Ok((pairs.values()[0], bounds))
            });
            let Ok((value, bounds)) = found else {
                refused += 1;
                continue;
            };
            assert!((value / dense - 1.0).abs() < 1e-3, "{method}, seed {seed}: {value} for {dense}");
            assert!(dense <= bounds.upper * (1.0 + 1e-6), "{method}, seed {seed}: {bounds:?} for {dense}");
        }
    }
    assert!(refused < 24, "{refused} of 480 were refused");
}

/// Cliques that hang together by an edge of weight 10⁻⁶ or less: what is known of them is solved.
#[test]
fn cliques_that_hardly_hang_together_are_solved() {
    let mut refused = Vec::new();
    for (cliques, size) in [(2, 8), (5, 12), (4, 60), (12, 40)] {
        for joint in [1e-3, 1e-6, 1e-8] {
            let nodes = cliques * size;
            let mut edges = Vec::new();
            for clique in 0..cliques {
                let members = clique * size..(clique + 1) * size;
                edges.extend(members.clone().flat_map(|p| (p + 1..members.end).map(move |q| (p, q, 1.0))));
                if clique > 0 {
                    edges.push((clique * size - 1, clique * size, joint));
                }
            }
            let output = Graph::from_weighted_edges(nodes as usize, &edges).unwrap();
            // An input edge along every joint: λ_1 is that of a bridge, the ratio of the weights, and a little more.
            let input = path(nodes as usize);
            let graphs = pair(input, output);
            for (method, eigenpairs) in METHODS.into_iter().flat_map(|method| [(method, 1), (method, 2)]) {
                let context = format!("{method}, {eigenpairs} pairs, {cliques} cliques of {size}, {joint:e}");
                let params = EigenParams::default().with_method(method).with_eigenpairs(eigenpairs);
                let problem = EigenProblem::new(&graphs, 0);
                let found = problem.dominant_eigenpairs(&params, &Silent).and_then(|pairs| {
                    problem
                        .enclose(&pairs, Certainty::Probable, 0, &Silent)
                        .map(|bounds| (pairs.values()[0], bounds))
                });
                match found {
                    Err(error) => refused.push(format!("{context}: {error}")),
                    Ok((value, bounds)) => {
                        assert!(
                            (0.999_999..1.0 + 8.0 * f64::from(size)).contains(&(value * joint)),
                            "{context}: {value}"
                        );
                        assert!(bounds.upper <= value * 1.01, "{context}: {value}, {bounds:?}");
                    }
                }
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// A spiral in and its angle out, times a factor.
fn spiral(factor: f64) -> (Samples<'static>, Samples<'static>) {
    let angle = |i: i32| f64::from(i).sqrt();
    let inputs: Vec<f64> = (0..400)
        .flat_map(|i| [angle(i).cos() * angle(i), angle(i).sin() * angle(i)])
        .map(|x| x * factor)
        .collect();
    let outputs: Vec<f64> =
        (0..400).flat_map(|i| [angle(i), (3.0 * angle(i)).sin()]).map(|x| x * factor).collect();
    (Samples::from_f64(400, 2, inputs).unwrap(), Samples::from_f64(400, 2, outputs).unwrap())
}

#[test]
fn data_of_any_size_give_the_same_scores_bit_by_bit() {
    let (inputs, outputs) = spiral(1.0);
    let usual = PairedSamples::new(inputs, outputs).unwrap();
    for exponent in [-200, -400, -500, -664, -900, -1000] {
        let (inputs, outputs) = spiral(2.0_f64.powi(exponent));
        let tiny = PairedSamples::new(inputs, outputs).unwrap();
        for (kind, weights) in [
            (GraphKind::Knn, Weights::Unit),
            (GraphKind::Knn, Weights::Gaussian),
            ("pca:2".parse().unwrap(), Weights::Unit),
        ] {
            let params = SpadeParams::default().with_neighbors(6).with_graph(kind).with_weights(weights);
            let usual = evaluate(&usual, &params, &Silent).unwrap();
            let tiny = evaluate(&tiny, &params, &Silent).unwrap();
            assert_eq!(usual.model_score, tiny.model_score, "2^{exponent}, {kind}, {weights}");
            assert_eq!(usual.node_scores, tiny.node_scores, "2^{exponent}, {kind}, {weights}");
        }
    }
}

/// What is found besides the scores measures distances too: the indices, the graph of one side, former neighbors.
#[test]
fn data_of_any_size_give_the_same_neighborhoods() {
    let found = |factor: f64| {
        let (inputs, outputs) = spiral(factor);
        let params = SpadeParams::default().with_neighbors(6);
        let pair = PairedSamples::new(inputs.clone(), outputs.clone()).unwrap();
        let report = evaluate(&pair, &params, &Silent).unwrap();
        let indices = AverageIndices::of(&report, Some(&pair), &Silent).unwrap();
        let graphs = [&inputs, &outputs].map(|side| neighbor_graph(side, &params, &Silent).unwrap());
        let now = Geometry::default().place(Side::Output, outputs.view()).unwrap();
        let former = distances_of_former_neighbors(&graphs[0], &graphs[1], &now);
        (indices.neighborhoods.unwrap(), graphs, former)
    };
    let usual = found(1.0);
    assert!(usual.0.trustworthiness < 1.0 && usual.2.iter().any(|&ratio| ratio > 1.0));
    for exponent in [-600, -900] {
        assert_eq!(found(2.0_f64.powi(exponent)), usual, "2^{exponent}");
    }
}

#[test]
fn sparse_rows_of_any_size_have_the_same_neighbors() {
    let rows = |factor: f64| {
        let entry = |at: u32| (at % 50, at * 7 % 31, (1.0 + f64::from(at % 13)) * factor);
        SparseRows::new(50, 31, (0..250).map(entry).collect()).unwrap()
    };
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let lists = |factor: f64| rows(factor).neighbors(Side::Input, metric, 5, &Silent).unwrap();
        let (usual, tiny) = (lists(1.0), lists(2.0_f64.powi(-600)));
        assert!((0..50).all(|p| usual.of(p) == tiny.of(p)), "{metric}");
    }
    let mixed = vec![(0, 0, 1.0), (1, 0, 1.0), (1, 1, 1e-200), (2, 0, 1.0), (2, 1, 2e-200), (3, 0, 2.0)];
    let rows = SparseRows::new(4, 2, mixed).unwrap();
    let error = rows.neighbors(Side::Input, Metric::Euclidean, 1, &Silent).unwrap_err();
    assert_eq!(error, Error::TooClose { side: Side::Input, rows: [0, 1] });
    // As of dense rows, two of four are not too many.
    let few = vec![(0, 0, 1.0), (1, 0, 1.0), (1, 1, 1e-200), (2, 0, 2.0), (3, 0, 4.0)];
    let lists = SparseRows::new(4, 2, few).unwrap().neighbors(Side::Input, Metric::Euclidean, 1, &Silent);
    let lists = lists.unwrap();
    assert_eq!([0, 1, 2, 3].map(|p| lists.of(p)[0]), [1, 0, 0, 2]);
}

/// Columns are divided by their deviation, so that the size of their numbers does not matter, down to those that have lost digits.
#[test]
fn standardized_columns_of_any_size_give_the_same_scores() {
    let (_, outputs) = spiral(1.0);
    for standardize in [Standardize::Standard, Standardize::Robust] {
        let scores = |factor: f64| {
            // Whole numbers times 2⁻¹⁰⁶⁰ are exact, though the last of them are below 1e-308.
            let inputs = (0..400)
                .flat_map(|i| [f64::from(i * i % 101), f64::from(i * 7 % 61) * factor])
                .collect::<Vec<_>>();
            let pair =
                PairedSamples::new(Samples::from_f64(400, 2, inputs).unwrap(), outputs.clone()).unwrap();
            let params = SpadeParams::default().with_standardize(standardize);
            evaluate(&pair, &params, &Silent).unwrap().node_scores
        };
        let usual = scores(1.0);
        for exponent in [-500, -600, -1060] {
            assert_eq!(scores(2.0_f64.powi(exponent)), usual, "{standardize}, 2^{exponent}");
        }
    }
}

/// A column of 0 and 1 next to one of tiny numbers: squared distances tell only the first apart.
#[test]
fn tiny_columns_beside_ordinary_ones_are_refused() {
    let (_, outputs) = spiral(1.0);
    let mixed: Vec<f64> = (0..400).flat_map(|i| [f64::from(i % 2), 1e-200 * f64::from(i)]).collect();
    let mixed = Samples::from_f64(400, 2, mixed).unwrap();
    for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Chebyshev] {
        let params = SpadeParams::default().with_input_metric(metric).with_output_metric(metric);
        for (side, inputs, outputs) in [(Side::Input, &mixed, &outputs), (Side::Output, &outputs, &mixed)] {
            let pair = PairedSamples::new(inputs.clone(), outputs.clone()).unwrap();
            let error = evaluate(&pair, &params, &Silent).unwrap_err();
            assert!(matches!(error, Error::TooClose { side: of, .. } if of == side), "{metric}: {error}");
        }
        assert!(matches!(neighbor_graph(&mixed, &params, &Silent), Err(Error::TooClose { .. })), "{metric}");
    }
    // Enough copies, and differences that are not needed, are no reason to refuse.
    let copies: Vec<f64> = (0..400).map(|i| if i == 0 { 1e-200 } else { f64::from(i / 8) }).collect();
    let copies = Samples::from_f64(400, 1, copies).unwrap();
    let pair = PairedSamples::new(outputs, copies).unwrap();
    evaluate(&pair, &SpadeParams::default().with_neighbors(8), &Silent).unwrap();
    // A classifier that is sure of some samples: their probabilities are as good as equal.
    let (_, inputs) = spiral(1.0);
    let sure: Vec<f64> = (0..400)
        .flat_map(|i| {
            let small = if i < 60 { 10_f64.powi(-200 - i) } else { f64::from(i) / 1000.0 };
            [1.0 - small, small]
        })
        .collect();
    let pair = PairedSamples::new(inputs, Samples::from_f64(400, 2, sure).unwrap()).unwrap();
    evaluate(&pair, &SpadeParams::default(), &Silent).unwrap();
    // Standardized, the tiny column counts as much as the other.
    let (_, outputs) = spiral(1.0);
    let pair = PairedSamples::new(mixed, outputs).unwrap();
    evaluate(&pair, &SpadeParams::default().with_standardize(Standardize::Standard), &Silent).unwrap();
}

#[test]
fn differences_that_are_lost_beside_larger_numbers_are_refused() {
    let (_, outputs) = spiral(1.0);
    let inputs: Vec<f64> = (0..400).flat_map(|i| [1.0, 1e-200 * f64::from(i)]).collect();
    let inputs = Samples::from_f64(400, 2, inputs).unwrap();
    let pair = PairedSamples::new(inputs, outputs).unwrap();
    let error = evaluate(&pair, &SpadeParams::default(), &Silent).unwrap_err();
    assert!(matches!(error, Error::TooClose { .. }), "{error}");
}

/// Distances and embeddings of graphs with weights far from 1 are those of ordinary weights, times a power of two.
#[test]
fn distances_and_modes_are_right_for_weights_of_any_size() {
    let (input, output) = random_graphs(60, 2.0, 5);
    let eigen = EigenParams::default().with_eigenpairs(3);
    let pairs = [(0, 1), (3, 40), (17, 59)];
    let ordinary = pair(input.clone(), output.clone());
    let usual =
        Distances::new(&ordinary, 0).unwrap().of_pairs(DistanceKind::Resistance, &pairs, &Silent).unwrap();
    let sketch = SketchParams::default();
    let (usual_edges, _) = Distances::new(&ordinary, 0).unwrap().of_edges(&sketch, &Silent).unwrap();
    let (usual_scores, _) = EdgeScores::of_full_spectrum(&ordinary, &sketch, &Silent).unwrap();
    let modes =
        |graph: &Graph| lowest_modes(&ConnectedGraph::new(graph.clone()).unwrap(), &eigen, &Silent).unwrap();
    let usual_modes = modes(&output);
    // About 10^±200 and 10^±150, and two sides that differ.
    for (of_input, of_output) in [(664, 664), (-664, -664), (340, -320), (-340, 320), (-664, 0)] {
        let power = |exponent: i32| 2.0_f64.powi(exponent);
        let graphs = pair(times(&input, power(of_input)), times(&output, power(of_output)));
        let distances = Distances::new(&graphs, 0).unwrap();
        let context = format!("2^{of_input}, 2^{of_output}");
        let are_those = |found: &[Distortion], usual: &[Distortion]| {
            for (found, usual) in found.iter().zip(usual) {
                assert_eq!(found.input * power(of_input), usual.input, "{context}");
                assert_eq!(found.output * power(of_output), usual.output, "{context}");
            }
        };
        are_those(&distances.of_pairs(DistanceKind::Resistance, &pairs, &Silent).unwrap(), &usual);
        are_those(&distances.of_edges(&sketch, &Silent).unwrap().0, &usual_edges);
        let (scores, _) = EdgeScores::of_full_spectrum(&graphs, &sketch, &Silent).unwrap();
        for (score, usual) in scores.scores().iter().zip(usual_scores.scores()) {
            assert_eq!(score * power(of_output) * power(of_output - of_input), *usual, "{context}");
        }
        let found = modes(graphs.output());
        for (value, usual) in found.values().iter().zip(usual_modes.values()) {
            assert_eq!(value * power(-of_output), *usual, "{context}");
        }
        assert!(found.vectors().iter().flatten().all(|entry| entry.is_finite()));
        for (entry, usual) in found.vectors().iter().flatten().zip(usual_modes.vectors().iter().flatten()) {
            assert_eq!(entry * power(of_output / 2), *usual, "{context}");
        }
    }
    // Beyond all numbers: refused, not 0 or infinity.
    let graphs = pair(times(&input, 1e-300), times(&output, 1e300));
    let found = Distances::new(&graphs, 0).unwrap().of_pairs(DistanceKind::Resistance, &pairs, &Silent);
    assert!(matches!(found.unwrap_err(), Error::WeightRange { .. }));
}

/// What is refused says how badly the graph is conditioned, and never more than it is.
#[test]
fn a_refusal_names_the_condition_number() {
    let size = 60;
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    for clique in 0..2 {
        let members = clique * size..(clique + 1) * size;
        edges.extend(members.clone().flat_map(|p| (p + 1..members.end).map(move |q| (p, q, 1.0))));
    }
    edges.push((size - 1, size, 1e-6));
    let output = Graph::from_weighted_edges(2 * size as usize, &edges).unwrap();
    let connected = ConnectedGraph::new(output.clone()).unwrap();
    let lowest =
        lowest_modes(&connected, &EigenParams::default().with_tolerance(1e-4), &Silent).unwrap().values()[0];
    let degree = (0..output.nodes()).map(|p| output.weighted_degree(p)).fold(0.0, f64::max);
    let graphs = pair(path(2 * size as usize), output);
    for method in [EigenMethod::Davidson, EigenMethod::Power] {
        let params = EigenParams::default().with_method(method).with_max_iterations(1).with_tolerance(1e-12);
        let error = dominant_eigenpairs(&graphs, &params).unwrap_err();
        let Error::NotConverged { condition: Some(condition), .. } = &error else { panic!("{error}") };
        // No eigenvalue is larger than twice the largest degree.
        assert!((1e4..=2.0 * degree / lowest).contains(condition), "{method}: {condition:e}");
        let said = format!("; the condition number of the output graph is at least {condition:.1e}");
        assert!(error.to_string().ends_with(&said), "{error}");
    }
}

/// "must reach 1e-6, got 6.9e-7" says nothing.
#[test]
fn no_message_asks_for_what_was_reached() {
    let said = |residual: f64| {
        let (residuals, condition) = (vec![residual, 1e-9], Some(3e15));
        Error::NotConverged { what: "the eigenpairs", iterations: 500, residuals, tolerance: 1e-6, condition }
            .to_string()
    };
    assert!(
        said(2e-6).starts_with("the eigenpairs must reach a relative residual of 1e-6, got 2e-6 after 500")
    );
    for reached in [6.9e-7, f64::NAN, f64::INFINITY] {
        let said = said(reached);
        assert!(
            said.starts_with("the eigenpairs failed after 500 iterations: rounding errors exceed"),
            "{said}"
        );
        assert!(!said.contains("must reach") && said.ends_with("at least 3.0e15"), "{said}");
    }
}
