//! Numerical bounds of the SPADE score: how certain it is.
//!
//! *Lower end.* A Rayleigh quotient never exceeds λ_1.
//!
//! *Upper end, probable.* Let v_1 … v_s be L_Y-orthonormal Ritz vectors with values θ_i and residuals ρ_i in the norm of
//! L_Y⁺, and let μ bound λ_max of the problem restricted to their L_Y-orthogonal complement. Adding the vectors back one
//! at a time, last to first, the largest eigenvalue is at most that of [[θ_i, ρ_i], [ρ_i, μ]]; the last such bound holds
//! for λ_1, and exceeds θ_1 only by about ρ_1²/(θ_1 − μ).
//!
//! μ need not be sharp: any value that is well below θ_1 hardly changes the upper end. So the largest such value is tried first, by a test that needs
//! no solves ([`super::definiteness`]). If the test cannot decide, for example if more eigenvalues are close to λ_1 than there are Ritz vectors, μ
//! comes from a Lanczos iteration on the complement, from four independent random starts. Then the better of two bounds is used. Both need starts
//! that are uniform in direction in the geometry of L_Y. L_Y⁺Eᵀg with Gaussian g over the edges (L_Y = EᵀE) is such a start. The starts are
//! independent, so the probabilities that each fails multiply.
//!
//! - *Before the fact.* Kuczyński and Woźniakowski (1992, Theorem 4.2): after k steps from one start the largest Ritz value ξ
//!   falls below (1 − ε)λ_max with probability at most 1.648 √n e^{−√ε(2k−1)}. So μ = ξ/(1 − ε).
//! - *After the fact.* With p the characteristic polynomial of the tridiagonal matrix, ‖p(A)b‖ = Πβ_j. If c is the component
//!   of the start b along an eigenvector of λ, then |c|·p(λ) ≤ Πβ_j, and p(λ) ≥ (λ − ξ)Π_{j≥2}(ξ − θ_j) for λ ≥ ξ. For a
//!   random direction, |c| is below t with probability at most √(2n/π)·t. So μ = ξ + (Πβ_j/t)/Π_{j≥2}(ξ − θ_j), the largest
//!   such bound of the four starts. If an iteration reaches an invariant subspace, β is tiny and the bound is sharp.
//!
//! The best of all bounds of all steps is used, so half of [`FAILURE`] is divided equally among them. The other half is for
//! the test.

use faer::Mat;

use super::deflated::Deflated;
use super::symmetric::symmetric_eigen;
use super::{EigenMethod, EigenProblem, GeneralizedEigenpairs, definiteness, dense};
use crate::error::{Error, Result};
use crate::laplacian::Laplacian;
use crate::laplacian::panel::{Panel, WIDTH, dots, scale_add, zeros};
use crate::monitor::{Monitor, check_cancelled};

/// Probability with which the probable upper end may fail.
const FAILURE: f64 = 1e-6;
/// Most steps of the Lanczos iteration.
const MOST_STEPS: usize = 30;
/// A Ritz value on the complement that exceeds θ_1 by more than this part shows that λ_1 was missed.
const MISSED: f64 = 1e-3;
/// Directions this much shorter than the operator makes them are rounding of the solves, and lead nowhere.
const INVARIANT: f64 = 1e-5;
/// What the solves may have added to such a direction: it counts as at least this long.
const NOISE: f64 = 1e-6;
/// The iteration stops when further steps cannot lower the upper end by more than this part of it.
const NEGLIGIBLE_GAIN: f64 = 1e-9;
/// What the accuracy of the solves may change in ξ, with room to spare: μ need not be sharp.
const SOLVE_SLACK: f64 = 1e-4;
/// The first μ that is tried is tested this part lower, which covers the rounding of the test with room to spare.
const TEST_SLACK: f64 = 1e-4;

/// How certain the upper bound of the SPADE score must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Certainty {
    /// No upper bound, which takes no time. An eigenvalue that the iteration missed is not found out.
    None,
    /// A residual bound that holds with a stated probability over the random start.
    #[default]
    Probable,
    /// A proof: μL_Y − L_X is factored and found positive definite.
    Certified,
}

/// λ_1 lies between `lower` and `upper`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Enclosure {
    /// Lower end, a Rayleigh quotient.
    pub lower: f64,
    /// Upper end; infinite if none was asked for.
    pub upper: f64,
    /// How the upper end was obtained.
    pub method: EnclosureMethod,
    /// Probability that the upper bound holds; 1 if nothing is random.
    pub probability: f64,
}

/// How the upper end of an [`Enclosure`] was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EnclosureMethod {
    /// There is no upper end.
    None,
    /// All eigenvalues were computed by a dense decomposition.
    Dense,
    /// A bound from the residuals and a random start; it holds with the probability given.
    Residual,
    /// μL_Y − L_X was factored and proved positive definite, rounding included.
    Inertia,
}

impl Enclosure {
    /// Bounds that were found earlier.
    pub fn new(bounds: std::ops::RangeInclusive<f64>, method: EnclosureMethod, probability: f64) -> Self {
        let (lower, upper) = bounds.into_inner();
        Self { lower, upper, method, probability }
    }
}

words! { Certainty { None = "none", Probable = "probable", Certified = "certified" } }

words! { EnclosureMethod { None = "none", Dense = "dense", Residual = "residual", Inertia = "inertia" } }

/// λ_1 from below: the Rayleigh quotient less what rounding may have added to it.
pub(super) fn lower_end(problem: &EigenProblem<'_>, pairs: &GeneralizedEigenpairs) -> f64 {
    pairs.values()[0] * (1.0 - rounding(problem))
}

/// What rounding may do, relatively, to a Rayleigh quotient: it is made of two sums of squares.
fn rounding(problem: &EigenProblem<'_>) -> f64 {
    let terms = problem.input().graph().edge_count() + problem.output().graph().edge_count() + 8;
    2.0 * terms as f64 * f64::EPSILON
}

/// The lower end alone.
pub(super) fn lower_only(problem: &EigenProblem<'_>, pairs: &GeneralizedEigenpairs) -> Enclosure {
    let lower = lower_end(problem, pairs);
    Enclosure { lower, upper: f64::INFINITY, method: EnclosureMethod::None, probability: 1.0 }
}

pub(super) fn probable(
    problem: &EigenProblem<'_>,
    pairs: &GeneralizedEigenpairs,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Enclosure> {
    let lower = lower_end(problem, pairs);
    if pairs.info().method == EigenMethod::Dense {
        let upper = pairs.values()[0] * (1.0 + pairs.residuals()[0] + rounding(problem));
        return Ok(Enclosure { lower, upper, method: EnclosureMethod::Dense, probability: 1.0 });
    }
    let upper = upper_end(problem, pairs, seed, monitor)? * (1.0 + rounding(problem));
    check_small(problem, pairs.values()[0], upper, monitor)?;
    Ok(Enclosure { lower, upper, method: EnclosureMethod::Residual, probability: 1.0 - FAILURE })
}

/// A small problem is cheap to solve densely: an iteration that settled on another pair than the first is found out for certain.
/// Where the dense decomposition fails, it says nothing.
fn check_small(problem: &EigenProblem<'_>, reported: f64, upper: f64, monitor: &dyn Monitor) -> Result<()> {
    /// Both may be off by rounding.
    const AGREEMENT: f64 = 1e-6;
    if problem.nodes() > dense::COMFORTABLE_NODES {
        return Ok(());
    }
    match dense::eigenvalues(problem, monitor) {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Ok(values) if values[0] > upper * (1.0 + AGREEMENT) || values[0] > reported * (1.0 + MISSED) => {
            Err(Error::MissedEigenvalue { reported, found: values[0] })
        }
        _ => Ok(()),
    }
}

/// The upper end, by a μ that costs little where that can be shown.
fn upper_end(
    problem: &EigenProblem<'_>,
    pairs: &GeneralizedEigenpairs,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<f64> {
    let deflated = Deflated::new(problem, pairs);
    let bound = deflated.largest_harmless_bound();
    let tested = bound * (1.0 - TEST_SLACK);
    if tested > deflated.least_value()
        && definiteness::lies_below(&deflated, tested, 0.5 * FAILURE, seed, monitor)?
    {
        return Ok(deflated.add_back(bound));
    }
    upper_end_by_lanczos(&deflated, pairs.values()[0], seed, monitor)
}

/// Runs the Lanczos iteration until its bound is good enough or its steps are used up.
fn upper_end_by_lanczos(
    deflated: &Deflated<'_, '_>,
    largest: f64,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<f64> {
    let mut lanczos = Lanczos::start(deflated, seed)?;
    let nodes = deflated.problem().nodes();
    let mut upper = f64::INFINITY;
    for step in 1..=MOST_STEPS {
        check_cancelled(monitor)?;
        monitor.progress(step as u64, MOST_STEPS as u64);
        lanczos.step()?;
        let ritz = lanczos.largest_ritz_value();
        if ritz > largest * (1.0 + MISSED) {
            return Err(Error::MissedEigenvalue { reported: largest, found: ritz });
        }
        let complement =
            before_the_fact(nodes, step, ritz).min(lanczos.after_the_fact(nodes)) * (1.0 + SOLVE_SLACK);
        upper = upper.min(deflated.add_back(complement));
        // More steps bring μ down to the Ritz value at best.
        let best_possible = deflated.add_back(ritz * (1.0 + SOLVE_SLACK));
        if upper - best_possible <= NEGLIGIBLE_GAIN * largest || lanczos.exhausted() {
            break;
        }
    }
    Ok(upper)
}

/// The probability with which one start may fail in one bound: each bound of each step has an equal share of half of
/// [`FAILURE`], and fails only where all four starts do.
fn failure_of_one_start() -> f64 {
    (0.5 * FAILURE / (2 * MOST_STEPS) as f64).powf(1.0 / WIDTH as f64)
}

/// ξ/(1 − ε); infinite while that needs ε ≥ 1.
fn before_the_fact(nodes: usize, steps: usize, ritz: f64) -> f64 {
    let root = (1.648 * (nodes as f64).sqrt() / failure_of_one_start()).ln() / (2 * steps - 1) as f64;
    let epsilon = root * root;
    if epsilon < 1.0 { ritz / (1.0 - epsilon) } else { f64::INFINITY }
}

/// Four Lanczos iterations side by side, in the L_Y inner product.
struct Lanczos<'d, 'p, 'g> {
    deflated: &'d Deflated<'p, 'g>,
    current: Panel,
    previous: Panel,
    /// Largest diagonal entry so far: the size of the operator.
    scale: f64,
    /// Steps after which each iteration ran into an invariant subspace; what came later does not count.
    lengths: [Option<usize>; WIDTH],
    /// Diagonals and off-diagonals of the four tridiagonal matrices.
    diagonals: Vec<[f64; WIDTH]>,
    off_diagonals: Vec<[f64; WIDTH]>,
}

impl<'d, 'p, 'g> Lanczos<'d, 'p, 'g> {
    fn start(deflated: &'d Deflated<'p, 'g>, seed: u64) -> Result<Self> {
        let mut current = deflated.random_start(seed)?;
        let norms = output_norms(deflated.problem().output(), &current);
        let rows = current.len();
        scale_add(&mut current, norms.map(reciprocal), &zeros(rows), [0.0; WIDTH]);
        let previous = zeros(rows);
        Ok(Self {
            deflated,
            current,
            previous,
            scale: 0.0,
            lengths: [None; WIDTH],
            diagonals: Vec::new(),
            off_diagonals: Vec::new(),
        })
    }

    /// One step: w = L_Y⁺L_X x, made orthogonal to the last two vectors. Orthogonality to earlier ones fades, which
    /// repeats Ritz values but invents none.
    fn step(&mut self) -> Result<()> {
        let problem = self.deflated.problem();
        let mut product = zeros(self.current.len());
        problem.input().apply_panel(&self.current, &mut product);
        let diagonal = dots(&self.current, &product);
        let mut next = self.deflated.solve(&product)?;
        scale_add(&mut next, [1.0; WIDTH], &self.current, diagonal.map(|d| -d));
        if let Some(off_diagonal) = self.off_diagonals.last() {
            scale_add(&mut next, [1.0; WIDTH], &self.previous, off_diagonal.map(|d| -d));
        }
        // What is left may be rounding, in which the Ritz vectors are as large as anything else.
        self.deflated.project(&mut next);
        let scale = diagonal.iter().copied().fold(self.scale, f64::max);
        let norms = output_norms(problem.output(), &next).map(|norm| norm.max(NOISE * scale));
        let rows = next.len();
        scale_add(&mut next, norms.map(reciprocal), &zeros(rows), [0.0; WIDTH]);
        self.scale = scale;
        self.previous = std::mem::replace(&mut self.current, next);
        self.diagonals.push(diagonal);
        self.off_diagonals.push(norms);
        for (length, norm) in self.lengths.iter_mut().zip(norms) {
            if length.is_none() && norm <= INVARIANT * scale {
                *length = Some(self.diagonals.len());
            }
        }
        Ok(())
    }

    /// Whether every iteration has run into an invariant subspace, after which steps bring nothing.
    fn exhausted(&self) -> bool {
        self.lengths.iter().all(Option::is_some)
    }

    /// The largest bound after the fact of the four starts.
    fn after_the_fact(&self, nodes: usize) -> f64 {
        let smallest_part = failure_of_one_start() / (2.0 * nodes as f64 / std::f64::consts::PI).sqrt();
        (0..WIDTH).map(|lane| self.after_the_fact_of(lane, smallest_part)).fold(0.0, f64::max)
    }

    fn after_the_fact_of(&self, lane: usize, smallest_part: f64) -> f64 {
        let values = self.ritz_values(lane);
        let Some((&largest, others)) = values.split_first() else { return f64::INFINITY };
        // In logarithms: the products of many steps leave the range of numbers.
        let growth: f64 = self.off_diagonals[..values.len()].iter().map(|norms| norms[lane].ln()).sum();
        let distances: f64 = others.iter().map(|value| (largest - value).ln()).sum();
        let excess = (growth - distances - smallest_part.ln()).exp();
        if excess.is_nan() { f64::INFINITY } else { largest + excess }
    }

    fn largest_ritz_value(&self) -> f64 {
        (0..WIDTH).map(|lane| self.largest_of(lane)).fold(0.0, f64::max)
    }

    fn largest_of(&self, lane: usize) -> f64 {
        self.ritz_values(lane).first().copied().unwrap_or(f64::INFINITY)
    }

    /// Ritz values of one start, largest first; none if the decomposition fails.
    fn ritz_values(&self, lane: usize) -> Vec<f64> {
        let size = self.lengths[lane].unwrap_or(self.diagonals.len());
        let tridiagonal = Mat::from_fn(size, size, |i, j| match i.abs_diff(j) {
            0 => self.diagonals[i][lane],
            1 => self.off_diagonals[i.min(j)][lane],
            _ => 0.0,
        });
        symmetric_eigen(tridiagonal.as_ref()).map_or_else(Vec::new, |spectrum| spectrum.values)
    }
}

/// √(xᵀL_Yx) of each vector.
fn output_norms(output: &Laplacian<'_>, x: &Panel) -> [f64; WIDTH] {
    let mut product = zeros(x.len());
    output.apply_panel(x, &mut product);
    dots(x, &product).map(|squared| squared.max(0.0).sqrt())
}

fn reciprocal(norm: f64) -> f64 {
    if norm > 0.0 { norm.recip() } else { 0.0 }
}
