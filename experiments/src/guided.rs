//! Training that is harder on some samples (§ 4.1), beside training that is not: the same epochs, seeds, warm-up, scorer and
//! treatment of misclassified samples for every arm. The MNIST and CIFAR-10 tables are plans for this.

use serde_json::{Value, json};
use spadework::SpadeParams;
use spadework_nn::train::{Guides, Method, TrainParams};
use spadework_nn::{Frozen, Network};
use spadework_report::figures::bars;

use crate::data::{Images, STAND_IN, Which};
use crate::failure::Failure;
use crate::levels::architecture_of;
use crate::networks::{AttackPlan, Recipe, node_scores};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{mean, mean_and_deviation};
use crate::table::Table;

/// Clean accuracy of a network that has learned something of ten classes: twice what one answer to all gives.
pub(crate) const LEARNED: f64 = 0.2;

/// One way of training.
#[derive(Debug, Clone)]
pub(crate) struct Arm {
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    /// How far samples may be moved; of mixed methods, the chosen ones.
    pub(crate) epsilon: f32,
    /// Of mixed methods, the rest.
    pub(crate) small_epsilon: f32,
    /// The paper's accuracies in percent: clean, then under each attack.
    pub(crate) paper: [f64; 4],
}

/// A comparison of ways of training.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) which: Which,
    pub(crate) arms: Vec<Arm>,
    pub(crate) attacks: Vec<AttackPlan>,
    /// What columns of attacks are called, where their plans alone do not tell them apart.
    pub(crate) attack_names: Vec<String>,
    /// What the paper's attacks are called; those of quick runs are weaker.
    pub(crate) paper_attacks: [&'static str; 3],
    pub(crate) training: TrainParams,
    /// The share of the samples that mixed methods move farther: 45,000 of the paper's 60,000 or 50,000.
    pub(crate) top_share: f64,
    /// Epochs of the network that scores the samples.
    pub(crate) scorer_epochs: usize,
}

/// What one trained network came to.
#[derive(Debug)]
struct Outcome {
    arm: usize,
    skip: bool,
    seed: u64,
    /// Clean, then under each attack; 0 to 1.
    accuracies: Vec<f64>,
}

impl Outcome {
    /// Whether training came to anything: against large perturbations it may end in a network that says one class to all, of
    /// which nothing follows for or against a way of training.
    fn has_learned(&self) -> bool {
        self.accuracies[0] > LEARNED
    }
}

impl Plan {
    pub(crate) fn run(&self, run: &Run) -> Result<Findings, Failure> {
        let (train, test) = (Images::train(run, self.which)?, Images::test(run, self.which)?);
        let attacked = run.options().attack_images.unwrap_or(run.size(usize::MAX, 100)).min(test.len());
        let seeds: Vec<u64> =
            (0..run.options().seeds.unwrap_or(run.size(3, 1)) as u64).map(|at| run.seed() + at).collect();
        let mut outcomes = Vec::new();
        // Seed by seed, so that a run that ends early has whole comparisons.
        for &seed in &seeds {
            for &skip in run.options().skip_misclassified.choices() {
                for arm in 0..self.arms.len() {
                    let outcome = self.outcome(run, arm, skip, seed, &train, &test, attacked)?;
                    outcomes.extend(outcome);
                }
            }
        }
        let mut findings = Findings::new(json!({
            "architecture": architecture_of(run, self.which, &train),
            "train": train.described(), "test": test.described(), "attacked": attacked, "seeds": seeds,
            "training": self.training, "scorer_epochs": self.scorer_epochs,
            "chosen": self.chosen(&train), "attacks": self.attacks,
            "skip_misclassified": run.options().skip_misclassified.choices(),
        }));
        if train.stand_in {
            findings.note(STAND_IN);
        }
        // An arm that the time did not reach takes no part, nor do the others of its seed.
        let outcomes = self.whole_comparisons(outcomes);
        self.report(run, &outcomes, attacked, &mut findings);
        Ok(findings)
    }

    /// The outcomes of seeds that all arms were trained with.
    fn whole_comparisons(&self, outcomes: Vec<Outcome>) -> Vec<Outcome> {
        let arms_with = |seed: u64, skip: bool| {
            outcomes.iter().filter(|outcome| outcome.seed == seed && outcome.skip == skip).count()
        };
        let whole: Vec<bool> =
            outcomes.iter().map(|outcome| arms_with(outcome.seed, outcome.skip) == self.arms.len()).collect();
        outcomes.into_iter().zip(whole).filter_map(|(outcome, whole)| whole.then_some(outcome)).collect()
    }

    /// How many samples mixed methods move farther.
    fn chosen(&self, train: &Images) -> usize {
        ((self.top_share * train.len() as f64).round() as usize).max(1)
    }

    /// Trains one arm and attacks it; `None` where the time is over.
    #[expect(clippy::too_many_arguments, reason = "an arm is one of each")]
    fn outcome(
        &self,
        run: &Run,
        arm: usize,
        skip: bool,
        seed: u64,
        train: &Images,
        test: &Images,
        attacked: usize,
    ) -> Result<Option<Outcome>, Failure> {
        let recipe = self.recipe(run, arm, skip, seed, train);
        let settings = json!({
            "network": recipe.settings(), "test": test.described(), "attacked": attacked, "attacks": self.attacks,
            "seed": run.seed(),
        });
        let name = format!("guided/{} under attack", recipe.name);
        // Asked for first: weights may have been left on the machine where they were trained.
        if let Some(accuracies) = run.taken_up(&name, &settings) {
            return Ok(Some(Outcome { arm, skip, seed, accuracies }));
        }
        let scores = if self.arms[arm].method == Method::Spade {
            match self.scores(run, seed, train)? {
                None => return Ok(None),
                scores => scores,
            }
        } else {
            None
        };
        let guides = Guides { node_scores: scores.as_deref(), ..Guides::default() };
        let Some(network) = recipe.network(run, guides)? else { return Ok(None) };
        let accuracies = run.part(&name, &settings, || self.accuracies(run, &network, test, attacked))?;
        Ok(accuracies.map(|accuracies| Outcome { arm, skip, seed, accuracies }))
    }

    fn recipe<'a>(&self, run: &Run, arm: usize, skip: bool, seed: u64, train: &'a Images) -> Recipe<'a> {
        let arm = &self.arms[arm];
        let params = TrainParams {
            method: arm.method,
            epsilon: arm.epsilon,
            small_epsilon: arm.small_epsilon,
            top: if arm.method.is_mixed() { self.chosen(train) } else { 0 },
            skip_misclassified: skip,
            seed,
            ..self.training.clone()
        };
        let skipping = if skip { "-skip" } else { "" };
        Recipe {
            name: format!("{}-{}{skipping}-seed{seed}", self.which.word(), arm.name),
            train,
            architecture: architecture_of(run, self.which, train).to_owned(),
            normalize: self.normalizes(train),
            params,
            guided_by: (arm.method == Method::Spade).then(|| self.scorer_name(seed)),
        }
    }

    fn normalizes(&self, train: &Images) -> bool {
        self.which == Which::Cifar10 && !train.stand_in
    }

    fn scorer_name(&self, seed: u64) -> String {
        format!("{}-scorer-{}-seed{seed}", self.which.word(), self.scorer_epochs)
    }

    /// Node scores of the training images by a network that was trained plainly.
    fn scores(&self, run: &Run, seed: u64, train: &Images) -> Result<Option<Vec<f64>>, Failure> {
        let params = TrainParams { epochs: self.scorer_epochs, warmup: 0, seed, ..self.training.clone() };
        let recipe = Recipe {
            name: self.scorer_name(seed),
            train,
            architecture: architecture_of(run, self.which, train).to_owned(),
            normalize: self.normalizes(train),
            params,
            guided_by: None,
        };
        let Some(network) = recipe.network(run, Guides::default())? else { return Ok(None) };
        let params = SpadeParams::default()
            .with_neighbors(self.training.neighbors)
            .with_eigenpairs(self.training.eigenpairs);
        node_scores(run, &network, (&recipe.name, &recipe.settings()), train, &params)
    }

    fn accuracies(
        &self,
        run: &Run,
        network: &Network,
        test: &Images,
        attacked: usize,
    ) -> Result<Vec<f64>, Failure> {
        let model = Frozen::new(network, run.compute());
        let mut accuracies = vec![model.accuracy(&test.examples)?];
        let examples = test.first(attacked);
        for attack in &self.attacks {
            accuracies.push(attack.run(run, &model, &examples)?.robust_accuracy());
        }
        Ok(accuracies)
    }

    fn report(&self, run: &Run, outcomes: &[Outcome], attacked: usize, findings: &mut Findings) {
        let columns: Vec<String> =
            std::iter::once("clean".to_owned()).chain(self.attack_names.iter().cloned()).collect();
        let mut shown = Vec::new();
        for &skip in run.options().skip_misclassified.choices() {
            let treated = if skip {
                "Misclassified samples are left unperturbed, in all arms."
            } else {
                "Misclassified samples are perturbed as all others, in all arms."
            };
            let header =
                ["training".to_owned(), "seeds".to_owned()].into_iter().chain(columns.iter().cloned()).chain(
                    std::iter::once("clean")
                        .chain(self.paper_attacks)
                        .map(|column| format!("paper, {column}")),
                );
            let mut table =
                Table::new(format!("Accuracy in percent, mean ± standard deviation. {treated}"), header);
            for (at, arm) in self.arms.iter().enumerate() {
                let runs = of_arm(outcomes, at, skip);
                let mut row = vec![json!(arm.name), json!(runs.len())];
                row.extend((0..columns.len()).map(|column| spread(&runs, column)));
                row.extend(arm.paper.map(Value::from));
                table.row(row);
                if let Some(mean) = mean_at(&runs, columns.len() - 1) {
                    shown.push((format!("{}{}", arm.name, if skip { ", skip" } else { "" }), 100.0 * mean));
                }
            }
            findings.tables.push(table);
            self.claims(run, outcomes, skip, attacked, findings);
        }
        findings.tables.push(self.every_run(outcomes, &columns));
        let title = format!("Accuracy in percent, {}", columns[columns.len() - 1]);
        findings.charts.push(bars("accuracies", &title, &shown));
        let lost = outcomes.iter().filter(|outcome| !outcome.has_learned()).count();
        if lost > 0 {
            findings.note(format!(
                "Training of {lost} of {} networks collapsed: they say the same class to everything. Arms with such a network \
                 are not judged.",
                outcomes.len()
            ));
        }
        findings.note(
            "`random` draws as many samples as `spade` chooses, once; the paper draws ε anew for each image. A sample counts \
             as broken when any point on the way of an attack is misclassified.",
        );
    }

    /// Every network by itself.
    fn every_run(&self, outcomes: &[Outcome], columns: &[String]) -> Table {
        let header =
            ["training", "skip", "seed"].map(str::to_owned).into_iter().chain(columns.iter().cloned());
        let mut table = Table::new("Every network: accuracy, 0 to 1.", header);
        for outcome in outcomes {
            let mut row = vec![json!(self.arms[outcome.arm].name), json!(outcome.skip), json!(outcome.seed)];
            row.extend(outcome.accuracies.iter().map(|&accuracy| Value::from(accuracy)));
            table.row(row);
        }
        table
    }

    /// That guidance by scores is better than every other arm under the strongest attack. Differences that the choice of the
    /// attacked images alone could make are not judged.
    fn claims(&self, run: &Run, outcomes: &[Outcome], skip: bool, attacked: usize, findings: &mut Findings) {
        let last = self.attacks.len();
        let Some(guided) = self.arms.iter().position(|arm| arm.method == Method::Spade) else { return };
        for (at, arm) in self.arms.iter().enumerate().filter(|(at, _)| *at != guided) {
            let means = [guided, at].map(|arm| mean_at(&of_arm(outcomes, arm, skip), last));
            let [Some(of_guided), Some(of_other)] = means else { continue };
            let skipping = if skip { ", misclassified samples skipped" } else { "" };
            let runs = [guided, at].map(|arm| of_arm(outcomes, arm, skip));
            let all_learned = runs.iter().flatten().all(|outcome| outcome.has_learned());
            let chance =
                runs.iter().map(|runs| variance_of_mean(&values_at(runs, last), attacked)).sum::<f64>();
            let is_clear = runs[0].len() > 1 && (of_guided - of_other).abs() > 2.0 * chance.sqrt();
            findings.claim(
                run,
                format!(
                    "{} is better than {} under {}{skipping}",
                    self.arms[guided].name,
                    arm.name,
                    self.attack_names[last - 1]
                ),
                format!(
                    "{:.2} against {:.2} percent, give or take {:.2}",
                    100.0 * of_guided,
                    100.0 * of_other,
                    200.0 * chance.sqrt()
                ),
                (all_learned && is_clear).then_some(of_guided > of_other),
            );
        }
    }
}

fn of_arm(outcomes: &[Outcome], arm: usize, skip: bool) -> Vec<&Outcome> {
    outcomes.iter().filter(|outcome| outcome.arm == arm && outcome.skip == skip).collect()
}

fn values_at(runs: &[&Outcome], column: usize) -> Vec<f64> {
    runs.iter().map(|run| run.accuracies[column]).collect()
}

fn mean_at(runs: &[&Outcome], column: usize) -> Option<f64> {
    mean(&values_at(runs, column))
}

/// What the choice of the images, the same for all seeds, and that of the seeds leave open of a mean accuracy.
fn variance_of_mean(accuracies: &[f64], images: usize) -> f64 {
    let Some((mean, deviation)) = mean_and_deviation(accuracies) else { return 0.0 };
    mean * (1.0 - mean) / images as f64 + deviation * deviation / accuracies.len() as f64
}

fn spread(runs: &[&Outcome], column: usize) -> Value {
    match mean_and_deviation(&values_at(runs, column)) {
        Some((mean, deviation)) => json!(format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * deviation)),
        None => Value::Null,
    }
}
