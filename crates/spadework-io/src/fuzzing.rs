//! One function per reader for the fuzz targets: any bytes must give an array of the right size or an error.

use crate::Dataset;
use crate::array::{RawArray, checked_product};
use crate::error::Result;
use crate::formats::{cifar, csv, idx, npy, npz, parquet, safetensors};
use crate::table::Table;

/// Reads bytes as a NumPy file.
pub fn npy(bytes: &[u8]) {
    check_raw(npy::parse(bytes, "fuzz"));
}

/// Reads bytes as a NumPy archive, without a key and with one.
pub fn npz(bytes: &[u8]) {
    check_raw(npz::parse(bytes, None, "fuzz"));
    check_raw(npz::parse(bytes, Some("a"), "fuzz"));
}

/// Reads bytes as a text table and as labels.
pub fn csv(bytes: &[u8]) {
    check_table(csv::parse(bytes, None, "fuzz"));
    let _ = csv::labels(bytes, None, "fuzz");
}

/// Reads bytes as a Parquet file and as labels.
pub fn parquet(bytes: &[u8]) {
    check_table(parquet::parse(bytes, None, "fuzz"));
    let _ = parquet::labels(bytes, None, "fuzz");
}

/// Reads bytes as a safetensors file, without a key and with one.
pub fn safetensors(bytes: &[u8]) {
    check_raw(safetensors::parse(bytes, None, "fuzz"));
    check_raw(safetensors::parse(bytes, Some("a"), "fuzz"));
}

/// Reads bytes as an IDX file.
pub fn idx(bytes: &[u8]) {
    check_raw(idx::parse(bytes, "fuzz"));
}

/// Reads bytes as a CIFAR-10 batch.
pub fn cifar(bytes: &[u8]) {
    if let Ok((images, labels)) = cifar::parse(bytes, "fuzz") {
        assert_eq!(images.shape().first(), Some(&labels.len()), "one label per image");
        check_raw(Ok(images));
    }
}

fn check_raw(array: Result<RawArray<'_>>) {
    let Ok(array) = array else { return };
    let count = checked_product(array.shape());
    assert_eq!(count, Some(array.numbers().len()), "as many values as the shape says");
    let _ = array.labels("fuzz");
    let _ = Dataset::from_raw(&array, "fuzz").samples();
}

fn check_table(table: Result<Table>) {
    let Ok(table) = table else { return };
    assert_eq!(checked_product(&table.shape), Some(table.numbers.len()), "as many values as the shape says");
    let _ = Dataset::from_table(table, "fuzz").samples();
}
