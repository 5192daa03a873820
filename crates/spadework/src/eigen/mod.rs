//! The r largest generalized eigenpairs of L_X v = λ L_Y v.

mod certificate;
mod davidson;
mod dense;
mod enclosure;
mod modes;
mod power;
mod stored;
mod symmetric;

pub use enclosure::{Enclosure, EnclosureMethod};
pub use modes::{LaplacianModes, lowest_modes};
pub use stored::StoredEigenpairs;

use faer::Mat;

use crate::graph::{Components, Graph, GraphPair, breadth_first_names};
use crate::laplacian::panel::{Panel, WIDTH};
use crate::laplacian::{Laplacian, LaplacianSolver};
use crate::{Certainty, Error, Monitor, Result};

/// Parameters of the eigenproblem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EigenParams {
    /// Eigenpairs wanted, r.
    pub eigenpairs: usize,
    /// Relative residual ‖L_X v − λ L_Y v‖ / λ, in the norm of L_Y⁺, that every pair must reach.
    pub tolerance: f64,
    /// Most iterations of four vectors each.
    pub max_iterations: usize,
    /// Seed of the start vectors and of the preconditioner.
    pub seed: u64,
    /// How eigenpairs are found.
    pub method: EigenMethod,
}

impl Default for EigenParams {
    fn default() -> Self {
        Self { eigenpairs: 2, tolerance: 1e-6, max_iterations: 1000, seed: 0, method: EigenMethod::Auto }
    }
}

/// How eigenpairs are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EigenMethod {
    /// Dense where n is small, iterative otherwise.
    #[default]
    Auto,
    /// Dense decomposition: O(n³), all eigenvalues.
    Dense,
    /// Block Davidson iteration; dense where n is too small for its basis.
    Davidson,
    /// Power iteration with a block of vectors (the paper's A.5); dense where n is too small for the block.
    Power,
    /// By another program, which gave them ([`GeneralizedEigenpairs::restore`]); asked for, it is as [`EigenMethod::Auto`].
    Given,
}

impl std::fmt::Display for EigenMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            EigenMethod::Auto => "auto",
            EigenMethod::Dense => "dense",
            EigenMethod::Davidson => "davidson",
            EigenMethod::Power => "power",
            EigenMethod::Given => "given",
        })
    }
}

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
    /// Approximate pairs beyond r that the iteration had at hand, with absolute residuals; they sharpen the enclosure.
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

/// Guard pairs beside the wanted ones: the last wanted pair converges by the gap to what lies beyond the block.
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
pub struct EigenInfo {
    /// The method that was used; never [`EigenMethod::Auto`].
    pub method: EigenMethod,
    /// Iterations of an iterative method; 0 for the dense one.
    pub iterations: usize,
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
        for pair in &mut pairs {
            normalize(problem.right(), &mut pair.vector);
            pair.value = problem.left_form(&pair.vector);
        }
        pairs.sort_by(|a, b| b.value.total_cmp(&a.value));
        let guards = pairs.split_off(wanted);
        let residuals = pairs.iter().map(RitzPair::relative_residual).collect();
        let values = pairs.iter().map(|pair| pair.value).collect();
        let vectors = pairs.into_iter().map(|pair| pair.vector).collect();
        Self { values, vectors, residuals, info, guards }
    }
}

/// Pairs of vectors whose entries change places.
impl GeneralizedEigenpairs {
    /// For nodes under other names: entry p becomes entry `names[p]`.
    fn renamed(&self, names: &[u32]) -> Self {
        let mut pairs = self.clone();
        pairs.map_vectors(|vector| {
            let mut renamed = vec![0.0; vector.len()];
            for (&name, &entry) in names.iter().zip(vector) {
                renamed[name as usize] = entry;
            }
            renamed
        });
        pairs
    }

    /// For nodes under the names they had before: entry `names[p]` becomes entry p. Which entry is the first among equals
    /// may be another one then.
    fn named_as_given(mut self, names: &[u32]) -> Self {
        self.map_vectors(|vector| {
            let given: Vec<f64> = names.iter().map(|&name| vector[name as usize]).collect();
            let sign = 1.0_f64.copysign(largest_entry(&given));
            given.into_iter().map(|entry| sign * entry).collect()
        });
        self
    }

    fn map_vectors(&mut self, change: impl Fn(&[f64]) -> Vec<f64>) {
        for vector in self.vectors.iter_mut().chain(self.guards.iter_mut().map(|pair| &mut pair.vector)) {
            *vector = change(vector);
        }
    }
}

/// The entry of largest magnitude, the first of them where several tie.
fn largest_entry(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0, |largest: f64, &v| if v.abs() > largest.abs() { v } else { largest })
}

/// Mean zero, vᵀL_Yv = 1, entry of largest magnitude positive (the first of them where several tie).
fn normalize(output: &Laplacian<'_>, vector: &mut [f64]) {
    let mean = vector.iter().sum::<f64>() / vector.len() as f64;
    for entry in vector.iter_mut() {
        *entry -= mean;
    }
    let scale = output.quadratic_form(vector).sqrt().recip().copysign(largest_entry(vector));
    for entry in vector.iter_mut() {
        *entry *= scale;
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

    /// xᵀAx, accurate to the last digits.
    fn left_form(&self, x: &[f64]) -> f64;

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
    match method {
        EigenMethod::Power if nodes > power::fewest_nodes(eigenpairs) => {
            power::eigenpairs(pencil, params, monitor)
        }
        EigenMethod::Davidson if nodes > davidson::fewest_nodes(eigenpairs) => {
            davidson::eigenpairs(pencil, params, monitor)
        }
        _ => dense::eigenpairs(pencil, params, monitor),
    }
}

/// From this many nodes on, where a panel outgrows the caches, the nodes are renamed: what that takes is won back by the
/// products with the Laplacians.
const RENAMED_NODES: usize = 100_000;

/// L_X v = λ L_Y v for one pair of graphs, with what is needed to solve it.
#[derive(Debug)]
pub struct EigenProblem<'g> {
    input: Laplacian<'g>,
    solver: LaplacianSolver<'g>,
    /// The names of the nodes in here, where they have others than in the graphs given.
    names: Option<Vec<u32>>,
}

impl<'g> EigenProblem<'g> {
    /// Prepares the problem: factors a preconditioner of L_Y.
    pub fn new(graphs: &'g GraphPair, seed: u64) -> Self {
        let names = (graphs.nodes() >= RENAMED_NODES).then(|| breadth_first_names(graphs.output()));
        Self::with_names(graphs, seed, names)
    }

    fn with_names(graphs: &'g GraphPair, seed: u64, names: Option<Vec<u32>>) -> Self {
        let laplacian = |graph: &'g Graph| match &names {
            Some(names) => Laplacian::owning(graph.renamed(names)),
            None => Laplacian::of(graph),
        };
        let solver = LaplacianSolver::new(laplacian(graphs.output()), seed);
        Self { input: laplacian(graphs.input()), solver, names }
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
    /// [`Error::TooManyEigenpairs`] unless r < n; [`Error::TooFewEigenvalues`] where the input graph has so many components
    /// that fewer than r eigenvalues are positive; [`Error::Cancelled`]; [`Error::NotConverged`], with the residuals reached.
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
        let positive = samples - Components::of(self.input.graph()).count();
        if eigenpairs > positive {
            return Err(Error::TooFewEigenvalues { eigenpairs, positive });
        }
        let pairs = solve_pencil(self, params, monitor)?;
        Ok(match &self.names {
            Some(names) => pairs.named_as_given(names),
            None => pairs,
        })
    }

    /// All n − 1 eigenvalues, largest first, by a dense decomposition; as many are 0 as the input graph has components
    /// beyond the first.
    ///
    /// # Errors
    /// [`Error::NotConverged`] when the decomposition fails; [`Error::Cancelled`].
    ///
    /// # Complexity
    /// O(n³) time, some four matrices of n² numbers.
    pub fn all_eigenvalues(&self, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        dense::eigenvalues(self, monitor)
    }

    /// An enclosure of λ_1 around eigenpairs of this problem.
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
        let renamed = self.names.as_ref().map(|names| pairs.renamed(names));
        let pairs = renamed.as_ref().unwrap_or(pairs);
        match certainty {
            Certainty::Probable => enclosure::probable(self, pairs, seed, monitor),
            Certainty::Certified => certificate::certified(self, pairs, monitor),
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

    fn left_form(&self, x: &[f64]) -> f64 {
        self.input.quadratic_form(x)
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
/// use spadework::{EigenParams, dominant_eigenpairs};
/// // A model that opens a ring of samples into a line: λ_1 = n, all others 1.
/// let output = ConnectedGraph::new(generators::path(20)).unwrap();
/// let graphs = GraphPair::new(generators::cycle(20), output)?;
/// let pairs = dominant_eigenpairs(&graphs, &EigenParams::default())?;
/// assert!((pairs.values()[0] - 20.0).abs() < 1e-9);
/// assert!((pairs.values()[1] - 1.0).abs() < 1e-9);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn dominant_eigenpairs(graphs: &GraphPair, params: &EigenParams) -> Result<GeneralizedEigenpairs> {
    EigenProblem::new(graphs, params.seed).dominant_eigenpairs(params, &crate::Silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ConnectedGraph, generators};

    /// A weighted grid against a grid with chords, both of 600 nodes.
    fn graphs() -> GraphPair {
        let grid = generators::grid(20, 30);
        let edges: Vec<_> = grid.edges().map(|(p, q, _)| (p, q, 1.0 + f64::from((3 * p + q) % 7))).collect();
        let input = Graph::from_weighted_edges(600, &edges).unwrap();
        let mut edges: Vec<_> = grid.edges().map(|(p, q, _)| (p, q)).collect();
        edges.extend((0..600).map(|p| (p, (17 * p + 91) % 600)).filter(|(p, q)| p != q));
        GraphPair::new(input, ConnectedGraph::new(Graph::from_edges(600, &edges).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn names_of_nodes_are_nobodys_business() {
        let graphs = graphs();
        let params = EigenParams { eigenpairs: 3, method: EigenMethod::Davidson, ..EigenParams::default() };
        let given = EigenProblem::with_names(&graphs, 0, None);
        let expected = given.dominant_eigenpairs(&params, &crate::Silent).unwrap();
        let names = breadth_first_names(graphs.output());
        assert!(names.iter().zip(0..).any(|(&name, p)| name != p));
        let renamed = EigenProblem::with_names(&graphs, 0, Some(names));
        let pairs = renamed.dominant_eigenpairs(&params, &crate::Silent).unwrap();
        for pair in 0..3 {
            assert!((pairs.values[pair] / expected.values[pair] - 1.0).abs() < 1e-10);
            // Eigenvectors are right to about the residual over the gap to the next eigenvalue.
            let errors = pairs.vectors[pair].iter().zip(&expected.vectors[pair]).map(|(a, b)| (a - b).abs());
            assert!(errors.fold(0.0, f64::max) < 1e-4, "vector {pair}");
        }
        // Each problem takes the pairs of the other: they are of the graphs given.
        for (problem, pairs) in [(&renamed, &expected), (&given, &pairs)] {
            for certainty in [Certainty::Probable, Certainty::Certified] {
                let enclosure = problem.enclose(pairs, certainty, 0, &crate::Silent).unwrap();
                let largest = expected.values[0];
                assert!(enclosure.lower <= largest * (1.0 + 1e-12) && largest <= enclosure.upper);
                assert!(enclosure.upper < largest * (1.0 + 1e-4), "{enclosure:?}");
            }
        }
    }

    #[test]
    fn signs_follow_the_order_of_the_nodes_given() {
        let vector = vec![0.5, 2.0, -2.0];
        let info = EigenInfo { method: EigenMethod::Davidson, iterations: 1 };
        let (values, residuals) = (vec![1.0], vec![0.0]);
        let pairs =
            GeneralizedEigenpairs { values, vectors: vec![vector], residuals, info, guards: Vec::new() };
        // Node 0 is called 2 in here, node 2 is called 0.
        assert_eq!(pairs.named_as_given(&[2, 1, 0]).vectors, [[2.0, -2.0, -0.5]]);
    }
}
