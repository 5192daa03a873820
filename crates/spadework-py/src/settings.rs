//! The parameters of a call, as the Python half hands them over.

use std::num::NonZeroUsize;
use std::str::FromStr;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use spadework::SpadeParams;
use spadework::eigen::{Certainty, EigenMethod};
use spadework::error::UnknownWord;
use spadework::pipeline::Spectrum;
use spadework_app::RankBy;
use spadework_probe::Task;

/// A dictionary with exactly these keys; `_settings.py` has checked the types.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    neighbors: usize,
    /// None for all of them.
    eigenpairs: Option<usize>,
    pub(crate) sketch_error: f64,
    solver: String,
    input_metric: String,
    output_metric: String,
    standardize: String,
    ties: String,
    search: String,
    graph: String,
    weights: String,
    connectivity: String,
    tolerance: f64,
    certify: bool,
    bounds: bool,
    seed: u64,
    pub(crate) threads: Option<NonZeroUsize>,
    task: String,
    rank_by: String,
}

impl Settings {
    /// The parameters of the core, which runs in the pool of the call.
    pub(crate) fn params(&self) -> PyResult<SpadeParams> {
        let (eigenpairs, spectrum) = match self.eigenpairs {
            Some(count) => (count, Spectrum::Leading),
            None => (SpadeParams::default().eigenpairs, Spectrum::Full { error: self.sketch_error }),
        };
        Ok(SpadeParams::default()
            .with_neighbors(self.neighbors)
            .with_eigenpairs(eigenpairs)
            .with_spectrum(spectrum)
            .with_solver(solver(&self.solver)?)
            .with_input_metric(word("input_metric", &self.input_metric)?)
            .with_output_metric(word("output_metric", &self.output_metric)?)
            .with_standardize(word("standardize", &self.standardize)?)
            .with_ties(word("ties", &self.ties)?)
            .with_search(word("search", &self.search)?)
            .with_graph(word("graph", &self.graph)?)
            .with_weights(word("weights", &self.weights)?)
            .with_connectivity(word("connectivity", &self.connectivity)?)
            .with_tolerance(self.tolerance)
            .with_certainty(match (self.certify, self.bounds) {
                (true, _) => Certainty::Certified,
                (false, true) => Certainty::Probable,
                (false, false) => Certainty::None,
            })
            .with_seed(self.seed))
    }
}

impl Settings {
    /// What the outputs are.
    pub(crate) fn task(&self) -> PyResult<Task> {
        word("task", &self.task)
    }

    /// By what models are ranked.
    pub(crate) fn rank_by(&self) -> PyResult<RankBy> {
        word("rank_by", &self.rank_by)
    }
}

pub(crate) fn word<T: FromStr<Err = UnknownWord>>(argument: &str, word: &str) -> PyResult<T> {
    word.parse().map_err(|UnknownWord { expected, .. }| unknown(argument, expected, word))
}

fn solver(text: &str) -> PyResult<EigenMethod> {
    match text {
        "davidson" => Ok(EigenMethod::Auto),
        "power" => Ok(EigenMethod::Power),
        _ => Err(unknown("solver", "davidson or power", text)),
    }
}

fn unknown(argument: &str, expected: &str, got: &str) -> PyErr {
    PyValueError::new_err(format!("`{argument}` must be {expected}, got {got:?}"))
}
