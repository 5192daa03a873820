//! What the test images and a network's outputs say of it: graphs, margins and accuracy.

use serde::{Deserialize, Serialize};
use spadework::pipeline::AverageIndices;
use spadework::scores::agreement::mean_ranks;
use spadework::scores::{RiemannianDistance, label_agreement};
use spadework::{PairedSamples, Samples, SpadeParams, SpadeReport, evaluate};
use spadework_nn::Frozen;
use spadework_probe::{Fragility, Margins, NeighborhoodOverlap, SampleSignals, Smoothness, predictions};

use super::probes::OfSize;
use crate::data::Images;
use crate::failure::Failure;
use crate::networks::node_scores_of_first;
use crate::run::Run;

/// Eigenpairs that the longest scores of samples are made of.
pub(super) const EIGENPAIRS: usize = 10;
/// Numbers of a network with the sign under which more is more robust.
pub(super) const INDICES: [(&str, f64); 15] = [
    ("model score λ_1", -1.0),
    ("Riemannian distance (10)", -1.0),
    ("mean eigenvalue", -1.0),
    ("mean distortion of edges, hops", -1.0),
    ("mean distortion of edges, resistance", -1.0),
    ("trustworthiness", 1.0),
    ("continuity", 1.0),
    ("neighborhood overlap", 1.0),
    ("agreement", 1.0),
    ("roughness", -1.0),
    ("unevenness", -1.0),
    ("label agreement of outputs", 1.0),
    ("median margin / scale", 1.0),
    ("GREAT Score", 1.0),
    ("clean accuracy", 1.0),
];
/// Clean accuracy, which all others are asked for something beyond.
pub(super) const ACCURACY: usize = INDICES.len() - 1;

/// Scores of samples, more being more fragile.
pub(super) const SCORES: [&str; 7] = [
    "node score, r = 1",
    "node score, r = 2",
    "node score, r = 10",
    "neighbors of other classes",
    "margin",
    "margin and node score",
    "fragility",
];
/// The score that CLEVER scores are asked for.
pub(super) const NODE_SCORE: usize = 2;
/// The score that needs nothing, which others must beat.
pub(super) const MARGIN: usize = 4;
/// The one that is meant to be used without probes.
pub(super) const FRAGILITY: usize = 6;
/// The same with probes, among all scores.
pub(super) const PROBED_FRAGILITY: usize = SCORES.len() + 1;
/// Those that need probes of the size of an attack: the smallest margin over a search, fragility with it, and fragility with
/// the smallest margin over noise in blocks.
pub(super) const PROBED_SCORES: [&str; 3] = ["probe margin", "fragility, probed", "fragility, noise"];

/// What samples and outputs of one network say.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FromSamples {
    /// In the order of [`INDICES`]; none where there is no such number, which JSON has no word for.
    pub(super) indices: Vec<Option<f64>>,
    /// Of the images that are attacked, in the order of [`SCORES`].
    pub(super) scores: Vec<Vec<f64>>,
    /// Of the same images, with probes of every size, in the order of [`PROBED_SCORES`].
    pub(super) by_size: Vec<Vec<Vec<f64>>>,
    /// The k of the graphs.
    pub(super) neighbors_used: usize,
    /// How often the network was run for these, without the probes.
    pub(super) runs: u64,
}

/// Measures on all test images; scores are kept of the first `attacked` of them, which are those that were probed.
pub(super) fn measure(
    run: &Run,
    model: &Frozen,
    test: &Images,
    attacked: usize,
    probes: &[OfSize],
) -> Result<FromSamples, Failure> {
    let outputs = Samples::from_f32(test.len(), model.classes(), model.outputs(test.examples.samples())?)?;
    let pair = PairedSamples::new(test.samples()?, outputs)?;
    let params = SpadeParams::default().with_eigenpairs(EIGENPAIRS).with_seed(run.seed());
    let report = evaluate(&pair, &params, run.monitor())?;
    let margins = Margins::of(pair.output(), None)?.ok_or_else(|| {
        Failure::Usage("a classifier has two outputs at least, got a network with one".to_owned())
    })?;
    let indices = indices(run, &report, &pair, test, &margins, model.accuracy(&test.examples)?)?;
    let mut scores = sample_scores(&report, &pair, &margins)?;
    for of_score in &mut scores {
        of_score.truncate(attacked);
    }
    let by_size: Result<_, Failure> =
        probes.iter().map(|probes| probed_scores(&report, &pair, attacked, probes)).collect();
    Ok(FromSamples {
        indices: indices.into_iter().map(|index| Some(index).filter(|index| index.is_finite())).collect(),
        scores,
        by_size: by_size?,
        neighbors_used: report.diagnostics.connection.used,
        runs: test.len() as u64,
    })
}

/// In the order of [`INDICES`].
fn indices(
    run: &Run,
    report: &SpadeReport,
    pair: &PairedSamples<'_>,
    test: &Images,
    margins: &Margins,
    accuracy: f64,
) -> Result<Vec<f64>, Failure> {
    let found = AverageIndices::of(report, Some(pair), run.monitor())?;
    let [trustworthiness, continuity] =
        found.neighborhoods.map_or([f64::NAN; 2], |ranks| [ranks.trustworthiness, ranks.continuity]);
    let [input, output] = report.graphs_as_asked(Some(pair.input()), Some(pair.output()));
    let overlap = NeighborhoodOverlap::between(input, &output);
    let [agreement, roughness] = Smoothness::of(report.graphs.input(), pair.output())
        .map_or([f64::NAN; 2], |found| [found.agreement, found.roughness.unwrap_or(f64::NAN)]);
    Ok(vec![
        report.model_score.0,
        RiemannianDistance::from_eigenvalues(report.eigenpairs.values(), false).distance,
        found.mean_eigenvalue.value,
        found.geodesic.mean,
        found.resistance.map_or(f64::NAN, |spread| spread.mean),
        trustworthiness,
        continuity,
        overlap.estimate().estimate,
        agreement,
        roughness,
        roughness + (1.0 - agreement),
        label_agreement(report.graphs.output(), &test.labels())?,
        margins.spread().median / root_mean_square(pair.output()),
        great_score(pair.output(), test.examples.labels()),
        accuracy,
    ])
}

/// Margins are as large as the outputs are; over this they are comparable between networks.
fn root_mean_square(outputs: &Samples<'_>) -> f64 {
    let values = outputs.values().all_doubles();
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

/// √(π/2) times the mean of how far the probability of the true class leads the largest other, zero where it does not lead (Li, Chen
/// and Ho, 2024, on samples of a generator); here on the real samples.
fn great_score(outputs: &Samples<'_>, labels: &[usize]) -> f64 {
    let (values, classes) = (outputs.values().all_doubles(), outputs.dim());
    let lead = |(row, &label): (&[f64], &usize)| {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let all: f64 = row.iter().map(|value| (value - largest).exp()).sum();
        let others = row.iter().enumerate().filter(|(class, _)| *class != label).map(|(_, value)| value);
        let other = others.copied().fold(f64::NEG_INFINITY, f64::max);
        (((row[label] - largest).exp() - (other - largest).exp()) / all).max(0.0)
    };
    let sum: f64 = values.chunks(classes).zip(labels).map(lead).sum();
    std::f64::consts::FRAC_PI_2.sqrt() * sum / labels.len() as f64
}

/// In the order of [`SCORES`].
fn sample_scores(
    report: &SpadeReport,
    pair: &PairedSamples<'_>,
    margins: &Margins,
) -> Result<Vec<Vec<f64>>, Failure> {
    let (input, predicted) = (report.graphs.input(), predictions(pair.output()));
    let of_first = |eigenpairs: usize| node_scores_of_first(report, eigenpairs);
    let others = |p: usize| {
        let neighbors = input.neighbors(p);
        let other = neighbors.iter().filter(|&&q| predicted[q as usize] != predicted[p]).count();
        other as f64 / neighbors.len().max(1) as f64
    };
    let long = report.node_scores.scores().to_vec();
    let small_margins: Vec<f64> = margins.values().iter().map(|margin| -margin).collect();
    let both = mean_ranks(&long).iter().zip(mean_ranks(&small_margins)).map(|(a, b)| a + b).collect();
    let of_others = (0..input.nodes()).map(others).collect();
    let fragility = fragility(report, pair, None)?;
    Ok(vec![of_first(1), of_first(2), long, of_others, small_margins, both, fragility])
}

/// In the order of [`PROBED_SCORES`].
fn probed_scores(
    report: &SpadeReport,
    pair: &PairedSamples<'_>,
    attacked: usize,
    probes: &OfSize,
) -> Result<Vec<Vec<f64>>, Failure> {
    let mut scores = vec![probes.search.value.lowest.iter().map(|margin| -margin).collect()];
    for probing in [&probes.search, &probes.blocks] {
        let mut margins: Vec<Option<f64>> = probing.value.lowest.iter().copied().map(Some).collect();
        margins.resize(pair.len(), None);
        let mut fragility = fragility(report, pair, Some(&margins))?;
        fragility.truncate(attacked);
        scores.push(fragility);
    }
    Ok(scores)
}

fn fragility(
    report: &SpadeReport,
    pair: &PairedSamples<'_>,
    probe_margins: Option<&[Option<f64>]>,
) -> Result<Vec<f64>, Failure> {
    let (inputs, outputs) = (Some(pair.input()), Some(pair.output()));
    let signals = SampleSignals { inputs, outputs, probe_margins, ..SampleSignals::default() };
    Ok(Fragility::of_report(report, &signals)?.values().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two samples of two classes: probabilities 3/4 and 1/4, once right and once wrong.
    #[test]
    fn the_great_score_counts_leads_of_the_true_class_only() {
        let outputs = Samples::from_f32(2, 2, vec![3.0_f32.ln(), 0.0, 3.0_f32.ln(), 0.0]).unwrap();
        let expected = std::f64::consts::FRAC_PI_2.sqrt() * 0.25;
        assert!((great_score(&outputs, &[0, 1]) - expected).abs() < 1e-6);
    }
}
