//! The r largest generalized eigenpairs of L_X v = λ L_Y v.

mod certificate;
mod davidson;
mod definiteness;
mod deflated;
mod dense;
mod enclosure;
mod modes;
mod power;
mod relabeling;
mod stored;
mod symmetric;

pub(crate) use davidson::basis_bytes;
pub use enclosure::{Certainty, Enclosure, EnclosureMethod};
pub use modes::{LaplacianModes, lowest_modes};
pub(crate) use relabeling::relabels;
pub use stored::StoredEigenpairs;

use faer::Mat;

use crate::error::{Error, Result};
use crate::graph::{Components, Graph, GraphPair};
use crate::laplacian::panel::{Panel, WIDTH, center, panel_of, scale_add, zeros};
use crate::laplacian::{Laplacian, LaplacianSolver};
use crate::monitor::Monitor;
use crate::scaling::{exponent_to_one, scaled};
use relabeling::Relabeling;

/// Parameters of the eigenproblem.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EigenParams {
    /// Number of eigenpairs, r.
    pub eigenpairs: usize,
    /// Relative residual ‖L_X v − λ L_Y v‖ / λ, in the norm of L_Y⁺, that every pair must reach.
    pub tolerance: f64,
    /// Maximum number of iterations, of four vectors each.
    pub max_iterations: usize,
    /// Seed of the start vectors and of the preconditioner.
    pub seed: u64,
    /// How eigenpairs are found.
    pub method: EigenMethod,
}

with_methods! { EigenParams {
    with_eigenpairs(eigenpairs: usize),
    with_tolerance(tolerance: f64),
    with_max_iterations(max_iterations: usize),
    with_seed(seed: u64),
    with_method(method: EigenMethod),
} }

impl EigenParams {
    /// The error of an iteration that has come to its end.
    fn not_converged(&self, what: &'static str, residuals: Vec<f64>, condition: Option<f64>) -> Error {
        let (iterations, tolerance) = (self.max_iterations, self.tolerance);
        Error::NotConverged { what, iterations, residuals, tolerance, condition }
    }
}

impl Default for EigenParams {
    fn default() -> Self {
        Self { eigenpairs: 2, tolerance: 1e-6, max_iterations: 1000, seed: 0, method: EigenMethod::Auto }
    }
}

/// How eigenpairs are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EigenMethod {
    /// Dense for small n, iterative otherwise.
    #[default]
    Auto,
    /// Dense decomposition: O(n³), all eigenvalues.
    Dense,
    /// Block Davidson iteration; dense if n is too small for its basis.
    Davidson,
    /// Power iteration with a block of vectors (the paper's A.5); dense if n is too small for the block.
    Power,
    /// Found by another program and passed in ([`GeneralizedEigenpairs::restore`]). As a request, it is the same as
    /// [`EigenMethod::Auto`].
    Given,
}

words! { written EigenMethod {
    Auto = "auto",
    Dense = "dense",
    Davidson = "davidson",
    Power = "power",
    Given = "given",
} }

/// λ_1 ≥ … ≥ λ_r > 0 with their vectors.
///
/// The vectors are L_Y-orthonormal (v_iᵀ L_Y v_j = δ_ij; edge scores with r > 1 depend on this scale), have mean zero,
/// and their entry of largest magnitude is positive.
#[derive(Debug, Clone)]
pub struct GeneralizedEigenpairs {
    values: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    residuals: Vec<f64>,
    info: EigenInfo,
    /// Approximate pairs beyond r that the iteration also found, with absolute residuals; they tighten the bounds of
    /// λ_1.
    guards: Vec<RitzPair>,
}

/// An approximate eigenpair and its absolute residual in the norm of L_Y⁺.
#[derive(Debug, Clone)]
struct RitzPair {
    value: f64,
    vector: Vec<f64>,
    residual: f64,
}

impl RitzPair {
    /// The residual as a part of the value.
    fn relative_residual(&self) -> f64 {
        self.residual / self.value
    }
}

/// Guard pairs in addition to the wanted ones: the last wanted pair converges by the gap to what lies beyond the block.
const GUARDS: usize = 2;

/// Part of a squared residual that a solve to a few per cent finds at least. It misses its tolerance squared, in the
/// preconditioner's norm, which may differ from the true one by some factor of ten.
const MEASURED_PART: f64 = 0.8;

/// Panels that hold the wanted pairs and their guards.
fn guarded_panels(eigenpairs: usize) -> usize {
    (eigenpairs + GUARDS).div_ceil(WIDTH)
}

/// How the eigenpairs were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EigenInfo {
    /// The method that was used; never [`EigenMethod::Auto`].
    pub method: EigenMethod,
    /// Iterations of an iterative method; 0 for the dense one.
    pub iterations: usize,
}

impl EigenInfo {
    /// How eigenpairs were found earlier.
    pub fn new(method: EigenMethod, iterations: usize) -> Self {
        Self { method, iterations }
    }
}

impl GeneralizedEigenpairs {
    /// Number of pairs, r.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one pair")]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// λ_1 ≥ … ≥ λ_r.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// v_1, …, v_r, each of length n.
    pub fn vectors(&self) -> &[Vec<f64>] {
        &self.vectors
    }

    /// Relative residuals ‖L_X v − λ L_Y v‖ / λ in the norm of L_Y⁺: some eigenvalue lies within this fraction of λ.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// How they were found.
    pub fn info(&self) -> EigenInfo {
        self.info
    }

    /// Sorts pairs by value and brings the vectors into their normal form.
    fn new(problem: &dyn Pencil, mut pairs: Vec<RitzPair>, wanted: usize, info: EigenInfo) -> Self {
        pairs.chunks_mut(WIDTH).for_each(|pairs| normalize(problem, pairs));
        pairs.sort_by(|a, b| b.value.total_cmp(&a.value));
        let guards = pairs.split_off(wanted);
        let residuals = pairs.iter().map(RitzPair::relative_residual).collect();
        let values = pairs.iter().map(|pair| pair.value).collect();
        let vectors = pairs.into_iter().map(|pair| pair.vector).collect();
        Self { values, vectors, residuals, info, guards }
    }
}

/// The entry of largest magnitude, the first of them where several tie.
fn largest_entry(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0, |largest: f64, &v| if v.abs() > largest.abs() { v } else { largest })
}

/// Mean zero, vᵀL_Yv = 1, entry of largest magnitude positive (the first of them where several tie), and the value vᵀAv. Up to four
/// pairs at once.
fn normalize(problem: &dyn Pencil, pairs: &mut [RitzPair]) {
    let mut vectors = panel_of(pairs.iter().map(|pair| pair.vector.as_slice()), problem.nodes());
    center(&mut vectors);
    let forms = problem.right().quadratic_forms(&vectors);
    for (lane, pair) in pairs.iter_mut().enumerate() {
        pair.vector.iter_mut().zip(&vectors).for_each(|(entry, row)| *entry = row[lane]);
        let scale = forms[lane].sqrt().recip().copysign(largest_entry(&pair.vector));
        for (entry, row) in pair.vector.iter_mut().zip(&mut vectors) {
            *entry *= scale;
            row[lane] = *entry;
        }
    }
    for (pair, value) in pairs.iter_mut().zip(problem.left_forms(&vectors)) {
        pair.value = value;
    }
}

/// A v = λ L v with the Laplacian L of a connected graph and a positive semidefinite A that ignores constants: what the
/// methods of this module solve. The two that there are: A = L_X ([`EigenProblem`]) and A = the identity on vectors of
/// mean zero, which asks for the smallest eigenvalues of L ([`lowest_modes`]).
trait Pencil: Sync {
    /// Solves with L.
    fn solver(&self) -> &LaplacianSolver<'_>;

    /// y = A x.
    fn apply_left(&self, x: &Panel, y: &mut Panel);

    /// A x − θ L x of four vectors.
    fn residual(&self, vectors: &Panel, values: [f64; WIDTH]) -> Panel {
        let (mut residual, mut right) = (zeros(vectors.len()), zeros(vectors.len()));
        self.apply_left(vectors, &mut residual);
        self.right().apply_panel(vectors, &mut right);
        scale_add(&mut residual, [1.0; WIDTH], &right, values.map(|value| -value));
        residual
    }

    /// A x − θ L x of one vector without the cancellation that [`residual`](Self::residual) has where the graph of L hardly hangs
    /// together; `None` if A has no differences to sum.
    fn residual_by_differences(&self, _: &[f64], _: f64) -> Option<Vec<f64>> {
        None
    }

    /// xᵀAx of four vectors, accurate to the last digits.
    fn left_forms(&self, x: &Panel) -> [f64; WIDTH];

    /// The same of one vector.
    fn left_form(&self, x: &[f64]) -> f64 {
        self.left_forms(&panel_of([x], x.len()))[0]
    }

    /// A without its last row and column, dense.
    fn grounded_left(&self) -> Mat<f64>;

    /// L.
    fn right(&self) -> &Laplacian<'_> {
        self.solver().laplacian()
    }

    fn nodes(&self) -> usize {
        self.right().nodes()
    }
}

/// The r largest eigenpairs of a pencil by the method asked for, or densely where that needs more room than there is.
fn solve_pencil(
    pencil: &dyn Pencil,
    params: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<GeneralizedEigenpairs> {
    let (nodes, eigenpairs) = (pencil.nodes(), params.eigenpairs);
    let method = match params.method {
        EigenMethod::Auto | EigenMethod::Given if nodes <= dense::COMFORTABLE_NODES => EigenMethod::Dense,
        EigenMethod::Auto | EigenMethod::Given => EigenMethod::Davidson,
        method => method,
    };
    let found = match method {
        EigenMethod::Power if nodes > power::fewest_nodes(eigenpairs) => {
            power::eigenpairs(pencil, params, monitor)
        }
        EigenMethod::Davidson if nodes > davidson::fewest_nodes(eigenpairs) => {
            davidson::eigenpairs(pencil, params, monitor)
        }
        _ => return dense::eigenpairs(pencil, params, monitor),
    };
    match found {
        // Graphs that hardly hang together are beyond the iterations, whose solves lose the digits that matter. A caller that
        // allows few iterations wants to know that they were too few.
        Err(not_converged @ Error::NotConverged { .. })
            if nodes <= dense::BEARABLE_NODES
                && params.max_iterations >= EigenParams::default().max_iterations =>
        {
            match dense::eigenpairs(pencil, params, monitor) {
                Err(Error::NotConverged { .. }) => Err(not_converged),
                found => found,
            }
        }
        found => found,
    }
}

/// σ_max/σ_2 of the right Laplacian is at least this: σ_max is no smaller than the largest degree, and σ_2 no larger than the Rayleigh
/// quotient of a vector that is not constant. None where the vector says nothing.
fn condition_at_least(pencil: &dyn Pencil, vector: &[f64]) -> Option<f64> {
    let mean = vector.iter().sum::<f64>() / vector.len() as f64;
    let squares: f64 = vector.iter().map(|entry| (entry - mean) * (entry - mean)).sum();
    let right = pencil.right();
    let form = if vector.len() == right.nodes() { right.quadratic_form(vector) } else { f64::NAN };
    let largest = (0..right.nodes()).map(|p| right.graph().weighted_degree(p)).fold(0.0, f64::max);
    Some(largest * squares / form).filter(|condition| condition.is_finite())
}

/// L_X v = λ L_Y v for one pair of graphs, with what is needed to solve it.
#[derive(Debug)]
pub struct EigenProblem<'g> {
    input: Laplacian<'g>,
    solver: LaplacianSolver<'g>,
    /// The labels of the nodes in here, where they have others than in the graphs given.
    relabeling: Option<Relabeling>,
    /// What the weights in here were multiplied by.
    scale: Scale,
    /// What is said where a number leaves the range on its way back to the graphs given.
    out_of_range: Error,
}

/// The powers of two that L_X and L_Y were multiplied by, both even; 0 unless weights are far from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scale {
    input: i32,
    output: i32,
}

impl Scale {
    fn of(graphs: &GraphPair) -> Self {
        let exponent = |graph: &Graph| exponent_to_one(graph.largest_weight());
        Self { input: exponent(graphs.input()), output: exponent(graphs.output()) }
    }

    fn is_none(self) -> bool {
        self == Self { input: 0, output: 0 }
    }

    /// The inverse of these.
    fn inverse(self) -> Self {
        Self { input: -self.input, output: -self.output }
    }

    /// An eigenvalue of the scaled problem as one of the problem given.
    fn value(self, value: f64) -> f64 {
        scaled(value, self.output - self.input)
    }

    /// Pairs of the scaled problem as those of the problem given: vᵀL_Yv stays 1.
    fn pairs(self, mut pairs: GeneralizedEigenpairs) -> GeneralizedEigenpairs {
        let scale_vector = |vector: &mut Vec<f64>| {
            for entry in vector {
                *entry = scaled(*entry, self.output / 2);
            }
        };
        for value in &mut pairs.values {
            *value = self.value(*value);
        }
        pairs.vectors.iter_mut().for_each(scale_vector);
        for guard in &mut pairs.guards {
            (guard.value, guard.residual) = (self.value(guard.value), self.value(guard.residual));
            scale_vector(&mut guard.vector);
        }
        pairs
    }
}

impl<'g> EigenProblem<'g> {
    /// Prepares the problem: factors a preconditioner of L_Y.
    pub fn new(graphs: &'g GraphPair, seed: u64) -> Self {
        Self::with_relabeling(graphs, seed, Relabeling::where_worthwhile(graphs))
    }

    fn with_relabeling(graphs: &'g GraphPair, seed: u64, relabeling: Option<Relabeling>) -> Self {
        let scale = Scale::of(graphs);
        let laplacian = |graph: &'g Graph, exponent: i32| match (&relabeling, exponent) {
            (Some(relabeling), 0) => Laplacian::owning(relabeling.relabel(graph)),
            (Some(relabeling), _) => Laplacian::owning(relabeling.relabel(&graph.scaled(exponent))),
            (None, 0) => Laplacian::of(graph),
            (None, _) => Laplacian::owning(graph.scaled(exponent)),
        };
        let solver = LaplacianSolver::new(laplacian(graphs.output(), scale.output), seed);
        let input = laplacian(graphs.input(), scale.input);
        Self { input, solver, relabeling, scale, out_of_range: graphs.weight_range() }
    }

    /// Pairs as they are found in here as those of the graphs given.
    fn as_given(&self, pairs: GeneralizedEigenpairs) -> Result<GeneralizedEigenpairs> {
        let pairs = match &self.relabeling {
            Some(relabeling) => relabeling.pairs_as_given(pairs),
            None => pairs,
        };
        if self.scale.is_none() {
            return self.check_range(pairs);
        }
        self.check_range(self.scale.pairs(pairs))
    }

    /// Eigenvalues that are positive numbers, and vectors that are not all zero.
    fn check_range(&self, pairs: GeneralizedEigenpairs) -> Result<GeneralizedEigenpairs> {
        let in_range = pairs.values.iter().all(|&value| value > 0.0 && value.is_normal())
            && pairs.vectors.iter().all(|vector| largest_entry(vector).is_normal());
        if in_range { Ok(pairs) } else { Err(self.out_of_range.clone()) }
    }

    /// L_X, of nodes as they are named in here.
    fn input(&self) -> &Laplacian<'g> {
        &self.input
    }

    /// L_Y, of nodes as they are named in here.
    fn output(&self) -> &Laplacian<'g> {
        self.solver.laplacian()
    }

    fn nodes(&self) -> usize {
        self.input.nodes()
    }

    /// The r largest eigenpairs.
    ///
    /// # Errors
    /// [`Error::TooManyEigenpairs`] unless r < n; [`Error::TooFewEigenvalues`] if the input graph has so many components that
    /// fewer than r eigenvalues are positive; [`Error::Cancelled`]; [`Error::NotConverged`], with the residuals reached.
    pub fn dominant_eigenpairs(
        &self,
        params: &EigenParams,
        monitor: &dyn Monitor,
    ) -> Result<GeneralizedEigenpairs> {
        let (samples, eigenpairs) = (self.nodes(), params.eigenpairs);
        if eigenpairs == 0 {
            return Err(Error::NoEigenpairs);
        }
        if eigenpairs >= samples {
            return Err(Error::TooManyEigenpairs { eigenpairs, samples });
        }
        // A component of two or more nodes has at least half as many positive eigenvalues as nodes.
        let input = self.input.graph();
        let joined = (0..samples).filter(|&p| !input.neighbors(p).is_empty()).count();
        if eigenpairs > joined / 2 {
            let positive = samples - Components::of(input).count();
            if eigenpairs > positive {
                return Err(Error::TooFewEigenvalues { eigenpairs, positive });
            }
        }
        self.as_given(solve_pencil(self, params, monitor)?)
    }

    /// All n − 1 eigenvalues, largest first, by a dense decomposition. If the input graph has c components, c − 1 of them
    /// are 0.
    ///
    /// # Errors
    /// [`Error::NotConverged`] when the decomposition fails; [`Error::Cancelled`].
    ///
    /// # Complexity
    /// O(n³) time, and about four matrices of n² numbers.
    pub fn all_eigenvalues(&self, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let values = dense::eigenvalues(self, monitor)?;
        let values: Vec<f64> = values.into_iter().map(|value| self.scale.value(value)).collect();
        if values.iter().all(|value| value.is_finite()) { Ok(values) } else { Err(self.out_of_range.clone()) }
    }

    /// Numerical bounds of λ_1, from eigenpairs of this problem.
    ///
    /// # Errors
    /// With [`Certainty::Certified`]: when the factor is too large or no proof is found.
    pub fn enclose(
        &self,
        pairs: &GeneralizedEigenpairs,
        certainty: Certainty,
        seed: u64,
        monitor: &dyn Monitor,
    ) -> Result<Enclosure> {
        let relabeled = self.relabeling.as_ref().map(|relabeling| relabeling.relabel_pairs(pairs));
        let scaled = (!self.scale.is_none())
            .then(|| self.scale.inverse().pairs(relabeled.as_ref().unwrap_or(pairs).clone()));
        let pairs = scaled.as_ref().or(relabeled.as_ref()).unwrap_or(pairs);
        let found = match certainty {
            Certainty::None => Ok(enclosure::lower_only(self, pairs)),
            Certainty::Probable => enclosure::probable(self, pairs, seed, monitor),
            Certainty::Certified => certificate::certified(self, pairs, monitor),
        }
        .map_err(|error| self.error_as_given(error))?;
        let found =
            Enclosure { lower: self.scale.value(found.lower), upper: self.scale.value(found.upper), ..found };
        if found.lower.is_finite() && (found.upper.is_finite() || certainty == Certainty::None) {
            return Ok(found);
        }
        Err(self.out_of_range.clone())
    }

    /// Eigenvalues in an error are those of the graphs given.
    fn error_as_given(&self, error: Error) -> Error {
        match error {
            Error::MissedEigenvalue { reported, found } => Error::MissedEigenvalue {
                reported: self.scale.value(reported),
                found: self.scale.value(found),
            },
            Error::NotCertified { tried } => Error::NotCertified { tried: self.scale.value(tried) },
            error => error,
        }
    }
}

impl Pencil for EigenProblem<'_> {
    fn solver(&self) -> &LaplacianSolver<'_> {
        &self.solver
    }

    fn apply_left(&self, x: &Panel, y: &mut Panel) {
        self.input.apply_panel(x, y);
    }

    fn residual_by_differences(&self, x: &[f64], value: f64) -> Option<Vec<f64>> {
        let mut residual = self.input.apply_by_differences(x);
        let right = self.output().apply_by_differences(x);
        residual.iter_mut().zip(right).for_each(|(left, right)| *left -= value * right);
        Some(residual)
    }

    fn left_forms(&self, x: &Panel) -> [f64; WIDTH] {
        self.input.quadratic_forms(x)
    }

    fn grounded_left(&self) -> Mat<f64> {
        dense::grounded(&self.input)
    }
}

/// The r largest eigenpairs of L_X v = λ L_Y v.
///
/// # Errors
/// As [`EigenProblem::dominant_eigenpairs`].
///
/// ```
/// use spadework::graph::{ConnectedGraph, GraphPair, generators};
/// use spadework::eigen::{EigenParams, dominant_eigenpairs};
/// // A model that opens a ring of samples into a line: λ_1 = n, all others 1.
/// let output = ConnectedGraph::new(generators::path(20)).unwrap();
/// let graphs = GraphPair::new(generators::cycle(20), output)?;
/// let pairs = dominant_eigenpairs(&graphs, &EigenParams::default())?;
/// assert!((pairs.values()[0] - 20.0).abs() < 1e-9);
/// assert!((pairs.values()[1] - 1.0).abs() < 1e-9);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn dominant_eigenpairs(graphs: &GraphPair, params: &EigenParams) -> Result<GeneralizedEigenpairs> {
    EigenProblem::new(graphs, params.seed).dominant_eigenpairs(params, &crate::monitor::Silent)
}
