//! Attacks: where they may go, what they must not touch, and whether their gradients are right.

use crate::support::{digits, linear};
use spadework::Silent;
use spadework_nn::attack::{AttackParams, Budget, Climb, Norm, Objective, attack};
use spadework_nn::network::{NetworkBuilder, Operation};
use spadework_nn::{Architecture, Compute, Examples, Frozen, Network};

fn frozen(network: &Network) -> Frozen {
    Frozen::new(network, &Compute::cpu())
}

/// Samples in the box with a class each, for a network of this shape.
fn some_examples(network: &Network, count: usize) -> Examples {
    let size = network.input_size();
    let samples = (0..count * size).map(|at| ((at * 7919) % 1009) as f32 / 1008.0).collect();
    let labels: Vec<i64> = (0..count as i64).map(|at| at % network.outputs() as i64).collect();
    Examples::new(samples, size, &labels, network.outputs()).unwrap()
}

/// Smooth networks, so that differences converge: tanh for rows, convolutions with batch norm and average pooling.
fn smooth_networks() -> Vec<Network> {
    let narrow = "tanh:12x3".parse::<Architecture>().unwrap().build(&[9], 4, None, 3).unwrap();
    let drawn = |count: usize, scale: f32| {
        (0..count).map(|at| (((at * 61) % 23) as f32 / 11.0 - 1.0) * scale).collect()
    };
    let mut builder = NetworkBuilder::new(&[2, 6, 6]).unwrap();
    let convolution = Operation::Convolution { stride: [1, 1], padding: [1, 1] };
    builder
        .then("conv", convolution, vec![(vec![3, 2, 3, 3], drawn(54, 0.4)), (vec![3], drawn(3, 0.2))])
        .unwrap();
    let statistics = vec![
        (vec![3], vec![1.5, 0.5, 2.0]),
        (vec![3], vec![0.1, -0.2, 0.3]),
        (vec![3], vec![0.2, -0.1, 0.4]),
        (vec![3], vec![0.5, 2.0, 1.2]),
    ];
    builder.then("bn", Operation::BatchNorm { epsilon: 1e-5 }, statistics).unwrap();
    builder.then("tanh", Operation::Tanh, vec![]).unwrap();
    builder.then("pool", Operation::GlobalAveragePool, vec![]).unwrap();
    builder.then("flat", Operation::Flatten, vec![]).unwrap();
    builder
        .then("fc", Operation::Linear, vec![(vec![3, 3], drawn(9, 1.0)), (vec![3], drawn(3, 0.5))])
        .unwrap();
    vec![narrow, builder.finish().unwrap()]
}

#[test]
fn gradients_agree_with_differences() {
    for network in smooth_networks() {
        let (model, examples) = (frozen(&network), some_examples(&network, 3));
        for objective in [Objective::CrossEntropy, Objective::Margin] {
            let gradient = model.loss_gradient(&examples, objective).unwrap();
            let mut compared = 0;
            for (at, &gradient) in gradient.iter().enumerate() {
                let Some(slope) = slope(&model, &examples, at, objective) else { continue };
                compared += 1;
                // 1e-6 of rounding of the losses by 12 h, and h⁴ of the fifth derivative.
                assert!((f64::from(gradient) - slope).abs() < 1e-4, "{objective:?} {at}: {gradient} {slope}");
            }
            assert!(compared > gradient.len() / 2, "{compared}");
        }
    }
}

/// The slope of a sample's loss along one of its values, by five points; none where the largest other class changes among
/// them, since the margin has a kink there.
fn slope(model: &Frozen, examples: &Examples, at: usize, objective: Objective) -> Option<f64> {
    let (sample, h) = (at / examples.size(), 1e-2_f32);
    let shifted = |by: f32| {
        let mut samples = examples.samples().to_vec();
        samples[at] += by;
        let outputs = model.outputs(&samples).unwrap();
        let classes = model.classes();
        loss(&outputs[sample * classes..][..classes], examples.labels()[sample], objective)
    };
    let [far, near, next, last] = [-2.0 * h, -h, h, 2.0 * h].map(shifted);
    let same = [far, near, next].iter().all(|point| point.1 == last.1);
    let slope = (8.0 * (next.0 - near.0) - (last.0 - far.0)) / (12.0 * f64::from(h));
    (same || objective == Objective::CrossEntropy).then_some(slope)
}

/// The loss in double precision, and the largest other class.
fn loss(outputs: &[f32], label: usize, objective: Objective) -> (f64, usize) {
    let value = |class: usize| f64::from(outputs[class]);
    let others = (0..outputs.len()).filter(|&class| class != label);
    let largest = others.max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap();
    let loss = match objective {
        Objective::CrossEntropy => {
            (0..outputs.len()).map(|class| value(class).exp()).sum::<f64>().ln() - value(label)
        }
        Objective::Margin => value(largest) - value(label),
    };
    (loss, largest)
}

#[test]
fn points_stay_in_their_ball_and_in_the_box() {
    let network = "mlp:20".parse::<Architecture>().unwrap().build(&[64], 10, None, 1).unwrap();
    let (model, digits) = (frozen(&network), digits());
    // A class that is predicted, so that every sample is attacked.
    let outputs = model.outputs(digits.samples()).unwrap();
    let best = |row: &[f32]| (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap() as i64;
    let labels: Vec<i64> = outputs.chunks(10).map(best).collect();
    let examples = Examples::new(digits.samples().to_vec(), 64, &labels, 10)
        .unwrap()
        .select(&(0..300).collect::<Vec<_>>());
    let epsilons: Vec<f32> = (0..300).map(|at| at as f32 / 1000.0).collect();
    let budget = Budget::each(epsilons.clone()).unwrap();
    for norm in [Norm::Linf, Norm::L2] {
        for (step_size, random_start) in [(None, true), (Some(0.5), true), (Some(0.02), false)] {
            let climb = Climb { norm, steps: 7, step_size, random_start, ..Climb::default() };
            let params = AttackParams { climb, batch: 64, restarts: 2, ..AttackParams::default() };
            let report = attack(&model, &examples, &budget, &params, &Silent).unwrap();
            let mut moved = 0.0_f64;
            for (place, (point, &epsilon)) in report.adversarial.chunks(64).zip(&epsilons).enumerate() {
                assert!(point.iter().all(|value| (0.0..=1.0).contains(value)));
                let size = norm.size(point.iter().zip(examples.sample(place)).map(|(a, b)| a - b));
                // Rounding of x + ε to 24 bits, in 64 components for the Euclidean norm.
                assert!(size <= f64::from(epsilon) + 1e-6, "{norm:?} {size} {epsilon}");
                moved = moved.max(size / f64::from(epsilon).max(1e-3));
            }
            assert!(moved > 0.9, "nothing went to the edge: {moved}");
        }
    }
}

/// A linear classifier breaks at ε = margin / dual norm of the difference of its rows, exactly.
#[test]
fn a_linear_classifier_breaks_where_algebra_says() {
    let (network, weight) = linear();
    let model = frozen(&network);
    let sample = vec![0.6_f32, 0.3, 0.5];
    let outputs = model.outputs(&sample).unwrap();
    let label = usize::from(outputs[1] > outputs[0]);
    let lead = f64::from((outputs[0] - outputs[1]).abs());
    let difference: Vec<f64> = (0..3).map(|i| f64::from(weight[i] - weight[3 + i])).collect();
    let examples = Examples::new(sample, 3, &[label as i64], 2).unwrap();
    for (norm, dual) in [
        (Norm::Linf, difference.iter().map(|d| d.abs()).sum::<f64>()),
        (Norm::L2, difference.iter().map(|d| d * d).sum::<f64>().sqrt()),
    ] {
        let threshold = (lead / dual) as f32;
        for (factor, holds) in [(0.99, true), (1.01, false)] {
            // From the sample itself the gradient leads straight to the nearest point of the boundary.
            let climb = Climb { norm, steps: 20, random_start: false, ..Climb::default() };
            let params = AttackParams { climb, ..AttackParams::default() };
            let budget = Budget::same(threshold * factor, 1).unwrap();
            let report = attack(&model, &examples, &budget, &params, &Silent).unwrap();
            assert_eq!(report.outcomes[0].robust(), holds, "{norm:?} {factor}: {:?}", report.outcomes[0]);
        }
    }
}

#[test]
fn an_attack_changes_no_weight_and_no_statistic() {
    for network in smooth_networks() {
        let (model, examples) = (frozen(&network), some_examples(&network, 12));
        let before = model.outputs(examples.samples()).unwrap();
        let budget = Budget::same(0.2, 12).unwrap();
        let params =
            AttackParams { climb: Climb { steps: 5, ..Climb::default() }, ..AttackParams::default() };
        attack(&model, &examples, &budget, &params, &Silent).unwrap();
        assert_eq!(model.to_network(), network);
        assert_eq!(model.outputs(examples.samples()).unwrap(), before);
    }
}

/// With batch statistics the outputs of a sample would depend on its company.
#[test]
fn outputs_do_not_depend_on_the_rest_of_the_batch() {
    let network = &smooth_networks()[1];
    let (model, examples) = (frozen(network), some_examples(network, 8));
    let together = model.outputs(examples.samples()).unwrap();
    for place in 0..8 {
        let alone = model.outputs(examples.sample(place)).unwrap();
        for (a, b) in alone.iter().zip(&together[place * 3..]) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_attack_and_another_one_another() {
    let network = "mlp:20".parse::<Architecture>().unwrap().build(&[64], 10, None, 1).unwrap();
    let (model, examples) = (frozen(&network), digits().select(&(0..60).collect::<Vec<_>>()));
    let budget = Budget::same(0.05, 60).unwrap();
    let run = |seed, threads| {
        let climb = Climb { steps: 3, ..Climb::default() };
        let params = AttackParams { climb, seed, ..AttackParams::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| attack(&model, &examples, &budget, &params, &Silent).unwrap())
    };
    assert_eq!(run(1, 1), run(1, 3));
    assert_ne!(run(1, 1).adversarial, run(2, 1).adversarial);
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    assert_eq!(Budget::same(-0.1, 3).unwrap_err().to_string(), "epsilon must be zero or positive, got -0.1");
    let network = "mlp:4".parse::<Architecture>().unwrap().build(&[9], 4, None, 0).unwrap();
    let (model, examples) = (frozen(&network), some_examples(&network, 3));
    let try_with = |climb: Climb, samples: usize| {
        let params = AttackParams { climb, ..AttackParams::default() };
        attack(&model, &examples, &Budget::same(0.1, samples).unwrap(), &params, &Silent)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(try_with(Climb::default(), 2), "expected 3 values of epsilon, one per sample, got 2");
    assert_eq!(
        try_with(Climb { norm: Norm::L1, ..Climb::default() }, 3),
        "the norm of an attack must be linf or l2, got l1"
    );
    assert_eq!(try_with(Climb { steps: 0, ..Climb::default() }, 3), "steps must be at least 1, got 0");
    let wide = Examples::new(vec![2.0; 9], 9, &[0], 4).unwrap();
    let error =
        attack(&model, &wide, &Budget::same(0.1, 1).unwrap(), &AttackParams::default(), &Silent).unwrap_err();
    assert!(error.to_string().ends_with("got 2 at sample 0"), "{error}");
}
