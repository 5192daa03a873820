//! What an attack increases.

use std::str::FromStr;

use burn_tensor::{Device, Int, Tensor, TensorData, activation};
use serde::{Deserialize, Serialize};

use crate::error::named;
use crate::network::to_host;
use crate::{Error, Result};

/// The loss that an attack increases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// −log of the probability of the true class.
    #[default]
    CrossEntropy,
    /// The largest other output minus that of the true class (Carlini and Wagner 2017).
    Margin,
    /// The difference of logits ratio: the margin as a share of the largest output minus the third (Croce and Hein 2020). It does not
    /// depend on the scale of the outputs. With large outputs, the gradient of the cross entropy vanishes.
    Dlr,
}

impl Objective {
    /// All losses.
    pub const ALL: [Self; 3] = [Self::CrossEntropy, Self::Margin, Self::Dlr];

    /// Its word in options.
    pub fn name(self) -> &'static str {
        match self {
            Objective::CrossEntropy => "cross-entropy",
            Objective::Margin => "margin",
            Objective::Dlr => "dlr",
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

/// The true classes, and the classes that outputs are driven to, where an attack has targets.
#[derive(Debug, Clone)]
pub(crate) struct Rivals {
    labels: Tensor<2, Int>,
    targets: Option<Tensor<2, Int>>,
}

impl From<Tensor<2, Int>> for Rivals {
    fn from(labels: Tensor<2, Int>) -> Self {
        Self { labels, targets: None }
    }
}

impl Rivals {
    pub(crate) fn of_labels(labels: &[usize], device: &Device) -> Self {
        class_column(labels, device).into()
    }

    pub(crate) fn with_targets(self, targets: &[usize], device: &Device) -> Self {
        Self { targets: Some(class_column(targets, device)), ..self }
    }

    pub(crate) fn select(&self, places: &Tensor<1, Int>) -> Self {
        let pick = |classes: &Tensor<2, Int>| classes.clone().select(0, places.clone());
        Self { labels: pick(&self.labels), targets: self.targets.as_ref().map(pick) }
    }
}

impl Objective {
    /// One loss per sample, `[n, 1]`.
    pub(crate) fn losses(self, outputs: Tensor<2>, rivals: &Rivals) -> Tensor<2> {
        match self {
            Objective::CrossEntropy => cross_entropy(outputs, rivals.labels.clone()),
            Objective::Margin => rise(outputs, rivals),
            Objective::Dlr => match spread(&outputs, rivals.targets.is_some()) {
                Some(spread) => rise(outputs, rivals) / (spread + 1e-12),
                None => rise(outputs, rivals),
            },
        }
    }

    /// The sum over the batch, whose gradient by a sample is that of the sample's own loss.
    pub(crate) fn sum(self, outputs: Tensor<2>, rivals: &Rivals) -> Tensor<1> {
        self.losses(outputs, rivals).sum()
    }
}

/// The output of the target, or else the largest other, minus that of the true class, `[n, 1]`.
fn rise(outputs: Tensor<2>, rivals: &Rivals) -> Tensor<2> {
    let truth = outputs.clone().gather(1, rivals.labels.clone());
    let rival = match &rivals.targets {
        Some(targets) => outputs.gather(1, targets.clone()),
        None => largest_other(outputs, rivals.labels.clone()),
    };
    rival - truth
}

/// What DLR divides by, `[n, 1]`: the largest output minus the third, and where there are targets minus the mean of the third and
/// the fourth. None where there are fewer classes: then the margin is taken as it is.
fn spread(outputs: &Tensor<2>, targeted: bool) -> Option<Tensor<2>> {
    let [_, classes] = outputs.dims();
    if classes < if targeted { 4 } else { 3 } {
        return None;
    }
    let orders: Vec<Vec<usize>> = to_host(outputs.clone()).chunks(classes).map(descending).collect();
    let ranked = |rank: usize| {
        let classes: Vec<usize> = orders.iter().map(|order| order[rank]).collect();
        outputs.clone().gather(1, class_column(&classes, &outputs.device()))
    };
    let low = if targeted { (ranked(2) + ranked(3)) * 0.5 } else { ranked(2) };
    Some(ranked(0) - low)
}

/// The classes by their outputs, largest first; equal ones in order.
pub(crate) fn descending(outputs: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..outputs.len()).collect();
    order.sort_by(|&a, &b| outputs[b].total_cmp(&outputs[a]));
    order
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
/// Of equal outputs the lower class is predicted, so a tie with a lower class counts as a hair below zero. Not a number where an
/// output is none: then no class is predicted.
pub(crate) fn margin(outputs: &[f32], label: usize) -> f32 {
    if outputs.iter().any(|value| value.is_nan()) {
        return f32::NAN;
    }
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
        assert!(margin(&[1.0, f32::NAN], 0).is_nan());
    }

    #[test]
    fn losses_are_those_of_the_definitions() {
        let device = Device::flex();
        let outputs = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, -1.0, -3.0]], &device);
        let labels = Rivals::of_labels(&[2, 1], &device);
        let margins: Vec<f32> = Objective::Margin.losses(outputs.clone(), &labels).try_into_vec_as().unwrap();
        assert_eq!(margins, [-2.0, 1.0]);
        let entropies: Vec<f32> =
            Objective::CrossEntropy.losses(outputs.clone(), &labels).try_into_vec_as().unwrap();
        // −4 + log(e + e² + e⁴) and 1 + log(1 + e⁻¹ + e⁻³).
        for (got, expected) in entropies.iter().zip([0.169_846_f32, 1.349_012]) {
            assert!((got - expected).abs() < 1e-5, "{entropies:?}");
        }
        // (2 − 4) / (4 − 1) and (0 + 1) / (0 + 3).
        let ratios = to_host(Objective::Dlr.losses(outputs.clone(), &labels));
        assert!(
            ratios.iter().zip([-2.0 / 3.0, 1.0 / 3.0]).all(|(got, expected)| (got - expected).abs() < 1e-6)
        );
        // With three classes a targeted one is not divided: 1 − 4 and −3 + 1.
        let toward = labels.with_targets(&[0, 2], &device);
        assert_eq!(to_host(Objective::Dlr.losses(outputs, &toward)), [-3.0, -2.0]);
        // (3 − 7) / (7 − (3 + 1) / 2).
        let outputs = Tensor::<2>::from_floats([[7.0, 1.0, 5.0, 3.0]], &device);
        let toward = Rivals::of_labels(&[0], &device).with_targets(&[3], &device);
        assert!((to_host(Objective::Dlr.losses(outputs, &toward))[0] + 4.0 / 5.0).abs() < 1e-6);
    }
}
