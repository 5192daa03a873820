//! How the numbers of a sample make an image.

use std::fmt;
use std::str::FromStr;

use super::UnknownCorruption;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// The order of channels and pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Red pixels, then green ones, then blue ones, as PyTorch keeps them.
    First,
    /// Pixel after pixel, as TensorFlow keeps them.
    Last,
}

/// Channels (1 or 3), height and width of an image, and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageShape {
    /// 1, or 3 for red, green and blue.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// The order of channels and pixels.
    pub order: Channels,
}

impl ImageShape {
    /// The images of an array of shape `[n, height, width]`, `[n, channels, height, width]` or `[n, height, width,
    /// channels]`, or flattened ones of the usual sizes: 8 × 8, 28 × 28, 32 × 32, and 3 × 32 × 32, channels first.
    ///
    /// # Errors
    /// When the shape is none of these.
    pub fn of(dataset: &Dataset) -> Result<Self> {
        let found = Self::of_extents(dataset.shape().get(1..).unwrap_or_default());
        found.ok_or_else(|| Error::NoImageShape {
            name: dataset.name().to_owned(),
            shape: dataset.shape().to_vec(),
        })
    }

    /// The same, from the extents of one sample.
    pub fn of_extents(extents: &[usize]) -> Option<Self> {
        match *extents {
            [64] => Self::new(1, 8, 8, Channels::First),
            [784] => Self::new(1, 28, 28, Channels::First),
            [1024] => Self::new(1, 32, 32, Channels::First),
            [3072] => Self::new(3, 32, 32, Channels::First),
            [height, width] => Self::new(1, height, width, Channels::First),
            // Where both ends could be channels, nobody can tell.
            [1 | 3, _, 1 | 3] => None,
            [a, b, c] => Self::of_three(a, b, c),
            _ => None,
        }
    }

    /// The position of a channel of a pixel among the numbers of a sample.
    pub fn place(&self, channel: usize, row: usize, column: usize) -> usize {
        match self.order {
            Channels::First => (channel * self.height + row) * self.width + column,
            Channels::Last => (row * self.width + column) * self.channels + channel,
        }
    }

    /// Whether the data set has one row of numbers per sample, so that [`ImageShape::of`] had to guess.
    pub fn is_guessed_for(dataset: &Dataset) -> bool {
        dataset.shape().len() == 2
    }

    fn new(channels: usize, height: usize, width: usize, order: Channels) -> Option<Self> {
        let fits = matches!(channels, 1 | 3) && height > 0 && width > 0;
        fits.then_some(Self { channels, height, width, order })
    }

    fn of_three(a: usize, b: usize, c: usize) -> Option<Self> {
        Self::new(a, b, c, Channels::First).or_else(|| Self::new(c, a, b, Channels::Last))
    }

    /// The `dim` numbers of a sample must be as many as those of the image.
    pub(super) fn check(self, name: &str, dim: usize) -> Result<()> {
        let pixels = self.channels.checked_mul(self.height).and_then(|rows| rows.checked_mul(self.width));
        if pixels == Some(dim) {
            return Ok(());
        }
        Err(Error::ImageNumbers { name: name.to_owned(), shape: self.to_string(), dim })
    }
}

impl fmt::Display for ImageShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channels, height, width, order } = self;
        match order {
            Channels::First => write!(f, "{channels}x{height}x{width}"),
            Channels::Last => write!(f, "{height}x{width}x{channels}"),
        }
    }
}

impl FromStr for ImageShape {
    type Err = UnknownCorruption;

    fn from_str(text: &str) -> Result<Self, UnknownCorruption> {
        let expected =
            "CHANNELSxHEIGHTxWIDTH, HEIGHTxWIDTHxCHANNELS or HEIGHTxWIDTH with 1 or 3 channels, e.g. 3x32x32";
        let extents: Option<Vec<usize>> = text.split(['x', '×']).map(|extent| extent.parse().ok()).collect();
        let found = match extents.as_deref() {
            Some(&[height, width]) => Self::new(1, height, width, Channels::First),
            Some(&[a, b, c]) => Self::of_three(a, b, c),
            _ => None,
        };
        found.ok_or_else(|| UnknownCorruption::new(expected, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Numbers;

    fn of(shape: &[usize]) -> Result<ImageShape> {
        let count = shape.iter().product();
        ImageShape::of(&Dataset::from_numbers(shape.to_vec(), Numbers::F32(vec![0.0; count]), "x"))
    }

    #[test]
    fn shapes_of_arrays() {
        let cases: [(&[usize], &str); 8] = [
            (&[2, 8, 9], "1x8x9"),
            (&[2, 3, 8, 9], "3x8x9"),
            (&[2, 1, 8, 9], "1x8x9"),
            (&[2, 8, 9, 3], "8x9x3"),
            (&[2, 64], "1x8x8"),
            (&[2, 784], "1x28x28"),
            (&[2, 1024], "1x32x32"),
            (&[2, 3072], "3x32x32"),
        ];
        for (shape, expected) in cases {
            assert_eq!(of(shape).unwrap().to_string(), expected);
        }
        for shape in [&[2][..], &[2, 10], &[2, 3, 8, 3], &[2, 8, 8, 4], &[2, 1, 1, 8, 8]] {
            let message = of(shape).unwrap_err().to_string();
            assert!(
                message.contains("expected images") && message.contains(&format!("{shape:?}")),
                "{message}"
            );
        }
    }

    #[test]
    fn shapes_in_words() {
        let parse = |text: &str| text.parse::<ImageShape>();
        assert_eq!(parse("28x28").unwrap().to_string(), "1x28x28");
        assert_eq!(parse("1x28x28").unwrap(), parse("28x28").unwrap());
        assert_eq!(parse("32x32x3").unwrap().order, Channels::Last);
        for wrong in ["", "x", "28", "2x8x8", "0x8", "1x2x3x4", "8x-8", "axb"] {
            assert!(
                parse(wrong).unwrap_err().to_string().starts_with("expected CHANNELSxHEIGHTxWIDTH"),
                "{wrong}"
            );
        }
    }
}
