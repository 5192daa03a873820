//! Distances, distortions, cuts and spectra of two graphs against SciPy, closed forms and the paper's theorems.

use std::f64::consts::PI;

use crate::support::distances::{DistanceFixture, all};
use crate::support::{
    Stopped, assert_all_relative, assert_relative, edge_scores, gaussians, pair, paired, rng, solve,
};
use faer::linalg::solvers::DenseSolveCore;
use spadework::eigen::{EigenMethod, EigenParams, lowest_modes};
use spadework::graph::generators::{complete, cycle, grid, path, star};
use spadework::graph::{ConnectedGraph, geodesic_distances, geodesic_distances_from};
use spadework::laplacian::{
    Laplacian, LaplacianSolver, RESISTANCE_ERROR, SketchParams, edge_resistances, resistances,
};
use spadework::scores::{
    Cut, DistanceKind, Distances, EdgeScores, LargestDistortion, NodeScores, ReverseScore,
    RiemannianDistance, sparsest_cut,
};
use spadework::{Error, Graph, GraphPair, Silent, SpadeParams, evaluate};

/// What we promise. The dense inverses are better: on these graphs cond(L) times ε is about 1e-13.
const DENSE_ERROR: f64 = RESISTANCE_ERROR;

/// Small errors of the sketch ask for more rows than these graphs have nodes; the largest error does not.
fn rough() -> SketchParams {
    SketchParams::default().with_error(0.9)
}

fn node_pairs(nodes: usize) -> Vec<(u32, u32)> {
    (0..nodes as u32).flat_map(|p| (p + 1..nodes as u32).map(move |q| (p, q))).collect()
}

fn found_resistances(graph: &Graph, pairs: &[(u32, u32)]) -> Vec<f64> {
    resistances(&LaplacianSolver::new(Laplacian::of(graph), 3), pairs, &Silent).unwrap()
}

#[test]
fn hops_are_those_of_scipy() {
    for fixture in all() {
        for (graph, field) in
            [(fixture.graphs.input(), "input_hops"), (fixture.graphs.output(), "output_hops")]
        {
            for (source, want) in fixture.hops(field) {
                let got: Vec<_> = geodesic_distances_from(graph, source).into_iter().flatten().collect();
                assert_eq!(got, want, "{} {field} from {source}", fixture.name);
                // The other way round every pair has a search of its own, which stops early.
                let backwards: Vec<_> = (0..graph.nodes() as u32).map(|p| (p, source)).collect();
                let got: Vec<_> =
                    geodesic_distances(graph, &backwards, &Silent).unwrap().into_iter().flatten().collect();
                assert_eq!(got, want, "{} {field} to {source}", fixture.name);
            }
        }
    }
}

#[test]
fn resistances_are_those_of_a_dense_pseudo_inverse() {
    for fixture in all() {
        let edges = fixture.edges();
        let input = found_resistances(fixture.graphs.input(), &edges);
        assert_all_relative(&input, &fixture.numbers("input_resistances"), DENSE_ERROR, &fixture.name);
        let output = found_resistances(fixture.graphs.output(), &edges);
        assert_all_relative(&output, &fixture.numbers("output_resistances"), DENSE_ERROR, &fixture.name);
    }
}

/// R(p,q) by a dense inverse: L⁺ = (L + 11ᵀ/n)⁻¹ − 11ᵀ/n, and the last term is the same for all entries.
fn dense_resistances(graph: &Graph, pairs: &[(u32, u32)]) -> Vec<f64> {
    let n = graph.nodes();
    let mut matrix = faer::Mat::<f64>::from_fn(n, n, |_, _| 1.0 / n as f64);
    for (p, q, weight) in graph.edges() {
        let (p, q) = (p as usize, q as usize);
        matrix[(p, p)] += weight;
        matrix[(q, q)] += weight;
        matrix[(p, q)] -= weight;
        matrix[(q, p)] -= weight;
    }
    let inverse = matrix.partial_piv_lu().inverse();
    let resistance = |&(p, q): &(u32, u32)| {
        let (p, q) = (p as usize, q as usize);
        inverse[(p, p)] + inverse[(q, q)] - inverse[(p, q)] - inverse[(q, p)]
    };
    pairs.iter().map(resistance).collect()
}

/// Outputs in the plane: on the larger graph the iteration loses its orthogonality before it ends, and a drop of the potential
/// alone is off by 3e-8.
#[test]
fn resistances_of_models_keep_their_error() {
    for n in [120, 1200] {
        let mut rng = rng(1);
        let (inputs, weights) = (gaussians(3 * n, &mut rng), gaussians(6, &mut rng));
        let output =
            |x: &[f64], j: usize| (2.0 * (0..3).map(|i| x[i] * weights[2 * i + j]).sum::<f64>()).tanh();
        let outputs: Vec<f64> = inputs.chunks_exact(3).flat_map(|x| [output(x, 0), output(x, 1)]).collect();
        let params = SpadeParams::default().with_neighbors(6);
        let report = evaluate(&paired(n, &inputs, &outputs), &params, &Silent).unwrap();
        let pairs: Vec<_> = node_pairs(n).into_iter().step_by(1 + n * n / 6000).collect();
        for graph in [report.graphs.input(), report.graphs.output()] {
            let want = dense_resistances(graph, &pairs);
            assert_all_relative(&found_resistances(graph, &pairs), &want, RESISTANCE_ERROR, "by solves");
            let solver = LaplacianSolver::new(Laplacian::of(graph), 3);
            let (all, info) = edge_resistances(&solver, &pairs, &SketchParams::default(), &Silent).unwrap();
            if n == 120 {
                assert_eq!((info.rows, info.error), (None, RESISTANCE_ERROR));
            }
            if info.rows.is_none() {
                assert_all_relative(&all, &want, RESISTANCE_ERROR, "by columns");
            }
        }
    }
}

/// The resistance of a pair, by formula.
type ClosedForm = Box<dyn Fn(&(u32, u32)) -> f64>;

#[test]
fn resistances_have_their_closed_forms() {
    for n in [5_usize, 300] {
        let pairs = node_pairs(n);
        let d = |&(p, q): &(u32, u32)| f64::from(q - p);
        let closed: [(Graph, ClosedForm); 4] = [
            (path(n), Box::new(d)),
            (cycle(n), Box::new(move |pair| d(pair) * (n as f64 - d(pair)) / n as f64)),
            (star(n), Box::new(|&(p, _)| if p == 0 { 1.0 } else { 2.0 })),
            (complete(n), Box::new(move |_| 2.0 / n as f64)),
        ];
        for (graph, want) in closed {
            let some: Vec<_> = pairs.iter().copied().step_by(1 + pairs.len() / 200).collect();
            let want: Vec<f64> = some.iter().map(want).collect();
            assert_all_relative(&found_resistances(&graph, &some), &want, RESISTANCE_ERROR, "closed form");
        }
    }
}

/// Parallel conductors add up: twice the weight, half the resistance.
#[test]
fn resistance_divides_by_the_weight() {
    let edges: Vec<(u32, u32, f64)> = grid(6, 7).edges().map(|(p, q, _)| (p, q, 4.0)).collect();
    let heavy = Graph::from_weighted_edges(42, &edges).unwrap();
    let pairs = node_pairs(42);
    let plain: Vec<f64> = found_resistances(&grid(6, 7), &pairs).iter().map(|r| r / 4.0).collect();
    assert_all_relative(&found_resistances(&heavy, &pairs), &plain, 2.0 * RESISTANCE_ERROR, "weight 4");
}

/// A graph that is large enough for the projection to be one: a ring of chords with uneven weights.
fn chords(nodes: u32, step: u32) -> Graph {
    let weight = |p: u32| 0.5 + f64::from(p % 7);
    let ring = (0..nodes).map(|p| (p, (p + 1) % nodes, weight(p)));
    let chords = (0..nodes).map(|p| (p, (p * step + 5) % nodes, weight(p + 3))).filter(|&(p, q, _)| p != q);
    Graph::from_weighted_edges(nodes as usize, &ring.chain(chords).collect::<Vec<_>>()).unwrap()
}

/// On each of twenty seeds every resistance keeps the error promised. Should the sampling be wrong by a factor in the number
/// of rows, the largest of some 1,600 errors would show it: it is near the bound, not far below.
#[test]
fn the_sketch_keeps_its_promise_on_twenty_seeds() {
    let graph = chords(800, 31);
    let solver = LaplacianSolver::new(Laplacian::of(&graph), 1);
    let edges: Vec<_> = graph.edges().map(|(p, q, _)| (p, q)).collect();
    let exact = resistances(&solver, &edges, &Silent).unwrap();
    let foster: f64 = graph.edges().zip(&exact).map(|((_, _, w), r)| w * r).sum();
    assert_relative(foster, 799.0, RESISTANCE_ERROR, "Foster's sum");
    let mut worst = 0.0_f64;
    for seed in 0..20 {
        let params = SketchParams::default().with_error(0.4).with_seed(seed);
        let (sketched, info) = edge_resistances(&solver, &edges, &params, &Silent).unwrap();
        assert_eq!(info.rows, Some(params.rows(edges.len())));
        for (got, want) in sketched.iter().zip(&exact) {
            let error = (got / want - 1.0).abs();
            worst = worst.max(error);
            assert!(error <= params.error, "seed {seed}: {got}, want {want}");
        }
    }
    // Errors are about normal with a deviation of √(2/m) ≈ 0.06: among 30,000 of them some exceed four deviations.
    assert!(worst > 0.2, "largest error {worst}: too good to be a projection of so few rows");
}

#[test]
fn the_full_spectrum_keeps_its_promise_on_twenty_seeds() {
    let graphs = pair(chords(800, 31), chords(800, 47));
    let output = LaplacianSolver::new(Laplacian::of(graphs.output()), 1);
    let input = Laplacian::of(graphs.input());
    let exact = |p: u32, q: u32| {
        let mut b = vec![0.0; 800];
        (b[p as usize], b[q as usize]) = (1.0, -1.0);
        let tight = spadework::laplacian::CgParams::default().with_tolerance(1e-12).with_max_iterations(2000);
        let (x, info) = output.solve(&b, &tight);
        assert!(info.converged(&tight));
        input.quadratic_form(&x)
    };
    let want: Vec<f64> = graphs.input().edges().map(|(p, q, _)| exact(p, q)).collect();
    for seed in 0..20 {
        let params = SketchParams::default().with_error(0.4).with_seed(seed);
        let (scores, info) = EdgeScores::of_full_spectrum(&graphs, &params, &Silent).unwrap();
        assert!(info.rows.is_some());
        for (got, want) in scores.scores().iter().zip(&want) {
            assert!((got / want - 1.0).abs() <= params.error, "seed {seed}: {got}, want {want}");
        }
    }
}

#[test]
fn the_error_of_a_sketch_has_a_range() {
    let graph = path(10);
    let solver = LaplacianSolver::new(Laplacian::of(&graph), 0);
    for (error, failure) in [(0.0, 0.1), (1.0, 0.1), (f64::NAN, 0.1), (0.3, 0.0), (0.3, 1.0)] {
        let params = SketchParams::default().with_error(error).with_failure(failure);
        let refused = edge_resistances(&solver, &[(0, 1)], &params, &Silent);
        assert!(matches!(refused, Err(Error::SketchError { .. })), "{error} {failure}");
    }
}

/// Few nodes: every column of the pseudo-inverse costs less than the projection, and the numbers are exact.
#[test]
fn full_scores_of_few_samples_are_those_of_scipy() {
    for fixture in all() {
        let params = SketchParams::default();
        let (scores, info) = EdgeScores::of_full_spectrum(&fixture.graphs, &params, &Silent).unwrap();
        assert_eq!((info.rows, info.probability), (None, 1.0));
        assert_all_relative(scores.scores(), &fixture.numbers("full_scores"), DENSE_ERROR, &fixture.name);
        let nodes = NodeScores::from_edges(fixture.graphs.input(), &scores);
        let at_zero: Vec<f64> = fixture
            .edges()
            .iter()
            .zip(fixture.numbers("full_scores"))
            .filter(|((p, q), _)| *p == 0 || *q == 0)
            .map(|(_, score)| score)
            .collect();
        let mean = at_zero.iter().sum::<f64>() / at_zero.len() as f64;
        assert_relative(nodes.scores()[0], mean, DENSE_ERROR, "a node's mean");
    }
}

#[test]
fn sketched_distances_of_edges_come_with_both_sides() {
    let graphs = pair(chords(800, 31), chords(800, 47));
    let distances = Distances::new(&graphs, 0).unwrap();
    let (all, info) = distances.of_edges(&rough(), &Silent).unwrap();
    assert!(info.rows.is_some());
    assert_eq!(info.probability, 0.999);
    let some: Vec<_> = all.iter().step_by(97).map(|d| (d.p, d.q)).collect();
    let exact = distances.of_pairs(DistanceKind::Resistance, &some, &Silent).unwrap();
    for (got, want) in all.iter().step_by(97).zip(exact) {
        assert!((got.input / want.input - 1.0).abs() <= rough().error);
        assert!((got.output / want.output - 1.0).abs() <= rough().error);
    }
}

fn searched(graphs: &GraphPair, eigenpairs: usize) -> LargestDistortion {
    let pairs = solve(graphs, EigenMethod::Auto, eigenpairs, 1e-8);
    let distances = Distances::new(graphs, 0).unwrap();
    distances.largest(&pairs, &edge_scores(graphs, &pairs), &Silent).unwrap()
}

/// The search may miss the largest distortion, but not invent one: what it finds lies below the exhaustive maximum, which
/// lies below λ_1.
#[test]
fn the_search_finds_a_distortion_near_the_largest() {
    for fixture in all() {
        let (_, _, largest) = fixture.largest_distortion();
        let search = searched(&fixture.graphs, 4);
        let found = search.found.ratio();
        assert!(found <= largest * (1.0 + DENSE_ERROR), "{}: {found} above {largest}", fixture.name);
        assert!(found >= 0.8 * largest, "{}: {found}, the largest is {largest}", fixture.name);
        assert!(largest <= search.bound && search.tightness() <= 1.0, "{}: Theorem 1", fixture.name);
    }
}

#[test]
fn the_search_finds_the_edge_that_closes_a_cycle() {
    for n in [20, 500] {
        let search = searched(&pair(cycle(n), path(n)), 2);
        assert_eq!((search.found.p, search.found.q), (0, n as u32 - 1));
        assert_relative(search.tightness(), 1.0, 1e-8, "the bound is reached");
    }
}

#[test]
fn geodesic_distortion_of_an_input_edge_is_its_hops_at_the_output() {
    for fixture in all() {
        let distances = Distances::new(&fixture.graphs, 0).unwrap();
        let edges = fixture.edges();
        let of_edges = distances.of_pairs(DistanceKind::Geodesic, &edges, &Silent).unwrap();
        let hops = geodesic_distances(fixture.graphs.output(), &edges, &Silent).unwrap();
        for ((got, hops), edge) in of_edges.iter().zip(hops).zip(&edges) {
            assert_eq!((got.p, got.q), *edge);
            assert_eq!((got.input, Some(got.ratio())), (1.0, hops.map(f64::from)));
        }
    }
}

#[test]
fn a_pair_of_one_sample_has_no_distortion() {
    let graphs = pair(cycle(5), path(5));
    let distances = Distances::new(&graphs, 0).unwrap();
    for kind in [DistanceKind::Geodesic, DistanceKind::Resistance] {
        for wrong in [(2, 2), (0, 5)] {
            let refused = distances.of_pairs(kind, &[(0, 1), wrong], &Silent).unwrap_err();
            assert_eq!(refused, Error::BadPair { index: 1, p: wrong.0, q: wrong.1, nodes: 5 });
        }
    }
}

#[test]
fn a_torn_input_graph_has_no_distances() {
    let torn = Graph::from_edges(6, &[(0, 1), (1, 2), (3, 4), (4, 5)]).unwrap();
    let graphs = pair(torn, path(6));
    let want = Error::InputDisconnected { components: 2, largest: 3, nodes: 6 };
    assert_eq!(Distances::new(&graphs, 0).unwrap_err(), want);
    assert_eq!(graphs.reversed().unwrap_err(), want);
    let distance = RiemannianDistance::of(&graphs, &EigenParams::default(), &Silent);
    assert_eq!(distance.unwrap_err(), want);
}

/// Two rings joined by many edges at the input and by one at the output: the boundary between them is the thin one.
#[test]
fn the_sparsest_cut_lies_where_the_model_tears() {
    let n = 30_u32;
    let rings = (0..n).flat_map(|p| [(p, (p + 1) % n), (n + p, n + (p + 1) % n)]);
    let input: Vec<_> = rings.clone().chain((0..n).map(|p| (p, n + p))).collect();
    let output: Vec<_> = rings.chain([(7, n + 7)]).collect();
    let graphs = pair(Graph::from_edges(60, &input).unwrap(), Graph::from_edges(60, &output).unwrap());
    let pairs = solve(&graphs, EigenMethod::Dense, 2, 1e-8);
    let cut = sparsest_cut(&graphs, &pairs, &Silent).unwrap();
    let (first, second): (Vec<u32>, Vec<u32>) = ((0..n).collect(), (n..2 * n).collect());
    assert!(cut.samples() == first || cut.samples() == second, "{:?}", cut.samples());
    assert_eq!((cut.input(), cut.output()), (30.0, 1.0));
    assert!(cut.ratio() >= 1.0 / pairs.values()[0]);
}

/// The boundary of the set that is returned, counted again edge by edge; the smaller side; Theorem 2.
#[test]
fn a_sweep_cut_is_what_it_says() {
    for fixture in all() {
        let graphs = &fixture.graphs;
        let pairs = solve(graphs, EigenMethod::Auto, 4, 1e-8);
        let cut = sparsest_cut(graphs, &pairs, &Silent).unwrap();
        let inside = |p: u32| cut.samples().contains(&p);
        let boundary = |graph: &Graph| -> f64 {
            graph.edges().filter(|&(p, q, _)| inside(p) != inside(q)).map(|(.., weight)| weight).sum()
        };
        assert_eq!((cut.input(), cut.output()), (boundary(graphs.input()), boundary(graphs.output())));
        assert!(!cut.samples().is_empty() && 2 * cut.samples().len() <= graphs.nodes());
        assert!(cut.ratio() >= 1.0 / pairs.values()[0], "{}: Theorem 2", fixture.name);
        let rest: Vec<u32> = (0..graphs.nodes() as u32).filter(|&p| !inside(p)).collect();
        assert_eq!(
            Cut::of(graphs, &rest).unwrap().ratio(),
            cut.ratio(),
            "the complement has the same boundary"
        );
        // No better than chance would be a defect: half of the samples at random.
        let random: Vec<u32> =
            (0..graphs.nodes() as u32).filter(|p| p.wrapping_mul(2_654_435_761) % 97 < 48).collect();
        assert!(cut.ratio() < 0.8 * Cut::of(graphs, &random).unwrap().ratio(), "{}", fixture.name);
    }
}

#[test]
fn the_riemannian_distance_is_that_of_scipy() {
    for fixture in all() {
        let distance = RiemannianDistance::of(&fixture.graphs, &EigenParams::default(), &Silent).unwrap();
        assert!(distance.all && distance.eigenvalues == fixture.graphs.nodes() - 1);
        assert_relative(distance.distance, fixture.number("riemannian_all"), DENSE_ERROR, &fixture.name);
        let ten = RiemannianDistance::from_eigenvalues(&fixture.numbers("eigenvalues"), false);
        assert_relative(ten.distance, fixture.number("riemannian_ten"), 1e-12, &fixture.name);
    }
}

/// Beyond a thousand samples: the ten largest, here those of a cycle over a path, n and nine ones.
#[test]
fn many_samples_have_the_distance_of_ten_eigenvalues() {
    let graphs = pair(cycle(1200), path(1200));
    let distance = RiemannianDistance::of(&graphs, &EigenParams::default(), &Silent).unwrap();
    assert_eq!((distance.eigenvalues, distance.all), (10, false));
    assert_relative(distance.distance, 1200.0_f64.ln(), 1e-6, "log n");
}

#[test]
fn the_reverse_score_is_that_of_scipy_and_bounds_what_comes_nearer() {
    for fixture in all() {
        let pairs = solve(&fixture.graphs, EigenMethod::Auto, 2, 1e-8);
        let params = EigenParams::default().with_tolerance(1e-8);
        let reverse = ReverseScore::of(&fixture.graphs, &pairs, &params, &Silent).unwrap();
        assert_relative(reverse.score, fixture.number("reverse_score"), 1e-8, &fixture.name);
        assert_eq!(reverse.bi_lipschitz, reverse.score.max(pairs.values()[0]));
        let kappa = reverse.bi_lipschitz * (1.0 + DENSE_ERROR);
        let sides =
            fixture.numbers("input_resistances").into_iter().zip(fixture.numbers("output_resistances"));
        for (input, output) in sides {
            assert!(output <= kappa * input && input <= kappa * output, "{}: κ-bi-Lipschitz", fixture.name);
        }
    }
}

fn power(eigenpairs: usize, tolerance: f64) -> EigenParams {
    EigenParams::default()
        .with_eigenpairs(eigenpairs)
        .with_tolerance(tolerance)
        .with_method(EigenMethod::Power)
}

#[test]
fn power_iteration_finds_the_eigenvalues_of_scipy() {
    for fixture in all() {
        let pairs = spadework::eigen::dominant_eigenpairs(&fixture.graphs, &power(4, 1e-8)).unwrap();
        assert_eq!(pairs.info().method, EigenMethod::Power);
        assert!(pairs.info().iterations > 1);
        // The residual bounds the relative error of a value.
        assert_all_relative(pairs.values(), &fixture.numbers("eigenvalues")[..4], 1e-8, &fixture.name);
        assert!(pairs.residuals().iter().all(|&residual| residual <= 1e-8));
    }
}

/// Only ones; one eigenvalue far above; and an input of few edges, whose products nearly vanish.
#[test]
fn power_iteration_survives_extreme_spectra() {
    let same = pair(grid(20, 15), grid(20, 15));
    let values = spadework::eigen::dominant_eigenpairs(&same, &power(2, 1e-10)).unwrap().values().to_vec();
    assert_all_relative(&values, &[1.0, 1.0], 1e-10, "the same graph twice");
    let opened = pair(cycle(3000), path(3000));
    let values = spadework::eigen::dominant_eigenpairs(&opened, &power(2, 1e-6)).unwrap().values().to_vec();
    assert_all_relative(&values, &[3000.0, 1.0], 1e-6, "an opened cycle");
    let few = pair(Graph::from_edges(100, &[(0, 99)]).unwrap(), path(100));
    let values = spadework::eigen::dominant_eigenpairs(&few, &power(1, 1e-8)).unwrap().values().to_vec();
    assert_all_relative(&values, &[99.0], 1e-8, "one edge");
}

#[test]
fn power_iteration_that_runs_out_says_so() {
    let graphs = pair(chords(400, 31), chords(400, 47));
    let params = power(2, 1e-10).with_max_iterations(2);
    match spadework::eigen::dominant_eigenpairs(&graphs, &params).unwrap_err() {
        Error::NotConverged { iterations: 2, residuals, .. } => {
            assert!(residuals.len() == 2 && residuals.iter().all(|&r| r > 1e-10 && r.is_finite()));
        }
        other => panic!("{other}"),
    }
}

fn modes_of(graph: &Graph, method: EigenMethod, count: usize) -> spadework::eigen::LaplacianModes {
    let graph = ConnectedGraph::new(graph.clone()).unwrap();
    let params = EigenParams::default().with_eigenpairs(count).with_tolerance(1e-8).with_method(method);
    lowest_modes(&graph, &params, &Silent).unwrap()
}

#[test]
fn modes_are_those_of_scipy() {
    for fixture in all() {
        for (graph, side) in [(fixture.graphs.input(), "input"), (fixture.graphs.output(), "output")] {
            assert_modes(&fixture, graph, side);
        }
    }
}

fn assert_modes(fixture: &DistanceFixture, graph: &Graph, side: &str) {
    for method in [EigenMethod::Dense, EigenMethod::Davidson, EigenMethod::Power] {
        let modes = modes_of(graph, method, 3);
        let what = format!("{} {side} {method}", fixture.name);
        assert_all_relative(modes.values(), &fixture.numbers(&format!("{side}_modes")), 1e-8, &what);
        let want = fixture.numbers(&format!("{side}_mode"));
        // Davis and Kahan: the angle is the residual over the gap, here at least a tenth of the eigenvalue, and the entry
        // of largest magnitude may carry all of it.
        let largest = want.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        for (got, want) in modes.vectors()[0].iter().zip(&want) {
            assert!((got - want).abs() <= 1e-5 * largest, "{what}: {got}, want {want}");
        }
    }
}

/// σ_i = 2 − 2cos(πi/n) on a path, with cosines as vectors.
#[test]
fn modes_of_a_path_are_cosines() {
    let n = 400;
    for method in [EigenMethod::Davidson, EigenMethod::Power] {
        let modes = modes_of(&path(n), method, 2);
        let sigma = |i: usize| 2.0 - 2.0 * (PI * i as f64 / n as f64).cos();
        assert_all_relative(modes.values(), &[sigma(1), sigma(2)], 1e-8, "eigenvalues of a path");
        let sign = modes.vectors()[0][0].signum();
        for (p, got) in modes.vectors()[0].iter().enumerate() {
            let angle = PI * (p as f64 + 0.5) / n as f64;
            let want = sign * (2.0 / n as f64).sqrt() * angle.cos() / sigma(1).sqrt();
            assert!((got - want).abs() < 1e-4 * (2.0 / n as f64 / sigma(1)).sqrt(), "entry {p}");
        }
    }
}

/// With all modes squared distances are resistances (the paper's Lemma 3).
#[test]
fn all_modes_embed_resistances() {
    let graph = chords(40, 11);
    let modes = modes_of(&graph, EigenMethod::Dense, 39);
    let pairs = node_pairs(40);
    let want = found_resistances(&graph, &pairs);
    for (&(p, q), want) in pairs.iter().zip(want) {
        let squared: f64 = modes.vectors().iter().map(|u| (u[p as usize] - u[q as usize]).powi(2)).sum();
        assert_relative(squared, want, 1e-8, "a squared distance");
    }
}

/// The same bits for one, two and five threads.
#[test]
fn nothing_depends_on_the_threads() {
    let graphs = pair(chords(800, 31), chords(800, 47));
    let run = |threads: usize| {
        spadework::threads::with_threads(std::num::NonZeroUsize::new(threads), || {
            let distances = Distances::new(&graphs, 5)?;
            let (of_edges, _) = distances.of_edges(&rough(), &Silent)?;
            let pairs = spadework::eigen::dominant_eigenpairs(&graphs, &power(2, 1e-6))?;
            let search = distances.largest(&pairs, &edge_scores(&graphs, &pairs), &Silent)?;
            let full = EdgeScores::of_full_spectrum(&graphs, &rough(), &Silent)?.0;
            Ok::<_, Error>((
                of_edges,
                search,
                full,
                pairs.values().to_vec(),
                sparsest_cut(&graphs, &pairs, &Silent)?,
            ))
        })
        .unwrap()
    };
    let one = run(1);
    assert!([2, 5].into_iter().all(|threads| run(threads) == one));
}

/// Theorem 1 for the search and Theorem 2 for the sweep, on random graphs.
#[test]
fn bounds_hold_on_random_graphs() {
    use rand::RngExt;
    for seed in 0..30 {
        let mut rng = rng(seed);
        let nodes = rng.random_range(5..60_u32);
        let mut random = || {
            let tree: Vec<_> = (1..nodes).map(|q| (rng.random_range(0..q), q)).collect();
            let more: Vec<_> =
                (0..nodes).map(|_| (rng.random_range(0..nodes), rng.random_range(0..nodes))).collect();
            let edges = tree.into_iter().chain(more).filter(|(p, q)| p != q);
            let weighted: Vec<_> = edges.map(|(p, q)| (p, q, rng.random_range(0.1..10.0))).collect();
            Graph::from_weighted_edges(nodes as usize, &weighted).unwrap()
        };
        let graphs = pair(random(), random());
        let pairs = solve(&graphs, EigenMethod::Dense, 2, 1e-8);
        let search = searched(&graphs, 2);
        assert!(search.tightness() <= 1.0 + 1e-8, "seed {seed}: γ = {}", search.found.ratio());
        let cut = sparsest_cut(&graphs, &pairs, &Silent).unwrap();
        assert!(cut.ratio() * pairs.values()[0] >= 1.0 - 1e-8, "seed {seed}: ζ = {}", cut.ratio());
    }
}

/// Everything that takes long asks whether to stop.
#[test]
fn a_caller_can_stop_every_loop() {
    let graphs = pair(chords(800, 31), chords(800, 47));
    let distances = Distances::new(&graphs, 0).unwrap();
    let pairs = spadework::eigen::dominant_eigenpairs(&graphs, &EigenParams::default()).unwrap();
    let problem = spadework::eigen::EigenProblem::new(&graphs, 0);
    let output = graphs.connected_output();
    let outcomes = [
        distances.of_pairs(DistanceKind::Geodesic, &[(0, 1)], &Stopped).err(),
        distances.of_pairs(DistanceKind::Resistance, &[(0, 1)], &Stopped).err(),
        distances.of_edges(&rough(), &Stopped).err(),
        distances.largest(&pairs, &edge_scores(&graphs, &pairs), &Stopped).err(),
        EdgeScores::of_full_spectrum(&graphs, &rough(), &Stopped).err(),
        sparsest_cut(&graphs, &pairs, &Stopped).err(),
        problem.dominant_eigenpairs(&power(2, 1e-6), &Stopped).err(),
        problem.all_eigenvalues(&Stopped).err(),
        lowest_modes(output, &EigenParams::default(), &Stopped).err(),
    ];
    for (at, outcome) in outcomes.into_iter().enumerate() {
        assert_eq!(outcome, Some(Error::Cancelled), "{at}");
    }
}
