//! Samples with their classes, as networks take them.

use spadework::Samples;
use spadework_io::{Dataset, Labels};

use crate::{Error, Result};

/// Samples, row by row, each with its class.
#[derive(Debug, Clone, PartialEq)]
pub struct Examples {
    samples: Vec<f32>,
    labels: Vec<usize>,
    size: usize,
}

impl Examples {
    /// Rows of `size` values and one label from 0 to `classes` − 1 for each.
    ///
    /// # Errors
    /// When there are none, more or fewer labels than rows, or a label out of range.
    pub fn new(samples: Vec<f32>, size: usize, labels: &[i64], classes: usize) -> Result<Self> {
        if size == 0 || samples.is_empty() || !samples.len().is_multiple_of(size) {
            return Err(Error::InputSize { expected: size, shape: vec![size], got: samples.len() });
        }
        let rows = samples.len() / size;
        if labels.len() != rows {
            return Err(Error::Count { what: "labels", expected: rows, got: labels.len() });
        }
        let largest = classes.saturating_sub(1);
        let checked = |(sample, &got): (usize, &i64)| {
            let class = usize::try_from(got).ok().filter(|&class| class <= largest);
            class.ok_or(Error::Label { largest, got, sample })
        };
        let labels = labels.iter().enumerate().map(checked).collect::<Result<_>>()?;
        Ok(Self { samples, labels, size })
    }

    /// Loaded data for a network with this input shape and this many classes.
    ///
    /// # Errors
    /// As [`Examples::new`], and when the samples do not fit the network.
    pub fn for_network(
        dataset: &Dataset,
        labels: Option<&Labels>,
        input_shape: &[usize],
        classes: usize,
    ) -> Result<Self> {
        let samples = dataset.samples()?;
        let expected = input_shape.iter().product();
        if samples.dim() != expected {
            return Err(Error::InputSize { expected, shape: input_shape.to_vec(), got: samples.dim() });
        }
        let labels =
            labels.or(dataset.labels()).ok_or_else(|| Error::NoLabels { name: dataset.name().to_owned() })?;
        Self::new(to_floats(&samples), samples.dim(), labels.ids(), classes)
    }

    /// How many there are; never none.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Values of one sample.
    pub fn size(&self) -> usize {
        self.size
    }

    /// All rows, one after the other.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// One row.
    pub fn sample(&self, index: usize) -> &[f32] {
        &self.samples[index * self.size..(index + 1) * self.size]
    }

    /// Classes, one per row.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// The examples at these places, in this order.
    ///
    /// # Panics
    /// When a place is not below the number of examples, or none is given.
    #[must_use]
    pub fn select(&self, places: &[usize]) -> Self {
        assert!(!places.is_empty(), "at least one example must remain");
        Self {
            samples: places.iter().flat_map(|&place| self.sample(place)).copied().collect(),
            labels: places.iter().map(|&place| self.labels[place]).collect(),
            size: self.size,
        }
    }

    /// Checks that every value is in [0, 1], the box that perturbed samples stay in.
    ///
    /// # Errors
    /// When one is not.
    pub fn check_box(&self) -> Result<()> {
        match self.samples.iter().position(|value| !(0.0..=1.0).contains(value)) {
            None => Ok(()),
            Some(at) => Err(Error::OutsideBox { value: self.samples[at], sample: at / self.size }),
        }
    }
}

/// Values in the precision that networks compute in.
pub fn to_floats(samples: &Samples<'_>) -> Vec<f32> {
    samples.values().all_singles().into_owned()
}

/// The shape of images from the shape in the file: three extents as they are, two as one channel, one as a row.
///
/// # Errors
/// When there are other extents.
pub fn image_shape(dataset: &Dataset) -> Result<Vec<usize>> {
    match dataset.shape() {
        [_, size] => Ok(vec![*size]),
        [_, height, width] => Ok(vec![1, *height, *width]),
        [_, channels, height, width] => Ok(vec![*channels, *height, *width]),
        other => Err(Error::parameter(
            "the shape of the data",
            "[n, values], [n, height, width] or [n, channels, height, width]",
            format!("{other:?}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_out_of_range_are_named() {
        let error = Examples::new(vec![0.0; 6], 2, &[0, 1, 3], 3).unwrap_err();
        assert_eq!(
            error.to_string(),
            "labels must be from 0 to 2, one for each output of the network, got 3 at sample 2"
        );
        assert!(Examples::new(vec![0.0; 6], 2, &[0, -1, 2], 3).is_err());
        let error = Examples::new(vec![0.0; 6], 2, &[0, 1], 3).unwrap_err();
        assert_eq!(error.to_string(), "expected 3 labels, one per sample, got 2");
    }

    #[test]
    fn values_outside_the_box_are_named() {
        let examples = Examples::new(vec![0.0, 1.0, 0.5, 1.5], 2, &[0, 1], 2).unwrap();
        let message = examples.check_box().unwrap_err().to_string();
        assert!(message.ends_with("got 1.5 at sample 1"), "{message}");
        assert!(examples.select(&[0]).check_box().is_ok());
    }
}
