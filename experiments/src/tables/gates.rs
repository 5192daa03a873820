//! Gates against a baseline: how often they fail where nothing has changed, and how often they see a drop of five points.
//!
//! Real outcomes of two networks on the same test images are drawn again and again, 1,000 samples at a time. *Equal models*: of every
//! sample a coin says which network's outcome is the baseline's, so that neither is better, and both differ as much as two real
//! networks do. *A drop*: the same, and then so many samples are lost at random that the model is five points worse. For overlaps,
//! which belong to all samples together, equal models are one network's outputs with two draws of noise.

use std::path::Path;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::pipeline::neighbor_graph;
use spadework::{Samples, SpadeParams};
use spadework_nn::Frozen;
use spadework_probe::intervals::{Confidence, Decision, Difference, paired_shares_at};
use spadework_probe::{ChannelOrder, Grid, NeighborhoodOverlap, ProbeParams, probe_model};

use super::Experiment;
use crate::data::{Images, Which};
use crate::failure::Failure;
use crate::levels::{Level, Levels};
use crate::record::Findings;
use crate::run::Run;
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "gates", paper: "not in the paper", title: "False alarms and power of gates", run };

/// Samples that a gate sees.
const SAMPLES: usize = 1000;
/// A drop that a gate should see.
const DROP: f64 = 0.05;
/// Drops that are allowed.
const LIMITS: [f64; 2] = [0.0, 0.02];
/// Images that are probed, and copies of each.
const PROBED: usize = 2000;
const PROBES: usize = 100;
/// Noise on outputs, as a part of their standard deviation.
const NOISE: f32 = 0.05;

fn run(run: &Run) -> Result<Findings, Failure> {
    // 100,000 draws know a share to a tenth of a point, and the limits are 5 %; overlaps, whose graphs have to be made, are drawn less often.
    let (repetitions, of_overlaps) = (run.size(100_000, 20), run.size(1000, 20));
    let settings = json!({ "samples": SAMPLES, "repetitions": repetitions, "repetitions_of_overlaps": of_overlaps, "drop": DROP, "seed": run.seed() });
    let mut findings = Findings::new(settings);
    let mut table = Table::new(
        format!("{repetitions} pairs of {SAMPLES} samples each: how often the gate fails, in percent."),
        [
            "outcomes",
            "networks",
            "samples that differ, %",
            "equal, no drop allowed",
            "equal, 2 points allowed",
            "5 points lost, no drop allowed",
            "5 points lost, 2 points allowed",
        ],
    );
    let mut rates = Vec::new();
    for which in [Which::Mnist, Which::Cifar10] {
        let levels = Levels::load(run, which)?;
        levels.introduce(&mut findings)?;
        for (name, pair) in pairs(&levels) {
            let rate = pair.measure(repetitions, run.seed());
            table.row(rate.row(&format!("accuracy, {}", levels.title()), &name, pair.share_that_differs()));
            rates.push(rate);
        }
        if which == Which::Mnist {
            if let Some((name, pair)) = survivors(run, &levels.images)? {
                let rate = pair.measure(repetitions, run.seed());
                table.row(rate.row("survived L∞ 0.1, MNIST", &name, pair.share_that_differs()));
                rates.push(rate);
            }
            if let Some(rate) = overlaps(run, &levels, of_overlaps)? {
                // Only neighbors are compared: these graphs need not be connected.
                let neighbors = SpadeParams::default().neighbors;
                findings.graph("overlap, MNIST", neighbors, neighbors);
                table.row(rate.row(
                    "overlap, MNIST",
                    &format!("{} twice", levels.by_epsilon[0].name()),
                    f64::NAN,
                ));
                rates.push(rate);
            }
        }
    }
    findings.tables.push(table);
    judge(run, &mut findings, &rates, repetitions);
    Ok(findings)
}

/// What should hold of every pair.
fn judge(run: &Run, findings: &mut Findings, rates: &[Rates], repetitions: usize) {
    let most = |alarms: fn(&Rates) -> f64| rates.iter().map(alarms).fold(0.0, f64::max);
    let least = |power: fn(&Rates) -> f64| rates.iter().map(power).fold(1.0, f64::min);
    let alarms = most(|rates| rates.equal[0].max(rates.equal[1]));
    let power = least(|rates| rates.dropped.map_or(1.0, |dropped| dropped[0]));
    // Two standard errors of so many draws: the level itself is reached where models differ much.
    let error = 2.0 * (0.05 * 0.95 / repetitions as f64).sqrt();
    findings.claim(
        run,
        "at most 5 % false alarms between equal models",
        format!("at most {:.1} %, drawn to ± {:.1}", 100.0 * alarms, 100.0 * error),
        Some(alarms <= 0.05 + error),
    );
    findings.claim(
        run,
        format!("a drop of 5 points among {SAMPLES} samples is seen in at least 95 % of runs, where no drop is allowed"),
        format!("at least {:.1} %", 100.0 * power),
        Some(power >= 0.95),
    );
}

/// Outcomes of two networks on the same images: right or wrong, survived or lost.
struct Pair {
    a: Vec<bool>,
    b: Vec<bool>,
}

/// How often gates failed, by the drop that is allowed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Rates {
    equal: [f64; 2],
    dropped: Option<[f64; 2]>,
}

impl Rates {
    fn row(&self, outcomes: &str, networks: &str, differ: f64) -> Vec<Value> {
        let percent = |share: f64| json!((1000.0 * share).round() / 10.0);
        let differ = if differ.is_nan() { Value::Null } else { percent(differ) };
        let mut row = vec![json!(outcomes), json!(networks), differ];
        row.extend(self.equal.map(percent));
        row.extend(self.dropped.map_or([Value::Null, Value::Null], |dropped| dropped.map(percent)));
        row
    }
}

impl Pair {
    fn share_that_differs(&self) -> f64 {
        let differ = self.a.iter().zip(&self.b).filter(|(a, b)| a != b).count();
        differ as f64 / self.a.len() as f64
    }

    /// The share of samples that are right, over both networks.
    fn share_right(&self) -> f64 {
        let right = self.a.iter().chain(&self.b).filter(|&&is| is).count();
        right as f64 / (2 * self.a.len()) as f64
    }

    fn measure(&self, repetitions: usize, seed: u64) -> Rates {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut equal, mut dropped) = ([0; 2], [0; 2]);
        let lost = DROP / self.share_right();
        for _ in 0..repetitions {
            let (before, now) = self.draw(&mut rng);
            count(&mut equal, &compared(&before, &now));
            let worse: Vec<bool> = now.iter().map(|&is| is && !rng.random_bool(lost.min(1.0))).collect();
            count(&mut dropped, &compared(&before, &worse));
        }
        let share = |counts: [usize; 2]| counts.map(|count| count as f64 / repetitions as f64);
        Rates { equal: share(equal), dropped: Some(share(dropped)) }
    }

    /// Outcomes of two models of which neither is better, on samples drawn without replacement.
    fn draw(&self, rng: &mut ChaCha8Rng) -> (Vec<bool>, Vec<bool>) {
        let drawn = chosen(self.a.len(), rng);
        let outcome = |&at: &usize| {
            if rng.random_bool(0.5) { (self.a[at], self.b[at]) } else { (self.b[at], self.a[at]) }
        };
        drawn.iter().map(outcome).unzip()
    }
}

/// The model less its baseline, as a gate compares them.
fn compared(before: &[bool], now: &[bool]) -> Difference {
    paired_shares_at(before, now, Confidence::OneSided)
}

/// Counts the limits that are broken.
fn count(broken: &mut [usize; 2], difference: &Difference) {
    for (count, limit) in broken.iter_mut().zip(LIMITS) {
        *count += usize::from(difference.drops_at_most(limit) == Decision::Broken);
    }
}

/// Some of so many samples, without replacement.
fn chosen(samples: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut all: Vec<usize> = (0..samples).collect();
    let count = SAMPLES.min(samples);
    for at in 0..count {
        let other = rng.random_range(at..samples);
        all.swap(at, other);
    }
    all.truncate(count);
    all
}

/// Neighboring levels, by who is right.
fn pairs(levels: &Levels) -> Vec<(String, Pair)> {
    let labels = levels.images.labels();
    let right = |level: &Level| -> Vec<bool> {
        let rows = level.outputs.chunks_exact(level.outputs.len() / labels.len());
        rows.zip(&labels).map(|(row, &label)| largest(row) as i64 == label).collect()
    };
    let pair = |two: &[Level]| {
        (format!("{} and {}", two[0].name(), two[1].name()), Pair { a: right(&two[0]), b: right(&two[1]) })
    };
    levels.by_epsilon.windows(2).map(pair).collect()
}

fn largest(row: &[f32]) -> usize {
    (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best })
}

/// Which of the first images survive probes of the size 0.1, under two networks that were trained against attacks; none where the
/// data folder has no networks.
fn survivors(run: &Run, images: &Images) -> Result<Option<(String, Pair)>, Failure> {
    let files = ["0.1", "0.2"].map(|epsilon| run.data_file(&format!("models/lenet5_eps{epsilon}.onnx")));
    let [Some(first), Some(second)] = files else { return Ok(None) };
    let images = images.head(run.size(PROBED, 50));
    let mut outcomes = Vec::new();
    for file in [first, second] {
        let settings = json!({ "images": images.described(), "probes": PROBES, "seed": run.seed() });
        let name = format!("gates/survived {}", file.file_stem().unwrap_or_default().to_string_lossy());
        let Some(found) = run.part(&name, &settings, || survived(run, &file, &images))? else {
            return Ok(None);
        };
        outcomes.push(found);
    }
    let (b, a) = (outcomes.pop().unwrap_or_default(), outcomes.pop().unwrap_or_default());
    Ok(Some(("ε = 0.1 and ε = 0.2".to_owned(), Pair { a, b })))
}

fn survived(run: &Run, file: &Path, images: &Images) -> Result<Vec<bool>, Failure> {
    let model = Frozen::load(file, run.compute())?;
    let outputs = |rows: &Samples<'_>| -> Result<Samples<'static>, Failure> {
        let found = model.outputs(&spadework_nn::to_floats(rows))?;
        Ok(Samples::from_f32(rows.len(), found.len() / rows.len(), found)?)
    };
    let probe = "linf:0.1".parse().expect("a probe");
    let grid = Grid { channels: 1, height: 28, width: 28, order: ChannelOrder::First };
    let params = ProbeParams::new(probe).with_probes(PROBES).with_samples(images.len()).with_seed(run.seed());
    let params = params.with_grid(Some(grid));
    let probed = probe_model(&images.samples()?, outputs, &params, run.monitor())?;
    Ok(probed.outcomes(Some(&images.labels()))?.iter().map(|outcome| outcome.survived).collect())
}

/// Overlaps of one network under two draws of noise, on samples drawn again and again.
fn overlaps(run: &Run, levels: &Levels, repetitions: usize) -> Result<Option<Rates>, Failure> {
    let settings = json!({ "repetitions": repetitions, "samples": SAMPLES, "noise": NOISE, "levels": levels.settings() });
    run.part("gates/overlap", &settings, || {
        let mut rng = ChaCha8Rng::seed_from_u64(run.seed());
        let outputs = &levels.by_epsilon[0].outputs;
        let noisy = [noisy(outputs, &mut rng), noisy(outputs, &mut rng)];
        let (inputs, samples) = (levels.images.examples.samples(), levels.images.len());
        let mut equal = [0; 2];
        for _ in 0..repetitions {
            let drawn = chosen(samples, &mut rng);
            let input = Arc::new(graph(inputs, &drawn, samples, run)?);
            let mut found = Vec::new();
            for outputs in &noisy {
                let output = graph(outputs, &drawn, samples, run)?;
                found.push(NeighborhoodOverlap::between(Arc::clone(&input), &output));
            }
            count(&mut equal, &found[1].less(&found[0]));
        }
        let equal = equal.map(|count| count as f64 / repetitions as f64);
        Ok(Rates { equal, dropped: None })
    })
}

/// Outputs with uniform noise.
fn noisy(outputs: &[f32], rng: &mut ChaCha8Rng) -> Vec<f32> {
    let mean = outputs.iter().sum::<f32>() / outputs.len() as f32;
    let spread =
        (outputs.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / outputs.len() as f32).sqrt();
    outputs.iter().map(|value| value + NOISE * spread * rng.random_range(-1.0..1.0_f32)).collect()
}

/// The graph of ten neighbors among the samples drawn.
fn graph(values: &[f32], drawn: &[usize], samples: usize, run: &Run) -> Result<spadework::Graph, Failure> {
    let dim = values.len() / samples;
    let rows: Vec<f32> = drawn.iter().flat_map(|&at| &values[at * dim..(at + 1) * dim]).copied().collect();
    Ok(neighbor_graph(&Samples::from_f32(drawn.len(), dim, rows)?, &SpadeParams::default(), run.monitor())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two networks that are wrong about other samples: neither is better once a coin deals out their outcomes.
    #[test]
    fn equal_models_are_equal_on_average() {
        let pair = Pair {
            a: (0..3000).map(|at| at % 5 != 0).collect(),
            b: (0..3000).map(|at| at % 2 == 0).collect(),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let difference = |_| {
            let (before, now) = pair.draw(&mut rng);
            compared(&before, &now).difference
        };
        let mean = (0..200).map(difference).sum::<f64>() / 200.0;
        // Half of the samples differ: the standard error of 200 means of 1,000 is 0.0016.
        assert!(mean.abs() < 0.005, "{mean}");
    }
}
