//! Small dense symmetric eigenproblems. Only this file and `dense.rs` use faer's decompositions.

use faer::{Mat, MatRef, Side};

/// Eigenvalues in descending order, and the orthonormal eigenvectors as columns in that order.
pub(super) struct SymmetricEigen {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Mat<f64>,
}

/// Decomposes a symmetric matrix of finite entries; `None` when the decomposition does not converge.
pub(super) fn symmetric_eigen(matrix: MatRef<'_, f64>) -> Option<SymmetricEigen> {
    let decomposition = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    let size = matrix.nrows();
    let ascending = decomposition.S().column_vector();
    let values = (0..size).rev().map(|i| ascending[i]).collect();
    let vectors = Mat::from_fn(size, size, |i, j| decomposition.U()[(i, size - 1 - j)]);
    Some(SymmetricEigen { values, vectors })
}
