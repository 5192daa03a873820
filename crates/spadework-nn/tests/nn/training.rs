//! Training from end to end on small data: it learns, it defends, it resumes.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{digits, linear, split};
use spadework::{Monitor, Silent};
use spadework_nn::attack::{AttackParams, Budget, Climb, attack};
use spadework_nn::train::{
    Augmentation, Checkpoint, Ending, Guides, Method, OptimizerKind, Schedule, TrainParams, Trainer,
    held_steps,
};
use spadework_nn::{Architecture, Compute, Error, Examples, Frozen, Network};

fn mlp(hidden: usize) -> Network {
    Architecture::Mlp { hidden }.build(&[64], 10, None, 5).unwrap()
}

fn params(method: Method) -> TrainParams {
    TrainParams {
        method,
        epochs: 12,
        batch: 64,
        learning_rate: 5e-3,
        epsilon: 0.2,
        small_epsilon: 0.1,
        top: 600,
        warmup: if method == Method::Spade { 2 } else { 0 },
        ..TrainParams::default()
    }
}

fn trained(network: &Network, examples: &Examples, params: TrainParams) -> Network {
    let mut trainer = Trainer::new(network, examples, params, Guides::default(), &Compute::cpu()).unwrap();
    let ending = trainer.run::<Error>(&Silent, |_, _| Ok(())).unwrap();
    assert_eq!(ending, Ending::Finished);
    trainer.network()
}

fn accuracies(network: &Network, examples: &Examples, epsilon: f32) -> (f64, f64) {
    let model = Frozen::new(network, &Compute::cpu());
    let params = AttackParams::pgd(Climb { steps: 20, ..Climb::default() }, 1);
    let budget = Budget::same(epsilon, examples.len()).unwrap();
    let report = attack(&model, examples, &budget, &params, &Silent).unwrap();
    (report.clean_accuracy(), report.robust_accuracy())
}

/// Standard training leaves almost nothing at ε = 0.2, guided training a lot: the gap is far beyond the 2 points of one
/// standard deviation on 449 samples.
#[test]
fn guided_training_learns_and_improves_robustness() {
    let (train, test) = split(&digits());
    let standard = trained(&mlp(64), &train, params(Method::Standard));
    let guided = trained(&mlp(64), &train, params(Method::Spade));
    let (standard_clean, standard_robust) = accuracies(&standard, &test, 0.2);
    let (guided_clean, guided_robust) = accuracies(&guided, &test, 0.2);
    assert!(standard_clean > 0.95, "{standard_clean}");
    assert!(guided_clean > 0.9, "{guided_clean}");
    assert!(guided_robust > standard_robust + 0.15, "{guided_robust} {standard_robust}");
}

/// An ε that grows makes the first epoch harder than plain training and easier than the whole ε does; when it is grown, it is
/// the whole one.
#[test]
fn a_growing_epsilon_begins_gently() {
    let (train, _) = split(&digits());
    let first_loss = |method, growth, warmup| {
        let params = TrainParams { epochs: 2, epsilon: 0.4, growth, warmup, ..params(method) };
        let mut trainer = Trainer::new(&mlp(64), &train, params, Guides::default(), &Compute::cpu()).unwrap();
        trainer.run::<Error>(&Silent, |_, _| Ok(())).unwrap();
        trainer.records()[warmup].loss
    };
    let [plain, growing, whole] = [(Method::Standard, 0), (Method::Pgd, 1), (Method::Pgd, 0)]
        .map(|(method, growth)| first_loss(method, growth, 0));
    assert!(plain < 0.99 * growing && growing < 0.99 * whole, "{plain} {growing} {whole}");
    // Growth begins where the warm-up ends.
    assert!(first_loss(Method::Pgd, 1, 1) < 0.99 * first_loss(Method::Pgd, 0, 1));
}

/// Stops after a number of batches.
struct StopAfter(AtomicUsize);

impl Monitor for StopAfter {
    fn is_cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err()
    }
}

/// Every method, interrupted in the middle of an epoch, saved, loaded and resumed, ends with the same bits.
#[test]
fn a_run_that_is_resumed_ends_with_the_same_bits() {
    let (train, _) = split(&digits());
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("checkpoint.safetensors");
    let scores: Vec<f64> = (0..train.len()).map(|at| ((at * 31) % 97) as f64).collect();
    for (method, optimizer) in [
        (Method::Spade, OptimizerKind::Adam),
        (Method::Random, OptimizerKind::Sgd { momentum: 0.9 }),
        (Method::Gairat, OptimizerKind::Adam),
    ] {
        let params = TrainParams {
            epochs: 3,
            optimizer,
            warmup: 1,
            growth: 2,
            weight_decay: 1e-4,
            schedule: Schedule::Cyclic,
            skip_misclassified: true,
            climb: Climb { steps: 2, ..Climb::default() },
            ..params(method)
        };
        let guides = Guides { node_scores: Some(&scores), ..Guides::default() };
        let mut whole = Trainer::new(&mlp(16), &train, params.clone(), guides, &Compute::cpu()).unwrap();
        whole.run::<Error>(&Silent, |_, _| Ok(())).unwrap();

        // 22 batches an epoch: the stop comes in the second.
        let mut part = Trainer::new(&mlp(16), &train, params, guides, &Compute::cpu()).unwrap();
        let stopped = part.run::<Error>(&StopAfter(AtomicUsize::new(30)), |_, _| Ok(())).unwrap();
        assert_eq!((stopped, part.records().len()), (Ending::Stopped, 1));
        part.checkpoint().save(&path).unwrap();
        drop(part);
        let checkpoint = Checkpoint::load(&path).unwrap();
        let mut rest = Trainer::resume(&checkpoint, &train, guides, &Compute::cpu()).unwrap();
        rest.run::<Error>(&Silent, |_, _| Ok(())).unwrap();
        assert_eq!(rest.network(), whole.network(), "{method}");
        let losses =
            |trainer: &Trainer<'_>| trainer.records().iter().map(|record| record.loss).collect::<Vec<_>>();
        assert_eq!(losses(&rest), losses(&whole), "{method}");
    }
}

#[test]
fn threads_do_not_change_the_result() {
    let (train, _) = split(&digits());
    let train = train.select(&(0..256).collect::<Vec<_>>());
    let lenet = Architecture::Conv2.build(&[1, 8, 8], 10, None, 0).unwrap();
    let run = |threads| {
        let params =
            TrainParams { epochs: 1, climb: Climb { steps: 1, ..Climb::default() }, ..params(Method::Pgd) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| trained(&lenet, &train, params))
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn the_budget_goes_to_the_highest_scores() {
    let (train, _) = split(&digits());
    let scores: Vec<f64> = (0..train.len()).map(|at| at as f64).collect();
    let params = TrainParams {
        epochs: 1,
        top: 100,
        climb: Climb { steps: 1, ..Climb::default() },
        warmup: 0,
        ..params(Method::Spade)
    };
    let guides = Guides { node_scores: Some(&scores), ..Guides::default() };
    let mut trainer = Trainer::new(&mlp(8), &train, params, guides, &Compute::cpu()).unwrap();
    trainer.run::<Error>(&Silent, |_, _| Ok(())).unwrap();
    let first_large = train.len() - 100;
    for (place, &epsilon) in trainer.epsilons().iter().enumerate() {
        assert_eq!(epsilon, if place < first_large { 0.1 } else { 0.2 });
    }
}

/// A student of a teacher at temperature 20 learns the classes without ever seeing a label: these are all wrong.
#[test]
fn a_student_learns_from_its_teacher_alone() {
    let (train, test) = split(&digits());
    let hot = TrainParams { temperature: 20.0, epochs: 15, ..params(Method::Standard) };
    let teacher = Frozen::new(&trained(&mlp(64), &train, hot.clone()), &Compute::cpu());
    let wrong: Vec<i64> = train.labels().iter().map(|&label| (label as i64 + 1) % 10).collect();
    let unlabeled = Examples::new(train.samples().to_vec(), 64, &wrong, 10).unwrap();
    let guides = Guides { teacher: Some(&teacher), ..Guides::default() };
    let mut trainer = Trainer::new(&mlp(64), &unlabeled, hot, guides, &Compute::cpu()).unwrap();
    trainer.run::<Error>(&Silent, |_, _| Ok(())).unwrap();
    let (clean, _) = accuracies(&trainer.network(), &test, 0.0);
    // By the labels it was given, nearly all would be wrong.
    assert!(clean > 0.8, "{clean}");
}

/// Batch norm in training: running statistics come near those of the data, and the frozen network uses them.
#[test]
fn running_statistics_follow_the_data() {
    let (train, test) = split(&digits());
    let images = |examples: &Examples| {
        let labels: Vec<i64> = examples.labels().iter().map(|&label| label as i64).collect();
        Examples::new(examples.samples().to_vec(), 64, &labels, 10).unwrap()
    };
    let network = Architecture::Resnet20.build(&[1, 8, 8], 10, None, 2).unwrap();
    let params = TrainParams {
        epochs: 3,
        augmentation: Augmentation { crop: 1, flip: false, augmix: false },
        ..params(Method::Standard)
    };
    let learned = trained(&network, &images(&train), params);
    let (clean, _) = accuracies(&learned, &images(&test), 0.0);
    // Chance is 0.1, and running statistics that did not follow leave little more.
    assert!(clean > 0.5, "{clean}");
    let means = |network: &Network| {
        network
            .parameters()
            .iter()
            .filter(|p| p.name.ends_with("running_mean"))
            .flat_map(|p| p.values.clone())
            .collect::<Vec<_>>()
    };
    assert!(means(&learned).iter().filter(|mean| **mean != 0.0).count() > 500);
}

#[test]
fn runs_that_cannot_work_are_refused() {
    let (train, _) = split(&digits());
    let refused = |params: TrainParams, guides: Guides<'_>| {
        Trainer::new(&mlp(8), &train, params, guides, &Compute::cpu()).unwrap_err().to_string()
    };
    let none = Guides::default();
    let with = |change: fn(&mut TrainParams)| {
        let mut params = params(Method::Spade);
        change(&mut params);
        params
    };
    assert_eq!(refused(with(|p| p.epsilon = -0.1), none), "epsilon must be zero or positive, got -0.1");
    assert_eq!(
        refused(with(|p| p.small_epsilon = 0.5), none),
        "the small epsilon must be at most epsilon, got 0.5"
    );
    assert_eq!(
        refused(with(|p| p.top = 2000), none),
        "top must be from 1 to the number of samples, got 2000"
    );
    assert_eq!(refused(with(|p| p.learning_rate = 0.0), none), "the learning rate must be positive, got 0");
    assert_eq!(refused(with(|p| p.batch = 0), none), "the batch must be at least 1, got 0");
    assert!(refused(with(|p| p.warmup = 0), none).contains("a trained network"));
    assert!(refused(with(|p| p.augmentation.flip = true), none).contains("used on images"));
    let scores = [1.0; 5];
    let guides = Guides { node_scores: Some(&scores), ..Guides::default() };
    assert_eq!(refused(params(Method::Spade), guides), "expected 1348 node scores, one per sample, got 5");
}

#[test]
fn checkpoints_of_other_data_or_damaged_ones_are_refused() {
    let (train, test) = split(&digits());
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("checkpoint.safetensors");
    let params = params(Method::Standard);
    let trainer = Trainer::new(&mlp(8), &train, params, Guides::default(), &Compute::cpu()).unwrap();
    trainer.checkpoint().save(&path).unwrap();
    let checkpoint = Checkpoint::load(&path).unwrap();
    let error = Trainer::resume(&checkpoint, &test, Guides::default(), &Compute::cpu()).unwrap_err();
    assert!(
        error.to_string().starts_with("the data must be the data that the checkpoint was made with"),
        "{error}"
    );

    let bytes = std::fs::read(&path).unwrap();
    for cut in [0, 7, 40, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let message = Checkpoint::load(&path).unwrap_err().to_string();
        assert!(message.contains("checkpoint.safetensors: not a valid safetensors file"), "{message}");
    }
    mlp(8).save(&path).unwrap();
    let message = Checkpoint::load(&path).unwrap_err().to_string();
    assert!(message.ends_with("expected a checkpoint of a training run"), "{message}");
}

/// d is the difference of the two rows of weights, so a step of 0.02 takes 0.02 (2 + 3 + 1) = 0.12 of the lead of 0.5: at the start and after
/// one to four steps it is positive, and after five it is not. A sample that is wrong as it is holds only where its random start is right.
#[test]
fn held_steps_count_points_at_which_a_sample_is_right() {
    let (network, _) = linear();
    let model = Frozen::new(&network, &Compute::cpu());
    let climb = Climb { steps: 10, step_size: Some(0.02), random_start: false, ..Climb::default() };
    let held = |samples: Vec<f32>, label: i64, climb: &Climb| {
        let labels = vec![label; samples.len() / 3];
        let examples = Examples::new(samples, 3, &labels, 2).unwrap();
        held_steps(&model, &examples, 0.2, climb, 0, &Silent).unwrap()
    };
    let sample = vec![0.6, 0.1, 0.5];
    assert_eq!(held(sample.clone(), 0, &climb), [5]);
    assert_eq!(held(sample, 1, &climb), [0]);
    let wrong: Vec<f32> = [0.5, 0.25, 0.5].repeat(200);
    assert!(held(wrong.clone(), 0, &climb).iter().all(|&held| held == 0));
    let random = held(wrong.clone(), 0, &Climb { random_start: true, ..climb.clone() });
    assert!(random.iter().any(|&held| held > 0) && random.contains(&0), "{random:?}");
    let examples = Examples::new(wrong, 3, &[0; 200], 2).unwrap();
    let refused =
        |epsilon: f32, climb: &Climb| held_steps(&model, &examples, epsilon, climb, 0, &Silent).is_err();
    assert!(refused(0.0, &climb) && refused(f32::NAN, &climb) && refused(0.1, &Climb { steps: 0, ..climb }));
}
