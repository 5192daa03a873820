//! Folds the batch norms of a network that is no longer trained into the layers before them.
//!
//! With fixed statistics a batch norm is x·s + t by channel, with s = γ/√(σ² + ε) and t = β − μ·s. A convolution or a linear
//! layer with weights W and bias b, followed by a batch norm, equals one with weights W·s and bias b·s + t. An attack runs a
//! network forward and backward many times, so this saves four passes over all images per batch norm.

use burn_tensor::Tensor;

use super::{Network, Operation, Source, Tensors};

/// Parameters with batch norms in them, and which layers they stand for.
#[derive(Debug, Clone)]
pub(super) struct Folded {
    pub(super) tensors: Tensors,
    /// Whether a layer has nothing left to do.
    pub(super) absorbed: Vec<bool>,
}

impl Network {
    /// Folds every batch norm that alone follows a layer with weights; the others stay.
    pub(super) fn fold(&self, tensors: &[Tensor<1>]) -> Folded {
        let uses = self.uses();
        let mut folded = Folded { tensors: tensors.to_vec(), absorbed: vec![false; self.layers.len()] };
        for (index, layer) in self.layers.iter().enumerate() {
            let (Operation::BatchNorm { epsilon }, [Source::Layer(before)]) =
                (&layer.operation, layer.inputs.as_slice())
            else {
                continue;
            };
            let earlier = &self.layers[*before];
            let has_weights = matches!(earlier.operation, Operation::Convolution { .. } | Operation::Linear);
            if !has_weights || uses[*before] > 1 {
                continue;
            }
            let [scale, shift, mean, variance] = [0, 1, 2, 3].map(|at| tensors[layer.parameters[at]].clone());
            let factor = scale / (variance + *epsilon).sqrt();
            let (weight, bias) = (earlier.parameters[0], earlier.parameters[1]);
            folded.tensors[weight] = by_row(tensors[weight].clone(), factor.clone());
            folded.tensors[bias] = (tensors[bias].clone() - mean) * factor + shift;
            folded.absorbed[index] = true;
        }
        folded
    }
}

/// Weights, flat, with those of each output multiplied by its factor.
fn by_row(weight: Tensor<1>, factor: Tensor<1>) -> Tensor<1> {
    let ([values], [rows]) = (weight.dims(), factor.dims());
    (weight.reshape([rows, values / rows]) * factor.reshape([rows, 1])).reshape([values])
}
