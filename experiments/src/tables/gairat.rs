//! The figure of A.11: GAIRAT's weights of the samples that node scores call the most robust, compared with random ones.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::scores::Contrast;
use spadework_nn::attack::Climb;
use spadework_nn::train::{gairat_weight, held_steps};
use spadework_nn::{Frozen, highest, random_places};
use spadework_report::figures::bars;

use super::Experiment;
use crate::data::{Images, STAND_IN, Which};
use crate::failure::Failure;
use crate::levels::{LevelNetwork, networks};
use crate::networks::{AttackPlan, score};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{mean, spearman, spearman_interval};
use crate::table::{Spread, Table, range, spread};

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "gairat", paper: "Figure of A.11", title: "GAIRAT's weights of robust samples", run };

/// Samples of each group.
const GROUP: usize = 50;
/// Random samples, of which the first are the other group.
const RANDOM: usize = 1000;
const NEIGHBORS: usize = 10;
/// GAIRAT counts the steps of an attack of this size.
const EPSILON: f32 = 0.3;
const STEPS: usize = 10;

#[derive(Debug, Serialize, Deserialize)]
struct Weighed {
    robust: Spread,
    random: Spread,
    p_value: f64,
    /// Of node scores and weights, over the random samples, with its interval.
    correlation: Option<Spread>,
    /// The same with κ as the steps until a sample first breaks, 0 where it is wrong as it is.
    robust_until_broken: f64,
    random_until_broken: f64,
    correlation_until_broken: Option<f64>,
    /// The k of the graphs.
    used: usize,
    accuracy: f64,
    /// Weights of the group by the score.
    weights: Vec<f64>,
}

fn run(run: &Run) -> Result<Findings, Failure> {
    let test = Images::test(run, Which::Mnist)?;
    let mut findings = Findings::new(json!({
        "test": test.described(), "group": GROUP, "epsilon": EPSILON, "steps": STEPS, "neighbors": NEIGHBORS,
        "eigenpairs": 2, "random": run.size(RANDOM, 150), "seed": run.seed(),
    }));
    let header = ["network", "50 most robust", "95 %", "50 random", "95 %", "p", "ρ(score, weight)", "95 %"];
    let mut table = Table::new(
        "Mean weight, (1 + tanh(−1 + 5(1 − 2κ/K)))/2 with κ as GAIRAT counts it: the points of the attack, its start included, at which a \
         sample is classified correctly.",
        header,
    );
    let header = ["network", "50 most robust", "50 random", "ρ(score, weight)"];
    let mut until_broken = Table::new(
        "The same with κ the steps until a sample first breaks, 0 where it is wrong as it is.",
        header,
    );
    let mut chart = Vec::new();
    for LevelNetwork { name, network, recipe } in networks(run, Which::Mnist)? {
        let settings = json!({
            "test": test.described(), "network": name, "recipe": recipe, "seed": run.seed(), "epsilon": EPSILON,
            "steps": STEPS, "group": GROUP, "neighbors": NEIGHBORS, "random": run.size(RANDOM, 150),
        });
        let weighed = run.part(&format!("gairat/{name}"), &settings, || {
            weigh(run, &Frozen::new(&network, run.compute()), &test)
        })?;
        let Some(weighed) = weighed else { continue };
        findings.network(&name, test.described(), Some(weighed.accuracy));
        findings.graph(&name, NEIGHBORS, weighed.used);
        until_broken.row(vec![
            json!(name),
            json!(weighed.robust_until_broken),
            json!(weighed.random_until_broken),
            json!(weighed.correlation_until_broken),
        ]);
        let Weighed { robust, random, p_value, correlation, .. } = weighed;
        table.row(vec![
            json!(name),
            json!(robust[0]),
            range(robust),
            json!(random[0]),
            range(random),
            json!(p_value),
            json!(correlation.map(|of| of[0])),
            correlation.map_or(Value::Null, range),
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
        "The paper names neither the network nor ε; these are LeNet-5 at several levels of robustness. GAIRAT divides the weights of a \
         batch by their mean, which changes neither their order nor the ratio of two groups.",
    );
    findings.charts.push(bars("gairat", "Mean GAIRAT weights", &chart));
    findings.tables.extend([table, until_broken]);
    Ok(findings)
}

fn weigh(run: &Run, model: &Frozen, test: &Images) -> Result<Weighed, Failure> {
    let report = score(run, model, test, NEIGHBORS, 2)?;
    let scores = report.node_scores.scores();
    let negative: Vec<f64> = scores.iter().map(|score| -score).collect();
    let robust = highest(&negative, GROUP);
    let random = random_places(run.seed(), run.size(RANDOM, 150), test.len());
    let attacked: Vec<usize> = robust.iter().chain(&random).copied().collect();
    let examples = test.examples.select(&attacked);
    let climb = Climb { steps: STEPS, ..Climb::default() };
    let weight = |held: usize| f64::from(gairat_weight(held, STEPS));
    let held = held_steps(model, &examples, EPSILON, &climb, run.seed(), run.monitor())?;
    let weights: Vec<f64> = held.into_iter().map(weight).collect();
    let attack = AttackPlan::plain(EPSILON, STEPS).run(run, model, &examples)?;
    let until_broken: Vec<f64> = attack
        .outcomes
        .iter()
        .map(|outcome| match (outcome.clean(), outcome.broken) {
            (false, _) => weight(0),
            (true, Some(broken)) => weight(broken.step),
            (true, None) => weight(STEPS),
        })
        .collect();
    let (of_robust, of_random) = weights.split_at(robust.len());
    let group = |of_random: &[f64]| of_random[..GROUP.min(of_random.len())].to_vec();
    // Random samples are expected to weigh more.
    let contrast = Contrast::new(&group(of_random), of_robust, run.seed());
    let scores_of_random: Vec<f64> = random.iter().map(|&place| scores[place]).collect();
    let correlation = spearman(&scores_of_random, of_random);
    let interval = spearman_interval(&scores_of_random, of_random, run.seed());
    let (robust_until_broken, random_until_broken) = until_broken.split_at(robust.len());
    Ok(Weighed {
        robust: spread(contrast.random),
        random: spread(contrast.top),
        p_value: contrast.p_value,
        correlation: correlation.zip(interval).map(|(rho, (low, high))| [rho, low, high]),
        robust_until_broken: mean(robust_until_broken).unwrap_or(f64::NAN),
        random_until_broken: mean(&group(random_until_broken)).unwrap_or(f64::NAN),
        correlation_until_broken: spearman(&scores_of_random, random_until_broken),
        used: report.diagnostics.connection.used,
        accuracy: model.accuracy(&test.examples)?,
        weights: of_robust.to_vec(),
    })
}
