//! The eigenproblem on the complement of the Ritz vectors that were found; the bounds of λ_1 come from it.

use rand::{Rng, RngExt};

use super::{EigenProblem, GeneralizedEigenpairs};
use crate::error::Result;
use crate::laplacian::panel::{Panel, WIDTH, center, zeros};
use crate::laplacian::{CgParams, Laplacian};
use crate::random::{Purpose, stream};

/// What the first bound that is tried may add to the upper end, compared with the best one: this part of λ_1, or of what even that adds.
const ADDED: (f64, f64) = (2e-11, 0.1);
/// Accuracy of the solves.
const SOLVE: CgParams = CgParams { tolerance: 1e-7, max_iterations: 500 };

/// L_Y⁺L_X on the L_Y-orthogonal complement of the Ritz vectors.
pub(super) struct Deflated<'p, 'g> {
    problem: &'p EigenProblem<'g>,
    /// Value, absolute residual and vector of every Ritz pair, largest value first.
    ritz: Vec<(f64, f64, &'p [f64])>,
    /// L_Y v of each.
    products: Vec<Vec<f64>>,
}

impl<'p, 'g> Deflated<'p, 'g> {
    pub(super) fn new(problem: &'p EigenProblem<'g>, pairs: &'p GeneralizedEigenpairs) -> Self {
        let wanted = pairs
            .values
            .iter()
            .zip(&pairs.residuals)
            .zip(&pairs.vectors)
            .map(|((&value, residual), vector)| (value, residual * value, vector.as_slice()));
        let guards = pairs.guards.iter().map(|pair| (pair.value, pair.residual, pair.vector.as_slice()));
        let ritz: Vec<_> = wanted.chain(guards).collect();
        let products = ritz.iter().map(|(_, _, vector)| problem.output().apply(vector)).collect();
        Self { problem, ritz, products }
    }

    pub(super) fn problem(&self) -> &'p EigenProblem<'g> {
        self.problem
    }

    /// L_Y v of every Ritz vector.
    pub(super) fn products(&self) -> &[Vec<f64>] {
        &self.products
    }

    /// The smallest Ritz value: the complement can hardly be below it.
    pub(super) fn least_value(&self) -> f64 {
        self.ritz.iter().map(|&(value, ..)| value).fold(f64::INFINITY, f64::min)
    }

    /// The largest bound of the complement that adds next to nothing to the upper end ([`ADDED`]), by bisection: the upper end
    /// grows with the bound.
    pub(super) fn largest_harmless_bound(&self) -> f64 {
        /// More halvings than numbers have digits.
        const HALVINGS: usize = 60;
        let (least, largest) = (self.least_value(), self.ritz[0].0);
        let best = self.add_back(least);
        let goal = best + (ADDED.0 * largest).max(ADDED.1 * (best - largest));
        let (mut harmless, mut harmful) = (least, 2.0 * largest);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (harmless + harmful);
            if self.add_back(middle) <= goal { harmless = middle } else { harmful = middle }
        }
        harmless
    }

    /// The bound of λ_1 from a bound of the complement: the largest eigenvalue of [[θ, ρ], [ρ, μ]], last to first.
    pub(super) fn add_back(&self, complement: f64) -> f64 {
        self.ritz.iter().rev().fold(complement, |bound, &(value, residual, _)| {
            let half = 0.5 * (value - bound);
            0.5 * (value + bound) + half.hypot(residual)
        })
    }

    /// Takes the Ritz vectors and the constant off a panel.
    pub(super) fn project(&self, x: &mut Panel) {
        center(x);
        for ((_, _, vector), product) in self.ritz.iter().zip(&self.products) {
            let mut overlap = [0.0; WIDTH];
            for (row, product) in x.iter().zip(product) {
                for lane in 0..WIDTH {
                    overlap[lane] += row[lane] * product;
                }
            }
            for (row, vector) in x.iter_mut().zip(*vector) {
                for lane in 0..WIDTH {
                    row[lane] -= overlap[lane] * vector;
                }
            }
        }
    }

    pub(super) fn solve(&self, b: &Panel) -> Result<Panel> {
        let (mut x, info) = self.problem.solver.solve_panel(b, &SOLVE);
        info.check("a solve with the output Laplacian", &SOLVE)?;
        self.project(&mut x);
        Ok(x)
    }

    /// A start uniform in direction: L_Y⁺Eᵀg.
    pub(super) fn random_start(&self, seed: u64) -> Result<Panel> {
        // Another stream than the eigenpairs' start: the check must not share their luck.
        self.solve(&random_flows(self.problem.output(), &mut stream(seed, Purpose::Enclosure)))
    }
}

/// Eᵀg: a Gaussian number on every edge, flowing from one end to the other.
fn random_flows(output: &Laplacian<'_>, rng: &mut impl Rng) -> Panel {
    let mut flows = zeros(output.nodes());
    for (p, q, weight) in output.graph().edges() {
        for pair in 0..WIDTH / 2 {
            let gaussians = gaussian_pair(rng);
            for (lane, gaussian) in (2 * pair..).zip(gaussians) {
                flows[p as usize][lane] += weight.sqrt() * gaussian;
                flows[q as usize][lane] -= weight.sqrt() * gaussian;
            }
        }
    }
    flows
}

/// Two independent standard normal numbers (Box and Muller 1958).
pub(super) fn gaussian_pair(rng: &mut impl Rng) -> [f64; 2] {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    let (sin, cos) = (std::f64::consts::TAU * rng.random::<f64>()).sin_cos();
    [radius * cos, radius * sin]
}
