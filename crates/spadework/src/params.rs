//! What a caller may choose.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::eigen::EigenMethod;
use crate::graph::{GraphKind, Weights};
use crate::laplacian::SketchParams;
use crate::{Error, Result};

/// What to do with a neighbour graph that falls apart: λ_max(L_Y⁺L_X) needs a connected output graph, the paper asks
/// it of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Connectivity {
    /// Take the smallest k' ≥ k for which both graphs are connected.
    #[default]
    Grow,
    /// Keep k and join the components by the shortest edges between them (a minimum spanning forest).
    Bridge,
    /// Refuse.
    Error,
}

impl fmt::Display for Connectivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Connectivity::Grow => "grow",
            Connectivity::Bridge => "bridge",
            Connectivity::Error => "error",
        })
    }
}

impl FromStr for Connectivity {
    type Err = UnknownWord;

    fn from_str(word: &str) -> std::result::Result<Self, Self::Err> {
        match word {
            "grow" => Ok(Connectivity::Grow),
            "bridge" => Ok(Connectivity::Bridge),
            "error" => Ok(Connectivity::Error),
            _ => Err(UnknownWord { expected: "grow, bridge or error" }),
        }
    }
}

/// A word that names none of the choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct UnknownWord {
    /// The choices.
    pub expected: &'static str,
}

/// How neighbours are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SearchMethod {
    /// Exactly, unless the estimated cost is beyond [`AutomaticSearch::MOST_CORE_SECONDS`](crate::AutomaticSearch).
    #[default]
    Auto,
    /// Exactly, whatever it costs.
    Exact,
    /// By random trees and NN-descent, polished to a measured recall.
    Approximate,
}

impl fmt::Display for SearchMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SearchMethod::Auto => "auto",
            SearchMethod::Exact => "exact",
            SearchMethod::Approximate => "approximate",
        })
    }
}

impl FromStr for SearchMethod {
    type Err = UnknownWord;

    fn from_str(word: &str) -> std::result::Result<Self, Self::Err> {
        match word {
            "auto" => Ok(SearchMethod::Auto),
            "exact" => Ok(SearchMethod::Exact),
            "approximate" => Ok(SearchMethod::Approximate),
            _ => Err(UnknownWord { expected: "auto, exact or approximate" }),
        }
    }
}

/// How certain the upper end of the model score's enclosure must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Certainty {
    /// A residual bound that holds with a stated probability over the random start.
    #[default]
    Probable,
    /// A proof: μL_Y − L_X is factored and found positive definite.
    Certified,
}

/// Which eigenpairs edge and node scores are made of.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Spectrum {
    /// The r largest ([`SpadeParams::eigenpairs`]).
    #[default]
    Leading,
    /// All n − 1, by a random projection: every edge score within the relative `error`, with a probability of 0.999. The
    /// model score and the embedding stay those of the r largest.
    Full {
        /// ε, as in [`SketchParams::error`].
        error: f64,
    },
}

/// Parameters of [`evaluate`](crate::evaluate).
#[derive(Debug, Clone, PartialEq)]
pub struct SpadeParams {
    /// Neighbours per sample, k. The paper's default is 10.
    pub neighbors: usize,
    /// Eigenpairs, r, that edge and node scores are made of. The authors' default is 2.
    pub eigenpairs: usize,
    /// Whether edge and node scores are made of those or of all eigenpairs.
    pub spectrum: Spectrum,
    /// How eigenpairs are found.
    pub solver: EigenMethod,
    /// How neighbours are searched.
    pub search: SearchMethod,
    /// How the graphs are made of their samples.
    pub graph: GraphKind,
    /// What their edges weigh.
    pub weights: Weights,
    /// What to do with a disconnected graph.
    pub connectivity: Connectivity,
    /// Relative residual every eigenpair must reach; the relative error of an eigenvalue is at most this, and as a rule
    /// about its square.
    pub tolerance: f64,
    /// How the upper bound of the model score is obtained.
    pub certainty: Certainty,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads to use; all cores where `None`. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
}

impl Default for SpadeParams {
    fn default() -> Self {
        Self {
            neighbors: 10,
            eigenpairs: 2,
            spectrum: Spectrum::default(),
            solver: EigenMethod::default(),
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

impl SpadeParams {
    /// Smallest tolerance that double precision reaches reliably.
    pub const LEAST_TOLERANCE: f64 = 1e-11;
    /// Largest tolerance: looser iterations have been seen to settle on a wrong eigenvalue.
    pub const MOST_TOLERANCE: f64 = 1e-3;

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

    /// As [`SpadeParams::check_for`] where both graphs are given, so that k does not matter.
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
