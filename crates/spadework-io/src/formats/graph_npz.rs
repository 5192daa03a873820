//! Graphs as SciPy writes them (`scipy.sparse.save_npz`): compressed rows or columns of an adjacency matrix.

use super::scipy_matrix::Compressed;
use crate::edge_list::EdgeList;
use crate::error::Result;

pub(crate) fn parse(bytes: &[u8], edges: &mut EdgeList<'_>) -> Result<()> {
    let name = edges.name();
    let matrix = Compressed::read(bytes, name, |rows, columns| edges.set_shape(rows, columns))?;
    matrix.for_each(name, |row, column, weight| {
        edges.push(row, column, weight, || format!("row {row}, column {column}"))
    })
}
