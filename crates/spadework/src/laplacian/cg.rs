//! Laplacian solves: preconditioned conjugate gradients on four right-hand sides at once.

use super::panel::{Panel, WIDTH, center, dots, scale_add, zeros};
use super::{ApproximateCholesky, Laplacian};
use crate::error::{Error, Result};

/// Parameters of a solve.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CgParams {
    /// Relative residual, in the norm of the preconditioner, at which a right-hand side counts as solved.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
}

with_methods! { CgParams {
    with_tolerance(tolerance: f64),
    with_max_iterations(max_iterations: usize),
} }

impl Default for CgParams {
    fn default() -> Self {
        Self { tolerance: 1e-8, max_iterations: 500 }
    }
}

/// What a solve reached.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CgInfo {
    /// Iterations done.
    pub iterations: usize,
    /// Largest relative residual among the right-hand sides.
    pub residual: f64,
}

impl CgInfo {
    /// Whether every right-hand side reached the tolerance.
    pub fn converged(&self, params: &CgParams) -> bool {
        self.residual <= params.tolerance
    }

    /// An error where one did not; `what` was solved.
    pub(crate) fn check(&self, what: &'static str, params: &CgParams) -> Result<()> {
        if self.converged(params) {
            return Ok(());
        }
        let (iterations, residuals) = (self.iterations, vec![self.residual]);
        Err(Error::NotConverged { what, iterations, residuals, tolerance: params.tolerance, condition: None })
    }
}

/// Applies L⁺ of a connected graph to vectors of mean zero. The null space is handled here.
#[derive(Debug)]
pub struct LaplacianSolver<'g> {
    laplacian: Laplacian<'g>,
    preconditioner: ApproximateCholesky,
}

impl<'g> LaplacianSolver<'g> {
    /// Factors a preconditioner for the Laplacian of a connected graph.
    pub fn new(laplacian: Laplacian<'g>, seed: u64) -> Self {
        let preconditioner = ApproximateCholesky::new(&laplacian, seed);
        Self { laplacian, preconditioner }
    }

    /// L.
    pub fn laplacian(&self) -> &Laplacian<'g> {
        &self.laplacian
    }

    /// Solves L x = b for one vector. The mean of b is subtracted first, and x has mean zero.
    pub fn solve(&self, b: &[f64], params: &CgParams) -> (Vec<f64>, CgInfo) {
        let panel: Panel = b.iter().map(|&b| [b, 0.0, 0.0, 0.0]).collect();
        let (x, info) = self.solve_panel(&panel, params);
        (x.iter().map(|row| row[0]).collect(), info)
    }

    /// z = M⁻¹ r, mean zero.
    pub(crate) fn precondition(&self, r: &Panel, z: &mut Panel) {
        self.preconditioner.solve_panel(r, z);
        center(z);
    }

    /// M^{1/2} of directions, given a standard normal number for each of their entries: uniform in the geometry of M.
    pub(crate) fn random_residual(&self, normal: impl FnMut() -> [f64; WIDTH]) -> Panel {
        self.preconditioner.random_residual(normal)
    }

    /// Solves L X = B.
    pub(crate) fn solve_panel(&self, b: &Panel, params: &CgParams) -> (Panel, CgInfo) {
        let rows = b.len();
        let mut x = zeros(rows);
        let mut residual = b.clone();
        center(&mut residual);
        let mut z = zeros(rows);
        self.precondition(&residual, &mut z);
        let mut energy = dots(&residual, &z);
        let start = energy;
        let mut direction = z.clone();
        let mut product = zeros(rows);
        let mut iterations = 0;
        let largest = |energy: [f64; WIDTH]| {
            (0..WIDTH)
                .filter(|&lane| start[lane] > 0.0)
                .map(|lane| (energy[lane] / start[lane]).max(0.0).sqrt())
                .fold(0.0, f64::max)
        };
        while largest(energy) > params.tolerance && iterations < params.max_iterations {
            iterations += 1;
            self.laplacian.apply_panel(&direction, &mut product);
            let curvature = dots(&direction, &product);
            // A right-hand side that is solved to the last bit has no curvature left and stands still.
            let step = ratio(energy, curvature);
            scale_add(&mut x, [1.0; WIDTH], &direction, step);
            scale_add(&mut residual, [1.0; WIDTH], &product, step.map(|s| -s));
            self.precondition(&residual, &mut z);
            let next = dots(&residual, &z);
            scale_add(&mut direction, ratio(next, energy), &z, [1.0; WIDTH]);
            energy = next;
        }
        (x, CgInfo { iterations, residual: largest(energy) })
    }
}

fn ratio(a: [f64; WIDTH], b: [f64; WIDTH]) -> [f64; WIDTH] {
    std::array::from_fn(|lane| if b[lane] > 0.0 { a[lane] / b[lane] } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generators;

    #[test]
    fn resistance_of_a_path_is_its_length() {
        let path = generators::path(50);
        let solver = LaplacianSolver::new(Laplacian::of(&path), 0);
        let mut b = vec![0.0; 50];
        (b[3], b[41]) = (1.0, -1.0);
        let params = CgParams { tolerance: 1e-12, ..CgParams::default() };
        let (x, info) = solver.solve(&b, &params);
        assert!(info.converged(&params));
        assert!((x[3] - x[41] - 38.0).abs() < 1e-9);
        assert!(x.iter().sum::<f64>().abs() < 1e-9);
    }

    #[test]
    fn a_zero_right_hand_side_gives_zero() {
        let grid = generators::grid(5, 6);
        let (x, info) = LaplacianSolver::new(Laplacian::of(&grid), 1).solve(&[2.0; 30], &CgParams::default());
        assert_eq!(info.iterations, 0);
        assert!(x.iter().all(|&v| v == 0.0));
    }
}
