//! Table 4: adversarial training guided by node scores, on CIFAR-10.

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

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "guided-cifar",
    paper: "Table 4",
    title: "guided adversarial training on CIFAR-10",
    run,
};

/// A step of pixels.
const PIXEL: f32 = 1.0 / 255.0;

fn run(run: &Run) -> Result<Findings, Failure> {
    let arm = |name, method, epsilon: f32, small: f32, paper| Arm {
        name,
        method,
        epsilon: epsilon * PIXEL,
        small_epsilon: small * PIXEL,
        paper,
    };
    let attack = |epsilon: f32| AttackPlan {
        norm: Norm::Linf,
        epsilon: epsilon * PIXEL,
        steps: run.size(50, 5),
        step_size: Some(2.0 * PIXEL),
        restarts: run.size(10, 1),
    };
    let attacks: Vec<AttackPlan> = [2.0, 4.0, 8.0].into_iter().map(attack).collect();
    let attack_names =
        attacks.iter().zip([2, 4, 8]).map(|(attack, pixels)| format!("{} at {pixels}/255", attack.name()));
    let mut findings = Plan {
        which: Which::Cifar10,
        arms: vec![
            arm("vanilla 8", Method::Pgd, 8.0, 0.0, [81.57, 75.28, 67.92, 50.35]),
            arm("vanilla 12", Method::Pgd, 12.0, 0.0, [76.93, 71.41, 65.58, 51.62]),
            arm("vanilla 14", Method::Pgd, 14.0, 0.0, [75.12, 70.12, 64.64, 51.79]),
            arm("random 12 and 14", Method::Random, 14.0, 12.0, [76.09, 70.87, 65.73, 51.77]),
            arm("spade 12 and 14", Method::Spade, 14.0, 12.0, [81.38, 75.74, 69.19, 53.61]),
        ],
        attack_names: attack_names.collect(),
        paper_attacks: ["10PGD-50 at 2/255", "10PGD-50 at 4/255", "10PGD-50 at 8/255"],
        attacks,
        training: training_of(run, Which::Cifar10),
        top_share: 0.9,
        scorer_epochs: run.size(10, 1),
    }
    .run(run)?;
    findings.note(
        "The paper skips misclassified samples in its own arm alone, which by itself raises clean accuracy; here all arms skip \
         them or none. Samples are scored with k = 10, as the authors' code does (the paper's text says 100).",
    );
    Ok(findings)
}
