//! An attacked network as a document: what `attack --json` prints.

use serde::Serialize;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.attack/1";

/// What an attack found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttackDocument<'a> {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The network.
    pub model: String,
    /// The inputs, as the user named them.
    pub inputs: &'a str,
    /// Number of samples.
    pub samples: usize,
    /// Share of the samples that are classified correctly.
    pub clean_accuracy: f64,
    /// Share of the samples that stay correct under the attack.
    pub robust_accuracy: f64,
    /// Samples that were correct and that the attack broke.
    pub broken: usize,
    /// `pgd`, `fgsm`, `apgd`, `apgd-t`, `square` or `auto`.
    pub attack: &'static str,
    /// The attacks that were run, in order, each on the samples that the earlier ones did not break.
    pub stages: Vec<AttackStage>,
    /// `linf` or `l2`.
    pub norm: &'static str,
    /// What the attack increases; for `auto`, what its attacks increase, separated by commas.
    pub loss: String,
    /// Smallest and largest size; the same number twice unless sizes were given per sample.
    pub epsilon: [f32; 2],
    /// Gradient steps per start; 0 for `square`.
    pub steps: usize,
    /// Length of a step; null if it follows from the size and the steps.
    pub step_size: Option<f32>,
    /// Number of starts.
    pub restarts: usize,
    /// Whether starts are random.
    pub random_start: bool,
    /// Classes that `apgd-t` and `auto` aim at, at most; 0 for other attacks.
    pub targets: usize,
    /// Queries per sample of `square` and `auto`, at most; 0 for other attacks.
    pub queries: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Version of the program that wrote it.
    pub version: &'static str,
}

/// One attack of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttackStage {
    /// `pgd`, `apgd`, `apgd-dlr`, `apgd-margin`, `apgd-t` or `square`.
    pub attack: &'static str,
    /// Samples that it broke.
    pub broken: usize,
}
