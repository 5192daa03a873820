//! What a caller may choose.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::graph::{GraphKind, Weights};
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

/// How certain the upper end of the model score's enclosure must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Certainty {
    /// A residual bound that holds with a stated probability over the random start.
    #[default]
    Probable,
    /// A proof: μL_Y − L_X is factored and found positive definite.
    Certified,
}

/// Parameters of [`evaluate`](crate::evaluate).
#[derive(Debug, Clone, PartialEq)]
pub struct SpadeParams {
    /// Neighbours per sample, k. The paper's default is 10.
    pub neighbors: usize,
    /// Eigenpairs, r, that edge and node scores are made of. The authors' default is 2.
    pub eigenpairs: usize,
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
    /// When a count is zero, or the tolerance or a number of the graph is out of range.
    pub fn check(&self) -> Result<()> {
        if self.neighbors == 0 {
            return Err(Error::NoNeighbors);
        }
        if self.eigenpairs == 0 {
            return Err(Error::NoEigenpairs);
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
