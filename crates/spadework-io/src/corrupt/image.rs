//! One image while it is corrupted.

use super::shape::{Channels, ImageShape};

/// Channel after channel, row after row, from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Image {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) values: Vec<f32>,
}

impl Image {
    /// A sample has as many values as its shape says.
    pub(super) fn from_sample(sample: Vec<f32>, shape: ImageShape) -> Self {
        let ImageShape { channels, height, width, order } = shape;
        let values = match order {
            Channels::First => sample,
            Channels::Last => (0..channels)
                .flat_map(|channel| sample.iter().skip(channel).step_by(channels).copied())
                .collect(),
        };
        Self { channels, height, width, values }
    }

    /// The inverse of [`Image::from_sample`].
    pub(super) fn write_sample(&self, shape: ImageShape, target: &mut [f32]) {
        match shape.order {
            Channels::First => target.copy_from_slice(&self.values),
            Channels::Last => {
                let pixels = self.height * self.width;
                for (at, value) in target.iter_mut().enumerate() {
                    *value = self.values[(at % self.channels) * pixels + at / self.channels];
                }
            }
        }
    }

    pub(super) fn planes_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        self.values.chunks_exact_mut(self.height * self.width)
    }

    /// Replaces every value by a function of it, kept from 0 to 1.
    pub(super) fn map(&mut self, mut change: impl FnMut(f32) -> f32) {
        for value in &mut self.values {
            *value = change(*value).clamp(0.0, 1.0);
        }
    }

    /// Replaces every value by a weighted sum of values around it; `place` says which one stands in for one beyond the
    /// edge.
    pub(super) fn filter(&mut self, taps: &[Tap], place: impl Fn(isize, usize) -> usize) {
        let (height, width) = (self.height, self.width);
        for plane in self.planes_mut() {
            let old = plane.to_vec();
            for y in 0..height {
                for x in 0..width {
                    let value = |tap: &Tap| {
                        let y = place(y as isize + tap.down, height);
                        let x = place(x as isize + tap.right, width);
                        tap.weight * old[y * width + x]
                    };
                    let sum: f32 = taps.iter().map(value).sum();
                    plane[y * width + x] = sum.clamp(0.0, 1.0);
                }
            }
        }
    }
}

/// One entry of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tap {
    pub(super) down: isize,
    pub(super) right: isize,
    pub(super) weight: f32,
}

/// The nearest place within the image.
pub(super) fn nearest(at: isize, extent: usize) -> usize {
    at.clamp(0, extent as isize - 1) as usize
}

/// The place as in a mirror that stands on the outermost pixels: 2 1 | 0 1 2 … (OpenCV's and SciPy's default for filters
/// without repeating the edge).
pub(super) fn mirrored(at: isize, extent: usize) -> usize {
    let period = (2 * extent as isize - 2).max(1);
    let at = at.rem_euclid(period);
    at.min(period - at).min(extent as isize - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_last_and_back() {
        let shape = ImageShape { channels: 3, height: 1, width: 2, order: Channels::Last };
        let sample = vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        let image = Image::from_sample(sample.clone(), shape);
        assert_eq!(image.values, [0.1, 0.4, 0.2, 0.5, 0.3, 0.6]);
        let mut back = vec![0.0; 6];
        image.write_sample(shape, &mut back);
        assert_eq!(back, sample);
    }

    #[test]
    fn beyond_the_edge() {
        assert_eq!([-2, -1, 0, 3, 4, 5, 6].map(|at| mirrored(at, 4)), [2, 1, 0, 3, 2, 1, 0]);
        assert_eq!([-2, 0, 3, 9].map(|at| nearest(at, 4)), [0, 0, 3, 3]);
        assert_eq!([-3, 0, 5].map(|at| mirrored(at, 1)), [0, 0, 0]);
    }
}
