//! tr(L⁺M) of two Laplacians on the same nodes, by a sketch.
//!
//! With F the weighted incidence matrix of the second graph, M = FᵀF, and a random sign on each of its edges, b = Fᵀz:
//! E[bᵀL⁺b] = tr(F L⁺Fᵀ) = tr(L⁺M) (Hutchinson 1990). Each b costs a quarter of a panel solve. The error of a solve enters by its
//! square, as in `resistance.rs`. So it is far smaller than the random error from the signs, which the standard error measures.

use serde::{Deserialize, Serialize};

use rayon::prelude::*;

use super::panel::WIDTH;
use super::resistance::{panel_energies, random_flows, solved};
use super::{CgParams, LaplacianSolver};
use crate::error::Result;
use crate::graph::Graph;
use crate::monitor::{Monitor, check_cancelled};
use crate::random::{Purpose, stream_at};
use crate::scaling::scaled;

/// Accuracy of the solves; an error of κ·10⁻¹⁰ is left.
const SOLVE: CgParams = CgParams { tolerance: 1e-5, max_iterations: 1000 };

/// An estimate with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The mean over random vectors.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Random vectors.
    pub vectors: usize,
}

impl Estimate {
    /// The same times 2^exponent, without a factor that might leave the range by itself.
    #[must_use]
    pub(crate) fn times_power_of_two(self, exponent: i32) -> Self {
        let [value, standard_error] =
            [self.value, self.standard_error].map(|number| scaled(number, exponent));
        Self { value, standard_error, ..self }
    }

    /// The same in another unit.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, standard_error: self.standard_error * factor.abs(), ..self }
    }
}

/// tr(L⁺M), M the Laplacian of `flows`, from `panels` times four random vectors.
///
/// # Errors
/// [`Error::NotConverged`](crate::error::Error::NotConverged), [`Error::Cancelled`](crate::error::Error::Cancelled).
pub(crate) fn trace_of_product(
    solver: &LaplacianSolver<'_>,
    flows: &Graph,
    panels: usize,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Estimate> {
    let parts = (0..panels).into_par_iter().map(|panel| {
        check_cancelled(monitor)?;
        let b = random_flows(flows, &mut stream_at(seed, Purpose::Trace, panel as u64));
        let x = solved(solver, &b, &SOLVE)?;
        let energies = panel_energies(solver.laplacian().graph(), &x);
        let form = |lane: usize| {
            let product: f64 = b.iter().zip(&x).map(|(b, x)| b[lane] * x[lane]).sum();
            2.0 * product - energies[lane]
        };
        Ok(std::array::from_fn::<f64, WIDTH, _>(form))
    });
    let forms = parts.collect::<Result<Vec<_>>>()?.concat();
    let vectors = forms.len();
    let value = forms.iter().sum::<f64>() / vectors as f64;
    let squares: f64 = forms.iter().map(|form| (form - value) * (form - value)).sum();
    let standard_error = (squares / (vectors * (vectors - 1)) as f64).sqrt();
    Ok(Estimate { value, standard_error, vectors })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generators;
    use crate::laplacian::Laplacian;
    use crate::monitor::Silent;

    /// tr(L⁺L) = n − 1, and on a tree for every choice of signs: F L⁺Fᵀ is the projection onto all of ℝ^(n−1).
    #[test]
    fn a_tree_leaves_nothing_to_chance() {
        let path = generators::path(200);
        let solver = LaplacianSolver::new(Laplacian::of(&path), 0);
        let found = trace_of_product(&solver, &path, 4, 1, &Silent).unwrap();
        // κ of a tree's factor is 1: what is left is rounding.
        assert!((found.value - 199.0).abs() < 1e-8 && found.standard_error < 1e-8, "{found:?}");
        assert_eq!(found.vectors, 16);
    }

    /// The trace is the sum of the weighted resistances of the edges: d(n − d)/n for d steps along a ring.
    #[test]
    fn the_truth_lies_within_the_standard_errors() {
        let nodes = 101_u32;
        let ring = generators::cycle(nodes as usize);
        let chords: Vec<(u32, u32, f64)> = (0..nodes).map(|p| (p, (p * 7 + 13) % nodes, 2.5)).collect();
        let chords: Vec<_> = chords.into_iter().filter(|(p, q, _)| p < q).collect();
        let flows = Graph::from_weighted_edges(nodes as usize, &chords).unwrap();
        let exact: f64 = chords
            .iter()
            .map(|&(p, q, weight)| weight * f64::from((q - p) * (nodes - (q - p))) / f64::from(nodes))
            .sum();
        let solver = LaplacianSolver::new(Laplacian::of(&ring), 0);
        let found = trace_of_product(&solver, &flows, 64, 3, &Silent).unwrap();
        // A normal deviate beyond 4 is a matter of 1 in 16,000, and the seed is fixed.
        assert!((found.value - exact).abs() < 4.0 * found.standard_error, "{found:?} {exact}");
        assert!(found.standard_error < 0.1 * exact);
        assert_eq!(found.scaled(2.0).value, 2.0 * found.value);
    }
}
