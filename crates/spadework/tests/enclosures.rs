//! How certain the model score is: proofs, and bounds that hold with a stated probability.

use crate::support::{fixtures, pair, solve};
use spadework::eigen::{
    Certainty, EigenMethod, EigenParams, EigenProblem, Enclosure, EnclosureMethod, GeneralizedEigenpairs,
};
use spadework::graph::generators::{cycle, grid, path, star};
use spadework::neighbors::Ties;
use spadework::{Graph, GraphPair, Silent, SpadeParams, evaluate};

/// A proof: the dense value lies inside, and the proof costs next to nothing in width.
#[test]
fn certified_enclosures_contain_the_dense_score() {
    for fixture in fixtures::all() {
        let graphs = fixture.graphs();
        let dense = solve(&graphs, EigenMethod::Dense, 1, 1e-10).values()[0];
        let problem = EigenProblem::new(&graphs, 0);
        for method in [EigenMethod::Dense, EigenMethod::Davidson] {
            let params = EigenParams::default().with_eigenpairs(1).with_method(method);
            let pairs = problem.dominant_eigenpairs(&params, &Silent).unwrap();
            let enclosure = problem.enclose(&pairs, Certainty::Certified, 0, &Silent).unwrap();
            assert_eq!((enclosure.method, enclosure.probability), (EnclosureMethod::Inertia, 1.0));
            assert!(
                enclosure.lower <= dense && dense <= enclosure.upper,
                "{}: {dense}, {enclosure:?}",
                fixture.name
            );
            // The margin for rounding, 2nε tr(μL_Y)‖v_1‖², is below 1e-6 for a few hundred nodes; residuals of 1e-6 and
            // two widenings by 4 stay below 1e-4.
            assert!(enclosure.upper <= dense * (1.0 + 1e-4), "{}: {dense}, {enclosure:?}", fixture.name);
        }
    }
}

#[test]
fn a_certified_report_says_so() {
    for fixture in fixtures::all() {
        let params = SpadeParams::default()
            .with_neighbors(fixture.neighbors)
            .with_eigenpairs(fixture.eigenpairs)
            .with_connectivity(fixture.connectivity)
            // SciPy's lists, whose eigenvalues these are, go by distance and index.
            .with_ties(Ties::Index)
            .with_certainty(Certainty::Certified);
        let report = evaluate(&fixture.paired(), &params, &Silent).unwrap();
        assert_eq!(report.enclosure.method, EnclosureMethod::Inertia, "{}", fixture.name);
        let (lower, upper) = (report.enclosure.lower, report.enclosure.upper);
        assert!(
            (lower..=upper).contains(&fixture.eigenvalues[0]),
            "{}: {:?}",
            fixture.name,
            report.enclosure
        );
        assert!(lower <= report.model_score.0 && report.model_score.0 <= upper, "{}", fixture.name);
    }
}

/// With the proof replaced by probability the enclosure is still narrow: θ_1 + ρ²/gap, and ρ is 1e-6.
#[test]
fn probable_enclosures_are_narrow() {
    for fixture in fixtures::all() {
        let graphs = fixture.graphs();
        let problem = EigenProblem::new(&graphs, 0);
        let params = EigenParams::default().with_eigenpairs(1).with_method(EigenMethod::Davidson);
        let pairs = problem.dominant_eigenpairs(&params, &Silent).unwrap();
        let enclosure = problem.enclose(&pairs, Certainty::Probable, 0, &Silent).unwrap();
        assert_eq!(enclosure.method, EnclosureMethod::Residual);
        assert!(enclosure.probability >= 1.0 - 1e-6);
        assert!(enclosure.upper <= fixture.eigenvalues[0] * (1.0 + 1e-6), "{}: {enclosure:?}", fixture.name);
        assert!(enclosure.lower >= fixture.eigenvalues[0] * (1.0 - 1e-6), "{}: {enclosure:?}", fixture.name);
        let without = problem.enclose(&pairs, Certainty::None, 0, &Silent).unwrap();
        assert_eq!((without.method, without.lower), (EnclosureMethod::None, enclosure.lower));
        assert_eq!(without.upper, f64::INFINITY);
    }
}

/// What holds for every enclosure, whatever the tolerance of the pairs it was made from: the score that is reported with
/// it lies inside.
#[test]
fn the_reported_score_lies_in_its_enclosure() {
    let cases =
        [pair(grid(50, 50), cycle(2500)), pair(grid(25, 100), grid(50, 50)), pair(cycle(300), grid(15, 20))];
    for (case, graphs) in cases.iter().enumerate() {
        for tolerance in [1e-3, 1e-6, 1e-8, 1e-11] {
            let (pairs, enclosure) =
                enclosed(graphs, &EigenParams::default().with_eigenpairs(5).with_tolerance(tolerance));
            let score = pairs.values()[0];
            assert!(
                enclosure.lower <= score && score <= enclosure.upper,
                "case {case} at {tolerance:e}: {score:?} not in {enclosure:?}"
            );
        }
    }
}

/// Complements on which L_Y⁺L_X is one number times the identity end a Lanczos iteration at once. What is left then is
/// rounding, which must not be taken for new directions: it holds traces of v_1, and with them λ_1 itself comes back.
#[test]
fn an_iteration_that_ends_early_keeps_the_enclosure_narrow() {
    let n = 1000;
    let edge = Graph::from_edges(n, &[(0, n as u32 - 1)]).unwrap();
    let cases = [
        ("one edge over a path", pair(edge, path(n)), 1),
        ("a cycle over a path", pair(cycle(n), path(n)), 1),
    ];
    for (what, graphs, eigenpairs) in cases {
        let (pairs, enclosure) = enclosed(&graphs, &EigenParams::default().with_eigenpairs(eigenpairs));
        // The complement's eigenvalues are 0 or 1. Even with the ε < 1 of five steps μ is below 4, far below θ = n, and
        // the upper end is θ + ρ²/(θ − μ) with ρ ≤ 1e-6 θ.
        assert!(enclosure.upper <= pairs.values()[0] * (1.0 + 1e-6), "{what}: {enclosure:?}");
    }
}

/// The same graph twice: no gap at all, so the upper end is μ = 1/(1 − ε). An iteration that ends early would find the
/// same in all the steps it was granted, and after 30 of them Kuczyński and Woźniakowski's ε is 0.016 for 1,000 nodes.
#[test]
fn an_iteration_that_ends_early_counts_as_finished() {
    for graph in [path(1000), star(1000), grid(10, 100)] {
        let graphs = pair(graph.clone(), graph);
        let (_, enclosure) = enclosed(&graphs, &EigenParams::default());
        assert!(enclosure.lower <= 1.0 && 1.0 <= enclosure.upper, "{enclosure:?}");
        assert!(enclosure.upper <= 1.02, "{enclosure:?}");
    }
}

fn enclosed(graphs: &GraphPair, params: &EigenParams) -> (GeneralizedEigenpairs, Enclosure) {
    let problem = EigenProblem::new(graphs, 0);
    let pairs = problem.dominant_eigenpairs(params, &Silent).unwrap();
    let enclosure = problem.enclose(&pairs, Certainty::Probable, 0, &Silent).unwrap();
    assert_eq!(enclosure.method, EnclosureMethod::Residual);
    (pairs, enclosure)
}
