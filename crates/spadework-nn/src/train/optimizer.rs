//! Adam and stochastic gradient descent, as PyTorch has them.
//!
//! Kingma and Ba (2015); the decay of weights is added to the gradient. The state is kept as plain arrays in checkpoints, so
//! that a run continues as if it had not been interrupted.

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

/// What an optimizer remembers of the parameters: the momentum, and for Adam the mean of the squares too.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    pub(super) first: Option<Tensor<1>>,
    pub(super) second: Option<Tensor<1>>,
}

/// The memory of all parameters that have gradients, one after the other as one array, and the number of steps.
#[derive(Debug, Clone)]
pub(super) struct Optimizer {
    pub(super) kind: OptimizerKind,
    pub(super) weight_decay: f32,
    pub(super) memory: Memory,
    /// Which parameters these are, in this order; empty before the first step.
    pub(super) parameters: Vec<usize>,
    pub(super) steps: u64,
}

impl Optimizer {
    pub(super) fn new(kind: OptimizerKind, weight_decay: f32) -> Self {
        Self { kind, weight_decay, memory: Memory::default(), parameters: Vec::new(), steps: 0 }
    }

    /// One step: changes the tensors at the places that gradients are given for.
    ///
    /// All of them at once as one array: a GPU takes as long to begin an operation as to do it for a small parameter.
    pub(super) fn step(&mut self, tensors: &mut [Tensor<1>], gradients: Vec<(usize, Tensor<1>)>, rate: f32) {
        self.steps += 1;
        let (places, gradients): (Vec<usize>, Vec<Tensor<1>>) = gradients.into_iter().unzip();
        if places.is_empty() {
            return;
        }
        // What a damaged checkpoint remembers of other parameters is of no use.
        if places != self.parameters {
            self.memory = Memory::default();
        }
        let weights = places.iter().map(|&place| tensors[place].clone()).collect();
        let moved = self.moved(Tensor::cat(weights, 0), Tensor::cat(gradients, 0), rate);
        let mut start = 0;
        for &place in &places {
            let end = start + tensors[place].dims()[0];
            tensors[place] = moved.clone().narrow(0, start, end - start);
            start = end;
        }
        self.parameters = places;
    }

    /// The parameters after a step.
    fn moved(&mut self, weights: Tensor<1>, gradient: Tensor<1>, rate: f32) -> Tensor<1> {
        let gradient =
            if self.weight_decay > 0.0 { gradient + weights.clone() * self.weight_decay } else { gradient };
        let memory = &mut self.memory;
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
            let mut optimizer = Optimizer::new(kind, weight_decay);
            // Of two parameters only the second has a gradient.
            let mut weights = [7.0, 1.0].map(|value| Tensor::<1>::from_floats([value], &Device::flex()));
            for _ in 0..3 {
                let gradient = weights[1].clone();
                optimizer.step(&mut weights, vec![(1, gradient)], 0.1);
            }
            let [other, weight] = weights.map(|weight| weight.into_scalar::<f32>());
            assert_eq!(other, 7.0);
            weight
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
