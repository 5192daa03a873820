//! How far samples may be moved.

use crate::{Error, Result};

/// How far each sample may be moved.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget(Vec<f32>);

impl Budget {
    /// The same for all.
    ///
    /// # Errors
    /// When it is negative or not finite.
    pub fn same(epsilon: f32, samples: usize) -> Result<Self> {
        Self::each(vec![epsilon; samples])
    }

    /// One per sample.
    ///
    /// # Errors
    /// When one is negative or not finite.
    pub fn each(epsilons: Vec<f32>) -> Result<Self> {
        match epsilons.iter().find(|epsilon| !(**epsilon >= 0.0 && epsilon.is_finite())) {
            None => Ok(Self(epsilons)),
            Some(&epsilon) => Err(Error::parameter("epsilon", "zero or positive", epsilon)),
        }
    }

    /// One per sample.
    pub fn epsilons(&self) -> &[f32] {
        &self.0
    }
}
