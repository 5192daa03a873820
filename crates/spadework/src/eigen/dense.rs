//! Dense eigenpairs for small n, and the reference for the iteration.
//!
//! Both Laplacians lose the last node ("grounded": a vector is defined up to a constant, so its last entry may be 0).
//! L_Y is then positive definite, L_Y = C Cᵀ, and C⁻¹ L_X C⁻ᵀ is an ordinary symmetric problem with all n − 1
//! eigenvalues.

use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatRef, Par, Side};

use super::symmetric::symmetric_eigen;
use super::{
    EigenInfo, EigenMethod, EigenParams, GeneralizedEigenpairs, Pencil, RitzPair, condition_at_least,
};
use crate::error::{Error, Result};
use crate::laplacian::Laplacian;
use crate::laplacian::panel::{Panel, zeros};
use crate::memory::check_room;
use crate::monitor::{Monitor, check_cancelled};

/// Up to this many nodes a dense decomposition takes a fraction of a second.
pub(super) const COMFORTABLE_NODES: usize = 200;

/// Up to this many it takes some seconds, which is better than no answer.
pub(super) const BEARABLE_NODES: usize = 1500;

pub(super) fn eigenpairs(
    problem: &dyn Pencil,
    params: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<GeneralizedEigenpairs> {
    check_cancelled(monitor)?;
    check_memory(problem)?;
    let failed = || not_converged(vec![f64::INFINITY; params.eigenpairs], params.tolerance, None);
    let factor = grounded(problem.right()).llt(Side::Lower).map_err(|_| failed())?;
    let lower = factor.L();
    let spectrum = symmetric_eigen(whitened(problem, lower).as_ref()).ok_or_else(failed)?;
    let mut vectors = spectrum.vectors.subcols(0, params.eigenpairs).to_owned();
    solve_upper_triangular_in_place(lower.transpose(), vectors.as_mut(), Par::Seq);
    let pairs: Vec<RitzPair> = (0..params.eigenpairs)
        .map(|i| {
            let mut vector: Vec<f64> = vectors.col(i).iter().copied().collect();
            vector.push(0.0);
            let value = spectrum.values[i];
            let whiten = |r: &mut Mat<f64>| solve_lower_triangular_in_place(lower, r.as_mut(), Par::Seq);
            let mut residual = residual(problem, &vector, whiten);
            if residual > params.tolerance * value {
                residual = residual.min(residual_by_differences(problem, &vector, whiten));
            }
            RitzPair { value, vector, residual }
        })
        .collect();
    if pairs.iter().any(|pair| pair.residual > params.tolerance * pair.value) {
        let residuals = pairs.iter().map(RitzPair::relative_residual).collect();
        let condition = pairs.first().and_then(|pair| condition_at_least(problem, &pair.vector));
        return Err(not_converged(residuals, params.tolerance, condition));
    }
    check_cancelled(monitor)?;
    let info = EigenInfo { method: EigenMethod::Dense, iterations: 0 };
    Ok(GeneralizedEigenpairs::new(problem, pairs, params.eigenpairs, info))
}

/// All n − 1 eigenvalues, largest first.
pub(super) fn eigenvalues(problem: &dyn Pencil, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    check_cancelled(monitor)?;
    check_memory(problem)?;
    let failed = || not_converged(vec![f64::INFINITY], 0.0, None);
    let factor = grounded(problem.right()).llt(Side::Lower).map_err(|_| failed())?;
    let spectrum = symmetric_eigen(whitened(problem, factor.L()).as_ref()).ok_or_else(failed)?;
    check_cancelled(monitor)?;
    Ok(spectrum.values)
}

/// Both matrices, the factor, and the vectors with their room to work.
fn check_memory(problem: &dyn Pencil) -> Result<()> {
    check_room("a dense eigenproblem", problem.nodes().saturating_mul(problem.nodes()).saturating_mul(5))
}

fn not_converged(residuals: Vec<f64>, tolerance: f64, condition: Option<f64>) -> Error {
    Error::NotConverged {
        what: "the dense eigenvalue decomposition",
        iterations: 0,
        residuals,
        tolerance,
        condition,
    }
}

/// C⁻¹ A C⁻ᵀ: the second solve works on the transpose of the first, which is symmetric in the end.
fn whitened(problem: &dyn Pencil, lower: MatRef<'_, f64>) -> Mat<f64> {
    let mut left = problem.grounded_left();
    solve_lower_triangular_in_place(lower, left.as_mut(), Par::Seq);
    let mut whitened = left.transpose().to_owned();
    solve_lower_triangular_in_place(lower, whitened.as_mut(), Par::Seq);
    whitened
}

/// ‖A v − λ L_Y v‖ in the norm of L_Y⁺: rᵀL_Y⁺r = ‖C⁻¹r‖² for the grounded r, since r sums to zero.
fn residual(problem: &dyn Pencil, vector: &[f64], whiten: impl Fn(&mut Mat<f64>)) -> f64 {
    let norm = problem.right().quadratic_form(vector);
    let value = problem.left_form(vector) / norm;
    let panel: Panel = vector.iter().map(|&entry| [entry, 0.0, 0.0, 0.0]).collect();
    let mut left = zeros(vector.len());
    problem.apply_left(&panel, &mut left);
    let right = problem.right().apply(vector);
    let mut residual = Mat::from_fn(vector.len() - 1, 1, |p, _| left[p][0] - value * right[p]);
    whiten(&mut residual);
    residual.norm_l2() / norm.sqrt()
}

/// The same where the products cancel, as in graphs that hardly hang together.
fn residual_by_differences(problem: &dyn Pencil, vector: &[f64], whiten: impl Fn(&mut Mat<f64>)) -> f64 {
    let norm = problem.right().quadratic_form(vector);
    let value = problem.left_form(vector) / norm;
    let Some(residual) = problem.residual_by_differences(vector, value) else { return f64::INFINITY };
    let mut residual = Mat::from_fn(vector.len() - 1, 1, |p, _| residual[p]);
    whiten(&mut residual);
    residual.norm_l2() / norm.sqrt()
}

/// The Laplacian without its last node, dense.
pub(super) fn grounded(laplacian: &Laplacian<'_>) -> Mat<f64> {
    let size = laplacian.nodes() - 1;
    let mut matrix = Mat::zeros(size, size);
    for p in 0..size {
        matrix[(p, p)] = laplacian.degrees()[p];
    }
    for (p, q, weight) in laplacian.graph().edges() {
        let (p, q) = (p as usize, q as usize);
        if q < size {
            matrix[(p, q)] = -weight;
            matrix[(q, p)] = -weight;
        }
    }
    matrix
}
