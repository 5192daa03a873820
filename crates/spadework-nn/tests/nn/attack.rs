//! Attacks: where they may go, what they must not touch, and whether their gradients are right.

use crate::support::{digits, linear};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework::Silent;
use spadework_nn::attack::{
    Aim, Apgd, AttackParams, AttackReport, Budget, Climb, Method, Norm, Objective, Square, attack,
};
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
        Objective::Dlr => unreachable!("its kinks are tested with the losses"),
    };
    (loss, largest)
}

/// An untrained network for digits of this shape, and digits that it classifies rightly, so that every one is attacked.
fn network_and_its_samples(shape: &[usize], count: usize) -> (Frozen, Examples) {
    let network = "mlp:20".parse::<Architecture>().unwrap().build(shape, 10, None, 1).unwrap();
    let (model, digits) = (frozen(&network), digits());
    let outputs = model.outputs(digits.samples()).unwrap();
    let best = |row: &[f32]| (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap() as i64;
    let labels: Vec<i64> = outputs.chunks(10).map(best).collect();
    let examples = Examples::new(digits.samples().to_vec(), 64, &labels, 10).unwrap();
    (model, examples.select(&(0..count).collect::<Vec<_>>()))
}

#[test]
fn points_stay_in_their_ball_and_in_the_box() {
    let (model, examples) = network_and_its_samples(&[64], 300);
    let epsilons: Vec<f32> = (0..300).map(|at| at as f32 / 1000.0).collect();
    let budget = Budget::each(epsilons.clone()).unwrap();
    for norm in [Norm::Linf, Norm::L2] {
        for (step_size, random_start) in [(None, true), (Some(0.5), true), (Some(0.02), false)] {
            let climb = Climb { norm, steps: 7, step_size, random_start, ..Climb::default() };
            let params = AttackParams { batch: 64, ..AttackParams::pgd(climb, 2) };
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
            let params = AttackParams::pgd(climb, 1);
            let budget = Budget::same(threshold * factor, 1).unwrap();
            let report = attack(&model, &examples, &budget, &params, &Silent).unwrap();
            assert_eq!(report.outcomes[0].robust(), holds, "{norm:?} {factor}: {:?}", report.outcomes[0]);
        }
    }
}

/// A linear classifier of so many classes, samples away from the sides of the box, and for each the smallest ε that breaks it: the
/// least (z_y − z_j) / ‖w_y − w_j‖ in the dual norm, over the other classes j.
fn linear_samples(norm: Norm, classes: usize) -> (Frozen, Examples, Vec<f64>) {
    const SIZE: usize = 12;
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let weight: Vec<f32> = (0..classes * SIZE).map(|_| rng.random_range(-1.0..1.0)).collect();
    let samples: Vec<f32> = (0..200 * SIZE).map(|_| rng.random_range(0.4..0.6)).collect();
    let mut builder = NetworkBuilder::new(&[SIZE]).unwrap();
    let row = |class: usize| &weight[class * SIZE..(class + 1) * SIZE];
    // All classes meet in the middle of the box, so that no way to a boundary leaves it.
    let bias: Vec<f32> = (0..classes).map(|class| -0.5 * row(class).iter().sum::<f32>()).collect();
    let parameters = vec![(vec![classes, SIZE], weight.clone()), (vec![classes], bias.clone())];
    builder.then("fc", Operation::Linear, parameters).unwrap();
    let model = frozen(&builder.finish().unwrap());
    let (mut labels, mut thresholds) = (Vec::new(), Vec::new());
    for sample in samples.chunks(SIZE) {
        let output = |class: usize| -> f64 {
            let weighted = row(class).iter().zip(sample).map(|(w, x)| f64::from(*w) * f64::from(*x));
            f64::from(bias[class]) + weighted.sum::<f64>()
        };
        let label = (0..classes).max_by(|&a, &b| output(a).total_cmp(&output(b))).unwrap();
        let threshold = |other: usize| {
            let difference = row(label).iter().zip(row(other)).map(|(a, b)| f64::from(a - b).abs());
            let dual = match norm {
                Norm::Linf => difference.sum::<f64>(),
                _ => difference.map(|d| d * d).sum::<f64>().sqrt(),
            };
            (output(label) - output(other)) / dual
        };
        thresholds.push((0..classes).filter(|&class| class != label).map(threshold).fold(f64::MAX, f64::min));
        labels.push(label as i64);
    }
    (model, Examples::new(samples, SIZE, &labels, classes).unwrap(), thresholds)
}

fn attacked(model: &Frozen, examples: &Examples, epsilon: f64, params: &AttackParams) -> AttackReport {
    let budget = Budget::same(epsilon as f32, examples.len()).unwrap();
    attack(model, examples, &budget, params, &Silent).unwrap()
}

/// Which thresholds an attack reaches, as a share of ε: no sample beyond 1 may be broken, and none below `reach` may survive.
fn check_on_linear_samples(method: &Method, norm: Norm, classes: usize, reach: f64) {
    let (model, examples, thresholds) = linear_samples(norm, classes);
    let mut sorted = thresholds.clone();
    sorted.sort_by(f64::total_cmp);
    let epsilon = f64::midpoint(sorted[99], sorted[100]);
    let report = attacked(&model, &examples, epsilon, &AttackParams::only(method.clone()));
    for (place, (outcome, threshold)) in report.outcomes.iter().zip(&thresholds).enumerate() {
        let what = format!("{norm:?} {} {place}: {threshold} {epsilon}", method.name());
        // Single precision.
        assert!(outcome.robust() || *threshold < 1.0001 * epsilon, "broken beyond {what}");
        assert!(!outcome.robust() || *threshold > reach * epsilon, "missed {what}");
    }
}

/// With two classes every gradient leads to the other one, and with targets it does for any number of classes: exactly the samples
/// that can be broken are. A random search comes near the best corner of a ball, and in L2, where there is none, less near.
#[test]
fn every_attack_breaks_the_samples_of_a_linear_classifier_that_algebra_says() {
    for (norm, reach_of_square) in [(Norm::Linf, 0.97), (Norm::L2, 0.6)] {
        let by = |aim| Method::Apgd(Apgd { norm, aim, ..Apgd::default() });
        for objective in Objective::ALL {
            check_on_linear_samples(&by(Aim::Away(objective)), norm, 2, 0.9999);
        }
        check_on_linear_samples(&by(Aim::Toward { targets: 4 }), norm, 5, 0.9999);
        check_on_linear_samples(&by(Aim::Away(Objective::Dlr)), norm, 5, 0.5);
        check_on_linear_samples(&Method::Square(Square { norm, queries: 600 }), norm, 2, reach_of_square);
    }
}

#[test]
fn a_series_goes_on_with_what_is_left_and_says_which_attack_broke_a_sample() {
    let (model, examples, thresholds) = linear_samples(Norm::Linf, 5);
    let mut sorted = thresholds;
    sorted.sort_by(f64::total_cmp);
    let square = Method::Square(Square { queries: 3, ..Square::default() });
    let both = AttackParams {
        methods: vec![square.clone(), Method::Apgd(Apgd::default())],
        ..AttackParams::default()
    };
    let alone = attacked(&model, &examples, sorted[100], &AttackParams::only(square));
    let series = attacked(&model, &examples, sorted[100], &both);
    let broken_by = |name| series.broken().filter(|broken| broken.attack == name).count();
    assert_eq!(broken_by("square"), alone.broken().count());
    assert!(
        broken_by("square") > 0 && broken_by("apgd") > 0,
        "{} {}",
        broken_by("square"),
        broken_by("apgd")
    );
    assert_eq!(broken_by("square") + broken_by("apgd"), series.broken().count());
    let all = attacked(
        &model,
        &examples,
        sorted[100],
        &AttackParams::auto(&Apgd::default(), &Square { queries: 10, ..Square::default() }),
    );
    assert!(all.robust_accuracy() <= series.robust_accuracy());
}

#[test]
fn points_of_every_attack_stay_in_their_ball_and_in_the_box_for_any_batch_and_threads() {
    let (model, examples) = network_and_its_samples(&[1, 8, 8], 24);
    for (norm, epsilon) in [(Norm::Linf, 0.02), (Norm::L2, 0.1)] {
        let apgd = Apgd { norm, steps: 6, ..Apgd::default() };
        let auto = AttackParams::auto(&apgd, &Square { norm, queries: 8 });
        let run = |params: &AttackParams, threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| attacked(&model, &examples, epsilon, params))
        };
        let report = run(&auto, 1);
        for (place, point) in report.adversarial.chunks(64).enumerate() {
            assert!(point.iter().all(|value| (0.0..=1.0).contains(value)));
            let size = norm.size(point.iter().zip(examples.sample(place)).map(|(a, b)| a - b));
            assert!(size <= epsilon + 1e-6, "{norm:?} {size}");
        }
        assert_eq!(report, run(&auto, 3));
        let other = run(&AttackParams { seed: 1, ..auto.clone() }, 1);
        assert_ne!(report.adversarial, other.adversarial);
    }
}

#[test]
fn an_attack_changes_no_weight_and_no_statistic() {
    for network in smooth_networks() {
        let (model, examples) = (frozen(&network), some_examples(&network, 12));
        let before = model.outputs(examples.samples()).unwrap();
        let budget = Budget::same(0.2, 12).unwrap();
        let params = AttackParams::pgd(Climb { steps: 5, ..Climb::default() }, 1);
        attack(&model, &examples, &budget, &params, &Silent).unwrap();
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
        let params = AttackParams { seed, ..AttackParams::pgd(climb, 1) };
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
        let params = AttackParams::pgd(climb, 1);
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
