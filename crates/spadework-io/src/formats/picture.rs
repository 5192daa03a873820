//! One image, PNG or JPEG, as bytes of pixels.
//!
//! The crate `image` decodes it. It gets the maximum size, and its panics become errors.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use crate::error::{Error, Result, begins};
use crate::image_size::ImageSize;
use crate::panics;

/// Pixels of a side; a larger picture is not a sample among thousands.
const MOST_PIXELS_A_SIDE: u32 = 4096;
/// Bytes that a decoder may take in addition to the file: the largest picture with four channels of 16 bits, twice.
const MOST_BYTES: u64 = 2 * 8 * 4096 * 4096;

/// What the beginning of an image says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) has_color: bool,
}

/// Whether the name is that of an image that is read.
pub(crate) fn has_image_ending(file_name: &str) -> bool {
    let name = file_name.to_ascii_lowercase();
    [".png", ".jpg", ".jpeg"].iter().any(|ending| name.ends_with(ending))
}

/// Size and colors, without decoding.
pub(crate) fn header(bytes: &[u8], name: &str) -> Result<Header> {
    guarded(name, || {
        let decoder = decoder(bytes, name)?;
        let (width, height) = decoder.dimensions();
        let has_color = decoder.color_type().has_color();
        Ok(Header { height: height as usize, width: width as usize, has_color })
    })
}

/// The pixels in some size: rows of one channel, or the rows of red, then green, then blue. Transparency is left out.
pub(crate) fn pixels(bytes: &[u8], in_color: bool, size: ImageSize, name: &str) -> Result<Vec<u8>> {
    let interleaved = guarded(name, || {
        let image =
            DynamicImage::from_decoder(decoder(bytes, name)?).map_err(|error| refuse(name, &error))?;
        size.bytes(image, in_color, name)
    })?;
    if !in_color {
        return Ok(interleaved);
    }
    let (pixels, _) = interleaved.as_chunks::<3>();
    Ok((0..3).flat_map(|channel| pixels.iter().map(move |pixel| pixel[channel])).collect())
}

fn decoder<'a>(bytes: &'a [u8], name: &str) -> Result<impl ImageDecoder + 'a> {
    let Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg)) = image::guess_format(bytes) else {
        return Err(Error::NoImage { name: name.to_owned(), begins: begins(bytes) });
    };
    // Decoders fill up what is missing of a JPEG file with gray.
    if format == ImageFormat::Jpeg && !bytes.windows(2).any(|marker| marker == [0xff, 0xd9]) {
        return Err(Error::Image { name: name.to_owned(), reason: "it is cut short".to_owned() });
    }
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(MOST_PIXELS_A_SIDE);
    limits.max_image_height = Some(MOST_PIXELS_A_SIDE);
    limits.max_alloc = Some(MOST_BYTES);
    reader.limits(limits);
    reader.into_decoder().map_err(|error| refuse(name, &error))
}

fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let broken = || Error::Image { name: name.to_owned(), reason: "its decoder gave up".to_owned() };
    panics::catch(work).unwrap_or_else(|| Err(broken()))
}

fn refuse(name: &str, error: &image::ImageError) -> Error {
    // A message of the decoder may have several lines.
    let reason = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    Error::Image { name: name.to_owned(), reason }
}
