//! APGD: projected gradient descent that chooses its own steps.
//!
//! Croce and Hein (2020), "Reliable evaluation of adversarial robustness with an ensemble of diverse parameter-free attacks". A
//! step of 2ε is taken with momentum, x' = P(x + 0.75 (P(x + η·∇) − x) + 0.25 (x − x before)). The first checkpoint is after 22 %
//! of the steps, and later ones follow at shorter and shorter intervals. At a checkpoint, η is halved and the search continues from
//! the best point, if fewer than 75 % of the steps since the last checkpoint increased the loss, or if neither η nor the best loss
//! has changed. The constants are the authors'.
//!
//! Without targets it increases a loss of the true class. With targets it increases the targeted DLR loss for each of the most
//! likely other classes, one after the other.

use burn_tensor::Tensor;

use super::ball::{Balls, Norm, starts};
use super::objective::{Objective, Rivals, descending};
use super::report::Broken;
use super::round::{Round, rows_of};
use crate::Result;
use crate::error::check_counts;
use crate::network::{Frozen, to_host};

/// The share of a step that is new; the rest repeats the step before.
const MOMENTUM: f64 = 0.75;
/// The share of steps that must make the loss larger, or else they become shorter.
const ENOUGH: f64 = 0.75;

/// The goal of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Any other class, by this loss.
    Away(Objective),
    /// Each of the most likely other classes, by the targeted DLR loss.
    Toward {
        /// How many classes.
        targets: usize,
    },
}

impl Aim {
    /// How many classes a targeted attack aims at by default: all others of ten.
    pub const TARGETS: usize = 9;

    /// How many classes it aims at, one after the other.
    pub fn targets(self) -> usize {
        match self {
            Aim::Away(_) => Self::TARGETS,
            Aim::Toward { targets } => targets,
        }
    }
}

/// Projected gradient descent that chooses its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Apgd {
    /// The norm of ε.
    pub norm: Norm,
    /// The goal.
    pub aim: Aim,
    /// Gradient steps from each start.
    pub steps: usize,
    /// Starts, for each target if there are targets.
    pub restarts: usize,
}

impl Default for Apgd {
    fn default() -> Self {
        Self { norm: Norm::Linf, aim: Aim::Away(Objective::CrossEntropy), steps: 100, restarts: 1 }
    }
}

impl Apgd {
    pub(super) fn name(&self) -> &'static str {
        match self.aim {
            Aim::Away(Objective::CrossEntropy) => "apgd",
            Aim::Away(Objective::Dlr) => "apgd-dlr",
            Aim::Away(Objective::Margin) => "apgd-margin",
            Aim::Toward { .. } => "apgd-t",
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        self.norm.check_searched()?;
        check_counts(&[("steps", self.steps), ("restarts", self.restarts), ("targets", self.aim.targets())])
    }

    pub(super) fn run(&self, round: &mut Round<'_>) -> Result<()> {
        let targets = match self.aim {
            Aim::Away(_) => 1,
            Aim::Toward { targets } => targets.min(round.model().classes() - 1),
        };
        for start in 0..self.restarts * targets {
            self.search(start, start % targets, round)?;
        }
        Ok(())
    }

    /// All steps from one start.
    fn search(&self, start: usize, target: usize, round: &mut Round<'_>) -> Result<()> {
        let Some(mut search) = Ascent::new(self, start, target, round) else { return Ok(()) };
        let mut checkpoints = Checkpoints::new(self.steps);
        for step in 0..=self.steps {
            round.check_stop()?;
            let outputs = search.look(round.model());
            let at = Broken { attack: self.name(), restart: start, step, class: 0 };
            let standing = round.judge(&outputs, at, &search.points);
            search.retain(&standing, round.model());
            if standing.is_empty() {
                return Ok(());
            }
            if let Some(since) = checkpoints.reached(step) {
                search.shorten(since);
            }
            if step < self.steps {
                search.advance(if step == 0 { 1.0 } else { MOMENTUM });
            }
        }
        let rows: Vec<usize> = (0..search.walks.len()).collect();
        round.keep(&search.best, &rows);
        Ok(())
    }
}

/// When steps are judged.
struct Checkpoints {
    last: usize,
    gap: usize,
    shorter: usize,
    least: usize,
}

impl Checkpoints {
    fn new(steps: usize) -> Self {
        let share = |percent: usize| (percent * steps / 100).max(1);
        Self { last: 0, gap: share(22), shorter: share(3), least: share(6) }
    }

    /// The steps since the last checkpoint, where this step ends at one.
    fn reached(&mut self, step: usize) -> Option<usize> {
        if step - self.last < self.gap {
            return None;
        }
        let since = std::mem::replace(&mut self.last, step).abs_diff(step);
        self.gap = self.gap.saturating_sub(self.shorter).max(self.least);
        Some(since)
    }
}

/// How one sample's search goes.
#[derive(Debug, Clone)]
struct Walk {
    step: f32,
    loss: f32,
    best: f32,
    best_at_checkpoint: f32,
    /// Steps since the last checkpoint that made the loss larger.
    rises: usize,
    /// Whether the step was halved at the last checkpoint.
    halved: bool,
}

/// The searches of all surviving samples, one row each.
struct Ascent {
    objective: Objective,
    rivals: Rivals,
    balls: Balls,
    points: Tensor<2>,
    before: Tensor<2>,
    gradient: Tensor<2>,
    best: Tensor<2>,
    best_gradient: Tensor<2>,
    walks: Vec<Walk>,
}

impl Ascent {
    /// None where no sample survives.
    fn new(apgd: &Apgd, start: usize, target: usize, round: &Round<'_>) -> Option<Self> {
        let begin = round.start()?;
        let model = round.model();
        let steps: Vec<f32> = begin.radius.iter().map(|radius| 2.0 * radius).collect();
        let balls = Balls::new(apgd.norm, begin.centers, &begin.radius, &steps);
        let unit = starts(apgd.norm, round.seed(), start as u64, round.standing(), model.input_size());
        let points = balls.start(model.rows(&unit));
        let rivals = Rivals::of_labels(&begin.labels, model.device());
        let (objective, rivals) = match apgd.aim {
            Aim::Away(objective) => (objective, rivals),
            Aim::Toward { .. } => {
                let targets = likely_others(model, &balls, &begin.labels, target);
                (Objective::Dlr, rivals.with_targets(&targets, model.device()))
            }
        };
        let low = f32::NEG_INFINITY;
        let walk = |&step: &f32| Walk {
            step,
            loss: f32::INFINITY,
            best: low,
            best_at_checkpoint: low,
            rises: 0,
            halved: true,
        };
        Some(Self {
            objective,
            rivals,
            walks: steps.iter().map(walk).collect(),
            before: points.clone(),
            gradient: points.zeros_like(),
            best: points.clone(),
            best_gradient: points.zeros_like(),
            balls,
            points,
        })
    }

    /// Runs the network and its gradient at the points, keeps what is best, and returns the outputs.
    fn look(&mut self, model: &Frozen) -> Vec<f32> {
        let mut losses = Vec::new();
        let (outputs, gradient) = model.input_gradient(self.points.clone(), |outputs| {
            let each = self.objective.losses(outputs, &self.rivals);
            losses = to_host(each.clone());
            each.sum()
        });
        self.gradient = gradient;
        let first = self.walks.iter().all(|walk| walk.best == f32::NEG_INFINITY);
        let mut better = vec![false; losses.len()];
        for ((walk, &loss), better) in self.walks.iter_mut().zip(&losses).zip(&mut better) {
            walk.rises += usize::from(loss > walk.loss);
            walk.loss = loss;
            *better = loss > walk.best;
            walk.best = walk.best.max(loss);
            if first {
                walk.best_at_checkpoint = walk.best;
            }
        }
        self.best = mixed(self.best.clone(), self.points.clone(), &better);
        self.best_gradient = mixed(self.best_gradient.clone(), self.gradient.clone(), &better);
        to_host(outputs)
    }

    fn retain(&mut self, rows: &[usize], model: &Frozen) {
        if rows.len() == self.walks.len() || rows.is_empty() {
            return;
        }
        let places = rows_of(rows, model.device());
        for tensor in
            [&mut self.points, &mut self.before, &mut self.gradient, &mut self.best, &mut self.best_gradient]
        {
            *tensor = tensor.clone().select(0, places.clone());
        }
        self.balls = self.balls.select(&places);
        self.rivals = self.rivals.select(&places);
        self.walks = rows.iter().map(|&row| self.walks[row].clone()).collect();
    }

    /// At a checkpoint after so many steps: halves the steps that led nowhere, and goes back to the best points.
    fn shorten(&mut self, since: usize) {
        let mut back = vec![false; self.walks.len()];
        for (walk, back) in self.walks.iter_mut().zip(&mut back) {
            let swings = walk.rises as f64 <= ENOUGH * since as f64;
            let stalls = !walk.halved && walk.best_at_checkpoint >= walk.best;
            walk.halved = swings || stalls;
            walk.best_at_checkpoint = walk.best;
            walk.rises = 0;
            if walk.halved {
                walk.step /= 2.0;
                *back = true;
            }
        }
        if back.contains(&true) {
            self.points = mixed(self.points.clone(), self.best.clone(), &back);
            self.gradient = mixed(self.gradient.clone(), self.best_gradient.clone(), &back);
            let steps: Vec<f32> = self.walks.iter().map(|walk| walk.step).collect();
            self.balls = self.balls.clone().with_steps(&steps);
        }
    }

    fn advance(&mut self, share: f64) {
        let drift = self.points.clone() - self.before.clone();
        let ahead = self.balls.ascend(self.points.clone(), self.gradient.clone());
        let step = (ahead - self.points.clone()) * share + drift * (1.0 - share);
        self.before = self.points.clone();
        self.points = self.balls.project(self.points.clone() + step);
    }
}

/// Rows of the first, and of the second where it is chosen.
fn mixed(first: Tensor<2>, second: Tensor<2>, choose_second: &[bool]) -> Tensor<2> {
    if !choose_second.contains(&true) {
        return first;
    }
    let count = choose_second.len();
    let rows: Vec<usize> =
        choose_second.iter().enumerate().map(|(row, &second)| row + if second { count } else { 0 }).collect();
    let places = rows_of(&rows, &first.device());
    Tensor::cat(vec![first, second], 0).select(0, places)
}

/// For each sample the other class at this rank of the outputs of the sample as it is.
fn likely_others(model: &Frozen, balls: &Balls, labels: &[usize], rank: usize) -> Vec<usize> {
    let outputs = to_host(model.forward(balls.center()));
    let other = |(row, &label): (&[f32], &usize)| {
        let mut others = descending(row).into_iter().filter(|&class| class != label);
        others.nth(rank).expect("there are more classes than targets")
    };
    outputs.chunks(model.classes()).zip(labels).map(other).collect()
}
