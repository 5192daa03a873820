//! How often the intervals of the neighborhood overlap and of the unevenness, and of differences of two, hold what they promise.

use std::sync::Arc;

use spadework::graph::Graph;
use spadework::neighbors::{BruteForce, NeighborSearch};
use spadework::{Samples, Silent};
use spadework_probe::intervals::{Difference, Estimated};
use spadework_probe::{NeighborhoodOverlap, Unevenness};

const SAMPLES: usize = 200;
const NEIGHBORS: usize = 8;
const DRAWS: usize = 400;

/// Numbers from a generator that is not ours to trust twice: SplitMix64, and sums of twelve as normal numbers.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

fn graph(values: &[f64], dim: usize) -> Graph {
    let samples = Samples::from_f64(values.len() / dim, dim, values.to_vec()).unwrap();
    let lists = BruteForce.search(&samples, NEIGHBORS, &Silent).unwrap();
    let edges: Vec<(u32, u32)> = (0..samples.len())
        .flat_map(|p| lists.of(p).iter().map(move |&q| (p as u32, q)).collect::<Vec<_>>())
        .map(|(p, q)| (p.min(q), p.max(q)))
        .collect();
    let mut edges = edges;
    edges.sort_unstable();
    edges.dedup();
    Graph::from_edges(samples.len(), &edges).unwrap()
}

/// Five normal numbers; one model keeps three of them, the other bends two and adds noise of its own.
fn drawn(seed: u64) -> [NeighborhoodOverlap; 2] {
    let mut random = Random(seed);
    let inputs: Vec<f64> = (0..5 * SAMPLES).map(|_| random.normal()).collect();
    let kept: Vec<f64> = inputs.chunks_exact(5).flat_map(|x| [x[0], x[1], x[2]]).collect();
    let bent: Vec<f64> = inputs
        .chunks_exact(5)
        .flat_map(|x| [x[0] + 0.3 * x[3].sin(), x[1] * x[1].abs(), x[2], 0.5 * x[4]])
        .map(|value| value + 0.2 * random.normal())
        .collect();
    let input = Arc::new(graph(&inputs, 5));
    [(kept, 3), (bent, 4)]
        .map(|(outputs, dim)| NeighborhoodOverlap::between(Arc::clone(&input), &graph(&outputs, dim)))
}

/// Two classifiers of three classes of five normal numbers: one bends its outputs slowly, the other in waves with noise of its own.
fn drawn_classifiers(seed: u64) -> [Unevenness; 2] {
    let mut random = Random(seed);
    let inputs: Vec<f64> = (0..5 * SAMPLES).map(|_| random.normal()).collect();
    let slow: Vec<f64> = inputs
        .chunks_exact(5)
        .flat_map(|x| [x[0] + x[1] * x[2] / 3.0, x[1] - x[3] / 2.0, x[2].abs()])
        .collect();
    let waves: Vec<f64> = inputs
        .chunks_exact(5)
        .flat_map(|x| [2.0 * (2.0 * x[0]).sin(), x[1] + (3.0 * x[4]).cos(), x[2]])
        .map(|value| value + 0.3 * random.normal())
        .collect();
    let input = Arc::new(graph(&inputs, 5));
    [slow, waves].map(|outputs| {
        let outputs = Samples::from_f64(SAMPLES, 3, outputs).unwrap();
        Unevenness::of(Arc::clone(&input), &outputs).expect("classes")
    })
}

/// What 400 sets of 200 samples average is what each interval is about. Of 400 intervals that hold with 95 %, fewer than 91 % hold
/// with a probability of 2e-4, and more than 99.5 % with 1e-4.
fn check_coverage<T>(
    draws: &[[T; 2]],
    estimate: impl Fn(&T) -> Estimated,
    less: impl Fn(&T, &T) -> Difference,
) {
    let mean = |of: &dyn Fn(&[T; 2]) -> f64| draws.iter().map(of).sum::<f64>() / DRAWS as f64;
    let held =
        |is: &dyn Fn(&[T; 2]) -> bool| draws.iter().filter(|&pair| is(pair)).count() as f64 / DRAWS as f64;
    for model in [0, 1] {
        let truth = mean(&|pair| estimate(&pair[model]).estimate);
        let share = held(&|pair| {
            let found = estimate(&pair[model]);
            (found.lower..=found.upper).contains(&truth)
        });
        assert!((0.91..=0.995).contains(&share), "model {model}: {share}");
    }
    let truth = mean(&|pair| less(&pair[0], &pair[1]).difference);
    let share = held(&|pair| {
        let found = less(&pair[0], &pair[1]);
        (found.lower..=found.upper).contains(&truth)
    });
    assert!((0.91..=0.995).contains(&share), "difference: {share}");
}

#[test]
fn intervals_hold_as_often_as_they_say() {
    let draws: Vec<[NeighborhoodOverlap; 2]> = (0..DRAWS as u64).map(drawn).collect();
    check_coverage(&draws, NeighborhoodOverlap::estimate, NeighborhoodOverlap::less);
}

#[test]
fn intervals_of_unevenness_hold_as_often_as_they_say() {
    let draws: Vec<[Unevenness; 2]> = (0..DRAWS as u64).map(drawn_classifiers).collect();
    check_coverage(&draws, Unevenness::estimate, Unevenness::advantage_over);
}
