//! Adam and stochastic gradient descent, as PyTorch has them.
//!
//! Kingma and Ba (2015); the decay of weights is added to the gradient. The state is kept as plain arrays in checkpoints, so
//! that a run goes on as if it had not been interrupted.

use burn_tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How weights follow their gradients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OptimizerKind {
    /// Adaptive moments, with β = 0.9 and 0.999.
    Adam,
    /// Stochastic gradient descent.
    Sgd {
        /// How much of the step before goes on.
        momentum: f32,
    },
}

impl OptimizerKind {
    /// # Errors
    /// When the momentum is not from 0 to below 1.
    pub fn check(self) -> Result<()> {
        match self {
            OptimizerKind::Sgd { momentum } if !(0.0..1.0).contains(&momentum) => {
                Err(Error::parameter("momentum", "from 0 to below 1", momentum))
            }
            _ => Ok(()),
        }
    }
}

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// What an optimizer remembers of one parameter: the momentum, and for Adam the mean of the squares too.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    pub(super) first: Option<Tensor<1>>,
    pub(super) second: Option<Tensor<1>>,
}

/// Memories of all trained parameters and the number of steps.
#[derive(Debug, Clone)]
pub(super) struct Optimizer {
    pub(super) kind: OptimizerKind,
    pub(super) weight_decay: f32,
    pub(super) memories: Vec<Memory>,
    pub(super) steps: u64,
}

impl Optimizer {
    pub(super) fn new(kind: OptimizerKind, weight_decay: f32, parameters: usize) -> Self {
        Self { kind, weight_decay, memories: vec![Memory::default(); parameters], steps: 0 }
    }

    /// Counts a step; the updates of all parameters follow.
    pub(super) fn begin_step(&mut self) {
        self.steps += 1;
    }

    /// The parameter at `index` after a step.
    pub(super) fn update(
        &mut self,
        index: usize,
        weights: Tensor<1>,
        gradient: Tensor<1>,
        rate: f32,
    ) -> Tensor<1> {
        let gradient =
            if self.weight_decay > 0.0 { gradient + weights.clone() * self.weight_decay } else { gradient };
        let memory = &mut self.memories[index];
        match self.kind {
            OptimizerKind::Sgd { momentum } => {
                let step = match memory.first.take() {
                    Some(before) => before * momentum + gradient,
                    None => gradient,
                };
                memory.first = (momentum > 0.0).then(|| step.clone());
                weights - step * rate
            }
            OptimizerKind::Adam => {
                let steps = self.steps as f64;
                let blend = |before: Option<Tensor<1>>, new: Tensor<1>, beta: f64| match before {
                    Some(before) => before * beta + new * (1.0 - beta),
                    None => new * (1.0 - beta),
                };
                let first = blend(memory.first.take(), gradient.clone(), BETA1);
                let second = blend(memory.second.take(), gradient.square(), BETA2);
                let (bias1, bias2) = (1.0 - BETA1.powf(steps), 1.0 - BETA2.powf(steps));
                let scale = (second.clone().sqrt() / bias2.sqrt()) + EPSILON;
                let step = first.clone() / scale * (f64::from(rate) / bias1);
                (memory.first, memory.second) = (Some(first), Some(second));
                weights - step
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burn_tensor::Device;

    use super::*;

    /// Three steps on f(w) = w²/2 from w = 1, by hand from the definitions: PyTorch's `torch.optim` gives the same.
    #[test]
    fn steps_are_those_of_the_definitions() {
        let run = |kind, weight_decay| {
            let mut optimizer = Optimizer::new(kind, weight_decay, 1);
            let mut weights = Tensor::<1>::from_floats([1.0], &Device::flex());
            for _ in 0..3 {
                optimizer.begin_step();
                weights = optimizer.update(0, weights.clone(), weights, 0.1);
            }
            weights.into_scalar::<f32>()
        };
        // w₁ = 0.9, v₁ = 1; v₂ = 0.9 + 0.9 = 1.8, w₂ = 0.72; v₃ = 1.62 + 0.72 = 2.34, w₃ = 0.486.
        assert!((run(OptimizerKind::Sgd { momentum: 0.9 }, 0.0) - 0.486).abs() < 1e-6);
        assert!((run(OptimizerKind::Sgd { momentum: 0.0 }, 0.5) - 0.85_f32.powi(3)).abs() < 1e-6);
        // Adam's first steps are of length 0.1 almost exactly, whatever the gradient; the sum was taken in double precision.
        assert!((run(OptimizerKind::Adam, 0.0) - adam_in_double()).abs() < 1e-5);
    }

    fn adam_in_double() -> f32 {
        let (mut w, mut m, mut v) = (1.0_f64, 0.0_f64, 0.0_f64);
        for t in 1..=3 {
            m = 0.9 * m + 0.1 * w;
            v = 0.999 * v + 0.001 * w * w;
            let (m_hat, v_hat) = (m / (1.0 - 0.9_f64.powi(t)), v / (1.0 - 0.999_f64.powi(t)));
            w -= 0.1 * m_hat / (v_hat.sqrt() + 1e-8);
        }
        w as f32
    }
}
