//! CLEVER scores of the images that node scores select, as `spadework clever --node-scores` gives them.

use serde::{Deserialize, Serialize};
use spadework_nn::clever::clever;
use spadework_nn::{Frozen, highest};

use crate::data::Images;
use crate::failure::Failure;
use crate::run::Run;
use crate::statistics::mean;
use crate::weakest::{self, LINF};

/// What the index is called; more is more robust.
pub(super) const INDEX: &str = "CLEVER of selected images, mean";

/// Images that are selected.
pub(super) fn count(run: &Run) -> usize {
    run.size(10, 3)
}

/// The L∞ scores of the selected images.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Selected {
    scores: Vec<f64>,
    /// Gradients that were taken.
    pub(super) gradients: u64,
}

impl Selected {
    /// Scores the images with the highest node scores.
    pub(super) fn measure(
        run: &Run,
        model: &Frozen,
        images: &Images,
        node_scores: &[f64],
    ) -> Result<Self, Failure> {
        let params = weakest::params(run, LINF);
        let mut found = Self { scores: Vec::new(), gradients: 0 };
        for place in highest(node_scores, count(run)) {
            let of_image =
                clever(model, images.examples.sample(place), place as u64, &params, run.monitor())?;
            found.scores.push(of_image.score());
            found.gradients += of_image.gradients as u64;
        }
        Ok(found)
    }

    pub(super) fn index(&self) -> Option<f64> {
        mean(&self.scores)
    }
}

#[cfg(test)]
impl Selected {
    pub(super) fn of(scores: &[f64], gradients: u64) -> Self {
        Self { scores: scores.to_vec(), gradients }
    }
}
