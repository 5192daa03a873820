//! A result is made again from what was asked for, not from what was done.

use spadework::eigen::{Certainty, EigenMethod};
use spadework::graph::{Connectivity, Weights};
use spadework::neighbors::{Recall, SearchMethod};
use spadework::pipeline::{Spectrum, compare};
use spadework::samples::{Metric, Standardize};
use spadework::{Model, ModelSet, PairedSamples, Samples, Silent, SpadeParams, evaluate};
use spadework_document::RequestDocument;
use spadework_document::comparison::CompareDocument;
use spadework_document::score::ScoreDocument;
use spadework_probe::{SampleFacts, Task};

/// Every parameter other than its default.
fn unusual() -> SpadeParams {
    SpadeParams::default()
        .with_neighbors(7)
        .with_eigenpairs(3)
        .with_spectrum(Spectrum::Full { error: 0.25 })
        .with_solver(EigenMethod::Power)
        .with_input_metric(Metric::Chebyshev)
        .with_output_metric(Metric::Cosine)
        .with_standardize(Standardize::Robust)
        .with_search(SearchMethod::Exact)
        .with_graph("sparse:density=2".parse().unwrap())
        .with_weights(Weights::Gaussian)
        .with_connectivity(Connectivity::Bridge)
        .with_tolerance(1e-7)
        .with_certainty(Certainty::Certified)
        .with_seed(11)
}

/// A spiral, and its angle and radius.
fn sides() -> PairedSamples<'static> {
    let angle = |i: usize| (i as f64 + 1.0).sqrt();
    let inputs = (0..120).flat_map(|i| [angle(i) * angle(i).cos(), angle(i) * angle(i).sin()]).collect();
    let outputs = (0..120).flat_map(|i| [angle(i), (3.0 * angle(i)).sin()]).collect();
    let [inputs, outputs]: [Vec<f64>; 2] = [inputs, outputs];
    PairedSamples::new(
        Samples::from_f64(120, 2, inputs).unwrap(),
        Samples::from_f64(120, 2, outputs).unwrap(),
    )
    .unwrap()
}

#[test]
fn every_parameter_comes_back() {
    for params in [SpadeParams::default(), unusual()] {
        let document = RequestDocument::from(&params);
        let read: RequestDocument = serde_json::from_str(&serde_json::to_string(&document).unwrap()).unwrap();
        assert_eq!(read.params().unwrap(), params);
    }
}

/// The inputs were searched exactly and the outputs approximately: neither is what was asked for.
#[test]
fn a_score_is_searched_again_as_it_was_asked_for() {
    let params = SpadeParams::default().with_search(SearchMethod::Auto);
    let mut report = evaluate(&sides(), &params, &Silent).unwrap();
    report.diagnostics.input_recall = Recall::Exact;
    report.diagnostics.output_recall = Recall::Sampled { rows: 100, found: 999, of: 1000 };
    let document = ScoreDocument::new(&report, None, 0).unwrap();
    assert_eq!(document.params().unwrap().search, SearchMethod::Auto);
}

#[test]
fn a_score_keeps_every_parameter() {
    let params = unusual();
    let report = evaluate(&sides(), &params, &Silent).unwrap();
    assert_eq!(ScoreDocument::new(&report, None, 0).unwrap().params().unwrap(), params);
}

#[test]
fn a_comparison_keeps_spectrum_and_solver() {
    let params = unusual();
    let (inputs, outputs) = sides().into_sides();
    let models = [("a", outputs.view()), ("b", inputs.view())];
    let models = models.map(|(name, outputs)| Model { name: name.to_owned(), outputs }).to_vec();
    let set = ModelSet::new(inputs.view(), models).unwrap();
    let comparison = compare(&set, &params, &Silent).unwrap();
    let facts = SampleFacts::of_comparison(&comparison, &set, None, &[], Task::Auto).unwrap();
    assert_eq!(CompareDocument::new(&comparison, &facts, None, 0).unwrap().params().unwrap(), params);
}
