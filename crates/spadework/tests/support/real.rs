//! Real images and logits, from the folder in `SPADEWORK_DATA`.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::{DeflateDecoder, GzDecoder};

#[allow(unused_imports, reason = "not every test that shares these files reads real data")]
pub(crate) use super::data_folder::folder;

/// Files in the folder.
pub(crate) const MNIST: &str = "mnist/t10k-images-idx3-ubyte.gz";
pub(crate) const MNIST_LOGITS: &str = "logits/mnist_test_lenet5.npz";
pub(crate) const CIFAR: &str = "cifar10/test_batch.bin";
pub(crate) const CIFAR_LOGITS: &str = "logits/cifar10_test_resnet18.npz";

/// Pixels of an MNIST image.
pub(crate) const MNIST_PIXELS: usize = 28 * 28;
/// Numbers of a CIFAR-10 image.
pub(crate) const CIFAR_PIXELS: usize = 3 * 32 * 32;
/// Classes of both data sets.
pub(crate) const CLASSES: usize = 10;

/// The first MNIST test images, pixels divided by 255.
pub(crate) fn mnist_test(folder: &Path, images: usize) -> Vec<f32> {
    let packed = fs::File::open(folder.join(MNIST)).expect("the MNIST test images");
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("gzip");
    // IDX: four big-endian words (magic number, images, rows, columns), then the pixels.
    assert_eq!(bytes[..4], [0, 0, 8, 3], "an IDX file of bytes in three dimensions");
    bytes[16..16 + images * MNIST_PIXELS].iter().map(|&pixel| scaled(pixel)).collect()
}

/// The first CIFAR-10 test images, pixels divided by 255.
pub(crate) fn cifar_test(folder: &Path, images: usize) -> Vec<f32> {
    let bytes = fs::read(folder.join(CIFAR)).expect("the CIFAR-10 test images");
    // Records of one label and 3 × 32 × 32 pixels.
    let records = bytes.chunks_exact(1 + CIFAR_PIXELS).take(images);
    let pixels: Vec<f32> =
        records.flat_map(|record| record[1..].iter().map(|&pixel| scaled(pixel))).collect();
    assert_eq!(pixels.len(), images * CIFAR_PIXELS, "enough images");
    pixels
}

fn scaled(pixel: u8) -> f32 {
    f32::from(pixel) / 255.0
}

/// One array of a file of logits: rows of ten numbers.
pub(crate) fn logits(folder: &Path, file: &str, array: &str) -> Vec<f32> {
    let bytes = fs::read(folder.join("logits").join(file)).expect("a file of logits");
    npy_f32(&zip_member(&bytes, &format!("{array}.npy")))
}

/// A member of a ZIP archive. Sizes are taken from the central directory, where NumPy writes them in full.
fn zip_member(bytes: &[u8], name: &str) -> Vec<u8> {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let u32_at = |at: usize| u16_at(at) + (u16_at(at + 2) << 16);
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06").expect("the end of a ZIP archive");
    let mut entry = u32_at(end + 16);
    for _ in 0..u16_at(end + 10) {
        let name_length = u16_at(entry + 28);
        if &bytes[entry + 46..entry + 46 + name_length] == name.as_bytes() {
            let local = u32_at(entry + 42);
            let data = local + 30 + u16_at(local + 26) + u16_at(local + 28);
            let packed = &bytes[data..data + u32_at(entry + 20)];
            return unpacked(u16_at(entry + 10), packed, u32_at(entry + 24));
        }
        entry += 46 + name_length + u16_at(entry + 30) + u16_at(entry + 32);
    }
    panic!("no {name} in the archive");
}

fn unpacked(method: usize, packed: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size);
    match method {
        0 => bytes.extend_from_slice(packed),
        8 => drop(DeflateDecoder::new(packed).read_to_end(&mut bytes).expect("deflate")),
        other => panic!("compression method {other} is not read here"),
    }
    assert_eq!(bytes.len(), size, "a whole member");
    bytes
}

/// The numbers of a little-endian float32 array in C order.
fn npy_f32(bytes: &[u8]) -> Vec<f32> {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00", "a NumPy array, version 1.0");
    let header_end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..header_end]).expect("a header");
    assert!(header.contains("'<f4'") && header.contains("'fortran_order': False"), "{header}");
    bytes[header_end..].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
