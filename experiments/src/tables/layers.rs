//! The figure of A.7: scores layer by layer of narrow networks on point clouds.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::graph::Connectivity;
use spadework::pipeline::score_layers;
use spadework::{Samples, SpadeParams};
use spadework_nn::train::{Guides, TrainParams, Trainer};
use spadework_nn::{Architecture, Examples, Frozen, Network};
use spadework_report::figures::{Series, lines};

use super::Experiment;
use crate::failure::Failure;
use crate::networks::beginning;
use crate::point_clouds::Cloud;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::spearman;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "layers",
    paper: "Figure of A.7",
    title: "scores layer by layer on point clouds",
    run,
};

const ARCHITECTURES: [&str; 2] = ["tanh:15x9", "relu:15x9"];
const NEIGHBORS: usize = 10;

/// A trained network: how often it is right, and the score of every layer that has one.
#[derive(Debug, Serialize, Deserialize)]
struct Scored {
    accuracy: f64,
    used: usize,
    scores: Vec<Option<f64>>,
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let points = run.options().train_images.unwrap_or(run.size(4500, 600));
    let epochs = run.options().epochs.unwrap_or(run.size(300, 10));
    let mut findings = Findings::new(
        json!({ "points": points, "epochs": epochs, "networks": ARCHITECTURES, "connectivity": "bridge", "neighbors": NEIGHBORS }),
    );
    let mut columns: Vec<(String, Scored)> = Vec::new();
    for cloud in Cloud::ALL {
        for architecture in ARCHITECTURES {
            let settings = json!({ "points": points, "epochs": epochs, "seed": run.seed() });
            let name = format!("layers/{} {architecture}", cloud.name());
            let scored = run.part(&name, &settings, || scored(run, cloud, architecture, points, epochs))?;
            columns.extend(scored.map(|scored| (format!("{} {architecture}", cloud.name()), scored)));
        }
    }
    for (name, scored) in &columns {
        findings.network(name, format!("{points} points, which it was trained on"), Some(scored.accuracy));
        findings.graph(name, NEIGHBORS, scored.used);
    }
    let depth = columns.iter().map(|column| column.1.scores.len()).max().unwrap_or(0);
    let header = std::iter::once("layer".to_owned()).chain(columns.iter().map(|column| column.0.clone()));
    let mut table =
        Table::new("Model score λ_1 of the activations after each layer, the last one the outputs.", header);
    for layer in 0..depth {
        let score = |column: &(String, Scored)| json!(column.1.scores.get(layer).copied().flatten());
        table.row(std::iter::once(json!(layer + 1)).chain(columns.iter().map(score)).collect());
    }
    let accuracy = |column: &(String, Scored)| json!(column.1.accuracy);
    table.row(std::iter::once(json!("accuracy")).chain(columns.iter().map(accuracy)).collect::<Vec<Value>>());
    let mut series = Vec::new();
    for (name, scored) in &columns {
        let known: Vec<(f64, f64)> = scored
            .scores
            .iter()
            .enumerate()
            .filter_map(|(at, score)| Some((at as f64 + 1.0, (*score)?)))
            .collect();
        let (layers, scores): (Vec<f64>, Vec<f64>) = known.iter().copied().unzip();
        let rho = spearman(&layers, &scores);
        findings.claim(
            run,
            format!("{name}: deeper layers have greater scores"),
            format!(
                "from {:.1} to {:.1}, Spearman's ρ with depth {:.2}, accuracy {:.3}",
                scores.first().copied().unwrap_or(f64::NAN),
                scores.last().copied().unwrap_or(f64::NAN),
                rho.unwrap_or(f64::NAN),
                scored.accuracy
            ),
            rho.map(|rho| rho > 0.5),
        );
        series.push(Series {
            name: name.clone(),
            points: scored.scores.iter().enumerate().map(|(at, score)| (at as f64 + 1.0, *score)).collect(),
        });
    }
    findings.note(
        "The paper does not say its networks; these are Naitzat's: 15 units wide, ten layers, tanh and ReLU.",
    );
    findings.note("k = 10; pieces of a graph are joined by the shortest edges between them, since the shapes are apart.");
    findings.charts.push(lines("layers", "Model score by layer", ["layer", "model score"], &series, None));
    findings.tables.push(table);
    Ok(findings)
}

fn scored(
    run: &Run,
    cloud: Cloud,
    architecture: &str,
    points: usize,
    epochs: usize,
) -> Result<Scored, Failure> {
    let examples = cloud.draw(points, run.seed())?;
    let network = trained(run, cloud, architecture, &examples, epochs)?;
    let accuracy = Frozen::new(&network, run.compute()).accuracy(&examples)?;
    let ends: Vec<usize> = layer_ends(&network);
    let mut activations = Vec::with_capacity(ends.len());
    for &end in &ends {
        activations.push(Frozen::new(&beginning(&network, end)?, run.compute()).outputs(examples.samples())?);
    }
    let inputs = Samples::from_f32(examples.len(), examples.size(), examples.samples())?;
    let params = SpadeParams::default()
        .with_neighbors(NEIGHBORS)
        .with_eigenpairs(1)
        .with_connectivity(Connectivity::Bridge)
        .with_seed(run.seed());
    let of_layer = |layer: usize| {
        let values = activations[layer].as_slice();
        Samples::from_f32(examples.len(), values.len() / examples.len(), values)
    };
    let found = score_layers::<spadework::Error>(&inputs, ends.len(), of_layer, &params, run.monitor())?;
    let score = |layer: &spadework::Result<spadework::pipeline::LayerScore>| {
        layer.as_ref().ok().map(|layer| layer.model_score.0)
    };
    Ok(Scored { accuracy, used: found.used, scores: found.layers.iter().map(score).collect() })
}

fn trained(
    run: &Run,
    cloud: Cloud,
    architecture: &str,
    examples: &Examples,
    epochs: usize,
) -> Result<Network, Failure> {
    let architecture: Architecture = architecture.parse()?;
    let network = architecture.build(&[cloud.dimensions()], 2, None, run.seed())?;
    let params =
        TrainParams { epochs, batch: 100, learning_rate: 2e-3, seed: run.seed(), ..TrainParams::default() };
    let mut trainer = Trainer::new(&network, examples, params, Guides::default(), run.compute())?;
    match trainer.run::<Failure>(run.monitor(), |_, _| Ok(()))? {
        spadework_nn::train::Ending::Finished => Ok(trainer.network()),
        spadework_nn::train::Ending::Stopped => Err(Failure::TimeOver),
    }
}

/// Positions of the activations, and of the outputs.
fn layer_ends(network: &Network) -> Vec<usize> {
    let layers = network.layers();
    let is_end = |at: &usize| layers[*at].name.starts_with("activation") || at + 1 == layers.len();
    (0..layers.len()).filter(is_end).collect()
}
