//! The loop over epochs and batches.

use std::time::Instant;

use burn_tensor::{Int, Tensor, TensorData, activation};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use spadework::Monitor;
use spadework::monitor::Stage;

use super::adversary::{Victims, gairat_weights, perturb};
use super::checkpoint::Checkpoint;
use super::optimizer::Optimizer;
use super::trainee::{Targets, Trainee};
use super::{Method, TrainParams, guide};
use crate::attack::{class_column, predicted};
use crate::data::Examples;
use crate::device::Compute;
use crate::network::{Frozen, Network, to_host};
use crate::random::{Purpose, permutation, stream};
use crate::{Error, Result};

/// Optional inputs of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Guides<'a> {
    /// A trained network whose outputs score the samples; by default the one in training.
    pub scorer: Option<&'a Frozen>,
    /// Node scores from elsewhere, one per sample, in place of a scorer.
    pub node_scores: Option<&'a [f64]>,
    /// A network whose probabilities are the targets in place of the classes: distillation.
    pub teacher: Option<&'a Frozen>,
    /// Samples that the network is tested on after each epoch.
    pub test: Option<&'a Examples>,
}

/// The results of an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// From 1.
    pub epoch: usize,
    /// The learning rate of its last batch.
    pub learning_rate: f64,
    /// The mean loss on what the network was trained on.
    pub loss: f64,
    /// The accuracy on what the network was trained on, before each step.
    pub accuracy: f64,
    /// The accuracy on the test samples, if there are any.
    pub test_accuracy: Option<f64>,
    /// Wall time of the steps.
    pub seconds: f64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All epochs are done.
    Finished,
    /// The monitor asked to stop, between two batches.
    Stopped,
}

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) epoch: usize,
    pub(super) batch: usize,
    pub(super) loss_sum: f64,
    pub(super) correct: usize,
    pub(super) seconds: f64,
    pub(super) records: Vec<EpochRecord>,
}

/// A run of training.
#[derive(Debug)]
pub struct Trainer<'a> {
    examples: &'a Examples,
    guides: Guides<'a>,
    params: TrainParams,
    trainee: Trainee,
    optimizer: Optimizer,
    progress: Progress,
    /// How far each sample may be moved in this epoch.
    epsilons: Vec<f32>,
}

impl<'a> Trainer<'a> {
    /// A run from its beginning.
    ///
    /// # Errors
    /// When parameters, data, network and guides do not fit each other.
    pub fn new(
        network: &Network,
        examples: &'a Examples,
        params: TrainParams,
        guides: Guides<'a>,
        compute: &Compute,
    ) -> Result<Self> {
        let optimizer = Optimizer::new(params.optimizer, params.weight_decay);
        let trainer = Self {
            examples,
            guides,
            trainee: Trainee::new(network, compute),
            optimizer,
            progress: Progress::default(),
            epsilons: vec![0.0; examples.len()],
            params,
        };
        trainer.check()?;
        Ok(trainer)
    }

    /// A run from where a checkpoint left it.
    ///
    /// # Errors
    /// When the checkpoint was made with other data, or the guides do not fit.
    pub fn resume(
        checkpoint: &Checkpoint,
        examples: &'a Examples,
        guides: Guides<'a>,
        compute: &Compute,
    ) -> Result<Self> {
        checkpoint.check_data(examples)?;
        let trainer = Self {
            examples,
            guides,
            params: checkpoint.params.clone(),
            trainee: Trainee::new(&checkpoint.network, compute),
            optimizer: checkpoint.optimizer(compute),
            progress: checkpoint.progress.clone(),
            epsilons: checkpoint.epsilons.clone(),
        };
        trainer.check()?;
        Ok(trainer)
    }

    fn check(&self) -> Result<()> {
        let network = self.trainee.network();
        self.params.check_for(self.examples.len(), network.input_shape())?;
        if self.params.method != Method::Standard {
            self.examples.check_box()?;
        }
        let unguided = self.guides.node_scores.is_none() && self.guides.scorer.is_none();
        if self.params.method == Method::Spade && unguided && self.params.warmup == 0 {
            let expected =
                "scored by a trained network, so there must be one, or node scores, or epochs of warm-up";
            return Err(Error::parameter("samples", expected, "none of them"));
        }
        if let Some(scores) = self.guides.node_scores {
            if scores.len() != self.examples.len() {
                let expected = self.examples.len();
                return Err(Error::Count { what: "node scores", expected, got: scores.len() });
            }
            if self.params.rescore.is_some() {
                return Err(Error::parameter("rescore", "left out where node scores are given", "both"));
            }
        }
        for other in [self.guides.scorer, self.guides.teacher].into_iter().flatten() {
            let (expected, got) = (network.input_size(), other.input_size());
            if expected != got {
                return Err(Error::InputSize { expected, shape: network.input_shape().to_vec(), got });
            }
        }
        if self.guides.teacher.is_some() && self.params.method == Method::Gairat {
            return Err(Error::parameter("a teacher", "left out of gairat, which weighs classes", "both"));
        }
        match self.guides.teacher.map(Frozen::classes) {
            Some(got) if got != network.outputs() => {
                Err(Error::Count { what: "outputs of the teacher", expected: network.outputs(), got })
            }
            _ => Ok(()),
        }
    }

    /// What is trained on.
    pub fn examples(&self) -> &Examples {
        self.examples
    }

    /// How it is trained.
    pub fn params(&self) -> &TrainParams {
        &self.params
    }

    /// Epochs that are done.
    pub fn records(&self) -> &[EpochRecord] {
        &self.progress.records
    }

    /// How far each sample may be moved now.
    pub fn epsilons(&self) -> &[f32] {
        &self.epsilons
    }

    /// The network as it is now, for evaluation.
    pub fn frozen(&self) -> Frozen {
        self.trainee.frozen()
    }

    /// The network as it is now, as plain values.
    pub fn network(&self) -> Network {
        self.trainee.current()
    }

    /// Everything that is needed to resume.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint::new(
            self.network(),
            self.examples,
            &self.params,
            &self.optimizer,
            &self.progress,
            &self.epsilons,
        )
    }

    /// Trains until all epochs are done or the monitor asks to stop; `after_epoch` is called with the trainer and the
    /// results of the epoch.
    ///
    /// # Errors
    /// When samples cannot be scored, the loss is no longer finite, or `after_epoch` fails.
    pub fn run<E: From<Error>>(
        &mut self,
        monitor: &dyn Monitor,
        mut after_epoch: impl FnMut(&Self, &EpochRecord) -> Result<(), E>,
    ) -> Result<Ending, E> {
        while self.progress.epoch < self.params.epochs {
            let record = match self.epoch(monitor) {
                Err(Error::Cancelled) => return Ok(Ending::Stopped),
                other => other?,
            };
            after_epoch(self, &record)?;
        }
        Ok(Ending::Finished)
    }

    /// One epoch, or the rest of one.
    fn epoch(&mut self, monitor: &dyn Monitor) -> Result<EpochRecord> {
        if self.progress.batch == 0 {
            self.set_budget(monitor)?;
        }
        monitor.begin(Stage::Named("training"));
        let epoch = self.progress.epoch;
        let order = permutation(
            &mut stream(self.params.seed, Purpose::Shuffle, epoch as u64, 0),
            self.examples.len(),
        );
        let batches = self.batches();
        let mut rate = self.rate();
        for places in order.chunks(self.params.batch).skip(self.progress.batch) {
            if monitor.is_cancelled() {
                return Err(Error::Cancelled);
            }
            rate = self.rate();
            let began = Instant::now();
            self.step(places, rate as f32)?;
            self.progress.seconds += began.elapsed().as_secs_f64();
            self.progress.batch += 1;
            monitor.progress(self.progress.batch as u64, batches as u64);
        }
        self.close_epoch(rate)
    }

    fn close_epoch(&mut self, learning_rate: f64) -> Result<EpochRecord> {
        let test_accuracy = self.guides.test.map(|test| self.frozen().accuracy(test)).transpose()?;
        let (progress, count) = (&mut self.progress, self.examples.len() as f64);
        let record = EpochRecord {
            epoch: progress.epoch + 1,
            learning_rate,
            loss: progress.loss_sum / count,
            accuracy: progress.correct as f64 / count,
            test_accuracy,
            seconds: progress.seconds,
        };
        let mut records = std::mem::take(&mut progress.records);
        records.push(record.clone());
        *progress = Progress { epoch: progress.epoch + 1, records, ..Progress::default() };
        Ok(record)
    }

    /// Batches of an epoch.
    fn batches(&self) -> usize {
        self.examples.len().div_ceil(self.params.batch)
    }

    /// Epochs that are done, and the part of the one that is on its way.
    fn epochs_done(&self) -> f64 {
        self.progress.epoch as f64 + self.progress.batch as f64 / self.batches() as f64
    }

    /// The learning rate of the next batch.
    fn rate(&self) -> f64 {
        let factor = self.params.schedule.factor(self.epochs_done(), self.params.epochs);
        f64::from(self.params.learning_rate) * factor
    }

    /// The part of its ε that the next batch is moved by.
    fn grown(&self) -> f32 {
        if self.params.growth == 0 {
            return 1.0;
        }
        let since = self.epochs_done() - self.params.warmup as f64;
        (since / self.params.growth as f64).clamp(0.0, 1.0) as f32
    }

    /// How far each sample may be moved in the epoch that begins.
    fn set_budget(&mut self, monitor: &dyn Monitor) -> Result<()> {
        let (params, samples, epoch) = (&self.params, self.examples.len(), self.progress.epoch);
        let Some(since) = epoch.checked_sub(params.warmup) else {
            self.epsilons = vec![0.0; samples];
            return Ok(());
        };
        let anew = since == 0 || params.rescore.is_some_and(|every| since % every == 0);
        self.epsilons = match params.method {
            Method::Standard => vec![0.0; samples],
            Method::Pgd | Method::Gairat => vec![params.epsilon; samples],
            Method::Random | Method::Spade if !anew => return Ok(()),
            Method::Random => guide::mixed(params, samples, &guide::at_random(params, samples, since as u64)),
            Method::Spade => {
                let own;
                let scores = if let Some(given) = self.guides.node_scores {
                    given
                } else {
                    let trained = self.trainee.frozen();
                    let scorer = self.guides.scorer.filter(|_| since == 0).unwrap_or(&trained);
                    own = guide::node_scores(scorer, self.examples, params, monitor)?;
                    &own
                };
                guide::mixed(params, samples, &guide::highest(scores, params.top))
            }
        };
        Ok(())
    }

    /// One batch: change the images, perturb them, learn.
    fn step(&mut self, places: &[usize], rate: f32) -> Result<()> {
        let frozen = self.trainee.frozen();
        let classes: Vec<usize> = places.iter().map(|&place| self.examples.labels()[place]).collect();
        let labels = class_column(&classes, self.trainee.device());
        let clean = frozen.rows(&self.batch_of_images(places));
        let (rows, weights) = self.defended(&frozen, clean, &labels, &classes, places);
        let targets = match (self.guides.teacher, weights) {
            (Some(teacher), _) => {
                Targets::Soft(activation::softmax(teacher.forward(rows.clone()) / self.params.temperature, 1))
            }
            (None, Some(weights)) => Targets::Weighted(Box::new((labels, weights))),
            (None, None) => Targets::Classes(labels),
        };
        let (loss, outputs) =
            self.trainee.learn(rows, targets, self.params.temperature, &mut self.optimizer, rate);
        if !loss.is_finite() {
            let (epoch, batch) = (self.progress.epoch + 1, self.progress.batch + 1);
            return Err(Error::Diverged { epoch, batch });
        }
        let width = outputs.len() / places.len();
        self.progress.loss_sum += f64::from(loss) * places.len() as f64;
        self.progress.correct +=
            outputs.chunks(width).zip(&classes).filter(|(row, class)| predicted(row) == **class).count();
        Ok(())
    }

    /// The images of a batch, changed as asked.
    fn batch_of_images(&self, places: &[usize]) -> Vec<f32> {
        let shape = self.trainee.network().input_shape();
        let (params, epoch) = (&self.params, self.progress.epoch as u64);
        let changed = |&place: &usize| {
            let mut image = self.examples.sample(place).to_vec();
            let mut rng = stream(params.seed, Purpose::Augment, epoch, place as u64);
            params.augmentation.apply(&mut image, shape, &mut rng);
            image
        };
        let images: Vec<Vec<f32>> = places.par_iter().map(changed).collect();
        images.concat()
    }

    /// The batch that is learned from, and GAIRAT's weights where it is the method.
    fn defended(
        &self,
        frozen: &Frozen,
        clean: Tensor<2>,
        labels: &Tensor<2, Int>,
        classes: &[usize],
        places: &[usize],
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        let params = &self.params;
        let grown = self.grown();
        let mut radius: Vec<f32> = places.iter().map(|&place| grown * self.epsilons[place]).collect();
        if radius.iter().all(|&radius| radius == 0.0) {
            return (clean, None);
        }
        if params.skip_misclassified {
            let outputs = to_host(frozen.forward(clean.clone()));
            let width = outputs.len() / places.len();
            for ((radius, row), &class) in radius.iter_mut().zip(outputs.chunks(width)).zip(classes) {
                if predicted(row) != class {
                    *radius = 0.0;
                }
            }
        }
        let victims = Victims { rows: clean, labels: labels.clone(), classes, radius: &radius, places };
        let weighted = params.method == Method::Gairat;
        let round = self.progress.epoch as u64;
        let perturbed = perturb(frozen, &victims, &params.climb, params.seed, round, weighted);
        let weights = weighted.then(|| {
            let weights = gairat_weights(&perturbed.held, params.climb.steps);
            Tensor::from_data(TensorData::new(weights, [places.len(), 1]), self.trainee.device())
        });
        (perturbed.rows, weights)
    }
}
