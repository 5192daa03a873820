//! Many models at once: comparisons, sweeps, intervals, reference points and label pairs.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{Stopped, bits, gaussians, laws, paired, reordered, rng, shuffled, smooth_model};
use proptest::prelude::*;
use rand::RngExt;
use spadework::graph::{Connectivity, Weights};
use spadework::monitor::Stage;
use spadework::neighbors::{Recall, SearchMethod};
use spadework::pipeline::{
    KeepNothing, ModelGraphs, SharedSearch, graphs_of, intervals, permuted_score, sweep,
};
use spadework::scores::label_pair_scores;
use spadework::{
    Error, Graph, ManifoldPair, Model, ModelSet, Monitor, PairedSamples, Samples, Silent, SpadeParams,
    SpadeReport, compare, evaluate,
};

const SAMPLES: usize = 400;

/// A set of models on the same inputs.
fn model_set<'a>(inputs: &'a [f64], outputs: &[(&str, &'a [f64])]) -> ModelSet<'a> {
    try_model_set(inputs, outputs).expect("sound models")
}

fn try_model_set<'a>(inputs: &'a [f64], outputs: &[(&str, &'a [f64])]) -> spadework::Result<ModelSet<'a>> {
    let side = |values: &'a [f64], dim: usize| Samples::from_f64(values.len() / dim, dim, values);
    let models = outputs
        .iter()
        .map(|&(name, values)| Ok(Model { name: name.to_owned(), outputs: side(values, 3)? }))
        .collect::<spadework::Result<_>>()?;
    ModelSet::new(side(inputs, 6)?, models)
}

/// A smooth model, one that tears some neighbors apart, and one whose outputs are in two far pieces at k = 5.
struct Scene {
    inputs: Vec<f64>,
    smooth: Vec<f64>,
    torn: Vec<f64>,
    pieces: Vec<f64>,
}

impl Scene {
    fn new() -> Self {
        let (inputs, smooth) = smooth_model(SAMPLES, 7);
        let moved = |stride: usize, by: f64| -> Vec<f64> {
            let shift = move |at: usize| if (at / 3).is_multiple_of(stride) { by } else { 0.0 };
            smooth.iter().enumerate().map(|(at, value)| value + shift(at)).collect()
        };
        let (torn, pieces) = (moved(5, 0.7), moved(50, 20.0));
        Self { inputs, smooth, torn, pieces }
    }

    fn all(&self) -> ModelSet<'_> {
        let models: [(&str, &[f64]); 3] =
            [("torn", &self.torn), ("pieces", &self.pieces), ("smooth", &self.smooth)];
        model_set(&self.inputs, &models)
    }

    fn outputs(&self, name: &str) -> &[f64] {
        match name {
            "smooth" => &self.smooth,
            "torn" => &self.torn,
            _ => &self.pieces,
        }
    }

    fn alone(&self, name: &str, params: &SpadeParams) -> SpadeReport {
        evaluate(&paired(SAMPLES, &self.inputs, self.outputs(name)), params, &Silent).unwrap()
    }
}

fn params(neighbors: usize) -> SpadeParams {
    SpadeParams::default().with_neighbors(neighbors)
}

fn assert_same_report(got: &SpadeReport, want: &SpadeReport) {
    assert_eq!(bits(got.eigenpairs.values()), bits(want.eigenpairs.values()));
    assert_eq!(bits(got.node_scores.scores()), bits(want.node_scores.scores()));
    assert_eq!(bits(got.edge_scores.scores()), bits(want.edge_scores.scores()));
    assert_eq!(got.enclosure, want.enclosure);
    assert_eq!(got.graphs, want.graphs);
}

#[test]
fn a_comparison_is_every_model_alone_at_one_k() {
    let scene = Scene::new();
    let comparison = compare(&scene.all(), &params(5), &Silent).unwrap();
    let used = comparison.models[0].report.diagnostics.connection.used;
    // Eight samples are far away from the others: with fewer than eight neighbors they stay among themselves.
    assert!(used >= 8, "grown to {used}");
    for model in &comparison.models {
        let connection = model.report.diagnostics.connection;
        assert_eq!((connection.requested, connection.used), (5, used), "{}", model.name);
        assert_same_report(&model.report, &scene.alone(&model.name, &params(used)));
    }
    let scores: Vec<f64> = comparison.models.iter().map(|model| model.report.model_score.0).collect();
    assert!(scores.is_sorted() && comparison.models[0].name == "smooth", "{scores:?}");
    assert_eq!(comparison.agreement.len(), 3);
}

#[test]
fn one_k_is_the_smallest_that_connects_every_graph() {
    let scene = Scene::new();
    let used =
        compare(&scene.all(), &params(5), &Silent).unwrap().models[0].report.diagnostics.connection.used;
    let alone =
        ["smooth", "torn", "pieces"].map(|name| scene.alone(name, &params(5)).diagnostics.connection.used);
    assert_eq!(Some(used), alone.into_iter().max());
    assert!(alone[0] < used, "{alone:?}: one model alone would have taken fewer");
}

#[test]
fn bridges_are_those_of_every_model_alone() {
    let scene = Scene::new();
    let bridged = params(5).with_connectivity(Connectivity::Bridge);
    for model in compare(&scene.all(), &bridged, &Silent).unwrap().models {
        assert_same_report(&model.report, &scene.alone(&model.name, &bridged));
    }
}

#[test]
fn graphs_of_every_kind_are_those_of_every_model_alone() {
    let scene = Scene::new();
    for kind in ["mutual", "cknn:1.2", "pca:3", "sparse:density=3"] {
        for weights in [Weights::Unit, Weights::Gaussian] {
            // A bridge keeps k, so that a model alone has the graphs of the comparison.
            let at = |neighbors| {
                params(neighbors)
                    .with_graph(kind.parse().unwrap())
                    .with_weights(weights)
                    .with_connectivity(Connectivity::Bridge)
            };
            let comparison = compare(&scene.all(), &at(8), &Silent).unwrap();
            for model in &comparison.models {
                let alone = scene.alone(&model.name, &at(8));
                assert_same_report(&model.report, &alone);
                assert_eq!(model.report.diagnostics.input_graph, alone.diagnostics.input_graph, "{kind}");
                assert_eq!(model.report.diagnostics.output_graph, alone.diagnostics.output_graph, "{kind}");
            }
            let found = sweep(&scene.all(), &[8, 11], &at(1), &Silent).unwrap();
            for point in &found.points {
                for (name, score) in found.models.iter().zip(&point.scores.as_ref().unwrap().models) {
                    let alone = scene.alone(name, &at(point.neighbors));
                    assert_eq!(bits(&score.eigenvalues), bits(alone.eigenpairs.values()), "{kind}: {name}");
                }
            }
        }
    }
}

#[test]
fn an_approximate_search_is_told_of_every_side() {
    // Fewer than some four thousand samples are searched exactly whatever was asked for.
    let samples = 4200;
    let (inputs, smooth) = smooth_model(samples, 7);
    let bent: Vec<f64> = smooth.iter().map(|value| value * value.abs()).collect();
    let models = model_set(&inputs, &[("smooth", &smooth), ("bent", &bent)]);
    let params = params(10).with_search(SearchMethod::Approximate);
    let is_measured = |recall: &Recall| matches!(recall, Recall::Sampled { .. });
    let comparison = compare(&models, &params, &Silent).unwrap();
    for model in &comparison.models {
        let told = &model.report.diagnostics;
        assert!(is_measured(&told.input_recall) && is_measured(&told.output_recall));
        let outputs = if model.name == "smooth" { &smooth } else { &bent };
        let alone = evaluate(&paired(samples, &inputs, outputs), &params, &Silent).unwrap();
        assert_same_report(&model.report, &alone);
    }
    let found = sweep(&models, &[10, 12], &params, &Silent).unwrap();
    assert_eq!(found.output_recalls.len(), 2);
    assert!(found.input_recall.iter().chain(&found.output_recalls).all(is_measured));
}

/// The models on an input graph that was made elsewhere.
fn on_graph<'a>(scene: &'a Scene, input: &Graph) -> ModelSet<'a> {
    ModelSet::new(input.clone(), scene.all().models().to_vec()).unwrap()
}

/// One model on such a graph, without the others.
fn alone_on_graph(scene: &Scene, input: &Graph, name: &str, params: &SpadeParams) -> SpadeReport {
    let outputs = Samples::from_f64(SAMPLES, 3, scene.outputs(name)).unwrap();
    let pair = ManifoldPair::new(input.clone(), &outputs).unwrap();
    evaluate(&pair, params, &Silent).unwrap()
}

#[test]
fn models_on_a_given_graph_are_every_model_alone_on_it() {
    let scene = Scene::new();
    let of_samples = scene.alone("smooth", &params(6)).graphs.input().clone();
    // Two rings of samples, which no k joins: the input graph is no matter of `grow`.
    let half = SAMPLES as u32 / 2;
    let ring = |from: u32| (0..half).map(move |i| (from + i, from + (i + 1) % half));
    let rings = Graph::from_edges(SAMPLES, &ring(0).chain(ring(half)).collect::<Vec<_>>()).unwrap();
    for (input, pieces) in [(of_samples, 1), (rings, 2)] {
        let models = on_graph(&scene, &input);
        let comparison = compare(&models, &params(5), &Silent).unwrap();
        let used = comparison.models[0].report.diagnostics.connection.used;
        // The outputs of `pieces` need it, as in a comparison of samples.
        assert!(used >= 8, "grown to {used}");
        assert_eq!(comparison.neighbors_input, Duration::ZERO);
        for model in &comparison.models {
            let alone = alone_on_graph(&scene, &input, &model.name, &params(used));
            assert_same_report(&model.report, &alone);
            let (told, want) = (&model.report.diagnostics, &alone.diagnostics);
            assert_eq!((told.input_dim, told.input_graph), (0, want.input_graph));
            assert_eq!((told.connection.input.components_found, told.connection.requested), (pieces, 5));
        }
        let found = sweep(&models, &[5, 12], &params(99), &Silent).unwrap();
        assert_eq!((found.input_recall, found.output_recalls.len()), (None, 3));
        for point in &found.points {
            let scores = point.scores.as_ref().unwrap();
            assert_eq!((scores.used, scores.input.components_found), (used.max(point.neighbors), pieces));
            for (name, score) in found.models.iter().zip(&scores.models) {
                let alone = alone_on_graph(&scene, &input, name, &params(scores.used));
                assert_eq!(bits(&score.eigenvalues), bits(alone.eigenpairs.values()), "{name}");
            }
        }
        assert_eq!(
            intervals(&models, &[1.0; 3], 3, &params(5), &Silent).unwrap_err(),
            Error::SubsampledGraph
        );
    }
    let short = Graph::from_edges(3, &[(0, 1), (1, 2)]).unwrap();
    let error = ModelSet::new(short, scene.all().models().to_vec()).unwrap_err();
    assert!(error.to_string().contains("got 3 inputs and 400 outputs"), "{error}");
}

/// Counts the searches among the inputs and among the outputs.
#[derive(Default)]
struct Searches {
    inputs: AtomicUsize,
    outputs: AtomicUsize,
}

impl Monitor for Searches {
    fn begin(&self, stage: Stage) {
        match stage {
            Stage::NeighborsInput => self.inputs.fetch_add(1, Ordering::Relaxed),
            Stage::NeighborsOutput => self.outputs.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }
}

#[test]
fn ways_of_making_graphs_share_their_searches() {
    let scene = Scene::new();
    let samples = paired(SAMPLES, &scene.inputs, &scene.smooth);
    let shared = SharedSearch::new(&samples);
    let searches = Searches::default();
    for kind in ["knn", "mutual", "cknn:1", "sparse:density=3", "pca:3"] {
        for weights in [Weights::Unit, Weights::Gaussian] {
            let params = params(8)
                .with_graph(kind.parse().unwrap())
                .with_weights(weights)
                .with_connectivity(Connectivity::Bridge);
            let report = shared.evaluate(&params, &searches).unwrap();
            assert_same_report(&report, &evaluate(&samples, &params, &Silent).unwrap());
        }
    }
    // Projected inputs are others.
    assert_eq!((searches.inputs.into_inner(), searches.outputs.into_inner()), (2, 1));
    // Fewer neighbors are the beginning of those that are known, and of copies too; more must be searched.
    let searches = Searches::default();
    for neighbors in [3, 9] {
        let params = params(neighbors).with_connectivity(Connectivity::Bridge);
        let report = shared.evaluate(&params, &searches).unwrap();
        assert_same_report(&report, &evaluate(&samples, &params, &Silent).unwrap());
    }
    assert_eq!((searches.inputs.into_inner(), searches.outputs.into_inner()), (1, 1));
}

#[test]
fn graphs_alone_are_those_of_the_evaluation() {
    let scene = Scene::new();
    let samples = paired(SAMPLES, &scene.inputs, &scene.torn);
    // No eigenpair is asked for, so that their number is no mistake.
    let params = params(5).with_eigenpairs(SAMPLES);
    let ModelGraphs { graphs, diagnostics, .. } =
        graphs_of(&(&samples).into(), &params, &KeepNothing, &Silent).unwrap();
    let report = scene.alone("torn", &params.with_eigenpairs(2));
    assert_eq!(graphs, report.graphs);
    assert_eq!(diagnostics.connection, report.diagnostics.connection);
    assert_eq!((diagnostics.timings.eigen, diagnostics.timings.enclosure), (Duration::ZERO, Duration::ZERO));
}

#[test]
fn intervals_are_of_the_graphs_asked_for() {
    let scene = Scene::new();
    let scores = |params: &SpadeParams| {
        intervals(&scene.all(), &[1.0; 3], 3, params, &Silent).unwrap().scores.concat()
    };
    let plain = scores(&params(10));
    for kind in ["mutual", "pca:3", "sparse:density=3"] {
        let other = scores(&params(10).with_graph(kind.parse().unwrap()));
        assert!(plain.iter().zip(&other).all(|(plain, other)| plain != other), "{kind}");
    }
    let weighed = scores(&params(10).with_weights(Weights::Gaussian));
    assert!(plain.iter().zip(&weighed).all(|(plain, weighed)| plain != weighed));
}

#[test]
fn errors_name_the_model() {
    let scene = Scene::new();
    let refusing = params(5).with_connectivity(Connectivity::Error);
    let error = compare(&scene.all(), &refusing, &Silent).unwrap_err();
    assert!(matches!(&error, Error::InModel { model, cause } if model == "pieces"
        && matches!(**cause, Error::Disconnected { neighbors: 5, .. })));
    assert!(error.to_string().starts_with("model `pieces`: the output graph must be connected"), "{error}");

    let short = &scene.torn[..30];
    let error = try_model_set(&scene.inputs, &[("a", &scene.smooth), ("b", short)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model `b`: inputs and outputs must have the same number of rows, got 400 inputs and 10 outputs"
    );
    let flat = vec![1.0; SAMPLES * 3];
    let error = try_model_set(&scene.inputs, &[("a", &scene.smooth), ("flat", &flat)]).unwrap_err();
    assert!(error.to_string().starts_with("model `flat`: the outputs must differ"), "{error}");
}

#[test]
fn names_must_differ_and_there_must_be_two() {
    let scene = Scene::new();
    let twice = try_model_set(&scene.inputs, &[("a", &scene.smooth), ("a", &scene.torn)]).unwrap_err();
    assert_eq!(twice, Error::ModelName { name: "a".to_owned() });
    let single = model_set(&scene.inputs, &[("a", &scene.smooth)]);
    assert_eq!(compare(&single, &params(5), &Silent).unwrap_err(), Error::TooFewModels { needed: 2, got: 1 });
    assert!(matches!(try_model_set(&scene.inputs, &[]), Err(Error::TooFewModels { needed: 1, got: 0 })));
}

#[test]
fn a_sweep_is_every_k_alone() {
    let scene = Scene::new();
    let found = sweep(&scene.all(), &[5, 9, 12], &params(99), &Silent).unwrap();
    assert_eq!(found.models, ["torn", "pieces", "smooth"]);
    for point in &found.points {
        let scores = point.scores.as_ref().unwrap();
        let together = compare(&scene.all(), &params(point.neighbors), &Silent).unwrap();
        assert_eq!(scores.used, together.models[0].report.diagnostics.connection.used);
        for (name, score) in found.models.iter().zip(&scores.models) {
            let alone = scene.alone(name, &params(scores.used));
            assert_eq!(
                bits(&score.eigenvalues),
                bits(alone.eigenpairs.values()),
                "{name}, {}",
                point.neighbors
            );
            assert_eq!(score.enclosure, alone.enclosure);
        }
    }
    assert_eq!(found.points[0].scores.as_ref().unwrap().models[1].output.components_found, 2);
}

#[test]
fn k_that_grow_alike_share_their_scores_but_not_their_components() {
    let scene = Scene::new();
    let found = sweep(&scene.all(), &[2, 5], &params(99), &Silent).unwrap();
    let [two, five] = [0, 1].map(|at| found.points[at].scores.as_ref().unwrap());
    assert_eq!(two.used, five.used);
    assert_eq!(two.models[0].eigenvalues, five.models[0].eigenvalues);
    let alone = scene.alone("torn", &params(2)).diagnostics.connection;
    assert_eq!(two.models[0].output, alone.output);
    assert!(two.models[0].output.components_found > five.models[0].output.components_found);
}

#[test]
fn a_sweep_goes_on_where_one_k_is_refused() {
    let scene = Scene::new();
    let refusing = params(1).with_connectivity(Connectivity::Error);
    let found = sweep(&scene.all(), &[5, 40], &refusing, &Silent).unwrap();
    assert!(matches!(&found.points[0].scores, Err(Error::InModel { model, .. }) if model == "pieces"));
    assert_eq!(found.points[1].scores.as_ref().unwrap().used, 40);
    assert_eq!(found.stable_range().unwrap().from, 40);
    let error = sweep(&scene.all(), &[4, 5], &refusing, &Silent).unwrap_err();
    assert!(matches!(error, Error::InModel { .. }), "{error}");
}

#[test]
fn the_numbers_of_a_sweep_ascend_and_fit() {
    let scene = Scene::new();
    let of = |neighbors: &[usize]| sweep(&scene.all(), neighbors, &params(1), &Silent).unwrap_err();
    assert_eq!(of(&[5, 5]), Error::SweepOrder { previous: 5, next: 5 });
    assert_eq!(of(&[0, 5]), Error::SweepOrder { previous: 0, next: 0 });
    assert_eq!(of(&[]), Error::NoNeighbors);
    assert!(matches!(of(&[5, 400]), Error::TooManyNeighbors { neighbors: 400, samples: 400 }));
}

#[test]
fn threads_change_nothing() {
    let scene = Scene::new();
    let with = |threads: usize| params(8).with_threads(NonZeroUsize::new(threads));
    let scores = [10.0, 20.0, 30.0];
    let of = |threads| {
        let compared = compare(&scene.all(), &with(threads), &Silent).unwrap();
        let nodes: Vec<Vec<u64>> =
            compared.models.iter().map(|model| bits(model.report.node_scores.scores())).collect();
        let around = intervals(&scene.all(), &scores, 5, &with(threads), &Silent).unwrap();
        let permuted = permuted_score(&compared.models[0].report.graphs, &with(threads), &Silent).unwrap();
        (nodes, compared.agreement, around, permuted.to_bits())
    };
    assert_eq!(of(1), of(2));
}

#[test]
fn being_stopped_is_nobodys_fault() {
    let scene = Scene::new();
    assert_eq!(compare(&scene.all(), &params(8), &Stopped).unwrap_err(), Error::Cancelled);
    assert_eq!(sweep(&scene.all(), &[8], &params(8), &Stopped).unwrap_err(), Error::Cancelled);
    assert_eq!(intervals(&scene.all(), &[1.0; 3], 5, &params(8), &Stopped).unwrap_err(), Error::Cancelled);
}

#[test]
fn intervals_are_the_scatter_of_their_subsamples() {
    let scene = Scene::new();
    let (models, params) = (scene.all(), params(8));
    let scores = [50.0, 60.0, 70.0];
    let found = intervals(&models, &scores, 20, &params, &Silent).unwrap();
    assert_eq!((found.size, found.scores.len()), (200, 20));
    for (at, interval) in found.models.iter().enumerate() {
        let logs: Vec<f64> = found.scores.iter().map(|scores| scores[at].ln()).collect();
        let mean = logs.iter().sum::<f64>() / 20.0;
        let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 19.0).sqrt();
        assert!(deviation > 0.0);
        // Half of an even number is left out, so the scatter is taken as it is; a dozen roundings.
        let want =
            [scores[at] * (-1.959_963_984_540_054 * deviation).exp(), scores[at].powi(2) / interval.lower];
        crate::support::assert_all_relative(&[interval.lower, interval.upper], &want, 1e-12, "ends");
    }
    let wins = found.scores.iter().filter(|scores| scores[2] < scores[0]).count();
    assert_eq!(found.part_in_order(2, 0), wins as f64 / 20.0);
    let other = intervals(&models, &scores, 20, &params.clone().with_seed(1), &Silent).unwrap();
    assert_ne!(found.scores, other.scores);
    assert_eq!(
        intervals(&models, &scores, 20, &params.with_neighbors(200), &Silent).unwrap_err(),
        Error::SmallSubsample { size: 200, neighbors: 200 }
    );
}

#[test]
fn permuted_outputs_score_like_other_permutations() {
    let scene = Scene::new();
    let report = scene.alone("smooth", &params(8));
    let ours = permuted_score(&report.graphs, &params(8), &Silent).unwrap();
    assert_eq!(ours, permuted_score(&report.graphs, &params(8), &Silent).unwrap());
    let mut rng = rng(3);
    let others = [(); 6].map(|()| {
        let order = shuffled(SAMPLES, &mut rng);
        let outputs = reordered(&scene.smooth, &order);
        evaluate(&paired(SAMPLES, &scene.inputs, &outputs), &params(8), &Silent).unwrap().model_score.0
    });
    let (least, most) = others.iter().fold((f64::MAX, 0.0_f64), |(a, b), &s| (a.min(s), b.max(s)));
    // A seventh draw of the same kind, whose range six draws give to within a factor of 2.
    assert!(ours > least / 2.0 && ours < most * 2.0, "{ours} beside {others:?}");
    assert!(ours > 2.0 * report.model_score.0);
}

/// Mean edge scores between labels by whole matrices, as NumPy would: (H S Hᵀ) / (H A Hᵀ) with H one row of 0 and 1 a
/// label.
fn by_matrices(report: &SpadeReport, labels: &[i64], classes: usize) -> Vec<(i64, i64, f64, usize)> {
    let n = labels.len();
    let (mut scores, mut joined) = (vec![0.0; n * n], vec![0.0; n * n]);
    for (p, q, _) in report.graphs.input().edges() {
        let (p, q) = (p as usize, q as usize);
        let rows = report.embedding.row(p).iter().zip(report.embedding.row(q));
        let score: f64 = rows.map(|(a, b)| (a - b).powi(2)).sum();
        for at in [p * n + q, q * n + p] {
            scores[at] = score;
            joined[at] = 1.0;
        }
    }
    let between = |matrix: &[f64], a: usize, b: usize| -> f64 {
        let has = |p: usize, class: usize| labels[p] == class as i64;
        (0..n * n).filter(|at| has(at / n, a) && has(at % n, b)).map(|at| matrix[at]).sum()
    };
    let mut pairs = Vec::new();
    for a in 0..classes {
        for b in a..classes {
            let edges = between(&joined, a, b);
            if edges > 0.0 {
                // Within a label every edge stands in both directions.
                let count = if a == b { edges / 2.0 } else { edges };
                pairs.push((a as i64, b as i64, between(&scores, a, b) / edges, count as usize));
            }
        }
    }
    pairs
}

#[test]
fn label_pairs_are_what_matrices_say() {
    let scene = Scene::new();
    let report = scene.alone("torn", &params(4));
    // By the first input, so that not every pair of labels has an edge.
    let labels: Vec<i64> =
        scene.inputs.chunks(6).map(|row| (row[0] * 2.0 + 3.0).clamp(0.0, 5.0) as i64).collect();
    let got = report.label_pair_scores(&labels).unwrap();
    let want = by_matrices(&report, &labels, 6);
    assert!(want.len() > 6 && want.len() < 21, "{} pairs", want.len());
    assert_eq!(got.len(), want.len());
    for (got, (a, b, score, edges)) in got.iter().zip(want) {
        assert_eq!((got.a, got.b, got.edges), (a, b, edges));
        // Sums of a few hundred positive numbers in another order.
        crate::support::assert_relative(got.score, score, 1e-12, "mean edge score");
    }
    assert!(label_pair_scores(&report.edge_scores, &labels[1..]).is_err());
}

proptest! {
    #![proptest_config(laws(16))]

    /// A model that returns its input, scaled and turned over, has the same neighbors: every eigenvalue is 1.
    #[test]
    fn the_identity_scores_one(samples in 30_usize..120, k in 2_usize..8, scale in 0.1_f64..10.0, seed in 0_u64..1000) {
        let inputs = gaussians(samples * 4, &mut rng(seed));
        let outputs: Vec<f64> = inputs.iter().map(|value| -scale * value).collect();
        let same = evaluate(&paired(samples, &inputs, &inputs), &params(k), &Silent).unwrap();
        // The same Laplacian twice: the dense method errs by ε times its condition, below n² · 10² here.
        prop_assert!((same.model_score.0 - 1.0).abs() < 1e-9, "{}", same.model_score);
        let scaled = evaluate(&paired(samples, &inputs, &outputs), &params(k), &Silent).unwrap();
        prop_assert!((scaled.model_score.0 - 1.0).abs() < 1e-9, "{}", scaled.model_score);
    }

    /// Every edge is in one pair of labels: the means, weighted by edges, are the mean of all.
    #[test]
    fn label_pairs_share_out_all_edges(classes in 1_i64..6, seed in 0_u64..1000) {
        let (inputs, outputs) = smooth_model(80, seed);
        let report = evaluate(&paired(80, &inputs, &outputs), &params(5), &Silent).unwrap();
        let mut rng = rng(seed);
        let labels: Vec<i64> = (0..80).map(|_| rng.random_range(0..classes)).collect();
        let pairs = report.label_pair_scores(&labels).unwrap();
        prop_assert_eq!(pairs.iter().map(|pair| pair.edges).sum::<usize>(), report.edge_scores.len());
        let total: f64 = pairs.iter().map(|pair| pair.score * pair.edges as f64).sum();
        let want: f64 = report.edge_scores.scores().iter().sum();
        prop_assert!((total - want).abs() <= 1e-12 * want);
        prop_assert!(pairs.iter().all(|pair| pair.a <= pair.b));
    }
}

/// Samples can be taken out of a set of one.
#[test]
fn a_pair_is_a_set_of_one() {
    let scene = Scene::new();
    let pair: PairedSamples<'_> = paired(SAMPLES, &scene.inputs, &scene.smooth);
    let found = sweep(&pair.into(), &[8], &params(8), &Silent).unwrap();
    let score = found.points[0].scores.as_ref().unwrap().models[0].model_score();
    assert_eq!(score.to_bits(), scene.alone("smooth", &params(8)).model_score.0.to_bits());
    assert_eq!(found.stable_range(), None);
}
