//! Table 3: adversarial training guided by node scores, on MNIST.

use spadework_nn::attack::Norm;
use spadework_nn::train::Method;

use super::Experiment;
use crate::data::Which;
use crate::failure::Failure;
use crate::guided::{Arm, Plan};
use crate::levels::training_of;
use crate::networks::AttackPlan;
use crate::record::Findings;
use crate::run::Run;

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "guided-mnist", paper: "Table 3", title: "guided adversarial training on MNIST", run };

const EPSILON: f32 = 0.4;
const SMALL_EPSILON: f32 = 0.2;
const STEP: f32 = 0.01;

fn run(run: &Run) -> Result<Findings, Failure> {
    let arm =
        |name, method, small_epsilon, paper| Arm { name, method, epsilon: EPSILON, small_epsilon, paper };
    let attack = |steps: usize, restarts: usize| AttackPlan {
        norm: Norm::Linf,
        epsilon: EPSILON,
        steps,
        // Fewer steps than the paper's could not reach the edge of the ball by its step.
        step_size: run.size(Some(STEP), None),
        restarts,
    };
    let attacks = run.size(
        vec![attack(50, 1), attack(100, 1), attack(100, 20)],
        vec![attack(5, 1), attack(10, 1), attack(10, 2)],
    );
    let mut training = training_of(run, Which::Mnist);
    training.warmup = run.size(2, 1);
    let mut findings = Plan {
        which: Which::Mnist,
        arms: vec![
            arm("vanilla 0.4", Method::Pgd, 0.0, [94.38, 76.89, 71.45, 70.23]),
            arm("random 0.2 and 0.4", Method::Random, SMALL_EPSILON, [97.81, 87.89, 84.22, 83.09]),
            arm("spade 0.2 and 0.4", Method::Spade, SMALL_EPSILON, [97.28, 91.65, 89.37, 88.46]),
        ],
        attack_names: attacks.iter().map(AttackPlan::name).collect(),
        paper_attacks: ["PGD-50", "PGD-100", "20PGD-100"],
        attacks,
        training,
        top_share: 0.75,
        scorer_epochs: run.size(5, 1),
    }
    .run(run)?;
    findings.note(
        "The paper's text says ε = 0.3 and 0.3, its table 0.2 and 0.4, which is taken here. It has 8 seeds.",
    );
    Ok(findings)
}
