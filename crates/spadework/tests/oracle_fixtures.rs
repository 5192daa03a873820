//! Every step against numbers that SciPy made: `scripts/make_oracle_fixtures.py`, one JSON file a case.

use std::collections::BTreeSet;

use crate::support::fixtures::{Fixture, FixtureSide, all};
use crate::support::resistance::{PseudoInverse, root_score_error, score_error};
use crate::support::{assert_all_relative, assert_relative, edge_scores, node_scores, pair, solve};
use spadework::eigen::{EigenMethod, GeneralizedEigenpairs};
use spadework::graph::Connectivity;
use spadework::neighbors::{BruteForce, ExactSearch, NeighborSearch, Ties};
use spadework::samples::Side;
use spadework::{
    Error, Graph, GraphPair, PairedSamples, Samples, Silent, SpadeParams, SpadeReport, evaluate,
};

/// What double precision leaves of sums over n ≤ 280 eigenvalues in two programs: cond(L_Y) ≤ n² times ε, some 2e-11.
const ROUNDING: f64 = 1e-10;

fn params(fixture: &Fixture, tolerance: f64) -> SpadeParams {
    SpadeParams::default()
        .with_neighbors(fixture.neighbors)
        .with_eigenpairs(fixture.eigenpairs)
        .with_connectivity(fixture.connectivity)
        // SciPy's lists are by distance and index; `ties.rs` tests what the inputs decide.
        .with_ties(Ties::Index)
        .with_tolerance(tolerance)
}

fn report(fixture: &Fixture, tolerance: f64) -> SpadeReport {
    evaluate(&fixture.paired(), &params(fixture, tolerance), &Silent).unwrap()
}

fn edges_of(graph: &Graph) -> Vec<(u32, u32)> {
    graph.edges().map(|(p, q, _)| (p, q)).collect()
}

#[test]
fn neighbors_are_those_of_the_oracle() {
    for fixture in all() {
        for (side, name) in [(&fixture.input, "input"), (&fixture.output, "output")] {
            let precisions = [side.in_f32(fixture.samples), side.in_f64(fixture.samples)];
            let searches: [&dyn NeighborSearch; 2] = [&ExactSearch, &BruteForce];
            for (samples, search) in precisions.iter().flat_map(|s| searches.map(|search| (s, search))) {
                let lists = search.search(samples, fixture.neighbors_used, &Silent).unwrap();
                for (p, want) in side.neighbors.iter().enumerate() {
                    assert_eq!(lists.of(p), want, "{}: {name} sample {p}", fixture.name);
                }
            }
        }
    }
}

#[test]
fn squared_distances_are_exact_on_the_grid() {
    for fixture in all() {
        for side in [&fixture.input, &fixture.output] {
            let lists =
                ExactSearch.search(&side.in_f32(fixture.samples), fixture.neighbors_used, &Silent).unwrap();
            let row = |p: usize| side.values[p * side.dim..(p + 1) * side.dim].iter();
            for p in 0..fixture.samples {
                for (&q, &distance) in lists.of(p).iter().zip(lists.squared_distances_of(p)) {
                    // Coordinates are multiples of 1/1024 and small: sums of their squares are exact in any order.
                    let want: f64 = row(p).zip(row(q as usize)).map(|(a, b)| (a - b) * (a - b)).sum();
                    assert_eq!(distance, want, "{}: {p}–{q}", fixture.name);
                }
            }
        }
    }
}

#[test]
fn graphs_have_the_edges_of_the_oracle() {
    for fixture in all() {
        let report = report(&fixture, 1e-6);
        assert_eq!(edges_of(report.graphs.input()), fixture.input.edges, "{}: input", fixture.name);
        assert_eq!(edges_of(report.graphs.output()), fixture.output.edges, "{}: output", fixture.name);
        assert!(report.graphs.input().edges().chain(report.graphs.output().edges()).all(|(.., w)| w == 1.0));
    }
}

#[test]
fn the_report_says_what_was_done_to_connect_the_graphs() {
    for fixture in all() {
        let connection = report(&fixture, 1e-6).diagnostics.connection;
        assert_eq!(connection.policy, fixture.connectivity, "{}", fixture.name);
        assert_eq!(connection.requested, fixture.neighbors, "{}", fixture.name);
        assert_eq!(connection.used, fixture.neighbors_used, "{}", fixture.name);
        for (mended, side) in [(connection.input, &fixture.input), (connection.output, &fixture.output)] {
            assert_eq!(mended.components_found, side.components, "{}", fixture.name);
            assert_eq!(mended.bridges, side.bridges.len(), "{}", fixture.name);
        }
    }
}

/// The bridges are what the graph has beyond the union of its neighbor lists.
#[test]
fn bridges_are_those_of_the_oracle() {
    let mut seen = 0;
    for fixture in all() {
        let report = report(&fixture, 1e-6);
        for (side, graph) in
            [(&fixture.input, report.graphs.input()), (&fixture.output, report.graphs.output())]
        {
            let listed: BTreeSet<(u32, u32)> = union_of_lists(&side.neighbors).into_iter().collect();
            let added: BTreeSet<_> =
                edges_of(graph).into_iter().filter(|edge| !listed.contains(edge)).collect();
            assert_eq!(added, side.bridges.iter().copied().collect(), "{}", fixture.name);
            seen += added.len();
        }
    }
    assert!(seen >= 3, "the fixtures hold bridges on both sides");
}

fn union_of_lists(neighbors: &[Vec<u32>]) -> Vec<(u32, u32)> {
    let ordered = |p: u32, q: u32| (p.min(q), p.max(q));
    neighbors.iter().zip(0..).flat_map(|(row, p)| row.iter().map(move |&q| ordered(p, q))).collect()
}

/// The residual bounds the relative error of an eigenvalue, so each tolerance is also what may be asked of the values.
#[test]
fn eigenvalues_agree_at_the_default_and_at_a_fine_tolerance() {
    for fixture in all() {
        for tolerance in [SpadeParams::default().tolerance, 1e-10] {
            let values = report(&fixture, tolerance).eigenpairs.values().to_vec();
            assert_all_relative(
                &values,
                &fixture.eigenvalues,
                tolerance,
                &format!("{} at {tolerance:e}", fixture.name),
            );
        }
    }
}

#[test]
fn both_methods_find_the_eigenvalues() {
    let mut iterated = 0;
    for fixture in all() {
        let graphs = fixture.graphs();
        for (method, tolerance) in
            [EigenMethod::Dense, EigenMethod::Davidson].into_iter().flat_map(|m| [(m, 1e-6), (m, 1e-10)])
        {
            let pairs = solve(&graphs, method, fixture.eigenpairs, tolerance);
            assert_all_relative(
                pairs.values(),
                &fixture.eigenvalues,
                tolerance,
                &format!("{} {method:?}", fixture.name),
            );
            iterated += usize::from(pairs.info().method == EigenMethod::Davidson);
        }
    }
    assert_eq!(iterated, 2 * all().len(), "every fixture is large enough for the iteration");
}

/// Scores of eigenpairs, each within what residuals, gaps and resistances allow.
fn assert_scores(fixture: &Fixture, graphs: &GraphPair, pairs: &GeneralizedEigenpairs, what: &str) {
    let root_error = root_score_error(pairs, fixture.next_eigenvalue);
    let resistance = PseudoInverse::of(graphs.output());
    let scores = edge_scores(graphs, pairs);
    assert_eq!(scores.edges(), fixture.input.edges);
    let mut allowed_at = vec![0.0_f64; fixture.samples];
    for ((&(p, q), &got), &want) in scores.edges().iter().zip(scores.scores()).zip(&fixture.edge_scores) {
        let allowed = score_error(want, root_error * resistance.resistance(p, q).sqrt());
        assert!((got - want).abs() <= allowed, "{what}: edge {p}–{q}: {got}, want {want} ± {allowed:e}");
        for end in [p, q] {
            allowed_at[end as usize] = allowed_at[end as usize].max(allowed);
        }
    }
    // A mean errs by no more than the worst of its terms.
    let nodes = node_scores(graphs, pairs);
    for (p, (&got, &want)) in nodes.scores().iter().zip(&fixture.node_scores).enumerate() {
        let allowed = allowed_at[p];
        assert!((got - want).abs() <= allowed, "{what}: node {p}: {got}, want {want} ± {allowed:e}");
    }
    let labels = spadework::scores::label_scores(&nodes, &fixture.labels).unwrap();
    let allowed = allowed_at.iter().copied().fold(0.0, f64::max);
    assert_eq!(labels.len(), fixture.label_scores.len());
    for (got, &(label, score, samples)) in labels.iter().zip(&fixture.label_scores) {
        assert_eq!((got.label, got.samples), (label, samples), "{what}");
        assert!((got.score - score).abs() <= allowed, "{what}: label {label}: {}, want {score}", got.score);
    }
}

#[test]
fn scores_agree_as_far_as_residuals_and_gaps_allow() {
    for fixture in all() {
        let graphs = fixture.graphs();
        for method in [EigenMethod::Dense, EigenMethod::Davidson] {
            for tolerance in [1e-6, 1e-10] {
                let pairs = solve(&graphs, method, fixture.eigenpairs, tolerance);
                assert_scores(
                    &fixture,
                    &graphs,
                    &pairs,
                    &format!("{} {method:?} {tolerance:e}", fixture.name),
                );
            }
        }
    }
}

/// The same once more in plain numbers. At a tolerance of 1e-10 the bound above is of first order in the residual over
/// the gap (5 % or more in every fixture) times √(λR_Y) ≤ 100 or so: 2e-10 · 20 · 100 is below 1e-6 of the largest score.
#[test]
fn reported_scores_agree_to_six_digits() {
    for fixture in all() {
        let report = report(&fixture, 1e-10);
        let largest = fixture.edge_scores.iter().copied().fold(0.0, f64::max);
        for (got, want) in [
            (report.edge_scores.scores(), &fixture.edge_scores),
            (report.node_scores.scores(), &fixture.node_scores),
        ] {
            assert_eq!(got.len(), want.len());
            for (got, want) in got.iter().zip(want) {
                assert!((got - want).abs() <= 1e-6 * largest, "{}: {got}, want {want}", fixture.name);
            }
        }
        for (got, want) in report.label_scores(&fixture.labels).unwrap().iter().zip(&fixture.label_scores) {
            assert_eq!((got.label, got.samples), (want.0, want.2));
            assert!((got.score - want.1).abs() <= 1e-6 * largest, "{}: label {}", fixture.name, got.label);
        }
        assert_eq!(report.model_score.0, report.eigenpairs.values()[0]);
    }
}

#[test]
fn the_whole_spectrum_agrees() {
    for fixture in all() {
        let graphs = fixture.graphs();
        let resistance = PseudoInverse::of(graphs.output());
        let resistances: f64 = graphs.input().edges().map(|(p, q, _)| resistance.resistance(p, q)).sum();
        assert_relative(
            resistances,
            fixture.resistance_sum,
            crate::support::resistance::RESISTANCE_ERROR,
            &fixture.name,
        );
        // Relative residuals of small eigenvalues carry the rounding of the large ones; the sums below do not mind.
        let spectrum = solve(&graphs, EigenMethod::Dense, fixture.samples - 1, 1e-8);
        assert_relative(spectrum.values().iter().sum(), fixture.eigenvalue_sum, ROUNDING, &fixture.name);
        let distance = spectrum.values().iter().map(|value| value.ln().powi(2)).sum::<f64>().sqrt();
        assert_relative(distance, fixture.riemannian_distance, ROUNDING, &fixture.name);
    }
}

/// λ_max(L_X⁺L_Y): the two sides exchanged. It differs from the model score, so a swapped pair would be noticed.
#[test]
fn exchanging_the_sides_gives_the_reverse_score() {
    for fixture in all() {
        let exchanged = pair(fixture.output.graph(fixture.samples), fixture.input.graph(fixture.samples));
        for method in [EigenMethod::Dense, EigenMethod::Davidson] {
            let value = solve(&exchanged, method, 1, 1e-10).values()[0];
            assert_relative(value, fixture.reverse_score, ROUNDING, &format!("{} {method:?}", fixture.name));
        }
        assert!((fixture.reverse_score - fixture.eigenvalues[0]).abs() > 1e-2 * fixture.reverse_score);
    }
}

/// Sizes of the components of the union of the first k neighbors, found by walking.
fn component_sizes(side: &FixtureSide, k: usize) -> Vec<usize> {
    let shortened: Vec<Vec<u32>> = side.neighbors.iter().map(|row| row[..k].to_vec()).collect();
    let mut adjacent = vec![Vec::new(); shortened.len()];
    for (p, q) in union_of_lists(&shortened) {
        adjacent[p as usize].push(q as usize);
        adjacent[q as usize].push(p as usize);
    }
    let mut seen = vec![false; adjacent.len()];
    let mut sizes = Vec::new();
    for start in 0..adjacent.len() {
        let mut stack = if seen[start] { vec![] } else { vec![start] };
        let mut size = 0;
        while let Some(p) = stack.pop() {
            if !std::mem::replace(&mut seen[p], true) {
                size += 1;
                stack.extend(&adjacent[p]);
            }
        }
        if size > 0 {
            sizes.push(size);
        }
    }
    sizes
}

fn refusal(samples: &PairedSamples<'_>, neighbors: usize) -> Error {
    let params = SpadeParams::default()
        .with_neighbors(neighbors)
        .with_eigenpairs(1)
        .with_connectivity(Connectivity::Error);
    evaluate(samples, &params, &Silent).unwrap_err()
}

#[test]
fn the_policy_error_names_the_side_and_its_components() {
    let mut refused = 0;
    for fixture in
        all().iter().filter(|fixture| fixture.input.components > 1 && fixture.output.components > 1)
    {
        let (n, k) = (fixture.samples, fixture.neighbors);
        // Integers on a line are connected with any k, so either side can be the one that falls apart.
        let line = || Samples::from_f64(n, 1, (0..n).map(|i| i as f64).collect::<Vec<_>>()).unwrap();
        let cases = [
            (Side::Input, &fixture.input, PairedSamples::new(fixture.input.in_f64(n), line()).unwrap()),
            (Side::Output, &fixture.output, PairedSamples::new(line(), fixture.output.in_f64(n)).unwrap()),
        ];
        for (side, numbers, samples) in cases {
            let sizes = component_sizes(numbers, k);
            let components = numbers.components;
            assert_eq!(sizes.len(), components, "the walk agrees with SciPy");
            let largest = sizes.iter().copied().max().unwrap();
            let want = Error::Disconnected { side, components, largest, samples: n, neighbors: k };
            assert_eq!(refusal(&samples, k), want);
            refused += 1;
        }
        let both = refusal(&fixture.paired(), k);
        assert!(
            matches!(both, Error::Disconnected { side: Side::Input, .. }),
            "the input is looked at first"
        );
    }
    assert!(refused >= 4, "some fixtures fall apart");
}

/// Where nothing needs mending, the three policies are one.
#[test]
fn policies_agree_on_connected_graphs() {
    for fixture in
        all().iter().filter(|fixture| fixture.input.components == 1 && fixture.output.components == 1)
    {
        for connectivity in [Connectivity::Grow, Connectivity::Bridge, Connectivity::Error] {
            let params = params(fixture, 1e-10).with_connectivity(connectivity);
            let report = evaluate(&fixture.paired(), &params, &Silent).unwrap();
            assert_eq!(report.diagnostics.connection.used, fixture.neighbors);
            assert_all_relative(report.eigenpairs.values(), &fixture.eigenvalues, 1e-10, &fixture.name);
        }
    }
}
