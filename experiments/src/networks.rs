//! Networks: trained here and kept, and what becomes of them under attack.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::scores::{EdgeScores, NodeScores, SpectralEmbedding};
use spadework::{PairedSamples, Samples, SpadeParams, SpadeReport, evaluate};
use spadework_io::output::write_bytes;
use spadework_nn::attack::{Apgd, AttackParams, AttackReport, Budget, Climb, Norm, Square, attack};
use spadework_nn::network::NetworkBuilder;
use spadework_nn::train::{Checkpoint, Ending, EpochRecord, Guides, TrainParams, Trainer};
use spadework_nn::{Architecture, Examples, Frozen, Network, Normalization};

use crate::data::{CLASSES, Images};
use crate::failure::Failure;
use crate::run::{Run, say, slug};

/// How a network is made.
#[derive(Debug, Clone)]
pub(crate) struct Recipe<'a> {
    /// Its folder among the networks.
    pub(crate) name: String,
    /// What it is trained on.
    pub(crate) train: &'a Images,
    pub(crate) architecture: String,
    /// Whether it takes raw values and normalizes them by the training images.
    pub(crate) normalize: bool,
    pub(crate) params: TrainParams,
    /// What else it depends on: the scorer or teacher of the guides.
    pub(crate) guided_by: Option<String>,
}

/// What training left in addition to the weights.
#[derive(Debug, Serialize, Deserialize)]
struct Training {
    settings: Value,
    seconds: f64,
    epochs: Vec<EpochRecord>,
}

const CHECKPOINT: &str = "checkpoint.safetensors";
const SETTINGS: &str = "settings.json";

impl Recipe<'_> {
    pub(crate) fn settings(&self) -> Value {
        json!({
            "train": self.train.name,
            "images": self.train.len(),
            "architecture": self.architecture,
            "normalize": self.normalize,
            "guided_by": self.guided_by,
            "params": self.params,
        })
    }

    fn untrained(&self) -> Result<Network, Failure> {
        let architecture: Architecture = self.architecture.parse()?;
        let normalization =
            self.normalize.then(|| Normalization::of(self.train.examples.samples(), &self.train.shape));
        Ok(architecture.build(&self.train.shape, CLASSES, normalization.as_ref(), self.params.seed)?)
    }

    /// The network: from its folder where it was finished with the same settings, else trained, from its checkpoint where
    /// there is one. `None` where the time is over.
    pub(crate) fn network(&self, run: &Run, guides: Guides<'_>) -> Result<Option<Network>, Failure> {
        let folder = run.out().join("networks").join(slug(&self.name));
        let (settings, part) = (self.settings(), format!("training {}", self.name));
        let weights = folder.join("model.safetensors");
        let taken_up = || {
            let training = finished(&folder, &settings)?;
            let network = Network::load(&weights).ok()?;
            run.told(&part, training.seconds, true);
            Some(network)
        };
        if let Some(network) = taken_up() {
            return Ok(Some(network));
        }
        if run.monitor().is_cancelled() {
            run.miss(&part);
            return Ok(None);
        }
        let Some(_claim) = run.claim(&part, &folder.join("lock"))? else { return Ok(None) };
        // Another call may have finished it between the look and the claim.
        if let Some(network) = taken_up() {
            return Ok(Some(network));
        }
        let examples = &self.train.examples;
        let mut trainer = if let Some(checkpoint) = begun(&folder, &settings) {
            Trainer::resume(&checkpoint, examples, guides, run.compute())?
        } else {
            write_bytes(&folder.join(SETTINGS), settings.to_string().as_bytes())?;
            Trainer::new(&self.untrained()?, examples, self.params.clone(), guides, run.compute())?
        };
        let checkpoint = folder.join(CHECKPOINT);
        let ending = trainer.run::<Failure>(run.monitor(), |trainer, record| {
            say(&format!("  {}: {}", self.name, told(record)));
            Ok(trainer.checkpoint().save(&checkpoint)?)
        })?;
        if ending == Ending::Stopped {
            trainer.checkpoint().save(&checkpoint)?;
            run.miss(&part);
            return Ok(None);
        }
        let network = trainer.network();
        network.save(&weights)?;
        let epochs = trainer.records().to_vec();
        let seconds = epochs.iter().map(|epoch| epoch.seconds).sum();
        let training = Training { settings, seconds, epochs };
        let text = serde_json::to_string_pretty(&training).expect("words and numbers can be written as JSON");
        write_bytes(&folder.join("training.json"), text.as_bytes())?;
        // It holds three times as much as the weights, and is of no more use.
        let _ = fs::remove_file(&checkpoint);
        run.told(&part, seconds, false);
        Ok(Some(network))
    }
}

fn told(record: &EpochRecord) -> String {
    format!(
        "epoch {}, loss {:.3}, accuracy in training {:.3}, {:.1} s",
        record.epoch, record.loss, record.accuracy, record.seconds
    )
}

fn finished(folder: &Path, settings: &Value) -> Option<Training> {
    let training: Training = serde_json::from_slice(&fs::read(folder.join("training.json")).ok()?).ok()?;
    (training.settings == *settings).then_some(training)
}

fn begun(folder: &Path, settings: &Value) -> Option<Checkpoint> {
    let of_run: Value = serde_json::from_slice(&fs::read(folder.join(SETTINGS)).ok()?).ok()?;
    if of_run != *settings {
        return None;
    }
    Checkpoint::load(&folder.join(CHECKPOINT)).ok()
}

/// An attack, as its column is called.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AttackPlan {
    pub(crate) norm: Norm,
    pub(crate) epsilon: f32,
    pub(crate) steps: usize,
    /// How far a step goes; 2.5 ε / steps where it is left out.
    pub(crate) step_size: Option<f32>,
    pub(crate) restarts: usize,
}

impl AttackPlan {
    /// L∞ with one start and the usual step.
    pub(crate) fn plain(epsilon: f32, steps: usize) -> Self {
        Self { norm: Norm::Linf, epsilon, steps, step_size: None, restarts: 1 }
    }

    /// As the paper writes it: PGD-50, 20PGD-100.
    pub(crate) fn name(&self) -> String {
        let restarts = if self.restarts == 1 { String::new() } else { self.restarts.to_string() };
        format!("{restarts}PGD-{}", self.steps)
    }

    pub(crate) fn run(
        &self,
        run: &Run,
        model: &Frozen,
        examples: &Examples,
    ) -> Result<AttackReport, Failure> {
        let climb =
            Climb { norm: self.norm, steps: self.steps, step_size: self.step_size, ..Climb::default() };
        self.with(run, model, examples, AttackParams::pgd(climb, self.restarts))
    }

    /// All attacks of `attack --attack auto`, each on what those before it left, with these steps and starts.
    pub(crate) fn run_auto(
        &self,
        run: &Run,
        model: &Frozen,
        examples: &Examples,
    ) -> Result<AttackReport, Failure> {
        let apgd = Apgd { norm: self.norm, steps: self.steps, restarts: self.restarts, ..Apgd::default() };
        let square = Square { norm: self.norm, queries: run.size(1000, 20) };
        self.with(run, model, examples, AttackParams::auto(&apgd, &square))
    }

    fn with(
        &self,
        run: &Run,
        model: &Frozen,
        examples: &Examples,
        params: AttackParams,
    ) -> Result<AttackReport, Failure> {
        let params = AttackParams { seed: run.seed(), batch: run.batch(), ..params };
        let budget = Budget::same(self.epsilon, examples.len())?;
        Ok(attack(model, examples, &budget, &params, run.monitor())?)
    }
}

/// Scores a network on images; k neighbors and r eigenpairs.
pub(crate) fn score(
    run: &Run,
    model: &Frozen,
    images: &Images,
    neighbors: usize,
    eigenpairs: usize,
) -> Result<SpadeReport, Failure> {
    let outputs = model.outputs(images.examples.samples())?;
    score_outputs(
        run,
        images,
        outputs,
        &SpadeParams::default().with_neighbors(neighbors).with_eigenpairs(eigenpairs),
    )
}

/// Scores outputs of images.
pub(crate) fn score_outputs(
    run: &Run,
    images: &Images,
    outputs: Vec<f32>,
    params: &SpadeParams,
) -> Result<SpadeReport, Failure> {
    let dim = outputs.len() / images.len();
    let outputs = Samples::from_f32(images.len(), dim, outputs)?;
    let params = params.clone().with_seed(run.seed());
    Ok(evaluate(&PairedSamples::new(images.samples()?, outputs)?, &params, run.monitor())?)
}

/// Node scores, and the k of their graphs, which may have grown until they were connected.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ImageScores {
    pub(crate) scores: Vec<f64>,
    pub(crate) neighbors_used: usize,
}

/// Node scores of images by a network, kept as a part of their own: graphs of tens of thousands of images take minutes. The
/// network goes by its name and what it depends on.
pub(crate) fn node_scores(
    run: &Run,
    network: &Network,
    (of, depends_on): (&str, &Value),
    images: &Images,
    params: &SpadeParams,
) -> Result<Option<ImageScores>, Failure> {
    let settings = json!({
        "network": depends_on, "images": images.described(), "neighbors": params.neighbors,
        "eigenpairs": params.eigenpairs, "graph": params.graph.to_string(), "seed": run.seed(),
    });
    let name = format!("node-scores/{of} on {} by {} of {}", images.name, params.graph, params.neighbors);
    run.part(&name, &settings, || {
        let model = Frozen::new(network, run.compute());
        let outputs = model.outputs(images.examples.samples())?;
        let report = score_outputs(run, images, outputs, params)?;
        Ok(ImageScores {
            scores: report.node_scores.scores().to_vec(),
            neighbors_used: report.diagnostics.connection.used,
        })
    })
}

/// Node scores by the first eigenpairs of a report alone.
pub(crate) fn node_scores_of_first(report: &SpadeReport, eigenpairs: usize) -> Vec<f64> {
    let input = report.graphs.input();
    let rows = (0..input.nodes()).flat_map(|p| report.embedding.row(p)[..eigenpairs].to_vec());
    let embedding = SpectralEmbedding::from_rows(eigenpairs, rows.collect());
    NodeScores::from_edges(input, &EdgeScores::from_embedding(input, &embedding)).scores().to_vec()
}

/// The network up to a layer.
pub(crate) fn beginning(network: &Network, end: usize) -> Result<Network, Failure> {
    let mut builder = NetworkBuilder::new(network.input_shape())?;
    for layer in &network.layers()[..=end] {
        let prefix = format!("{}.", layer.name);
        let of_layer = network.parameters().iter().filter(|parameter| parameter.name.starts_with(&prefix));
        let parameters =
            of_layer.map(|parameter| (parameter.shape.clone(), parameter.values.clone())).collect();
        builder.layer(&layer.name, layer.operation.clone(), &layer.inputs, parameters)?;
    }
    Ok(builder.finish()?)
}
