//! Projected gradient descent: the strongest plain attack, and what robust training defends against.
//!
//! Madry, Makelov, Schmidt, Tsipras and Vladu (2018): from a random point of the ball around a sample, step along the
//! gradient of the loss by the sample, come back into the ball, and again. With one step and no random start this is the
//! fast gradient sign method (Goodfellow et al. 2015). A sample counts as broken as soon as one point on the way is
//! classified wrongly; it is then left out, which changes no other sample. Restarts go on with those that still hold.
//!
//! Read [`attack`] first, then `Rounds::climb`, then `ball.rs` for the step.

mod ball;
mod objective;

use burn_tensor::{Int, Tensor, TensorData};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use spadework::Monitor;
use spadework::monitor::Stage;

pub(crate) use ball::Balls;
pub use ball::Norm;
pub use objective::Objective;
pub(crate) use objective::{class_column, cross_entropy, margin, predicted};

use crate::data::Examples;
use crate::network::{Frozen, to_host};
use crate::random::{Purpose, stream};
use crate::{Error, Result};

/// How one start climbs: shared by attacks and by training against them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Climb {
    /// The norm that ε is measured in.
    pub norm: Norm,
    /// What is made large.
    pub objective: Objective,
    /// Gradient steps from each start.
    pub steps: usize,
    /// How far one step goes; by default 2.5 ε / steps of each sample, and ε where there is one step.
    pub step_size: Option<f32>,
    /// Whether to begin at a random point of the ball rather than at the sample.
    pub random_start: bool,
}

impl Default for Climb {
    fn default() -> Self {
        Self {
            norm: Norm::Linf,
            objective: Objective::CrossEntropy,
            steps: 40,
            step_size: None,
            random_start: true,
        }
    }
}

impl Climb {
    /// The fast gradient sign method: one step of the whole ε from the sample itself.
    pub fn fgsm() -> Self {
        Self { steps: 1, random_start: false, ..Self::default() }
    }

    /// # Errors
    /// When a value is outside its range.
    pub fn check(&self) -> Result<()> {
        if self.norm == Norm::L1 {
            return Err(Error::parameter("the norm of an attack", "linf or l2", "l1"));
        }
        if self.steps == 0 {
            return Err(Error::parameter("steps", "at least 1", self.steps));
        }
        match self.step_size {
            Some(step) if !(step > 0.0 && step.is_finite()) => {
                Err(Error::parameter("the step size", "positive", step))
            }
            _ => Ok(()),
        }
    }

    /// How far a step goes for samples that may be moved by `radius`.
    pub(crate) fn step_sizes(&self, radius: &[f32]) -> Vec<f32> {
        let relative = if self.steps == 1 { 1.0 } else { 2.5 / self.steps as f32 };
        radius.iter().map(|radius| self.step_size.unwrap_or(relative * radius)).collect()
    }
}

/// How a network is attacked.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackParams {
    /// How each start climbs.
    pub climb: Climb,
    /// Starts; a sample must hold from all of them.
    pub restarts: usize,
    /// Seed of the starts.
    pub seed: u64,
    /// Samples that are attacked at once.
    pub batch: usize,
}

impl Default for AttackParams {
    fn default() -> Self {
        Self { climb: Climb::default(), restarts: 1, seed: 0, batch: 250 }
    }
}

impl AttackParams {
    /// # Errors
    /// When a value is outside its range.
    pub fn check(&self) -> Result<()> {
        self.climb.check()?;
        for (name, value) in [("restarts", self.restarts), ("batch", self.batch)] {
            if value == 0 {
                return Err(Error::parameter(name, "at least 1", value));
            }
        }
        Ok(())
    }
}

/// How far each sample may be moved.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget(Vec<f32>);

impl Budget {
    /// The same for all.
    ///
    /// # Errors
    /// When it is negative or not finite.
    pub fn same(epsilon: f32, samples: usize) -> Result<Self> {
        Self::each(vec![epsilon; samples])
    }

    /// One per sample.
    ///
    /// # Errors
    /// When one is negative or not finite.
    pub fn each(epsilons: Vec<f32>) -> Result<Self> {
        match epsilons.iter().find(|epsilon| !(**epsilon >= 0.0 && epsilon.is_finite())) {
            None => Ok(Self(epsilons)),
            Some(&epsilon) => Err(Error::parameter("epsilon", "zero or positive", epsilon)),
        }
    }

    /// One per sample.
    pub fn epsilons(&self) -> &[f32] {
        &self.0
    }
}

/// Where a sample was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// The start, from 0.
    pub restart: usize,
    /// Steps that were taken from it; 0 is the start itself.
    pub step: usize,
    /// The class that was predicted instead.
    pub class: usize,
}

/// What became of one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its class.
    pub label: usize,
    /// The class predicted of the sample as it is.
    pub clean_class: usize,
    /// Where it was broken, if it was classified rightly and did not hold.
    pub broken: Option<Broken>,
    /// The smallest margin that was seen: the output of the true class minus the largest other.
    pub margin: f32,
}

impl Outcome {
    /// Whether the sample as it is was classified rightly.
    pub fn clean(&self) -> bool {
        self.clean_class == self.label
    }

    /// Whether it was, and remained so.
    pub fn robust(&self) -> bool {
        self.clean() && self.broken.is_none()
    }
}

/// What an attack found.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackReport {
    /// One per sample.
    pub outcomes: Vec<Outcome>,
    /// For each sample the point that broke it, or the last one that was tried; the sample itself where it was wrong before.
    pub adversarial: Vec<f32>,
}

impl AttackReport {
    /// The share of samples that are classified rightly as they are.
    pub fn clean_accuracy(&self) -> f64 {
        self.share(Outcome::clean)
    }

    /// The share of samples that are classified rightly under attack.
    pub fn robust_accuracy(&self) -> f64 {
        self.share(Outcome::robust)
    }

    fn share(&self, holds: impl Fn(&Outcome) -> bool) -> f64 {
        self.outcomes.iter().filter(|outcome| holds(outcome)).count() as f64 / self.outcomes.len() as f64
    }
}

/// Attacks every example, each within its own budget. The network is only run, never changed.
///
/// # Errors
/// When the examples, the budget or the parameters do not fit, or the monitor asks to stop.
pub fn attack(
    model: &Frozen,
    examples: &Examples,
    budget: &Budget,
    params: &AttackParams,
    monitor: &dyn Monitor,
) -> Result<AttackReport> {
    params.check()?;
    examples.check_box()?;
    model.check_size(examples.size())?;
    if budget.0.len() != examples.len() {
        return Err(Error::Count {
            what: "values of epsilon",
            expected: examples.len(),
            got: budget.0.len(),
        });
    }
    monitor.begin(Stage::Named("attack"));
    let mut report = AttackReport { outcomes: Vec::new(), adversarial: examples.samples().to_vec() };
    let mut done = 0;
    while done < examples.len() {
        let batch: Vec<usize> = (done..examples.len().min(done + params.batch)).collect();
        Rounds::new(model, examples, budget, params, batch.clone()).run(&mut report, monitor)?;
        done += batch.len();
        monitor.progress(done as u64, examples.len() as u64);
    }
    Ok(report)
}

/// One batch under attack.
struct Rounds<'a> {
    model: &'a Frozen,
    examples: &'a Examples,
    budget: &'a Budget,
    params: &'a AttackParams,
    /// The samples that still hold, as places among the examples.
    standing: Vec<usize>,
}

impl<'a> Rounds<'a> {
    fn new(
        model: &'a Frozen,
        examples: &'a Examples,
        budget: &'a Budget,
        params: &'a AttackParams,
        batch: Vec<usize>,
    ) -> Self {
        Self { model, examples, budget, params, standing: batch }
    }

    fn run(mut self, report: &mut AttackReport, monitor: &dyn Monitor) -> Result<()> {
        self.look_at_clean_ones(report);
        for restart in 0..self.params.restarts {
            if self.standing.is_empty() {
                break;
            }
            self.climb(restart, report, monitor)?;
        }
        Ok(())
    }

    fn look_at_clean_ones(&mut self, report: &mut AttackReport) {
        let batch = self.examples.select(&self.standing);
        let outputs = to_host(self.model.forward(self.model.rows(batch.samples())));
        for (row, &label) in outputs.chunks(self.model.classes()).zip(batch.labels()) {
            let outcome =
                Outcome { label, clean_class: predicted(row), broken: None, margin: margin(row, label) };
            report.outcomes.push(outcome);
        }
        self.standing.retain(|&place| report.outcomes[place].clean());
    }

    /// All steps from one start.
    fn climb(&mut self, restart: usize, report: &mut AttackReport, monitor: &dyn Monitor) -> Result<()> {
        let (model, climb) = (self.model, &self.params.climb);
        let batch = self.examples.select(&self.standing);
        let radius: Vec<f32> = self.standing.iter().map(|&place| self.budget.0[place]).collect();
        let steps = climb.step_sizes(&radius);
        let mut balls = Balls::new(climb.norm, model.rows(batch.samples()), &radius, &steps);
        let mut labels = class_column(batch.labels(), model.device());
        let mut points = if climb.random_start {
            let unit = starts(climb.norm, self.params.seed, restart as u64, &self.standing, batch.size());
            balls.start(model.rows(&unit))
        } else {
            balls.center()
        };
        for step in 0..=climb.steps {
            if monitor.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let last = step == climb.steps;
            let (outputs, gradient) = if last {
                (model.forward(points.clone()), None)
            } else {
                let truth = labels.clone();
                let (outputs, gradient) =
                    model.input_gradient(points.clone(), |outputs| climb.objective.sum(outputs, truth));
                (outputs, Some(gradient))
            };
            let holding = self.judge(&outputs, &points, Broken { restart, step, class: 0 }, last, report);
            if holding.is_empty() || last {
                break;
            }
            let mut gradient = gradient.expect("there is one before the last step");
            if holding.len() < points.dims()[0] {
                let places = column_of_places(&holding, &points);
                balls = balls.select(&places);
                labels = labels.select(0, places.clone());
                points = points.select(0, places.clone());
                gradient = gradient.select(0, places);
            }
            points = balls.ascend(points, gradient);
        }
        Ok(())
    }

    /// Writes down who is broken at these points, and returns the rows of those who hold.
    fn judge(
        &mut self,
        outputs: &Tensor<2>,
        points: &Tensor<2>,
        at: Broken,
        last: bool,
        report: &mut AttackReport,
    ) -> Vec<usize> {
        let classes = self.model.classes();
        let outputs = to_host(outputs.clone());
        let mut holding = Vec::with_capacity(self.standing.len());
        let mut kept = Vec::new();
        for (row, (outputs, &place)) in outputs.chunks(classes).zip(&self.standing).enumerate() {
            let outcome = &mut report.outcomes[place];
            let margin = margin(outputs, outcome.label);
            outcome.margin = outcome.margin.min(margin);
            if margin < 0.0 {
                outcome.broken = Some(Broken { class: predicted(outputs), ..at });
            } else {
                holding.push(row);
            }
            if margin < 0.0 || last {
                kept.push((row, place));
            }
        }
        self.keep_points(points, &kept, report);
        if holding.len() < self.standing.len() {
            self.standing = holding.iter().map(|&row| self.standing[row]).collect();
        }
        holding
    }

    fn keep_points(&self, points: &Tensor<2>, kept: &[(usize, usize)], report: &mut AttackReport) {
        if kept.is_empty() {
            return;
        }
        let rows: Vec<usize> = kept.iter().map(|&(row, _)| row).collect();
        let values = to_host(points.clone().select(0, column_of_places(&rows, points)));
        let size = self.examples.size();
        for (point, &(_, place)) in values.chunks(size).zip(kept) {
            report.adversarial[place * size..(place + 1) * size].copy_from_slice(point);
        }
    }
}

/// Random points of unit balls, one per sample, by the sample and the round alone.
pub(crate) fn starts(norm: Norm, seed: u64, round: u64, places: &[usize], size: usize) -> Vec<f32> {
    let mut unit = vec![0.0; places.len() * size];
    unit.par_chunks_mut(size).zip(places).for_each(|(row, &place)| {
        norm.draw(&mut stream(seed, Purpose::AttackStart, round, place as u64), row);
    });
    unit
}

fn column_of_places(rows: &[usize], like: &Tensor<2>) -> Tensor<1, Int> {
    let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    let count = rows.len();
    Tensor::from_data(TensorData::new(rows, [count]), &like.device())
}

impl Frozen {
    /// The share of examples whose class is predicted.
    ///
    /// # Errors
    /// When the examples are not such as the network takes.
    pub fn accuracy(&self, examples: &Examples) -> Result<f64> {
        self.check_size(examples.size())?;
        let outputs = self.outputs(examples.samples())?;
        let rows = outputs.chunks(self.classes()).zip(examples.labels());
        Ok(rows.filter(|(row, label)| predicted(row) == **label).count() as f64 / examples.len() as f64)
    }

    /// The gradient of the loss of each example by its values.
    ///
    /// # Errors
    /// When the examples are not such as the network takes.
    pub fn loss_gradient(&self, examples: &Examples, objective: Objective) -> Result<Vec<f32>> {
        self.check_size(examples.size())?;
        let labels = class_column(examples.labels(), self.device());
        let (_, gradient) =
            self.input_gradient(self.rows(examples.samples()), |outputs| objective.sum(outputs, labels));
        Ok(to_host(gradient))
    }
}
