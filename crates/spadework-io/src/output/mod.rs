//! Results as files that are either complete or not there.
//!
//! Everything is written to a temporary sibling and renamed when it is complete. What is dropped before is removed, and
//! [`remove_unfinished`] removes what a program that is interrupted leaves behind.

mod csv;
mod graph;
mod lock;
mod npy;
mod npz;
mod parquet;
mod temporary;

pub use self::csv::{CsvTable, optional_field};
pub use graph::{ScipyMatrix, write_graph};
pub use lock::FolderLock;
pub use npy::{NpyValues, npy_bytes, write_npy};
pub use npz::{NpzMember, write_npz};
pub use parquet::{Column, write_parquet};
pub use temporary::{OutputDir, OutputFile, remove_unfinished, try_remove_unfinished, write_bytes};
