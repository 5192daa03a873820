//! The neighborhood of a sample that an attack may search, intersected with the box [0, 1].

use std::str::FromStr;

use burn_tensor::{Device, Tensor, TensorData};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::named;
use crate::random::{Purpose, euclidean_ball, stream, symmetric, taxicab_ball};
use crate::{Error, Result};

/// How the size of a perturbation is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The sum of magnitudes; CLEVER scores only.
    L1,
    /// The root of the sum of squares.
    L2,
    /// The largest magnitude.
    #[default]
    Linf,
}

impl Norm {
    /// Its word in options.
    pub fn name(self) -> &'static str {
        match self {
            Norm::L1 => "l1",
            Norm::L2 => "l2",
            Norm::Linf => "linf",
        }
    }

    /// That attacks search its balls.
    pub(crate) fn check_searched(self) -> Result<()> {
        if self == Norm::L1 {
            return Err(Error::parameter("the norm of an attack", "linf or l2", "l1"));
        }
        Ok(())
    }

    /// A point of the unit ball, uniform.
    pub(crate) fn draw(self, rng: &mut ChaCha8Rng, into: &mut [f32]) {
        match self {
            Norm::L1 => taxicab_ball(rng, into),
            Norm::L2 => euclidean_ball(rng, into),
            Norm::Linf => into.iter_mut().for_each(|value| *value = symmetric(rng)),
        }
    }

    /// The size of a perturbation.
    pub fn size(self, values: impl Iterator<Item = f32>) -> f64 {
        let values = values.map(|value| f64::from(value).abs());
        match self {
            Norm::L1 => values.sum(),
            Norm::L2 => values.map(|value| value * value).sum::<f64>().sqrt(),
            Norm::Linf => values.fold(0.0, f64::max),
        }
    }
}

impl FromStr for Norm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        named("norm", text, &[Norm::Linf, Norm::L2, Norm::L1], Self::name)
    }
}

/// Samples, how far each may be moved, and how far one step goes.
#[derive(Debug, Clone)]
pub(crate) struct Balls {
    norm: Norm,
    center: Tensor<2>,
    radius: Tensor<2>,
    step: Tensor<2>,
}

/// A number per sample, `[n, 1]`.
fn column(values: &[f32], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len(), 1]), device)
}

impl Balls {
    pub(crate) fn new(norm: Norm, center: Tensor<2>, radius: &[f32], step: &[f32]) -> Self {
        let device = center.device();
        Self { norm, center, radius: column(radius, &device), step: column(step, &device) }
    }

    /// The balls at these places.
    pub(crate) fn select(&self, places: &Tensor<1, burn_tensor::Int>) -> Self {
        let pick = |tensor: &Tensor<2>| tensor.clone().select(0, places.clone());
        Self {
            norm: self.norm,
            center: pick(&self.center),
            radius: pick(&self.radius),
            step: pick(&self.step),
        }
    }

    /// The same balls with other steps.
    pub(crate) fn with_steps(self, step: &[f32]) -> Self {
        let step = column(step, &self.center.device());
        Self { step, ..self }
    }

    pub(crate) fn center(&self) -> Tensor<2> {
        self.center.clone()
    }

    /// Points of the unit balls, put into place.
    pub(crate) fn start(&self, unit: Tensor<2>) -> Tensor<2> {
        self.project(self.center.clone() + unit * self.radius.clone())
    }

    /// One step uphill: along the sign of the gradient or along the gradient itself, then back into ball and box.
    pub(crate) fn ascend(&self, from: Tensor<2>, gradient: Tensor<2>) -> Tensor<2> {
        let direction = match self.norm {
            Norm::Linf => gradient.sign(),
            Norm::L1 | Norm::L2 => {
                // Without a gradient there is no direction, and no step.
                let length = euclidean(gradient.clone()).clamp_min(1e-30);
                gradient / length
            }
        };
        self.project(from + direction * self.step.clone())
    }

    /// The nearest point of the ball, then of the box. The box contains the center, so the second step leaves no ball.
    pub(crate) fn project(&self, points: Tensor<2>) -> Tensor<2> {
        let inside = match self.norm {
            Norm::Linf => {
                let (low, high) =
                    (self.center.clone() - self.radius.clone(), self.center.clone() + self.radius.clone());
                points.max_pair(low).min_pair(high)
            }
            Norm::L1 | Norm::L2 => {
                let moved = points - self.center.clone();
                let length = euclidean(moved.clone()).clamp_min(1e-30);
                let scale = (self.radius.clone() / length).clamp_max(1.0);
                self.center.clone() + moved * scale
            }
        };
        inside.clamp(0.0, 1.0)
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

/// The length of each row, `[n, 1]`.
fn euclidean(rows: Tensor<2>) -> Tensor<2> {
    rows.square().sum_dim(1).sqrt()
}
