//! What is measured of one network.

use serde::{Deserialize, Serialize};
use spadework::scores::{
    DistanceKind, Distances, Distortion, RiemannianDistance, draw_others, edge_overlap, label_agreement,
    predictions,
};
use spadework::{EdgeScores, NodeScores, Samples, SpadeParams, SpadeReport, SpectralEmbedding};
use spadework_nn::Frozen;

use crate::data::Images;
use crate::failure::Failure;
use crate::networks::{AttackPlan, score_outputs};
use crate::run::Run;
use crate::statistics::{mean, median};

/// Eigenpairs that the longest scores of samples are made of.
pub(super) const EIGENPAIRS: usize = 10;
/// Edges whose distortion is averaged.
pub(super) const EDGES: usize = 1000;

/// Indices of a network with the sign under which more is more robust.
pub(super) const INDICES: [(&str, f64); 7] = [
    ("model score λ_1", -1.0),
    ("Riemannian distance (10)", -1.0),
    ("mean distortion of edges", -1.0),
    ("edge overlap", 1.0),
    ("label agreement of outputs", 1.0),
    ("median margin / scale", 1.0),
    ("clean accuracy", 1.0),
];
/// Clean accuracy, which all others are asked for something beyond.
pub(super) const ACCURACY: usize = 6;

/// Scores of samples, more being more fragile.
pub(super) const SAMPLE_SCORES: [&str; 6] = [
    "node score, r = 1",
    "node score, r = 2",
    "node score, r = 10",
    "neighbors of other classes",
    "margin",
    "margin and node score",
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
    let outputs = model.outputs(test.examples.samples())?;
    let margins = margins(&outputs, model.classes());
    let predicted = predictions(&Samples::from_f32(test.len(), model.classes(), outputs.as_slice())?);
    let params = SpadeParams { eigenpairs: EIGENPAIRS, ..SpadeParams::default() };
    let report = score_outputs(run, test, outputs.clone(), &params)?;
    let indices = indices(run, &report, test, &outputs, &margins, model.accuracy(&test.examples)?)?;
    let scores = sample_scores(&report, &margins, &predicted);
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

/// How far the largest output leads.
fn margins(outputs: &[f32], classes: usize) -> Vec<f64> {
    let margin = |row: &[f32]| {
        let (first, second) =
            row.iter().fold((f32::NEG_INFINITY, f32::NEG_INFINITY), |(first, second), &value| {
                if value > first { (value, first) } else { (first, second.max(value)) }
            });
        f64::from(first - second)
    };
    outputs.chunks(classes).map(margin).collect()
}

/// In the order of [`INDICES`].
fn indices(
    run: &Run,
    report: &SpadeReport,
    test: &Images,
    outputs: &[f32],
    margins: &[f64],
    accuracy: f64,
) -> Result<Vec<f64>, Failure> {
    let scores = &report.edge_scores;
    let drawn = draw_others(scores.len(), &[], EDGES, run.seed());
    let pairs: Vec<(u32, u32)> = drawn.iter().map(|&at| scores.edges()[at]).collect();
    let distances = Distances::new(&report.graphs, run.seed())?;
    let hops: Vec<f64> = distances
        .of_pairs(DistanceKind::Geodesic, &pairs, run.monitor())?
        .iter()
        .map(Distortion::ratio)
        .collect();
    // Margins are as large as the outputs are; their root mean square makes networks comparable.
    let squares: f64 = outputs.iter().map(|&value| f64::from(value).powi(2)).sum();
    let scale = (squares / outputs.len() as f64).sqrt();
    Ok(vec![
        report.model_score.0,
        RiemannianDistance::from_eigenvalues(report.eigenpairs.values(), false).distance,
        mean(&hops).unwrap_or(f64::NAN),
        edge_overlap(&report.graphs),
        label_agreement(report.graphs.output(), &test.labels())?,
        median(margins).unwrap_or(f64::NAN) / scale,
        accuracy,
    ])
}

/// In the order of [`SAMPLE_SCORES`].
fn sample_scores(report: &SpadeReport, margins: &[f64], predicted: &[usize]) -> Vec<Vec<f64>> {
    let input = report.graphs.input();
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
    let (long, fragile) = (report.node_scores.scores().to_vec(), margins.iter().map(|margin| -margin));
    let fragile: Vec<f64> = fragile.collect();
    let both = ranks(&long).iter().zip(ranks(&fragile)).map(|(a, b)| a + b).collect();
    vec![of_first(1), of_first(2), long, (0..input.nodes()).map(others).collect(), fragile, both]
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
