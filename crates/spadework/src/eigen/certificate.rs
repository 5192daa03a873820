//! A proof that λ_1 < μ: a Cholesky factor of μL_Y − L_X.
//!
//! By Sylvester's law the matrix has as many negative pivots as there are eigenvalues above μ. A Cholesky factorization that
//! completes has found none. One node is grounded (both Laplacians ignore constants), so that a matrix without negative
//! pivots is positive definite.
//!
//! *Rounding.* Rump (2006, "Verification of positive definiteness"): if the floating-point factorization of A − cI runs
//! to its end with c ≥ φ·tr(A), φ = γ_{n+1}/(1 − γ_{n+1}), then A itself is positive definite. Twice that c also covers
//! the rounding of the entries of A. So the bound is proved, not estimated. The margin has a cost: the smallest eigenvalue
//! of A near v_1 is about (μ − λ_1)/‖v_1‖², so μ must exceed λ_1 by about c‖v_1‖². On MNIST's 10,000 test images this is
//! 2·10⁻⁵ of λ_1.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Par, Side, Spec};

use super::enclosure::{Enclosure, EnclosureMethod, lower_end};
use super::{EigenProblem, GeneralizedEigenpairs};
use crate::error::{Error, Result};
use crate::monitor::{Monitor, check_cancelled};

/// Entries of the factor that are allowed (8 bytes each): the fill of high-dimensional neighbor graphs explodes.
const MOST_ENTRIES: usize = 250_000_000;
/// Each failed proof is tried again with this many times the excess over λ_1.
const WIDEN: f64 = 4.0;
/// Tries before giving up.
const TRIES: usize = 10;

pub(super) fn certified(
    problem: &EigenProblem<'_>,
    pairs: &GeneralizedEigenpairs,
    monitor: &dyn Monitor,
) -> Result<Enclosure> {
    let largest = pairs.values()[0];
    let pencil = GroundedPencil::new(problem, &pairs.vectors()[0]);
    let symbolic = pencil.symbolic(largest)?;
    let mut excess = pencil.expected_excess(largest, &pairs.vectors()[0]).max(largest * pairs.residuals()[0]);
    let mut upper = largest;
    for attempt in 0..TRIES {
        check_cancelled(monitor)?;
        monitor.progress(attempt as u64, TRIES as u64);
        upper = largest + excess;
        let proved = pencil.proves(upper, &symbolic);
        check_cancelled(monitor)?;
        if proved {
            let lower = lower_end(problem, pairs);
            return Ok(Enclosure { lower, upper, method: EnclosureMethod::Inertia, probability: 1.0 });
        }
        excess *= WIDEN;
    }
    Err(Error::NotCertified { tried: upper })
}

/// μL_Y − L_X without one node.
struct GroundedPencil<'p, 'g> {
    problem: &'p EigenProblem<'g>,
    ground: usize,
}

impl<'p, 'g> GroundedPencil<'p, 'g> {
    /// Grounds the node at which v_1 is nearest to zero: that costs the smallest eigenvalue least.
    fn new(problem: &'p EigenProblem<'g>, vector: &[f64]) -> Self {
        let ground =
            (0..vector.len()).min_by(|&p, &q| vector[p].abs().total_cmp(&vector[q].abs())).unwrap_or(0);
        Self { problem, ground }
    }

    /// Row or column of a node; `None` for the grounded one.
    fn at(&self, node: u32) -> Option<usize> {
        let node = node as usize;
        (node != self.ground).then(|| node - usize::from(node > self.ground))
    }

    /// tr(μL_Y − L_X), bounded from above.
    fn trace(&self, mu: f64) -> f64 {
        mu * self.problem.output().degrees().iter().sum::<f64>()
    }

    /// Rump's c, twice.
    fn margin(&self, mu: f64) -> f64 {
        let gamma = (self.problem.nodes() + 1) as f64 * f64::EPSILON;
        let phi = gamma / (1.0 - 2.0 * gamma);
        2.0 * phi * self.trace(mu)
    }

    /// Excess of μ over λ_1 at which the smallest eigenvalue should outgrow the margin.
    fn expected_excess(&self, largest: f64, vector: &[f64]) -> f64 {
        let ground = vector[self.ground];
        let squared_norm: f64 = vector.iter().map(|v| (v - ground).powi(2)).sum();
        2.0 * self.margin(largest) * squared_norm
    }

    /// The lower triangle of μL_Y − L_X − cI.
    fn matrix(&self, mu: f64) -> SparseColMat<usize, f64> {
        let size = self.problem.nodes() - 1;
        let (input, output) = (self.problem.input(), self.problem.output());
        let margin = self.margin(mu);
        let diagonal = (0..self.problem.nodes() as u32).filter_map(|p| {
            let degree = mu * output.degrees()[p as usize] - input.degrees()[p as usize];
            self.at(p).map(|at| Triplet::new(at, at, degree - margin))
        });
        let edge =
            |p: u32, q: u32, value: f64| Some(Triplet::new(self.at(p.max(q))?, self.at(p.min(q))?, value));
        let output_edges = output.graph().edges().filter_map(|(p, q, weight)| edge(p, q, -mu * weight));
        let input_edges = input.graph().edges().filter_map(|(p, q, weight)| edge(p, q, weight));
        let entries: Vec<_> = diagonal.chain(output_edges).chain(input_edges).collect();
        SparseColMat::try_new_from_triplets(size, size, &entries).expect("indices are below the size")
    }

    fn symbolic(&self, mu: f64) -> Result<SymbolicCholesky<usize>> {
        let matrix = self.matrix(mu);
        let too_large = |entries| Error::CertificateTooLarge {
            samples: self.problem.nodes(),
            entries,
            limit: MOST_ENTRIES,
        };
        let symbolic = factorize_symbolic_cholesky(
            matrix.symbolic(),
            Side::Lower,
            SymmetricOrdering::Amd,
            CholeskySymbolicParams::default(),
        )
        .map_err(|_| too_large(usize::MAX))?;
        if symbolic.len_val() > MOST_ENTRIES {
            return Err(too_large(symbolic.len_val()));
        }
        Ok(symbolic)
    }

    /// Whether the factorization runs to its end.
    fn proves(&self, mu: f64, symbolic: &SymbolicCholesky<usize>) -> bool {
        let matrix = self.matrix(mu);
        let mut values = vec![0.0; symbolic.len_val()];
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default());
        let Ok(mut memory) = MemBuffer::try_new(scratch) else { return false };
        symbolic
            .factorize_numeric_llt(
                &mut values,
                matrix.as_ref(),
                Side::Lower,
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut memory),
                Spec::default(),
            )
            .is_ok()
    }
}
