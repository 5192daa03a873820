//! Layers one after the other: the same scores as all of them at once.

use crate::support::{Stopped, bits, smooth_model};
use spadework::graph::{Connectivity, Weights};
use spadework::pipeline::score_layers;
use spadework::{Error, Model, ModelSet, Samples, Silent, SpadeParams, compare};

const SAMPLES: usize = 500;

/// A smooth layer, one in two far pieces at k = 5, and a smooth one again.
fn layers() -> (Vec<f64>, [Vec<f64>; 3]) {
    let (inputs, smooth) = smooth_model(SAMPLES, 7);
    let pieces =
        smooth.iter().enumerate().map(|(at, value)| value + if at / 3 % 50 == 0 { 20.0 } else { 0.0 });
    let squared = smooth.iter().map(|value| value * value.abs());
    (inputs, [smooth.clone(), pieces.collect(), squared.collect()])
}

fn samples(values: &[f64], dim: usize) -> Samples<'_> {
    Samples::from_f64(values.len() / dim, dim, values).unwrap()
}

fn params(connectivity: Connectivity) -> SpadeParams {
    SpadeParams::default().with_neighbors(5).with_connectivity(connectivity)
}

/// `compare` holds everything at once and is tested by itself; here the k of the second layer comes too late for the first.
#[test]
fn scores_are_those_of_a_comparison_bit_by_bit() {
    let (inputs, layers) = layers();
    let inputs = samples(&inputs, 6);
    for (connectivity, weights) in [
        (Connectivity::Grow, Weights::Unit),
        (Connectivity::Bridge, Weights::Unit),
        (Connectivity::Grow, Weights::Gaussian),
    ] {
        let params = params(connectivity).with_weights(weights);
        let models = layers.iter().enumerate();
        let models =
            models.map(|(at, layer)| Model { name: at.to_string(), outputs: samples(layer, 3) }).collect();
        let together = compare(&ModelSet::new(inputs.clone(), models).unwrap(), &params, &Silent).unwrap();
        let mut asked = Vec::new();
        let activations = |layer: usize| {
            asked.push(layer);
            Ok::<_, Error>(samples(&layers[layer], 3))
        };
        let in_turn = score_layers(&inputs, 3, activations, &params, &Silent).unwrap();
        let grows = connectivity == Connectivity::Grow;
        assert_eq!(in_turn.used > 5, grows);
        assert_eq!(asked, if grows { vec![0, 1, 2, 0, 2] } else { vec![0, 1, 2] });
        for model in &together.models {
            let layer = in_turn.layers[model.given].as_ref().unwrap();
            assert_eq!(layer.model_score, model.report.model_score);
            assert_eq!(bits(layer.node_scores.scores()), bits(model.report.node_scores.scores()));
            assert_eq!(layer.diagnostics.connection, model.report.diagnostics.connection);
            assert_eq!(layer.diagnostics.params, model.report.diagnostics.params);
            assert_eq!(layer.output_edges, model.report.graphs.output().edge_count());
        }
    }
}

#[test]
fn a_layer_without_a_score_leaves_the_others_theirs() {
    let (inputs, layers) = layers();
    let dead = vec![0.0; SAMPLES * 3];
    let activations = |layer: usize| Ok::<_, Error>(samples([&layers[0], &dead, &layers[2]][layer], 3));
    let scores =
        score_layers(&samples(&inputs, 6), 3, activations, &params(Connectivity::Grow), &Silent).unwrap();
    assert!(matches!(scores.layers[1], Err(Error::AllEqual { .. })));
    assert!(scores.layers[0].is_ok() && scores.layers[2].is_ok());
    let activations = |layer: usize| Ok::<_, Error>(samples(&layers[layer], 3));
    let scores =
        score_layers(&samples(&inputs, 6), 3, activations, &params(Connectivity::Error), &Silent).unwrap();
    assert!(matches!(scores.layers[1], Err(Error::Disconnected { .. })));
    assert_eq!(scores.used, 5);
}

#[test]
fn errors_of_the_caller_and_wishes_to_stop_end_the_run() {
    #[derive(Debug, PartialEq)]
    enum Mine {
        Core(Error),
        File,
    }
    impl From<Error> for Mine {
        fn from(error: Error) -> Self {
            Mine::Core(error)
        }
    }
    let (inputs, layers) = layers();
    let inputs = samples(&inputs, 6);
    let params = params(Connectivity::Grow);
    let broken = |layer: usize| if layer == 1 { Err(Mine::File) } else { Ok(samples(&layers[layer], 3)) };
    assert_eq!(score_layers(&inputs, 3, broken, &params, &Silent).unwrap_err(), Mine::File);
    let sound = |layer: usize| Ok::<_, Mine>(samples(&layers[layer], 3));
    assert_eq!(score_layers(&inputs, 3, sound, &params, &Stopped).unwrap_err(), Mine::Core(Error::Cancelled));
}
