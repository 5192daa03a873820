//! Pictures of samples, packed into one sheet.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use spadework::Samples;
use spadework_io::corrupt::ImageShape;

use crate::InputArray;
use crate::error::Result;

/// Larger pictures are made smaller.
const MOST_PIXELS: usize = 48;
/// Bytes of a sheet before it is compressed, and pictures in it, where nobody asks for a number of them.
const SHEET_BYTES: usize = 3_600_000;
const MOST_PICTURES: usize = 2000;

/// A picture, and how much smaller it becomes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Picture(ImageShape);

impl Picture {
    /// The picture that a sample is in an array of that shape, whose first extent counts the samples.
    ///
    /// Three and four extents are read as pictures where they can be; flattened samples only in the sizes of MNIST
    /// (28 × 28) and CIFAR-10 (3 × 32 × 32), since a row of numbers need not be a picture.
    pub(crate) fn of(shape: &[usize]) -> Option<Self> {
        let extents = shape.get(1..)?;
        if matches!(*extents, [numbers] if !matches!(numbers, 784 | 3072)) {
            return None;
        }
        let is_side = |side: usize| (2..=8192).contains(&side);
        let image = ImageShape::of_extents(extents)?;
        (is_side(image.height) && is_side(image.width)).then_some(Self(image))
    }

    /// Pixels that become one, along each side.
    fn reduction(self) -> usize {
        self.0.height.max(self.0.width).div_ceil(MOST_PIXELS)
    }

    /// Height and width in the sheet.
    fn reduced(self) -> [usize; 2] {
        [self.0.height, self.0.width].map(|side| side.div_ceil(self.reduction()))
    }

    /// How many pictures a sheet may hold: as many as asked for.
    pub(crate) fn most_pictures(self, asked: Option<usize>) -> usize {
        let [height, width] = self.reduced();
        asked.unwrap_or_else(|| (SHEET_BYTES / (height * width * self.0.channels)).min(MOST_PICTURES))
    }
}

/// Pictures side by side in one PNG.
#[derive(Debug, Serialize)]
pub(crate) struct Sheet {
    width: usize,
    height: usize,
    columns: usize,
    rows: usize,
    /// The sample of every picture, row by row.
    pub(crate) samples: Vec<u32>,
    /// A data URI.
    image: String,
}

impl Sheet {
    /// The pictures of the samples named, in that order.
    pub(crate) fn of(inputs: &InputArray<'_>, picture: Picture, samples: &[u32]) -> Result<Self> {
        Self::with_shades(inputs, picture, samples, &Shades::of(inputs.samples, samples))
    }

    /// The same with shades from one end of a range to the other.
    pub(crate) fn within(
        inputs: &InputArray<'_>,
        picture: Picture,
        samples: &[u32],
        [low, high]: [f64; 2],
    ) -> Result<Self> {
        Self::with_shades(inputs, picture, samples, &Shades { low, high })
    }

    fn with_shades(
        inputs: &InputArray<'_>,
        picture: Picture,
        samples: &[u32],
        shades: &Shades,
    ) -> Result<Self> {
        let ([height, width], channels) = (picture.reduced(), picture.0.channels);
        let columns = (samples.len() as f64).sqrt().ceil().max(1.0) as usize;
        let rows = samples.len().div_ceil(columns).max(1);
        let mut pixels = vec![0u8; rows * height * columns * width * channels];
        for (at, &sample) in samples.iter().enumerate() {
            let corner = [at / columns * height, at % columns * width];
            for row in 0..height {
                for column in 0..width {
                    let pixel = (corner[0] + row) * columns * width + corner[1] + column;
                    for channel in 0..channels {
                        let value = mean(inputs.samples, sample, picture, [channel, row, column]);
                        pixels[pixel * channels + channel] = shades.of_value(value);
                    }
                }
            }
        }
        let png = encode(&pixels, [columns * width, rows * height], channels)?;
        let image = format!("data:image/png;base64,{}", STANDARD.encode(png));
        Ok(Self { width, height, columns, rows, samples: samples.to_vec(), image })
    }
}

/// One channel of a pixel of the sheet: the mean over the pixels that become one.
fn mean(samples: &Samples<'_>, sample: u32, picture: Picture, [channel, row, column]: [usize; 3]) -> f64 {
    let (image, factor) = (picture.0, picture.reduction());
    let start = sample as usize * samples.dim();
    let rows = row * factor..((row + 1) * factor).min(image.height);
    let columns = column * factor..((column + 1) * factor).min(image.width);
    let count = rows.len() * columns.len();
    let of_row = |row: usize| -> f64 {
        columns.clone().map(|column| value_at(samples, start + image.place(channel, row, column))).sum()
    };
    rows.map(of_row).sum::<f64>() / count as f64
}

/// One number of all.
pub(crate) fn value_at(samples: &Samples<'_>, at: usize) -> f64 {
    samples.values().get(at)
}

/// How values become shades: 0 to 1 as they are, anything else from the least to the largest value shown.
struct Shades {
    low: f64,
    high: f64,
}

impl Shades {
    fn of(samples: &Samples<'_>, shown: &[u32]) -> Self {
        let dim = samples.dim();
        let values =
            shown.iter().flat_map(|&p| (0..dim).map(move |at| value_at(samples, p as usize * dim + at)));
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low >= 0.0 && high <= 1.0 { Self { low: 0.0, high: 1.0 } } else { Self { low, high } }
    }

    fn of_value(&self, value: f64) -> u8 {
        ((value - self.low) / (self.high - self.low) * 255.0).round().clamp(0.0, 255.0) as u8
    }
}

fn encode(pixels: &[u8], [width, height]: [usize; 2], channels: usize) -> Result<Vec<u8>> {
    let mut file = Cursor::new(Vec::new());
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(if channels == 3 { png::ColorType::Rgb } else { png::ColorType::Grayscale });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(sheet: &Sheet) -> Vec<u8> {
        let png = STANDARD.decode(sheet.image.split_once(',').unwrap().1).unwrap();
        let mut reader = png::Decoder::new(Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels
    }

    #[test]
    fn shapes_that_are_pictures() {
        let of = |shape: &[usize]| {
            Picture::of(shape).map(|Picture(image)| (image.height, image.width, image.channels))
        };
        assert_eq!(of(&[9, 28, 27]), Some((28, 27, 1)));
        assert_eq!(of(&[9, 3, 32, 32]), Some((32, 32, 3)));
        assert_eq!(of(&[9, 64, 48, 3]), Some((64, 48, 3)));
        assert_eq!(of(&[9, 784]), Some((28, 28, 1)));
        assert_eq!((of(&[9, 64]), of(&[9, 5, 6, 7]), of(&[9, 1, 5])), (None, None, None));
    }

    /// Two samples of 2 × 2 pixels, channels last: the red of the first pixel, the green of the last.
    #[test]
    fn a_sheet_has_every_channel_in_its_place() {
        let mut values = vec![0.0f32; 24];
        values[0] = 1.0;
        values[12 + 10] = 1.0;
        let samples = Samples::from_f32(2, 12, values).unwrap();
        let inputs = InputArray { samples: &samples, shape: &[2, 2, 2, 3] };
        let sheet = Sheet::of(&inputs, Picture::of(inputs.shape).unwrap(), &[1, 0]).unwrap();
        let pixels = decoded(&sheet);
        // Sample 1 stands first: its last pixel is in row 1, column 1 of a sheet 4 pixels wide.
        let lit: Vec<usize> = (0..pixels.len()).filter(|&at| pixels[at] == 255).collect();
        assert_eq!(lit, [2 * 3, (4 + 1) * 3 + 1]);
    }

    #[test]
    fn large_pictures_are_averaged() {
        let values: Vec<f32> = (0..2 * 96 * 96).map(|at| if at % 2 == 0 { 0.0 } else { 1.0 }).collect();
        let samples = Samples::from_f32(2, 96 * 96, values).unwrap();
        let inputs = InputArray { samples: &samples, shape: &[2, 96, 96] };
        let sheet = Sheet::of(&inputs, Picture::of(inputs.shape).unwrap(), &[0]).unwrap();
        assert_eq!((sheet.width, sheet.height), (48, 48));
        assert!(decoded(&sheet).iter().all(|&pixel| pixel == 128));
    }
}
