//! New samples against a scored model.

use crate::support::{assert_all_relative, paired, smooth_model};
use spadework::graph::{GraphKind, Weights};
use spadework::pipeline::{NewScores, Reference};
use spadework::samples::Side;
use spadework::scores::agreement::agreement;
use spadework::{Error, PairedSamples, Samples, Silent, SpadeParams, SpadeReport, evaluate};

fn params(neighbors: usize) -> SpadeParams {
    SpadeParams::default().with_neighbors(neighbors).with_tolerance(1e-10)
}

fn reference<'a>(samples: PairedSamples<'a>, report: &SpadeReport) -> Reference<'a> {
    let used = params(report.diagnostics.connection.used);
    let eigenvalues = report.eigenpairs.values().to_vec();
    Reference::new(samples, eigenvalues, report.embedding.clone(), &used, &Silent).unwrap()
}

/// The scores of samples, and those that they get as if they were new.
fn scored_twice(samples: &PairedSamples<'_>, neighbors: usize) -> (SpadeReport, NewScores) {
    let report = evaluate(samples, &params(neighbors), &Silent).unwrap();
    let again =
        reference(samples.clone(), &report).score(samples.input(), samples.output(), &Silent).unwrap();
    (report, again)
}

#[test]
fn known_samples_get_their_own_scores() {
    let (inputs, outputs) = smooth_model(600, 11);
    let samples = paired(600, &inputs, &outputs);
    let (report, again) = scored_twice(&samples, 8);
    assert_eq!((again.known, again.averaged), (600, 0));
    // Entries of the eigenvectors solve their row up to the residual, 1e-10; scores are squares of their differences,
    // which are down to a hundredth of the entries.
    let scale = report.embedding.values().iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
    for (at, (got, want)) in again.embedding.values().iter().zip(report.embedding.values()).enumerate() {
        assert!((got - want).abs() < 1e-8 * scale, "entry {at}: {got} and {want}");
    }
    assert_all_relative(again.node_scores.scores(), report.node_scores.scores(), 1e-5, "node scores");
    let top = report.node_scores.top(1)[0].index;
    // All but itself; and itself where the last digits of its score came out higher.
    assert!(again.quantiles[top] >= 599.0 / 600.0, "{}", again.quantiles[top]);
}

#[test]
fn samples_far_from_the_reference_are_named() {
    // Points on a line, one apart; with two neighbors the ends reach two steps, and nobody farther.
    let line: Vec<f64> = (0..50).map(f64::from).collect();
    let samples = paired_lines(&line);
    let (report, again) = scored_twice(&samples, 2);
    let place = |at: &'static [f64]| Samples::from_f64(at.len(), 1, at).unwrap();
    // Just within two steps of the end, just beyond, between two samples, and far away.
    let inputs = place(&[50.999, 51.001, 20.5, -1e3]);
    let outputs = place(&[20.25, 20.75, 60.0, 20.5]);
    let scores = reference(samples, &report).score(&inputs, &outputs, &Silent).unwrap();
    assert_eq!((scores.far_inputs, scores.far_outputs), (vec![1, 3], vec![2]));
    assert_eq!((again.far_inputs.len(), again.far_outputs.len()), (0, 0));
}

/// The same numbers, one per sample, as inputs and outputs.
fn paired_lines(line: &[f64]) -> PairedSamples<'_> {
    let side = || Samples::from_f64(line.len(), 1, line).unwrap();
    PairedSamples::new(side(), side()).unwrap()
}

/// On a grid nearly every neighbor is decided by a tie; every tenth sample stands twice. The outputs bend the grid, in
/// single precision.
#[test]
fn ties_and_copies_are_kept_apart() {
    let mut inputs: Vec<f32> = (0..400_u16).flat_map(|i| [f32::from(i % 20), f32::from(i / 20)]).collect();
    let copies: Vec<f32> = (0..40).flat_map(|i| [inputs[i * 20], inputs[i * 20 + 1]]).collect();
    inputs.extend(copies);
    let outputs: Vec<f32> = inputs.chunks(2).map(|p| p[0] + 0.25 * (p[1] * 0.5).sin() + 3.0 * p[1]).collect();
    let n = inputs.len() / 2;
    let samples = PairedSamples::new(
        Samples::from_f32(n, 2, inputs.as_slice()).unwrap(),
        Samples::from_f32(n, 1, outputs.as_slice()).unwrap(),
    )
    .unwrap();
    let (report, again) = scored_twice(&samples, 6);
    assert!(report.eigenpairs.values()[1] > 5.0, "{:?}", report.eigenpairs.values());
    assert_eq!((again.known, again.averaged), (n, 0));
    // The second of two equal samples stands for the first.
    let want: Vec<f64> = (0..n)
        .map(|p| if p < 400 { p } else { (p - 400) * 10 })
        .map(|p| report.node_scores.scores()[p])
        .collect();
    let largest = want.iter().copied().fold(0.0, f64::max);
    for (p, (got, want)) in again.node_scores.scores().iter().zip(&want).enumerate() {
        assert!((got - want).abs() < 1e-6 * largest, "sample {p}: {got} and {want}");
    }
}

#[test]
fn precision_does_not_matter() {
    let (inputs, outputs) = smooth_model(200, 2);
    let single = |values: &[f64]| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
    let (inputs, outputs) = (single(&inputs), single(&outputs));
    let double = |values: &[f32]| -> Vec<f64> { values.iter().map(|&value| f64::from(value)).collect() };
    let (wide_inputs, wide_outputs) = (double(&inputs), double(&outputs));
    let samples = PairedSamples::new(
        Samples::from_f32(200, 6, inputs.as_slice()).unwrap(),
        Samples::from_f32(200, 3, outputs.as_slice()).unwrap(),
    )
    .unwrap();
    let report = evaluate(&samples, &params(8), &Silent).unwrap();
    let reference = reference(samples.clone(), &report);
    let single = reference.score(samples.input(), samples.output(), &Silent).unwrap();
    let wide = paired(200, &wide_inputs, &wide_outputs);
    let double = reference.score(wide.input(), wide.output(), &Silent).unwrap();
    assert_eq!(single.node_scores, double.node_scores);
    assert_eq!(double.known, 200);
}

/// The first 900 of 1,000 samples are the reference: the others' scores must be ordered much as in a run of all.
#[test]
fn new_samples_are_ordered_as_in_a_run_of_all() {
    let (inputs, outputs) = smooth_model(1000, 5);
    let whole = evaluate(&paired(1000, &inputs, &outputs), &params(10), &Silent).unwrap();
    let known = paired(900, &inputs[..5400], &outputs[..2700]);
    let report = evaluate(&known, &params(10), &Silent).unwrap();
    let new = paired(100, &inputs[5400..], &outputs[2700..]);
    let scores = reference(known, &report).score(new.input(), new.output(), &Silent).unwrap();
    assert_eq!(scores.known, 0);
    let found = agreement(scores.node_scores.scores(), &whole.node_scores.scores()[900..], 10);
    // Measured: 0.9; by chance it would be 0 with a standard deviation of 0.1.
    assert!(found.spearman.unwrap() > 0.7, "{found:?}");
}

#[test]
fn a_single_new_sample_will_do() {
    let (inputs, outputs) = smooth_model(100, 5);
    let samples = paired(100, &inputs, &outputs);
    let report = evaluate(&samples, &params(5), &Silent).unwrap();
    let reference = reference(samples, &report);
    let one = |values: &[f64]| Samples::from_f64(1, values.len(), values.to_vec()).unwrap();
    let scores = reference.score(&one(&inputs[60..66]), &one(&outputs[30..33]), &Silent).unwrap();
    assert_all_relative(scores.node_scores.scores(), &report.node_scores.scores()[10..11], 1e-5, "score");
    // A single sample has no neighbors of its own.
    let alone = PairedSamples::new(one(&inputs[60..66]), one(&outputs[30..33])).unwrap_err();
    assert_eq!(alone, Error::TooFewSamples { samples: 1 });
}

#[test]
fn eigenvalues_near_one_fall_back_to_means() {
    let (inputs, _) = smooth_model(150, 5);
    let samples = paired(150, &inputs, &inputs);
    let (_, again) = scored_twice(&samples, 5);
    assert_eq!(again.averaged, 2 * 150);
    assert!(again.node_scores.scores().iter().all(|score| score.is_finite()));
}

#[test]
fn new_samples_must_be_of_the_same_kind() {
    let (inputs, outputs) = smooth_model(100, 5);
    let samples = paired(100, &inputs, &outputs);
    let report = evaluate(&samples, &params(5), &Silent).unwrap();
    let reference = reference(samples.clone(), &report);
    let swapped = reference.score(samples.output(), samples.output(), &Silent).unwrap_err();
    assert_eq!(swapped, Error::ReferenceDim { side: Side::Input, expected: 6, got: 3 });
    let few = paired(50, &inputs[..300], &outputs[..150]);
    let error = reference.score(few.input(), samples.output(), &Silent).unwrap_err();
    assert_eq!(error, Error::ShapeMismatch { input_rows: 50, output_rows: 100 });
    let wrong = Reference::new(few, vec![2.0, 1.0], report.embedding.clone(), &params(5), &Silent);
    assert!(matches!(wrong, Err(Error::WrongLength { rows: 50, columns: 2, got: 200 })));
}

#[test]
fn only_plain_graphs_are_a_reference() {
    let (inputs, outputs) = smooth_model(100, 3);
    let samples = paired(100, &inputs, &outputs);
    let report = evaluate(&samples, &params(8), &Silent).unwrap();
    let refused = |params: &SpadeParams| {
        let eigenvalues = report.eigenpairs.values().to_vec();
        let reference =
            Reference::new(samples.clone(), eigenvalues, report.embedding.clone(), params, &Silent);
        matches!(reference, Err(Error::ReferenceGraphs { .. }))
    };
    assert!(!refused(&params(8)));
    assert!(refused(&params(8).with_graph(GraphKind::Mutual)));
    assert!(refused(&params(8).with_weights(Weights::Gaussian)));
}
