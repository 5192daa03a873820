//! Which samples get the larger ε.

use rayon::prelude::*;
use spadework::{Monitor, PairedSamples, Samples, SpadeParams, evaluate};

use super::TrainParams;
use crate::data::Examples;
use crate::network::Frozen;
use crate::random::{Purpose, permutation, stream};
use crate::{Error, Result};

/// The larger ε for the chosen samples, the smaller one for the rest.
pub(super) fn mixed(params: &TrainParams, samples: usize, chosen: &[usize]) -> Vec<f32> {
    let mut epsilons = vec![params.small_epsilon; samples];
    for &place in chosen {
        epsilons[place] = params.epsilon;
    }
    epsilons
}

/// As many samples at random as the scores would have chosen.
pub(super) fn at_random(params: &TrainParams, samples: usize, round: u64) -> Vec<usize> {
    draw(params.seed, round, params.top, samples)
}

/// `count` of the positions below `samples`, drawn by the seed.
pub fn random_places(seed: u64, count: usize, samples: usize) -> Vec<usize> {
    draw(seed, 0, count, samples)
}

fn draw(seed: u64, round: u64, count: usize, samples: usize) -> Vec<usize> {
    let mut order = permutation(&mut stream(seed, Purpose::Budget, round, 0), samples);
    order.truncate(count);
    order
}

/// The samples with the highest scores, the highest first; ties to the lower index.
pub fn highest(scores: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.par_sort_by(|&p, &q| scores[q].total_cmp(&scores[p]).then(p.cmp(&q)));
    order.truncate(count);
    order
}

/// Node scores of the samples by what a network makes of them.
pub(super) fn node_scores(
    model: &Frozen,
    examples: &Examples,
    params: &TrainParams,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let outputs = model.outputs(examples.samples())?;
    let inputs = Samples::from_f32(examples.len(), examples.size(), examples.samples())?;
    let outputs = Samples::from_f32(examples.len(), model.classes(), outputs)?;
    let spade = SpadeParams::default()
        .with_neighbors(params.neighbors)
        .with_eigenpairs(params.eigenpairs)
        .with_seed(params.seed);
    let report =
        evaluate(&PairedSamples::new(inputs, outputs)?, &spade, monitor).map_err(|error| match error {
            spadework::Error::Cancelled => Error::Cancelled,
            other => other.into(),
        })?;
    Ok(report.node_scores.scores().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_scores_get_the_larger_epsilon() {
        let params = TrainParams { epsilon: 0.4, small_epsilon: 0.2, top: 2, ..TrainParams::default() };
        let chosen = highest(&[1.0, 3.0, 3.0, 0.5, 3.0], 2);
        assert_eq!(chosen, [1, 2]);
        assert_eq!(mixed(&params, 5, &chosen), [0.2, 0.4, 0.4, 0.2, 0.2]);
        let random = at_random(&params, 5, 0);
        assert_eq!(mixed(&params, 5, &random).iter().filter(|&&epsilon| epsilon == 0.4).count(), 2);
    }
}
