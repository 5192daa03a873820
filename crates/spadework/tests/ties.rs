//! Outputs of which some are equal: their neighbors are ordered by distance at the output, then at the input, then by index.

use std::num::NonZeroUsize;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework::graph::{Connectivity, GraphKind, generators};
use spadework::neighbors::{Ties, squared_distance_between};
use spadework::pipeline::{AverageIndices, KeepNothing, Reference, SharedSearch, graphs_of, sweep};
use spadework::samples::{Metric, Standardize};
use spadework::{
    Graph, ManifoldPair, Model, ModelSet, PairedSamples, Samples, Silent, SpadeParams, evaluate,
};

/// Inputs of some numbers, and the votes of a few trees over three classes: few different outputs, many at equal distances.
fn votes(len: usize, dim: usize, trees: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let inputs: Vec<f64> = (0..len * dim).map(|_| rng.random_range(0.0..1.0)).collect();
    let mut outputs = vec![0.0; len * 3];
    for (row, votes) in inputs.chunks_exact(dim).zip(outputs.chunks_exact_mut(3)) {
        for tree in 0..trees {
            let value = row[tree % dim] + row[(tree + 1) % dim];
            votes[(value * 1.5) as usize] += 0.25;
        }
    }
    (inputs, outputs)
}

fn paired<'a>(len: usize, inputs: &'a [f64], outputs: &'a [f64]) -> PairedSamples<'a> {
    let side = |values: &'a [f64]| Samples::from_f64(len, values.len() / len, values).unwrap();
    PairedSamples::new(side(inputs), side(outputs)).unwrap()
}

fn edges(graph: &Graph) -> Vec<(u32, u32)> {
    graph.edges().map(|(p, q, _)| (p, q)).collect()
}

/// Every sample with its `neighbors` nearest by (distance at the output, distance at the input where that counts, index), all pairs compared.
fn brute_force(samples: &PairedSamples<'_>, neighbors: usize, ties: Ties) -> Vec<(u32, u32)> {
    let n = samples.len();
    let mut found = Vec::new();
    for p in 0..n {
        let key = |q: usize| {
            let by_input = match ties {
                Ties::Inputs => squared_distance_between(samples.input(), p, q),
                Ties::Index => 0.0,
            };
            (squared_distance_between(samples.output(), p, q), by_input, q)
        };
        let mut others: Vec<(f64, f64, usize)> = (0..n).filter(|&q| q != p).map(key).collect();
        others.sort_by(|a, b| a.partial_cmp(b).unwrap());
        found.extend(others[..neighbors].iter().map(|&(.., q)| (p.min(q) as u32, p.max(q) as u32)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn neighbors_are_those_of_brute_force() {
    // Groups of a few and of hundreds of samples; with the last, one that is searched by itself and many candidates for one place.
    for (len, dim, trees, k) in [(60, 3, 2, 3), (300, 4, 4, 7), (300, 4, 9, 12), (2500, 2, 2, 4)] {
        let (inputs, outputs) = votes(len, dim, trees, 7);
        let samples = paired(len, &inputs, &outputs);
        for ties in [Ties::Inputs, Ties::Index] {
            let params = SpadeParams::default().with_neighbors(k).with_ties(ties);
            let made = graphs_of(&(&samples).into(), &params, &KeepNothing, &Silent).unwrap();
            let used = made.diagnostics.connection.used;
            let expected = brute_force(&samples, used, ties);
            assert_eq!(
                edges(made.graphs.output()),
                expected,
                "{len} samples, {trees} trees, {ties}, k = {used}"
            );
            assert_eq!(made.diagnostics.ties, Some(ties));
        }
    }
}

#[test]
fn inputs_are_compared_as_asked_for() {
    let (inputs, outputs) = votes(200, 4, 3, 3);
    let samples = paired(200, &inputs, &outputs);
    for metric in [Metric::Cosine, Metric::Manhattan, Metric::Chebyshev] {
        let params = SpadeParams::default()
            .with_neighbors(6)
            .with_input_metric(metric)
            .with_output_metric(Metric::Manhattan)
            .with_standardize(Standardize::Robust);
        let made = graphs_of(&(&samples).into(), &params, &KeepNothing, &Silent).unwrap();
        let placed = params.placed_pair(&samples).unwrap();
        let expected = brute_force(&placed, made.diagnostics.connection.used, Ties::Inputs);
        assert_eq!(edges(made.graphs.output()), expected, "{metric}");
    }
}

#[test]
fn bytes_and_negative_zeros_are_rows_like_others() {
    let (inputs, outputs) = votes(300, 4, 4, 11);
    let bytes = |values: &[f64]| values.iter().map(|value| (value * 40.0) as u8).collect::<Vec<u8>>();
    let (in_bytes, out_bytes) = (bytes(&inputs), bytes(&outputs));
    let narrow = PairedSamples::new(
        Samples::from_u8(300, 4, in_bytes).unwrap(),
        Samples::from_u8(300, 3, out_bytes).unwrap(),
    );
    let negative: Vec<f64> = outputs
        .iter()
        .enumerate()
        .map(|(at, &value)| if at % 2 == 0 && value == 0.0 { -0.0 } else { value })
        .collect();
    for samples in [narrow.unwrap(), paired(300, &inputs, &negative)] {
        let params = SpadeParams::default().with_neighbors(6);
        let made = graphs_of(&(&samples).into(), &params, &KeepNothing, &Silent).unwrap();
        let expected = brute_force(&samples, made.diagnostics.connection.used, Ties::Inputs);
        assert_eq!(edges(made.graphs.output()), expected);
    }
}

#[test]
fn the_order_of_the_samples_does_not_matter() {
    let (len, dim) = (400, 4);
    let (inputs, outputs) = votes(len, dim, 6, 5);
    let mut order: Vec<usize> = (0..len).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
    let permuted = |values: &[f64]| -> Vec<f64> {
        let dim = values.len() / len;
        order.iter().flat_map(|&p| values[p * dim..(p + 1) * dim].to_vec()).collect()
    };
    let (moved_inputs, moved_outputs) = (permuted(&inputs), permuted(&outputs));
    let one = paired(len, &inputs, &outputs);
    let other = paired(len, &moved_inputs, &moved_outputs);
    let mut differs = false;
    for kind in [GraphKind::Knn, GraphKind::Mutual] {
        for ties in [Ties::Inputs, Ties::Index] {
            let params = SpadeParams::default().with_neighbors(8).with_graph(kind).with_ties(ties);
            let [one, other] = [&one, &other].map(|samples| evaluate(samples, &params, &Silent).unwrap());
            let moved = other.node_scores.scores();
            let back = order.iter().zip(moved).map(|(&p, &score)| (p, score));
            let largest = moved.iter().copied().fold(0.0, f64::max);
            let apart = back
                .map(|(p, score)| (one.node_scores.scores()[p] - score).abs() / largest)
                .fold(0.0, f64::max);
            let scores = [one.model_score.0, other.model_score.0];
            if ties == Ties::Inputs {
                assert!((scores[0] / scores[1] - 1.0).abs() < 1e-6, "{kind}: {scores:?}");
                assert!(apart < 1e-4, "{kind}: {apart}");
            } else {
                differs |= apart > 0.01;
            }
        }
    }
    assert!(differs, "by index the order matters, or this says nothing");
}

#[test]
fn the_result_is_that_of_any_number_of_threads_and_of_a_longer_search() {
    let (inputs, outputs) = votes(1600, 3, 3, 9);
    let samples = paired(1600, &inputs, &outputs);
    let params = SpadeParams::default().with_neighbors(5).with_connectivity(Connectivity::Bridge);
    let with_threads = |threads| params.clone().with_threads(NonZeroUsize::new(threads));
    let [one, three] = [1, 3].map(|threads| evaluate(&samples, &with_threads(threads), &Silent).unwrap());
    assert_eq!(one.graphs, three.graphs);
    assert_eq!(one.node_scores, three.node_scores);
    // A sweep searches once, for the largest k.
    let model = Model { name: "votes".to_owned(), outputs: samples.output().clone() };
    let models = ModelSet::new(samples.input(), vec![model]).unwrap();
    let swept = sweep(&models, &[5, 20], &params, &Silent).unwrap();
    let score = swept.points[0].scores.as_ref().unwrap().models[0].model_score();
    assert_eq!(score, one.model_score.0);
    // So does what is scored in several ways, but not with other distances at the input.
    let shared = SharedSearch::new(&samples);
    for metric in [Metric::Euclidean, Metric::Chebyshev] {
        let params = params.clone().with_input_metric(metric);
        let together = shared.evaluate(&params, &Silent).unwrap();
        assert_eq!(together.graphs, evaluate(&samples, &params, &Silent).unwrap().graphs, "{metric}");
    }
}

#[test]
fn graphs_of_the_k_asked_for_are_found_among_more() {
    let (inputs, outputs) = votes(300, 4, 3, 2);
    let samples = paired(300, &inputs, &outputs);
    let report = evaluate(&samples, &SpadeParams::default().with_neighbors(4), &Silent).unwrap();
    assert!(report.diagnostics.connection.used > 4, "equal outputs are in pieces");
    let [_, asked] = report.graphs_as_asked(Some(samples.input()), Some(samples.output()));
    assert_eq!(edges(&asked), brute_force(&samples, 4, Ties::Inputs));
}

#[test]
fn who_decided_is_counted() {
    let (inputs, outputs) = votes(300, 4, 3, 2);
    let samples = paired(300, &inputs, &outputs);
    let copies = |report: &spadework::SpadeReport| {
        let found = &report.diagnostics;
        (found.outputs_decided_by_inputs, found.outputs_decided_by_index, found.ties)
    };
    let params = SpadeParams::default().with_neighbors(4);
    let by_inputs = copies(&evaluate(&samples, &params, &Silent).unwrap());
    let by_index = copies(&evaluate(&samples, &params.clone().with_ties(Ties::Index), &Silent).unwrap());
    assert!(by_inputs.0 > 100, "{by_inputs:?}");
    assert_eq!(by_inputs, (by_inputs.0, 0, Some(Ties::Inputs)));
    assert_eq!(by_index, (0, by_inputs.0, Some(Ties::Index)));
    // A graph of the inputs has no distances that could decide.
    let ring = ManifoldPair::new(generators::cycle(300), samples.output()).unwrap();
    assert_eq!(copies(&evaluate(ring, &params, &Silent).unwrap()), by_index);
    // Of copies on both sides there is nothing to choose.
    let mut equal = inputs.clone();
    equal[..40].fill(0.5);
    let mut outputs = outputs.clone();
    outputs[..30].copy_from_slice(&[0.75, 0.0, 0.0].repeat(10));
    let found = copies(&evaluate(&paired(300, &equal, &outputs), &params, &Silent).unwrap());
    assert_eq!(found.1, 10);
}

#[test]
fn outputs_that_differ_have_the_graphs_that_they_always_had() {
    let (inputs, _) = votes(300, 4, 1, 2);
    // Whole numbers: many at equal distances, none equal.
    let outputs: Vec<f64> = (0..300_u16).flat_map(|p| [f64::from(p % 20), f64::from(p / 20)]).collect();
    let samples = paired(300, &inputs, &outputs);
    let params = SpadeParams::default().with_neighbors(5);
    let [one, other] = [Ties::Inputs, Ties::Index]
        .map(|ties| evaluate(&samples, &params.clone().with_ties(ties), &Silent).unwrap());
    assert_eq!((one.diagnostics.ties, &one.graphs), (None, &other.graphs));
    assert_eq!(
        edges(one.graphs.output()),
        brute_force(&samples, one.diagnostics.connection.used, Ties::Index)
    );
}

/// Reference samples that come again are neighbors of those that they were neighbors of.
#[test]
fn new_samples_join_by_the_same_order() {
    let (inputs, outputs) = votes(300, 4, 5, 4);
    let samples = paired(300, &inputs, &outputs);
    let params = SpadeParams::default().with_neighbors(6);
    let report = evaluate(&samples, &params, &Silent).unwrap();
    let used = params.with_neighbors(report.diagnostics.connection.used);
    let (values, embedding) = (report.eigenpairs.values().to_vec(), report.embedding.clone());
    let reference = Reference::new(samples.clone(), values, embedding, &used, &Silent).unwrap();
    let again = reference.score(samples.input(), samples.output(), &Silent).unwrap();
    assert_eq!(again.known, 300);
    let largest = report.node_scores.scores().iter().copied().fold(0.0, f64::max);
    for (p, (got, want)) in again.node_scores.scores().iter().zip(report.node_scores.scores()).enumerate() {
        assert!((got - want).abs() < 1e-5 * largest, "sample {p}: {got} and {want}");
    }
}

/// Trustworthiness and continuity rank by the same order: they do not depend on the order of the samples either.
#[test]
fn ranks_of_neighborhoods_do_not_depend_on_the_order() {
    let (inputs, outputs) = votes(200, 4, 5, 4);
    let reversed = |values: &[f64]| -> Vec<f64> {
        values.chunks_exact(values.len() / 200).rev().flatten().copied().collect()
    };
    let (back_inputs, back_outputs) = (reversed(&inputs), reversed(&outputs));
    let indices = |samples: &PairedSamples<'_>| {
        let report = evaluate(samples, &SpadeParams::default().with_neighbors(6), &Silent).unwrap();
        AverageIndices::of(&report, Some(samples), &Silent).unwrap().neighborhoods.unwrap()
    };
    // All of the 200 samples are ranked, and whole numbers are added.
    assert_eq!(indices(&paired(200, &inputs, &outputs)), indices(&paired(200, &back_inputs, &back_outputs)));
}
