//! The same call gives the same bits, whatever the number of threads.

use crate::support::Scene;
use crate::support::arrays::{Random, floats};

const DIM: usize = 12;

/// Enough samples for several blocks of work, and a model with a fold in it.
fn scene() -> Scene {
    let scene = Scene::empty();
    let inputs = Random::new(3).points(2000 * DIM);
    let outputs: Vec<f32> = inputs
        .chunks(DIM)
        .flat_map(|x| [(x[0] - 0.5).abs() + x[1], x[2] * x[3] - x[4], x[5..].iter().sum::<f32>()])
        .collect();
    scene.write("x.npy", floats(DIM, &inputs));
    scene.write("y.npy", floats(3, &outputs));
    scene
}

fn tables(scene: &Scene, options: &str) -> (String, String) {
    scene.score(&format!("--out result {options}")).prints();
    (scene.read("result/nodes.csv"), scene.read("result/edges.csv"))
}

#[test]
fn one_two_and_eight_threads_give_the_same_bits() {
    let scene = scene();
    let expected = tables(&scene, "--threads 1");
    for options in ["--threads 2", "--threads 8", "--threads 8", ""] {
        assert!(tables(&scene, options) == expected, "{options}");
    }
}

#[test]
fn another_seed_gives_the_same_eigenvalues() {
    let scene = scene();
    let eigenvalues = |seed: u64| -> Vec<f64> {
        let json = scene.score(&format!("--json -r 4 --seed {seed}")).json();
        json["eigenvalues"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let expected = eigenvalues(0);
    for seed in [1, u64::MAX] {
        let others = eigenvalues(seed);
        let close = |(a, b): (&f64, &f64)| (a / b - 1.0).abs() < 1e-6;
        assert!(expected.iter().zip(&others).all(close), "{expected:?} and {others:?}");
    }
}
