//! What a layer computes, and the shape it gives.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The step of a network. Its parameters are stored in the network, in the order given here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Operation {
    /// Cross-correlation of images; parameters: weight `[out, in, height, width]`, bias `[out]`.
    Convolution {
        /// Step of the window, down and right.
        stride: [usize; 2],
        /// Zeros around the image: above and below, left and right.
        padding: [usize; 2],
    },
    /// Normalization by channel; parameters: scale, shift and the running mean and variance, `[channels]` each.
    BatchNorm {
        /// Added to the variance.
        epsilon: f64,
    },
    /// x Wᵀ + b; parameters: weight `[out, in]`, bias `[out]`.
    Linear,
    /// max(x, 0).
    Relu,
    /// tanh x.
    Tanh,
    /// The largest value of each window.
    MaxPool(Window),
    /// The mean of each window, including zeros of the padding.
    AveragePool(Window),
    /// The mean of each channel.
    GlobalAveragePool,
    /// An image as one row, channel by channel.
    Flatten,
    /// The sum of two values.
    Add,
    /// x + c, by channel; parameter: c, which is not trained.
    Offset,
    /// x · c, by channel; parameter: c, which is not trained.
    Scale,
    /// Every second pixel, and channels of zeros before and after: the shortcut without weights of He et al. (2016).
    Subsample {
        /// Channels of zeros in front.
        before: usize,
        /// Channels of zeros behind.
        after: usize,
    },
}

/// Windows that are pooled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Height and width.
    pub size: [usize; 2],
    /// Step down and right.
    pub stride: [usize; 2],
    /// Padding above and below, left and right.
    pub padding: [usize; 2],
}

impl Window {
    /// Adjacent squares.
    pub fn square(side: usize) -> Self {
        Self { size: [side; 2], stride: [side; 2], padding: [0; 2] }
    }
}

impl Operation {
    /// The word for it in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Convolution { .. } => "convolution",
            Operation::BatchNorm { .. } => "batch norm",
            Operation::Linear => "linear",
            Operation::Relu => "relu",
            Operation::Tanh => "tanh",
            Operation::MaxPool(_) => "max pool",
            Operation::AveragePool(_) => "average pool",
            Operation::GlobalAveragePool => "global average pool",
            Operation::Flatten => "flatten",
            Operation::Add => "add",
            Operation::Offset => "offset",
            Operation::Scale => "scale",
            Operation::Subsample { .. } => "subsample",
        }
    }

    /// How many values it takes.
    pub(crate) fn inputs(&self) -> usize {
        if *self == Operation::Add { 2 } else { 1 }
    }

    /// The names of its parameters, as PyTorch has them.
    pub(crate) fn parameter_names(&self) -> &'static [&'static str] {
        match self {
            Operation::Convolution { .. } | Operation::Linear => &["weight", "bias"],
            Operation::BatchNorm { .. } => &["weight", "bias", "running_mean", "running_var"],
            Operation::Offset => &["offset"],
            Operation::Scale => &["scale"],
            _ => &[],
        }
    }

    /// How many of its parameters, from the first, are trained. The others are statistics and constants.
    pub(crate) fn trained(&self) -> usize {
        match self {
            Operation::Convolution { .. } | Operation::Linear | Operation::BatchNorm { .. } => 2,
            _ => 0,
        }
    }

    /// The shape of one sample's output, from its inputs and parameters.
    ///
    /// # Errors
    /// When the shapes do not fit. What passes here cannot fail later.
    pub(crate) fn output_shape(
        &self,
        layer: &str,
        inputs: &[&[usize]],
        parameters: &[&[usize]],
    ) -> Result<Vec<usize>> {
        let refuse = |expected, got: String| {
            Err(Error::Layer { layer: layer.to_owned(), operation: self.name(), expected, got })
        };
        let &[first, ..] = inputs else { return refuse("an input", "none".to_owned()) };
        match (self, first, parameters) {
            (Operation::Convolution { stride, padding }, &[c, h, w], &[&[out, inner, kh, kw], &[b]]) => {
                if c != inner || b != out {
                    return refuse("as many channels as its weight has", format!("{c} and weight {inner}"));
                }
                let window = Window { size: [kh, kw], stride: *stride, padding: *padding };
                match window.output([h, w]) {
                    Some([h, w]) => Ok(vec![out, h, w]),
                    None => refuse("images that hold its window", format!("{h} x {w}")),
                }
            }
            (Operation::MaxPool(window) | Operation::AveragePool(window), &[c, h, w], []) => {
                match window.output([h, w]) {
                    Some([h, w]) => Ok(vec![c, h, w]),
                    None => refuse("images that hold its window", format!("{h} x {w}")),
                }
            }
            (Operation::BatchNorm { .. }, &[c, ..], all)
                if all.len() == 4 && all.iter().all(|p| **p == [c]) =>
            {
                Ok(first.to_vec())
            }
            (Operation::Offset | Operation::Scale, &[c, ..], &[&[p]]) if p == c || p == 1 => {
                Ok(first.to_vec())
            }
            (Operation::Linear, &[d], &[&[out, inner], &[b]]) if d == inner && b == out => Ok(vec![out]),
            (Operation::Relu | Operation::Tanh, shape, []) => Ok(shape.to_vec()),
            (Operation::GlobalAveragePool, &[c, _, _], []) => Ok(vec![c, 1, 1]),
            (Operation::Flatten, shape, []) => Ok(vec![shape.iter().product()]),
            (Operation::Add, shape, []) if inputs.len() == 2 && shape == inputs[1] => Ok(shape.to_vec()),
            (Operation::Subsample { before, after }, &[c, h, w], []) => {
                Ok(vec![before + c + after, h.div_ceil(2), w.div_ceil(2)])
            }
            _ => refuse(self.takes(), format!("{inputs:?} and parameters {parameters:?}")),
        }
    }

    fn takes(&self) -> &'static str {
        match self {
            Operation::Linear => "a row as long as its weight is wide",
            Operation::BatchNorm { .. } | Operation::Offset | Operation::Scale => "one parameter per channel",
            Operation::Add => "two values of the same shape",
            Operation::Relu | Operation::Tanh | Operation::Flatten => "one value",
            _ => "images and its own parameters",
        }
    }
}

impl Window {
    /// Windows down and right; none if the image is too small or the step is zero.
    fn output(&self, image: [usize; 2]) -> Option<[usize; 2]> {
        let along = |axis: usize| {
            let room = (image[axis] + 2 * self.padding[axis]).checked_sub(self.size[axis])?;
            (self.size[axis] > 0).then_some(room.checked_div(self.stride[axis])? + 1)
        };
        Some([along(0)?, along(1)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_count_as_in_the_definition() {
        let window = Window { size: [3, 3], stride: [2, 2], padding: [1, 1] };
        assert_eq!(window.output([32, 31]), Some([16, 16]));
        assert_eq!(Window::square(2).output([1, 4]), None);
        assert_eq!(Window { stride: [0, 1], ..window }.output([8, 8]), None);
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused_with_the_layer() {
        let error = Operation::Linear.output_shape("fc", &[&[7]], &[&[10, 8], &[10]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "layer fc (linear) takes a row as long as its weight is wide, got [[7]] and parameters [[10, 8], [10]]"
        );
    }
}
