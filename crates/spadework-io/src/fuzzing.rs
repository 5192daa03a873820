//! One function per reader for the fuzz targets: any bytes must give an array of the right size or an error.

use crate::Dataset;
use crate::array::{RawArray, checked_product};
use crate::edge_list::EdgeList;
use crate::error::Result;
use crate::formats::{
    cifar, csv, graph_csv, graph_mtx, graph_npz, graph_petsc, idx, npy, npz, parquet, picture, safetensors,
};
use crate::image_size::ImageSize;
use crate::panics;
use crate::sparse_file;
use crate::table::Table;

/// Lets a fuzzer continue after a panic of a decoder that becomes an error. Its own hook would stop at every panic.
pub fn stop_at_uncaught_panics_only() {
    let stop = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panics::is_caught() {
            stop(panic);
        }
    }));
}

/// Reads bytes as a NumPy file.
pub fn npy(bytes: &[u8]) {
    check_raw(npy::parse(bytes, "fuzz"));
}

/// Reads bytes as a NumPy archive, without a key and with one.
pub fn npz(bytes: &[u8]) {
    check_raw(npz::parse(bytes, None, "fuzz"));
    check_raw(npz::parse(bytes, Some("a"), "fuzz"));
}

/// Reads bytes as a text table, whole, without a column and one column of it, as labels and as ids.
pub fn csv(bytes: &[u8]) {
    check_table(csv::parse(bytes, None, "fuzz"));
    check_table(csv::parse(bytes, Some("a"), "fuzz"));
    check_table(csv::parse_without(bytes, &["a"], "fuzz"));
    let _ = csv::labels(bytes, None, "fuzz");
    let _ = csv::words(bytes, None, "fuzz");
    let _ = csv::sparse_column(bytes, "a", "fuzz");
}

/// Reads bytes as a Parquet file, whole, without a column and one column of it, as labels and as numbers.
pub fn parquet(bytes: &[u8]) {
    check_table(parquet::parse(bytes, None, "fuzz"));
    check_table(parquet::parse(bytes, Some("a"), "fuzz"));
    check_table(parquet::parse_without(bytes, &["a"], "fuzz"));
    let _ = parquet::labels(bytes, None, "fuzz");
    check_table(parquet::parse_plain(bytes, None, "fuzz"));
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

/// Reads bytes as an image.
pub fn picture(bytes: &[u8]) {
    // What says to be larger is no test of our code, and slow.
    const LARGEST: usize = 1 << 16;
    let Ok(header) = picture::header(bytes, "fuzz") else { return };
    let pixels = header.height * header.width;
    if pixels > LARGEST {
        return;
    }
    for (in_color, channels) in [(false, 1), (true, 3)] {
        if let Ok(bytes) = picture::pixels(bytes, in_color, ImageSize::default(), "fuzz") {
            assert_eq!(bytes.len(), channels * pixels, "as many pixels as the header says");
        }
        let size = ImageSize { resize: Some(32), crop: Some(28) };
        if let Ok(bytes) = picture::pixels(bytes, in_color, size, "fuzz") {
            assert_eq!(bytes.len(), channels * 28 * 28, "as many pixels as were asked for");
        }
    }
}

/// Reads bytes as edges in text.
pub fn graph_csv(bytes: &[u8]) {
    check_graph(|edges| graph_csv::parse(bytes, edges));
}

/// Reads bytes as a Matrix Market file.
pub fn graph_mtx(bytes: &[u8]) {
    check_graph(|edges| graph_mtx::parse(bytes, edges));
}

/// Reads bytes as a SciPy matrix.
pub fn graph_npz(bytes: &[u8]) {
    check_graph(|edges| graph_npz::parse(bytes, edges));
}

/// Reads bytes as a PETSc matrix.
pub fn graph_petsc(bytes: &[u8]) {
    check_graph(|edges| graph_petsc::parse(bytes, edges));
}

/// Reads bytes as samples in a SciPy matrix.
pub fn sparse(bytes: &[u8]) {
    if let Ok(rows) = sparse_file::parse(bytes, "fuzz") {
        assert!(rows.entries() <= bytes.len() << 12, "no more entries than packed bytes can hold");
    }
}

fn check_graph(read: impl Fn(&mut EdgeList<'_>) -> Result<()>) {
    for nodes in [None, Some(12)] {
        let mut edges = EdgeList::new("fuzz", nodes);
        if read(&mut edges).is_ok()
            && let Ok(loaded) = edges.finish()
        {
            assert!(
                nodes.is_none_or(|nodes| nodes == loaded.graph.nodes()),
                "as many nodes as there are samples"
            );
            assert!(loaded.graph.edge_count() > 0, "a graph has edges");
        }
    }
}

fn check_raw(array: Result<RawArray<'_>>) {
    let Ok(array) = array else { return };
    let count = checked_product(array.shape());
    assert_eq!(count, Some(array.numbers().len()), "as many values as the shape says");
    let _ = array.labels("fuzz");
    let _ = Dataset::from_raw(array, "fuzz").map(|dataset| dataset.samples().is_ok());
}

fn check_table(table: Result<Table>) {
    let Ok(table) = table else { return };
    assert_eq!(checked_product(&table.shape), Some(table.numbers.len()), "as many values as the shape says");
    let _ = Dataset::from_table(table, "fuzz").samples();
}
