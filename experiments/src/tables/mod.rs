//! One file a table or figure.

mod augmix;
mod constructions;
mod distortion;
mod eigensolvers;
mod embeddings;
mod gairat;
mod gates;
mod guided_cifar;
mod guided_clever;
mod guided_mnist;
mod large;
mod layers;
mod model_scores;
mod neighbors;
mod riemannian;
mod validity;

use crate::failure::Failure;
use crate::record::Findings;
use crate::run::Run;

/// Something the paper shows, and how to make it.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    /// Where it stands in the paper.
    pub(crate) paper: &'static str,
    pub(crate) title: &'static str,
    pub(crate) run: fn(&Run) -> Result<Findings, Failure>,
}

/// All of them, in the order of the paper.
pub(crate) const ALL: [Experiment; 16] = [
    model_scores::EXPERIMENT,
    distortion::EXPERIMENT,
    guided_mnist::EXPERIMENT,
    guided_cifar::EXPERIMENT,
    guided_clever::EXPERIMENT,
    neighbors::EXPERIMENT,
    riemannian::EXPERIMENT,
    eigensolvers::EXPERIMENT,
    embeddings::EXPERIMENT,
    layers::EXPERIMENT,
    large::EXPERIMENT,
    augmix::EXPERIMENT,
    constructions::EXPERIMENT,
    gairat::EXPERIMENT,
    validity::EXPERIMENT,
    gates::EXPERIMENT,
];
