//! A network that learns: parameters on a device, changed by one batch at a time.

use std::sync::Arc;

use burn_tensor::{Device, Int, Tensor, activation};

use super::optimizer::Optimizer;
use crate::attack::cross_entropy;
use crate::device::Compute;
use crate::network::{BatchStatistics, Frozen, Layers, Mode, Network, Tensors, to_host};

/// How much of a batch goes into the running statistics, as in PyTorch.
const MOMENTUM: f64 = 0.1;

/// A network in training. It is run as it is for others only through [`Trainee::frozen`].
#[derive(Debug, Clone)]
pub(super) struct Trainee {
    network: Arc<Network>,
    tensors: Tensors,
    device: Device,
}

/// What a batch should give.
pub(super) enum Targets {
    /// One class per sample, `[n, 1]`.
    Classes(Tensor<2, Int>),
    /// One class per sample, with weights.
    Weighted(Box<(Tensor<2, Int>, Tensor<2>)>),
    /// Probabilities of a teacher, `[n, classes]`.
    Soft(Tensor<2>),
}

impl Trainee {
    pub(super) fn new(network: &Network, compute: &Compute) -> Self {
        let device = compute.device().clone();
        Self { network: Arc::new(network.clone()), tensors: network.upload(compute), device }
    }

    /// The network with the values that are on the device.
    pub(super) fn current(&self) -> Network {
        let values = self.tensors.iter().map(|tensor| to_host(tensor.clone())).collect();
        (*self.network).clone().with_values(values).expect("the shapes are those of the network")
    }

    /// The network as it is now, which can only be run.
    pub(super) fn frozen(&self) -> Frozen {
        Frozen::computing(Layers::new(self.network.clone(), self.tensors.clone()), self.device.clone())
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    /// One step on a batch: the mean loss and the outputs before the step.
    pub(super) fn learn(
        &mut self,
        rows: Tensor<2>,
        targets: Targets,
        temperature: f32,
        optimizer: &mut Optimizer,
        rate: f32,
    ) -> (f32, Vec<f32>) {
        let trained: Vec<bool> =
            self.network.parameters().iter().map(|parameter| parameter.trained).collect();
        let leaves: Tensors = self
            .tensors
            .iter()
            .zip(&trained)
            .map(|(tensor, &trained)| {
                let tensor = tensor.clone().autodiff();
                if trained { tensor.require_grad() } else { tensor }
            })
            .collect();
        let mut statistics = Vec::new();
        let outputs = self.network.forward(&leaves, rows.inner().autodiff(), Mode::Batch(&mut statistics));
        let loss = mean_loss(outputs.clone() / temperature, targets);
        let mut gradients = loss.backward();
        let changes = leaves.iter().enumerate().filter(|&(index, _)| trained[index]);
        // A parameter that nothing depends on has no gradient and stays as it is.
        let changes =
            changes.filter_map(|(index, leaf)| Some((index, leaf.grad_remove(&mut gradients)?))).collect();
        optimizer.step(&mut self.tensors, changes, rate);
        self.follow(statistics);
        (to_host(loss)[0], to_host(outputs))
    }

    /// Moves the running statistics towards those of the batch.
    fn follow(&mut self, statistics: Vec<BatchStatistics>) {
        for BatchStatistics { layer, mean, variance } in statistics {
            let places = &self.network.layers()[layer].parameters;
            for (place, new) in [(places[2], mean), (places[3], variance)] {
                self.tensors[place] = self.tensors[place].clone() * (1.0 - MOMENTUM) + new * MOMENTUM;
            }
        }
    }
}

fn mean_loss(outputs: Tensor<2>, targets: Targets) -> Tensor<1> {
    match targets {
        Targets::Classes(labels) => cross_entropy(outputs, labels).mean(),
        Targets::Weighted(weighted) => {
            let (labels, weights) = *weighted;
            (cross_entropy(outputs, labels) * weights).mean()
        }
        Targets::Soft(probabilities) => {
            let [rows, _] = outputs.dims();
            (activation::log_softmax(outputs, 1) * probabilities).sum().neg() / rows as f64
        }
    }
}
