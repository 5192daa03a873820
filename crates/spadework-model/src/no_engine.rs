//! In place of the engine, in a build without one: no file is decoded, so that nothing after it can come to pass.

use std::convert::Infallible;
use std::path::Path;

use super::error::ModelError;
use super::outline::{Outline, Port};

/// A decoded file, of which there is none.
pub(super) struct Decoded(Infallible);

/// A model made ready, of which there is none.
pub(super) struct Plan {
    never: Infallible,
    pub(super) outputs: Vec<Option<Vec<usize>>>,
}

/// What a thread runs batches with.
pub(super) struct Worker<'a>(&'a Infallible);

/// Refuses every file.
pub(super) fn decode(_bytes: &[u8], _folder: &Path) -> Result<Decoded, ModelError> {
    Err(ModelError::NoEngine)
}

impl Decoded {
    pub(super) fn outline(&self) -> Result<Outline, ModelError> {
        match self.0 {}
    }

    pub(super) fn plan(&self, _: &Port, _: &[usize], _: &[&str]) -> Result<Plan, ModelError> {
        match self.0 {}
    }

    pub(super) fn run_by_onnxruntime(
        &self,
        _: Plan,
        _: &Path,
        _: &Port,
        _: &[&str],
    ) -> Result<Plan, ModelError> {
        match self.0 {}
    }

    pub(super) fn bytes(&self, _: &Port, _: &[usize], _: &[&str]) -> Result<u64, ModelError> {
        match self.0 {}
    }
}

impl Plan {
    pub(super) fn worker(&self) -> Result<Worker<'_>, String> {
        match self.never {}
    }
}

impl Worker<'_> {
    pub(super) fn run(&mut self, _: &[f32], _: impl FnMut(usize, &[usize], &[f32])) -> Result<(), String> {
        match *self.0 {}
    }
}
