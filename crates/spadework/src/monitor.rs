//! How a caller watches and stops a run. The library itself prints nothing and installs no handler.

use std::fmt;

use crate::checkpoint::Checkpoints;
use crate::error::{Error, Result};

/// The parts of a run that take time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Neighbors among the inputs.
    NeighborsInput,
    /// Neighbors among the outputs.
    NeighborsOutput,
    /// Projection before the neighbor graphs are made, or sparsification after it.
    Graphs,
    /// Generalized eigenpairs.
    Eigenpairs,
    /// Upper bound of the model score.
    Enclosure,
    /// Edge and node scores.
    Scores,
    /// Geodesic and resistance distances.
    Distances,
    /// Lowest modes of a graph.
    Modes,
    /// Scores of subsamples, for an interval.
    Subsamples,
    /// Neighbors and scores of new samples.
    NewSamples,
    /// Work of another crate, with its name.
    Named(&'static str),
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::NeighborsInput => "input neighbors",
            Stage::NeighborsOutput => "output neighbors",
            Stage::Graphs => "graphs",
            Stage::Eigenpairs => "eigenpairs",
            Stage::Enclosure => "bounds",
            Stage::Scores => "scores",
            Stage::Distances => "distances",
            Stage::Modes => "modes",
            Stage::Subsamples => "subsamples",
            Stage::NewSamples => "new samples",
            Stage::Named(name) => name,
        })
    }
}

/// Receives progress and may ask to stop. Called from worker threads.
pub trait Monitor: Sync {
    /// A stage begins.
    fn begin(&self, _stage: Stage) {}

    /// `done` of `total` steps of the current stage are done; `total` is 0 if it cannot be known.
    fn progress(&self, _done: u64, _total: u64) {}

    /// Whether the run should stop; asked many times per second.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Where work that takes long keeps its parts, so that a later run goes on from there; nowhere by default.
    fn checkpoints(&self) -> Option<&dyn Checkpoints> {
        None
    }
}

/// A monitor that ignores progress and never stops a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Monitor for Silent {}

/// Passes on the wish to stop, and hides the stages and the progress of many small works.
pub(crate) struct Cancelling<'a>(pub(crate) &'a dyn Monitor);

impl Monitor for Cancelling<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// [`Error::Cancelled`] when the caller wants to stop.
///
/// # Errors
/// [`Error::Cancelled`].
pub fn check_cancelled(monitor: &dyn Monitor) -> Result<()> {
    if monitor.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
}
