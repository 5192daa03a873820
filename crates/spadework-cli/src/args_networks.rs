//! What a user may type about networks: `train`, `attack` and `clever`.
//!
//! These are known in every build, so that the help is the same; what they do needs the feature `networks`.
#![cfg_attr(
    not(feature = "networks"),
    allow(dead_code, reason = "read by the commands of the feature `networks`")
)]

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use spadework_probe::parse_radius;

use crate::args::{TerminalArgs, text, threads};

/// The size of a perturbation, as `--probe` reads it.
fn radius(text: &str) -> Result<f32, String> {
    let radius = parse_radius(text).map(|radius| radius as f32).filter(|radius| radius.is_finite());
    radius.ok_or_else(|| "expected a number such as 0.1 or a fraction such as 8/255".to_owned())
}

/// What networks run on, and what is said meanwhile.
#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    /// What to compute on: cpu; in a build with the feature `libtorch` also torch, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu", help_heading = "Machine")]
    pub(crate) device: String,
    /// Threads to use; all cores by default. The result does not depend on it
    #[arg(long, value_name = "N", value_parser = threads, help_heading = "Machine")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}

/// A network and the samples it is judged on.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct JudgedArgs {
    /// The network: .onnx, .safetensors with its .json next to it, or a folder that `spadework train` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) model: PathBuf,
    /// Samples, with values from 0 to 1
    #[arg(long, value_name = "ARRAY", value_parser = text())]
    pub(crate) inputs: String,
    /// One integer per sample; data sets by name include them
    #[arg(long, value_name = "ARRAY", value_parser = text())]
    pub(crate) labels: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AttackKind {
    /// Projected gradient descent
    Pgd,
    /// The fast gradient sign method: one step of the whole epsilon from the sample itself
    Fgsm,
    /// Projected gradient descent that chooses its steps (Croce and Hein)
    Apgd,
    /// The same toward each of the most likely other classes, by the targeted DLR loss
    ApgdT,
    /// A random search that needs only outputs (Andriushchenko et al.)
    Square,
    /// apgd by cross-entropy and by DLR, apgd-t and square, each on the samples that the earlier ones did not break
    Auto,
}

impl AttackKind {
    /// The word that is typed for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            AttackKind::Pgd => "pgd",
            AttackKind::Fgsm => "fgsm",
            AttackKind::Apgd => "apgd",
            AttackKind::ApgdT => "apgd-t",
            AttackKind::Square => "square",
            AttackKind::Auto => "auto",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NormName {
    /// The largest change of any value
    Linf,
    /// The root of the sum of squares
    L2,
    /// The sum of magnitudes (clever only)
    L1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LossName {
    /// −log of the probability of the true class
    CrossEntropy,
    /// The largest other output minus that of the true class (Carlini and Wagner)
    Margin,
    /// The margin as a share of the largest output minus the third: the difference of logits ratio (Croce and Hein)
    Dlr,
}

#[derive(Debug, Args)]
pub(crate) struct AttackArgs {
    #[command(flatten)]
    pub(crate) judged: JudgedArgs,
    /// Only the first N samples
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// Which attack
    #[arg(long, value_enum, value_name = "ATTACK", default_value_t = AttackKind::Pgd, help_heading = "Attack")]
    pub(crate) attack: AttackKind,
    /// Size of the perturbations, e.g. 0.1 or 8/255
    #[arg(
        long,
        value_name = "EPSILON",
        required_unless_present = "eps_each",
        allow_negative_numbers = true,
        value_parser = radius,
        help_heading = "Attack"
    )]
    pub(crate) eps: Option<f32>,
    /// Size of the perturbation of each sample: one number per sample
    #[arg(long, value_name = "ARRAY", conflicts_with = "eps", help_heading = "Attack")]
    pub(crate) eps_each: Option<String>,
    /// The norm of epsilon
    #[arg(long, value_enum, value_name = "NORM", default_value_t = NormName::Linf, help_heading = "Attack")]
    pub(crate) norm: NormName,
    /// For pgd, fgsm and apgd: the loss to maximize [default: cross-entropy]
    #[arg(long, value_enum, value_name = "LOSS", help_heading = "Attack")]
    pub(crate) loss: Option<LossName>,
    /// Gradient steps from each start [default: 40; 1 for fgsm; 100 for apgd, apgd-t and auto]
    #[arg(long, value_name = "N", help_heading = "Attack")]
    pub(crate) steps: Option<usize>,
    /// For pgd and fgsm: length of a step [default: 2.5 epsilon / steps; epsilon if there is one step]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = radius, help_heading = "Attack")]
    pub(crate) step_size: Option<f32>,
    /// Starts of a gradient attack; a sample must survive all of them
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Attack")]
    pub(crate) restarts: usize,
    /// For pgd: begin at the sample itself rather than at a random point near it
    #[arg(long, help_heading = "Attack")]
    pub(crate) no_random_start: bool,
    /// For apgd-t and auto: how many of the most likely other classes to aim at [default: 9]
    #[arg(long, value_name = "N", help_heading = "Attack")]
    pub(crate) targets: Option<usize>,
    /// For square and auto: runs of the network per sample [default: 5000]
    #[arg(long, value_name = "N", help_heading = "Attack")]
    pub(crate) queries: Option<usize>,
    /// Seed of the starts and of random moves
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Attack")]
    pub(crate) seed: u64,
    /// Samples that are attacked at once
    #[arg(long, alias = "batch", value_name = "N", default_value_t = 250, help_heading = "Machine")]
    pub(crate) batch_size: usize,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Write result.json and samples.csv (the outcome of each sample) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CleverArgs {
    #[command(flatten)]
    pub(crate) judged: JudgedArgs,
    /// Node scores, one per sample (nodes.csv:score or :fragility); the --top highest are scored
    #[arg(long, value_name = "ARRAY", help_heading = "Which samples", conflicts_with_all = ["random", "only"])]
    pub(crate) node_scores: Option<String>,
    /// How many of the highest node scores
    #[arg(
        long,
        value_name = "N",
        default_value = "10",
        requires = "node_scores",
        help_heading = "Which samples"
    )]
    pub(crate) top: NonZeroUsize,
    /// Score N random samples [default: 10 without --node-scores and --only]
    #[arg(long, value_name = "N", help_heading = "Which samples", conflicts_with = "only")]
    pub(crate) random: Option<NonZeroUsize>,
    /// Score these samples, counted from 0, separated by commas
    #[arg(
        long,
        alias = "ids",
        value_name = "INDICES",
        value_delimiter = ',',
        help_heading = "Which samples"
    )]
    pub(crate) only: Vec<usize>,
    /// The norm of perturbations
    #[arg(long, value_enum, value_name = "NORM", default_value_t = NormName::L2, help_heading = "Method")]
    pub(crate) norm: NormName,
    /// The radius of the ball, e.g. 5 or 8/255; no score is larger
    #[arg(
        long,
        value_name = "RADIUS",
        default_value_t = 5.0,
        allow_negative_numbers = true,
        value_parser = radius,
        help_heading = "Method"
    )]
    pub(crate) radius: f32,
    /// Batches; each gives one maximum to the fit
    #[arg(long, value_name = "N", default_value_t = 500, help_heading = "Method")]
    pub(crate) batches: usize,
    /// Points per batch
    #[arg(long, alias = "samples", value_name = "N", default_value_t = 1024, help_heading = "Method")]
    pub(crate) points: usize,
    /// Points that batches are drawn from, as a multiple of --points
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Method")]
    pub(crate) pool: usize,
    /// The class to reach [default: the nearest of all others]
    #[arg(long, value_name = "CLASS", help_heading = "Method")]
    pub(crate) target: Option<usize>,
    /// Seed of points, batches and random samples
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Method")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Write result.json and samples.csv (the score of each sample) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodName {
    /// The unperturbed samples
    Standard,
    /// All within the same epsilon
    Pgd,
    /// A larger epsilon for random samples
    Random,
    /// A larger epsilon for the samples with the highest node scores
    Spade,
    /// The same epsilon, samples weighted by how soon they break
    Gairat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OptimizerName {
    Adam,
    Sgd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScheduleName {
    /// The same throughout
    Constant,
    /// Up from zero and down again
    Cyclic,
    /// Divided by ten at each of --milestones
    MultiStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AugmentName {
    /// Shift by up to 4 pixels
    Crop,
    /// Mirror half of the images
    Flip,
    /// Mix with chains of simple changes
    Augmix,
}

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// The network: lenet5, conv2, mlp[:HIDDEN], cnn7, resnet18, resnet20, tanh[:WIDTHxDEPTH], relu[:WIDTHxDEPTH], or the file of
    /// a trained network to continue with
    #[arg(long, value_name = "MODEL", required_unless_present = "resume", help_heading = "Data")]
    pub(crate) model: Option<String>,
    /// What to train on; mnist:DIR, fashion-mnist:DIR and cifar10:DIR include the test set
    #[arg(
        long,
        value_name = "ARRAY",
        value_parser = text(),
        required_unless_present = "resume",
        help_heading = "Data"
    )]
    pub(crate) data: Option<String>,
    /// One integer per sample; data sets by name include them
    #[arg(long, value_name = "ARRAY", value_parser = text(), help_heading = "Data")]
    pub(crate) labels: Option<String>,
    /// Samples to test on after each epoch
    #[arg(long, value_name = "ARRAY", value_parser = text(), help_heading = "Data")]
    pub(crate) test: Option<String>,
    /// Classes of the test samples, if the data have none
    #[arg(long, value_name = "ARRAY", requires = "test", help_heading = "Data")]
    pub(crate) test_labels: Option<String>,
    /// Train on the first N samples only
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// Let the network normalize its inputs by the mean and standard deviation of the training data
    #[arg(long, alias = "normalize", help_heading = "Data")]
    pub(crate) normalize_by_data: bool,

    /// Training method: which samples are perturbed, and how much
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = MethodName::Standard, help_heading = "Method")]
    pub(crate) method: MethodName,
    /// Size of the perturbations; for random and spade, the larger one
    #[arg(long, value_name = "EPSILON", allow_negative_numbers = true, value_parser = radius, help_heading = "Method")]
    pub(crate) eps: Option<f32>,
    /// For random and spade: size of the perturbations of the other samples
    #[arg(long, value_name = "EPSILON", allow_negative_numbers = true, value_parser = radius, help_heading = "Method")]
    pub(crate) small_eps: Option<f32>,
    /// For random and spade: how many samples get the larger epsilon
    #[arg(long, value_name = "N", help_heading = "Method")]
    pub(crate) top: Option<usize>,
    /// For spade: node scores, one per sample (nodes.csv:score or :fragility), instead of computing them
    #[arg(long, value_name = "ARRAY", conflicts_with = "scorer", help_heading = "Method")]
    pub(crate) node_scores: Option<String>,
    /// For spade: a trained network that scores the samples
    #[arg(long, value_name = "FILE", help_heading = "Method")]
    pub(crate) scorer: Option<PathBuf>,
    /// Epochs of standard training first [default: 2 for spade without scores or scorer, otherwise 0]
    #[arg(long, value_name = "EPOCHS", help_heading = "Method")]
    pub(crate) warmup: Option<usize>,
    /// Epochs after the warm-up in which epsilon grows to its final size; helps small networks with a large epsilon
    #[arg(long, value_name = "EPOCHS", default_value_t = 0, help_heading = "Method")]
    pub(crate) growth: usize,
    /// For random and spade: choose the samples again after this many epochs
    #[arg(long, value_name = "EPOCHS", help_heading = "Method")]
    pub(crate) rescore: Option<usize>,
    /// Do not perturb samples that are already misclassified
    #[arg(long, help_heading = "Method")]
    pub(crate) skip_misclassified: bool,
    /// The norm of epsilon
    #[arg(long, value_enum, value_name = "NORM", default_value_t = NormName::Linf, help_heading = "Method")]
    pub(crate) norm: NormName,
    /// Gradient steps of each perturbation
    #[arg(long, value_name = "N", default_value_t = 7, help_heading = "Method")]
    pub(crate) steps: usize,
    /// Length of a step [default: 2.5 epsilon / steps]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = radius, help_heading = "Method")]
    pub(crate) step_size: Option<f32>,
    /// Neighbors per sample, k, of the graphs that samples are scored by
    #[arg(long, short = 'k', value_name = "K", default_value_t = 10, help_heading = "Method")]
    pub(crate) neighbors: usize,
    /// Eigenpairs that samples are scored by
    #[arg(long, short = 'r', value_name = "R", default_value_t = 2, help_heading = "Method")]
    pub(crate) eigenpairs: usize,
    /// A trained network whose probabilities are the targets: distillation
    #[arg(long, value_name = "FILE", help_heading = "Method")]
    pub(crate) teacher: Option<PathBuf>,
    /// Temperature: outputs are divided by it before the softmax, for distillation
    #[arg(
        long,
        value_name = "T",
        default_value_t = 1.0,
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    pub(crate) temperature: f32,

    /// Passes over the data
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Optimization")]
    pub(crate) epochs: usize,
    /// Samples per step
    #[arg(long, alias = "batch", value_name = "N", default_value_t = 128, help_heading = "Optimization")]
    pub(crate) batch_size: usize,
    /// Optimizer
    #[arg(long, value_enum, value_name = "NAME", default_value_t = OptimizerName::Adam, help_heading = "Optimization")]
    pub(crate) optimizer: OptimizerName,
    /// The learning rate [default: 0.001 for adam, 0.1 for sgd]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, help_heading = "Optimization")]
    pub(crate) learning_rate: Option<f32>,
    /// How the learning rate changes
    #[arg(long, value_enum, value_name = "NAME", default_value_t = ScheduleName::Constant, help_heading = "Optimization")]
    pub(crate) schedule: ScheduleName,
    /// Epochs at which a multi-step rate drops, separated by commas
    #[arg(
        long,
        value_name = "EPOCHS",
        value_delimiter = ',',
        required_if_eq("schedule", "multi-step"),
        help_heading = "Optimization"
    )]
    pub(crate) milestones: Vec<usize>,
    /// For sgd: momentum, the share of the previous step
    #[arg(
        long,
        value_name = "FRACTION",
        default_value_t = 0.9,
        allow_negative_numbers = true,
        help_heading = "Optimization"
    )]
    pub(crate) momentum: f32,
    /// Weight decay
    #[arg(
        long,
        value_name = "RATE",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        help_heading = "Optimization"
    )]
    pub(crate) weight_decay: f32,
    /// What is done to the images, separated by commas
    #[arg(long, value_enum, value_name = "CHANGES", value_delimiter = ',', help_heading = "Optimization")]
    pub(crate) augment: Vec<AugmentName>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Optimization")]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Write model.onnx, model.safetensors, log.csv and checkpoints into this folder
    #[arg(long, value_name = "DIR", required_unless_present = "resume", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Continue a stopped run in this folder, with the options it began with
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["model", "data", "out", "labels", "test", "limit", "normalize_by_data", "node_scores", "scorer", "teacher"],
        help_heading = "Output"
    )]
    pub(crate) resume: Option<PathBuf>,
}
