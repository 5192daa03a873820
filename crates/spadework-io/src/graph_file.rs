//! Graphs that were made elsewhere.

use std::path::Path;

use crate::edge_list::{EdgeList, LoadedGraph};
use crate::error::{Error, Result, begins};
use crate::formats::{graph_csv, graph_mtx, graph_npz, graph_petsc};
use crate::mapping::{FileBytes, MAP_FROM};

/// Loads a graph: edges as text (`.csv`, `.tsv`: `p,q` or `p,q,weight`, counted from 0), a SciPy matrix
/// (`.npz`, as `scipy.sparse.save_npz` writes it, csr or csc), a Matrix Market file (`.mtx`) or a PETSc matrix (`.petsc`), text
/// with or without gzip.
///
/// Node i is sample i. Weights are strengths, not distances. An edge that is listed in both directions counts once, with the
/// larger of its weights. Diagonal entries and zeros are left out and counted. `nodes` is the number of samples, if it is
/// known. Otherwise the matrix determines it, or the largest node in the list.
///
/// # Errors
/// When there is no such file, its contents do not follow the format, or a weight is negative or not finite.
pub fn load_graph(path: &str, nodes: Option<usize>) -> Result<LoadedGraph> {
    if !Path::new(path).exists() {
        return Err(Error::NotFound { path: path.to_owned() });
    }
    let file = FileBytes::open(Path::new(path), MAP_FROM)?;
    let mut edges = EdgeList::new(path, nodes);
    let lower = path.to_lowercase();
    let by_name = lower.strip_suffix(".gz").unwrap_or(&lower).rsplit_once('.').map(|(_, ending)| ending);
    match by_name {
        Some("csv" | "tsv") => graph_csv::parse(&file, &mut edges)?,
        Some("npz") => graph_npz::parse(&file, &mut edges)?,
        Some("mtx") => graph_mtx::parse(&file, &mut edges)?,
        Some("petsc") => graph_petsc::parse(&file, &mut edges)?,
        _ if file.starts_with(graph_mtx::MAGIC) => graph_mtx::parse(&file, &mut edges)?,
        _ if graph_petsc::is_petsc(&file) => graph_petsc::parse(&file, &mut edges)?,
        _ => return Err(Error::UnknownGraphFormat { name: path.to_owned(), begins: begins(&file) }),
    }
    file.check_unchanged()?;
    edges.finish()
}
