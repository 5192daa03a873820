//! How a network is computed.
//!
//! Batch norm is why there are two ways. In training it uses the statistics of the batch, otherwise those it was trained
//! with. [`Layers`] always use the latter: they have no method that uses or changes other statistics. So an attack, which only
//! accepts frozen networks, cannot run in the wrong mode.

use std::sync::{Arc, OnceLock};

use burn_tensor::module::{avg_pool2d, batch_norm, batch_norm_train, conv2d, linear, max_pool2d};
use burn_tensor::ops::{AvgPoolOptions, ConvOptions, MaxPoolOptions, PadMode};
use burn_tensor::{Tensor, TensorData, activation};

use super::Computation;
use super::fold::Folded;
#[cfg(feature = "libtorch")]
use super::libtorch;
use super::{Network, Operation, Source, Window};
use crate::device::Compute;

/// The values of a network's parameters on a device, flat, in the order of [`Network::parameters`].
pub(crate) type Tensors = Vec<Tensor<1>>;

/// Mean and variance of one batch, for the layer at `layer`.
pub(crate) struct BatchStatistics {
    pub(crate) layer: usize,
    pub(crate) mean: Tensor<1>,
    /// Unbiased, as running statistics are kept.
    pub(crate) variance: Tensor<1>,
}

/// Which statistics normalize.
pub(crate) enum Mode<'a> {
    /// Those that the network was trained with. Marked layers are already folded into others.
    Running(&'a [bool]),
    /// Those of the batch, which are stored here.
    Batch(&'a mut Vec<BatchStatistics>),
}

/// What flows between layers.
#[derive(Clone)]
enum Value {
    Rows(Tensor<2>),
    Images(Tensor<4>),
}

impl Network {
    /// The parameters on a device.
    pub(crate) fn upload(&self, compute: &Compute) -> Tensors {
        let tensor = |values: &Vec<f32>| {
            Tensor::from_data(TensorData::new(values.clone(), [values.len()]), compute.device())
        };
        self.parameters.iter().map(|parameter| tensor(&parameter.values)).collect()
    }

    /// Outputs `[n, classes]` of samples `[n, values]`.
    pub(crate) fn forward(&self, tensors: &[Tensor<1>], samples: Tensor<2>, mut mode: Mode<'_>) -> Tensor<2> {
        let mut uses = self.uses();
        let mut values: Vec<Option<Value>> = Vec::with_capacity(self.layers.len());
        let input = self.shaped(samples);
        for (index, layer) in self.layers.iter().enumerate() {
            // The last one to use a value takes it, so that it can be overwritten.
            let mut take = |source: &Source| match *source {
                Source::Input => input.clone(),
                Source::Layer(at) => {
                    uses[at] -= 1;
                    let value = if uses[at] == 0 { values[at].take() } else { values[at].clone() };
                    value.expect("a layer only uses earlier ones")
                }
            };
            let first = take(&layer.inputs[0]);
            let second = layer.inputs.get(1).map(take);
            let mine: Vec<Tensor<1>> = layer.parameters.iter().map(|&at| tensors[at].clone()).collect();
            values.push(Some(self.apply(index, first, second, mine, &mut mode)));
        }
        match values.pop().flatten() {
            Some(Value::Rows(rows)) => rows,
            _ => unreachable!("the last layer of a network gives rows"),
        }
    }

    /// How often each layer's value is used.
    pub(super) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.layers.len()];
        for source in self.layers.iter().flat_map(|layer| &layer.inputs) {
            if let Source::Layer(at) = source {
                uses[*at] += 1;
            }
        }
        uses
    }

    fn shaped(&self, samples: Tensor<2>) -> Value {
        match *self.input_shape.as_slice() {
            [c, h, w] => {
                let [n, _] = samples.dims();
                Value::Images(samples.reshape([n, c, h, w]))
            }
            _ => Value::Rows(samples),
        }
    }

    fn apply(
        &self,
        index: usize,
        value: Value,
        second: Option<Value>,
        parameters: Vec<Tensor<1>>,
        mode: &mut Mode<'_>,
    ) -> Value {
        let layer = &self.layers[index];
        let shape = |at: usize| self.parameters[layer.parameters[at]].shape.as_slice();
        let mut parameters = parameters.into_iter();
        let mut next = || parameters.next().expect("the builder checked the number of parameters");
        match (&layer.operation, value) {
            (_, value) if matches!(mode, Mode::Running(absorbed) if absorbed[index]) => value,
            (Operation::Convolution { stride, padding }, Value::Images(x)) => {
                let weight: [usize; 4] = shape(0).try_into().expect("checked by the builder");
                Value::Images(convolution(x, next().reshape(weight), next(), *stride, *padding))
            }
            (Operation::Linear, Value::Rows(x)) => {
                let weight: [usize; 2] = shape(0).try_into().expect("checked by the builder");
                Value::Rows(linear(x, next().reshape(weight).transpose(), Some(next())))
            }
            (Operation::BatchNorm { epsilon }, value) => {
                let four = [next(), next(), next(), next()];
                match value {
                    Value::Rows(x) => Value::Rows(normalize(x, four, *epsilon, index, mode)),
                    Value::Images(x) => Value::Images(normalize(x, four, *epsilon, index, mode)),
                }
            }
            (Operation::Add, Value::Rows(x)) => match second {
                Some(Value::Rows(y)) => Value::Rows(x + y),
                _ => unreachable!("the builder checked both shapes"),
            },
            (Operation::Add, Value::Images(x)) => match second {
                Some(Value::Images(y)) => Value::Images(x + y),
                _ => unreachable!("the builder checked both shapes"),
            },
            (Operation::Offset, Value::Rows(x)) => Value::Rows(x + next().unsqueeze()),
            (Operation::Scale, Value::Rows(x)) => Value::Rows(x * next().unsqueeze()),
            (Operation::Offset, Value::Images(x)) => Value::Images(x + by_channel(next())),
            (Operation::Scale, Value::Images(x)) => Value::Images(x * by_channel(next())),
            (operation, Value::Rows(x)) => without_parameters_rows(operation, x),
            (operation, Value::Images(x)) => without_parameters_images(operation, x),
        }
    }
}

fn by_channel(values: Tensor<1>) -> Tensor<4> {
    let [channels] = values.dims();
    values.reshape([1, channels, 1, 1])
}

fn without_parameters_rows(operation: &Operation, x: Tensor<2>) -> Value {
    Value::Rows(match operation {
        Operation::Relu => activation::relu(x),
        Operation::Tanh => activation::tanh(x),
        Operation::Flatten => x,
        _ => unreachable!("the builder lets only images come here"),
    })
}

fn without_parameters_images(operation: &Operation, x: Tensor<4>) -> Value {
    Value::Images(match operation {
        Operation::Relu => activation::relu(x),
        Operation::Tanh => activation::tanh(x),
        Operation::MaxPool(window) => {
            let Window { size, stride, padding } = *window;
            max_pool2d(x, MaxPoolOptions::new(size).with_stride(stride).with_padding(padding))
        }
        Operation::AveragePool(window) => {
            let Window { size, stride, padding } = *window;
            avg_pool2d(x, AvgPoolOptions::new(size).with_stride(stride).with_padding(padding))
        }
        Operation::GlobalAveragePool => x.mean_dims(&[2, 3]),
        Operation::Subsample { before, after } => {
            // Windows of one pixel, because libtorch cannot differentiate a slice with steps in every layout.
            let kept = avg_pool2d(x, AvgPoolOptions::new([1, 1]).with_stride([2, 2]));
            kept.pad([(0, 0), (*before, *after), (0, 0), (0, 0)], PadMode::Constant(0.0))
        }
        Operation::Flatten => {
            let [n, c, h, w] = x.dims();
            return Value::Rows(x.reshape([n, c * h * w]));
        }
        _ => unreachable!("the builder lets only rows come here"),
    })
}

/// Cross-correlation without dilation, by libtorch where tensors are its own.
pub(crate) fn convolution(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Tensor<1>,
    stride: [usize; 2],
    padding: [usize; 2],
) -> Tensor<4> {
    #[cfg(feature = "libtorch")]
    if let Some(y) = libtorch::convolution(&x, &weight, &bias, stride, padding) {
        return y;
    }
    conv2d(x, weight, Some(bias), ConvOptions::new(stride, padding, [1, 1], 1))
}

fn normalize<const D: usize>(
    x: Tensor<D>,
    [scale, shift, mean, variance]: [Tensor<1>; 4],
    epsilon: f64,
    layer: usize,
    mode: &mut Mode<'_>,
) -> Tensor<D> {
    match mode {
        Mode::Running(_) => batch_norm(x, scale, shift, mean, variance, epsilon),
        Mode::Batch(written) => {
            let (output, [mean, variance]) = normalize_by_batch(x, scale, shift, epsilon);
            written.push(BatchStatistics { layer, mean, variance });
            output
        }
    }
}

/// Also gives the mean and the unbiased variance.
fn normalize_by_batch<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<1>,
    shift: Tensor<1>,
    epsilon: f64,
) -> (Tensor<D>, [Tensor<1>; 2]) {
    let dims = x.dims();
    let count = dims.iter().product::<usize>() / dims[1];
    #[cfg(feature = "libtorch")]
    if count > 1
        && let Some(normalized) = libtorch::normalize_by_batch(&x, &scale, &shift, epsilon)
    {
        return normalized;
    }
    let normalized = batch_norm_train(x, scale, shift, epsilon);
    let unbiased = count as f64 / (count.max(2) - 1) as f64;
    (normalized.output, [normalized.mean.inner(), normalized.variance.inner() * unbiased])
}

/// A network with its parameters on a device.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Layers and shapes; its values may be older than those on the device.
    network: Arc<Network>,
    tensors: Tensors,
    /// Made when it is first run.
    folded: OnceLock<Folded>,
}

impl Layers {
    pub(crate) fn new(network: Arc<Network>, tensors: Tensors) -> Self {
        Self { network, tensors, folded: OnceLock::new() }
    }
}

impl Computation for Layers {
    fn input_shape(&self) -> &[usize] {
        self.network.input_shape()
    }

    fn classes(&self) -> usize {
        self.network.outputs()
    }

    fn forward(&self, samples: Tensor<2>) -> Tensor<2> {
        let folded = self.folded.get_or_init(|| self.network.fold(&self.tensors));
        self.network.forward(&folded.tensors, samples, Mode::Running(&folded.absorbed))
    }
}
