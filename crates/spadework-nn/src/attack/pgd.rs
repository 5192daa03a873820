//! Projected gradient descent: the strongest plain attack, and what robust training defends against.
//!
//! Madry, Makelov, Schmidt, Tsipras and Vladu (2018): from a random point of the ball around a sample, take steps along the
//! gradient of the loss with respect to the sample, and project each back into the ball. With one step and no random start
//! this is the fast gradient sign method (Goodfellow et al. 2015).

use serde::{Deserialize, Serialize};

use super::ball::{Balls, Norm, starts};
use super::objective::{Objective, Rivals};
use super::report::Broken;
use super::round::{Round, rows_of};
use crate::error::check_counts;
use crate::network::to_host;
use crate::{Error, Result};

/// The steps from one start: shared by attacks and by training against them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Climb {
    /// The norm that ε is measured in.
    pub norm: Norm,
    /// The loss that is increased.
    pub objective: Objective,
    /// Gradient steps from each start.
    pub steps: usize,
    /// How far one step goes; by default 2.5 ε / steps for each sample, and ε if there is only one step.
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
        self.norm.check_searched()?;
        check_counts(&[("steps", self.steps)])?;
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

/// Projected gradient descent from one or more starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Pgd {
    /// The steps from each start.
    pub climb: Climb,
    /// Starts; a sample must survive all of them.
    pub restarts: usize,
}

impl Default for Pgd {
    fn default() -> Self {
        Self { climb: Climb::default(), restarts: 1 }
    }
}

impl Pgd {
    pub(super) fn check(&self) -> Result<()> {
        self.climb.check()?;
        check_counts(&[("restarts", self.restarts)])
    }

    pub(super) fn run(&self, round: &mut Round<'_>) -> Result<()> {
        for restart in 0..self.restarts {
            climb_once(&self.climb, restart, round)?;
        }
        Ok(())
    }
}

/// All steps from one start.
fn climb_once(climb: &Climb, restart: usize, round: &mut Round<'_>) -> Result<()> {
    let Some(start) = round.start() else { return Ok(()) };
    let model = round.model();
    let mut balls = Balls::new(climb.norm, start.centers, &start.radius, &climb.step_sizes(&start.radius));
    let mut rivals = Rivals::of_labels(&start.labels, model.device());
    let mut points = if climb.random_start {
        let unit = starts(climb.norm, round.seed(), restart as u64, round.standing(), model.input_size());
        balls.start(model.rows(&unit))
    } else {
        balls.center()
    };
    for step in 0..=climb.steps {
        round.check_stop()?;
        let last = step == climb.steps;
        let (outputs, gradient) = if last {
            (model.forward(points.clone()), None)
        } else {
            let sum = |outputs| climb.objective.sum(outputs, &rivals);
            let (outputs, gradient) = model.input_gradient(points.clone(), sum);
            (outputs, Some(gradient))
        };
        let at = Broken { attack: "pgd", restart, step, class: 0 };
        let standing = round.judge(&to_host(outputs), at, &points);
        let Some(mut gradient) = gradient.filter(|_| !standing.is_empty()) else {
            round.keep(&points, &standing);
            break;
        };
        if standing.len() < points.dims()[0] {
            let places = rows_of(&standing, model.device());
            balls = balls.select(&places);
            rivals = rivals.select(&places);
            points = points.select(0, places.clone());
            gradient = gradient.select(0, places);
        }
        points = balls.ascend(points, gradient);
    }
    Ok(())
}
