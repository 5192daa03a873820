//! The figure of A.11: GAIRAT's weights of the samples that node scores call the most robust, compared with random ones.

use serde::{Deserialize, Serialize};
use serde_json::json;
use spadework::scores::Contrast;
use spadework_nn::train::gairat_weight;
use spadework_nn::{Frozen, highest, random_places};
use spadework_report::figures::bars;

use super::Experiment;
use crate::data::{Images, STAND_IN, Which};
use crate::failure::Failure;
use crate::levels::{LevelNetwork, networks};
use crate::networks::{AttackPlan, score};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::spearman;
use crate::table::{Spread, Table, range, spread};

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "gairat", paper: "Figure of A.11", title: "GAIRAT's weights of robust samples", run };

/// Samples of each group.
const GROUP: usize = 50;
/// GAIRAT counts the steps of an attack of this size.
const EPSILON: f32 = 0.3;
const STEPS: usize = 10;

#[derive(Debug, Serialize, Deserialize)]
struct Weighed {
    robust: Spread,
    random: Spread,
    p_value: f64,
    /// Of node scores and weights, over all samples that were attacked.
    correlation: Option<f64>,
    /// Weights of the group by the score.
    weights: Vec<f64>,
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let test = Images::test(run, Which::Mnist)?;
    let mut findings = Findings::new(json!({
        "test": test.described(), "group": GROUP, "epsilon": EPSILON, "steps": STEPS, "neighbors": 10, "eigenpairs": 2,
    }));
    let header = ["network", "50 most robust", "95 %", "50 random", "95 %", "p", "ρ(score, weight)"];
    let mut table = Table::new(
        "Mean weight, (1 + tanh(−1 + 5(1 − 2κ/K)))/2 with κ the steps until a sample breaks.",
        header,
    );
    let mut chart = Vec::new();
    for LevelNetwork { name, network, recipe } in networks(run, Which::Mnist)? {
        let settings = json!({
            "test": test.described(), "network": name, "recipe": recipe, "seed": run.seed(), "epsilon": EPSILON,
            "steps": STEPS, "group": GROUP,
        });
        let weighed = run.part(&format!("gairat/{name}"), &settings, || {
            weigh(run, &Frozen::new(&network, run.compute()), &test)
        })?;
        let Some(Weighed { robust, random, p_value, correlation, .. }) = weighed else { continue };
        table.row(vec![
            json!(name),
            json!(robust[0]),
            range(robust),
            json!(random[0]),
            range(random),
            json!(p_value),
            json!(correlation),
        ]);
        findings.claim(
            run,
            format!("{name}: the most robust samples by score have much smaller weights than random ones"),
            format!("{:.3} against {:.3}, p = {p_value:.4}", robust[0], random[0]),
            Some(robust[0] < random[0] && p_value < 0.05),
        );
        chart.push((format!("{name} robust"), robust[0]));
        chart.push((format!("{name} random"), random[0]));
    }
    if test.stand_in {
        findings.note(STAND_IN);
    }
    findings.note(
        "The paper names neither the network nor ε; these are LeNet-5 at several levels of robustness.",
    );
    findings.charts.push(bars("gairat", "Mean GAIRAT weights", &chart));
    findings.tables.push(table);
    Ok(findings)
}

fn weigh(run: &Run, model: &Frozen, test: &Images) -> Result<Weighed, Failure> {
    let scores = score(run, model, test, 10, 2)?.node_scores.scores().to_vec();
    let negative: Vec<f64> = scores.iter().map(|score| -score).collect();
    let robust = highest(&negative, GROUP);
    let random = random_places(run.seed(), run.size(1000, 150), test.len());
    let attacked: Vec<usize> = robust.iter().chain(&random).copied().collect();
    let report = AttackPlan::plain(EPSILON, STEPS).run(run, model, &test.examples.select(&attacked))?;
    let weights: Vec<f64> = report
        .outcomes
        .iter()
        .map(|outcome| {
            // A sample that is wrong as it is has fallen before the first step.
            let held = match (outcome.clean(), outcome.broken) {
                (false, _) => 0,
                (true, Some(broken)) => broken.step,
                (true, None) => STEPS,
            };
            f64::from(gairat_weight(held, STEPS))
        })
        .collect();
    let (of_robust, of_random) = weights.split_at(robust.len());
    // Random samples are expected to weigh more.
    let contrast = Contrast::new(&of_random[..GROUP.min(of_random.len())], of_robust, run.seed());
    let scores_of_random: Vec<f64> = random.iter().map(|&place| scores[place]).collect();
    Ok(Weighed {
        robust: spread(contrast.random),
        random: spread(contrast.top),
        p_value: contrast.p_value,
        correlation: spearman(&scores_of_random, of_random),
        weights: of_robust.to_vec(),
    })
}
