//! Convolutions and pooling, of images and of sequences, which are images of one line.

use burn_tensor::Tensor;
use burn_tensor::module::{avg_pool2d, conv2d, max_pool2d};
use burn_tensor::ops::{AvgPoolOptions, ConvOptions, MaxPoolOptions, PadMode};

use super::operators::Inputs;
use super::value::{Floats, TOO_MANY_NUMBERS, Value, product};
use crate::network::convolution as plain_convolution;
use crate::onnx::problem::Outcome;

/// How windows move over images.
struct Windows {
    size: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    /// Above and below, left and right.
    padding: [(usize, usize); 2],
}

/// Numbers whose products do not overflow. None where one is negative or larger than any window of a network.
fn small(values: &[i64]) -> Option<Vec<usize>> {
    let small = |&value: &i64| usize::try_from(value).ok().filter(|&value| value < 1 << 16);
    values.iter().map(small).collect()
}

impl Windows {
    /// From the attributes of a node, for images `[n, channels, height, width]`, which give so many channels.
    fn of(
        inputs: &Inputs<'_>,
        size: [usize; 2],
        images: &Tensor<4>,
        (channels_given, lines): (usize, bool),
    ) -> Outcome<Self> {
        let [n, channels, height, width] = images.dims();
        let image = [height, width];
        let list = |name: &str, default: i64, count: usize| -> Outcome<Vec<usize>> {
            let values = inputs.node.integers(name, &vec![default; count]);
            let fits = small(&values).filter(|values| values.len() == count);
            inputs.or_refuse(fits, &format!("must have {count} small numbers as its {name}, got {values:?}"))
        };
        let axes = if lines { 1 } else { 2 };
        let both = |values: &[usize], missing: usize| match *values {
            [one] => [missing, one],
            [first, second, ..] => [first, second],
            [] => [missing; 2],
        };
        let (stride, dilation) = (both(&list("strides", 1, axes)?, 1), both(&list("dilations", 1, axes)?, 1));
        if stride.contains(&0) || dilation.contains(&0) || size.contains(&0) {
            return inputs.refuse("must have windows and steps of at least one");
        }
        let pads = list("pads", 0, 2 * axes)?;
        let (before, after) = (both(&pads[..axes], 0), both(&pads[axes..], 0));
        let mut windows =
            Self { size, stride, dilation, padding: [0, 1].map(|axis| (before[axis], after[axis])) };
        match inputs.node.text("auto_pad") {
            None | Some("NOTSET" | "") => {}
            Some("VALID") => windows.padding = [(0, 0); 2],
            Some(same @ ("SAME_UPPER" | "SAME_LOWER")) => {
                windows.padding = [0, 1].map(|axis| windows.same(axis, image[axis], same == "SAME_UPPER"));
            }
            Some(other) => return inputs.refuse(&format!("must have a known padding, got {other}")),
        }
        let fits = |axis: usize| image[axis] + windows.padded(axis) >= windows.span(axis);
        if !(fits(0) && fits(1)) {
            return inputs.refuse(&format!("must have images that hold its windows, got {image:?}"));
        }
        let padded = [0, 1].map(|axis| image[axis] + windows.padded(axis));
        let given = [0, 1].map(|axis| (padded[axis] - windows.span(axis)).div_ceil(windows.stride[axis]) + 1);
        for (channels, [tall, wide]) in [(channels, padded), (channels_given, given)] {
            inputs.or_refuse(product(&[n, channels, tall, wide]), TOO_MANY_NUMBERS)?;
        }
        Ok(windows)
    }

    fn span(&self, axis: usize) -> usize {
        (self.size[axis] - 1) * self.dilation[axis] + 1
    }

    fn padded(&self, axis: usize) -> usize {
        self.padding[axis].0 + self.padding[axis].1
    }

    /// What keeps ⌈image / stride⌉ windows, the odd one at the end or at the beginning.
    fn same(&self, axis: usize, image: usize, at_the_end: bool) -> (usize, usize) {
        let windows = image.div_ceil(self.stride[axis]);
        let total = ((windows - 1) * self.stride[axis] + self.span(axis)).saturating_sub(image);
        let (less, more) = (total / 2, total - total / 2);
        if at_the_end { (less, more) } else { (more, less) }
    }

    /// The padding where it is the same on both sides.
    fn even(&self) -> Option<[usize; 2]> {
        let [down, right] = self.padding;
        (down.0 == down.1 && right.0 == right.1).then_some([down.0, right.0])
    }
}

/// Images `[n, channels, height, width]`, and whether they were sequences.
fn images(inputs: &Inputs<'_>, floats: Floats) -> Outcome<(Tensor<4>, bool)> {
    match *floats.shape().as_slice() {
        [n, c, h, w] => Ok((floats.with_axes([n, c, h, w]), false)),
        [n, c, w] => Ok((floats.with_axes([n, c, 1, w]), true)),
        ref other => inputs.refuse(&format!("must work on images or sequences, got shape {other:?}")),
    }
}

fn result(inputs: &Inputs<'_>, images: Tensor<4>, lines: bool) -> Outcome<Value> {
    let [n, c, _, w] = images.dims();
    let floats = if lines { Floats::of(images.reshape([n, c, w])) } else { Floats::of(images) };
    inputs.or_refuse(floats, TOO_MANY_NUMBERS).map(Value::from)
}

pub(super) fn convolution(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let (x, weight, bias) = (inputs.floats(0)?, inputs.floats(1)?, inputs.optional_floats(2)?);
    let ((x, lines), (weight, lines_too)) = (images(inputs, x)?, images(inputs, weight)?);
    let ([_, channels, _, _], [out, inner, tall, wide]) = (x.dims(), weight.dims());
    let groups = usize::try_from(inputs.node.integer("group", 1)).unwrap_or(0);
    if lines != lines_too || groups == 0 || channels != inner * groups || out % groups != 0 {
        return inputs.refuse(&format!(
            "must have a weight for {channels} channels, got one for {inner} in {groups} groups"
        ));
    }
    let windows = Windows::of(inputs, [tall, wide], &x, (out, lines))?;
    let bias = match bias {
        Some(bias) if bias.shape() == [out] => bias.with_axes([out]),
        Some(bias) => {
            return inputs.refuse(&format!("must have {out} numbers as its bias, got {:?}", bias.shape()));
        }
        None => Tensor::zeros([out], &weight.device()),
    };
    let (x, padding) = match windows.even() {
        Some(padding) => (x, padding),
        None => (x.pad(windows.padding, PadMode::Constant(0.0)), [0, 0]),
    };
    let y = if groups == 1 && windows.dilation == [1, 1] {
        plain_convolution(x, weight, bias, windows.stride, padding)
    } else {
        conv2d(x, weight, Some(bias), ConvOptions::new(windows.stride, padding, windows.dilation, groups))
    };
    result(inputs, y, lines)
}

/// MaxPool and AveragePool.
pub(super) fn pool(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let x = inputs.floats(0)?;
    let (x, lines) = images(inputs, x)?;
    let sides = inputs.node.integers("kernel_shape", &[]);
    let size = match small(&sides).as_deref() {
        Some(&[wide]) if lines => [1, wide],
        Some(&[tall, wide]) if !lines => [tall, wide],
        _ => {
            let reason =
                format!("must have a window with one small side per axis of its images, got {sides:?}");
            return inputs.refuse(&reason);
        }
    };
    let [_, channels, _, _] = x.dims();
    let windows = Windows::of(inputs, size, &x, (channels, lines))?;
    let ceil = inputs.node.integer("ceil_mode", 0) != 0;
    let y = if inputs.node.operator == "MaxPool" {
        let options = MaxPoolOptions::new(size)
            .with_stride(windows.stride)
            .with_dilation(windows.dilation)
            .with_padding_pairs(windows.padding)
            .with_ceil_mode(ceil);
        max_pool2d(x, options)
    } else {
        if windows.dilation != [1, 1] {
            return inputs.refuse("must have no dilation");
        }
        let options = AvgPoolOptions::new(size)
            .with_stride(windows.stride)
            .with_padding_pairs(windows.padding)
            .with_count_include_pad(inputs.node.integer("count_include_pad", 0) != 0)
            .with_ceil_mode(ceil);
        avg_pool2d(x, options)
    };
    result(inputs, y, lines)
}

/// The mean or the maximum of each channel.
pub(super) fn global_pool(inputs: &mut Inputs<'_>) -> Outcome<Value> {
    let floats = inputs.floats(0)?;
    if floats.rank < 3 {
        return inputs.refuse(&format!("must work on images or sequences, got shape {:?}", floats.shape()));
    }
    let along: Vec<usize> = (2..floats.rank).map(|axis| floats.axis(axis)).collect();
    let mean = inputs.node.operator == "GlobalAveragePool";
    let pooled = floats.map(|x| {
        if mean {
            return x.mean_dims(&along);
        }
        along.iter().fold(x, |x, &axis| x.max_dim(axis))
    });
    Ok(pooled.into())
}
