//! Layers that libtorch differentiates by itself.
//!
//! Burn differentiates a layer in the same way for all backends, by their forward operations. The gradient of a convolution's
//! weights becomes a convolution with a kernel as large as the images, many times slower than the special kernel of libtorch,
//! and a batch norm takes twenty passes over the images. Here a layer is one node of Burn's graph. It contains a graph of
//! libtorch, which is kept for the backward pass.

#![expect(deprecated, reason = "the backend of Burn is; see docs/decisions/017-networks.md")]

use burn_dispatch::backends::autodiff::checkpoint::base::Checkpointer;
use burn_dispatch::backends::autodiff::checkpoint::strategy::NoCheckpointing;
use burn_dispatch::backends::autodiff::grads::Gradients;
use burn_dispatch::backends::autodiff::ops::{Backward, Ops, OpsKind};
use burn_dispatch::backends::libtorch::TchTensor;
use burn_dispatch::backends::{Autodiff, LibTorch};
use burn_tensor::{BackendPrimitive, Float, Tensor};

/// A tensor of Burn's graph whose values libtorch holds.
type InGraph = <Float as BackendPrimitive<Autodiff<LibTorch>>>::Primitive;

/// The convolution, if it is on libtorch and its weights learn. The way back to the images alone is as good through Burn.
pub(super) fn convolution(
    x: &Tensor<4>,
    weight: &Tensor<4>,
    bias: &Tensor<1>,
    stride: [usize; 2],
    padding: [usize; 2],
) -> Option<Tensor<4>> {
    let [stride, padding] = [stride, padding].map(|both| both.map(|one| one as i64));
    let inputs = [in_graph(x)?, in_graph(weight)?, in_graph(bias)?];
    if !inputs[1].is_tracked() {
        return None;
    }
    let y = as_node(&inputs, |[x, weight, bias]| x.conv2d(weight, Some(bias), stride, padding, [1, 1], 1));
    Some(Tensor::from_primitive::<Autodiff<LibTorch>>(y))
}

/// A batch norm by the statistics of the batch, if it is on libtorch: the output, the mean and the unbiased variance, which needs
/// two values a channel.
pub(super) fn normalize_by_batch<const D: usize>(
    x: &Tensor<D>,
    scale: &Tensor<1>,
    shift: &Tensor<1>,
    epsilon: f64,
) -> Option<(Tensor<D>, [Tensor<1>; 2])> {
    let inputs = [in_graph(x)?, in_graph(scale)?, in_graph(shift)?];
    // Running statistics that keep nothing of what they were are those of the batch.
    let [mean, variance] = [(); 2].map(|()| inputs[1].primitive().tensor.zeros_like());
    let y = as_node(&inputs, |[x, scale, shift]| {
        x.batch_norm(Some(scale), Some(shift), Some(&mean), Some(&variance), true, 1.0, epsilon, true)
    });
    let statistics =
        [mean, variance].map(|values| Tensor::from_primitive::<LibTorch>(TchTensor::new(values)));
    Some((Tensor::from_primitive::<Autodiff<LibTorch>>(y), statistics))
}

fn in_graph<const D: usize>(tensor: &Tensor<D>) -> Option<InGraph> {
    tensor.clone().try_into_primitive::<Autodiff<LibTorch>>().ok()
}

/// What libtorch computes of tensors, as one node of Burn's graph.
///
/// Burn may overwrite the output afterwards, so `compute` must not be of those whose gradient is found from their output.
fn as_node<const N: usize>(
    inputs: &[InGraph; N],
    compute: impl FnOnce([&tch::Tensor; N]) -> tch::Tensor,
) -> InGraph {
    let leaves = inputs.each_ref().map(leaf);
    let output = compute(leaves.each_ref().map(|leaf| &leaf.tensor));
    let values = TchTensor::new(output.detach());
    match ByLibtorch
        .prepare::<NoCheckpointing>(inputs.each_ref().map(InGraph::node))
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(prepared) => {
            prepared.finish(Kept { leaves, output: TchTensor::new(output) }, values)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(values),
    }
}

/// The same values as a leaf of a graph of libtorch.
fn leaf(input: &InGraph) -> TchTensor {
    let TchTensor { tensor, storage } = input.primitive();
    // By sharing the count of owners: Burn overwrites what has only one, and these values are needed on the way back.
    TchTensor { tensor: tensor.detach().set_requires_grad(input.is_tracked()), storage: storage.clone() }
}

#[derive(Debug)]
struct ByLibtorch;

/// Both ends of a graph of libtorch.
#[derive(Debug, Clone)]
struct Kept<const N: usize> {
    leaves: [TchTensor; N],
    output: TchTensor,
}

impl<const N: usize> Backward<LibTorch, N> for ByLibtorch {
    type State = Kept<N>;

    fn backward(self, ops: Ops<Kept<N>, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<LibTorch>(&ops.node);
        let Kept { leaves, output } = ops.state;
        let wanted =
            ops.parents.into_iter().zip(leaves).filter_map(|(node, leaf)| Some((node?, leaf.tensor)));
        let (nodes, leaves): (Vec<_>, Vec<_>) = wanted.unzip();
        // The bindings only go back from a number. This one has the given gradient by the output, whatever it is itself.
        let number = (output.tensor * gradient.tensor).sum(tch::Kind::Float);
        for (node, found) in nodes.iter().zip(tch::Tensor::run_backward(&[number], &leaves, false, false)) {
            gradients.register::<LibTorch>(node.id, TchTensor::new(found));
        }
    }
}

#[cfg(test)]
mod tests {
    use burn_tensor::module::{batch_norm_train, conv2d};
    use burn_tensor::ops::ConvOptions;
    use burn_tensor::{TensorData, activation};

    use super::*;
    use crate::Compute;
    use crate::network::to_host;

    const STRIDE: [usize; 2] = [2, 1];
    const PADDING: [usize; 2] = [1, 2];

    fn waves<const D: usize>(shape: [usize; D], pitch: f32, device: &str) -> Tensor<D> {
        let count = shape.iter().product::<usize>();
        let values = (0..count).map(|at| (at as f32 * pitch).sin()).collect();
        let compute = Compute::choose(device).unwrap();
        Tensor::from_data(TensorData::new::<f32, _>(values, shape), compute.device())
    }

    /// Gradients of a sum over what follows a layer, by its images and its two parameters.
    fn gradients<const W: usize>(
        device: &str,
        weight: [usize; W],
        apply: impl FnOnce(Tensor<4>, Tensor<W>, Tensor<1>) -> Tensor<4>,
    ) -> [Vec<f32>; 3] {
        let x = waves([3, 2, 7, 6], 0.7, device).autodiff().require_grad();
        let bias = waves([weight[0]], 2.1, device).autodiff().require_grad();
        let weight = waves(weight, 1.3, device).autodiff().require_grad();
        let images = x.clone() * 1.0;
        // Both of what follows overwrite the tensor that they are given where it has no other owner.
        let y = activation::relu(apply(images.clone(), weight.clone(), bias.clone()));
        let beside = images + 1.0;
        let factors = waves(y.dims(), 0.3, device).autodiff();
        let mut found = ((y * factors).sum() + beside.sum()).backward();
        [
            to_host(x.grad_remove(&mut found).unwrap()),
            to_host(weight.grad_remove(&mut found).unwrap()),
            to_host(bias.grad_remove(&mut found).unwrap()),
        ]
    }

    fn assert_near(ours: &[f32], theirs: &[f32]) {
        assert_eq!(ours.len(), theirs.len());
        for (one, other) in ours.iter().zip(theirs) {
            assert!((one - other).abs() < 1e-4, "{one} {other}");
        }
    }

    /// Sums of at most 252 products of numbers up to 1, in another order.
    #[test]
    fn gradients_of_a_convolution_are_those_of_the_cpu() {
        let ours = gradients("torch", [4, 2, 3, 2], |x, weight, bias| {
            convolution(&x, &weight, &bias, STRIDE, PADDING).expect("these tensors are on libtorch")
        });
        let theirs = gradients("cpu", [4, 2, 3, 2], |x, weight, bias| {
            assert!(convolution(&x, &weight, &bias, STRIDE, PADDING).is_none());
            conv2d(x, weight, Some(bias), ConvOptions::new(STRIDE, PADDING, [1, 1], 1))
        });
        ours.iter().zip(&theirs).for_each(|(ours, theirs)| assert_near(ours, theirs));
    }

    /// Means of 126 numbers of size 1, in another order.
    #[test]
    fn batch_norms_are_those_of_the_cpu() {
        let [mut ours, mut theirs] = [(); 2].map(|()| Vec::new());
        let ours_by = gradients("torch", [2], |x, scale, shift| {
            let (y, statistics) = normalize_by_batch(&x, &scale, &shift, 1e-5).expect("they are on libtorch");
            ours.extend(statistics.map(to_host));
            y
        });
        let theirs_by = gradients("cpu", [2], |x, scale, shift| {
            assert!(normalize_by_batch(&x, &scale, &shift, 1e-5).is_none());
            let normalized = batch_norm_train(x, scale, shift, 1e-5);
            theirs.extend([to_host(normalized.mean), to_host(normalized.variance * (126.0 / 125.0))]);
            normalized.output
        });
        ours.iter().chain(&ours_by).zip(theirs.iter().chain(&theirs_by)).for_each(|(a, b)| assert_near(a, b));
    }

    /// The input of the first layer has no gradient, and a layer that does not learn is left to Burn.
    #[test]
    fn only_what_is_asked_for_gets_a_gradient() {
        let x = waves([1, 1, 5, 5], 0.7, "torch").autodiff();
        let weight = Tensor::<4>::zeros([3, 1, 3, 3], &x.device()).require_grad();
        let bias = waves([3], 2.1, "torch").autodiff();
        let y = convolution(&x, &weight, &bias, [1, 1], [0, 0]).unwrap();
        let mut found = y.sum().backward();
        // The last weight of each kernel has seen the lower right 3 x 3 pixels.
        let seen = to_host(x.clone().slice([0..1, 0..1, 2..5, 2..5]).sum())[0];
        let gradient = to_host(weight.grad_remove(&mut found).unwrap());
        assert!(gradient.chunks(9).all(|kernel| (kernel[8] - seen).abs() < 1e-5), "{gradient:?} {seen}");
        assert!(x.grad_remove(&mut found).is_none() && bias.grad_remove(&mut found).is_none());
        assert!(convolution(&x, &weight.inner().autodiff(), &bias, [1, 1], [0, 0]).is_none());
    }
}
