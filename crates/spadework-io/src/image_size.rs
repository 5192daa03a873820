//! The common size of the images of a folder: `Resize(256)` and `CenterCrop(224)` of ImageNet pipelines.

use std::fmt;

use image::imageops::{self, FilterType};
use image::{DynamicImage, Pixel};

use crate::error::{Error, Result};

/// Sides at most; as many as an image that is read may have.
const LARGEST: u32 = 4096;
/// Pixels at most of the longer side of an image that was resized. A narrow image becomes as long as it is narrow: a file of 100 bytes
/// with 1 × 4,096 pixels would take 69 GB.
const LONGEST: usize = 4 * LARGEST as usize;

/// How images are resized. Without both, all images must have the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageSize {
    /// The shorter side gets this length, and the other by the same factor, rounded down.
    pub resize: Option<u32>,
    /// Then a square of this many pixels is cut from the center.
    pub crop: Option<u32>,
}

impl ImageSize {
    /// `FOLDER?resize=256&crop=224` as its folder and the size; without the latter, all of it is the folder.
    pub(crate) fn split(argument: &str) -> (&str, Self) {
        let all = (argument, Self::default());
        let Some((folder, options)) = argument.rsplit_once('?') else { return all };
        let mut size = Self::default();
        for option in options.split('&') {
            let Some((name, pixels)) = option.split_once('=') else { return all };
            let Some(pixels) = pixels.parse().ok().filter(|pixels| (1..=LARGEST).contains(pixels)) else {
                return all;
            };
            match name {
                "resize" => size.resize = Some(pixels),
                "crop" => size.crop = Some(pixels),
                _ => return all,
            }
        }
        (folder, size)
    }

    /// Whether images are taken as they are.
    pub(crate) fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Height and width of an image of that height and width.
    pub(crate) fn of(self, height: usize, width: usize, name: &str) -> Result<(usize, usize)> {
        let refused = |reason: String| Err(Error::Image { name: name.to_owned(), reason });
        let (from_height, from_width) = (height, width);
        let (height, width) = self.resized(height, width);
        if height.max(width) > LONGEST {
            return refused(format!(
                "it has {from_width} × {from_height} pixels, and would have {width} × {height} once it is resized; at most {LONGEST} per side are supported"
            ));
        }
        let Some(side) = self.crop.map(|side| side as usize) else { return Ok((height, width)) };
        if height.min(width) < side {
            return refused(format!(
                "it has {width} × {height} pixels, too few to cut {side} × {side} from it; resize it first"
            ));
        }
        Ok((side, side))
    }

    fn resized(self, height: usize, width: usize) -> (usize, usize) {
        let Some(side) = self.resize.map(|side| side as usize) else { return (height, width) };
        let longer = |long: usize, short: usize| (side * long / short.max(1)).max(1);
        if height <= width { (side, longer(width, height)) } else { (longer(height, width), side) }
    }

    /// The bytes of an image in this size, pixel after pixel, in color or gray.
    pub(crate) fn bytes(self, image: DynamicImage, in_color: bool, name: &str) -> Result<Vec<u8>> {
        self.of(image.height() as usize, image.width() as usize, name)?;
        Ok(if in_color { self.sized(image.into_rgb8()) } else { self.sized(image.into_luma8()) })
    }

    fn sized<P: Pixel<Subpixel = u8> + 'static>(self, image: image::ImageBuffer<P, Vec<u8>>) -> Vec<u8> {
        let (height, width) = self.resized(image.height() as usize, image.width() as usize);
        let image = if (width as u32, height as u32) == image.dimensions() {
            image
        } else {
            // Linear, over as many pixels as become one: what Pillow does.
            imageops::resize(&image, width as u32, height as u32, FilterType::Triangle)
        };
        let Some(side) = self.crop else { return image.into_raw() };
        // Halves go to the even number, as Python rounds them.
        let first = |extent: u32| (f64::from(extent - side) / 2.0).round_ties_even() as u32;
        let (left, top) = (first(image.width()), first(image.height()));
        imageops::crop_imm(&image, left, top, side, side).to_image().into_raw()
    }
}

impl fmt::Display for ImageSize {
    /// What follows the folder in an argument.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = [("resize", self.resize), ("crop", self.crop)];
        let given =
            options.iter().filter_map(|(name, pixels)| pixels.map(|pixels| format!("{name}={pixels}")));
        let given: Vec<String> = given.collect();
        if given.is_empty() { Ok(()) } else { write!(f, "?{}", given.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_folder() {
        let size = |resize, crop| ImageSize { resize, crop };
        assert_eq!(ImageSize::split("a/b"), ("a/b", size(None, None)));
        for text in ["?resize=256&crop=224", "?resize=256", "?crop=224", ""] {
            let argument = format!("a?b{text}");
            let (folder, size) = ImageSize::split(&argument);
            assert_eq!((folder, size.to_string().as_str()), ("a?b", text));
        }
        // Something else that has a question mark in it.
        for other in ["a?resize=0", "a?resize=5000", "a?crop", "a?size=3"] {
            assert_eq!(ImageSize::split(other), (other, size(None, None)));
        }
    }

    #[test]
    fn the_shorter_side_decides() {
        let size = ImageSize { resize: Some(256), crop: Some(224) };
        assert_eq!((size.resized(375, 500), size.resized(500, 333)), ((256, 341), (384, 256)));
        assert_eq!(size.of(375, 500, "x").unwrap(), (224, 224));
        let small = ImageSize { resize: None, crop: Some(224) };
        let error = small.of(200, 500, "x").unwrap_err().to_string();
        assert!(error.contains("224 × 224") && error.contains("500 × 200"), "{error}");
    }

    #[test]
    fn narrow_images_are_not_resized_without_bounds() {
        let size = ImageSize { resize: Some(256), crop: Some(224) };
        assert_eq!(size.of(64, 4096, "x").unwrap(), (224, 224));
        let error = size.of(4096, 1, "x").unwrap_err().to_string();
        assert_eq!(
            error,
            "x: not a valid image: it has 1 × 4096 pixels, and would have 256 × 1048576 once it is resized; at most 16384 per side are supported"
        );
        assert!(size.of(63, 4096, "x").is_err());
        // An image that is as large as it may be, and stays so.
        assert_eq!(ImageSize::default().of(1, 4096, "x").unwrap(), (1, 4096));
    }
}
