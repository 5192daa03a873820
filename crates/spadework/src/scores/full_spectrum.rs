//! Edge scores of the full spectrum, without choosing r.
//!
//! With r = n − 1 the embedding satisfies V_rV_rᵀ = L_Y⁺L_XL_Y⁺, so an edge scores
//!
//! ```text
//! (e_p − e_q)ᵀ L_Y⁺ L_X L_Y⁺ (e_p − e_q) = ‖F_X L_Y⁺ (e_p − e_q)‖²,   L_X = F_Xᵀ F_X,
//! ```
//!
//! and neither eigenvalues nor eigenvectors are needed: a random projection of F_X takes a number of solves with L_Y
//! (`laplacian/resistance.rs` has the bound). For few samples, all columns of L_Y⁺ cost less, and the result is exact.
//!
//! *Error of the solves.* An edge of weight w scores at least wR_Y(p,q)², so the error bound for resistances in that file
//! holds here with the additional factor √(Σλ_i/(nwR_Y)). The reserved 0.05·ε covers a factor of 25 at a condition number κ
//! = 100. For real data, the mean eigenvalue Σλ_i/n is between one and ten, and wR_Y is seldom below a tenth.

use super::EdgeScores;
use crate::error::Result;
use crate::graph::GraphPair;
use crate::laplacian::{Laplacian, LaplacianSolver, SketchInfo, SketchParams, flow_norms};
use crate::monitor::Monitor;
use crate::scaling::scaled;

impl EdgeScores {
    /// Scores of the input graph's edges with all n − 1 eigenpairs, to a stated relative error.
    ///
    /// # Errors
    /// [`Error::SketchError`](crate::error::Error::SketchError), [`Error::NotConverged`](crate::error::Error::NotConverged),
    /// [`Error::WeightRange`](crate::error::Error::WeightRange), [`Error::Cancelled`](crate::error::Error::Cancelled).
    pub fn of_full_spectrum(
        graphs: &GraphPair,
        params: &SketchParams,
        monitor: &dyn Monitor,
    ) -> Result<(Self, SketchInfo)> {
        let (output, output_exponent) = Laplacian::near_one(graphs.output());
        let (input, input_exponent) = Laplacian::near_one(graphs.input());
        let solver = LaplacianSolver::new(output, params.seed);
        let edges: Vec<(u32, u32)> = graphs.input().edges().map(|(p, q, _)| (p, q)).collect();
        let (scores, info) = flow_norms(&solver, &input, &edges, params, monitor)?;
        let as_given = |score: f64| scaled(score, 2 * output_exponent - input_exponent);
        let scores: Vec<f64> = scores.into_iter().map(as_given).collect();
        if !scores.iter().all(|score| score.is_normal()) {
            return Err(graphs.weight_range());
        }
        Ok((Self::new(edges, scores), info))
    }
}
