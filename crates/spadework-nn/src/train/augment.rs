//! Random small changes of the training images.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::augmix::augmix;
use crate::{Error, Result};

/// What is done to a training image, in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Augmentation {
    /// Zeros put around the image before one of its own size is cut out of it; 0 for none.
    pub crop: usize,
    /// Whether half of the images are mirrored, left for right.
    pub flip: bool,
    /// Whether AugMix mixes them with chains of simple changes.
    pub augmix: bool,
}

impl Augmentation {
    /// # Errors
    /// When samples that are not images are to be changed.
    pub fn check(&self, shape: &[usize]) -> Result<()> {
        if *self == Self::default() || shape.len() == 3 {
            return Ok(());
        }
        Err(Error::parameter("augmentation", "used on images", format!("samples of shape {shape:?}")))
    }

    /// Changes one image of the given shape.
    pub(super) fn apply(&self, image: &mut Vec<f32>, shape: &[usize], rng: &mut ChaCha8Rng) {
        let &[channels, height, width] = shape else { return };
        if self.crop > 0 {
            let shift =
                |rng: &mut ChaCha8Rng| rng.random_range(0..=2 * self.crop) as isize - self.crop as isize;
            let (down, right) = (shift(rng), shift(rng));
            *image = shifted(image, [channels, height, width], down, right);
        }
        if self.flip && rng.random::<bool>() {
            image.chunks_mut(width).for_each(<[f32]>::reverse);
        }
        if self.augmix {
            *image = augmix(image, [channels, height, width], rng);
        }
    }
}

/// The image moved, with zeros where nothing is left.
fn shifted(image: &[f32], [channels, height, width]: [usize; 3], down: isize, right: isize) -> Vec<f32> {
    let mut moved = vec![0.0; image.len()];
    for channel in 0..channels {
        for row in 0..height {
            let Some(from_row) = row.checked_add_signed(-down).filter(|&row| row < height) else { continue };
            for column in 0..width {
                let Some(from) = column.checked_add_signed(-right).filter(|&column| column < width) else {
                    continue;
                };
                moved[(channel * height + row) * width + column] =
                    image[(channel * height + from_row) * width + from];
            }
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn shifts_move_pixels_and_leave_zeros() {
        let image: Vec<f32> = (1..=6).map(|v| v as f32).collect();
        assert_eq!(shifted(&image, [1, 2, 3], 1, -1), [0.0, 0.0, 0.0, 2.0, 3.0, 0.0]);
        assert_eq!(shifted(&image, [1, 2, 3], 0, 0), image);
        assert_eq!(shifted(&image, [2, 1, 3], 0, 1), [0.0, 1.0, 2.0, 0.0, 4.0, 5.0]);
    }

    #[test]
    fn half_of_the_images_are_mirrored() {
        let augmentation = Augmentation { flip: true, ..Augmentation::default() };
        let mut mirrored = 0;
        for index in 0..200 {
            let mut image = vec![0.1, 0.2, 0.3, 0.4];
            augmentation.apply(&mut image, &[1, 2, 2], &mut stream(0, Purpose::Augment, 0, index));
            match image[..] {
                [0.1, 0.2, 0.3, 0.4] => {}
                [0.2, 0.1, 0.4, 0.3] => mirrored += 1,
                _ => panic!("{image:?}"),
            }
        }
        // 100, with a standard deviation of 7.
        assert!((60..140).contains(&mirrored), "{mirrored}");
    }
}
