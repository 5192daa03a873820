//! Tests by conjugate gradients, without solves, that no eigenvalue of the complement is above μ.
//!
//! On the L_Y-orthogonal complement of the Ritz vectors, λ_max < μ if and only if A = μL_Y − L_X is positive definite.
//! Conjugate gradients on A x = r_0 decide this. Their residuals are r_k = q_k(A)r_0 for a polynomial with q_k(0) = 1. As long
//! as every direction has a positive curvature, all roots of q_k are positive, so q_k(λ) ≥ 1 for every λ ≤ 0. Suppose that A
//! had such an eigenvalue, and that c is the component of r_0/‖r_0‖ along its eigenvector. Then no residual would be shorter
//! than |c|‖r_0‖. So a residual of t‖r_0‖ shows that |c| ≤ t, which has a probability of at most √(2n/π)·t for a random
//! direction. Four independent starts all fail with at most the fourth power of this probability. The bound concerns only the
//! starts, so the residual may be looked at after every step without a correction.
//!
//! Everything is computed in the geometry of the preconditioner M ≈ L_Y. The eigenvalues are those of A u = λ M u, whose signs
//! are those of A for any M. The norms of residuals are those of M⁻¹. The start is uniform in this geometry; the factor of M
//! gives it directly. With V the Ritz vectors, G = L_Y V and Z = M⁻¹G, residuals stay in the complement by r ← r − G(GᵀZ)⁻¹Zᵀr.
//!
//! A step costs two products and one preconditioning, as a step of the iteration for eigenpairs does.

use faer::Mat;
use faer::linalg::solvers::{DenseSolveCore, Llt};

use super::deflated::{Deflated, gaussian_pair};
use crate::error::Result;
use crate::laplacian::panel::{
    Panel, Square, WIDTH, add_products, center, dots, gram, grams, panel_of, scale_add, zeros,
};
use crate::monitor::{Monitor, check_cancelled};
use crate::random::{Purpose, stream};

/// Steps after which the test is given up.
const MOST_STEPS: usize = 100;

/// Whether λ_max of the deflated problem is below `bound`. A "yes" is wrong with probability `failure` at most; a "no" says
/// nothing.
pub(super) fn lies_below(
    deflated: &Deflated<'_, '_>,
    bound: f64,
    failure: f64,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<bool> {
    let Some(complement) = Complement::of(deflated) else { return Ok(false) };
    let nodes = deflated.problem().nodes() as f64;
    let smallest_part = failure.powf(1.0 / WIDTH as f64) / (2.0 * nodes / std::f64::consts::PI).sqrt();
    let mut iteration = Iteration::start(&complement, bound, seed);
    for step in 1..=MOST_STEPS {
        check_cancelled(monitor)?;
        monitor.progress(step as u64, MOST_STEPS as u64);
        if !iteration.step(smallest_part) {
            return Ok(false);
        }
        if iteration.shortest.iter().all(|&part| part <= smallest_part) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The complement of the Ritz vectors, for residuals.
struct Complement<'d, 'p, 'g> {
    deflated: &'d Deflated<'p, 'g>,
    /// G = L_Y V, four columns each, the last filled up with zeros.
    products: Vec<Panel>,
    /// Z = M⁻¹G.
    preconditioned: Vec<Panel>,
    /// (GᵀZ)⁻¹.
    inverse: Mat<f64>,
}

impl<'d, 'p, 'g> Complement<'d, 'p, 'g> {
    /// `None` if rounding has made Ritz vectors dependent.
    fn of(deflated: &'d Deflated<'p, 'g>) -> Option<Self> {
        let problem = deflated.problem();
        let columns = deflated.products();
        let products: Vec<Panel> = columns
            .chunks(WIDTH)
            .map(|columns| panel_of(columns.iter().map(Vec::as_slice), problem.nodes()))
            .collect();
        let preconditioned: Vec<Panel> = products
            .iter()
            .map(|product| {
                let mut solved = zeros(product.len());
                problem.solver.precondition(product, &mut solved);
                solved
            })
            .collect();
        let blocks: Vec<Vec<Square>> =
            products.iter().map(|g| preconditioned.iter().map(|z| gram(g, z)).collect()).collect();
        let entry = |i: usize, j: usize| blocks[i / WIDTH][j / WIDTH][i % WIDTH][j % WIDTH];
        // Preconditioning rounds: what should be symmetric is made so.
        let overlaps = Mat::from_fn(columns.len(), columns.len(), |i, j| 0.5 * (entry(i, j) + entry(j, i)));
        let inverse = Llt::new(overlaps.as_ref(), faer::Side::Lower).ok()?.inverse();
        Some(Self { deflated, products, preconditioned, inverse })
    }

    /// r ← r − G(GᵀZ)⁻¹Zᵀr.
    fn project(&self, residual: &mut Panel) {
        let overlaps = grams(&self.preconditioned, residual);
        let count = self.inverse.nrows();
        let taken_off = |panel: usize| -> Square {
            std::array::from_fn(|i| {
                let row = panel * WIDTH + i;
                if row >= count {
                    return [0.0; WIDTH];
                }
                std::array::from_fn(|lane| {
                    -(0..count)
                        .map(|j| self.inverse[(row, j)] * overlaps[j / WIDTH][j % WIDTH][lane])
                        .sum::<f64>()
                })
            })
        };
        let changes: Vec<(&Panel, Square)> =
            self.products.iter().enumerate().map(|(panel, product)| (product, taken_off(panel))).collect();
        add_products(residual, &changes);
    }

    /// A start uniform in direction in the geometry of M, as a residual.
    fn random_start(&self, seed: u64) -> Panel {
        let mut rng = stream(seed, Purpose::Definiteness);
        let mut start = self.deflated.problem().solver.random_residual(|| {
            let ([a, b], [c, d]) = (gaussian_pair(&mut rng), gaussian_pair(&mut rng));
            [a, b, c, d]
        });
        center(&mut start);
        self.project(&mut start);
        start
    }
}

/// Four conjugate gradient iterations with A = μL_Y − L_X, of which the solutions are not needed.
struct Iteration<'c, 'd, 'p, 'g> {
    complement: &'c Complement<'d, 'p, 'g>,
    bound: f64,
    residual: Panel,
    direction: Panel,
    preconditioned: Panel,
    input_product: Panel,
    product: Panel,
    /// rᵀM⁻¹r of each residual, now and at the start.
    energy: [f64; WIDTH],
    first_energy: [f64; WIDTH],
    /// The shortest residual so far as a part of the first.
    shortest: [f64; WIDTH],
}

impl<'c, 'd, 'p, 'g> Iteration<'c, 'd, 'p, 'g> {
    fn start(complement: &'c Complement<'d, 'p, 'g>, bound: f64, seed: u64) -> Self {
        let residual = complement.random_start(seed);
        let rows = residual.len();
        let mut preconditioned = zeros(rows);
        complement.deflated.problem().solver.precondition(&residual, &mut preconditioned);
        let energy = dots(&residual, &preconditioned);
        Self {
            complement,
            bound,
            direction: preconditioned.clone(),
            residual,
            preconditioned,
            input_product: zeros(rows),
            product: zeros(rows),
            energy,
            first_energy: energy,
            shortest: [1.0; WIDTH],
        }
    }

    /// One step; false where a direction has no positive curvature, which shows that A is not positive definite. Starts whose
    /// residuals have become as short as `enough` have told what they can.
    fn step(&mut self, enough: f64) -> bool {
        let problem = self.complement.deflated.problem();
        problem.input().apply_panel(&self.direction, &mut self.input_product);
        problem.output().apply_panel(&self.direction, &mut self.product);
        scale_add(&mut self.product, [self.bound; WIDTH], &self.input_product, [-1.0; WIDTH]);
        let curvature = dots(&self.direction, &self.product);
        let open: [bool; WIDTH] = std::array::from_fn(|lane| self.shortest[lane] > enough);
        // A curvature that is not a number shows nothing either.
        if (0..WIDTH).any(|lane| open[lane] && (curvature[lane] <= 0.0 || curvature[lane].is_nan())) {
            return false;
        }
        let back =
            std::array::from_fn(|lane| if open[lane] { -self.energy[lane] / curvature[lane] } else { 0.0 });
        scale_add(&mut self.residual, [1.0; WIDTH], &self.product, back);
        self.complement.project(&mut self.residual);
        problem.solver.precondition(&self.residual, &mut self.preconditioned);
        let energy = dots(&self.residual, &self.preconditioned);
        for lane in (0..WIDTH).filter(|&lane| open[lane]) {
            // A square root of what is not a positive number is none, and shows nothing.
            let part = (energy[lane] / self.first_energy[lane]).sqrt();
            self.shortest[lane] = self.shortest[lane].min(part);
        }
        let turn =
            std::array::from_fn(|lane| if open[lane] { energy[lane] / self.energy[lane] } else { 0.0 });
        scale_add(&mut self.direction, turn, &self.preconditioned, [1.0; WIDTH]);
        self.energy = energy;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use crate::eigen::{EigenMethod, EigenParams, EigenProblem};
    use crate::graph::{ConnectedGraph, Graph, GraphPair, generators};

    /// A grid whose nodes are joined across by chords, over a grid of another shape.
    fn graphs() -> GraphPair {
        let nodes = 600_u32;
        let mut edges: Vec<_> = generators::grid(20, 30).edges().map(|(p, q, _)| (p, q)).collect();
        edges.extend((0..nodes).map(|p| (p, (p * 31 + 17) % nodes)).filter(|(p, q)| p != q));
        let input = Graph::from_edges(nodes as usize, &edges).unwrap();
        GraphPair::new(input, ConnectedGraph::new(generators::grid(30, 20)).unwrap()).unwrap()
    }

    /// The largest eigenvalue of what s vectors leave is at least λ_{s+1}, whatever the vectors, and the dense decomposition knows
    /// that one. Below it no start may say yes; clear of it all of them should.
    #[test]
    fn says_yes_above_the_complement_and_never_below() {
        let graphs = graphs();
        let problem = EigenProblem::new(&graphs, 0);
        let dense = problem.all_eigenvalues(&Silent).unwrap();
        for eigenpairs in [1, 2, 10] {
            let params =
                EigenParams::default().with_eigenpairs(eigenpairs).with_method(EigenMethod::Davidson);
            let pairs = problem.dominant_eigenpairs(&params.with_tolerance(1e-9), &Silent).unwrap();
            let deflated = Deflated::new(&problem, &pairs);
            let next = dense[deflated.products().len()];
            let says_yes = |bound: f64, seed: u64| lies_below(&deflated, bound, 1e-6, seed, &Silent).unwrap();
            for seed in 0..20 {
                assert!(!says_yes(0.5 * next, seed) && !says_yes(0.999 * next, seed), "seed {seed}");
                assert!(says_yes(1.3 * next, seed), "{eigenpairs} pairs, seed {seed}");
            }
        }
    }
}
