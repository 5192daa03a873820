//! What a caller may choose.

use std::num::NonZeroUsize;

use super::manifold::{Manifold, ManifoldPair};
use crate::eigen::{Certainty, EigenMethod, EigenParams};
use crate::error::{Error, Result};
use crate::graph::{Connectivity, GraphKind, Weights};
use crate::laplacian::SketchParams;
use crate::neighbors::{SearchMethod, Ties};
use crate::samples::{Geometry, Metric, PairedSamples, Samples, Side, Standardize};

/// Which eigenpairs edge and node scores are computed from.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Spectrum {
    /// The r largest ([`SpadeParams::eigenpairs`]).
    #[default]
    Leading,
    /// All n − 1, by a random projection: with probability 0.999, every edge score is within the relative `error`. The model
    /// score and the embedding are still those of the r largest.
    Full {
        /// ε, as in [`SketchParams::error`].
        error: f64,
    },
}

/// Parameters of [`evaluate`](super::evaluate).
///
/// ```
/// use spadework::SpadeParams;
/// let params = SpadeParams::default().with_neighbors(5).with_seed(7);
/// assert_eq!((params.neighbors, params.seed, params.eigenpairs), (5, 7, 2));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpadeParams {
    /// Neighbors per sample, k. The paper's default is 10.
    pub neighbors: usize,
    /// Eigenpairs, r, that edge and node scores are computed from. The authors' default is 2.
    pub eigenpairs: usize,
    /// Whether edge and node scores are computed from those or from all eigenpairs.
    pub spectrum: Spectrum,
    /// How eigenpairs are found.
    pub solver: EigenMethod,
    /// The distance between inputs.
    pub input_metric: Metric,
    /// The distance between outputs.
    pub output_metric: Metric,
    /// What is done to the columns of the inputs first. Outputs are left unchanged, because they are what is
    /// evaluated.
    pub standardize: Standardize,
    /// What decides between equally near outputs, if some outputs are equal.
    pub ties: Ties,
    /// How neighbors are searched.
    pub search: SearchMethod,
    /// How the graphs are made from their samples.
    pub graph: GraphKind,
    /// The weights of their edges.
    pub weights: Weights,
    /// What to do with a disconnected graph.
    pub connectivity: Connectivity,
    /// Relative residual that every eigenpair must reach. The relative error of an eigenvalue is at most this, and
    /// usually about its square.
    pub tolerance: f64,
    /// How the upper bound of the model score is obtained.
    pub certainty: Certainty,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads to use; all cores if `None`. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
}

impl Default for SpadeParams {
    fn default() -> Self {
        Self {
            neighbors: 10,
            eigenpairs: 2,
            spectrum: Spectrum::default(),
            solver: EigenMethod::default(),
            input_metric: Metric::default(),
            output_metric: Metric::default(),
            standardize: Standardize::default(),
            ties: Ties::default(),
            search: SearchMethod::default(),
            graph: GraphKind::default(),
            weights: Weights::default(),
            connectivity: Connectivity::default(),
            tolerance: 1e-6,
            certainty: Certainty::default(),
            seed: 0,
            threads: None,
        }
    }
}

with_methods! { SpadeParams {
    with_neighbors(neighbors: usize),
    with_eigenpairs(eigenpairs: usize),
    with_spectrum(spectrum: Spectrum),
    with_solver(solver: EigenMethod),
    with_input_metric(input_metric: Metric),
    with_output_metric(output_metric: Metric),
    with_standardize(standardize: Standardize),
    with_ties(ties: Ties),
    with_search(search: SearchMethod),
    with_graph(graph: GraphKind),
    with_weights(weights: Weights),
    with_connectivity(connectivity: Connectivity),
    with_tolerance(tolerance: f64),
    with_certainty(certainty: Certainty),
    with_seed(seed: u64),
    with_threads(threads: Option<NonZeroUsize>),
} }

impl SpadeParams {
    /// Smallest tolerance that double precision reaches reliably.
    pub const LEAST_TOLERANCE: f64 = 1e-11;
    /// Largest tolerance: with looser ones, iterations settled on a wrong eigenvalue.
    pub const MOST_TOLERANCE: f64 = 1e-3;

    /// How distances on one side are taken.
    pub fn geometry(&self, side: Side) -> Geometry {
        match side {
            Side::Input => Geometry::new(self.input_metric, self.standardize),
            Side::Output => Geometry::new(self.output_metric, Standardize::None),
        }
    }

    /// Both sides after [`Geometry::place`], as the searches see them.
    ///
    /// # Errors
    /// As [`Geometry::place`].
    pub fn placed_pair<'s>(&self, samples: &'s PairedSamples<'_>) -> Result<PairedSamples<'s>> {
        let place = |side: Side, samples: &'s Samples<'_>| self.geometry(side).place(side, samples.view());
        PairedSamples::new(place(Side::Input, samples.input())?, place(Side::Output, samples.output())?)
    }

    /// The same parameters for samples that were already placed ([`Geometry::place`]).
    #[must_use]
    pub fn for_placed(&self) -> Self {
        Self {
            input_metric: Metric::default(),
            output_metric: Metric::default(),
            standardize: Standardize::default(),
            ..self.clone()
        }
    }

    /// The parameters of the eigenproblem.
    pub fn eigen_params(&self) -> EigenParams {
        EigenParams {
            eigenpairs: self.eigenpairs,
            tolerance: self.tolerance,
            seed: self.seed,
            method: self.solver,
            ..EigenParams::default()
        }
    }

    /// Checks the parameters against the two sides of a model.
    ///
    /// # Errors
    /// As [`SpadeParams::check_for`], or as [`SpadeParams::check_for_graphs`] if both sides are graphs.
    pub fn check_sides(&self, sides: &ManifoldPair<'_>) -> Result<()> {
        match (sides.input(), sides.output()) {
            (Manifold::Graph(_), Manifold::Graph(_)) => self.check_for_graphs(sides.len()),
            _ => self.check_for(sides.len()),
        }
    }

    /// Checks the parameters by themselves.
    ///
    /// # Errors
    /// When a count is zero, or the tolerance, the error of the full spectrum or a number of the graph is out of range.
    pub fn check(&self) -> Result<()> {
        if self.neighbors == 0 {
            return Err(Error::NoNeighbors);
        }
        if self.eigenpairs == 0 {
            return Err(Error::NoEigenpairs);
        }
        if let Spectrum::Full { error } = self.spectrum {
            SketchParams { error, ..SketchParams::default() }.check()?;
        }
        self.graph.check()?;
        let is_rotated = matches!(self.input_metric, Metric::Euclidean | Metric::Cosine);
        if matches!(self.graph, GraphKind::Pca(_)) && !is_rotated {
            return Err(Error::ProjectedMetric { metric: self.input_metric.to_string() });
        }
        let (least, most) = (Self::LEAST_TOLERANCE, Self::MOST_TOLERANCE);
        if !(least..=most).contains(&self.tolerance) {
            return Err(Error::Tolerance { least, most, got: self.tolerance });
        }
        Ok(())
    }

    /// Checks the parameters against a number of samples, and by themselves.
    ///
    /// # Errors
    /// As [`SpadeParams::check`], and when k or r is not smaller than n.
    pub fn check_for(&self, samples: usize) -> Result<()> {
        self.check()?;
        if self.neighbors >= samples {
            return Err(Error::TooManyNeighbors { neighbors: self.neighbors, samples });
        }
        self.check_for_graphs(samples)
    }

    /// As [`SpadeParams::check_for`] if both graphs are given, so that k does not matter.
    ///
    /// # Errors
    /// As [`SpadeParams::check`], and when r is not smaller than n.
    pub fn check_for_graphs(&self, samples: usize) -> Result<()> {
        self.check()?;
        if self.eigenpairs >= samples {
            return Err(Error::TooManyEigenpairs { eigenpairs: self.eigenpairs, samples });
        }
        Ok(())
    }
}
