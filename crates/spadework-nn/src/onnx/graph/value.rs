//! What flows along the edges of an ONNX graph: tensors of floats, and small arrays of integers such as shapes and indices.
//!
//! A tensor of Burn has its number of axes in its type, a value of ONNX does not. So every tensor here has [`AXES`] axes, the
//! missing ones in front and of length one. ONNX aligns two tensors in the same way before it broadcasts them.

use burn_tensor::{Device, Int, Tensor, TensorData};

use crate::network::to_host;
use crate::onnx::model::Constant;

/// The most axes that a value may have.
pub(super) const AXES: usize = 6;

/// What is wrong with a constant of more than [`AXES`] axes.
pub(super) const TOO_MANY_AXES: &str = "too many axes";

/// What is wrong with an operator whose value would have more than [`MOST_NUMBERS`].
pub(super) const TOO_MANY_NUMBERS: &str = "must not give more numbers than fit";

/// The most numbers of one value: beyond, a file asks for memory that no network of ours would need.
const MOST_NUMBERS: usize = 1 << 30;

#[expect(clippy::large_enum_variant, reason = "most values are floats, and few live at once")]
#[derive(Debug, Clone)]
pub(super) enum Value {
    Floats(Floats),
    Integers(Integers),
}

/// A tensor that gradients flow through.
#[derive(Debug, Clone)]
pub(super) struct Floats {
    pub(super) tensor: Tensor<AXES>,
    pub(super) rank: usize,
}

/// Integers and truth values, on the host.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Integers {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<i64>,
}

impl Value {
    /// None where it has too many axes.
    pub(super) fn of_constant(constant: &Constant, device: &Device) -> Option<Self> {
        let shape = constant.shape.clone();
        if constant.floats.is_empty() {
            return Some(Self::Integers(Integers { shape, values: constant.integers.clone() }));
        }
        Floats::of_values(&constant.floats, &shape, device).map(Self::Floats)
    }

    pub(super) fn shape(&self) -> Vec<usize> {
        match self {
            Value::Floats(floats) => floats.shape(),
            Value::Integers(integers) => integers.shape.clone(),
        }
    }
}

impl From<Floats> for Value {
    fn from(floats: Floats) -> Self {
        Value::Floats(floats)
    }
}

impl From<Integers> for Value {
    fn from(integers: Integers) -> Self {
        Value::Integers(integers)
    }
}

impl Floats {
    /// None where there are too many axes or not as many values as the shape says.
    pub(super) fn of_values(values: &[f32], shape: &[usize], device: &Device) -> Option<Self> {
        (shape.iter().product::<usize>() == values.len()).then_some(())?;
        let axes = six(shape)?;
        let tensor = Tensor::from_data(TensorData::new(values.to_vec(), axes), device);
        Some(Self { tensor, rank: shape.len() })
    }

    /// None where there are too many axes or numbers.
    pub(super) fn of<const D: usize>(tensor: Tensor<D>) -> Option<Self> {
        let axes = six(&tensor.dims())?;
        Some(Self { tensor: tensor.reshape(axes), rank: D })
    }

    pub(super) fn shape(&self) -> Vec<usize> {
        self.tensor.dims()[AXES - self.rank..].to_vec()
    }

    /// An axis of the value as one of the tensor.
    pub(super) fn axis(&self, axis: usize) -> usize {
        AXES - self.rank + axis
    }

    /// The same numbers in another shape. None where there are not as many, or too many axes.
    pub(super) fn reshaped(self, shape: &[usize]) -> Option<Self> {
        (product(shape)? == self.tensor.dims().iter().product::<usize>()).then_some(())?;
        Some(Self { tensor: self.tensor.reshape(six(shape)?), rank: shape.len() })
    }

    /// The tensor with as many axes as the caller computes with, whose numbers must be as many.
    pub(super) fn with_axes<const D: usize>(self, shape: [usize; D]) -> Tensor<D> {
        self.tensor.reshape(shape)
    }

    pub(super) fn map(self, change: impl FnOnce(Tensor<AXES>) -> Tensor<AXES>) -> Self {
        Self { tensor: change(self.tensor), rank: self.rank }
    }

    /// The numbers, for constants.
    pub(super) fn values(&self) -> Vec<f32> {
        to_host(self.tensor.clone())
    }
}

impl Integers {
    pub(super) fn list(values: Vec<i64>) -> Self {
        Self { shape: vec![values.len()], values }
    }

    /// Numbers of rows on a device. None where one lies outside `0..extent`, counted from the end where negative.
    pub(super) fn places(&self, extent: usize, device: &Device) -> Option<Tensor<1, Int>> {
        let place = |&value: &i64| {
            let at = if value < 0 { value + extent as i64 } else { value };
            (0..extent as i64).contains(&at).then_some(at)
        };
        let places: Vec<i64> = self.values.iter().map(place).collect::<Option<_>>()?;
        let count = places.len();
        Some(Tensor::from_data(TensorData::new(places, [count]), device))
    }
}

/// The product of extents. None where it is zero or more than a value may hold.
pub(super) fn product(shape: &[usize]) -> Option<usize> {
    let product = shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent))?;
    (1..=MOST_NUMBERS).contains(&product).then_some(product)
}

/// A shape with ones in front. None where it has too many axes or numbers.
pub(super) fn six(shape: &[usize]) -> Option<[usize; AXES]> {
    product(shape)?;
    let missing = AXES.checked_sub(shape.len())?;
    let mut axes = [1; AXES];
    axes[missing..].copy_from_slice(shape);
    Some(axes)
}

/// The shape that two shapes broadcast to. None where they do not.
pub(super) fn broadcast(first: &[usize], second: &[usize]) -> Option<Vec<usize>> {
    let rank = first.len().max(second.len());
    let extent = |shape: &[usize], axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(own) => shape[own],
        None => 1,
    };
    let both = (0..rank).map(|axis| match (extent(first, axis), extent(second, axis)) {
        (a, b) if a == b => Some(a),
        (1, b) => Some(b),
        (a, 1) => Some(a),
        _ => None,
    });
    let both: Vec<usize> = both.collect::<Option<_>>()?;
    product(&both)?;
    Some(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_their_ends() {
        assert_eq!(broadcast(&[2, 3, 4], &[3, 1]), Some(vec![2, 3, 4]));
        assert_eq!(broadcast(&[1, 4], &[5, 1, 1]), Some(vec![5, 1, 4]));
        assert_eq!(broadcast(&[2], &[3]), None);
        assert_eq!(broadcast(&[], &[3]), Some(vec![3]));
        assert_eq!(product(&[usize::MAX, 2]), None);
    }
}
