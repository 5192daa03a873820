//! One file a table or figure.

mod augmix;
mod clever_softmax;
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
mod questions;
mod ranking;
mod riemannian;
mod top_lists;
mod validity;

use crate::record::Experiment;

/// All of them, in the order of the paper.
pub(crate) const ALL: [Experiment; 20] = [
    model_scores::EXPERIMENT,
    distortion::EXPERIMENT,
    guided_mnist::EXPERIMENT,
    guided_cifar::EXPERIMENT,
    guided_clever::EXPERIMENT,
    clever_softmax::EXPERIMENT,
    top_lists::EXPERIMENT,
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
    ranking::EXPERIMENT,
    questions::EXPERIMENT,
    gates::EXPERIMENT,
];
