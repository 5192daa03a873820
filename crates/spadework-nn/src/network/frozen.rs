//! A network that is only run, from any source.

use std::fmt::Debug;
use std::sync::Arc;

use burn_tensor::{Device, Tensor, TensorData, activation};

use super::Network;
use super::forward::Layers;
use crate::device::Compute;
use crate::{Error, Result};

/// Samples that are run at once where only their outputs are asked for.
const BATCH: usize = 500;

/// Something that gives outputs, and gradients, because all it does to a sample are operations on tensors.
pub(crate) trait Computation: Debug + Send + Sync {
    /// The shape of one sample.
    fn input_shape(&self) -> &[usize];

    /// Values of one output.
    fn classes(&self) -> usize;

    /// Outputs `[n, classes]` of samples `[n, values]`; of each sample by itself.
    fn forward(&self, samples: Tensor<2>) -> Tensor<2>;
}

/// Probabilities in place of the values before the softmax.
#[derive(Debug)]
struct Softmax(Arc<dyn Computation>);

impl Computation for Softmax {
    fn input_shape(&self) -> &[usize] {
        self.0.input_shape()
    }

    fn classes(&self) -> usize {
        self.0.classes()
    }

    fn forward(&self, samples: Tensor<2>) -> Tensor<2> {
        activation::softmax(self.0.forward(samples), 1)
    }
}

/// A network on a device that is only run: only such networks can be attacked, evaluated and scored.
#[derive(Debug, Clone)]
pub struct Frozen {
    computation: Arc<dyn Computation>,
    device: Device,
}

impl Frozen {
    /// Puts a network on a device.
    pub fn new(network: &Network, compute: &Compute) -> Self {
        let layers = Layers::new(Arc::new(network.clone()), network.upload(compute));
        Self::computing(layers, compute.device().clone())
    }

    /// The same network with a softmax at its end: its outputs are probabilities. (Readers of files leave a final softmax out, since
    /// gradients of probabilities vanish where the network is sure.)
    #[must_use]
    pub fn with_softmax(&self) -> Self {
        Self::computing(Softmax(Arc::clone(&self.computation)), self.device.clone())
    }

    /// Something that computes on this device.
    pub(crate) fn computing(computation: impl Computation + 'static, device: Device) -> Self {
        Self { computation: Arc::new(computation), device }
    }

    /// The shape of one sample, such as `[channels, height, width]` or `[values]`.
    pub fn input_shape(&self) -> &[usize] {
        self.computation.input_shape()
    }

    /// Values of one sample.
    pub fn input_size(&self) -> usize {
        self.input_shape().iter().product()
    }

    /// Values of one output.
    pub fn classes(&self) -> usize {
        self.computation.classes()
    }

    /// That samples of this many values are such as the network takes.
    pub(crate) fn check_size(&self, got: usize) -> Result<()> {
        let (expected, shape) = (self.input_size(), self.input_shape().to_vec());
        if got == expected { Ok(()) } else { Err(Error::InputSize { expected, shape, got }) }
    }

    /// The outputs of the rows in `samples`; for a classifier, the values before the softmax.
    ///
    /// # Errors
    /// When `samples` does not contain whole rows of the network's input size.
    pub fn outputs(&self, samples: &[f32]) -> Result<Vec<f32>> {
        let size = self.input_size();
        if samples.is_empty() || !samples.len().is_multiple_of(size) {
            let shape = self.input_shape().to_vec();
            return Err(Error::InputSize { expected: size, shape, got: samples.len() });
        }
        let mut outputs = Vec::with_capacity(samples.len() / size * self.classes());
        for batch in samples.chunks(BATCH * size) {
            outputs.extend(to_host(self.forward(self.rows(batch))));
        }
        Ok(outputs)
    }

    /// Samples on the device.
    pub(crate) fn rows(&self, samples: &[f32]) -> Tensor<2> {
        let size = self.input_size();
        let rows = samples.len() / size;
        Tensor::from_data(TensorData::new(samples.to_vec(), [rows, size]), &self.device)
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn forward(&self, samples: Tensor<2>) -> Tensor<2> {
        self.computation.forward(samples)
    }

    /// The outputs, and the gradient of a sum over them by the samples; zero where it is not finite, so that no step follows it.
    pub(crate) fn input_gradient(
        &self,
        samples: Tensor<2>,
        sum: impl FnOnce(Tensor<2>) -> Tensor<1>,
    ) -> (Tensor<2>, Tensor<2>) {
        let samples = samples.inner().autodiff().require_grad();
        let outputs = self.forward(samples.clone());
        let mut gradients = sum(outputs.clone()).backward();
        let gradient = samples.grad_remove(&mut gradients).unwrap_or_else(|| samples.inner().zeros_like());
        let lost = gradient.clone().is_finite().bool_not();
        (outputs.inner(), gradient.mask_fill(lost, 0.0))
    }
}

/// Values of a tensor, row by row.
///
/// # Panics
/// When the device cannot be read; there is no going on without it.
pub(crate) fn to_host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.inner().try_into_vec_as::<f32>().expect("a tensor of floats can be read")
}
