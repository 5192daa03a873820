//! One file per format. Every reader takes bytes, or a stream of them, and the name to put into errors.

pub(crate) mod cifar;
pub(crate) mod csv;
mod csv_header;
mod csv_lines;
pub(crate) mod graph_csv;
pub(crate) mod graph_mtx;
pub(crate) mod graph_npz;
pub(crate) mod graph_petsc;
pub(crate) mod idx;
pub(crate) mod npy;
mod npy_header;
pub(crate) mod npz;
pub(crate) mod parquet;
mod parquet_column;
mod parquet_pages;
pub(crate) mod picture;
pub(crate) mod safetensors;
pub(crate) mod scipy_matrix;
