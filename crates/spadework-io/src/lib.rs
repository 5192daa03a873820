//! Array files and data sets: everything that turns an argument of a user into samples, and results into files.
//!
//! [`load`] takes what a user types: a file (`x.npy`, `x.npz:key`, `x.csv`, `x.parquet`, `x.safetensors:key`, an IDX file, a
//! CIFAR-10 batch), several files of one name (`x-*.npy`), a data set by name and folder (`mnist:DIR:test`), a folder of images
//! (`images:DIR`, with another size `images:DIR?resize=256&crop=224`) or the embedded `digits`. It returns a [`Dataset`], which owns the values or maps
//! their file, and borrows them as [`Samples`](spadework::Samples), one row per sample. [`load_labels`] takes the
//! same arguments for the classes of the samples.
//!
//! ```
//! let path = std::env::temp_dir().join(format!("spadework-io-{}.csv", std::process::id()));
//! std::fs::write(&path, "width,height\n1.0,2.0\n3.0,5.0\n")?;
//! let dataset = spadework_io::load(&path.display().to_string())?;
//! assert_eq!(dataset.shape(), [2, 2]);
//! assert_eq!(dataset.samples()?.dim(), 2);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Bytes (`uint8`) are pixels and stand for x/255; other integers keep their value; floating point stays as it is. Labels are
//! never scaled. Headers are not trusted: no memory is allocated for a size that the file only claims, and data are not unpacked if
//! they claim to expand beyond a limit.
//!
//! [`load_graph`] reads a graph of another program: a list of edges, a SciPy matrix or a Matrix Market file.
//!
//! [`output`] writes results. A file is either complete or absent.

pub mod archive;
mod array;
pub mod catalog;
mod cinic;
pub mod corrupt;
mod dataset;
mod digest;
mod digits;
mod edge_list;
mod element;
mod error;
mod formats;
#[doc(hidden)]
pub mod fuzzing;
mod graph_file;
mod image_folder;
mod image_size;
mod kept_table;
mod keys;
mod labels;
mod load;
mod mapping;
mod named;
pub mod output;
pub mod panics;
mod scratch_file;
mod source;
mod sparse_file;
mod stream;
mod table;
#[cfg(test)]
mod testing;

pub use dataset::Dataset;
pub use digest::{digest, digest_bytes, digest_pieces, graph_digest, is_digest, outdated_digest};
pub use digits::load as load_digits;
pub use edge_list::{LoadedGraph, graph_of_entries};
pub use error::{Error, Format, Listed, Result};
pub use graph_file::load_graph;
pub use image_size::ImageSize;
pub use kept_table::read_column;
pub use labels::Labels;
pub use load::{
    arrays_in, load, load_announcing, load_bytes, load_ids, load_labels, load_numbers, load_watched,
};
pub use mapping::{FileBytes, check_mapped_files, check_regular, mapped_file_at, read_file, read_regular};
pub use source::{default_name, names_array};
pub use sparse_file::load_sparse;
