//! Effective resistances, and how far scores may be from the true ones.

use spadework::Graph;
use spadework::eigen::GeneralizedEigenpairs;
use spadework::laplacian::{CgParams, Laplacian, LaplacianSolver};

/// Residual to which the tests solve. The relative error of a resistance is at most this times the condition of the
/// preconditioned Laplacian (below 10³ for an approximate Cholesky factor), hence [`RESISTANCE_ERROR`].
fn accurately() -> CgParams {
    CgParams::default().with_tolerance(1e-12).with_max_iterations(2000)
}

/// Relative error of the resistances below.
pub(crate) const RESISTANCE_ERROR: f64 = 1e-9;

/// L⁺ of a connected graph, column by column.
pub(crate) struct PseudoInverse(Vec<Vec<f64>>);

impl PseudoInverse {
    /// Solves for every unit vector; the solver takes its mean off.
    pub(crate) fn of(graph: &Graph) -> Self {
        let solver = LaplacianSolver::new(Laplacian::of(graph), 7);
        let column = |p: usize| {
            let mut unit = vec![0.0; graph.nodes()];
            unit[p] = 1.0;
            let (x, info) = solver.solve(&unit, &accurately());
            assert!(info.converged(&accurately()), "{info:?}");
            x
        };
        Self((0..graph.nodes()).map(column).collect())
    }

    /// L⁺(e_p − e_q).
    pub(crate) fn potential(&self, p: u32, q: u32) -> Vec<f64> {
        self.0[p as usize].iter().zip(&self.0[q as usize]).map(|(a, b)| a - b).collect()
    }

    /// R(p, q) = (e_p − e_q)ᵀL⁺(e_p − e_q).
    pub(crate) fn resistance(&self, p: u32, q: u32) -> f64 {
        let potential = self.potential(p, q);
        potential[p as usize] - potential[q as usize]
    }
}

/// How far the root of an edge score can be from the true one, over √R_Y of the edge.
///
/// A computed vector differs from the eigenvector by δ_i, and in the L_Y-norm ‖δ_i‖ ≤ √2 sin θ_i ≤ √2 ρ_i/gap_i (Davis
/// and Kahan 1970; ρ_i the residual in the norm of L_Y⁺, gap_i the distance of λ_i to the other eigenvalues). Across an
/// edge, |δ_i(p) − δ_i(q)| ≤ √R_Y(p,q) ‖δ_i‖. The root of an edge score is the length of the vector of all
/// √λ_i (v_i(p) − v_i(q)), so the contributions add up in squares. The error of λ_i itself is of second order; rounding
/// of sums over n terms is the `1e-12`.
pub(crate) fn root_score_error(pairs: &GeneralizedEigenpairs, next_eigenvalue: f64) -> f64 {
    let values: Vec<f64> = pairs.values().iter().copied().chain([next_eigenvalue]).collect();
    let squared = |i: usize| {
        let below = values[i] - values[i + 1];
        let gap = if i == 0 { below } else { below.min(values[i - 1] - values[i]) };
        assert!(gap > 0.0, "scores are defined only where eigenvalues differ");
        values[i] * 2.0 * (values[i] * pairs.residuals()[i] / gap).powi(2)
    };
    (0..pairs.len()).map(squared).sum::<f64>().sqrt() + 1e-12 * values[0].sqrt()
}

/// The error of a score whose root errs by `root_error`.
pub(crate) fn score_error(score: f64, root_error: f64) -> f64 {
    2.0 * score.sqrt() * root_error + root_error * root_error
}
