//! What an attack makes large.

use std::str::FromStr;

use burn_tensor::{Device, Int, Tensor, TensorData, activation};
use serde::{Deserialize, Serialize};

use crate::error::named;
use crate::{Error, Result};

/// The loss that an attack climbs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// −log of the probability of the true class.
    #[default]
    CrossEntropy,
    /// The largest other output minus that of the true class (Carlini and Wagner 2017).
    Margin,
}

impl Objective {
    /// All losses.
    pub const ALL: [Self; 2] = [Self::CrossEntropy, Self::Margin];

    /// The word that is typed for it.
    pub fn name(self) -> &'static str {
        match self {
            Objective::CrossEntropy => "cross-entropy",
            Objective::Margin => "margin",
        }
    }
}

impl FromStr for Objective {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        named("loss", text, &Self::ALL, Self::name)
    }
}

/// Classes on a device, `[n, 1]`.
pub(crate) fn class_column(labels: &[usize], device: &Device) -> Tensor<2, Int> {
    let labels: Vec<i64> = labels.iter().map(|&label| label as i64).collect();
    let rows = labels.len();
    Tensor::from_data(TensorData::new(labels, [rows, 1]), device)
}

impl Objective {
    /// One loss a sample, `[n, 1]`.
    pub(crate) fn losses(self, outputs: Tensor<2>, labels: Tensor<2, Int>) -> Tensor<2> {
        match self {
            Objective::CrossEntropy => cross_entropy(outputs, labels),
            Objective::Margin => {
                let truth = outputs.clone().gather(1, labels.clone());
                largest_other(outputs, labels) - truth
            }
        }
    }

    /// The sum over the batch, whose gradient by a sample is that of the sample's own loss.
    pub(crate) fn sum(self, outputs: Tensor<2>, labels: Tensor<2, Int>) -> Tensor<1> {
        self.losses(outputs, labels).sum()
    }
}

/// −log softmax at the class, `[n, 1]`.
pub(crate) fn cross_entropy(outputs: Tensor<2>, labels: Tensor<2, Int>) -> Tensor<2> {
    activation::log_softmax(outputs, 1).gather(1, labels).neg()
}

/// The largest output that is not of the class, `[n, 1]`.
fn largest_other(outputs: Tensor<2>, labels: Tensor<2, Int>) -> Tensor<2> {
    let [rows, _] = outputs.dims();
    let low = outputs.clone().inner().zeros_like().scatter(
        1,
        labels,
        Tensor::full([rows, 1], f32::MAX, &outputs.clone().inner().device()),
        burn_tensor::IndexingUpdateOp::Add,
    );
    (outputs - low).max_dim(1)
}

/// The output of the true class minus the largest other: negative exactly where the class is not predicted.
///
/// Of equal outputs the lower class is predicted, so a tie with a lower class counts as a hair below zero.
pub(crate) fn margin(outputs: &[f32], label: usize) -> f32 {
    let mut largest = f32::NEG_INFINITY;
    let mut tied_below = false;
    for (class, &value) in outputs.iter().enumerate().filter(|&(class, _)| class != label) {
        tied_below |= class < label && value == outputs[label];
        largest = largest.max(value);
    }
    let margin = outputs[label] - largest;
    if margin == 0.0 && tied_below { -f32::MIN_POSITIVE } else { margin }
}

/// The class of the largest output; the first of equal ones.
pub(crate) fn predicted(outputs: &[f32]) -> usize {
    let mut best = 0;
    for (class, value) in outputs.iter().enumerate() {
        if *value > outputs[best] {
            best = class;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_negative_exactly_where_the_prediction_is_wrong() {
        for outputs in [[1.0, 2.0, 0.5], [2.0, 2.0, 2.0], [0.0, 3.0, 3.0]] {
            for label in 0..3 {
                assert_eq!(
                    margin(&outputs, label) < 0.0,
                    predicted(&outputs) != label,
                    "{outputs:?} {label}"
                );
            }
        }
        assert_eq!(margin(&[1.0, 4.0, 2.5], 1), 1.5);
    }

    #[test]
    fn losses_are_those_of_the_definitions() {
        let device = Device::flex();
        let outputs = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, -1.0, -3.0]], &device);
        let labels = class_column(&[2, 1], &device);
        let margins: Vec<f32> =
            Objective::Margin.losses(outputs.clone(), labels.clone()).try_into_vec_as().unwrap();
        assert_eq!(margins, [-2.0, 1.0]);
        let entropies: Vec<f32> = Objective::CrossEntropy.losses(outputs, labels).try_into_vec_as().unwrap();
        // −4 + log(e + e² + e⁴) and 1 + log(1 + e⁻¹ + e⁻³).
        for (got, expected) in entropies.iter().zip([0.169_846_f32, 1.349_012]) {
            assert!((got - expected).abs() < 1e-5, "{entropies:?}");
        }
    }
}
