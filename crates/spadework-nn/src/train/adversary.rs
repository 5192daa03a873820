//! The perturbed samples that a network is trained on.

use burn_tensor::{Int, Tensor};

use spadework::Monitor;

use crate::attack::{Balls, Climb, class_column, predicted, starts};
use crate::data::Examples;
use crate::network::{Frozen, to_host};
use crate::{Error, Result};

/// Samples that are climbed with at once where only their steps are counted.
const CHUNK: usize = 250;

/// A batch that is to be perturbed.
pub(super) struct Victims<'a> {
    pub(super) rows: Tensor<2>,
    pub(super) labels: Tensor<2, Int>,
    pub(super) classes: &'a [usize],
    /// How far each may be moved.
    pub(super) radius: &'a [f32],
    /// Where each stands in the data, for its random start.
    pub(super) places: &'a [usize],
}

/// Perturbed samples, and where it was asked for, how many steps each held.
pub(super) struct Perturbed {
    pub(super) rows: Tensor<2>,
    pub(super) held: Vec<usize>,
}

/// Climbs all steps without a stop: training wants the worst point, not the first bad one.
///
/// `held` counts the points of the way, start included, at which a sample was still classified rightly: GAIRAT's κ.
pub(super) fn perturb(
    model: &Frozen,
    victims: &Victims<'_>,
    climb: &Climb,
    seed: u64,
    round: u64,
    count_held: bool,
) -> Perturbed {
    let size = model.input_size();
    let balls =
        Balls::new(climb.norm, victims.rows.clone(), victims.radius, &climb.step_sizes(victims.radius));
    let mut points = if climb.random_start {
        balls.start(model.rows(&starts(climb.norm, seed, round, victims.places, size)))
    } else {
        balls.center()
    };
    let mut held = vec![0; victims.places.len()];
    for _ in 0..climb.steps {
        let rivals = victims.labels.clone().into();
        let (outputs, gradient) =
            model.input_gradient(points.clone(), |outputs| climb.objective.sum(outputs, &rivals));
        if count_held {
            count(&mut held, &to_host(outputs), victims.classes);
        }
        points = balls.ascend(points, gradient);
    }
    Perturbed { rows: points, held }
}

fn count(held: &mut [usize], outputs: &[f32], classes: &[usize]) {
    let width = outputs.len() / held.len();
    for ((held, row), &class) in held.iter_mut().zip(outputs.chunks(width)).zip(classes) {
        *held += usize::from(predicted(row) == class);
    }
}

/// GAIRAT's κ of every sample: at how many points of the way of an attack of `climb.steps` steps it is classified correctly, the start
/// included and the last point not. A sample that is broken and comes back is counted again, and one that is wrong as it is may still
/// count. Starts are those of the first epoch of training with this seed, for samples in this order.
///
/// # Errors
/// When a sample does not fit the network, `epsilon` or the steps are out of range, or the monitor asks to stop.
pub fn held_steps(
    model: &Frozen,
    examples: &Examples,
    epsilon: f32,
    climb: &Climb,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Vec<usize>> {
    model.check_size(examples.size())?;
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(Error::parameter("ε", "positive", epsilon));
    }
    climb.check()?;
    let all: Vec<usize> = (0..examples.len()).collect();
    let mut held = Vec::with_capacity(examples.len());
    for places in all.chunks(CHUNK) {
        if monitor.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let batch = examples.select(places);
        let rows = model.rows(batch.samples());
        let labels = class_column(batch.labels(), model.device());
        let radius = vec![epsilon; places.len()];
        let victims = Victims { rows, labels, classes: batch.labels(), radius: &radius, places };
        held.extend(perturb(model, &victims, climb, seed, 0, true).held);
    }
    Ok(held)
}

/// GAIRAT's weight of a sample that was classified correctly for `held` of `steps` steps, κ of K (Zhang et al. 2021): (1 +
/// tanh(λ + 5(1 − 2κ/K)))/2 with λ = −1. Samples that are broken early have larger weights.
pub fn gairat_weight(held: usize, steps: usize) -> f32 {
    f32::midpoint(1.0, (-1.0 + 5.0 * (1.0 - 2.0 * held as f32 / steps as f32)).tanh())
}

/// GAIRAT's weights of a batch, with mean 1.
pub(super) fn gairat_weights(held: &[usize], steps: usize) -> Vec<f32> {
    let weights: Vec<f32> = held.iter().map(|&held| gairat_weight(held, steps)).collect();
    let mean = weights.iter().sum::<f32>() / weights.len() as f32;
    weights.iter().map(|weight| weight / mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_fall_early_weigh_more() {
        let weights = gairat_weights(&[0, 5, 10], 10);
        assert!(weights[0] > weights[1] && weights[1] > weights[2], "{weights:?}");
        assert!((weights.iter().sum::<f32>() - 3.0).abs() < 1e-5);
        // Before the mean: (1 + tanh 4)/2, (1 + tanh −1)/2.
        assert!((weights[0] / weights[1] - 0.999_664_6 / 0.119_202_9).abs() < 1e-3, "{weights:?}");
    }
}
