//! What is measured of one network.

use serde::{Deserialize, Serialize};
use spadework::scores::{
    Fragility, Margins, RiemannianDistance, SampleSignals, edge_overlap, label_agreement, predictions,
};
use spadework::{
    EdgeScores, Indices, NodeScores, PairedSamples, Samples, SpadeParams, SpadeReport, SpectralEmbedding,
    Values, evaluate,
};
use spadework_nn::Frozen;

use crate::data::Images;
use crate::failure::Failure;
use crate::networks::AttackPlan;
use crate::run::Run;

/// Eigenpairs that the longest scores of samples are made of.
pub(super) const EIGENPAIRS: usize = 10;
/// Indices of a network with the sign under which more is more robust.
pub(super) const INDICES: [(&str, f64); 11] = [
    ("model score λ_1", -1.0),
    ("Riemannian distance (10)", -1.0),
    ("mean eigenvalue", -1.0),
    ("mean distortion of edges, hops", -1.0),
    ("mean distortion of edges, resistance", -1.0),
    ("trustworthiness", 1.0),
    ("continuity", 1.0),
    ("edge overlap", 1.0),
    ("label agreement of outputs", 1.0),
    ("median margin / scale", 1.0),
    ("clean accuracy", 1.0),
];
/// Clean accuracy, which all others are asked for something beyond.
pub(super) const ACCURACY: usize = INDICES.len() - 1;

/// Scores of samples, more being more fragile.
pub(super) const SAMPLE_SCORES: [&str; 7] = [
    "node score, r = 1",
    "node score, r = 2",
    "node score, r = 10",
    "neighbors of other classes",
    "margin",
    "margin and node score",
    "fragility",
];

/// What was measured of one network.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Evidence {
    pub(super) indices: Vec<f64>,
    /// Of the attacked images that are classified rightly: one row a score.
    pub(super) samples: Vec<Vec<f64>>,
    /// Of the same images, whether each attack breaks them.
    pub(super) broken: Vec<Vec<bool>>,
    /// The share of attacked images that hold, by attack.
    pub(super) robust: Vec<f64>,
}

pub(super) fn measure(
    run: &Run,
    model: &Frozen,
    test: &Images,
    plans: &[AttackPlan],
    attacked: usize,
) -> Result<Evidence, Failure> {
    let outputs = Samples::from_f32(test.len(), model.classes(), model.outputs(test.examples.samples())?)?;
    let pair = PairedSamples::new(test.samples()?, outputs)?;
    let params = SpadeParams { eigenpairs: EIGENPAIRS, seed: run.seed(), ..SpadeParams::default() };
    let report = evaluate(&pair, &params, run.monitor())?;
    let margins = Margins::of(pair.output(), None)?.ok_or_else(|| {
        Failure::Usage("a classifier has two outputs at least, got a network with one".to_owned())
    })?;
    let indices = indices(run, &report, &pair, test, &margins, model.accuracy(&test.examples)?)?;
    let scores = sample_scores(&report, &pair, &margins)?;
    let examples = test.first(attacked);
    let (mut broken, mut robust) = (Vec::new(), Vec::new());
    let mut right: Vec<usize> = Vec::new();
    for plan in plans {
        let attack = plan.run(run, model, &examples)?;
        right = (0..examples.len()).filter(|&at| attack.outcomes[at].clean()).collect();
        broken.push(right.iter().map(|&at| attack.outcomes[at].broken.is_some()).collect());
        robust.push(attack.robust_accuracy());
    }
    let of_right = |scores: &Vec<f64>| right.iter().map(|&at| scores[at]).collect();
    Ok(Evidence { indices, samples: scores.iter().map(of_right).collect(), broken, robust })
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
    let found = Indices::of(report, Some(pair), run.monitor())?;
    let [trustworthiness, continuity] =
        found.neighborhoods.map_or([f64::NAN; 2], |ranks| [ranks.trustworthiness, ranks.continuity]);
    Ok(vec![
        report.model_score.0,
        RiemannianDistance::from_eigenvalues(report.eigenpairs.values(), false).distance,
        found.mean_eigenvalue.value,
        found.geodesic.mean,
        found.resistance.map_or(f64::NAN, |spread| spread.mean),
        trustworthiness,
        continuity,
        edge_overlap(&report.graphs),
        label_agreement(report.graphs.output(), &test.labels())?,
        margins.spread().median / root_mean_square(pair.output()),
        accuracy,
    ])
}

/// Margins are as large as the outputs are; over this they are comparable between networks.
fn root_mean_square(outputs: &Samples<'_>) -> f64 {
    let (sum, count) = match outputs.values() {
        Values::F32(values) => {
            (values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>(), values.len())
        }
        Values::F64(values) => (values.iter().map(|value| value * value).sum(), values.len()),
    };
    (sum / count as f64).sqrt()
}

/// In the order of [`SAMPLE_SCORES`].
fn sample_scores(
    report: &SpadeReport,
    pair: &PairedSamples<'_>,
    margins: &Margins,
) -> Result<Vec<Vec<f64>>, Failure> {
    let (input, predicted) = (report.graphs.input(), predictions(pair.output()));
    let of_first = |eigenpairs: usize| -> Vec<f64> {
        let rows = (0..input.nodes()).flat_map(|p| report.embedding.row(p)[..eigenpairs].to_vec());
        let embedding = SpectralEmbedding::from_rows(eigenpairs, rows.collect());
        NodeScores::from_edges(input, &EdgeScores::from_embedding(input, &embedding)).scores().to_vec()
    };
    let others = |p: usize| {
        let neighbors = input.neighbors(p);
        let other = neighbors.iter().filter(|&&q| predicted[q as usize] != predicted[p]).count();
        other as f64 / neighbors.len().max(1) as f64
    };
    let signals = SampleSignals {
        inputs: Some(pair.input()),
        outputs: Some(pair.output()),
        ..SampleSignals::default()
    };
    let fragility = Fragility::of(input, &report.node_scores, &signals)?.values().to_vec();
    let long = report.node_scores.scores().to_vec();
    let small_margins: Vec<f64> = margins.values().iter().map(|margin| -margin).collect();
    let both = ranks(&long).iter().zip(ranks(&small_margins)).map(|(a, b)| a + b).collect();
    let of_others = (0..input.nodes()).map(others).collect();
    Ok(vec![of_first(1), of_first(2), long, of_others, small_margins, both, fragility])
}

/// Positions from the lowest, as parts of the number of samples.
fn ranks(scores: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
    let mut ranks = vec![0.0; scores.len()];
    for (rank, &at) in order.iter().enumerate() {
        ranks[at] = rank as f64 / scores.len() as f64;
    }
    ranks
}
