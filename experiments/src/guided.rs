//! Training that is harder on some samples (§ 4.1), compared with training that is not: the same epochs, seeds, warm-up, scorer and
//! treatment of misclassified samples for every arm. The MNIST and CIFAR-10 tables are plans for this.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use spadework::SpadeParams;
use spadework_nn::attack::Outcome as AttackOutcome;
use spadework_nn::train::{Guides, Method, TrainParams};
use spadework_nn::{Frozen, Network};
use spadework_probe::intervals::Estimated;
use spadework_report::figures::bars;

use crate::data::{Images, STAND_IN, Which};
use crate::failure::Failure;
use crate::levels::architecture_of;
use crate::networks::{AttackPlan, ImageScores, Recipe, node_scores};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{Paired, mean, mean_and_deviation, paired};
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
    judged: Judged,
}

/// How a network does on the test images, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Judged {
    /// The share of all test images that is classified rightly as they are.
    clean: f64,
    /// For each attack, whether each attacked image is classified rightly under it.
    right: Vec<Flags>,
    /// The k of the graphs that scored the training images, where some did.
    neighbors_used: Option<usize>,
}

/// Yes or no for each image; in JSON a string of ones and zeros.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
struct Flags(Vec<bool>);

impl From<String> for Flags {
    fn from(text: String) -> Self {
        Self(text.bytes().map(|byte| byte == b'1').collect())
    }
}

impl From<Flags> for String {
    fn from(flags: Flags) -> Self {
        flags.0.iter().map(|&flag| if flag { '1' } else { '0' }).collect()
    }
}

impl Flags {
    fn share(&self) -> f64 {
        self.0.iter().filter(|&&flag| flag).count() as f64 / self.0.len() as f64
    }
}

impl Outcome {
    /// Clean, then under each attack; 0 to 1.
    fn accuracies(&self) -> impl Iterator<Item = f64> {
        std::iter::once(self.judged.clean).chain(self.judged.right.iter().map(Flags::share))
    }

    /// Whether training came to anything: against large perturbations it may end in a network that says one class to all, of
    /// which nothing follows for or against a way of training.
    fn has_learned(&self) -> bool {
        self.judged.clean > LEARNED
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
        for outcome in &outcomes {
            let Outcome { arm, skip, seed, judged } = outcome;
            let name = format!("{}{}, seed {seed}", self.arms[*arm].name, if *skip { ", skip" } else { "" });
            findings.network(&name, test.described(), Some(judged.clean));
            if let Some(used) = judged.neighbors_used {
                findings.graph(name, self.training.neighbors, used);
            }
        }
        self.report(run, &outcomes, &mut findings);
        findings.samples = self.samples(&outcomes);
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
        if let Some(judged) = run.taken_up(&name, &settings) {
            return Ok(Some(Outcome { arm, skip, seed, judged }));
        }
        let scored = if self.arms[arm].method == Method::Spade {
            match self.scores(run, seed, train)? {
                None => return Ok(None),
                scored => scored,
            }
        } else {
            None
        };
        let node_scores = scored.as_ref().map(|scored| scored.scores.as_slice());
        let guides = Guides { node_scores, ..Guides::default() };
        let Some(network) = recipe.network(run, guides)? else { return Ok(None) };
        let neighbors_used = scored.map(|scored| scored.neighbors_used);
        let judged =
            run.part(&name, &settings, || self.judged(run, &network, test, attacked, neighbors_used))?;
        Ok(judged.map(|judged| Outcome { arm, skip, seed, judged }))
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
    fn scores(&self, run: &Run, seed: u64, train: &Images) -> Result<Option<ImageScores>, Failure> {
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

    fn judged(
        &self,
        run: &Run,
        network: &Network,
        test: &Images,
        attacked: usize,
        neighbors_used: Option<usize>,
    ) -> Result<Judged, Failure> {
        let model = Frozen::new(network, run.compute());
        let clean = model.accuracy(&test.examples)?;
        let examples = test.first(attacked);
        let right = self.attacks.iter().map(|attack| {
            let report = attack.run(run, &model, &examples)?;
            Ok(Flags(report.outcomes.iter().map(AttackOutcome::robust).collect()))
        });
        Ok(Judged { clean, right: right.collect::<Result<_, Failure>>()?, neighbors_used })
    }

    fn report(&self, run: &Run, outcomes: &[Outcome], findings: &mut Findings) {
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
            self.claims(run, outcomes, skip, findings);
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
            "`random` draws as many samples as `spade` chooses, once; the paper draws ε for each image. A sample counts \
             as broken when any point on the way of an attack is misclassified.",
        );
    }

    /// Every network by itself.
    fn every_run(&self, outcomes: &[Outcome], columns: &[String]) -> Table {
        let header = ["training", "skip", "seed", "k used"]
            .map(str::to_owned)
            .into_iter()
            .chain(columns.iter().cloned());
        let mut table = Table::new("Every network: accuracy, 0 to 1.", header);
        for outcome in outcomes {
            let mut row = vec![json!(self.arms[outcome.arm].name), json!(outcome.skip), json!(outcome.seed)];
            row.push(json!(outcome.judged.neighbors_used));
            row.extend(outcome.accuracies().map(Value::from));
            table.row(row);
        }
        table
    }

    /// What became of every attacked image, for comparisons in pairs.
    fn samples(&self, outcomes: &[Outcome]) -> Value {
        let of = |outcome: &Outcome| {
            let attacks = self.attack_names.iter().zip(&outcome.judged.right);
            let right: Map<String, Value> =
                attacks.map(|(name, flags)| (name.clone(), json!(flags))).collect();
            json!({
                "training": self.arms[outcome.arm].name, "skip": outcome.skip, "seed": outcome.seed, "right": right,
            })
        };
        outcomes.iter().map(of).collect()
    }

    /// That guidance by scores is better than every other arm under the strongest attack. Arms are attacked on the same images,
    /// so they are compared image by image and seed by seed. What other images or other seeds could turn around is not judged.
    fn claims(&self, run: &Run, outcomes: &[Outcome], skip: bool, findings: &mut Findings) {
        let Some(guided) = self.arms.iter().position(|arm| arm.method == Method::Spade) else { return };
        let Some(strongest) = self.attack_names.last() else { return };
        for (at, arm) in self.arms.iter().enumerate().filter(|(at, _)| *at != guided) {
            let runs = [guided, at].map(|arm| of_arm(outcomes, arm, skip));
            let [of_guided, of_other] = runs.each_ref().map(|runs| under_strongest(runs));
            let Some(difference) = paired(&of_guided, &of_other) else { continue };
            let all_learned = runs.iter().flatten().all(|outcome| outcome.has_learned());
            let skipping = if skip { ", misclassified samples skipped" } else { "" };
            findings.claim(
                run,
                format!("{} is better than {} under {strongest}{skipping}", self.arms[guided].name, arm.name),
                described(&difference),
                verdict(&difference).filter(|_| all_learned),
            );
        }
    }
}

/// For every run whether each image is classified rightly under the strongest attack.
fn under_strongest<'a>(runs: &[&'a Outcome]) -> Vec<&'a [bool]> {
    runs.iter().filter_map(|run| run.judged.right.last()).map(|flags| flags.0.as_slice()).collect()
}

/// Whether the first is better, where neither other images nor other seeds are likely to turn that around.
fn verdict(difference: &Paired) -> Option<bool> {
    let Estimated { lower, upper, .. } = difference.overall;
    (lower > 0.0 || upper < 0.0).then_some(lower > 0.0)
}

/// A difference in points with its intervals. One seed has no interval for other seeds.
fn described(difference: &Paired) -> String {
    let Paired { by_images, by_seeds, overall } = difference;
    let range = |of: &Estimated| format!("{:+.2} to {:+.2}", 100.0 * of.lower, 100.0 * of.upper);
    let points = format!("{:+.2} points", 100.0 * overall.estimate);
    let images = format!("{} for other images", range(by_images));
    if by_seeds.n < 2 {
        return format!("{points} (95 %: {images}); one seed, n = {}", by_images.n);
    }
    format!(
        "{points} (95 %: {}; {images}, {} for other seeds); {} seeds, n = {}, paired",
        range(overall),
        range(by_seeds),
        by_seeds.n,
        by_images.n
    )
}

fn of_arm(outcomes: &[Outcome], arm: usize, skip: bool) -> Vec<&Outcome> {
    outcomes.iter().filter(|outcome| outcome.arm == arm && outcome.skip == skip).collect()
}

fn values_at(runs: &[&Outcome], column: usize) -> Vec<f64> {
    runs.iter().filter_map(|run| run.accuracies().nth(column)).collect()
}

fn mean_at(runs: &[&Outcome], column: usize) -> Option<f64> {
    mean(&values_at(runs, column))
}

fn spread(runs: &[&Outcome], column: usize) -> Value {
    match mean_and_deviation(&values_at(runs, column)) {
        Some((mean, deviation)) => json!(format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * deviation)),
        None => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(text: &str) -> Flags {
        Flags::from(text.to_owned())
    }

    #[test]
    fn flags_come_back_as_they_were_kept() {
        let judged =
            Judged { clean: 0.75, right: vec![flags("0110"), flags("0010")], neighbors_used: Some(12) };
        let text = serde_json::to_string(&judged).unwrap();
        assert!(text.contains("\"0110\""), "{text}");
        let back: Judged = serde_json::from_str(&text).unwrap();
        assert_eq!((&back.right, back.neighbors_used), (&judged.right, Some(12)));
        let outcome = Outcome { arm: 0, skip: false, seed: 1, judged };
        assert_eq!(outcome.accuracies().collect::<Vec<f64>>(), [0.75, 0.5, 0.25]);
    }

    /// Two arms of about 70 %, 1,000 images, three seeds, which differ in the same 20 images: paired that is clear, while two
    /// independent shares leave ± 4 points open. In the next pair the sign changes from seed to seed, and in the last there is
    /// one seed: cannot tell.
    #[test]
    fn arms_on_the_same_images_are_told_apart_by_the_images_that_differ() {
        let one: Vec<bool> = (0..1000).map(|at| at % 10 < 7).collect();
        let lost = |count: usize| -> Vec<bool> {
            one.iter().enumerate().map(|(at, &right)| right && (at >= 10 * count || at % 10 != 0)).collect()
        };
        let verdict_of = |of_one: &[&[bool]], of_other: &[&[bool]]| {
            let difference = paired(of_one, of_other).unwrap();
            (verdict(&difference), described(&difference))
        };
        let (fewer, most, many) = (lost(19), lost(20), lost(21));
        let ones: [&[bool]; 3] = [&one; 3];
        let (holds, text) = verdict_of(&ones, &[&fewer, &most, &many]);
        assert_eq!(holds, Some(true), "{text}");
        assert!(
            text.starts_with("+2.00 points (95 %: +") && text.ends_with("3 seeds, n = 1000, paired"),
            "{text}"
        );
        assert_eq!(verdict_of(&[&fewer, &most, &many], &ones).0, Some(false));
        assert_eq!(verdict_of(&[&one, &most, &one], &[&most, &one, &most]).0, None);
        let (holds, text) = verdict_of(&[&one], &[&most]);
        assert_eq!(holds, None);
        assert!(text.contains("one seed"), "{text}");
    }
}
