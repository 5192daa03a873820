//! The lowest modes of one graph: eigenvectors of the smallest positive eigenvalues of its Laplacian.
//!
//! On vectors of mean zero, L u = σ u is A v = λ L v, where A is the identity and λ = 1/σ. So the solver of the model score
//! finds the modes: the largest λ are the smallest σ. With its scale vᵀLv = 1, v = u/√σ for a u of length 1. So the vectors
//! are the columns of the paper's U_N (Lemma 3); with all of them, squared distances are effective resistances.

use faer::Mat;

use super::{EigenInfo, EigenParams, GeneralizedEigenpairs, Pencil, solve_pencil};
use crate::error::{Error, Result};
use crate::graph::ConnectedGraph;
use crate::laplacian::panel::{Panel, WIDTH, center, dots};
use crate::laplacian::{Laplacian, LaplacianSolver};
use crate::monitor::Monitor;
use crate::scaling::scaled;

/// σ_2 ≤ σ_3 ≤ … of a connected graph's Laplacian, with the vectors u_i/√σ_i, without the trivial pair (0, constant).
///
/// The vectors have mean zero and uᵀLu = 1; their entry of largest magnitude is positive.
#[derive(Debug, Clone)]
pub struct LaplacianModes {
    values: Vec<f64>,
    /// The pairs of 1/σ.
    inverse: GeneralizedEigenpairs,
}

impl LaplacianModes {
    /// σ_2 ≤ σ_3 ≤ …
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// u_i/√σ_i, each of length n.
    pub fn vectors(&self) -> &[Vec<f64>] {
        self.inverse.vectors()
    }

    /// Relative residuals of 1/σ_i, which bound the relative errors of the eigenvalues.
    pub fn residuals(&self) -> &[f64] {
        self.inverse.residuals()
    }

    /// How they were found.
    pub fn info(&self) -> EigenInfo {
        self.inverse.info()
    }
}

/// The lowest modes of a connected graph, [`EigenParams::eigenpairs`] of them.
///
/// # Errors
/// [`Error::NoEigenpairs`], [`Error::TooManyEigenpairs`] unless there are fewer of them than nodes;
/// [`Error::NotConverged`]; [`Error::WeightRange`]; [`Error::Cancelled`].
///
/// ```
/// use spadework::graph::{ConnectedGraph, generators};
/// use spadework::Silent;
/// use spadework::eigen::{EigenParams, lowest_modes};
/// let path = ConnectedGraph::new(generators::path(30)).unwrap();
/// let modes = lowest_modes(&path, &EigenParams::default(), &Silent)?;
/// let sigma = 2.0 - 2.0 * (std::f64::consts::PI / 30.0).cos();
/// assert!((modes.values()[0] / sigma - 1.0).abs() < 1e-9);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn lowest_modes(
    graph: &ConnectedGraph,
    params: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<LaplacianModes> {
    let (samples, eigenpairs) = (graph.graph().nodes(), params.eigenpairs);
    if eigenpairs == 0 {
        return Err(Error::NoEigenpairs);
    }
    if eigenpairs >= samples {
        return Err(Error::TooManyEigenpairs { eigenpairs, samples });
    }
    let (laplacian, exponent) = Laplacian::near_one(graph.graph());
    let pencil = InversePencil(LaplacianSolver::new(laplacian, params.seed));
    let mut inverse = solve_pencil(&pencil, params, monitor)?;
    let values: Vec<f64> = inverse.values().iter().map(|value| scaled(value.recip(), -exponent)).collect();
    // u/√σ, and the exponent is even.
    for entry in inverse.vectors.iter_mut().flatten() {
        *entry = scaled(*entry, exponent / 2);
    }
    if !values.iter().all(|value| value.is_normal()) {
        let largest = graph.graph().largest_weight();
        return Err(Error::WeightRange { input: largest, output: largest });
    }
    Ok(LaplacianModes { values, inverse })
}

/// v = λ L v on vectors of mean zero.
struct InversePencil<'g>(LaplacianSolver<'g>);

impl Pencil for InversePencil<'_> {
    fn solver(&self) -> &LaplacianSolver<'_> {
        &self.0
    }

    fn apply_left(&self, x: &Panel, y: &mut Panel) {
        y.copy_from_slice(x);
        center(y);
    }

    fn left_forms(&self, x: &Panel) -> [f64; WIDTH] {
        let mut centered = x.clone();
        center(&mut centered);
        dots(&centered, &centered)
    }

    /// The identity less 1/n everywhere: what takes the mean off.
    fn grounded_left(&self) -> Mat<f64> {
        let nodes = self.nodes();
        let share = (nodes as f64).recip();
        Mat::from_fn(nodes - 1, nodes - 1, |i, j| if i == j { 1.0 - share } else { -share })
    }
}
