//! Distances between the two graphs as a whole: Riemannian distance, reverse score and bi-Lipschitz constant (A.4).

use crate::eigen::{EigenParams, EigenProblem, GeneralizedEigenpairs};
use crate::error::Result;
use crate::graph::GraphPair;
use crate::monitor::Monitor;

/// Up to this many samples all eigenvalues are computed: a dense decomposition takes a second or two.
pub const MOST_SAMPLES_FOR_ALL: usize = 1000;
/// Number of eigenvalues for more samples, as in the paper.
pub const LARGEST: usize = 10;

/// δ(L_X, L_Y) = √(Σ log² λ_i(L_Y⁺L_X)).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RiemannianDistance {
    /// δ over the eigenvalues used.
    pub distance: f64,
    /// How many were used, largest first.
    pub eigenvalues: usize,
    /// Whether these are all n − 1 of them; otherwise `distance` is a lower bound of δ.
    pub all: bool,
}

impl RiemannianDistance {
    /// Over all eigenvalues for few samples, and over the [`LARGEST`] otherwise, as in the paper.
    ///
    /// # Errors
    /// [`Error::InputDisconnected`](crate::error::Error::InputDisconnected): an eigenvalue of 0 gives an infinite distance;
    /// [`Error::NotConverged`](crate::error::Error::NotConverged), [`Error::Cancelled`](crate::error::Error::Cancelled).
    pub fn of(graphs: &GraphPair, params: &EigenParams, monitor: &dyn Monitor) -> Result<Self> {
        graphs.check_input_connected()?;
        let problem = EigenProblem::new(graphs, params.seed);
        if graphs.nodes() <= MOST_SAMPLES_FOR_ALL {
            return Ok(Self::from_eigenvalues(&problem.all_eigenvalues(monitor)?, true));
        }
        let params = EigenParams { eigenpairs: LARGEST, ..*params };
        let pairs = problem.dominant_eigenpairs(&params, monitor)?;
        Ok(Self::from_eigenvalues(pairs.values(), false))
    }

    /// Over given eigenvalues, `all` of them or the largest.
    pub fn from_eigenvalues(values: &[f64], all: bool) -> Self {
        let squares: f64 = values.iter().map(|value| value.ln().powi(2)).sum();
        Self { distance: squares.sqrt(), eigenvalues: values.len(), all }
    }
}

/// λ_max(L_X⁺L_Y), and the bi-Lipschitz constant that follows from it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ReverseScore {
    /// λ_max(L_X⁺L_Y) = 1/λ_min(L_Y⁺L_X): how much closer two samples can get at the output.
    pub score: f64,
    /// Its relative residual.
    pub residual: f64,
    /// κ, the larger of the two scores: d_X/κ ≤ d_Y ≤ κd_X for every pair, by resistance.
    pub bi_lipschitz: f64,
}

impl ReverseScore {
    /// Solves the problem with its sides exchanged.
    ///
    /// # Errors
    /// [`Error::InputDisconnected`](crate::error::Error::InputDisconnected),
    /// [`Error::NotConverged`](crate::error::Error::NotConverged), [`Error::Cancelled`](crate::error::Error::Cancelled).
    pub fn of(
        graphs: &GraphPair,
        pairs: &GeneralizedEigenpairs,
        params: &EigenParams,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let reversed = graphs.reversed()?;
        let params = EigenParams { eigenpairs: 1, ..*params };
        let reverse = EigenProblem::new(&reversed, params.seed).dominant_eigenpairs(&params, monitor)?;
        let score = reverse.values()[0];
        Ok(Self { score, residual: reverse.residuals()[0], bi_lipschitz: score.max(pairs.values()[0]) })
    }
}
