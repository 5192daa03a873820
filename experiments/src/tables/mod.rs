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

use crate::record::Experiment;

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
