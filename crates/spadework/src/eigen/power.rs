//! Power iteration, the paper's second eigensolver (A.5), with a block of vectors.
//!
//! V ← L_Y⁺L_X V by Laplacian solves, then Rayleigh–Ritz in the span of the block (Bauer 1957 and Stewart 1969, "subspace
//! iteration"; with one vector it is the plain power iteration). A block of at least r + 2 vectors, rounded up to panels of
//! four: in each step, the error of pair i shrinks by the factor λ_{s+1}/λ_i, where s is the size of the block. For a single
//! vector the factor would be λ_2/λ_1, which is near 1 for real data.
//!
//! - **Solves of the residual only.** L_Y⁺L_X v = θv + L_Y⁺r with the residual r = L_X v − θ L_Y v. So it is enough to solve
//!   for L_Y⁺r to two digits: the error of the step is then a hundredth of its length.
//! - **Residuals for free.** ‖r‖ in the norm of L_Y⁺ is the length of that correction in the norm of L_Y.
//!
//! It needs no basis beyond the block, but many more solves than the Davidson iteration, which is therefore the
//! default.

use faer::Mat;

use super::symmetric::symmetric_eigen;
use super::{
    EigenInfo, EigenMethod, EigenParams, GeneralizedEigenpairs, MEASURED_PART, Pencil, RitzPair,
    condition_at_least, guarded_panels,
};
use crate::error::{Error, Result};
use crate::laplacian::CgParams;
use crate::laplacian::panel::{
    Panel, Square, WIDTH, add_products, center, dots, gram, random, scale_add, zeros,
};
use crate::monitor::{Monitor, check_cancelled};
use crate::random::{Purpose, stream};

/// Accuracy of a correction: two digits of it move the block as far as the exact one would.
const SOLVE: CgParams = CgParams { tolerance: 1e-2, max_iterations: 500 };
/// A shift by this part of the largest value: directions that L_X takes to zero, or much less far than others, stay in the
/// block without mattering.
const SHIFT: f64 = 1e-3;
/// Directions of the block whose share of its Gram matrix is below this carry nothing but rounding.
const DEPENDENT: f64 = 1e-12;

/// Below this many nodes the block would fill the space.
pub(super) fn fewest_nodes(eigenpairs: usize) -> usize {
    2 * WIDTH * guarded_panels(eigenpairs)
}

/// The loop.
pub(super) fn eigenpairs(
    problem: &dyn Pencil,
    params: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<GeneralizedEigenpairs> {
    let mut rng = stream(params.seed, Purpose::EigenStart);
    let start = (0..guarded_panels(params.eigenpairs)).map(|_| random(problem.nodes(), &mut rng)).collect();
    let mut block = PowerBlock::new(problem, start)?;
    let mut reached = vec![f64::INFINITY; params.eigenpairs];
    for iteration in 1..=params.max_iterations {
        check_cancelled(monitor)?;
        monitor.progress(iteration as u64, 0);
        let corrections = block.corrections()?;
        let residuals = block.residuals(&corrections);
        reached = (0..params.eigenpairs).map(|i| residuals[i] / block.values[i]).collect();
        if reached.iter().all(|&residual| residual <= params.tolerance) {
            let info = EigenInfo { method: EigenMethod::Power, iterations: iteration };
            let pairs = block.into_pairs(&residuals);
            return Ok(GeneralizedEigenpairs::new(problem, pairs, params.eigenpairs, info));
        }
        block = PowerBlock::new(problem, block.advanced(corrections))?;
    }
    let last: Vec<f64> = block.vectors[0].iter().map(|row| row[0]).collect();
    Err(params.not_converged("the power iteration", reached, condition_at_least(problem, &last)))
}

/// L_Y-orthonormal Ritz vectors with their values, largest first.
struct PowerBlock<'p> {
    problem: &'p dyn Pencil,
    values: Vec<f64>,
    vectors: Vec<Panel>,
}

impl<'p> PowerBlock<'p> {
    /// Rayleigh–Ritz in the span of some directions.
    fn new(problem: &'p dyn Pencil, mut directions: Vec<Panel>) -> Result<Self> {
        directions.iter_mut().for_each(center);
        let product = |apply: &dyn Fn(&Panel, &mut Panel)| -> Vec<Panel> {
            let one = |x: &Panel| {
                let mut y = zeros(x.len());
                apply(x, &mut y);
                y
            };
            directions.iter().map(one).collect()
        };
        let right = gram_of(&directions, &product(&|x, y| problem.right().apply_panel(x, y)));
        let left = gram_of(&directions, &product(&|x, y| problem.apply_left(x, y)));
        let failed = || Error::NotConverged {
            what: "the power iteration",
            iterations: 0,
            residuals: vec![f64::INFINITY],
            tolerance: 0.0,
            condition: None,
        };
        let (values, coefficients) = rayleigh_ritz(&left, &right).ok_or_else(failed)?;
        let columns = |panel: usize| std::array::from_fn(|lane| panel * WIDTH + lane);
        let vectors =
            (0..directions.len()).map(|panel| combined(&directions, &coefficients, columns(panel))).collect();
        Ok(Self { problem, values, vectors })
    }

    /// The values of one panel's vectors.
    fn values_of(&self, panel: usize) -> [f64; WIDTH] {
        std::array::from_fn(|lane| self.values[panel * WIDTH + lane])
    }

    /// L_Y⁺(L_X v − θ L_Y v) of every vector.
    fn corrections(&self) -> Result<Vec<Panel>> {
        let correction = |(panel, vectors): (usize, &Panel)| {
            let residual = self.problem.residual(vectors, self.values_of(panel));
            let (correction, info) = self.problem.solver().solve_panel(&residual, &SOLVE);
            info.check("a solve with the output Laplacian", &SOLVE)?;
            Ok(correction)
        };
        self.vectors.iter().enumerate().map(correction).collect()
    }

    /// Residuals of all vectors in the norm of L_Y⁺, from above.
    fn residuals(&self, corrections: &[Panel]) -> Vec<f64> {
        let norms = |correction: &Panel| {
            let mut product = zeros(correction.len());
            self.problem.right().apply_panel(correction, &mut product);
            dots(correction, &product).map(|squared| (squared.max(0.0) / MEASURED_PART).sqrt())
        };
        corrections.iter().flat_map(norms).collect()
    }

    /// (L_Y⁺L_X + s) V = V (Θ + s) + corrections.
    fn advanced(&self, mut corrections: Vec<Panel>) -> Vec<Panel> {
        let shift = SHIFT * self.values[0];
        for (panel, correction) in corrections.iter_mut().enumerate() {
            let factor = self.values_of(panel).map(|value| value + shift);
            scale_add(correction, [1.0; WIDTH], &self.vectors[panel], factor);
        }
        corrections
    }

    fn into_pairs(self, residuals: &[f64]) -> Vec<RitzPair> {
        let pair = |i: usize| RitzPair {
            value: self.values[i],
            vector: self.vectors[i / WIDTH].iter().map(|row| row[i % WIDTH]).collect(),
            residual: residuals[i],
        };
        (0..self.values.len()).map(pair).collect()
    }
}

/// AᵀB of lists of panels.
fn gram_of(a: &[Panel], b: &[Panel]) -> Mat<f64> {
    let blocks: Vec<Vec<Square>> = a.iter().map(|a| b.iter().map(|b| gram(a, b)).collect()).collect();
    let size = WIDTH * a.len();
    Mat::from_fn(size, size, |i, j| blocks[i / WIDTH][j / WIDTH][i % WIDTH][j % WIDTH])
}

/// The small problem A c = θ G c by whitening G, scaled to unit diagonal first. `None` if directions have become
/// dependent or a decomposition fails.
fn rayleigh_ritz(left: &Mat<f64>, right: &Mat<f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    let size = right.nrows();
    let scale: Vec<f64> = (0..size).map(|i| right[(i, i)].sqrt().recip()).collect();
    if scale.iter().any(|scale| !scale.is_finite()) {
        return None;
    }
    let symmetric =
        |m: &Mat<f64>| Mat::from_fn(size, size, |i, j| 0.5 * (m[(i, j)] + m[(j, i)]) * scale[i] * scale[j]);
    let gram = symmetric_eigen(symmetric(right).as_ref())?;
    if gram.values.iter().any(|&value| value <= DEPENDENT) {
        return None;
    }
    let whitening = Mat::from_fn(size, size, |i, j| gram.vectors[(i, j)] / gram.values[j].sqrt());
    let projected = whitening.transpose() * symmetric(left) * &whitening;
    let spectrum = symmetric_eigen(projected.as_ref())?;
    let rotated = &whitening * &spectrum.vectors;
    Some((spectrum.values, Mat::from_fn(size, size, |i, j| scale[i] * rotated[(i, j)])))
}

/// Four columns of V·C.
fn combined(vectors: &[Panel], coefficients: &Mat<f64>, columns: [usize; WIDTH]) -> Panel {
    let mut combined = zeros(vectors[0].len());
    let part = |panel: usize| -> Square {
        std::array::from_fn(|i| std::array::from_fn(|j| coefficients[(panel * WIDTH + i, columns[j])]))
    };
    let products: Vec<_> =
        vectors.iter().enumerate().map(|(panel, vectors)| (vectors, part(panel))).collect();
    add_products(&mut combined, &products);
    combined
}
