//! Where the steps of an evaluation can be stored between runs.

use super::manifold::ManifoldPair;
use super::params::SpadeParams;
use super::report::{ModelGraphs, SolvedSpectrum};
use crate::error::Error;
use crate::graph::GraphPair;

/// Supplies results of an earlier run and stores those of this one: files, a database, or nothing ([`KeepNothing`]).
///
/// A keeper is asked before every step. If it has no result, the step runs and the keeper gets its result. A result that it
/// supplies must be the one that the step would compute from the same sides and parameters: nothing is checked again.
pub trait Keeper: Sync {
    /// What can go wrong: errors of the evaluation, and those of the keeper's own.
    type Error: From<Error> + Send;

    /// The graphs of these sides, where they are known.
    ///
    /// # Errors
    /// When what is there cannot be used.
    fn stored_graphs(
        &self,
        _sides: &ManifoldPair<'_>,
        _params: &SpadeParams,
    ) -> Result<Option<ModelGraphs>, Self::Error> {
        Ok(None)
    }

    /// Keeps the graphs that were made of these sides.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn keep_graphs(
        &self,
        _sides: &ManifoldPair<'_>,
        _params: &SpadeParams,
        _made: &ModelGraphs,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The spectrum of these graphs, where it is known.
    ///
    /// # Errors
    /// When what is there cannot be used.
    fn stored_spectrum(
        &self,
        _graphs: &GraphPair,
        _params: &SpadeParams,
    ) -> Result<Option<SolvedSpectrum>, Self::Error> {
        Ok(None)
    }

    /// Keeps the spectrum that was found for these graphs.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn keep_spectrum(
        &self,
        _graphs: &GraphPair,
        _params: &SpadeParams,
        _solved: &SolvedSpectrum,
    ) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Stores nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeepNothing;

impl Keeper for KeepNothing {
    type Error = Error;
}
