//! NumPy archives that are read member by member: numbers, graphs and text.

use std::path::Path;

use spadework::Graph;

use crate::edge_list::EdgeList;
use crate::error::Result;
use crate::formats::{graph_npz, npz};
use crate::mapping::{FileBytes, read_file};

/// A NumPy archive.
#[derive(Debug)]
pub struct Archive {
    name: String,
    bytes: FileBytes,
}

impl Archive {
    /// Opens the archive at a path; none if there is no such file.
    ///
    /// # Errors
    /// When it cannot be read, or is a folder.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(Self { name: path.display().to_string(), bytes: read_file(path)? }))
    }

    /// A text that NumPy stores as a scalar of bytes; none if there is no such member.
    ///
    /// # Errors
    /// When the archive or the member is incomplete.
    pub fn text(&self, key: &str) -> Result<Option<String>> {
        if !npz::keys(&self.bytes, &self.name)?.iter().any(|have| have == key) {
            return Ok(None);
        }
        npz::text(&self.bytes, key, &self.name).map(Some)
    }

    /// The shape and the numbers of a member, row after row, not scaled.
    ///
    /// # Errors
    /// When there is no such member, or it is incomplete or has no numbers.
    pub fn numbers(&self, key: &str) -> Result<(Vec<usize>, Vec<f64>)> {
        let array = npz::parse(&self.bytes, Some(key), &self.name)?;
        Ok((array.shape().to_vec(), array.plain_numbers(&self.name)?))
    }

    /// The graph of an archive that `scipy.sparse.save_npz` wrote, or [`write_graph`](crate::output::write_graph).
    ///
    /// # Errors
    /// When it has no graph, or is incomplete.
    pub fn graph(&self) -> Result<Graph> {
        let mut edges = EdgeList::new(&self.name, None);
        graph_npz::parse(&self.bytes, &mut edges)?;
        edges.finish().map(|loaded| loaded.graph)
    }
}
