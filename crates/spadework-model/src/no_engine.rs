//! In place of the engine, in a build without one: no file is decoded, so that nothing after it can come to pass.

use std::convert::Infallible;
use std::path::Path;

use super::error::ModelError;
use super::outline::{Outline, Port};
use super::runner::Runner;

/// A decoded file, of which there is none.
pub(super) struct Decoded(Infallible);

/// Refuses every file.
pub(super) fn decode(_bytes: &[u8], _folder: &Path) -> Result<Decoded, ModelError> {
    Err(ModelError::NoEngine)
}

impl Decoded {
    pub(super) fn outline(&self) -> Result<Outline, ModelError> {
        match self.0 {}
    }

    pub(super) fn runner(
        &self,
        _: &Port,
        _: &[usize],
        _: &[&str],
        _: Option<&Path>,
    ) -> Result<Box<dyn Runner>, ModelError> {
        match self.0 {}
    }

    pub(super) fn bytes(&self, _: &Port, _: &[usize], _: &[&str]) -> Result<u64, ModelError> {
        match self.0 {}
    }
}
