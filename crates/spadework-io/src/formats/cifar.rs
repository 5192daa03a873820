//! CIFAR-10 binary batches: records of one label byte and 3 × 32 × 32 pixels, red, green, blue.

use std::borrow::Cow;

use crate::array::{Description, Layout, RawArray};
use crate::element::{Element, Endian};
use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::stream::{GZIP_MAGIC, gunzip};

/// Bytes of one record.
pub(crate) const RECORD: usize = 1 + PIXELS;
pub(crate) const PIXELS: usize = 3 * 32 * 32;

/// Names of the classes.
pub(crate) const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// Images of shape `[n, 3, 32, 32]` and their labels, packed with gzip or not.
pub(crate) fn parse(bytes: &[u8], name: &str) -> Result<(RawArray<'static>, Labels)> {
    let bytes = if bytes.starts_with(GZIP_MAGIC) && !bytes.len().is_multiple_of(RECORD) {
        Cow::Owned(gunzip(bytes, name)?)
    } else {
        Cow::Borrowed(bytes)
    };
    if bytes.is_empty() || !bytes.len().is_multiple_of(RECORD) {
        return Err(Error::CifarLength { name: name.to_owned(), bytes: bytes.len() as u64 });
    }
    let (records, _) = bytes.as_chunks::<RECORD>();
    let mut pixels = Vec::with_capacity(records.len() * PIXELS);
    let mut ids = Vec::with_capacity(records.len());
    for (record, &[label, ref image @ ..]) in records.iter().enumerate() {
        if usize::from(label) >= CLASSES.len() {
            return Err(Error::CifarLabel { name: name.to_owned(), record, label });
        }
        ids.push(i64::from(label));
        pixels.extend_from_slice(image);
    }
    let shape = vec![records.len(), 3, 32, 32];
    let description =
        Description { shape, element: Element::U8, endian: Endian::Little, layout: Layout::RowMajor };
    let names = CLASSES.map(str::to_owned).to_vec();
    Ok((RawArray::new(description, pixels, name)?, Labels::with_names(ids, names)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Numbers;

    #[test]
    fn splits_labels_from_pixels() {
        let mut bytes = vec![0; 2 * RECORD];
        bytes[0] = 3;
        bytes[1] = 255;
        bytes[RECORD] = 9;
        let (images, labels) = parse(&bytes, "x.bin").unwrap();
        assert_eq!(images.shape(), [2, 3, 32, 32]);
        assert_eq!(labels.ids(), [3, 9]);
        assert_eq!(labels.class_name(3), Some("cat"));
        let Numbers::F32(values) = images.numbers() else { panic!("pixels are f32") };
        assert_eq!((values[0], values.iter().sum::<f32>()), (1.0, 1.0));
    }

    #[test]
    fn refuses_parts_of_records_and_other_labels() {
        for bytes in [0, 1, RECORD - 1, RECORD + 1] {
            let error = parse(&vec![0; bytes], "x.bin").unwrap_err();
            assert!(error.to_string().ends_with(&format!("got {bytes}")), "{error}");
        }
        let error = parse(&[10; RECORD], "x.bin").unwrap_err();
        assert_eq!(error.to_string(), "x.bin: a CIFAR-10 label must be below 10, got 10 at record 0");
    }
}
