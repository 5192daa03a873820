//! How a network is trained.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use spadework::random::MOST_ROUNDS;

use super::{Augmentation, OptimizerKind, Schedule};
use crate::attack::Climb;
use crate::error::named;
use crate::{Error, Result};

/// Which samples are perturbed in training, and how much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// None: the samples as they are.
    #[default]
    Standard,
    /// All within the same ε (Madry et al. 2018).
    Pgd,
    /// A larger ε for samples chosen at random, a smaller one for the rest.
    Random,
    /// A larger ε for the samples with the highest node scores, a smaller one for the rest.
    Spade,
    /// All within the same ε, weighted by how soon they are broken (GAIRAT, Zhang et al. 2021).
    Gairat,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 5] = [Self::Standard, Self::Pgd, Self::Random, Self::Spade, Self::Gairat];

    /// The word that is typed for it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Standard => "standard",
            Method::Pgd => "pgd",
            Method::Random => "random",
            Method::Spade => "spade",
            Method::Gairat => "gairat",
        }
    }

    /// Whether some samples get another ε than others.
    pub fn is_mixed(self) -> bool {
        matches!(self, Method::Random | Method::Spade)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        named("method", text, &Self::ALL, Self::name)
    }
}

/// Everything that a training run depends on, except data and networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainParams {
    /// The training method.
    pub method: Method,
    /// Passes over the data.
    pub epochs: usize,
    /// Samples of one step.
    pub batch: usize,
    /// The learning rate, before the schedule.
    pub learning_rate: f32,
    /// How it changes.
    pub schedule: Schedule,
    /// How weights follow their gradients.
    pub optimizer: OptimizerKind,
    /// How much weights shrink.
    pub weight_decay: f32,
    /// What is done to the images.
    pub augmentation: Augmentation,
    /// How samples are perturbed.
    pub climb: Climb,
    /// Size of the perturbations; for mixed methods, the larger one.
    pub epsilon: f32,
    /// For mixed methods: size of the perturbations of the other samples.
    pub small_epsilon: f32,
    /// For mixed methods: how many samples get the larger ε.
    pub top: usize,
    /// Epochs of standard training before the method begins.
    pub warmup: usize,
    /// Epochs after the warm-up in which ε grows from 0 to its final size. Small networks that are trained against a large ε
    /// from the first step on end with one answer for all samples.
    #[serde(default)]
    pub growth: usize,
    /// For mixed methods: after how many epochs the samples are chosen again.
    pub rescore: Option<usize>,
    /// Whether samples that are already misclassified are not perturbed.
    pub skip_misclassified: bool,
    /// What the outputs are divided by before the softmax.
    pub temperature: f32,
    /// Neighbors of the graphs that samples are scored by.
    pub neighbors: usize,
    /// Eigenpairs that samples are scored by.
    pub eigenpairs: usize,
    /// Seed of everything that is drawn.
    pub seed: u64,
}

impl Default for TrainParams {
    fn default() -> Self {
        Self {
            method: Method::Standard,
            epochs: 10,
            batch: 128,
            learning_rate: 1e-3,
            schedule: Schedule::Constant,
            optimizer: OptimizerKind::Adam,
            weight_decay: 0.0,
            augmentation: Augmentation::default(),
            climb: Climb { steps: 7, ..Climb::default() },
            epsilon: 0.0,
            small_epsilon: 0.0,
            top: 0,
            warmup: 0,
            growth: 0,
            rescore: None,
            skip_misclassified: false,
            temperature: 1.0,
            neighbors: 10,
            eigenpairs: 2,
            seed: 0,
        }
    }
}

impl TrainParams {
    /// Checks the values, by themselves and with the number and shape of the samples.
    ///
    /// # Errors
    /// When one is outside its range.
    pub fn check_for(&self, samples: usize, shape: &[usize]) -> Result<()> {
        for (name, value) in [("epochs", self.epochs), ("the batch", self.batch)] {
            if value == 0 {
                return Err(Error::parameter(name, "at least 1", value));
            }
        }
        if self.epochs as u64 > MOST_ROUNDS {
            return Err(Error::parameter("epochs", "at most 1,048,576", self.epochs));
        }
        let positive = [("the learning rate", self.learning_rate), ("the temperature", self.temperature)];
        for (name, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::parameter(name, "positive", value));
            }
        }
        let rest = [
            ("weight decay", self.weight_decay),
            ("epsilon", self.epsilon),
            ("the small epsilon", self.small_epsilon),
        ];
        for (name, value) in rest {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::parameter(name, "zero or positive", value));
            }
        }
        self.optimizer.check()?;
        self.schedule.check()?;
        self.augmentation.check(shape)?;
        self.check_method(samples)
    }

    fn check_method(&self, samples: usize) -> Result<()> {
        if self.method == Method::Standard {
            return Ok(());
        }
        self.climb.check()?;
        if self.epsilon == 0.0 {
            return Err(Error::parameter("epsilon", "positive for this method", self.epsilon));
        }
        if !self.method.is_mixed() {
            return Ok(());
        }
        if self.small_epsilon > self.epsilon {
            return Err(Error::parameter("the small epsilon", "at most epsilon", self.small_epsilon));
        }
        if self.top == 0 || self.top > samples {
            return Err(Error::parameter("top", "from 1 to the number of samples", self.top));
        }
        if self.rescore == Some(0) {
            return Err(Error::parameter("rescore", "at least 1", 0));
        }
        Ok(())
    }
}
