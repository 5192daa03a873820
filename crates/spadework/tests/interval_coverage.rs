//! How often the interval of the model score holds: many sets of samples from the same source, and for each whether its
//! interval has the median score of all sets of that size in it. An experiment, minutes long, and so ignored:
//! `cargo test --release -p spadework --test suite -- interval_coverage --ignored --nocapture`.
//! Its figures are in `docs/decisions/`.

use crate::support::{gaussian, gaussians, rng};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use spadework::pipeline::intervals;
use spadework::{ModelSet, PairedSamples, Samples, Silent, SpadeParams, evaluate};

const SAMPLES: usize = 1000;
/// Sets whose median score is taken for the truth, and those of them that get an interval.
const SETS: u64 = 400;
const INTERVALS: u64 = 100;
const SUBSAMPLES: usize = 60;

/// Inputs and outputs of one set, with their numbers per sample.
type Set = ([Vec<f64>; 2], [usize; 2]);
/// Draws a set.
type Source = fn(&mut ChaCha8Rng) -> Set;

/// Six normal numbers through three tanh.
fn smooth(rng: &mut ChaCha8Rng) -> Set {
    let weights = gaussians(18, &mut crate::support::rng(99));
    let inputs = gaussians(SAMPLES * 6, rng);
    let output = |row: &[f64], j: usize| (0..6).map(|i| row[i] * weights[3 * i + j]).sum::<f64>().tanh();
    let outputs = inputs.chunks(6).flat_map(|row| (0..3).map(move |j| output(row, j))).collect();
    ([inputs, outputs], [6, 3])
}

/// Five overlapping clouds in eight dimensions, and logits that saturate.
fn classifier(rng: &mut ChaCha8Rng) -> Set {
    let centers: Vec<f64> = gaussians(40, &mut crate::support::rng(99)).iter().map(|v| 1.5 * v).collect();
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let class = rng.random_range(0..5_usize);
        let point: Vec<f64> = (0..8).map(|i| centers[8 * class + i] + gaussian(rng)).collect();
        for center in centers.chunks(8) {
            let d: f64 = point.iter().zip(center).map(|(p, c)| p * c - c * c / 2.0).sum();
            outputs.push(4.0 * (d / 4.0).tanh() + 0.1 * d);
        }
        inputs.extend(point);
    }
    ([inputs, outputs], [8, 5])
}

/// A cylinder that is cut open along a line: the score is all about what lies at the cut.
fn cut(rng: &mut ChaCha8Rng) -> Set {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let (angle, height) = (rng.random::<f64>() * std::f64::consts::TAU, rng.random::<f64>());
        inputs.extend([angle.cos(), angle.sin(), height]);
        outputs.extend([angle, height]);
    }
    ([inputs, outputs], [3, 2])
}

#[test]
#[ignore = "an experiment of minutes"]
#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn coverage() {
    let sources: [(&str, Source); 3] = [("smooth", smooth), ("classifier", classifier), ("cut", cut)];
    for (name, draw) in sources {
        let set = |seed: u64| {
            let ([inputs, outputs], [d, e]) = draw(&mut rng(1000 + seed));
            let side = |values: Vec<f64>, dim| Samples::from_f64(SAMPLES, dim, values).unwrap();
            PairedSamples::new(side(inputs, d), side(outputs, e)).unwrap()
        };
        let params = SpadeParams::default();
        let scores: Vec<f64> =
            (0..SETS).map(|seed| evaluate(&set(seed), &params, &Silent).unwrap().model_score.0).collect();
        let mut ascending = scores.clone();
        ascending.sort_by(f64::total_cmp);
        let median = ascending[ascending.len() / 2];
        let (mut held, mut width) = (0, 0.0);
        for seed in 0..INTERVALS {
            let models = ModelSet::from(set(seed));
            let score = [scores[seed as usize]];
            let found = intervals(&models, &score, SUBSAMPLES, &params, &Silent).unwrap().models[0];
            held += usize::from(found.lower <= median && median <= found.upper);
            width += (found.upper / found.lower).ln() / INTERVALS as f64;
        }
        let (low, high) = (ascending[ascending.len() / 40], ascending[ascending.len() * 39 / 40]);
        println!(
            "{name}: median {median:.2}, 95 % of the sets in [{low:.2}, {high:.2}]; {held} of {INTERVALS} intervals hold it, \
             mean ratio of their ends {:.2}",
            width.exp()
        );
        // Nominal: 95. Far below would mean that the interval does not do what it says.
        assert!(held >= 80, "{name}: {held} of {INTERVALS}");
    }
}
