//! CLEVER scores: the fit against SciPy, the whole against networks whose Lipschitz constant is known.

use crate::support::linear;
use serde::Deserialize;
use spadework::Silent;
use spadework_nn::attack::Norm;
use spadework_nn::clever::{CleverParams, Estimate, ReverseWeibull, clever, clever_cut_to};
use spadework_nn::network::{NetworkBuilder, Operation};
use spadework_nn::{Architecture, Compute, Frozen};

#[derive(Deserialize)]
struct Fixtures {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    maxima: Vec<f64>,
    shape: f64,
    endpoint: f64,
    scale: f64,
    log_likelihood: f64,
    distance: f64,
    p_value: f64,
}

/// `scripts/make_clever_fixtures.py` made these with `scipy.stats.weibull_max`.
#[test]
fn fits_are_those_of_scipy() {
    let text = include_str!("../fixtures/weibull.json");
    let fixtures: Fixtures = serde_json::from_str(text).unwrap();
    for case in fixtures.cases {
        let fitted = ReverseWeibull::fit(&case.maxima).unwrap();
        let name = &case.name;
        // Both stop where the likelihood is flat to 1e-10 or so, hence parameters to the root of that.
        let near = |got: f64, expected: f64| (got / expected - 1.0).abs() < 1e-4;
        assert!(near(fitted.endpoint, case.endpoint), "{name}: {} {}", fitted.endpoint, case.endpoint);
        assert!(near(fitted.shape, case.shape), "{name}: {} {}", fitted.shape, case.shape);
        assert!(near(fitted.scale, case.scale), "{name}: {} {}", fitted.scale, case.scale);
        // Nothing is more likely than the most likely.
        assert!(fitted.log_likelihood > case.log_likelihood - 1e-6, "{name}");
        assert!((fitted.distance - case.distance).abs() < 1e-4, "{name}");
        // SciPy's series has no correction for the number of values, which is at most 2 % of the argument here.
        assert!((fitted.p_value(case.maxima.len()) - case.p_value).abs() < 0.03, "{name}");
    }
}

/// Two outputs that are linear: the gradient is the same everywhere, and the score is the exact distance to the boundary.
#[test]
fn scores_of_linear_networks_are_distances() {
    let (network, weight) = linear();
    let model = Frozen::new(&network, &Compute::cpu());
    let sample = [0.6_f32, 0.3, 0.5];
    let outputs = model.outputs(&sample).unwrap();
    let lead = f64::from((outputs[0] - outputs[1]).abs());
    let rows: Vec<f64> = (0..3).map(|i| f64::from(weight[i] - weight[3 + i])).collect();
    let duals = [
        (Norm::L1, rows.iter().fold(0.0_f64, |largest, d| largest.max(d.abs()))),
        (Norm::L2, rows.iter().map(|d| d * d).sum::<f64>().sqrt()),
        (Norm::Linf, rows.iter().map(|d| d.abs()).sum()),
    ];
    for (norm, dual) in duals {
        let params = CleverParams { norm, batches: 10, samples: 16, pool: 2, ..CleverParams::default() };
        let score = clever(&model, &sample, 0, &params, &Silent).unwrap();
        assert!((score.score() - lead / dual).abs() < 1e-6, "{norm:?} {score:?}");
        assert_eq!(score.weakest().estimate, Estimate::Maximum, "equal maxima have no fit");
        let small = CleverParams { radius: 1e-3, ..params };
        let capped = clever(&model, &sample, 0, &small, &Silent).unwrap().score();
        assert!((capped - 1e-3).abs() < 1e-9, "{capped}");
    }
}

/// Probabilities p and 1 − p of two linear outputs with the lead l: p − (1 − p) = tanh(l/2), whose gradient is d/(2 cosh²(l/2)). In a ball so
/// small that l hardly changes, the score that no radius limits is therefore sinh(l)/‖d‖, in place of l/‖d‖.
#[test]
fn a_softmax_turns_a_lead_into_its_hyperbolic_sine() {
    let (network, weight) = linear();
    let model = Frozen::new(&network, &Compute::cpu());
    let length = (0..3).map(|i| f64::from(weight[i] - weight[3 + i]).powi(2)).sum::<f64>().sqrt();
    let sample = [1.0_f32, 0.0, 0.0];
    let outputs = model.outputs(&sample).unwrap();
    let lead = f64::from(outputs[0] - outputs[1]);
    let sure = model.with_softmax();
    let shares = sure.outputs(&sample).unwrap();
    assert!((f64::from(shares[0] - shares[1]) - (lead / 2.0).tanh()).abs() < 1e-6, "{shares:?}");
    let params = CleverParams { radius: 1e-4, batches: 10, samples: 16, pool: 2, ..CleverParams::default() };
    let unlimited = |model: &Frozen| {
        let found = clever(model, &sample, 0, &params, &Silent).unwrap();
        found.weakest().margin / found.weakest().largest
    };
    // l changes by at most r‖d‖ = 4e-4 in the ball, and single precision knows p − (1 − p) to 1e-7 of a derivative of 0.2.
    assert!((unlimited(&model) / (lead / length) - 1.0).abs() < 1e-5, "{}", unlimited(&model));
    assert!((unlimited(&sure) / (lead.sinh() / length) - 1.0).abs() < 1e-3, "{}", unlimited(&sure));
}

/// A unit that is silent up to 0.5: points that are cut to 0.5 see no gradient, whatever the sample.
#[test]
fn points_are_cut_to_the_box_that_is_asked_for() {
    let mut builder = NetworkBuilder::new(&[1]).unwrap();
    builder.then("in", Operation::Linear, vec![(vec![1, 1], vec![1.0]), (vec![1], vec![-0.5])]).unwrap();
    builder.then("relu", Operation::Relu, vec![]).unwrap();
    builder
        .then("out", Operation::Linear, vec![(vec![2, 1], vec![1.0, -1.0]), (vec![2], vec![0.0; 2])])
        .unwrap();
    let model = Frozen::new(&builder.finish().unwrap(), &Compute::cpu());
    let params = CleverParams { radius: 0.25, batches: 10, samples: 16, pool: 2, ..CleverParams::default() };
    let cut_to = |limits| {
        let found = clever_cut_to(&model, &[0.75], 0, &params, limits, &Silent).unwrap();
        found.weakest().largest
    };
    assert_eq!(cut_to(Some((0.0, 1.0))), 2.0);
    assert_eq!(cut_to(None), 2.0);
    assert_eq!(cut_to(Some((-0.5, 0.5))), 0.0);
    let usual = clever(&model, &[0.75], 0, &params, &Silent).unwrap();
    let same = clever_cut_to(&model, &[0.75], 0, &params, Some((0.0, 1.0)), &Silent).unwrap();
    assert_eq!(usual.targets, same.targets);
}

/// Points of small batches in a small ball.
fn small_batches() -> CleverParams {
    CleverParams { radius: 0.5, samples: 64, seed: 3, ..CleverParams::default() }
}

/// A network with curved outputs, and a sample for it.
fn model_of_five_classes() -> (Frozen, Vec<f32>) {
    let network = "tanh:20x2".parse::<Architecture>().unwrap().build(&[8], 5, None, 3).unwrap();
    (Frozen::new(&network, &Compute::cpu()), (0..8).map(|at| at as f32 / 7.0).collect())
}

#[test]
fn untargeted_scores_are_the_smallest_targeted_ones() {
    let (model, sample) = model_of_five_classes();
    let params = CleverParams { batches: 40, pool: 40, ..small_batches() };
    let whole = clever(&model, &sample, 2, &params, &Silent).unwrap();
    assert_eq!(whole.targets.len(), 4);
    assert_eq!(whole.gradients, 4 * 40 * 64);
    let mut smallest = f64::INFINITY;
    for target in (0..5).filter(|&target| target != whole.class) {
        let one = CleverParams { target: Some(target), ..params.clone() };
        let score = clever(&model, &sample, 2, &one, &Silent).unwrap();
        assert_eq!(&score.targets[0], whole.targets.iter().find(|other| other.target == target).unwrap());
        smallest = smallest.min(score.score());
    }
    assert_eq!(whole.score(), smallest);
    assert!(whole.targets.iter().any(|target| matches!(target.estimate, Estimate::Weibull(_))), "{whole:?}");
    let error =
        clever(&model, &sample, 2, &CleverParams { target: Some(whole.class), ..params.clone() }, &Silent);
    assert!(error.unwrap_err().to_string().starts_with("the target must be another class"));
    let error = clever(&model, &sample, 2, &CleverParams { target: Some(9), ..params }, &Silent);
    assert_eq!(error.unwrap_err().to_string(), "the target must be a class of the network, got 9");
}

/// A quarter of the batches has the largest point of a pool of four batches; what fits such maxima best is far from them.
#[test]
fn fits_that_are_not_like_their_maxima_are_set_aside() {
    let (model, sample) = model_of_five_classes();
    let params = CleverParams { batches: 400, pool: 4, ..small_batches() };
    let score = clever(&model, &sample, 2, &params, &Silent).unwrap();
    for target in &score.targets {
        assert_eq!(target.estimate, Estimate::Maximum, "{target:?}");
        assert_eq!(target.lipschitz, target.largest);
    }
}

/// The gradient of tanh is largest at zero: 1. Points around zero see almost all of it, and the endpoint is near it.
#[test]
fn the_endpoint_of_a_bounded_gradient_is_found() {
    let mut builder = NetworkBuilder::new(&[2]).unwrap();
    let first = vec![(vec![2, 2], vec![1.0, 0.0, 0.0, 1.0]), (vec![2], vec![0.0, 0.0])];
    builder.then("a", Operation::Linear, first).unwrap();
    builder.then("b", Operation::Tanh, vec![]).unwrap();
    builder
        .then("c", Operation::Linear, vec![(vec![2, 2], vec![1.0, 0.0, 0.0, 0.0]), (vec![2], vec![0.2, 0.0])])
        .unwrap();
    let model = Frozen::new(&builder.finish().unwrap(), &Compute::cpu());
    let params =
        CleverParams { radius: 1.0, batches: 100, samples: 20, pool: 100, ..CleverParams::default() };
    let score = clever(&model, &[-0.1, 0.0], 0, &params, &Silent).unwrap();
    let lipschitz = score.weakest().lipschitz;
    assert!((0.97..1.05).contains(&lipschitz), "{score:?}");
}
