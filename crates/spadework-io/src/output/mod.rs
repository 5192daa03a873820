//! Results as files that are either complete or absent.
//!
//! Everything is written under a temporary name in the same folder, and renamed when it is complete. If a writer is dropped
//! earlier, its file is removed. [`remove_unfinished`] removes the files of an interrupted program.

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
pub use temporary::{
    OutputDir, OutputFile, check_no_link, remove_link, remove_unfinished, try_remove_unfinished, write_bytes,
    write_own,
};
